//! The first rows in an order of strings that have no codes. Where few of many rows are wanted, strings are looked at a block at a
//! time, and only those are kept that may be among the first, instead of ranks for all of them.

use crate::Result;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use gingham_execution::{Rows, SortKey};
use std::cmp::Ordering;
use std::sync::Arc;

/// Rows of which strings are looked at together.
const BLOCK: usize = 1 << 12;
/// Rows that are kept before the first look at which of them are the first.
const FEW: usize = 1 << 10;

/// A string; `None` is NULL.
type Text = Option<Arc<[u8]>>;

/// The first rows met so far.
struct FirstTexts {
    key: SortKey,
    wanted: usize,
    kept: Vec<(Text, usize)>,
    /// The text of the last row that is wanted of those met so far, once there are so many.
    last: Option<Text>,
    /// Rows that are kept before the next look.
    most: usize,
}

/// The places of the first rows in the order of `before`, which are integers, and then of a string, and of all rows that are equal to
/// the last of them there. `text` gives the strings of rows. There are more rows than are wanted.
pub(super) fn first_by_text(
    rows: &Rows,
    (before, key): (&[SortKey], SortKey),
    wanted: usize,
    text: impl Fn(&Rows) -> Result<ArrayRef>,
) -> Result<Vec<usize>> {
    let mut chosen = rows.in_order(before, true, wanted);
    let Some(last) = chosen.last().copied() else { return Ok(chosen) };
    let equal =
        |row: usize| before.iter().all(|key| rows.columns[key.column].get(row) == rows.columns[key.column].get(last));
    chosen.retain(|row| !equal(*row));
    let tied: Vec<usize> = (0..rows.rows).filter(|row| equal(*row)).collect();
    let mut first = FirstTexts { key, wanted: wanted - chosen.len(), kept: Vec::new(), last: None, most: FEW };
    for block in tied.chunks(BLOCK) {
        let texts = cast(&text(&rows.take(block))?, &DataType::BinaryView)?;
        let texts = texts.as_binary_view();
        for (number, row) in block.iter().enumerate() {
            first.add(texts.is_valid(number).then(|| texts.value(number)), *row);
        }
    }
    first.look();
    chosen.extend(first.kept.iter().map(|(_, row)| *row));
    chosen.sort_unstable();
    Ok(chosen)
}

impl FirstTexts {
    /// Adds a row unless it comes behind all that are wanted.
    fn add(&mut self, text: Option<&[u8]>, row: usize) {
        let text = match &self.last {
            None => text.map(Arc::from),
            Some(last) => match compared(self.key, text, last.as_deref()) {
                Ordering::Greater => return,
                Ordering::Equal => last.clone(),
                Ordering::Less => text.map(Arc::from),
            },
        };
        self.kept.push((text, row));
        if self.kept.len() >= self.most {
            self.look();
        }
    }

    /// Leaves out the rows behind those that are wanted.
    fn look(&mut self) {
        let Self { key, wanted, kept, .. } = self;
        kept.sort_by(|(a, _), (b, _)| compared(*key, a.as_deref(), b.as_deref()));
        if let Some((last, _)) = wanted.checked_sub(1).and_then(|last| kept.get(last)).cloned() {
            let end = kept.partition_point(|(text, _)| compared(*key, text.as_deref(), last.as_deref()).is_le());
            kept.truncate(end);
            self.last = Some(last);
        }
        // The next look is for as many again: rows that are equal cost no more for it.
        self.most = (2 * self.kept.len()).max(FEW);
    }
}

fn compared(key: SortKey, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (Some(a), Some(b)) if key.descending => b.cmp(a),
        (Some(a), Some(b)) => a.cmp(b),
        (None, Some(_)) if key.nulls_first => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) if key.nulls_first => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringViewArray;
    use gingham_execution::{Column, Values};

    /// The text of a number: of equal ones the same, NULL for some.
    fn text(number: i64) -> Option<String> {
        (number % 7 != 3).then(|| format!("text {}", number * 31 % 101))
    }

    /// Rows of two keys and the number of a text, in no order.
    fn rows(count: usize, groups: i64, texts: i64) -> Rows {
        let column = |of: &dyn Fn(i64) -> i64| {
            let values = Values::Short((0..count as i64).map(|row| of(row * 7919 % 10_007)).collect());
            Column { values, valid: None }
        };
        let columns = vec![column(&|row| row % groups), column(&|row| row / 5 % 2), column(&|row| row % texts)];
        Rows { rows: count, columns }
    }

    #[test]
    fn the_first_rows_and_their_ties_are_those_of_a_sort() {
        for (count, groups, texts) in
            [(10_000, 1, 10_000), (10_000, 3, 50), (9_000, 1, 1), (3_000, 2000, 9), (5_000, 40, 4)]
        {
            let rows = rows(count, groups, texts);
            let values: Vec<[i64; 3]> = (0..count)
                .map(|row| [0, 1, 2].map(|column: usize| rows.columns[column].get(row).unwrap() as i64))
                .collect();
            for (before, descending, nulls_first) in
                [(0, false, false), (1, true, false), (2, false, true), (1, true, true)]
            {
                let key = |column| SortKey { column, descending, nulls_first };
                let before: Vec<SortKey> = (0..before).map(key).collect();
                let order = |a: usize, b: usize| {
                    let compare = |key: &SortKey| {
                        let ordering = values[a][key.column].cmp(&values[b][key.column]);
                        if descending { ordering.reverse() } else { ordering }
                    };
                    let [first, second] = [a, b].map(|row| text(values[row][2]));
                    let texts =
                        compared(key(2), first.as_deref().map(str::as_bytes), second.as_deref().map(str::as_bytes));
                    before.iter().map(compare).fold(Ordering::Equal, Ordering::then).then(texts)
                };
                for wanted in [1, 10, 2_000] {
                    let mut all: Vec<usize> = (0..count).collect();
                    all.sort_by(|a, b| order(*a, *b));
                    let last = all[wanted - 1];
                    let mut expected: Vec<usize> = (0..count).filter(|row| order(*row, last).is_le()).collect();
                    expected.sort_unstable();
                    let of = |rows: &Rows| {
                        let numbers = (0..rows.rows).map(|row| text(rows.columns[2].get(row).unwrap() as i64));
                        Ok(Arc::new(numbers.collect::<StringViewArray>()) as ArrayRef)
                    };
                    let found = first_by_text(&rows, (&before, key(2)), wanted, of).unwrap();
                    assert_eq!(found, expected, "{count} rows, {groups}, {texts}; {before:?}, first {wanted}");
                }
            }
        }
    }

    #[test]
    fn nulls_lie_at_their_end() {
        let key = |descending, nulls_first| SortKey { column: 0, descending, nulls_first };
        let (a, b) = (Some(b"a".as_slice()), Some(b"b".as_slice()));
        assert_eq!(compared(key(false, false), a, b), Ordering::Less);
        assert_eq!(compared(key(true, false), a, b), Ordering::Greater);
        for descending in [false, true] {
            assert_eq!(compared(key(descending, true), None, a), Ordering::Less);
            assert_eq!(compared(key(descending, false), None, a), Ordering::Greater);
            assert_eq!(compared(key(descending, false), a, None), Ordering::Less);
        }
    }
}
