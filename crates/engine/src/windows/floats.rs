//! Sums, means and spreads of floats over a frame that leaves rows behind. What was added to a float can't be taken away again: of
//! 1e20 and 1 nothing is left but 1e20, and infinity less infinity is no number. The frame's values are kept as two piles instead,
//! each with what its values come to together: one that grows as rows come, and one that shrinks as rows go.

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::Accumulator;

/// What is computed of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FloatAggregate {
    Sum,
    Average,
    /// A variance, or its root; of a sample, or of all there are.
    Spread {
        sample: bool,
        root: bool,
    },
}

impl FloatAggregate {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "sum" => Self::Sum,
            "avg" => Self::Average,
            "var" | "var_samp" => Self::Spread { sample: true, root: false },
            "var_pop" => Self::Spread { sample: false, root: false },
            "stddev" | "stddev_samp" => Self::Spread { sample: true, root: true },
            "stddev_pop" => Self::Spread { sample: false, root: true },
            _ => return None,
        })
    }
}

/// Whether the aggregate of that name is one of those.
pub(super) fn is_of_floats(name: &str) -> bool {
    FloatAggregate::named(name).is_some()
}

/// What some values come to together.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: u64,
    sum: f64,
    mean: f64,
    /// The squares of the distances from the mean, added up.
    distances: f64,
}

impl Moments {
    fn of(value: f64) -> Self {
        // A value that is not finite has no distance, not even from itself.
        Self { count: 1, sum: value, mean: value, distances: if value.is_finite() { 0.0 } else { f64::NAN } }
    }

    fn and(self, other: Self) -> Self {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        let count = self.count + other.count;
        let apart = other.mean - self.mean;
        let share = other.count as f64 / count as f64;
        Self {
            count,
            sum: self.sum + other.sum,
            mean: self.mean + apart * share,
            distances: self.distances + other.distances + apart * apart * self.count as f64 * share,
        }
    }

    fn result(self, aggregate: FloatAggregate) -> Option<f64> {
        match aggregate {
            _ if self.count == 0 => None,
            FloatAggregate::Sum => Some(self.sum),
            FloatAggregate::Average => Some(self.sum / self.count as f64),
            FloatAggregate::Spread { sample, root } => {
                let others = (self.count - u64::from(sample)) as f64;
                let variance = self.distances / others;
                (others > 0.0).then(|| if root { variance.sqrt() } else { variance })
            }
        }
    }
}

/// The values of a frame.
#[derive(Debug)]
pub(super) struct FloatFrame {
    aggregate: FloatAggregate,
    result: DataType,
    /// What each of the rows that go first and all behind it in this pile come to, the first one last.
    old: Vec<Moments>,
    /// The rows that came behind those.
    new: Vec<f64>,
    /// What these come to.
    together: Moments,
}

impl FloatFrame {
    /// The frame of an aggregate that [`is_of_floats`].
    pub(super) fn of(name: &str, result: DataType) -> Result<Self> {
        let Some(aggregate) = FloatAggregate::named(name) else { return internal_err!("a frame of floats for {name}") };
        Ok(Self { aggregate, result, old: Vec::new(), new: Vec::new(), together: Moments::default() })
    }
}

impl Accumulator for FloatFrame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in cast(&values[0], &DataType::Float64)?.as_primitive::<Float64Type>().iter().flatten() {
            self.new.push(value);
            self.together = self.together.and(Moments::of(value));
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for _ in 0..values[0].len() - values[0].logical_null_count() {
            if self.old.is_empty() {
                let mut behind = Moments::default();
                for value in self.new.drain(..).rev() {
                    behind = Moments::of(value).and(behind);
                    self.old.push(behind);
                }
                self.together = Moments::default();
            }
            if self.old.pop().is_none() {
                return internal_err!("a frame lost a value that it did not have");
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let all = self.old.last().copied().unwrap_or_default().and(self.together);
        ScalarValue::Float64(all.result(self.aggregate)).cast_to(&self.result)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.old.capacity() * size_of::<Moments>() + self.new.capacity() * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a frame of floats has no partial state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("a frame of floats has no partial state")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Float64Array;
    use std::sync::Arc;

    /// Each frame has what its values alone come to.
    #[test]
    fn frames_are_as_their_values_alone() {
        let values = [1e20, 1.0, 1.0, f64::INFINITY, 2.0, 2.0, f64::NAN, 3.0, 5.0, -7.5, 0.25];
        let column = |values: &[f64]| vec![Arc::new(Float64Array::from(values.to_vec())) as ArrayRef];
        for name in ["sum", "avg", "var", "var_pop", "stddev", "stddev_pop"] {
            for width in 1..=4 {
                let mut frame = FloatFrame::of(name, DataType::Float64).unwrap();
                for at in 0..values.len() {
                    frame.update_batch(&column(&values[at..=at])).unwrap();
                    if at >= width {
                        frame.retract_batch(&column(&values[at - width..=at - width])).unwrap();
                    }
                    let start = (at + 1).saturating_sub(width);
                    let mut alone = FloatFrame::of(name, DataType::Float64).unwrap();
                    alone.update_batch(&column(&values[start..=at])).unwrap();
                    let text = |frame: &mut FloatFrame| match frame.evaluate().unwrap() {
                        ScalarValue::Float64(value) => value.map(|value| format!("{value:.9e}")),
                        other => panic!("{other}"),
                    };
                    assert_eq!(text(&mut frame), text(&mut alone), "{name} of {:?}", &values[start..=at]);
                }
            }
        }
    }
}
