//! A predicate's leaf in normal form: what is compared, apart from how any segment encodes it.
//!
//! Integers and floats become ordered keys, so that one form of range and list serves both; bounds are made inclusive,
//! lists sorted. Made once per scan, which also checks that the constants are of the column's class.

use crate::SqlState;
use crate::model::view::float_order;
use crate::{ColumnDefinition, ColumnTest, Datum, Error, IntegerSet, Result, ValueClass};
use arrow::array::{Array, ArrayRef, BooleanArray, new_null_array};
use std::ops::Bound;
use std::sync::Arc;

/// What a value must fulfil. NULL fulfils none but `Null` and, at will, `Test`.
#[derive(Debug)]
pub(super) enum Condition {
    /// Is NULL (is not, when negated).
    Null { negated: bool },
    /// The key lies in `low..=high`; never empty.
    Keys { low: i128, high: i128 },
    /// The key is one of `keys` (ascending), or none of them.
    KeySet { keys: Vec<i128>, negated: bool },
    /// The key is in the set.
    Among(Arc<IntegerSet>),
    /// The byte string lies within the bounds.
    Bytes { low: Bound<Box<[u8]>>, high: Bound<Box<[u8]>> },
    /// The byte string is one of `entries` (ascending), or none of them.
    BytesSet { entries: Vec<Box<[u8]>>, negated: bool },
    /// The test says so; `nulls` is what it says of NULL.
    Test { test: Arc<dyn ColumnTest>, nulls: bool },
    /// No value at all: an empty range.
    Never,
}

impl Condition {
    /// A range; `low` and `high` are not NULL.
    pub(super) fn range(column: &ColumnDefinition, low: &Bound<Datum>, high: &Bound<Datum>) -> Result<Self> {
        if column.logical_type.class() == ValueClass::Bytes {
            let (low, high) = (bytes_bound(column, low)?, bytes_bound(column, high)?);
            return Ok(if empty(&low, &high) { Self::Never } else { Self::Bytes { low, high } });
        }
        let low = match low {
            Bound::Included(low) => Some(key(column, low)?),
            Bound::Excluded(low) => key(column, low)?.checked_add(1),
            Bound::Unbounded => Some(i128::MIN),
        };
        let high = match high {
            Bound::Included(high) => Some(key(column, high)?),
            Bound::Excluded(high) => key(column, high)?.checked_sub(1),
            Bound::Unbounded => Some(i128::MAX),
        };
        Ok(match (low, high) {
            (Some(low), Some(high)) if low <= high => Self::Keys { low, high },
            _ => Self::Never,
        })
    }

    /// A list.
    pub(super) fn list(column: &ColumnDefinition, values: &[Datum], negated: bool) -> Result<Self> {
        if column.logical_type.class() == ValueClass::Bytes {
            let mut entries: Vec<_> = values.iter().map(|value| bytes(column, value)).collect::<Result<_>>()?;
            entries.sort_unstable();
            entries.dedup();
            return Ok(Self::BytesSet { entries, negated });
        }
        let mut keys: Vec<_> = values.iter().map(|value| key(column, value)).collect::<Result<_>>()?;
        keys.sort_unstable();
        keys.dedup();
        Ok(Self::KeySet { keys, negated })
    }

    /// A set of integers.
    pub(super) fn among(column: &ColumnDefinition, set: &Arc<IntegerSet>) -> Result<Self> {
        match column.logical_type.class() {
            ValueClass::Integer => Ok(Self::Among(Arc::clone(set))),
            _ => Err(wrong_class(column, &Datum::Integer(set.low()))),
        }
    }

    /// A test; asks it about NULL where the column may have any.
    pub(super) fn test(column: &ColumnDefinition, test: &Arc<dyn ColumnTest>) -> Result<Self> {
        let nulls = column.nullable && {
            let null = new_null_array(&column.logical_type.to_arrow(), 1);
            is_true(&run_test(column, test.as_ref(), &null)?, 0)
        };
        Ok(Self::Test { test: Arc::clone(test), nulls })
    }

    /// Whether NULL fulfils it.
    pub(super) fn nulls(&self) -> bool {
        match self {
            Self::Null { negated } => !negated,
            Self::Test { nulls, .. } => *nulls,
            _ => false,
        }
    }

