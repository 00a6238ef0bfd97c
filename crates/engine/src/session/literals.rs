//! Number literals: one with an exponent is a DOUBLE, as the SQL standard has it.
//!
//! DataFusion makes every literal with a point or an exponent a decimal once it is told to keep `0.1` exact, and then
//! refuses `1e300`, whose scale no decimal has.

use crate::Result;
use crate::statements::walk::{Tree, Visit};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{CastKind, DataType, ExactNumberInfo, Expr, Value};

/// Replaces each literal with an exponent by the cast of its text.
pub(super) fn exponents_are_doubles(statement: &mut Statement) -> Result<()> {
    match statement {
        Statement::Statement(statement) => statement.walk(&mut Exponents),
        Statement::Explain(explain) => exponents_are_doubles(&mut explain.statement),
        Statement::CopyTo(copy) => {
            if let CopyToSource::Query(query) = &mut copy.source {
                query.walk(&mut Exponents)?;
            }
            Ok(())
        }
        Statement::CreateExternalTable(_) | Statement::Reset(_) => Ok(()),
    }
}

struct Exponents;

impl Visit for Exponents {
    fn expression_end(&mut self, expression: &mut Expr) -> Result<()> {
        if let Expr::Value(literal) = expression
            && let Value::Number(text, _) = &literal.value
            && text.contains(['e', 'E'])
        {
            literal.value = Value::SingleQuotedString(text.clone());
            *expression = Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(expression.clone()),
                data_type: DataType::Double(ExactNumberInfo::None),
                array: false,
                format: None,
            };
        }
        Ok(())
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
                "SELECT CAST('1e3' AS DOUBLE), -CAST('2.5E-7' AS DOUBLE), 1.5, 7, '1e3' FROM t",
            ),
            ("INSERT INTO t VALUES (1e3)", "INSERT INTO t VALUES (CAST('1e3' AS DOUBLE))"),
            ("EXPLAIN SELECT 1e3", "EXPLAIN SELECT CAST('1e3' AS DOUBLE)"),
            ("COPY (SELECT 1e3) TO 'x.csv'", "COPY (SELECT CAST('1e3' AS DOUBLE)) TO"),
        ];
        for (sql, expected) in cases {
            let mut statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            exponents_are_doubles(&mut statement).unwrap();
            assert!(statement.to_string().starts_with(expected), "{statement}");
        }
    }
}
