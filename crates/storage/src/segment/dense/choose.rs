//! The packings of a group's pages that take fewest bytes.
//!
//! Every candidate is cut as it would be written. Where that would take long, some windows of the segment are cut first, and only
//! candidates that come near the best there are measured on all records. In rows the delta-coded columns are chosen first, then
//! dictionaries one column after the other, as long as each makes the pages smaller (docs/decisions/0056-dense-pages.md).

use crate::model::page_packing::{MOST_INDEX_BITS, PagePacking};
use crate::segment::decode::Native;
use crate::segment::dense::cut::{Cutter, Numbers, Pages};
use crate::segment::dense::entries::{ColumnEntries, EntriesMeta};
use crate::segment::dense::form::{EntryKind, MOST_NUMBER_BITS, PageField, PageForm};
use std::ops::Range;

/// Records of a window.
const WINDOW: usize = 1 << 14;
/// Windows of a segment, at most.
const WINDOWS: usize = 4;
/// A column of which more than so many in a hundred values of a window differ has no use for a dictionary: an entry and the
/// indexes take more than the codes.
const DISTINCT_PERCENT: usize = 95;

/// The packings of a group's pages, ready to be written.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The fields of an entry.
    pub fields: Vec<PageField>,
    /// Where they lie.
    pub form: PageForm,
    /// The numbers that delta-coded columns make; empty without any.
    pub numbers: Vec<u64>,
    /// For each column with a dictionary what [`ColumnEntries::seen_before`] says; empty for others.
    pub seen: Vec<Vec<u32>>,
    /// Where pages end. Byte strings alone in their pages are cut when they are compressed.
    pub pages: Pages,
}

/// A candidate: the packing of each column.
type Packings = Vec<PagePacking>;

/// Chooses packings for the columns of a group: those that were asked for where the values allow them, else the smallest.
pub(crate) fn choose(columns: &[ColumnEntries], metas: &[EntriesMeta], page_size: u32) -> Result<Chosen, String> {
    let rows = columns.first().map_or(0, |column| column.rows);
    let mut seen = vec![Vec::new(); columns.len()];
    for ((column, meta), seen) in columns.iter().zip(metas).zip(&mut seen) {
        if may_have_dictionary(column, meta) {
            *seen = column.seen_before(meta.code_bits);
        }
    }
    let mut chooser = Chooser { columns, metas, page_size, seen, windows: windows(rows), numbers: Vec::new(), most: 0 };
    chooser.number();
    let packings = if columns.len() == 1 { chooser.column()? } else { chooser.tuple()? };
    chooser.chosen(&packings)
}

/// Some runs of records, or all.
fn windows(rows: usize) -> Vec<Range<usize>> {
    if rows <= WINDOW * WINDOWS {
        return Vec::new();
    }
    (0..WINDOWS).map(|window| window * (rows - WINDOW) / (WINDOWS - 1)).map(|start| start..start + WINDOW).collect()
}

/// True when a dictionary is asked for, or values repeat often enough that one might pay.
fn may_have_dictionary(column: &ColumnEntries, meta: &EntriesMeta) -> bool {
    let coded = matches!(meta.native, Native::Codes { .. }) && meta.code_bits > 0;
    match meta.asked {
        Some(PagePacking::PageDictionary(_)) => coded,
        Some(_) => false,
        None if !coded || meta.code_bits == 1 => false,
        None => {
            let middle = column.rows.saturating_sub(WINDOW) / 2;
            let mut window = column.codes[middle..column.rows.min(middle + WINDOW)].to_vec();
            let all = window.len();
            window.sort_unstable();
            window.dedup();
            window.len() * 100 <= all * DISTINCT_PERCENT
        }
    }
}

struct Chooser<'a> {
    columns: &'a [ColumnEntries],
    metas: &'a [EntriesMeta],
    page_size: u32,
    /// For each column that may have a dictionary what [`ColumnEntries::seen_before`] says.
    seen: Vec<Vec<u32>>,
    /// Windows to measure on first; empty when all records are few enough.
    windows: Vec<Range<usize>>,
    /// For each record the codes of the first columns as one number.
    numbers: Vec<u64>,
    /// The number of these columns: as many as may be delta-coded together.
    most: usize,
}

