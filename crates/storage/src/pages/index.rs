//! Keys of index entries: the indexed columns of a record as bytes that order as the values do, and ranges of them that hold
//! all entries a predicate can be true of.
//!
//! A value is one byte that says whether it is NULL, then its code with the highest byte first, or its bytes, in which 0 is
//! written as 0 255, and 0 0 as their end. LMDB's keys have at most 511 bytes: of longer ones the beginning is kept, with a
//! checksum of the whole behind it, so that an entry may be found that was not asked for, but none is missed. Who looks an
//! entry up compares the record. docs/formats/catalog.md is the byte map.

use crate::model::view::{float_order, real_order};
use crate::pages::attribute::{Attribute, AttributeForm, Field, PageSchema};
use crate::{ColumnId, Datum, LogicalType, Predicate};
use std::ops::Bound;

/// Bytes of the columns that an entry's key has at most; LMDB's limit less table, index, checksum and record id.
pub(crate) const WHOLE: usize = 480;

/// Values of an IN list that are looked up one by one; a scan is as good for more.
const LIST: usize = 64;

/// The columns of a record as an index keeps them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct IndexKey {
    /// The bytes; when they are not whole, the first [`WHOLE`] of them and a checksum.
    pub(crate) bytes: Vec<u8>,
    /// Whether some column is NULL: such keys are never equal.
    pub(crate) has_null: bool,
    /// Whether these are all bytes, so that equal ones are equal keys.
    pub(crate) is_whole: bool,
}

impl IndexKey {
    /// The key of these fields. None of them lies elsewhere.
    pub(crate) fn new<'f>(fields: impl IntoIterator<Item = (&'f Attribute, Field<'f>)>) -> Self {
        let (mut bytes, mut has_null) = (Vec::new(), false);
        for (own, field) in fields {
            has_null |= field == Field::Null;
            push(&mut bytes, own, &field);
        }
        let is_whole = bytes.len() <= WHOLE;
        if !is_whole {
            let (sum, length) = (crc32c::crc32c(&bytes), bytes.len() as u32);
            bytes.truncate(WHOLE);
            bytes.extend_from_slice(&sum.to_be_bytes());
            bytes.extend_from_slice(&length.to_be_bytes());
        }
        Self { bytes, has_null, is_whole }
    }
}

/// Adds a value. -0.0 is 0.0, which it equals.
fn push(bytes: &mut Vec<u8>, own: &Attribute, field: &Field<'_>) {
    let code = match field {
        Field::Null => return bytes.push(0),
        Field::Bytes(value) => {
            bytes.push(1);
            for byte in *value {
                bytes.push(*byte);
                if *byte == 0 {
                    bytes.push(0xff);
                }
            }
            return bytes.extend_from_slice(&[0, 0]);
        }
        // The number of a long value orders nothing; whoever asks for a key has fetched it.
        Field::Overflow(reference) => return bytes.extend_from_slice(&reference.to_bytes()),
        Field::Code(code) => *code,
    };
    bytes.push(1);
    let (code, width) = match (&own.logical_type, own.kind) {
        (LogicalType::Float32, _) if code == u128::from(real_order(-0.0)) => (real_order(0.0).into(), 4),
        (LogicalType::Float64, _) if code == u128::from(float_order(-0.0)) => (float_order(0.0).into(), 8),
        (_, AttributeForm::Fixed(16)) => (code ^ 1 << 127, 16),
        (_, AttributeForm::Fixed(width)) => (code, width),
        (_, AttributeForm::Variable) => (code, 16),
    };
    bytes.extend_from_slice(&code.to_be_bytes()[16 - width..]);
}

/// A run of keys: from the first on, up to the second.
pub(crate) type KeyRange = (Vec<u8>, Vec<u8>);

