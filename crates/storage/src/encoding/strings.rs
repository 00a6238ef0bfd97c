//! The bytes class: dictionaries when few distinct values recur, else plain byte strings.
//!
//! Values are interned one by one; the attempt ends as soon as the distinct values are too many, or a first sample
//! says that they will be. Entries are sorted at the end, so that codes order as values do.

use crate::encoding::sketch::hash_bytes;
use crate::model::dictionary::view_array;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use hashbrown::HashTable;

/// Most entries of a segment's dictionary.
const MAX_ENTRIES: usize = 1 << 17;
/// Values after which nine tenths of distinct ones end the attempt: of as many that are equally frequent as a dictionary may have
/// entries, a little fewer are distinct.
const SAMPLE: usize = 1 << 15;
/// Most bytes of a value that lies in its Arrow view.
const INLINE: usize = 12;
/// Views of short values that are remembered: as many as the second cache has room for beside what is coded.
const SHORT: usize = 1 << 12;
/// Views of long values that are remembered.
const LONG: usize = 1 << 8;
/// Code of NULL until codes are final.
const NULL: u32 = u32::MAX;

/// A column coded by a dictionary.
pub(crate) struct DictionaryCodes {
    /// One per record; `None` inside is [`DictionaryCodes::is_null`].
    codes: Vec<u32>,
    /// Sorted distinct values, as Utf8View or BinaryView.
    pub entries: ArrayRef,
}

impl DictionaryCodes {
    /// Codes of a run of records; `None` for NULL.
    pub fn codes(&self, rows: std::ops::Range<usize>) -> impl Iterator<Item = Option<u32>> {
        self.codes[rows].iter().map(|code| (*code != NULL).then_some(*code))
    }
}

/// Calls `visit` with each value of a Utf8View or BinaryView array and its view, until it returns false. Returns
/// whether it got to the end.
pub(crate) fn for_each(chunk: &ArrayRef, mut visit: impl FnMut(Option<(u128, &[u8])>) -> bool) -> bool {
    let (views, buffers) = match chunk.data_type() {
        DataType::Utf8View => (chunk.as_string_view().views(), chunk.as_string_view().data_buffers()),
        _ => (chunk.as_binary_view().views(), chunk.as_binary_view().data_buffers()),
    };
    let nulls = chunk.nulls();
    views.iter().enumerate().all(|(row, view)| {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return visit(None);
        }
        // Arrow's view: length, then the value itself when it has at most 12 bytes, else prefix, buffer and offset.
        let length = *view as u32 as usize;
        if length <= INLINE {
            visit(Some((*view, &view.to_le_bytes()[4..4 + length])))
        } else {
            let offset = (*view >> 96) as usize;
            visit(Some((*view, &buffers[(*view >> 64) as u32 as usize][offset..offset + length])))
        }
    })
}

/// How many entries a dictionary may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryLimit {
    /// So few that it is clearly smaller than plain byte strings.
    Few,
    /// Any number: a dictionary was asked for.
    Any,
}

/// Codes the column by a dictionary; `None` when it would have too many entries.
pub(crate) fn try_dictionary(chunks: &[ArrayRef], entries: EntryLimit) -> Option<DictionaryCodes> {
    let rows = chunks.iter().map(|chunk| chunk.len()).sum();
    let mut interner = Interner::new(rows);
    let mut codes = Vec::with_capacity(rows);
    let (mut present, mut bytes) = (0usize, 0usize);
    for chunk in chunks {
        interner.long.forget();
        let all = for_each(chunk, |value| {
            let Some((view, value)) = value else {
                codes.push(NULL);
                return true;
            };
            codes.push(interner.intern(view, value));
            present += 1;
            bytes += value.len();
            let distinct = interner.len();
            entries == EntryLimit::Any || distinct <= MAX_ENTRIES && (present != SAMPLE || distinct * 10 <= SAMPLE * 9)
        });
        if !all {
            return None;
        }
    }
    let distinct = interner.len();
    let code_bytes = match distinct {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    };
    let coded = interner.arena.len() + 4 * distinct + code_bytes * rows;
    let plain = bytes + 4 * rows;
    let few = present > 0 && distinct * 4 <= present && coded * 10 <= plain * 7;
    if entries == EntryLimit::Few && !few {
        return None;
    }
    if distinct == 0 {
        // NULLs have a code too.
        interner.intern_value(&[]);
    }
    let (entries, order) = interner.sorted(chunks.first()?.data_type());
    codes.iter_mut().filter(|code| **code != NULL).for_each(|code| *code = order[*code as usize]);
    Some(DictionaryCodes { codes, entries })
}

/// Distinct byte strings, numbered as they came.
struct Interner {
    /// Views that are the value itself.
    short: RecentViews,
    /// Views that say where a value is: equal ones of one chunk are equal values, and readers of dictionary-coded files give equal
    /// values the same place.
    long: RecentViews,
    table: HashTable<u32>,
    hashes: Vec<u64>,
    ends: Vec<usize>,
    arena: Vec<u8>,
}

