//! Filters of a query as predicates on codes.
//!
//! A filter is taken whole or not at all: what is translated here is exact, so that DataFusion does not filter again;
//! the rest stays with DataFusion. NOT is pushed down to the leaves, where NULL stays "not true". Floats compare as in
//! DataFusion: by IEEE 754's total order, except that -0.0 = 0.0.

use crate::table::column_test::column_test;
use crate::table::value::datum;
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{InList, Like};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use gingham_storage::{ColumnDefinition, Datum, FloatBits, LogicalType, Predicate, TableDefinition, ValueClass};
use std::cmp::Ordering;
use std::ops::Bound;

/// The predicate of a filter over one table; `None` when it is left to DataFusion.
pub(super) fn predicate(filter: &Expr, table: &TableDefinition) -> Option<Predicate> {
    Translator { table }.condition(filter, false)
}

/// All of `predicates`, the ranges of one column intersected.
pub(super) fn all_of(predicates: impl IntoIterator<Item = Predicate>) -> Predicate {
    let mut parts: Vec<Predicate> = Vec::new();
    for predicate in predicates {
        match predicate {
            Predicate::Constant(true) => {}
            Predicate::Constant(false) => return Predicate::Constant(false),
            Predicate::And(inner) => inner.into_iter().for_each(|part| add_part(&mut parts, part)),
            part => add_part(&mut parts, part),
        }
    }
    match parts.len() {
        0 => Predicate::Constant(true),
        1 => parts.swap_remove(0),
        _ => Predicate::And(parts),
    }
}

fn add_part(parts: &mut Vec<Predicate>, part: Predicate) {
    if let Predicate::Range { column, low, high } = &part {
        for known in parts.iter_mut() {
            if let Predicate::Range { column: same, low: known_low, high: known_high } = known
                && same == column
            {
                *known_low = tighter(known_low, low, Ordering::Greater);
                *known_high = tighter(known_high, high, Ordering::Less);
                return;
            }
        }
    }
    parts.push(part);
}

/// The bound that leaves fewer values: the one on the `inner` side of the other.
fn tighter(a: &Bound<Datum>, b: &Bound<Datum>, inner: Ordering) -> Bound<Datum> {
    let (Bound::Included(x) | Bound::Excluded(x)) = a else { return b.clone() };
    let (Bound::Included(y) | Bound::Excluded(y)) = b else { return a.clone() };
    match x.compare(y) {
        Some(Ordering::Equal) if matches!(b, Bound::Excluded(_)) => b.clone(),
        Some(order) if order != inner && order != Ordering::Equal => b.clone(),
        _ => a.clone(),
    }
}

/// Lists of one column become one list.
fn add_alternative(parts: &mut Vec<Predicate>, part: Predicate) {
    if let Predicate::In { column, values, negated: false } = &part {
        for known in parts.iter_mut() {
            if let Predicate::In { column: same, values: known_values, negated: false } = known
                && same == column
            {
                known_values.extend_from_slice(values);
                return;
            }
        }
    }
    parts.push(part);
}

/// Any of `predicates`.
pub(super) fn any_of(predicates: impl IntoIterator<Item = Predicate>) -> Predicate {
    let mut parts = Vec::new();
    for predicate in predicates {
        match predicate {
            Predicate::Constant(false) => {}
            Predicate::Constant(true) => return Predicate::Constant(true),
            Predicate::Or(inner) => inner.into_iter().for_each(|part| add_alternative(&mut parts, part)),
            part => add_alternative(&mut parts, part),
        }
    }
    match parts.len() {
        0 => Predicate::Constant(false),
        1 => parts.swap_remove(0),
        _ => Predicate::Or(parts),
    }
}

/// What a comparison compares: a column, or a column cast to a type that keeps every value.
struct ComparedColumn<'a> {
    column: &'a ColumnDefinition,
    /// The type of the constant that it is compared with.
    compared_as: LogicalType,
    /// The constant is in units of 10^-shift of the column's.
    shift: u32,
}

