//! Packing, and unpacking one code at a time.

use crate::Code;

pub(super) fn pack<C: Code>(codes: &[C], base: C, width: u32, out: &mut Vec<u8>) {
    out.reserve(super::packed_bytes(codes.len(), width) + 8);
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    let (mut word, mut filled) = (0u64, 0u32);
    for code in codes {
        let code = code.wrapping_sub(base).to_u64() & mask;
        word |= code << filled;
        filled += width;
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            // What of the code did not fit; nothing of it when it ended with the word.
            word = if filled == 0 { 0 } else { code >> (width - filled) };
        }
    }
    out.extend_from_slice(&word.to_le_bytes()[..filled.div_ceil(8) as usize]);
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
