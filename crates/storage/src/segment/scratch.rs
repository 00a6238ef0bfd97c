//! Memory for the native columns of a zone that is laid out otherwise: each thread keeps its own and uses it again.
//!
//! Allocated anew for each block, it cost a first query over rows page faults for all of it, as the system clears pages
//! that it gives out (docs/decisions/0018-rewrites-by-segment.md).

use arrow::buffer::MutableBuffer;
use std::cell::RefCell;

/// What each column starts at a multiple of, so that codes of any width are aligned.
const ALIGNMENT: usize = 64;
/// Bytes that a thread keeps at most: a zone of twenty or thirty columns.
const KEPT: usize = 16 << 20;

thread_local! {
    static MEMORY: RefCell<MutableBuffer> = RefCell::new(MutableBuffer::new(0));
}

/// Codes and string bytes of a column.
pub(crate) type ScratchColumn<'a> = (&'a mut [u8], &'a mut [u8]);

/// Calls `work` with memory for columns of so many bytes of codes and of strings, which holds whatever it held before.
pub(crate) fn with_columns<T>(lengths: &[(usize, usize)], work: impl FnOnce(&mut [ScratchColumn<'_>]) -> T) -> T {
    let all: usize = lengths.iter().map(|(codes, bytes)| aligned(*codes) + aligned(*bytes)).sum();
    MEMORY.with(|memory| {
        // A zone that is laid out within the laying out of another has memory of its own.
        let mut own = memory.take();
        if own.len() < all {
            own.resize(all, 0);
        }
        let mut rest = own.as_slice_mut();
        let mut columns = Vec::with_capacity(lengths.len());
        for (codes, bytes) in lengths {
            let (first, others) = rest.split_at_mut(aligned(*codes));
            let (second, others) = others.split_at_mut(aligned(*bytes));
            columns.push((&mut first[..*codes], &mut second[..*bytes]));
            rest = others;
        }
        let result = work(&mut columns);
        if own.len() <= KEPT {
            memory.replace(own);
        }
        result
    })
}

fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_their_bytes_and_are_aligned() {
        for sizes in [vec![(3, 0), (8, 5), (0, 70)], vec![(100_000, 1)], vec![], vec![(KEPT, 7), (1, 1)], vec![(1, 1)]]
        {
            with_columns(&sizes, |columns| {
                for ((codes, bytes), (a, b)) in columns.iter_mut().zip(&sizes) {
                    assert_eq!((codes.len(), bytes.len()), (*a, *b));
                    assert!(codes.as_ptr().cast::<u128>().is_aligned());
                    codes.fill(1);
                    bytes.fill(2);
                }
                assert!(columns.iter().all(|(codes, bytes)| {
                    codes.iter().all(|byte| *byte == 1) && bytes.iter().all(|byte| *byte == 2)
                }));
                with_columns(&[(5, 5)], |inner| inner[0].0.fill(9));
                assert!(columns.iter().all(|(codes, _)| codes.iter().all(|byte| *byte == 1)));
            });
        }
    }
}