struct Translator<'a> {
    table: &'a TableDefinition,
}

impl<'a> Translator<'a> {
    /// `expression` is TRUE, or is FALSE when `negated`.
    fn condition(&self, expression: &Expr, negated: bool) -> Option<Predicate> {
        match expression {
            Expr::Alias(alias) => self.condition(&alias.expr, negated),
            Expr::Literal(ScalarValue::Boolean(value), _) => {
                Some(Predicate::Constant(value.is_some_and(|v| v != negated)))
            }
            Expr::Not(inner) => self.condition(inner, !negated),
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
                let parts = [self.condition(left, negated)?, self.condition(right, negated)?];
                Some(if (*op == Operator::And) != negated { all_of(parts) } else { any_of(parts) })
            }
            Expr::BinaryExpr(binary) => self.comparison(binary, negated).or_else(|| self.test(expression, negated)),
            Expr::Between(between) => self.between(between, negated),
            Expr::InList(list) => self.in_list(list, negated).or_else(|| self.test(expression, negated)),
            Expr::IsNull(inner) => self.is_null(inner, negated),
            Expr::IsNotNull(inner) => self.is_null(inner, !negated),
            Expr::IsTrue(inner) if !negated => self.condition(inner, false),
            Expr::IsNotTrue(inner) if negated => self.condition(inner, false),
            Expr::IsFalse(inner) if !negated => self.condition(inner, true),
            Expr::IsNotFalse(inner) if negated => self.condition(inner, true),
            Expr::Column(_) => {
                let column = self.column(expression)?;
                let truth = Datum::Integer(i128::from(!negated));
                (column.logical_type == LogicalType::Boolean).then(|| Predicate::In {
                    column: column.id,
                    values: vec![truth],
                    negated: false,
                })
            }
            Expr::Like(like) => self.prefix(like, negated).or_else(|| self.test(expression, negated)),
            Expr::SimilarTo(_) | Expr::ScalarFunction(_) => self.test(expression, negated),
            _ => None,
        }
    }

    fn column(&self, expression: &Expr) -> Option<&'a ColumnDefinition> {
        match expression {
            Expr::Column(column) => self.table.column(&column.name),
            _ => None,
        }
    }

    fn test(&self, expression: &Expr, negated: bool) -> Option<Predicate> {
        let (column, test) = column_test(expression, self.table, negated)?;
        Some(Predicate::Test { column, test })
    }

    fn is_null(&self, inner: &Expr, negated: bool) -> Option<Predicate> {
        Some(Predicate::IsNull { column: self.column(inner)?.id, negated })
    }

    fn operand(&self, expression: &Expr) -> Option<ComparedColumn<'a>> {
        if let Some(column) = self.column(expression) {
            return Some(ComparedColumn { column, compared_as: column.logical_type.clone(), shift: 0 });
        }
        let Expr::Cast(cast) = expression else { return None };
        let column = self.column(&cast.expr)?;
        let compared_as = LogicalType::from_arrow(&column.name, cast.field.data_type()).ok()?;
        // Only casts that keep every value and can't fail, to a type that constants are read in.
        let (digits, scale) = exact_digits(&column.logical_type)?;
        let (cast_digits, cast_scale) = match (&compared_as, cast.field.data_type()) {
            (LogicalType::Decimal { precision, scale }, DataType::Decimal128(..)) => {
                (i16::from(*precision), i16::from(*scale))
            }
            (LogicalType::Int(bits), _) if scale == 0 && keeps_integers(&column.logical_type, *bits) => (i16::MAX, 0),
            _ => return None,
        };
        let shift = cast_scale - scale;
        let fits = shift >= 0 && cast_digits - cast_scale >= digits - scale;
        fits.then(|| ComparedColumn { column, compared_as, shift: shift.unsigned_abs().into() })
    }

    fn comparison(&self, binary: &BinaryExpr, negated: bool) -> Option<Predicate> {
        let (operand, op, value) = match (&*binary.left, &*binary.right) {
            (left, Expr::Literal(value, _)) => (self.operand(left)?, binary.op, value),
            (Expr::Literal(value, _), right) => (self.operand(right)?, binary.op.swap()?, value),
            _ => return None,
        };
        let op = if negated { op.negate()? } else { op };
        self.compare(&operand, op, value)
    }

    fn compare(&self, operand: &ComparedColumn<'_>, op: Operator, value: &ScalarValue) -> Option<Predicate> {
        let value = datum(value, &operand.compared_as)?;
        let column = operand.column.id;
        match op {
            Operator::IsNotDistinctFrom if value.is_null() => {
                return Some(Predicate::IsNull { column, negated: false });
            }
            Operator::IsDistinctFrom if value.is_null() => return Some(Predicate::IsNull { column, negated: true }),
            Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
                if value.is_null() =>
            {
                return Some(Predicate::Constant(false));
            }
            _ => {}
        }
        let (op, or_null) = match op {
            Operator::IsNotDistinctFrom => (Operator::Eq, false),
            Operator::IsDistinctFrom => (Operator::NotEq, true),
            op => (op, false),
        };
        let compared = match value {
            Datum::Integer(value) => integer_comparison(column, op, value, operand.shift)?,
            Datum::Float(value) => float_comparison(column, op, value)?,
            value => plain_comparison(column, op, value)?,
        };
        let null = or_null.then_some(Predicate::IsNull { column, negated: false });
        Some(any_of([compared].into_iter().chain(null)))
    }

    fn between(&self, between: &Between, negated: bool) -> Option<Predicate> {
        let (Expr::Literal(low, _), Expr::Literal(high, _)) = (&*between.low, &*between.high) else { return None };
        let operand = self.operand(&between.expr)?;
        if between.negated != negated {
            Some(any_of([self.compare(&operand, Operator::Lt, low)?, self.compare(&operand, Operator::Gt, high)?]))
        } else {
            Some(all_of([self.compare(&operand, Operator::GtEq, low)?, self.compare(&operand, Operator::LtEq, high)?]))
        }
    }

    fn in_list(&self, list: &InList, negated: bool) -> Option<Predicate> {
        let column = self.column(&list.expr)?;
        let negated = list.negated != negated;
        let mut values = Vec::with_capacity(list.list.len());
        for entry in &list.list {
            let Expr::Literal(value, _) = entry else { return None };
            match datum(value, &column.logical_type)? {
                // Whether a list finds NaN is for DataFusion to say.
                Datum::Float(float) if float.get().is_nan() => return None,
                // Both zeros are the same value.
                Datum::Float(float) if float.get() == 0.0 => {
                    values.extend([-0.0, 0.0].map(|zero| Datum::Float(FloatBits::new(zero))));
                }
                Datum::Null if negated => return Some(Predicate::Constant(false)),
                Datum::Null => {}
                value => values.push(value),
            }
        }
        if values.is_empty() && (negated || list.list.is_empty()) {
            return None;
        }
        if values.is_empty() {
            return Some(Predicate::Constant(false));
        }
        Some(Predicate::In { column: column.id, values, negated })
    }

    /// LIKE 'text%' is a range.
    fn prefix(&self, like: &Like, negated: bool) -> Option<Predicate> {
        let column = self.column(&like.expr)?;
        let Expr::Literal(pattern, _) = &*like.pattern else { return None };
        let prefix = pattern.try_as_str()??.strip_suffix('%')?;
        let plain = !like.case_insensitive && like.escape_char.is_none() && !prefix.contains(['%', '_', '\\']);
        if !plain || prefix.is_empty() || column.logical_type.class() != ValueClass::Bytes {
            return None;
        }
        let low = prefix.as_bytes().to_vec();
        let mut after = low.clone();
        // UTF-8 has no byte 0xff, so that the next byte string of this length exists.
        *after.last_mut()? += 1;
        let (low, after) = (Datum::Bytes(low.into()), Datum::Bytes(after.into()));
        let range = |low, high| Predicate::Range { column: column.id, low, high };
        Some(if like.negated != negated {
            any_of([range(Bound::Unbounded, Bound::Excluded(low)), range(Bound::Included(after), Bound::Unbounded)])
        } else {
            range(Bound::Included(low), Bound::Excluded(after))
        })
    }
}

