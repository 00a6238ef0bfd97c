//! What a statement answered, in a few numbers, by which every run of it is compared: designs must give the same rows, in whatever
//! order. `whole` compares all rows, once for each design.

use crate::words::counted;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};
use gingham::advisor::Comparison;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Sums of floats differ by the order in which they were added.
const TOLERANCE: f64 = 1e-9;

/// The rows of an answer as a set: their number, a sum over hashes of all that is no float, and sums of the floats.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnswerDigest {
    rows: usize,
    hashes: u64,
    /// For each column of floats: the sum, the sum of magnitudes, and how many have a value that is a number.
    floats: Vec<(f64, f64, usize)>,
}

impl AnswerDigest {
    /// Reads the batches of an answer, or the number of records that a statement changed.
    pub fn of(batches: &[RecordBatch], affected: Option<u64>) -> Result<Self, ArrowError> {
        let mut answer = Self { rows: affected.unwrap_or(0) as usize, ..Self::default() };
        let Some(first) = batches.first() else { return Ok(answer) };
        let is_float = |place: &usize| first.column(*place).data_type().is_floating();
        let (floats, others): (Vec<usize>, Vec<usize>) = (0..first.num_columns()).partition(is_float);
        answer.floats = vec![(0.0, 0.0, 0); floats.len()];
        let fields = others.iter().map(|place| SortField::new(first.column(*place).data_type().clone()));
        let converter = RowConverter::new(fields.collect())?;
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        for batch in batches {
            answer.rows += batch.num_rows();
            let columns: Vec<_> = others.iter().map(|place| batch.column(*place).clone()).collect();
            if !columns.is_empty() {
                let rows = converter.convert_columns(&columns)?;
                let hashes = rows.iter().map(|row| hasher.hash_one(row.as_ref()));
                answer.hashes = hashes.fold(answer.hashes, u64::wrapping_add);
            }
            for (place, sums) in floats.iter().zip(&mut answer.floats) {
                let values = cast(batch.column(*place), &DataType::Float64)?;
                for value in values.as_primitive::<Float64Type>().iter().flatten().filter(|value| value.is_finite()) {
                    *sums = (sums.0 + value, sums.1 + value.abs(), sums.2 + 1);
                }
            }
        }
        Ok(answer)
    }

    /// What differs from another answer; `None` when nothing does. Where others may be among the rows, only their number counts.
    pub fn difference(&self, other: &Self, comparison: &Comparison) -> Option<String> {
        if self.rows != other.rows {
            return Some(format!("{}, not {}", counted(other.rows as u64, "row"), self.rows));
        }
        if !matches!(comparison, Comparison::Rows { .. }) {
            return None;
        }
        let alike =
            |a: &(f64, f64, usize), b: &(f64, f64, usize)| a.2 == b.2 && (a.0 - b.0).abs() <= TOLERANCE * a.1.max(b.1);
        let floats = self.floats.iter().zip(&other.floats).all(|(a, b)| alike(a, b));
        (self.hashes != other.hashes || !floats).then(|| "other values".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gingham::Database;

    fn answer(sql: &str) -> AnswerDigest {
        let batches = Database::in_memory().unwrap().connect().query(sql).unwrap().collect_batches().unwrap();
        AnswerDigest::of(&batches, None).unwrap()
    }

    #[test]
    fn answers_are_sets_of_rows() {
        let first = answer("SELECT * FROM (VALUES (1, 'a', 0.5::DOUBLE), (2, NULL, NULL), (2, NULL, NULL)) v");
        let turned = answer("SELECT * FROM (VALUES (2, NULL, NULL), (1, 'a', 0.5::DOUBLE), (2, NULL, NULL)) v");
        assert_eq!(first.difference(&turned, &Comparison::default()), None);
        for other in [
            "SELECT * FROM (VALUES (1, 'a', 0.5::DOUBLE), (2, NULL, NULL)) v",
            "SELECT * FROM (VALUES (1, 'b', 0.5::DOUBLE), (2, NULL, NULL), (2, NULL, NULL)) v",
            "SELECT * FROM (VALUES (1, 'a', 0.25::DOUBLE), (2, NULL, NULL), (2, NULL, NULL)) v",
            "SELECT * FROM (VALUES (1, 'a', 0.5::DOUBLE), (2, NULL, 0.0), (2, NULL, NULL)) v",
        ] {
            assert!(first.difference(&answer(other), &Comparison::default()).is_some(), "{other}");
        }
        let sums = answer("SELECT 0.1::DOUBLE + 0.2 + 0.3 AS s");
        assert_eq!(sums.difference(&answer("SELECT 0.3::DOUBLE + 0.2 + 0.1 AS s"), &Comparison::default()), None);
        let five = answer("SELECT value FROM generate_series(1, 5)");
        assert_eq!(five.difference(&answer("SELECT value FROM generate_series(11, 15)"), &Comparison::Count), None);
        assert!(five.difference(&answer("SELECT value FROM generate_series(1, 4)"), &Comparison::Count).is_some());
    }
}
