//! Rows that a pipeline ends in: columns of integers that may be NULL.

use crate::{Error, Result};
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;

/// What a query gives, or one of its pipelines hands to the next.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Rows {
    /// How many; there may be no columns.
    pub rows: usize,
    /// All of that length.
    pub columns: Vec<Column>,
}

/// The integers of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// One a row; where it is NULL, any.
    pub values: Values,
    /// Set where there is a value; `None` when there always is.
    pub valid: Option<BooleanBuffer>,
}

/// Integers, in 64 bits when all fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// Numbers of 64 bits.
    Short(Vec<i64>),
    /// Numbers of 128 bits.
    Wide(Vec<i128>),
}

impl Column {
    /// The integer in a row; `None` is NULL.
    pub fn get(&self, row: usize) -> Option<i128> {
        let valid = self.valid.as_ref().is_none_or(|valid| valid.value(row));
        valid.then(|| match &self.values {
            Values::Short(values) => values[row].into(),
            Values::Wide(values) => values[row],
        })
    }

    /// The integers as another pipeline reads them. Fails where some have more than 64 bits.
    pub(crate) fn short(&self) -> Result<&[i64]> {
        match &self.values {
            Values::Short(values) => Ok(values),
            Values::Wide(_) => Err(Error::Unsupported("integers of more than 64 bits between pipelines".to_owned())),
        }
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let values = match &self.values {
            Values::Short(values) => size_of_val(values.as_slice()),
            Values::Wide(values) => size_of_val(values.as_slice()),
        };
        values + self.valid.as_ref().map_or(0, |valid| valid.len() / 8)
    }
}

impl Values {
    fn followed_by(self, others: Self) -> Self {
        match (self, others) {
            (Self::Short(mut values), Self::Short(others)) => {
                values.extend(others);
                Self::Short(values)
            }
            (first, second) => {
                let mut values = first.widened();
                values.extend(second.widened());
                Self::Wide(values)
            }
        }
    }

    fn extend(&mut self, others: &Self) {
        match (&mut *self, others) {
            (Self::Short(values), Self::Short(others)) => values.extend_from_slice(others),
            (_, others) => *self = std::mem::replace(self, Self::Short(Vec::new())).followed_by(others.clone()),
        }
    }

    fn widened(self) -> Vec<i128> {
        match self {
            Self::Short(values) => values.into_iter().map(i128::from).collect(),
            Self::Wide(values) => values,
        }
    }
}

impl Rows {
    /// Some of the rows.
    ///
    /// # Panics
    /// For a row that is none.
    pub fn take(&self, rows: &[usize]) -> Self {
        let column = |column: &Column| Column {
            values: match &column.values {
                Values::Short(values) => Values::Short(rows.iter().map(|row| values[*row]).collect()),
                Values::Wide(values) => Values::Wide(rows.iter().map(|row| values[*row]).collect()),
            },
            valid: column.valid.as_ref().map(|valid| rows.iter().map(|row| valid.value(*row)).collect()),
        };
        Self { rows: rows.len(), columns: self.columns.iter().map(column).collect() }
    }

    /// These and others of the same columns behind them.
    pub(crate) fn followed_by(self, others: Self) -> Result<Self> {
        let (first, second) = (self.columns.len(), others.columns.len());
        if first != second {
            return Err(Error::Internal(format!("rows of {first} columns before some of {second}")));
        }
        let rows = self.rows + others.rows;
        let column = |(first, second): (Column, Column)| {
            let valid = valid_in_all([(&first, self.rows), (&second, others.rows)].into_iter());
            Column { values: first.values.followed_by(second.values), valid }
        };
        Ok(Self { rows, columns: self.columns.into_iter().zip(others.columns).map(column).collect() })
    }

    /// Rows of `columns` columns one behind the other. Fails for rows of fewer or more.
    pub fn gathered(columns: usize, parts: &[Self]) -> Result<Self> {
        if let Some(part) = parts.iter().find(|part| part.columns.len() != columns) {
            return Err(Error::Internal(format!("rows of {} columns among some of {columns}", part.columns.len())));
        }
        let rows = parts.iter().map(|part| part.rows).sum();
        let gather = |number: usize| {
            let all = || parts.iter().map(|part| (&part.columns[number], part.rows));
            let mut values = Values::Short(Vec::with_capacity(rows));
            all().for_each(|(column, _)| values.extend(&column.values));
            Column { values, valid: valid_in_all(all()) }
        };
        Ok(Self { rows, columns: (0..columns).map(gather).collect() })
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }
}

/// Set where a column has a value that lies in these pieces, each of so many rows; `None` when it always has one.
pub(crate) fn valid_in_all<'c>(pieces: impl Iterator<Item = (&'c Column, usize)> + Clone) -> Option<BooleanBuffer> {
    pieces.clone().any(|(column, _)| column.valid.is_some()).then(|| {
        let mut bits = BooleanBufferBuilder::new(pieces.clone().map(|(_, rows)| rows).sum());
        for (column, rows) in pieces {
            match &column.valid {
                Some(valid) => bits.append_buffer(valid),
                None => bits.append_n(rows, true),
            }
        }
        bits.finish()
    })
}

/// A column of values; `None` is NULL.
pub(crate) fn collected(values: impl ExactSizeIterator<Item = Option<i128>> + Clone) -> Column {
    let (mut nulls, mut fits) = (false, true);
    let short = |value: Option<i128>| match value {
        Some(value) => {
            fits &= i64::try_from(value).is_ok();
            value as i64
        }
        None => {
            nulls = true;
            0
        }
    };
    let short: Vec<i64> = values.clone().map(short).collect();
    let valid = nulls.then(|| values.clone().map(|value| value.is_some()).collect());
    let wide = || values.map(Option::unwrap_or_default).collect();
    Column { values: if fits { Values::Short(short) } else { Values::Wide(wide()) }, valid }
}
