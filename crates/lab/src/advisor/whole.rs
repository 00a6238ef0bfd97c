//! Two answers of a statement compared row by row: as bags, by the columns of ORDER BY in their order, and floats to 1e-9.

use crate::words::counted;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};
use gingham::advisor::Comparison;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// How far floats may differ, of their value: their sums differ by the order in which they were added.
const TOLERANCE: f64 = 1e-9;
/// And of the largest of their column, where large ones have cancelled each other.
const CANCELLED: f64 = 1e-15;

/// What differs between two answers; `None` where nothing does that the statement fixes.
pub(crate) fn difference(
    expected: &[RecordBatch],
    found: &[RecordBatch],
    comparison: &Comparison,
) -> Result<Option<String>, ArrowError> {
    let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let (all, other) = (rows(expected), rows(found));
    if all != other {
        return Ok(Some(format!("{}, not {all}", counted(other as u64, "row"))));
    }
    let (Some(first), Some(second)) = (expected.first(), found.first()) else { return Ok(None) };
    let (keys, limited, skips): (&[usize], bool, bool) = match comparison {
        Comparison::Rows { keys } => (keys, false, false),
        Comparison::First { keys, skips } => (keys, true, *skips),
        Comparison::Count => return Ok(None),
    };
    let types = |batch: &RecordBatch| -> Vec<DataType> {
        batch.columns().iter().map(|column| column.data_type().clone()).collect()
    };
    if types(first) != types(second) {
        return Ok(Some("columns of other types".to_owned()));
    }
    let all_places: Vec<usize> = (0..first.num_columns()).collect();
    let pair = AnswerPair::new(expected, found, &all_places)?;
    let mut compared = 0..all;
    if !keys.is_empty() {
        let sorted = AnswerPair::new(expected, found, keys)?;
        if let Some(row) = (0..all).find(|row| !sorted.alike(*row, *row)) {
            return Ok(Some(format!("row {} has other values in ORDER BY", row + 1)));
        }
        if limited && all > 0 {
            let first = if skips { (0..all).take_while(|row| sorted.alike(*row, 0)).count() } else { 0 };
            let last = (0..all).rev().take_while(|row| sorted.alike(*row, all - 1)).count();
            compared = first..(all - last).max(first);
        }
    }
    Ok((!pair.same_bag(compared)).then(|| "other values".to_owned()))
}

/// Columns of one answer: floats apart, and all others as bytes that are equal where the values are.
struct Side {
    others: Rows,
    floats: Vec<Float64Array>,
}

impl Side {
    fn new(batches: &[RecordBatch], places: &[usize], converter: &RowConverter) -> Result<Self, ArrowError> {
        let whole = concat_batches(&batches[0].schema(), batches)?;
        let (floats, others): (Vec<usize>, Vec<usize>) =
            places.iter().partition(|place| whole.column(**place).data_type().is_floating());
        let others: Vec<_> = others.into_iter().map(|place| whole.column(place).clone()).collect();
        // Without columns there would be no rows.
        let others = if others.is_empty() {
            vec![Arc::new(BooleanArray::new_null(whole.num_rows())) as ArrayRef]
        } else {
            others
        };
        let others = converter.convert_columns(&others)?;
        let float = |place: usize| -> Result<Float64Array, ArrowError> {
            Ok(cast(whole.column(place), &DataType::Float64)?.as_primitive::<Float64Type>().clone())
        };
        Ok(Self { others, floats: floats.into_iter().map(float).collect::<Result<_, _>>()? })
    }

    fn float(&self, column: usize, row: usize) -> Option<f64> {
        let values = &self.floats[column];
        values.is_valid(row).then(|| values.value(row))
    }

    fn order(&self, one: usize, other: usize) -> Ordering {
        let floats = || {
            let orders = (0..self.floats.len()).map(|column| order(self.float(column, one), self.float(column, other)));
            orders.fold(Ordering::Equal, Ordering::then)
        };
        self.others.row(one).cmp(&self.others.row(other)).then_with(floats)
    }
}

