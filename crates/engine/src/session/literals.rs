//! Number literals: one with an exponent is a DOUBLE, as the SQL standard has it.
//!
//! DataFusion makes every literal with a point or an exponent a decimal once it is told to keep `0.1` exact, and then
//! refuses `1e300`, whose scale no decimal has.

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Query, Value, VisitMut, visit_expressions_mut,
};
use std::ops::ControlFlow;

/// Replaces each literal with an exponent by the cast of its text.
pub(super) fn exponents_are_doubles(statement: &mut Statement) {
    match statement {
        Statement::Statement(statement) => replace(&mut **statement),
        Statement::Explain(explain) => exponents_are_doubles(&mut explain.statement),
        Statement::CopyTo(copy) => {
            if let CopyToSource::Query(query) = &mut copy.source {
                replace::<Query>(query);
            }
        }
        Statement::CreateExternalTable(_) | Statement::Reset(_) => {}
    }
}

fn replace<T: VisitMut>(tree: &mut T) {
    let _: ControlFlow<()> = visit_expressions_mut(tree, |expression| {
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
        ControlFlow::Continue(())
    });
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
            exponents_are_doubles(&mut statement);
            assert!(statement.to_string().starts_with(expected), "{statement}");
        }
    }
}
