//! Memory in huge pages, as the engine asks for its regions and tables. The setting of the C library that
//! `benchmarks/byteslice/run.py` makes for both of its programs is not always heeded.

/// An empty vector with room for `length` elements, in huge pages where the system gives them.
pub fn huge<T>(length: usize) -> Vec<T> {
    const HUGE_PAGE: usize = 2 << 20;
    let vector = Vec::<T>::with_capacity(length + HUGE_PAGE / size_of::<T>());
    #[cfg(target_os = "linux")]
    {
        let bytes = vector.as_ptr().cast::<u8>();
        let first = bytes.wrapping_add(bytes.align_offset(HUGE_PAGE));
        let room = length * size_of::<T>() / HUGE_PAGE * HUGE_PAGE;
        // SAFETY: the room was reserved with a huge page to spare, so that it can begin where one does; the advice
        // changes nothing of what it holds.
        unsafe { libc::madvise(first.cast_mut().cast(), room, libc::MADV_HUGEPAGE) };
    }
    vector
}
