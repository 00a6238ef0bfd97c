//! Strings as codes: their positions among all that occur, in their order.

use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use std::cmp::Ordering;
use std::sync::Arc;

/// The strings of all parts, ascending and each of them once, as an array of this type; and for each part the positions of
/// its own. `None` for a type that is none of strings.
pub(super) fn coded(parts: &[ArrayRef], data_type: &DataType) -> Option<(Vec<Vec<Option<i64>>>, ArrayRef)> {
    if !matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        return None;
    }
    let parts = parts.iter().map(|part| cast(part, &DataType::Utf8View).ok()).collect::<Option<Vec<_>>>()?;
    let mut codes: Vec<Vec<Option<i64>>> = parts.iter().map(|part| vec![None; part.len()]).collect();
    let mut order: Vec<Placed<'_>> = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    for (part, strings) in parts.iter().enumerate() {
        let texts = strings.as_string_view().iter().enumerate();
        order.extend(texts.filter_map(|(row, text)| Some(Placed { start: start(text?), text: text?, part, row })));
    }
    order.sort_unstable_by(Placed::compare);
    let mut entries: Vec<&str> = Vec::new();
    for Placed { text, part, row, .. } in &order {
        if entries.last() != Some(text) {
            entries.push(text);
        }
        codes[*part][*row] = Some(entries.len() as i64 - 1);
    }
    let entries: ArrayRef = Arc::new(StringViewArray::from_iter_values(entries));
    Some((codes, cast(&entries, data_type).ok()?))
}

/// A string and where it stands.
struct Placed<'t> {
    /// Its first bytes: nearly always enough to tell which of two is smaller, without a look at either.
    start: u64,
    text: &'t str,
    part: usize,
    row: usize,
}

impl Placed<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        self.start.cmp(&other.start).then_with(|| self.text.cmp(other.text))
    }
}

/// The first eight bytes, zeros behind a shorter string's: of two strings, the smaller one's is not the larger.
fn start(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let given = text.len().min(8);
    bytes[..given].copy_from_slice(&text.as_bytes()[..given]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringArray;

    #[test]
    fn codes_are_positions_in_the_strings_order() {
        let texts = ["", "a", "a\0", "a\0b", "b", "longer than eight", "longer than eighty", "longer", "ä", "a"];
        let first: ArrayRef = Arc::new(StringArray::from_iter(texts.iter().map(Some).chain([None])));
        let second: ArrayRef = Arc::new(StringViewArray::from_iter_values(["zebra", "b"]));
        let (codes, entries) = coded(&[first, second], &DataType::Utf8).expect("strings have codes");
        let mut expected: Vec<&str> = texts.iter().copied().chain(["zebra"]).collect();
        expected.sort_unstable();
        expected.dedup();
        let found: Vec<_> = entries.as_string::<i32>().iter().flatten().collect();
        assert_eq!(found, expected);
        let text_of = |code: &Option<i64>| code.map(|code| expected[code as usize]);
        let first: Vec<_> = codes[0].iter().map(text_of).collect();
        assert_eq!(first, texts.iter().copied().map(Some).chain([None]).collect::<Vec<_>>());
        assert_eq!(codes[1].iter().map(text_of).collect::<Vec<_>>(), [Some("zebra"), Some("b")]);
    }
}
