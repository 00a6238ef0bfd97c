//! Huge pages for large buffers: a random read of a large column in 4 KiB pages misses the TLB each time.

/// A buffer for `bytes` bytes, empty, which the system is asked to back by huge pages. The request may be refused, or
/// granted in part; `/proc/self/smaps` tells.
pub fn huge_buffer(bytes: usize) -> Vec<u8> {
    huge_vec(bytes)
}

/// A vector in huge pages for `length` elements of any type: the entries of a hash table, say.
pub fn huge_vec<T>(length: usize) -> Vec<T> {
    let mut buffer = Vec::with_capacity(length);
    ask_for_huge_pages(&mut buffer);
    buffer
}

/// `length` zeros, in memory that is fresh from the system where that is much: pages come as they are written.
pub fn huge_zeros(length: usize) -> Vec<u64> {
    let mut zeros = vec![0; length];
    zeros.clear();
    ask_for_huge_pages(&mut zeros);
    // SAFETY: so many elements were initialised above, and neither clearing nor the advice writes to them.
    unsafe { zeros.set_len(length) };
    zeros
}

#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(buffer: &mut Vec<T>) {
    /// Huge pages lie at multiples of their size; less than one has nothing to gain.
    const HUGE_PAGE: usize = 2 << 20;
    let room = buffer.spare_capacity_mut();
    let start = room.as_mut_ptr() as usize;
    let (first, end) = (start.next_multiple_of(HUGE_PAGE), (start + size_of_val(room)) / HUGE_PAGE * HUGE_PAGE);
    if first < end {
        // SAFETY: the range lies within memory that `buffer` owns; the advice changes neither its contents nor its
        // protection, only the size of the pages that will back it. A refusal changes nothing.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
    }
}

/// Not asked elsewhere.
#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_buffer: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_any_size_hold_what_they_are_given() {
        for bytes in [0, 100, 2 << 20, 9 << 20] {
            let mut buffer = huge_buffer(bytes);
            assert!(buffer.is_empty() && buffer.capacity() >= bytes);
            buffer.resize(bytes, 7);
            assert!(buffer.iter().all(|byte| *byte == 7));
            let mut wide = huge_vec::<u64>(bytes);
            assert!(wide.is_empty() && wide.capacity() >= bytes);
            wide.resize(bytes, 1 << 40);
            assert!(wide.iter().all(|number| *number == 1 << 40));
            let zeros = huge_zeros(bytes);
            assert!(zeros.len() == bytes && zeros.iter().all(|number| *number == 0));
        }
    }
}