    /// Whether a value's key fulfils it; false for conditions on byte strings and tests.
    pub(super) fn holds_for_key(&self, key: i128) -> bool {
        match self {
            Self::Null { negated } => *negated,
            Self::Keys { low, high } => *low <= key && key <= *high,
            Self::KeySet { keys, negated } => keys.binary_search(&key).is_ok() != *negated,
            Self::Among(set) => set.contains(key),
            _ => false,
        }
    }

    /// Whether a byte string fulfils it; false for conditions on keys and tests.
    pub(super) fn holds_for_bytes(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Null { negated } => *negated,
            Self::Bytes { low, high } => within(bytes, low, high),
            Self::BytesSet { entries, negated } => {
                let found = match entries.as_slice() {
                    [only] => **only == *bytes,
                    _ => entries.binary_search_by(|entry| (**entry).cmp(bytes)).is_ok(),
                };
                found != *negated
            }
            _ => false,
        }
    }

    /// Whether one value fulfils it.
    pub(super) fn holds_for(&self, column: &ColumnDefinition, value: &Datum) -> Result<bool> {
        Ok(match (value, self) {
            (Datum::Null, _) => self.nulls(),
            (value, Self::Test { test, .. }) => {
                let value = crate::decode::arrays::constant(value, &column.logical_type, 1)?;
                is_true(&run_test(column, test.as_ref(), &value)?, 0)
            }
            (Datum::Bytes(bytes), _) => self.holds_for_bytes(bytes),
            (value, _) => self.holds_for_key(key(column, value)?),
        })
    }
}

/// Runs a test and checks that it gave one result per value.
pub(super) fn run_test(column: &ColumnDefinition, test: &dyn ColumnTest, values: &ArrayRef) -> Result<BooleanArray> {
    let results = test.test(values)?;
    if results.len() != values.len() {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!(
                "a condition on column '{}' gave {} results for {} values",
                column.name,
                results.len(),
                values.len()
            ),
        ));
    }
    Ok(results)
}

/// Whether a result is TRUE: neither FALSE nor NULL.
pub(super) fn is_true(results: &BooleanArray, at: usize) -> bool {
    results.is_valid(at) && results.value(at)
}

/// The ordered key of an integer or a float.
fn key(column: &ColumnDefinition, value: &Datum) -> Result<i128> {
    match (value, column.logical_type.class()) {
        (Datum::Integer(value), ValueClass::Integer) => Ok(*value),
        (Datum::Float(value), ValueClass::Float) => Ok(float_order(value.get()).into()),
        _ => Err(wrong_class(column, value)),
    }
}

fn bytes(column: &ColumnDefinition, value: &Datum) -> Result<Box<[u8]>> {
    match value {
        Datum::Bytes(value) => Ok(value.clone()),
        _ => Err(wrong_class(column, value)),
    }
}

fn bytes_bound(column: &ColumnDefinition, bound: &Bound<Datum>) -> Result<Bound<Box<[u8]>>> {
    Ok(match bound {
        Bound::Included(value) => Bound::Included(bytes(column, value)?),
        Bound::Excluded(value) => Bound::Excluded(bytes(column, value)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

fn wrong_class(column: &ColumnDefinition, value: &Datum) -> Error {
    Error::invalid(
        SqlState::DatatypeMismatch,
        format!(
            "column '{}' of type {} can't be compared with the constant {value:?}",
            column.name, column.logical_type
        ),
    )
}

/// Whether `bytes` lies within the bounds.
pub(super) fn within(bytes: &[u8], low: &Bound<Box<[u8]>>, high: &Bound<Box<[u8]>>) -> bool {
    let above = match low {
        Bound::Included(low) => bytes >= &**low,
        Bound::Excluded(low) => bytes > &**low,
        Bound::Unbounded => true,
    };
    above
        && match high {
            Bound::Included(high) => bytes <= &**high,
            Bound::Excluded(high) => bytes < &**high,
            Bound::Unbounded => true,
        }
}

fn empty(low: &Bound<Box<[u8]>>, high: &Bound<Box<[u8]>>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => low >= high,
        _ => false,
    }
}