/// Runs of an index on `columns` that have every record for which `predicate` is true; `None` when it says nothing of the first
/// column.
pub(crate) fn ranges(schema: &PageSchema, columns: &[ColumnId], predicate: &Predicate) -> Option<Vec<KeyRange>> {
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    for (at, column) in columns.iter().enumerate() {
        let own = schema.attributes().iter().find(|own| own.column == *column)?;
        if let Some(values) = equal_values(predicate, *column)
            && values.len() * prefixes.len() <= LIST
        {
            let with = |prefix: &Vec<u8>| {
                let longer = |value: &&Datum| {
                    let mut bytes = prefix.clone();
                    push(&mut bytes, own, &own.field(value).ok()?);
                    Some(bytes)
                };
                values.iter().map(longer).collect::<Option<Vec<_>>>()
            };
            prefixes = prefixes.iter().map(with).collect::<Option<Vec<_>>>()?.concat();
            continue;
        }
        let Some((low, high)) = bounds(predicate, *column) else {
            return (at > 0).then(|| prefixes.iter().map(|prefix| run(prefix, prefix)).collect());
        };
        let ends = prefixes.iter().map(|prefix| {
            let end = |bound: &Bound<&Datum>| {
                let mut bytes = prefix.clone();
                match bound {
                    Bound::Unbounded => bytes.push(1),
                    Bound::Included(value) | Bound::Excluded(value) => {
                        push(&mut bytes, own, &own.field(value).ok()?);
                    }
                }
                Some(bytes)
            };
            Some(run(&end(&low)?, &end(&high)?))
        });
        return ends.collect();
    }
    Some(prefixes.iter().map(|prefix| run(prefix, prefix)).collect())
}

/// All keys from those that begin with `low` to those that begin with `high`, as far as they are kept.
fn run(low: &[u8], high: &[u8]) -> KeyRange {
    let kept = |bytes: &[u8]| bytes[..bytes.len().min(WHOLE)].to_vec();
    let mut end = kept(high);
    // Of bytes that are all 255 there is no next one; a key begins with 0 or 1, so there always is.
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            break;
        }
    }
    (kept(low), end)
}

/// The values that the column must have one of for the predicate to be true.
fn equal_values(predicate: &Predicate, column: ColumnId) -> Option<Vec<&Datum>> {
    match predicate {
        Predicate::Range { column: own, low: Bound::Included(low), high: Bound::Included(high) }
            if *own == column && low == high =>
        {
            Some(vec![low])
        }
        Predicate::In { column: own, values, negated: false } if *own == column => Some(values.iter().collect()),
        Predicate::And(parts) => parts.iter().find_map(|part| equal_values(part, column)),
        _ => None,
    }
}