fn order(one: Option<f64>, other: Option<f64>) -> Ordering {
    match (one, other) {
        // Zeros of either sign are equal.
        (Some(one), Some(other)) => (one + 0.0).total_cmp(&(other + 0.0)),
        _ => one.is_some().cmp(&other.is_some()),
    }
}

/// Columns of two answers, the same of both.
struct AnswerPair {
    sides: [Side; 2],
    /// The largest magnitude of each column of floats.
    largest: Vec<f64>,
}

impl AnswerPair {
    fn new(expected: &[RecordBatch], found: &[RecordBatch], places: &[usize]) -> Result<Self, ArrowError> {
        let types = places.iter().map(|place| expected[0].column(*place).data_type().clone());
        let mut fields: Vec<_> = types.filter(|own| !own.is_floating()).map(SortField::new).collect();
        if fields.is_empty() {
            fields.push(SortField::new(DataType::Boolean));
        }
        let converter = RowConverter::new(fields)?;
        let sides = [Side::new(expected, places, &converter)?, Side::new(found, places, &converter)?];
        let largest = (0..sides[0].floats.len()).map(|column| {
            let values = sides.iter().flat_map(|side| side.floats[column].iter().flatten());
            values.filter(|value| value.is_finite()).fold(0.0, |most: f64, value| most.max(value.abs()))
        });
        let largest = largest.collect();
        Ok(Self { sides, largest })
    }

    /// Whether a row of the first is one of the second.
    fn alike(&self, one: usize, other: usize) -> bool {
        let [first, second] = &self.sides;
        first.others.row(one) == second.others.row(other)
            && (0..self.largest.len()).all(|at| self.near(at, first.float(at, one), second.float(at, other)))
    }

