//! A REAL beside an integer: both are DOUBLEs in comparisons and in what is computed, as in PostgreSQL. A REAL has 24 binary digits, so
//! that as REALs 16777217 and 16777216 would be equal.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{ExprSchema, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast};

/// The integers up to this one, and their negatives, are REALs exactly.
const LARGEST_EXACT: i64 = 1 << 24;

/// Whether REALs, but no DOUBLE, stand beside integers.
pub(super) fn meet_integers(types: &[DataType]) -> bool {
    let has = |wanted: fn(&DataType) -> bool| types.iter().any(wanted);
    has(|own| *own == DataType::Float32) && !has(|own| *own == DataType::Float64) && has(DataType::is_integer)
}

/// Makes DOUBLEs of the operands of `+`, `-`, `*`, `/` and `%`.
pub(super) fn widen_operands(binary: &mut BinaryExpr, schema: &dyn ExprSchema) -> bool {
    use Operator::{Divide, Minus, Modulo, Multiply, Plus};
    if !matches!(binary.op, Plus | Minus | Multiply | Divide | Modulo) {
        return false;
    }
    let operands = [&mut *binary.left, &mut *binary.right];
    let types = operands.iter().map(|operand| operand.get_type(schema)).collect::<Result<Vec<_>, _>>();
    match types {
        Ok(types) if meet_integers(&types) => {
            operands.into_iter().for_each(|operand| make_float(operand, false));
            true
        }
        _ => false,
    }
}

/// Makes DOUBLEs of operands that are compared, unless the integers are constants that are REALs exactly. Constants with digits behind the
/// point are REALs beside REALs.
pub(super) fn widen_compared(operands: Vec<&mut Expr>, types: &[DataType]) -> bool {
    let is_exact = |(operand, data_type): (&&mut Expr, &DataType)| !data_type.is_integer() || is_small(operand);
    let as_reals = operands.iter().zip(types).all(is_exact);
    for (operand, data_type) in operands.into_iter().zip(types) {
        if !as_reals || data_type.is_decimal() || data_type.is_integer() {
            make_float(operand, as_reals);
        }
    }
    true
}

/// An integer or a decimal compared with NaN, which is larger than every number. DataFusion's statistics of such conditions fail where they cast
/// large BIGINTs (DataFusion 55, `shrink_boundaries`).
pub(super) fn beside_nan(binary: &BinaryExpr, schema: &dyn ExprSchema) -> Option<Expr> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let (value, operator) = if is_nan(&binary.right) {
        (&binary.left, binary.op)
    } else if is_nan(&binary.left) {
        (&binary.right, binary.op.swap()?)
    } else {
        return None;
    };
    if !value.get_type(schema).is_ok_and(|own| own.is_integer() || own.is_decimal()) {
        return None;
    }
    let (own, same) = (value.as_ref().clone(), value.as_ref().clone());
    // NULL where the value is.
    match operator {
        Lt | LtEq | NotEq => Some(own.eq(same)),
        Gt | GtEq | Eq => Some(own.not_eq(same)),
        _ => None,
    }
}

fn is_nan(operand: &Expr) -> bool {
    match operand {
        Expr::Literal(ScalarValue::Float64(Some(value)), _) => value.is_nan(),
        Expr::Literal(ScalarValue::Float32(Some(value)), _) => value.is_nan(),
        _ => false,
    }
}

fn is_small(operand: &Expr) -> bool {
    let Expr::Literal(value, _) = operand else { return false };
    match value.cast_to(&DataType::Int64) {
        Ok(ScalarValue::Int64(value)) => value.is_none_or(|value| (-LARGEST_EXACT..=LARGEST_EXACT).contains(&value)),
        _ => false,
    }
}

/// Makes a DOUBLE of a number, or of a literal a REAL.
pub(super) fn make_float(operand: &mut Expr, real: bool) {
    let literal = if let Expr::Literal(value, _) = &*operand { float(value, real) } else { None };
    *operand = match literal {
        Some(value) => Expr::Literal(value, None),
        None => cast(std::mem::take(operand), DataType::Float64),
    };
}

/// The float nearest to a number without an exponent: read from its digits, so that it is rounded once.
fn float(number: &ScalarValue, real: bool) -> Option<ScalarValue> {
    if number.is_null() || !(number.data_type().is_decimal() || number.data_type().is_integer()) {
        return None;
    }
    let text = number.to_string();
    Some(if real { ScalarValue::Float32(text.parse().ok()) } else { ScalarValue::Float64(text.parse().ok()) })
}