impl Interner {
    /// An empty one for so many values.
    fn new(values: usize) -> Self {
        let slots = |most: usize| values.next_power_of_two().min(most);
        let (short, long) = (RecentViews::new(slots(SHORT)), RecentViews::new(slots(LONG)));
        let (table, hashes, ends, arena) = Default::default();
        Self { short, long, table, hashes, ends, arena }
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn intern(&mut self, view: u128, value: &[u8]) -> u32 {
        let is_short = value.len() <= INLINE;
        let known = if is_short { self.short.find(view) } else { self.long.find(view) };
        if let Some(number) = known {
            return number;
        }
        let number = self.intern_value(value);
        if is_short {
            self.short.note(view, number);
        } else {
            self.long.note(view, number);
        }
        number
    }

    fn intern_value(&mut self, value: &[u8]) -> u32 {
        let hash = hash_bytes(value);
        let (ends, arena, hashes) = (&self.ends, &self.arena, &self.hashes);
        let same = |number: &u32| {
            let number = *number as usize;
            hashes[number] == hash && entry(arena, ends, number) == value
        };
        if let Some(number) = self.table.find(hash, same) {
            return *number;
        }
        let number = self.ends.len() as u32;
        self.table.insert_unique(hash, number, |number| self.hashes[*number as usize]);
        self.hashes.push(hash);
        self.arena.extend_from_slice(value);
        self.ends.push(self.arena.len());
        number
    }

    /// The entries sorted, and for each number its place among them.
    fn sorted(&self, data_type: &DataType) -> (ArrayRef, Vec<u32>) {
        let entry = |number: u32| entry(&self.arena, &self.ends, number as usize);
        let mut numbers: Vec<u32> = (0..self.len() as u32).collect();
        numbers.sort_unstable_by(|a, b| entry(*a).cmp(entry(*b)));
        let mut order = vec![0; numbers.len()];
        numbers.iter().enumerate().for_each(|(place, number)| order[*number as usize] = place as u32);
        (view_array(numbers.iter().map(|number| entry(*number)), data_type), order)
    }
}

/// Views seen lately and their numbers, each in a slot by its bits.
struct RecentViews {
    /// A power of two of them.
    slots: Vec<u128>,
    numbers: Vec<u32>,
}

impl RecentViews {
    fn new(slots: usize) -> Self {
        // No view is so long.
        Self { slots: vec![u128::MAX; slots], numbers: vec![NULL; slots] }
    }

    fn find(&self, view: u128) -> Option<u32> {
        let slot = self.slot(view);
        (self.slots[slot] == view).then(|| self.numbers[slot])
    }

    fn note(&mut self, view: u128, number: u32) {
        let slot = self.slot(view);
        (self.slots[slot], self.numbers[slot]) = (view, number);
    }

    fn forget(&mut self) {
        self.slots.fill(u128::MAX);
    }

    fn slot(&self, view: u128) -> usize {
        let mixed = (view as u64 ^ (view >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.slots.len() - 1)
    }
}

fn entry<'a>(arena: &'a [u8], ends: &[usize], number: usize) -> &'a [u8] {
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &arena[start..ends[number]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringViewArray;
    use std::sync::Arc;

    fn text<S: AsRef<str>>(values: impl IntoIterator<Item = Option<S>>) -> ArrayRef {
        Arc::new(values.into_iter().collect::<StringViewArray>())
    }

    #[test]
    fn recurring_values_get_sorted_codes() {
        let words = ["rail", "air", "", "a word that is longer than twelve bytes"];
        let values: Vec<_> = (0..1000).map(|row| (row % 7 != 0).then(|| words[row % 4])).collect();
        let chunks = [text(values[..300].to_vec()), text(values[300..].to_vec())];
        let coded = try_dictionary(&chunks, EntryLimit::Few).unwrap();
        let entries = coded.entries.as_string_view();
        assert_eq!(
            entries.iter().flatten().collect::<Vec<_>>(),
            ["", "a word that is longer than twelve bytes", "air", "rail"]
        );
        for (code, value) in coded.codes(0..1000).zip(values) {
            assert_eq!(code.map(|code| entries.value(code as usize)), value);
        }
    }

    #[test]
    fn many_distinct_values_stay_plain() {
        let names = [text((0..1000).map(|row| Some(format!("name {row}"))))];
        assert!(try_dictionary(&names, EntryLimit::Few).is_none());
        assert_eq!(try_dictionary(&names, EntryLimit::Any).unwrap().entries.len(), 1000);
        let mut seen = 0;
        let many = text((0..200_000).map(|row| Some(format!("comment number {row}"))));
        for_each(&many, |_| {
            seen += 1;
            seen < 10
        });
        assert_eq!(seen, 10);
        assert!(try_dictionary(&[many], EntryLimit::Few).is_none());
        let nulls = [text([None::<&str>, None])];
        assert!(try_dictionary(&nulls, EntryLimit::Few).is_none());
        let coded = try_dictionary(&nulls, EntryLimit::Any).unwrap();
        assert_eq!((coded.entries.len(), coded.codes(0..2).flatten().count()), (1, 0));
        assert!(try_dictionary(&[], EntryLimit::Any).is_none());
    }
}
