//! Packing, and unpacking one code at a time.

use crate::Code;

pub(super) fn pack<C: Code>(codes: &[C], base: C, width: u32, out: &mut Vec<u8>) {
    let start = out.len();
    let bytes = super::packed_bytes(codes.len(), width);
    out.resize(start + bytes.next_multiple_of(8), 0);
    let mut words = Words { places: out[start..].as_chunks_mut::<8>().0.iter_mut(), word: 0, filled: 0 };
    match width {
        0 => {}
        1..=16 => words.pack_groups::<C, 4>(codes, base, width),
        17..=32 => words.pack_groups::<C, 2>(codes, base, width),
        _ => words.pack_groups::<C, 1>(codes, base, width),
    }
    words.finish();
    out.truncate(start + bytes);
}

/// Words that are filled from their lowest bit on.
struct Words<'a> {
    /// Where the next ones go.
    places: std::slice::IterMut<'a, [u8; 8]>,
    word: u64,
    /// Bits of `word` that are filled, below 64.
    filled: u32,
}

impl Words<'_> {
    /// Puts `GROUP` codes together, which have at most 64 bits then, before they are put into words.
    fn pack_groups<C: Code, const GROUP: usize>(&mut self, codes: &[C], base: C, width: u32) {
        let mask = u64::MAX >> (64 - width);
        let code = |code: C| code.wrapping_sub(base).to_u64() & mask;
        let (groups, rest) = codes.as_chunks::<GROUP>();
        for group in groups {
            let together = group.iter().rev().fold(0, |bits, next| (bits << (width % 64)) | code(*next));
            self.push(together, GROUP as u32 * width);
        }
        for last in rest {
            self.push(code(*last), width);
        }
    }

    /// Appends the lowest `width` bits, 1 to 64, of a value that has no others.
    #[inline(always)]
    fn push(&mut self, bits: u64, width: u32) {
        self.word |= bits << self.filled;
        self.filled += width;
        if self.filled >= 64 {
            self.filled -= 64;
            if let Some(place) = self.places.next() {
                *place = self.word.to_le_bytes();
            }
            // What did not fit; nothing when the value ended with the word.
            self.word = if self.filled == 0 { 0 } else { bits >> (width - self.filled) };
        }
    }

    fn finish(mut self) {
        if let Some(place) = self.places.next() {
            *place = self.word.to_le_bytes();
        }
    }
}

pub(super) fn unpack<C: Code>(bytes: &[u8], width: u32, base: C, out: &mut [C]) {
    let width = width as usize;
    let mask = u64::MAX >> (64 - width);
    // Codes whose nine bytes from the first on all exist.
    let whole = if bytes.len() < 9 { 0 } else { ((bytes.len() - 9) * 8 / width + 1).min(out.len()) };
    let (fast, slow) = out.split_at_mut(whole);
    for (i, code) in fast.iter_mut().enumerate() {
        let window: &[u8; 9] = bytes[i * width / 8..].first_chunk().expect("nine bytes exist");
        *code = base.wrapping_add(C::truncate(extract(window, i * width % 8) & mask));
    }
    for (i, code) in slow.iter_mut().enumerate() {
        let bit = (whole + i) * width;
        let mut window = [0; 9];
        let rest = &bytes[bit / 8..];
        let present = rest.len().min(9);
        window[..present].copy_from_slice(&rest[..present]);
        *code = base.wrapping_add(C::truncate(extract(&window, bit % 8) & mask));
    }
}

/// 64 bits of `window` from bit `shift` (below 8) on.
#[inline(always)]
fn extract(window: &[u8; 9], shift: usize) -> u64 {
    let [low @ .., high] = window;
    u64::from_le_bytes(*low) >> shift | u64::from(*high) << 1 << (63 - shift)
}
