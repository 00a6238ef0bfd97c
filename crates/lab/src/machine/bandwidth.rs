//! How fast memory can be read: the line that a scan which waits for memory can't cross.

use gingham::storage::huge_buffer;
use gingham_kernels::{Isa, bits, integers};
use std::time::Instant;

/// Bytes per second that one or more threads read, sequentially, from memory that is in no cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// Threads that read at once.
    pub threads: usize,
    /// Bytes per second of all of them together: the best of a few passes, since the limit is looked for.
    pub bytes_per_second: f64,
}

/// Passes over the buffer.
const PASSES: usize = 5;

/// Reads `bytes` bytes in huge pages, cut among `threads` threads. The reading is a population count of all bits, which
/// loads every vector once and does little else.
pub fn read_bandwidth(bytes: usize, threads: usize) -> Bandwidth {
    let threads = threads.max(1);
    let mut buffer = huge_buffer(bytes);
    // Written, so that every page exists; ones, so that the count proves that everything was read.
    buffer.resize(bytes, 0xff);
    let share = (bytes / threads) / 64 * 64;
    let mut best = f64::INFINITY;
    for _ in 0..PASSES {
        let start = Instant::now();
        let ones: usize = std::thread::scope(|scope| {
            let readers: Vec<_> =
                buffer.chunks_exact(share).take(threads).map(|part| scope.spawn(|| count(part))).collect();
            readers.into_iter().map(|reader| reader.join().unwrap_or(0)).sum()
        });
        assert_eq!(ones, share * threads * 8, "every bit that was written is read");
        best = best.min(start.elapsed().as_secs_f64());
    }
    Bandwidth { threads, bytes_per_second: (share * threads) as f64 / best }
}

fn count(part: &[u8]) -> usize {
    // A buffer of a part's size is aligned to a word, since buffers are to pages or at least 16 bytes.
    let words = integers::<u64>(part, part.len() / 8).unwrap_or_default();
    bits::count(Isa::best(), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read() {
        for threads in [1, 2, 3] {
            let found = read_bandwidth(1 << 20, threads);
            assert!(found.threads == threads && found.bytes_per_second > 0.0);
        }
    }
}
