//! Memory of views that were dropped, for the next ones: fresh memory comes from the system page by page, and each page's
//! first touch takes longer than what is copied into it. These up to 16 MiB are outside of `gingham.memory_limit`.

use arrow::buffer::{Buffer, MutableBuffer};
use std::sync::{Mutex, PoisonError};

/// Pieces that are kept, and bytes of each at most, and of all: 16 MiB for the process.
const PIECES: usize = 64;
const MOST_BYTES: usize = 1 << 20;
const ALL_BYTES: usize = 16 << 20;

static FREE: Mutex<Vec<MutableBuffer>> = Mutex::new(Vec::new());

/// Memory that goes back to those that are kept.
struct LeasedBuffer(MutableBuffer);

impl AsRef<[u8]> for LeasedBuffer {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl Drop for LeasedBuffer {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = free.iter().map(MutableBuffer::capacity).sum();
        if all + self.0.capacity() > ALL_BYTES {
            return;
        }
        if free.len() < PIECES {
            free.push(std::mem::take(&mut self.0));
        } else if let Some(shortest) = free.iter_mut().min_by_key(|piece| piece.capacity())
            && shortest.capacity() < self.0.capacity()
        {
            // Short pieces alone would be of no use to columns whose codes are wider.
            std::mem::swap(shortest, &mut self.0);
        }
    }
}

/// Empty memory with room for so many bytes.
pub(crate) fn take(bytes: usize) -> MutableBuffer {
    let mut found = take_as_left(bytes).unwrap_or_else(|| MutableBuffer::with_capacity(bytes));
    found.clear();
    found
}

/// So many bytes, whatever they are.
pub(crate) fn take_any(bytes: usize) -> MutableBuffer {
    match take_as_left(bytes) {
        Some(mut found) => {
            found.resize(bytes, 0);
            found
        }
        // The system gives zeros, which nobody has to write.
        None => MutableBuffer::from_len_zeroed(bytes),
    }
}

fn take_as_left(bytes: usize) -> Option<MutableBuffer> {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let found = free.iter().rposition(|piece| piece.capacity() >= bytes)?;
    Some(free.swap_remove(found))
}

/// Memory that was taken as a buffer, which gives it back when it is dropped unless it is a large one.
pub(crate) fn lend(bytes: MutableBuffer) -> Buffer {
    if bytes.capacity() > MOST_BYTES {
        return bytes.into();
    }
    Buffer::from(bytes::Bytes::from_owner(LeasedBuffer(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_empty_again_and_none_is_lent_twice() {
        let mut first = take(1000);
        first.extend_from_slice(&[7u8; 1000]);
        let first = lend(first);
        let mut second = take(1000);
        assert!(second.is_empty());
        second.extend_from_slice(&[8u8; 1000]);
        assert_eq!(first.as_slice(), [7u8; 1000]);
        drop(first);
        let third = take(1000);
        assert!(third.is_empty() && third.capacity() >= 1000);
        assert_eq!(second.as_slice(), [8u8; 1000]);
    }

    #[test]
    fn memory_for_values_of_any_kind_has_its_length() {
        drop(lend(take_any(3000)));
        for bytes in [10, 3000, 5000, 0] {
            assert_eq!(take_any(bytes).len(), bytes);
        }
    }
}