/// Bounds of the column's values where the predicate is true.
fn bounds(predicate: &Predicate, column: ColumnId) -> Option<(Bound<&Datum>, Bound<&Datum>)> {
    match predicate {
        Predicate::Range { column: own, low, high } if *own == column => Some((low.as_ref(), high.as_ref())),
        Predicate::And(parts) => {
            // One part may bound it below and another above.
            let found = parts.iter().filter_map(|part| bounds(part, column));
            found.reduce(|(low, high), (other_low, other_high)| {
                let low = if matches!(low, Bound::Unbounded) { other_low } else { low };
                (low, if matches!(high, Bound::Unbounded) { other_high } else { high })
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnDefinition, FloatBits};

    fn attribute(column: ColumnId, logical_type: LogicalType) -> Attribute {
        Attribute::new(&ColumnDefinition::new(column, format!("c{column}"), logical_type))
    }

    fn key(own: &Attribute, value: &Datum) -> IndexKey {
        IndexKey::new([(own, own.field(value).unwrap())])
    }

    fn text(text: &str) -> Datum {
        Datum::Bytes(text.as_bytes().into())
    }

    #[test]
    fn keys_order_as_their_values_do() {
        let integers = [i128::from(i64::MIN), -300, -1, 0, 1, 255, 256, i128::from(i64::MAX)].map(Datum::Integer);
        let wide = [-(10i128.pow(37)), -1, 0, 1, 10i128.pow(37)].map(Datum::Integer);
        let floats =
            [f64::NEG_INFINITY, -1.5, 0.0, 1e-300, 2.0, f64::INFINITY].map(|f| Datum::Float(FloatBits::new(f)));
        let strings = ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "aa", "b"].map(text);
        let cases = [
            (LogicalType::Int(64), &integers[..]),
            (LogicalType::Decimal { precision: 38, scale: 2 }, &wide[..]),
            (LogicalType::Float64, &floats[..]),
            (LogicalType::Varchar(None), &strings[..]),
        ];
        for (logical_type, values) in cases {
            let own = attribute(1, logical_type);
            let keys: Vec<IndexKey> = values.iter().map(|value| key(&own, value)).collect();
            assert!(keys.is_sorted_by(|a, b| a.bytes < b.bytes), "{keys:?}");
            assert!(key(&own, &Datum::Null).bytes < keys[0].bytes);
            // The first column decides, whatever follows.
            let pair = |a: &Datum, b: &Datum| {
                IndexKey::new([(&own, own.field(a).unwrap()), (&own, own.field(b).unwrap())]).bytes
            };
            for pairs in values.windows(2) {
                assert!(pair(&pairs[0], &values[values.len() - 1]) < pair(&pairs[1], &values[0]));
            }
        }
    }

    #[test]
    fn zeros_are_one_key() {
        for logical_type in [LogicalType::Float32, LogicalType::Float64] {
            let own = attribute(1, logical_type);
            let of = |value: f64| key(&own, &Datum::Float(FloatBits::new(value)));
            assert_eq!(of(0.0), of(-0.0));
            assert_ne!(of(0.0), of(1.0));
        }
    }

    #[test]
    fn long_keys_keep_their_beginning_and_differ() {
        let own = attribute(1, LogicalType::Varchar(None));
        let (a, b) = (key(&own, &text(&("x".repeat(1000) + "a"))), key(&own, &text(&("x".repeat(1000) + "b"))));
        assert_eq!((a.bytes.len(), a.is_whole), (WHOLE + 8, false));
        assert_ne!(a, b);
        assert_eq!(a.bytes[..WHOLE], b.bytes[..WHOLE]);
        assert!(key(&own, &text("x")).is_whole);
    }

    /// Every entry of a value for which a predicate is true lies in one of its runs.
    #[test]
    fn runs_have_all_that_a_predicate_selects() {
        let (a, b) = (attribute(1, LogicalType::Int(16)), attribute(2, LogicalType::Varchar(None)));
        let schema = PageSchema::of("t".to_owned(), vec![a.clone(), b.clone()]);
        let range = |column, low: Bound<Datum>, high: Bound<Datum>| Predicate::Range { column, low, high };
        let is = |column, value: Datum| range(column, Bound::Included(value.clone()), Bound::Included(value));
        let long = "y".repeat(600);
        let predicates = [
            is(1, Datum::Integer(3)),
            range(1, Bound::Excluded(Datum::Integer(-2)), Bound::Unbounded),
            range(1, Bound::Unbounded, Bound::Excluded(Datum::Integer(4))),
            Predicate::And(vec![
                is(1, Datum::Integer(3)),
                range(2, Bound::Included(text("b")), Bound::Included(text(&long))),
            ]),
            Predicate::And(vec![
                range(1, Bound::Included(Datum::Integer(0)), Bound::Unbounded),
                range(1, Bound::Unbounded, Bound::Included(Datum::Integer(3))),
            ]),
            Predicate::In { column: 1, values: vec![Datum::Integer(-5), Datum::Integer(3)], negated: false },
        ];
        let selects = |predicate: &Predicate, x: i128, y: &str| -> bool {
            fn holds(predicate: &Predicate, values: &[Datum; 2]) -> bool {
                match predicate {
                    Predicate::Range { column, low, high } => {
                        let value = &values[*column as usize - 1];
                        let below = |bound: &Bound<Datum>, inner: fn(std::cmp::Ordering) -> bool| match bound {
                            Bound::Unbounded => true,
                            Bound::Included(end) => value == end || inner(value.compare(end).unwrap()),
                            Bound::Excluded(end) => inner(value.compare(end).unwrap()),
                        };
                        below(low, std::cmp::Ordering::is_gt) && below(high, std::cmp::Ordering::is_lt)
                    }
                    Predicate::In { column, values: list, .. } => list.contains(&values[*column as usize - 1]),
                    Predicate::And(parts) => parts.iter().all(|part| holds(part, values)),
                    _ => unreachable!(),
                }
            }
            holds(predicate, &[Datum::Integer(x), text(y)])
        };
        let longer = long.clone() + "z";
        for predicate in &predicates {
            let runs = ranges(&schema, &[1, 2], predicate).unwrap();
            let (mut selected, mut all) = (0, 0);
            for x in -6..6 {
                for y in ["", "a", "b", "ba", &long, &longer, "z"] {
                    let (x_value, y_value) = (Datum::Integer(x), text(y));
                    let key = IndexKey::new([(&a, a.field(&x_value).unwrap()), (&b, b.field(&y_value).unwrap())]);
                    let within = runs.iter().any(|(low, high)| *low <= key.bytes && key.bytes < *high);
                    if selects(predicate, x, y) {
                        assert!(within, "{predicate:?}: {x}, {y}");
                        selected += 1;
                    }
                    all += usize::from(within);
                }
            }
            assert!(selected > 0 && all < 12 * 7, "{predicate:?} leaves something out");
        }
        assert_eq!(ranges(&schema, &[1, 2], &is(2, text("b"))), None);
        assert_eq!(ranges(&schema, &[1], &is(1, Datum::Integer(1 << 40))), None);
    }
}
