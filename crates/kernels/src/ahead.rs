//! Asking for cache lines before they are needed. A lookup takes few instructions and then waits for memory; a processor
//! that runs ahead through the list of TIDs has room for a few dozen of them. Prefetches wait for nothing, so that many
//! more are under way. Scans ask too: what processors fetch by themselves of a run of bytes doesn't use all of the
//! bandwidth.

/// Bytes of a line of the cache.
const LINE: usize = 64;
/// Bytes of a column from which on lookups go ahead: smaller ones stay in the second-level cache of most processors,
/// where the second pass over the TIDs costs more than it brings.
const FAR: usize = 1 << 20;

/// Calls `read` with the TIDs, up to `count` at a time, and for columns of many bytes `touch` with each of them one
/// call earlier.
#[inline(always)]
pub(crate) fn read_ahead(bytes: &[u8], tids: &[u32], count: usize, touch: impl Fn(u32), mut read: impl FnMut(&[u32])) {
    if bytes.len() < FAR {
        return read(tids);
    }
    tids.iter().take(count).for_each(|tid| touch(*tid));
    for (i, now) in tids.chunks(count).enumerate() {
        let next = &tids[(i + 1).saturating_mul(count).min(tids.len())..];
        next.iter().take(count).for_each(|tid| touch(*tid));
        read(now);
    }
}

/// Asks for the cache lines of `bytes`: for who is about to read many short runs that lie far from each other.
#[inline]
pub fn fetch_ahead(bytes: &[u8]) {
    (0..bytes.len()).step_by(LINE).for_each(|at| prefetch(bytes, at));
}

/// Asks for the cache line of an element of `run`: for who is about to read many that lie far from each other.
#[inline(always)]
pub fn element_ahead<T>(run: &[T], element: usize) {
    prefetch(run, element.wrapping_mul(size_of::<T>()));
}

/// Asks for the cache line of the byte that is `at` bytes from the start of `run`, which it need not belong to.
#[inline(always)]
pub(crate) fn prefetch<T>(run: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch gives the program nothing to see and never faults, wherever it points.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(run.as_ptr().cast::<i8>().wrapping_add(at));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (run, at);
}