    fn near(&self, column: usize, one: Option<f64>, other: Option<f64>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) => {
                one == other
                    || one.is_nan() && other.is_nan()
                    || one.is_finite()
                        && other.is_finite()
                        && (one - other).abs()
                            <= TOLERANCE * one.abs().max(other.abs()) + CANCELLED * self.largest[column]
            }
            _ => one.is_none() && other.is_none(),
        }
    }

    /// Whether these rows of both are the same, each as often.
    fn same_bag(&self, rows: Range<usize>) -> bool {
        let sorted = |side: &Side| {
            let mut places: Vec<usize> = rows.clone().collect();
            places.sort_unstable_by(|one, other| side.order(*one, *other));
            places
        };
        let (expected, found) = (sorted(&self.sides[0]), sorted(&self.sides[1]));
        // Rows that are near each other in their floats may be sorted otherwise; they lie close to each other.
        let mut taken = vec![false; found.len()];
        let mut from = 0;
        expected.iter().all(|one| {
            while from < taken.len() && taken[from] {
                from += 1;
            }
            // One that is before all that are left is nobody's.
            if found.get(from).is_none_or(|row| self.place(*row, *one) == Ordering::Less) {
                return false;
            }
            let candidates = (from..found.len()).take_while(|at| self.place(found[*at], *one) != Ordering::Greater);
            let own = candidates.filter(|at| !taken[*at]).find(|at| self.alike(*one, found[*at]));
            own.inspect(|at| taken[*at] = true).is_some()
        })
    }

    /// Where a row of the second is sorted beside one of the first: equal where floats are near.
    fn place(&self, other: usize, one: usize) -> Ordering {
        let [first, second] = &self.sides;
        second.others.row(other).cmp(&first.others.row(one)).then_with(|| {
            if self.largest.is_empty() {
                return Ordering::Equal;
            }
            let (one, other) = (first.float(0, one), second.float(0, other));
            if self.near(0, one, other) { Ordering::Equal } else { order(other, one) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gingham::Database;

    fn differs(one: &str, other: &str, comparison: &Comparison) -> bool {
        let answer =
            |sql: &str| Database::in_memory().unwrap().connect().query(sql).unwrap().collect_batches().unwrap();
        difference(&answer(one), &answer(other), comparison).unwrap().is_some()
    }

    fn values(rows: &str) -> String {
        format!("SELECT * FROM (VALUES {rows}) v(a, b)")
    }

    #[test]
    fn rows_are_a_bag() {
        let rows = values("(1, 'a'), (2, NULL), (2, NULL), (3, 'c')");
        let all = Comparison::default();
        assert!(!differs(&rows, &values("(2, NULL), (3, 'c'), (1, 'a'), (2, NULL)"), &all));
        for other in [
            "(1, 'a'), (2, NULL), (3, 'c')",
            "(1, 'a'), (2, NULL), (3, 'c'), (3, 'c')",
            "(1, 'a'), (2, NULL), (2, ''), (3, 'c')",
            "(1, 'c'), (2, NULL), (2, NULL), (3, 'a')",
        ] {
            assert!(differs(&rows, &values(other), &all), "{other}");
        }
        // Sums of columns would be the same.
        assert!(differs(&values("(1e0, 2e0), (3e0, 4e0)"), &values("(1e0, 4e0), (3e0, 2e0)"), &all));
        assert!(differs(&values("(1e0, 1), (3e0, 2)"), &values("(3e0, 1), (1e0, 2)"), &all));
    }

    #[test]
    fn floats_are_near() {
        let all = Comparison::default();
        let near = [
            ("(0.1e0 + 0.2e0, 1e300)", "(0.3e0, 1e300 * (1 + 1e-12))"),
            ("('NaN'::DOUBLE, NULL::DOUBLE)", "('NaN'::DOUBLE, NULL::DOUBLE)"),
            ("(1e0 + 1e-13, 2e0), (1e0, 1e0)", "(1e0, 2e0), (1e0 + 1e-13, 1e0)"),
            ("(1e16, 0e0), (1e-1, 0e0)", "(1e16, -0e0), (1e-1 + 1e-3, 0e0)"),
        ];
        for (one, other) in near {
            assert!(!differs(&values(one), &values(other), &all), "{one}");
        }
        let far = [
            ("(1e0, 2e0)", "(1e0 + 1e-8, 2e0)"),
            ("(1e-30, 0e0)", "(1.001e-30, 0e0)"),
            ("('NaN'::DOUBLE, 0e0)", "(NULL::DOUBLE, 0e0)"),
            ("('infinity'::DOUBLE, 0e0)", "('-infinity'::DOUBLE, 0e0)"),
            ("(1e0 + 1e-13, 2e0), (1e0, 1e0)", "(1e0, 2e0), (1e0 + 1e-13, 3e0)"),
        ];
        for (one, other) in far {
            assert!(differs(&values(one), &values(other), &all), "{one}");
        }
    }

    #[test]
    fn sorted_rows_have_their_keys_in_order() {
        let by = |key: usize| Comparison::Rows { keys: vec![key] };
        let (one, turned) = (values("(1, 'a'), (1, 'b'), (2, 'c')"), values("(1, 'b'), (1, 'a'), (2, 'c')"));
        assert!(!differs(&one, &turned, &by(0)) && differs(&one, &turned, &by(1)));
        assert!(differs(&one, &values("(2, 'c'), (1, 'a'), (1, 'b')"), &by(0)));
        // Of a LIMIT, those with the last key may be others.
        let first = Comparison::First { keys: vec![0], skips: false };
        assert!(!differs(&one, &values("(1, 'b'), (1, 'a'), (2, 'another')"), &first));
        assert!(differs(&one, &values("(1, 'x'), (1, 'a'), (2, 'c')"), &first));
        assert!(differs(&one, &values("(1, 'a'), (1, 'b'), (3, 'c')"), &first));
        let skips = Comparison::First { keys: vec![0], skips: true };
        assert!(!differs(&one, &values("(1, 'x'), (1, 'a'), (2, 'c')"), &skips));
        let three = values("(1, 'a'), (2, 'b'), (3, 'c')");
        assert!(differs(&three, &values("(1, 'x'), (2, 'y'), (3, 'z')"), &skips));
        assert!(!differs(&three, &values("(1, 'x'), (2, 'b'), (3, 'z')"), &skips));
        assert!(!differs(&one, &values("(7, 'x'), (8, 'y'), (9, 'z')"), &Comparison::Count));
    }
}
