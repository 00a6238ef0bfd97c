//! How a file is cut into chunks: even ones, and its end as one of its own, since that is all that opening a segment reads.

use std::ops::Range;

/// Bytes of a chunk but for the last two: a request for fewer takes as long, and a point query reads few more than it needs.
const CHUNK: u64 = 256 << 10;
/// Bytes of the last chunk of a longer file: in most segments the whole directory.
pub(crate) const TAIL: u64 = 16 << 10;

/// How a file of some length is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkCuts {
    length: u64,
}

impl ChunkCuts {
    /// The cuts of a file of `length` bytes.
    pub fn new(length: u64) -> Self {
        Self { length }
    }

    /// Bytes of the file.
    pub fn length(self) -> u64 {
        self.length
    }

    /// Where the last chunk begins.
    fn tail(self) -> u64 {
        self.length.saturating_sub(TAIL)
    }

    /// The number of the last chunk.
    pub fn last(self) -> u32 {
        self.tail().div_ceil(CHUNK) as u32
    }

    /// The bytes of a chunk.
    pub fn bytes(self, chunk: u32) -> Range<u64> {
        if chunk >= self.last() {
            return self.tail()..self.length;
        }
        let start = u64::from(chunk) * CHUNK;
        start..(start + CHUNK).min(self.tail())
    }

    /// Bytes of a chunk.
    pub fn length_of(self, chunk: u32) -> usize {
        let bytes = self.bytes(chunk);
        (bytes.end - bytes.start) as usize
    }

    /// The chunks that have the bytes from `offset` on; none of an empty range. The range must lie within the file.
    pub fn of(self, offset: u64, length: usize) -> Range<u32> {
        if length == 0 {
            return 0..0;
        }
        let chunk = |byte: u64| if byte >= self.tail() { self.last() } else { (byte / CHUNK) as u32 };
        chunk(offset)..chunk(offset + length as u64 - 1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_one_another_and_every_byte_is_in_one() {
        for length in [1, 100, TAIL, TAIL + 1, CHUNK, CHUNK + TAIL, CHUNK + TAIL + 1, 3 * CHUNK + 77] {
            let cuts = ChunkCuts::new(length);
            let mut end = 0;
            for chunk in 0..=cuts.last() {
                let bytes = cuts.bytes(chunk);
                assert_eq!(bytes.start, end, "{length}");
                end = bytes.end;
                for byte in [bytes.start, bytes.end - 1] {
                    assert_eq!(cuts.of(byte, 1), chunk..chunk + 1, "{length} {byte}");
                }
            }
            assert_eq!(end, length);
            assert_eq!(cuts.of(0, length as usize), 0..cuts.last() + 1);
        }
        assert_eq!(ChunkCuts::new(5).of(3, 0), 0..0);
    }
}
