//! The first and the last rows of a result, for a screen that has no room for those between: memory for these alone.

use arrow::array::RecordBatch;
use std::collections::VecDeque;

/// Keeps both ends of what goes by.
#[derive(Debug)]
pub struct Ends<R> {
    /// How many of the first rows are kept.
    first: usize,
    /// How many of the last rows are kept.
    last: usize,
    head: Vec<R>,
    tail: VecDeque<R>,
    rows: u64,
}

impl<R> Ends<R> {
    /// Keeps at most so many rows: half of them the first, half the last.
    pub fn new(most: usize) -> Self {
        Self { first: most.div_ceil(2), last: most / 2, head: Vec::new(), tail: VecDeque::new(), rows: 0 }
    }

    /// Counts the rows of a batch and gives the parts of it that may be kept; each of their rows is to be pushed.
    pub fn parts(&mut self, batch: &RecordBatch) -> Vec<RecordBatch> {
        let rows = batch.num_rows();
        self.rows += rows as u64;
        let head = rows.min(self.first - self.head.len());
        let tail = (rows - head).min(self.last);
        [(0, head), (rows - tail, tail)]
            .into_iter()
            .filter(|(_, length)| *length > 0)
            .map(|(start, length)| batch.slice(start, length))
            .collect()
    }

    /// Keeps a row, and lets go of one that is no longer among the last.
    pub fn push(&mut self, row: R) {
        if self.head.len() < self.first {
            self.head.push(row);
            return;
        }
        if self.tail.len() == self.last {
            self.tail.pop_front();
        }
        self.tail.push_back(row);
    }

    /// All rows that were kept, and how many the first part has when some lack behind it.
    pub fn rows(self) -> (Vec<R>, Option<usize>) {
        let (head, kept) = (self.head.len(), (self.head.len() + self.tail.len()) as u64);
        let mut rows = self.head;
        rows.extend(self.tail);
        (rows, (kept < self.rows).then_some(head))
    }
}

#[cfg(test)]
mod tests {
    use super::Ends;
    use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
    use arrow::datatypes::Int64Type;
    use std::sync::Arc;

    /// What is kept of batches that end at those numbers, the first after 0.
    fn kept(most: usize, ends_of_batches: &[i64]) -> (Vec<i64>, Option<usize>) {
        let (mut ends, mut start) = (Ends::new(most), 0);
        for end in ends_of_batches {
            let array: ArrayRef = Arc::new(Int64Array::from_iter_values(start..*end));
            let batch = RecordBatch::try_from_iter([("n", array)]).expect("a batch");
            for part in ends.parts(&batch) {
                part.column(0).as_primitive::<Int64Type>().values().iter().for_each(|value| ends.push(*value));
            }
            start = *end;
        }
        ends.rows()
    }

    #[test]
    fn both_ends_are_kept_wherever_batches_end() {
        assert_eq!(kept(4, &[4]), (vec![0, 1, 2, 3], None));
        assert_eq!(kept(4, &[1, 3, 4]), (vec![0, 1, 2, 3], None));
        assert_eq!(kept(4, &[5]), (vec![0, 1, 3, 4], Some(2)));
        assert_eq!(kept(4, &[1, 1000, 1001]), (vec![0, 1, 999, 1000], Some(2)));
        assert_eq!(kept(5, &[3, 3, 9]), (vec![0, 1, 2, 7, 8], Some(3)));
        assert_eq!(kept(1, &[3]), (vec![0], Some(1)));
        assert_eq!(kept(4, &[]), (vec![], None));
    }
}