impl Chooser<'_> {
    /// The packing of a single column.
    fn column(&self) -> Result<Packings, String> {
        let meta = &self.metas[0];
        let plain = self.without(0);
        let has_runs = matches!(meta.native, Native::Codes { .. }) && meta.code_bits < 64;
        let has_delta = meta.code_bits > 0 && self.most == 1;
        let candidates = match meta.asked {
            Some(PagePacking::RunLength) if has_runs => vec![PagePacking::RunLength],
            Some(PagePacking::Delta) if has_delta => vec![PagePacking::Delta],
            Some(PagePacking::PageDictionary(0)) if !self.seen[0].is_empty() => self.dictionaries(&[0], meta.code_bits),
            Some(PagePacking::PageDictionary(bits)) if !self.seen[0].is_empty() => {
                vec![PagePacking::PageDictionary(bits)]
            }
            Some(_) => vec![plain],
            None => {
                let mut all = vec![plain];
                all.extend(Some(PagePacking::RunLength).filter(|_| has_runs));
                if !self.seen[0].is_empty() {
                    all.extend(self.dictionaries(&[0], meta.code_bits - 1));
                }
                all.extend(Some(PagePacking::Delta).filter(|_| has_delta));
                all
            }
        };
        self.smallest(candidates.into_iter().map(|packing| vec![packing]).collect())
    }

    /// The packings of the columns of whole records.
    fn tuple(&self) -> Result<Packings, String> {
        let mut best: Packings = (0..self.columns.len()).map(|column| self.without(column)).collect();
        let candidates = self.delta_columns().into_iter().map(|delta| {
            let mut packings = best.clone();
            packings[..delta].fill(PagePacking::Delta);
            packings
        });
        best = self.smallest(candidates.collect())?;
        let asked = |column: &usize| matches!(self.metas[*column].asked, Some(PagePacking::PageDictionary(_)));
        let mut with: Vec<usize> = (0..self.columns.len()).filter(asked).collect();
        with.retain(|column| !self.seen[*column].is_empty());
        if !with.is_empty() {
            best = self.smallest(self.with_dictionaries(&best, &with))?;
        }
        for column in 0..self.columns.len() {
            if self.metas[column].asked.is_some() || self.seen[column].is_empty() || best[column] == PagePacking::Delta
            {
                continue;
            }
            with.push(column);
            let mut candidates = vec![best.clone()];
            candidates.extend(self.with_dictionaries(&best, &with));
            best = self.smallest(candidates)?;
            if !matches!(best[column], PagePacking::PageDictionary(_)) {
                with.pop();
            }
        }
        Ok(best)
    }

    /// The packing of a column that has neither runs nor differences nor a dictionary.
    fn without(&self, column: usize) -> PagePacking {
        match (self.metas[column].native, self.metas[column].asked) {
            (Native::Codes { .. }, Some(PagePacking::Plain)) => PagePacking::Plain,
            (Native::Codes { .. }, _) => PagePacking::BitPacked,
            _ => PagePacking::Plain,
        }
    }

    /// Makes the numbers of as many of the first columns as may be delta-coded as one: that ascends and has at most 64 bits.
    fn number(&mut self) {
        let may = |meta: &&EntriesMeta| {
            matches!(meta.native, Native::Codes { .. }) && matches!(meta.asked, None | Some(PagePacking::Delta))
        };
        let mut bits = 0;
        for (column, meta) in self.columns.iter().zip(self.metas.iter().take_while(may)) {
            bits += u32::from(meta.code_bits);
            let shift = u32::from(meta.code_bits);
            let with = |(number, code): (&u64, &u64)| number.checked_shl(shift).unwrap_or(0) | code;
            let numbers: Vec<u64> = match self.most {
                0 => column.codes.clone(),
                _ => self.numbers.iter().zip(&column.codes).map(with).collect(),
            };
            if bits > MOST_NUMBER_BITS || !numbers.is_sorted() {
                return;
            }
            (self.numbers, self.most) = (numbers, self.most + 1);
        }
    }

    /// The numbers of first columns that are delta-coded, one for each candidate.
    fn delta_columns(&self) -> Vec<usize> {
        let asked = self.metas.iter().take_while(|meta| meta.asked == Some(PagePacking::Delta)).count();
        // Where values forbid what was asked for, nothing is delta-coded; nor are columns whose numbers have no bits.
        let has_bits = |delta: &usize| self.metas[..*delta].iter().any(|meta| meta.code_bits > 0);
        let some = (asked.max(1)..=self.most).filter(has_bits);
        let is_forced = asked > 0 && some.clone().next().is_some();
        Some(0).filter(|_| !is_forced).into_iter().chain(some).collect()
    }

    /// Dictionaries of every size that some of the columns can use, with indexes of at most so many bits.
    fn dictionaries(&self, columns: &[usize], most: u8) -> Vec<PagePacking> {
        let asked = columns.iter().filter_map(|column| match self.metas[*column].asked {
            Some(PagePacking::PageDictionary(bits @ 1..)) => Some(bits),
            _ => None,
        });
        match asked.max() {
            Some(bits) => vec![PagePacking::PageDictionary(bits)],
            None => (1..=most.clamp(1, MOST_INDEX_BITS)).map(PagePacking::PageDictionary).collect(),
        }
    }

    /// `packings` with dictionaries for some columns, of every size.
    fn with_dictionaries(&self, packings: &Packings, columns: &[usize]) -> Vec<Packings> {
        let widest = columns.iter().map(|column| self.metas[*column].code_bits).max().unwrap_or(1);
        let with = |dictionary: PagePacking| {
            let mut packings = packings.clone();
            columns.iter().for_each(|column| packings[*column] = dictionary);
            packings
        };
        self.dictionaries(columns, widest.saturating_sub(1)).into_iter().map(with).collect()
    }

    /// The smallest of some candidates, the first of equal ones.
    fn smallest(&self, mut candidates: Vec<Packings>) -> Result<Packings, String> {
        if candidates.len() > 1 && !self.windows.is_empty() {
            let mut estimates = Vec::with_capacity(candidates.len());
            for packings in &candidates {
                let prepared = self.prepare(packings)?;
                let bytes = self.windows.iter().map(|window| prepared.cut(window.clone()).bytes);
                estimates.push(bytes.sum::<u64>());
            }
            let least = estimates.iter().copied().min().unwrap_or(0);
            let mut near = estimates.iter().map(|bytes| *bytes <= least + least / 32);
            candidates.retain(|_| near.next().unwrap_or(false));
        }
        let mut best: Option<(u64, Packings)> = None;
        if candidates.len() == 1 {
            return Ok(candidates.remove(0));
        }
        for packings in candidates {
            let bytes = self.prepare(&packings)?.cut(0..self.columns[0].rows).bytes;
            if best.as_ref().is_none_or(|(least, _)| bytes < *least) {
                best = Some((bytes, packings));
            }
        }
        best.map(|(_, packings)| packings).ok_or_else(|| "no packing".into())
    }

    fn prepare(&self, packings: &Packings) -> Result<CandidatePages<'_>, String> {
        let field = |(column, packing): (usize, &PagePacking)| PageField {
            packing: *packing,
            bits: match (packing, self.metas[column].native) {
                (PagePacking::PageDictionary(bits), _) => *bits,
                (PagePacking::Plain, Native::Codes { width }) => width * 8,
                (PagePacking::Plain, Native::Wide) => 128,
                (PagePacking::Plain, Native::Bytes { .. }) => self.columns[column].length_bits(),
                _ => self.metas[column].code_bits,
            },
        };
        let fields: Vec<PageField> = packings.iter().enumerate().map(field).collect();
        let columns: Vec<_> = self.metas.iter().map(|meta| (meta.native, meta.code_bits)).collect();
        let form = PageForm::new(self.page_size, &fields, &columns)?;
        let surplus = &self.metas[form.delta_fields().min(self.most)..self.most];
        let surplus = surplus.iter().map(|meta| u32::from(meta.code_bits)).sum();
        let has_dictionary: Vec<bool> =
            packings.iter().map(|packing| matches!(packing, PagePacking::PageDictionary(_))).collect();
        Ok(CandidatePages { chooser: self, fields, form, surplus, has_dictionary })
    }

    fn chosen(self, packings: &Packings) -> Result<Chosen, String> {
        let prepared = self.prepare(packings)?;
        let pages = match prepared.form.kind {
            EntryKind::Strings => Pages::default(),
            _ => prepared.cut(0..self.columns[0].rows),
        };
        let CandidatePages { fields, form, surplus, has_dictionary, .. } = prepared;
        let mut numbers = if form.number_bits > 0 { self.numbers } else { Vec::new() };
        numbers.iter_mut().for_each(|number| *number >>= surplus);
        let keep = |(seen, has): (Vec<u32>, &bool)| if *has { seen } else { Vec::new() };
        let seen = self.seen.into_iter().zip(&has_dictionary).map(keep).collect();
        Ok(Chosen { fields, form, numbers, seen, pages })
    }
}

/// A candidate that can be cut.
struct CandidatePages<'a> {
    chooser: &'a Chooser<'a>,
    fields: Vec<PageField>,
    form: PageForm,
    /// Bits that the chooser's numbers have of columns that are not delta-coded.
    surplus: u32,
    has_dictionary: Vec<bool>,
}

impl CandidatePages<'_> {
    fn cut(&self, records: Range<usize>) -> Pages {
        let seen = self.chooser.seen.iter().zip(&self.has_dictionary);
        let seen: Vec<&[u32]> = seen.map(|(seen, has)| if *has { seen.as_slice() } else { &[] }).collect();
        let numbers = Numbers { all: &self.chooser.numbers, surplus: self.surplus.min(63) };
        Cutter { form: &self.form, columns: self.chooser.columns, numbers, seen: &seen }.cut(records)
    }
}
