//! The fractions of a call, and where in the order of a group's values the answer to each lies.

use crate::error::invalid;
use crate::percentiles::value::Value;
use arrow::array::{Array, AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Float64Type, Schema};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use std::cmp::Ordering;
use std::sync::Arc;

/// The value that is given at a fraction of the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Statistic {
    /// One between two values, where the fraction lies between them.
    Continuous,
    /// The first value that the fraction reaches.
    Discrete,
    /// The continuous one at a half.
    Median,
    /// The most frequent value, the first of those in the order.
    Mode,
}

impl Statistic {
    /// The function's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Continuous => "percentile_cont",
            Self::Discrete => "percentile_disc",
            Self::Median => "median",
            Self::Mode => "mode",
        }
    }
}

/// The question of a call about each group.
#[derive(Debug, Clone)]
pub(super) struct AskedFractions {
    pub(super) statistic: Statistic,
    /// The values are counted from the largest.
    pub(super) descending: bool,
    pub(super) fractions: Fractions,
}

/// One fraction, or an array of them; NULL gives NULL.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fractions {
    One(Option<f64>),
    Several(Option<Vec<Option<f64>>>),
}

impl Fractions {
    /// The value of a constant expression, a DOUBLE or an array of them.
    ///
    /// # Errors
    ///
    /// The expression is no constant, or a fraction is not between 0 and 1.
    pub(super) fn of(expression: &Arc<dyn PhysicalExpr>, function: &str) -> Result<Self> {
        if !collect_columns(expression).is_empty() {
            return Err(crate::Error::Unsupported(format!(
                "a fraction of {function} that is no constant is not supported, such as {expression}"
            ))
            .into());
        }
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
        let value = ScalarValue::try_from_array(&expression.evaluate(&row)?.into_array(1)?, 0)?;
        let fractions = match value {
            ScalarValue::Float64(fraction) => Self::One(fraction),
            ScalarValue::List(list) if list.is_null(0) => Self::Several(None),
            ScalarValue::List(list) => match list.value(0).as_primitive_opt::<Float64Type>() {
                Some(all) => Self::Several(Some(all.iter().collect())),
                None => return internal_err!("fractions of type {}", list.data_type()),
            },
            other => return internal_err!("a fraction of type {}", other.data_type()),
        };
        for fraction in fractions.all().iter().flatten() {
            if !(0.0..=1.0).contains(fraction) {
                return invalid!(NumericValueOutOfRange, "percentile value {fraction} is not between 0 and 1");
            }
        }
        Ok(fractions)
    }

    /// The type of the result where one value is of type `value`.
    pub(super) fn result_type(fraction: Option<&DataType>, value: DataType) -> DataType {
        match fraction {
            Some(DataType::List(_)) => DataType::new_list(value, true),
            _ => value,
        }
    }

    fn all(&self) -> &[Option<f64>] {
        match self {
            Self::One(fraction) => std::slice::from_ref(fraction),
            Self::Several(fractions) => fractions.as_deref().unwrap_or_default(),
        }
    }
}

/// The answers for one group: one value, or as many as there are fractions.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer<T> {
    One(Option<T>),
    Several(Option<Vec<Option<T>>>),
}

/// The values in ascending order that an answer is made of, counted from 0: one, or two and the share of the way from the first to the
/// second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    first: usize,
    second: usize,
    share: f64,
}

impl AskedFractions {
    /// The answers for `number` values, of which `at` gives the one at a place in ascending order.
    pub(super) fn answer<T: Value>(&self, number: usize, mut at: impl FnMut(usize) -> Result<T>) -> Result<Answer<T>> {
        if self.statistic == Statistic::Mode {
            return Ok(Answer::One(self.mode(number, at)?));
        }
        let mut one = |fraction: &Option<f64>| -> Result<Option<T>> {
            let Some(place) = fraction.and_then(|fraction| self.place(fraction, number)) else { return Ok(None) };
            let first = at(place.first)?;
            if place.first == place.second {
                return Ok(Some(first));
            }
            Ok(Some(T::between(&first, &at(place.second)?, place.share)?))
        };
        Ok(match &self.fractions {
            Fractions::One(fraction) => Answer::One(one(fraction)?),
            Fractions::Several(Some(fractions)) if number > 0 => {
                Answer::Several(Some(fractions.iter().map(one).collect::<Result<_>>()?))
            }
            Fractions::Several(_) => Answer::Several(None),
        })
    }

