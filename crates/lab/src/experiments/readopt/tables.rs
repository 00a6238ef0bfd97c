//! The paper's five tables (section 4.1): their columns, records and values, and the packings of Table 1.

use crate::data::Zipf;
use crate::experiment::{Bench, Mode};
use crate::machine::available_memory;
use crate::random::Random;
use gingham::storage::model::PagePacking;

/// A table of the paper, or one of ours made after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaperTable {
    /// Ten columns, even over ranges that grow from 6 to 134 million.
    NarrowE,
    /// Ten columns over those ranges, after Zipf with exponent 2.
    NarrowS,
    /// Fifty columns, even over ranges that grow from 21 to 134 million.
    WideE,
    /// Ten columns, even over 100 million.
    NarrowU,
    /// Ten columns of 20 random letters: the paper does not say what its strings hold.
    Strings,
    /// Narrow-E whose ninth column has as many records to a value as the paper's table has, whatever the number of records.
    Joined,
}

/// Words of 32 bits of a string.
pub const STRING_WORDS: usize = 5;
/// The paper's records: of narrow tables, and of wide ones.
const PAPER_RECORDS: (usize, usize) = (60_000_000, 12_000_000);
/// Divisors of the paper's records in default runs, in quick runs, and in tests.
const PARTS: [usize; 3] = [10, 100, 10_000];
/// The largest value of the ninth column in the paper.
const NINTH: f64 = 20_655_176.0;

impl PaperTable {
    /// The paper's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NarrowE => "Narrow-E",
            Self::NarrowS => "Narrow-S",
            Self::WideE => "Wide-E",
            Self::NarrowU => "Narrow-U",
            Self::Strings => "Strings",
            Self::Joined => "Narrow-E for joins",
        }
    }

    /// Columns.
    pub fn columns(self) -> usize {
        if self == Self::WideE { 50 } else { 10 }
    }

    /// Words of 32 bits of a value.
    pub fn words(self) -> usize {
        if self == Self::Strings { STRING_WORDS } else { 1 }
    }

    /// The numbers of columns that queries return: one, a quarter, half and all of them.
    pub fn returned(self) -> [usize; 4] {
        if self == Self::WideE { [1, 13, 25, 50] } else { [1, 3, 5, 10] }
    }

    /// Records in the paper.
    pub fn paper_records(self) -> usize {
        if matches!(self, Self::WideE | Self::Strings) { PAPER_RECORDS.1 } else { PAPER_RECORDS.0 }
    }

    /// Records here: the paper's in full runs as far as memory goes, a tenth otherwise, in quick runs a hundredth.
    pub fn records(self, bench: &Bench) -> usize {
        let paper = self.paper_records();
        match bench.settings.mode {
            Mode::Tiny => paper / PARTS[2],
            Mode::Quick => paper / PARTS[1],
            Mode::Default => paper / PARTS[0],
            // The values, in two orders, and the pages in the system's cache.
            Mode::Full => {
                let bytes = self.columns() * self.words() * 4 * 4;
                let room = available_memory().map_or(paper, |free| (free as usize / bytes).max(paper / PARTS[0]));
                paper.min(room)
            }
        }
    }

    /// The largest value of a column, from 0 on, of an integer table.
    pub fn largest(self, column: usize, records: usize) -> u32 {
        let number = (column + 1) as f64;
        let largest = match self {
            Self::Joined if column == 8 => NINTH * records as f64 / PAPER_RECORDS.0 as f64,
            Self::NarrowE | Self::NarrowS | Self::Joined => 2f64.powf(2.7 * number),
            Self::WideE => 2f64.powf(4.0 + 23.0 / 50.0 * number),
            Self::NarrowU | Self::Strings => 1e8,
        };
        (largest.floor() as u32).max(1)
    }

    /// The packing of a column in rows by Table 1, with the differences that it omits for Narrow-S (section 6.3 has them).
    pub fn row_packing(self, column: usize) -> PagePacking {
        match (self, column) {
            (Self::NarrowE | Self::Joined, 0..5) | (Self::WideE, 0..8) | (Self::NarrowS, 0..6) => PagePacking::Delta,
            (Self::NarrowS, _) => PagePacking::PageDictionary(11),
            (Self::Strings, _) => PagePacking::Plain,
            _ => PagePacking::BitPacked,
        }
    }

    /// The packing of a column in rows as Table 1 prints it.
    pub fn printed_row_packing(self, column: usize) -> PagePacking {
        match (self, column) {
            (Self::NarrowS, 0..6) => PagePacking::BitPacked,
            _ => self.row_packing(column),
        }
    }

    /// The packing of a column on its own by Table 1.
    pub fn column_packing(self, column: usize) -> PagePacking {
        match (self, column) {
            (Self::NarrowE | Self::Joined, 0..3) | (Self::WideE, 0..4) | (Self::NarrowS, 0..6) => {
                PagePacking::RunLength
            }
            (Self::NarrowS, _) => PagePacking::PageDictionary(12),
            (Self::Strings, _) => PagePacking::Plain,
            _ => PagePacking::BitPacked,
        }
    }
}

