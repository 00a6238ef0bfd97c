//! Array accesses one key at a time.

use crate::Code;

/// `table` ends in the link that keys out of the range have.
#[inline(always)]
pub(super) fn locate<C: Code>(table: &[u32], base: u64, keys: &[C], links: &mut [u32]) {
    let Some(last) = table.len().checked_sub(1) else { return };
    for (key, link) in keys.iter().zip(links) {
        let slot = key.to_u64().wrapping_sub(base).min(last as u64);
        // SAFETY: the place is not past the last one, as just seen to.
        *link = unsafe { *table.get_unchecked(slot as usize) };
    }
}