    /// The answers for these values, whose order is changed. A single one is found without sorting all.
    pub(super) fn answer_of<T: Value>(&self, values: &mut [T]) -> Result<Answer<T>> {
        let number = values.len();
        if self.fractions.all().len() > 1 || self.statistic == Statistic::Mode {
            values.sort_unstable_by(T::order);
            return self.answer(number, |at| Ok(values[at].clone()));
        }
        // Of two neighbours, the second to be asked for lies beside the first.
        let mut known: Option<usize> = None;
        self.answer(number, |at| {
            let beside = |known: usize, at: usize| known.abs_diff(at) == 1;
            match known.filter(|known| beside(*known, at)) {
                Some(known) if at > known => Ok(extreme(&values[at..], Ordering::Less)),
                Some(_) => Ok(extreme(&values[..=at], Ordering::Greater)),
                None => {
                    known = Some(at);
                    Ok(values.select_nth_unstable_by(at, T::order).1.clone())
                }
            }
        })
    }

    /// The most frequent of `number` values, of which `at` gives the one at a place in ascending order.
    fn mode<T: Value>(&self, number: usize, mut at: impl FnMut(usize) -> Result<T>) -> Result<Option<T>> {
        let mut best: Option<(T, usize)> = None;
        let mut run: Option<(T, usize)> = None;
        for place in 0..number {
            let value = at(place)?;
            let length = match &run {
                Some((own, length)) if own.order(&value).is_eq() => length + 1,
                _ => 1,
            };
            let most = best.as_ref().map_or(0, |(_, most)| *most);
            if length > most || (self.descending && length == most) {
                best = Some((value.clone(), length));
            }
            run = Some((value, length));
        }
        Ok(best.map(|(value, _)| value))
    }

    /// Where the value at a fraction is among `number` values.
    fn place(&self, fraction: f64, number: usize) -> Option<Place> {
        let last = number.checked_sub(1)?;
        let (first, second, share) = match self.statistic {
            Statistic::Discrete => {
                let row = (fraction * number as f64).ceil() as usize;
                let at = row.saturating_sub(1).min(last);
                (at, at, 0.0)
            }
            Statistic::Continuous | Statistic::Median | Statistic::Mode => {
                let exact = fraction * last as f64;
                ((exact.floor() as usize).min(last), (exact.ceil() as usize).min(last), exact - exact.floor())
            }
        };
        let ascending = |at: usize| if self.descending { last - at } else { at };
        Some(Place { first: ascending(first), second: ascending(second), share })
    }
}

/// The smallest of some values where the wanted are `Less`, the largest where they are `Greater`.
fn extreme<T: Value>(values: &[T], wanted: Ordering) -> T {
    let mut found = &values[0];
    for value in &values[1..] {
        if value.order(found) == wanted {
            found = value;
        }
    }
    found.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(statistic: Statistic, descending: bool, fractions: Fractions) -> AskedFractions {
        AskedFractions { statistic, descending, fractions }
    }

    #[test]
    fn one_value_is_found_as_in_the_sorted_order() {
        let mut seed = 1_u64;
        for number in 1..40_usize {
            for step in 0..=20 {
                let fraction = f64::from(step) / 20.0;
                let mut values: Vec<f64> = Vec::new();
                for _ in 0..number {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    values.push((seed >> 60) as f64);
                }
                for statistic in [Statistic::Continuous, Statistic::Discrete] {
                    for descending in [false, true] {
                        let asked = asked(statistic, descending, Fractions::One(Some(fraction)));
                        let mut sorted = values.clone();
                        sorted.sort_by(f64::total_cmp);
                        let expected = asked.answer(number, |at| Ok(sorted[at])).unwrap();
                        assert_eq!(asked.answer_of(&mut values.clone()).unwrap(), expected, "{values:?} at {fraction}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_most_frequent_value_is_found() {
        for (mut values, descending, expected) in [
            (vec![2_i64, 1, 2, 3], false, Some(2)),
            (vec![3, 1, 3, 1], false, Some(1)),
            (vec![3, 1, 3, 1], true, Some(3)),
            (vec![7], true, Some(7)),
            (vec![], false, None),
        ] {
            let asked = asked(Statistic::Mode, descending, Fractions::One(Some(0.0)));
            assert_eq!(asked.answer_of(&mut values).unwrap(), Answer::One(expected), "{values:?}");
        }
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let one = asked(Statistic::Continuous, false, Fractions::One(Some(0.5)));
        assert_eq!(one.answer_of::<f64>(&mut []).unwrap(), Answer::One(None));
        let unknown = asked(Statistic::Discrete, false, Fractions::One(None));
        assert_eq!(unknown.answer_of(&mut [1_i64]).unwrap(), Answer::One(None));
        let several = asked(Statistic::Discrete, true, Fractions::Several(Some(vec![Some(0.0), None, Some(1.0)])));
        assert_eq!(several.answer_of::<i64>(&mut []).unwrap(), Answer::Several(None));
        let mut values = [3_i64, 1, 2];
        assert_eq!(several.answer_of(&mut values).unwrap(), Answer::Several(Some(vec![Some(3), None, Some(1)])));
    }
}
