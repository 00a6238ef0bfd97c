//! Bits to TIDs a part at a time: what a part's words have in bits is what the next part's are expected to have, and
//! vectors with room enough are written without counting bits first, which takes as long as reading them.

/// Words of a part: they stay in the first-level cache while they are looked at twice.
pub(super) const PART: usize = 512;
/// TIDs that may be written past those of the bits: the lanes of whole registers, written over later or never counted.
pub(super) const BEYOND: usize = 64;

/// Appends the numbers of the bits, plus `base`, to `out`. `write` gets a part of at most [`PART`] words and not none, the
/// number of its first bit, bits that each eight of its words are expected to have, and the place of its TIDs. It gives
/// the place behind them. `count` counts bits.
///
/// # Safety
/// `write` writes the TIDs of the part's bits one after the other, and nothing past [`BEYOND`] more.
#[inline(always)]
pub(super) unsafe fn in_parts(
    bits: &[u64],
    base: u32,
    out: &mut Vec<u32>,
    count: impl Fn(&[u64]) -> usize,
    mut write: impl FnMut(&[u64], u32, usize, *mut u32) -> *mut u32,
) {
    let (mut expected, mut counted) = (None, false);
    for (i, part) in bits.chunks(PART).enumerate() {
        if !counted && out.capacity() - out.len() < part.len() * 64 + BEYOND {
            out.reserve(count(&bits[i * PART..]) + BEYOND);
            counted = true;
        }
        let first = base.wrapping_add((i * PART * 64) as u32);
        let expect = expected.unwrap_or_else(|| count(part) * 8 / part.len());
        // SAFETY: the length is within the capacity.
        let place = unsafe { out.as_mut_ptr().add(out.len()) };
        let end = write(part, first, expect, place);
        // SAFETY: `write` wrote from `place` to `end`, as `# Safety` asks of it. The room was for all bits that were left,
        // or for as many as the words can have, and `BEYOND` more.
        let written = unsafe {
            let written = end.offset_from_unsigned(place);
            out.set_len(out.len() + written);
            written
        };
        expected = Some(written * 8 / part.len());
    }
}
