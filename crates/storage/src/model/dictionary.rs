//! Order-preserving dictionaries with versions.
//!
//! A dictionary belongs to a column. A version is a sorted list of distinct byte strings; codes are positions in it. A
//! segment names the version that its codes refer to and is never rewritten when other values arrive: a later segment
//! brings its own version. The newest dictionary is the union of all versions in use, and a monotone array leads from
//! each version's codes to the newest, so joins and groups can compare codes of different segments.

use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, GenericByteViewArray, StringViewArray};
use arrow::datatypes::{ByteViewType, DataType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One sorted list of distinct entries.
#[derive(Debug)]
pub struct DictionaryVersion {
    /// Number within the column, from 1.
    pub version: u32,
    /// The entries, strictly ascending bytewise, without NULLs; of the column's Arrow type (Utf8View or BinaryView).
    pub entries: ArrayRef,
    /// For each entry its code in the column's newest dictionary: strictly ascending.
    pub newest: Arc<[u32]>,
}

impl DictionaryVersion {
    /// True when each code is its own in the column's newest dictionary.
    pub fn is_newest(&self) -> bool {
        // The array ascends strictly from 0 or more, so that its last element tells of all.
        self.newest.last().is_none_or(|last| *last as usize + 1 == self.newest.len())
    }
}

/// All versions of one column in use by a snapshot.
#[derive(Debug)]
pub struct Dictionary {
    /// Union of all versions' entries, strictly ascending.
    pub newest: ArrayRef,
    /// By number.
    pub versions: BTreeMap<u32, Arc<DictionaryVersion>>,
}

impl Dictionary {
    /// The dictionary of a column with these versions, each with its sorted entries (all Utf8View or all BinaryView).
    /// `place` names the column in errors. Errors when a list is not strictly ascending or has NULLs.
    pub fn build(place: &str, versions: Vec<(u32, ArrayRef)>) -> Result<Self> {
        let mut lists = Vec::with_capacity(versions.len());
        for (version, entries) in &versions {
            let list = entry_list(entries)
                .map_err(|detail| Error::corrupt(format!("{place}, dictionary version {version}"), detail))?;
            lists.push(list);
        }
        let same_type = versions.windows(2).all(|pair| pair[0].1.data_type() == pair[1].1.data_type());
        let largest = versions.iter().map(|(_, entries)| entries).max_by_key(|entries| entries.len());
        let Some(largest) = largest.filter(|_| same_type) else {
            return Err(Error::corrupt(place, "a dictionary needs versions, all of one type"));
        };
        // Runs that are sorted already merge in linear time.
        let mut union: Vec<&[u8]> = lists.iter().flat_map(|list| list.iter().copied()).collect();
        union.sort();
        union.dedup();
        let newest = if union.len() == largest.len() {
            ArrayRef::clone(largest)
        } else {
            view_array(union.iter().copied(), largest.data_type())
        };
        let remaps: Vec<Arc<[u32]>> = lists.iter().map(|list| remap(list, &union)).collect();
        let versions = versions
            .into_iter()
            .zip(remaps)
            .map(|((version, entries), newest)| (version, Arc::new(DictionaryVersion { version, entries, newest })))
            .collect();
        Ok(Self { newest, versions })
    }

    /// Entries of the union: the exact number of distinct values in coded segments.
    pub fn distinct(&self) -> usize {
        self.newest.len()
    }
}

/// For each of some sorted entries its code among others; `None` when one of them is not there.
pub(crate) fn codes_within(entries: &ArrayRef, newest: &ArrayRef) -> Option<Arc<[u32]>> {
    let list = entry_list(entries).ok()?;
    match newest.data_type() {
        DataType::Utf8View => codes_in(&list, newest.as_string_view()),
        DataType::BinaryView => codes_in(&list, newest.as_binary_view()),
        _ => None,
    }
}

/// The codes of some sorted entries among others, which are only looked at where the search leads.
fn codes_in<T: ByteViewType>(list: &[&[u8]], newest: &GenericByteViewArray<T>) -> Option<Arc<[u32]>> {
    let mut from = 0;
    let code = |entry: &&[u8]| {
        let (mut low, mut high) = (from, newest.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if AsRef::<[u8]>::as_ref(newest.value(middle)) < *entry { low = middle + 1 } else { high = middle }
        }
        let found = low < newest.len() && AsRef::<[u8]>::as_ref(newest.value(low)) == *entry;
        from = low + 1;
        found.then_some(low as u32)
    };
    list.iter().map(code).collect()
}

/// The entries as byte strings, or what is wrong with them.
fn entry_list(entries: &ArrayRef) -> Result<Vec<&[u8]>, String> {
    if entries.null_count() > 0 {
        return Err("an entry is NULL".into());
    }
    let list: Vec<&[u8]> = match entries.data_type() {
        DataType::Utf8View => entries.as_string_view().iter().flatten().map(str::as_bytes).collect(),
        DataType::BinaryView => entries.as_binary_view().iter().flatten().collect(),
        other => return Err(format!("entries are {other}")),
    };
    match list.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(place) => Err(format!("entry {} does not order after the one before", place + 1)),
        None => Ok(list),
    }
}

