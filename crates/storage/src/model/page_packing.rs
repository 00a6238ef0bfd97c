//! How the entries of a dense page are compressed (read-optimized paper, sections 3.2 and 4.2).

use serde::{Deserialize, Serialize};
use std::fmt;

/// Most bits of an index into a page's dictionaries: no page of 64 KiB holds as many entries.
pub const MOST_INDEX_BITS: u8 = 15;

/// The packing of a column in dense pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PagePacking {
    /// Codes in as many bits as the segment's largest needs.
    BitPacked,
    /// Each run of one code as one word: the code and how often it follows itself. Of single columns only.
    RunLength,
    /// Indexes into a dictionary of the page, of so many bits; 0 for as many as take fewest bytes.
    PageDictionary(u8),
    /// The difference from the code before, without its leading zeros. In rows, of the first columns together as one number.
    Delta,
    /// Codes in whole bytes, 128-bit values, and byte strings behind their length.
    Plain,
}

impl PagePacking {
    /// The names of all packings in SQL.
    pub const NAMES: [&'static str; 5] = ["bit_packed", "run_length", "page_dictionary", "delta", "plain"];

    /// The packing's name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BitPacked => "bit_packed",
            Self::RunLength => "run_length",
            Self::PageDictionary(_) => "page_dictionary",
            Self::Delta => "delta",
            Self::Plain => "plain",
        }
    }

    /// The packing of that name.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::BitPacked, Self::RunLength, Self::PageDictionary(0), Self::Delta, Self::Plain];
        all.into_iter().find(|packing| packing.name() == name)
    }
}

/// The text that SQL takes: `delta`, `page_dictionary(11)`.
impl fmt::Display for PagePacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PageDictionary(bits @ 1..) => write!(f, "page_dictionary({bits})"),
            packing => f.write_str(packing.name()),
        }
    }
}
