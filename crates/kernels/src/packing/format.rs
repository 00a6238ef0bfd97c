//! What a packed column is: its packing, the width of its codes, and the bytes that they lie in.
//!
//! docs/formats/packings.md has the byte map of each packing.

use std::error::Error;
use std::fmt;
use std::ops::Range;

/// How codes of k bits lie in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Each code in the smallest of 8, 16, 32 or 64 bits that holds it.
    Native,
    /// The codes one after the other, without gaps (ByteSlice paper, section 2.1).
    BitPacked,
    /// Words of the j-th bits of many codes (ByteSlice paper, section 2.2).
    Vbp,
    /// Banks of whole codes, with a spare bit before each (ByteSlice paper, section 2.3).
    Hbp,
    /// The codes' bytes in slices, the most significant first (ByteSlice paper, section 3).
    ByteSlice,
    /// Byteslice with slices of 16 bits (ByteSlice paper, appendix A).
    ByteSlice16,
}

impl Packing {
    /// Every packing.
    pub const ALL: [Self; 6] =
        [Self::Native, Self::BitPacked, Self::Vbp, Self::Hbp, Self::ByteSlice, Self::ByteSlice16];

    /// The name in SQL and in file formats.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::BitPacked => "bit_packed",
            Self::Vbp => "vbp",
            Self::Hbp => "hbp",
            Self::ByteSlice => "byteslice",
            Self::ByteSlice16 => "byteslice16",
        }
    }

    /// The packing of that [`Packing::name`].
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|packing| packing.name() == name)
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A packing with its measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format {
    packing: Packing,
    width: u8,
    segment_bits: u16,
}

impl Format {
    /// Codes of `width` bits, in segments of 512 bits where the packing has any.
    ///
    /// # Errors
    /// When `width` is not from 1 to 64.
    pub fn new(packing: Packing, width: u8) -> Result<Self, FormatError> {
        if !(1..=64).contains(&width) {
            return Err(FormatError::Width(width));
        }
        Ok(Self { packing, width, segment_bits: 512 })
    }

    /// This format with segments of `segment_bits` bits: the S of the ByteSlice paper, which is the width of a memory word of the
    /// vertical packings. Other packings carry the number without meaning.
    ///
    /// # Errors
    /// When it is neither 256 nor 512.
    pub fn with_segment_bits(self, segment_bits: u16) -> Result<Self, FormatError> {
        match segment_bits {
            256 | 512 => Ok(Self { segment_bits, ..self }),
            _ => Err(FormatError::SegmentBits(segment_bits)),
        }
    }

    /// The packing.
    pub const fn packing(self) -> Packing {
        self.packing
    }

    /// Bits of a code, from 1 to 64.
    pub const fn width(self) -> u8 {
        self.width
    }

    /// Bits of a memory word of a vertical packing: 256 or 512.
    pub const fn segment_bits(self) -> u16 {
        self.segment_bits
    }

    /// The largest code.
    pub const fn max_code(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// Bytes that `rows` codes take, with all padding: kernels read these and no others, under every instruction set.
    ///
    /// # Panics
    /// When `rows` exceeds [`MAX_ROWS`].
    pub fn bytes(self, rows: usize) -> usize {
        assert!(rows <= MAX_ROWS, "{rows} rows in one packed column, which holds {MAX_ROWS} at most");
        of_packing!(self.packing, bytes(self, rows))
    }
}

/// Rows of a packed column at most, since TIDs have 32 bits.
pub const MAX_ROWS: usize = u32::MAX as usize;

/// Rows that a [`Packed::part`] starts at a multiple of: a whole number of bytes, words and segments of any packing.
pub const PART_ROWS: usize = 512;

/// A packed column, or a part of one: its format and the bytes that it lies in, which may start at any address.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'a> {
    format: Format,
    bytes: &'a [u8],
    total: usize,
    first: usize,
    rows: usize,
}

impl<'a> Packed<'a> {
    /// The `rows` codes that lie in the first [`Format::bytes`] of `bytes`.
    ///
    /// # Errors
    /// When there are not so many bytes, or more than [`MAX_ROWS`] rows.
    pub fn new(format: Format, rows: usize, bytes: &'a [u8]) -> Result<Self, FormatError> {
        if rows > MAX_ROWS {
            return Err(FormatError::Rows(rows));
        }
        let needed = format.bytes(rows);
        match bytes.get(..needed) {
            Some(bytes) => Ok(Self { format, bytes, total: rows, first: 0, rows }),
            None => Err(FormatError::Bytes { needed, found: bytes.len() }),
        }
    }

    /// A run of the rows, as a column whose row 0 is row `rows.start` of this one. `None` when the run is not within
    /// the rows or does not start at a multiple of [`PART_ROWS`].
    pub fn part(self, rows: Range<usize>) -> Option<Self> {
        let within = rows.start <= rows.end && rows.end <= self.rows && rows.start.is_multiple_of(PART_ROWS);
        within.then(|| Self { first: self.first + rows.start, rows: rows.len(), ..self })
    }

    /// The format.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// The number of codes (of the part).
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes of the whole column: exactly [`Format::bytes`] of [`Packed::total`].
    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Codes of the whole column, which decide where its bytes are.
    pub(super) const fn total(&self) -> usize {
        self.total
    }

    /// Row of the whole column that this part starts at, a multiple of [`PART_ROWS`].
    pub(super) const fn first(&self) -> usize {
        self.first
    }
}

/// Why bytes are no packed column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatError {
    /// A width of no code.
    Width(u8),
    /// A segment size that no kernel has.
    SegmentBits(u16),
    /// More rows than [`MAX_ROWS`].
    Rows(usize),
    /// Fewer bytes than the rows take.
    Bytes {
        /// What [`Format::bytes`] says.
        needed: usize,
        /// What was given.
        found: usize,
    },
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width(width) => write!(f, "codes of {width} bits: packings take 1 to 64"),
            Self::SegmentBits(bits) => write!(f, "segments of {bits} bits: packings take 256 or 512"),
            Self::Rows(rows) => write!(f, "{rows} rows in one packed column, which holds {MAX_ROWS} at most"),
            Self::Bytes { needed, found } => write!(f, "{found} bytes of packed codes, which take {needed}"),
        }
    }
}

impl Error for FormatError {}
