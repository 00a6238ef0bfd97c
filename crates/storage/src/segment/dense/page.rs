//! The parts of a page that was read: every count, size and place is held against the page's bytes before anything uses it.

use crate::model::page_packing::PagePacking;
use crate::segment::dense::form::{
    COUNT_BITS, ENTRIES_BYTES, EntryKind, HAS_NULLS, IS_COMPRESSED, PAGE_HEADER, PageForm, SIZE_BYTES,
};
use std::ops::Range;

/// One page, or several that one entry takes.
#[derive(Debug)]
pub(crate) struct DensePage {
    /// The page's number.
    pub number: usize,
    /// TIDs of its records.
    pub records: Range<usize>,
    /// Where its bytes lie in the buffer; the other ranges are within them.
    pub bytes: Range<usize>,
    /// Entries.
    pub count: usize,
    /// For each column that has NULLs here its place among the group's and where its validity bits lie.
    pub nulls: Vec<(usize, Range<usize>)>,
    /// Where entries lie, and what follows them before the dictionaries.
    pub entries: Range<usize>,
    /// For each column with a dictionary its place and where the entries of its dictionary lie.
    pub dictionaries: Vec<(usize, Range<usize>)>,
    /// The byte strings are compressed.
    pub is_compressed: bool,
}

impl DensePage {
    /// Parses the page of number `number`, which lies at `place` of a buffer and has these records.
    pub fn parse(
        form: &PageForm,
        number: usize,
        records: Range<usize>,
        (buffer, place): (&[u8], Range<usize>),
    ) -> Result<Self, String> {
        let bytes = &buffer[place.clone()];
        let Some((header, _)) = bytes.split_first_chunk::<PAGE_HEADER>() else {
            return Err(format!("{} bytes are no page", bytes.len()));
        };
        let header = u32::from_le_bytes(*header);
        let count = (header & ((1 << COUNT_BITS) - 1)) as usize;
        let flags = header & !((1 << COUNT_BITS) - 1);
        let is_compressed = flags & IS_COMPRESSED != 0;
        if flags & !(HAS_NULLS | IS_COMPRESSED) != 0 || is_compressed && form.kind != EntryKind::Strings {
            return Err(format!("unknown flags {flags:#x}"));
        }
        let is_run = matches!(form.kind, EntryKind::Runs { .. });
        if count == 0 || count > records.len() || !is_run && count != records.len() {
            return Err(format!("{count} entries of {} records", records.len()));
        }
        let mut start = PAGE_HEADER;
        let nulls = if flags & HAS_NULLS == 0 { Vec::new() } else { null_bits(form, bytes, count, &mut start)? };
        let (dictionaries, end) = if form.dictionaries == 0 {
            (Vec::new(), bytes.len())
        } else {
            let dictionaries = dictionaries(form, bytes).ok_or("the dictionaries don't fit the page")?;
            let end = dictionaries.last().map_or(0, |(_, place)| place.start);
            (dictionaries, end)
        };
        let needed = match form.kind {
            EntryKind::Tuples { stride } => count.checked_mul(stride).map(|bits| bits.div_ceil(8)),
            EntryKind::Runs { word_bytes } => count.checked_mul(word_bytes),
            EntryKind::Strings => Some((count * form.rest_bits).div_ceil(8)),
            EntryKind::VariableTuples => Some(0),
        };
        if needed.and_then(|needed| start.checked_add(needed)).is_none_or(|needed| needed > end) {
            return Err(format!("{count} entries go past the end of the page"));
        }
        Ok(Self { number, records, bytes: place, count, nulls, entries: start..end, dictionaries, is_compressed })
    }
}

/// Where the validity bits of each column with NULLs lie; `start` gets behind them.
fn null_bits(
    form: &PageForm,
    bytes: &[u8],
    count: usize,
    start: &mut usize,
) -> Result<Vec<(usize, Range<usize>)>, String> {
    let past = || "the validity bits go past the end of the page".to_owned();
    let mask = bytes.get(*start..*start + form.mask_bytes()).ok_or_else(past)?;
    *start += mask.len();
    let columns = (0..mask.len() * 8).filter(|column| mask[column / 8] >> (column % 8) & 1 == 1);
    let mut nulls = Vec::new();
    for column in columns {
        if column >= form.fields.len() {
            return Err(format!("NULLs of column {column} of {}", form.fields.len()));
        }
        let place = *start..*start + count.div_ceil(8);
        *start = place.end;
        nulls.push((column, place));
    }
    if *start > bytes.len() {
        return Err(past());
    }
    Ok(nulls)
}

/// Where the dictionaries lie, the first in the file last.
fn dictionaries(form: &PageForm, bytes: &[u8]) -> Option<Vec<(usize, Range<usize>)>> {
    let (rest, size) = bytes.split_last_chunk::<SIZE_BYTES>()?;
    let size = u32::from_le_bytes(*size) as usize;
    let start = rest.len().checked_sub(size)?;
    let counts_at = rest.len().checked_sub(form.dictionaries * ENTRIES_BYTES)?;
    let mut counts = rest[counts_at..].as_chunks::<ENTRIES_BYTES>().0.iter();
    let mut end = counts_at;
    let mut places = Vec::with_capacity(form.dictionaries);
    for (place, field) in form.fields.iter().enumerate() {
        if let PagePacking::PageDictionary(_) = field.packing {
            let entries = usize::from(u16::from_le_bytes(*counts.next()?));
            let first = end.checked_sub(entries * field.code_bytes())?;
            places.push((place, first..end));
            end = first;
        }
    }
    (end == start).then_some(places)
}