/// For each entry of `list` its place in `union`, which has them all.
fn remap(list: &[&[u8]], union: &[&[u8]]) -> Arc<[u32]> {
    let mut place = 0;
    list.iter()
        .map(|entry| {
            while union[place] < *entry {
                place += 1;
            }
            place as u32
        })
        .collect()
}

/// A Utf8View or BinaryView array of values; text that is not UTF-8 (it came from text arrays) would be replaced.
pub(crate) fn view_array<'a>(values: impl Iterator<Item = &'a [u8]>, data_type: &DataType) -> ArrayRef {
    match data_type {
        DataType::Utf8View => Arc::new(values.map(String::from_utf8_lossy).map(Some).collect::<StringViewArray>()),
        _ => Arc::new(values.map(Some).collect::<BinaryViewArray>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringViewArray;

    fn text(entries: &[&str]) -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(entries))
    }

    #[test]
    fn versions_lead_to_their_union() {
        let lists: [&[&str]; 3] = [&["AIR", "RAIL"], &["AIR", "MAIL", "TRUCK, which is a long entry"], &["", "RAIL"]];
        let versions = lists.iter().zip(1..).map(|(list, version)| (version, text(list))).collect();
        let dictionary = Dictionary::build("t.c", versions).unwrap();
        let newest = dictionary.newest.as_string_view();
        assert_eq!(dictionary.distinct(), 5);
        for (version, list) in (1..).zip(lists) {
            let version = &dictionary.versions[&version];
            assert!(version.newest.is_sorted_by(|a, b| a < b));
            for (code, entry) in version.newest.iter().zip(list) {
                assert_eq!(newest.value(*code as usize), *entry);
            }
        }
    }

    #[test]
    fn codes_are_found_when_all_entries_are_there() {
        let lists: [&[&str]; 7] =
            [&[], &["a"], &["b", "d"], &["a", "b", "c", "d"], &["aa"], &["a", "e"], &["", "a, which is a long entry"]];
        for all in [&[][..], &["a"], &["a", "b", "c", "d"], &["", "a", "a, which is a long entry", "b", "d"]] {
            for list in lists {
                let codes = |entry: &&str| all.iter().position(|known| known == entry).map(|code| code as u32);
                let expected: Option<Vec<u32>> = list.iter().map(codes).collect();
                assert_eq!(
                    codes_within(&text(list), &text(all)).as_deref(),
                    expected.as_deref(),
                    "{list:?} in {all:?}"
                );
            }
        }
    }

    #[test]
    fn one_version_is_its_own_union() {
        let dictionary = Dictionary::build("t.c", vec![(7, text(&["a", "b"]))]).unwrap();
        assert_eq!(dictionary.versions[&7].newest.as_ref(), [0, 1]);
        assert_eq!(dictionary.distinct(), 2);
    }

    #[test]
    fn damaged_entries_are_refused() {
        let null: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None]));
        for entries in [text(&["b", "a"]), text(&["a", "a"]), null] {
            let error = Dictionary::build("column 'c'", vec![(2, entries)]).unwrap_err().to_string();
            assert!(error.contains("column 'c', dictionary version 2"), "{error}");
        }
        assert!(Dictionary::build("t.c", Vec::new()).is_err());
    }
}