/// The values of a table, sorted by all columns from left to right.
#[derive(Debug)]
pub struct TableValues {
    /// Records.
    pub records: usize,
    /// Words of a value.
    pub words: usize,
    /// For each column the words of its values, record by record.
    pub columns: Vec<Vec<u32>>,
}

impl TableValues {
    /// Draws the values of a table and sorts its records.
    pub fn new(table: PaperTable, records: usize, seed: u64) -> Self {
        let columns = (0..table.columns()).map(|column| {
            let mut random = Random::named(seed, &format!("{} {column}", table.name()));
            let largest = u64::from(table.largest(column, records));
            match table {
                PaperTable::Strings => (0..records * STRING_WORDS).map(|_| letters(&mut random)).collect(),
                PaperTable::NarrowS => {
                    let zipf = Zipf::new(largest, 2.0);
                    (0..records).map(|_| 1 + zipf.draw(&mut random) as u32).collect()
                }
                _ => (0..records).map(|_| 1 + random.below(largest) as u32).collect::<Vec<u32>>(),
            }
        });
        let unsorted = Self { records, words: table.words(), columns: columns.collect() };
        unsorted.sorted()
    }

    /// The words of a value.
    #[inline]
    pub fn value(&self, column: usize, record: usize) -> &[u32] {
        &self.columns[column][record * self.words..][..self.words]
    }

    /// The records in the order of their values. Most are told apart by the first 64 bits.
    fn sorted(self) -> Self {
        let mut order: Vec<(u64, u32)> = self.prefixes().into_iter().zip(0..).collect();
        let words = |record: u32| {
            self.columns.iter().flat_map(move |column| &column[record as usize * self.words..][..self.words])
        };
        let ordered = |record: u32| words(record).map(|word| if self.words > 1 { word.swap_bytes() } else { *word });
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| ordered(a.1).cmp(ordered(b.1))));
        let gather = |column: &Vec<u32>| {
            let values = order.iter().flat_map(|(_, record)| &column[*record as usize * self.words..][..self.words]);
            values.copied().collect()
        };
        Self { columns: self.columns.iter().map(gather).collect(), ..self }
    }

    /// The first words of each record as one number: as many columns as fit.
    fn prefixes(&self) -> Vec<u64> {
        if self.words > 1 {
            let prefix = |record| {
                let string = self.value(0, record);
                u64::from(string[0].swap_bytes()) << 32 | u64::from(string[1].swap_bytes())
            };
            return (0..self.records).map(prefix).collect();
        }
        let (mut prefixes, mut bits) = (vec![0_u64; self.records], 0);
        for column in &self.columns {
            let width = u32::BITS - column.iter().max().map_or(0, |largest| largest.leading_zeros());
            bits += width;
            if bits > u64::BITS {
                break;
            }
            prefixes.iter_mut().zip(column).for_each(|(prefix, value)| *prefix = *prefix << width | u64::from(*value));
        }
        prefixes
    }
}

/// Four random letters, the first in the lowest byte.
fn letters(random: &mut Random) -> u32 {
    let mut bits = random.bits();
    let mut letter = || {
        let found = b'a' + (bits % 26) as u8;
        bits /= 26;
        found
    };
    u32::from_le_bytes([letter(), letter(), letter(), letter()])
}