/// Decimal digits in all and behind the point of a type of exact numbers.
fn exact_digits(logical_type: &LogicalType) -> Option<(i16, i16)> {
    Some(match logical_type {
        LogicalType::Int(8) | LogicalType::UInt(8) => (3, 0),
        LogicalType::Int(16) | LogicalType::UInt(16) => (5, 0),
        LogicalType::Int(32) | LogicalType::UInt(32) => (10, 0),
        LogicalType::Int(_) => (19, 0),
        LogicalType::UInt(_) => (20, 0),
        LogicalType::Decimal { precision, scale } if *precision <= DECIMAL128_MAX_PRECISION => {
            ((*precision).into(), (*scale).into())
        }
        _ => return None,
    })
}

/// True when every value of the integer type `from` fits a signed integer of `bits`.
fn keeps_integers(from: &LogicalType, bits: u8) -> bool {
    match from {
        LogicalType::Int(from) => *from <= bits,
        LogicalType::UInt(from) => *from < bits,
        _ => false,
    }
}

/// `column * 10^shift op value` as a condition on the column.
fn integer_comparison(column: u32, op: Operator, value: i128, shift: u32) -> Option<Predicate> {
    let unit = 10i128.checked_pow(shift)?;
    let (floor, whole) = (value.div_euclid(unit), value.rem_euclid(unit) == 0);
    let bound = Datum::Integer(floor);
    let range = |low, high| Predicate::Range { column, low, high };
    Some(match (op, whole) {
        (Operator::Eq, false) => Predicate::Constant(false),
        (Operator::NotEq, false) => Predicate::IsNull { column, negated: true },
        // Between floor and floor + 1 there is no value: all that is below is at most floor.
        (Operator::Lt | Operator::LtEq, false) => range(Bound::Unbounded, Bound::Included(bound)),
        (Operator::Gt | Operator::GtEq, false) => range(Bound::Excluded(bound), Bound::Unbounded),
        (op, true) => plain_comparison(column, op, bound)?,
        _ => return None,
    })
}

