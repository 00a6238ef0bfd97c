//! Literals and types of expressions. A number with an exponent is a DOUBLE, as the SQL standard has it, and TIMESTAMP
//! is TIMESTAMP(6), as it is in CREATE TABLE.
//!
//! DataFusion makes every literal with a point or an exponent a decimal once it is told to keep `0.1` exact, and then
//! refuses `1e300`, whose scale no decimal has. A TIMESTAMP without a precision it takes for nanoseconds, which end in 2262.

use crate::sql::forms;
use crate::sql::headings::Heading;
use crate::sql::sequence_calls::without_class;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::sql::{arrays, calls, operators, postgres};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Select, SelectItem, TimezoneInfo, TypedString, Value,
};
use gingham_storage::SqlState;

/// Replaces each literal with an exponent by the cast of its text, and gives TIMESTAMP without a precision that of columns. What a select
/// list shows is called as it was written.
pub(crate) fn make_plannable(tree: &mut impl SyntaxTree) -> Result<()> {
    tree.walk(&mut Literals::default())
}

#[derive(Default)]
struct Literals {
    /// What the items of the select lists around an expression are called, where no AS says so; the innermost list last.
    written: Vec<Vec<Option<Heading>>>,
}

impl Visit for Literals {
    fn select(&mut self, select: &mut Select) -> Result<()> {
        let written = select.projection.iter().map(|item| match item {
            SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)) => None,
            item @ SelectItem::UnnamedExpr(_) => Heading::of_item(item),
            _ => None,
        });
        self.written.push(written.collect());
        Ok(())
    }

    fn select_end(&mut self, select: &mut Select) -> Result<()> {
        for (item, written) in select.projection.iter_mut().zip(self.written.pop().unwrap_or_default()) {
            if let (SelectItem::UnnamedExpr(expression), Some(written)) = (&mut *item, written)
                && Heading::of(expression) != written
            {
                let (expr, alias) = (operators::take(expression), written.kept());
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        Ok(())
    }

    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        operators::give_signs(expression);
        without_class(expression);
        Ok(())
    }

    fn expression_end(&mut self, expression: &mut Expr) -> Result<()> {
        forms::write_out(expression)?;
        postgres::mend(expression)?;
        arrays::mend(expression)?;
        calls::mend(expression)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParser;

    #[test]
    fn only_exponents_are_replaced() {
        let cases = [
            (
                "SELECT 1e3, -2.5E-7, 1.5, 7, '1e3' FROM t",
                "SELECT CAST('1e3' AS DOUBLE) AS [1e3\0?column?], -CAST('2.5E-7' AS DOUBLE) AS [-2.5E-7\0?column?], 1.5, 7, '1e3' FROM t",
            ),
            (
                "SELECT TIMESTAMP '2500-01-01', CAST(a AS TIMESTAMP(3))",
                "SELECT TIMESTAMP(6) '2500-01-01' AS [TIMESTAMP '2500-01-01'\0timestamp], CAST(a AS TIMESTAMP(3))",
            ),
            ("INSERT INTO t VALUES (1e3)", "INSERT INTO t VALUES (CAST('1e3' AS DOUBLE))"),
            ("EXPLAIN SELECT 1e3", "EXPLAIN SELECT CAST('1e3' AS DOUBLE) AS [1e3\0?column?]"),
            ("COPY (SELECT 1e3) TO 'x.csv'", "COPY (SELECT CAST('1e3' AS DOUBLE) AS [1e3\0?column?]) TO"),
        ];
        for (sql, expected) in cases {
            let mut statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            make_plannable(&mut statement).unwrap();
            assert!(statement.to_string().starts_with(expected), "{statement}");
        }
    }
}
