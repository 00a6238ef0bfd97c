//! What is known of the values of a heap table's columns: bounds that hold of every record, kept by whoever adds or changes
//! one. They only grow: a deletion would have to look at all other records to know better.

use crate::model::summary::ColumnSummary;
use crate::pages::attribute::{Attribute, AttributeForm, Field};
use crate::{ColumnId, Datum, LogicalType};
use serde::{Deserialize, Serialize};

/// Part of the records that are taken to be NULL where some may be.
const NULL_SHARE: u64 = 10;

/// Bounds of one column's values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnBounds {
    /// The column.
    pub column: ColumnId,
    /// Smallest and largest code that any record had; `None` when there was none, and for byte strings.
    pub codes: Option<(i128, i128)>,
    /// Whether any record was NULL.
    pub nulls: bool,
}

impl ColumnBounds {
    /// Bounds of a table without records.
    pub(crate) fn empty(own: &Attribute) -> Self {
        Self { column: own.column, codes: None, nulls: false }
    }

    /// Bounds of records that nobody has looked at: those of a table that was written before bounds were kept.
    pub(crate) fn of_type(own: &Attribute) -> Self {
        let codes = match (own.kind, &own.logical_type) {
            (AttributeForm::Variable, _) => None,
            (_, LogicalType::Boolean) => Some((0, 1)),
            (AttributeForm::Fixed(16), _) => Some((i128::MIN, i128::MAX)),
            (AttributeForm::Fixed(_), _) => Some((0, own.max_code().into())),
        };
        Self { column: own.column, codes, nulls: own.nullable }
    }

    /// Takes a value in.
    pub(crate) fn add(&mut self, field: &Field<'_>) {
        match field {
            Field::Null => self.nulls = true,
            Field::Code(code) => self.add_code(*code),
            Field::Bytes(_) | Field::Overflow(_) => {}
        }
    }

    /// Takes in a code, or the 128 bits of a wide value.
    pub(crate) fn add_code(&mut self, code: u128) {
        let code = code as i128;
        self.codes = Some(self.codes.map_or((code, code), |(low, high)| (low.min(code), high.max(code))));
    }

    /// Takes in the values that other bounds hold of.
    pub(crate) fn absorb(&mut self, other: &Self) {
        if let Some((low, high)) = other.codes {
            self.add_code(low as u128);
            self.add_code(high as u128);
        }
        self.nulls |= other.nulls;
    }

    /// These bounds as a summary of the column over `rows` records.
    pub(crate) fn summary(&self, own: &Attribute, rows: u64) -> ColumnSummary {
        let value = |code: i128| own.datum(&Field::Code(code as u128)).unwrap_or(Datum::Null);
        let (min, max) = self.codes.map_or((Datum::Null, Datum::Null), |(low, high)| (value(low), value(high)));
        let nulls = if self.nulls { rows.div_ceil(NULL_SHARE) } else { 0 };
        // Between the bounds there are no more values than that; of strings nothing is known.
        let span = self.codes.filter(|_| !matches!(own.logical_type, LogicalType::Float32 | LogicalType::Float64));
        let span = span.and_then(|(low, high)| high.checked_sub(low)).and_then(|span| u64::try_from(span).ok());
        let distinct = span.map_or(u64::MAX, |span| span.saturating_add(1)).min(rows - nulls);
        ColumnSummary { min, max, exact: false, nulls, nulls_exact: !self.nulls, distinct, distinct_exact: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnDefinition;

    fn attribute(logical_type: LogicalType) -> Attribute {
        let (name, initial) = ("c".to_owned(), Datum::Null);
        Attribute::new(&ColumnDefinition {
            id: 3,
            name,
            logical_type,
            nullable: true,
            default: None,
            initial,
            generation: None,
        })
    }

    #[test]
    fn bounds_grow_with_values() {
        for logical_type in [LogicalType::Int(32), LogicalType::Decimal { precision: 38, scale: 0 }] {
            let own = attribute(logical_type);
            let mut bounds = ColumnBounds::empty(&own);
            assert_eq!(bounds.summary(&own, 0).min, Datum::Null);
            for value in [7, -5, 3] {
                bounds.add(&own.field(&Datum::Integer(value)).unwrap());
            }
            let summary = bounds.summary(&own, 100);
            assert_eq!((summary.min, summary.max), (Datum::Integer(-5), Datum::Integer(7)));
            assert_eq!((summary.nulls, summary.nulls_exact, summary.distinct), (0, true, 13));
            bounds.add(&Field::Null);
            let summary = bounds.summary(&own, 100);
            assert!(summary.nulls > 0 && !summary.nulls_exact);
        }
    }

    #[test]
    fn a_type_bounds_all_its_values() {
        let of = |logical_type| {
            let own = attribute(logical_type);
            let summary = ColumnBounds::of_type(&own).summary(&own, 1);
            (summary.min, summary.max)
        };
        assert_eq!(of(LogicalType::Int(16)), (Datum::Integer(-32768), Datum::Integer(32767)));
        assert_eq!(of(LogicalType::UInt(64)), (Datum::Integer(0), Datum::Integer(u64::MAX.into())));
        assert_eq!(of(LogicalType::Boolean), (Datum::Integer(0), Datum::Integer(1)));
        assert_eq!(of(LogicalType::Varchar(None)), (Datum::Null, Datum::Null));
    }
}