/// A comparison in which both zeros are the same value.
fn float_comparison(column: u32, op: Operator, value: FloatBits) -> Option<Predicate> {
    if value.get() != 0.0 {
        return plain_comparison(column, op, Datum::Float(value));
    }
    let (minus, plus) = (Datum::Float(FloatBits::new(-0.0)), Datum::Float(FloatBits::new(0.0)));
    let range = |low, high| Predicate::Range { column, low, high };
    Some(match op {
        Operator::Eq => range(Bound::Included(minus), Bound::Included(plus)),
        Operator::NotEq => {
            any_of([range(Bound::Unbounded, Bound::Excluded(minus)), range(Bound::Excluded(plus), Bound::Unbounded)])
        }
        Operator::Lt => range(Bound::Unbounded, Bound::Excluded(minus)),
        Operator::LtEq => range(Bound::Unbounded, Bound::Included(plus)),
        Operator::Gt => range(Bound::Excluded(plus), Bound::Unbounded),
        Operator::GtEq => range(Bound::Included(minus), Bound::Unbounded),
        _ => return None,
    })
}

pub(super) fn plain_comparison(column: u32, op: Operator, value: Datum) -> Option<Predicate> {
    let range = |low, high| Predicate::Range { column, low, high };
    Some(match op {
        Operator::Eq => Predicate::In { column, values: vec![value], negated: false },
        Operator::NotEq => Predicate::In { column, values: vec![value], negated: true },
        Operator::Lt => range(Bound::Unbounded, Bound::Excluded(value)),
        Operator::LtEq => range(Bound::Unbounded, Bound::Included(value)),
        Operator::Gt => range(Bound::Excluded(value), Bound::Unbounded),
        Operator::GtEq => range(Bound::Included(value), Bound::Unbounded),
        _ => return None,
    })
}
