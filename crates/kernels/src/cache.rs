//! The last cache, for kernels whose output may go past the caches: how large it is, and stores that leave it alone.
//!
//! An ordinary store to a line that is in no cache first reads the line, and pushes out another one. Where output is far
//! larger than the caches, nobody finds it there afterwards, and both are a waste of memory's bandwidth.

use std::sync::OnceLock;

/// Bytes of the last cache where the processor doesn't tell: those of a Zen 5 core complex.
const UNTOLD: usize = 1 << 25;

/// Bytes of the largest cache that a core of this machine reaches.
pub(crate) fn last_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| told().unwrap_or(UNTOLD))
}

/// AMD and Intel tell of their caches in the same form, one cache after the other, but in leaves of different numbers;
/// the other's is missing or empty.
#[cfg(target_arch = "x86_64")]
fn told() -> Option<usize> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    let caches = [0x8000_001d_u32, 4].into_iter().flat_map(|leaf| {
        let there = __cpuid(leaf & 1 << 31).eax >= leaf;
        let each = (0..if there { 16 } else { 0 }).map(move |cache| __cpuid_count(leaf, cache));
        each.map_while(|told| size([told.eax, told.ebx, told.ecx]))
    });
    caches.max()
}

#[cfg(not(target_arch = "x86_64"))]
fn told() -> Option<usize> {
    None
}

/// Bytes of the cache that the registers EAX, EBX and ECX describe; none after the last.
#[cfg(target_arch = "x86_64")]
fn size([kind, shape, sets]: [u32; 3]) -> Option<usize> {
    let from = |bit: u32, bits: u32| (shape >> bit & ((1 << bits) - 1)) as usize + 1;
    let (line, partitions, ways) = (from(0, 12), from(12, 10), from(22, 10));
    (kind & 31 != 0).then(|| line * partitions * ways * (sets as usize + 1))
}

/// Stores a word past the caches.
///
/// # Safety
/// Nobody reads or writes it before a [`fence`], which follows on the same thread.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn store_past(out: &mut u64, word: u64) {
    // SAFETY: every x86-64 has SSE2, the reference is there to be written, and `fence` comes before any reader, as `# Safety` says.
    unsafe { std::arch::x86_64::_mm_stream_si64(std::ptr::from_mut(out).cast(), word.cast_signed()) }
}

/// Waits until stores that went past the caches are in memory, which ordinary loads and stores don't.
pub(crate) fn fence() {
    // SAFETY: every x86-64 has SSE.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::{last_cache, size};

    #[test]
    fn sizes_of_caches() {
        // As Zen 5 tells: a first cache of 48 KiB in 12 ways, a last one of 32 MiB in 16, and the end.
        assert_eq!(size([0x4121, 0x02c0_003f, 63]), Some(48 << 10));
        assert_eq!(size([0x4163, 0x03c0_003f, 32767]), Some(32 << 20));
        assert_eq!(size([0, 0, 0]), None);
        assert!(last_cache() >= 1 << 16, "a last cache of {} bytes", last_cache());
    }
}
