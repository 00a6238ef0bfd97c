//! Literals and types of expressions. A number with an exponent is a DOUBLE, as the SQL standard has it, and TIMESTAMP
//! is TIMESTAMP(6), as it is in CREATE TABLE.
//!
//! DataFusion makes every literal with a point or an exponent a decimal once it is told to keep `0.1` exact, and then
//! refuses `1e300`, whose scale no decimal has. A TIMESTAMP without a precision it takes for nanoseconds, which end in 2262.

use crate::sql::operators;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::{Error, Result};
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{CastKind, DataType, ExactNumberInfo, Expr, TimezoneInfo, TypedString, Value};
use gingham_storage::SqlState;

/// Replaces each literal with an exponent by the cast of its text, and gives TIMESTAMP without a precision that of columns.
pub(crate) fn make_plannable(tree: &mut impl SyntaxTree) -> Result<()> {
    tree.walk(&mut Literals)
}

struct Literals;

impl Visit for Literals {
    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        operators::give_signs(expression);
        Ok(())
    }

    fn expression_end(&mut self, expression: &mut Expr) -> Result<()> {
        if let Expr::Cast { data_type: DataType::Timestamp(precision @ None, _), .. }
        | Expr::TypedString(TypedString { data_type: DataType::Timestamp(precision @ None, _), .. }) = expression
        {
            *precision = Some(6);
        }
        if let Expr::Cast { data_type: DataType::Time(_, zone), .. }
        | Expr::TypedString(TypedString { data_type: DataType::Time(_, zone), .. }) = expression
            && matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz)
        {
            let text = "not supported: TIME WITH TIME ZONE; use TIME, or TIMESTAMP WITH TIME ZONE";
            return Err(Error::Unsupported(text.to_owned()));
        }
        if let Expr::Value(literal) = expression
            && let Value::Number(text, _) = &literal.value
            && text.contains(['e', 'E'])
        {
            if text.parse().is_ok_and(f64::is_infinite) {
                return Err(Error::invalid(
                    SqlState::NumericValueOutOfRange,
                    format!("{text} is larger than any DOUBLE"),
                ));
            }
            literal.value = Value::SingleQuotedString(text.clone());
            *expression = Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(expression.clone()),
                data_type: DataType::Double(ExactNumberInfo::None),
                array: false,
                format: None,
            };
        }
        operators::make_calls(expression)
    }
}

/// A number: an integer, a DOUBLE when it has an exponent, else an exact decimal; `None` leaves it to DataFusion.
pub(crate) fn number(digits: &str) -> Option<ScalarValue> {
    if let Ok(value) = digits.parse::<i64>() {
        return Some(ScalarValue::Int64(Some(value)));
    }
    if digits.contains(['e', 'E']) {
        // What is too large for a DOUBLE is left to DataFusion, which says so.
        let value = digits.parse::<f64>().ok().filter(|value| value.is_finite());
        return value.map(|value| ScalarValue::Float64(Some(value)));
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let unscaled: i128 = format!("{whole}{fraction}").parse().ok()?;
    let figures = unscaled.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1);
    let precision = u8::try_from(figures.max(fraction.len()).max(1)).ok().filter(|precision| *precision <= 38)?;
    Some(ScalarValue::Decimal128(Some(unscaled), precision, i8::try_from(fraction.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParser;

    #[test]
    fn only_exponents_are_replaced() {
        let cases = [
            (
                "SELECT 1e3, -2.5E-7, 1.5, 7, '1e3' FROM t",
                "SELECT CAST('1e3' AS DOUBLE), -CAST('2.5E-7' AS DOUBLE), 1.5, 7, '1e3' FROM t",
            ),
            (
                "SELECT TIMESTAMP '2500-01-01', CAST(a AS TIMESTAMP(3))",
                "SELECT TIMESTAMP(6) '2500-01-01', CAST(a AS TIMESTAMP(3))",
            ),
            ("INSERT INTO t VALUES (1e3)", "INSERT INTO t VALUES (CAST('1e3' AS DOUBLE))"),
            ("EXPLAIN SELECT 1e3", "EXPLAIN SELECT CAST('1e3' AS DOUBLE)"),
            ("COPY (SELECT 1e3) TO 'x.csv'", "COPY (SELECT CAST('1e3' AS DOUBLE)) TO"),
        ];
        for (sql, expected) in cases {
            let mut statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            make_plannable(&mut statement).unwrap();
            assert!(statement.to_string().starts_with(expected), "{statement}");
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(number("12"), Some(ScalarValue::Int64(Some(12))));
        assert_eq!(number("-9223372036854775808"), Some(ScalarValue::Int64(Some(i64::MIN))));
        assert_eq!(number("9223372036854775808"), Some(ScalarValue::Decimal128(Some(1 << 63), 19, 0)));
        assert_eq!(number("18446744073709551616"), Some(ScalarValue::Decimal128(Some(1 << 64), 20, 0)));
        assert_eq!(number("1.50"), Some(ScalarValue::Decimal128(Some(150), 3, 2)));
        assert_eq!(number("-.05"), Some(ScalarValue::Decimal128(Some(-5), 2, 2)));
        assert_eq!(number("0.0"), Some(ScalarValue::Decimal128(Some(0), 1, 1)));
        assert_eq!(number("1e3"), Some(ScalarValue::Float64(Some(1000.0))));
        assert_eq!(number("1_000"), None);
        assert_eq!(number(&"9".repeat(39)), None);
    }
}
