//! Where a float meets a decimal, both are floats, as the SQL standard has it.
//!
//! DataFusion would make them decimals: `x < 0.5` over a DOUBLE column would cast each stored value to DECIMAL(30,15),
//! which rounds most and fails for 1e20. TIMEs of different units, which it does not compare at all, are aligned too, and
//! TIMESTAMPs with what they are compared with.

use crate::arithmetic::decimals::{narrow_literals, quotient_of_decimals};
use crate::arithmetic::reals::make_float;
use crate::arithmetic::{reals, sets, times, timestamps};
use crate::rewrite::{columns_around, each_part, has_expression};
use crate::temporal::{of_intervals, range_of_numbers};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ExprSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};

/// The analyzer rule; runs before type coercion, which then finds nothing to do.
#[derive(Debug)]
pub(crate) struct ApproximateWins;

impl datafusion::optimizer::AnalyzerRule for ApproximateWins {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut changed = false;
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            let plan = rewrite_plan(plan)?;
            changed |= plan.transformed;
            // A type that changed in an input changes what is made of it.
            if changed { plan.map_data(LogicalPlan::recompute_schema) } else { Ok(plan) }
        });
        Ok(rewritten?.data)
    }

    fn name(&self) -> &str {
        "approximate_wins"
    }
}

fn rewrite_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !has_expression(&plan, has_operands)? {
        return sets::align(plan);
    }
    let schema = columns_around(&plan)?;
    let plan = each_part(plan, |part| rewrite_expression(part, &schema))?;
    plan.transform_data(sets::align)
}

/// An expression that [`rewrite_expression`] looks at.
fn has_operands(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::BinaryExpr(_)
            | Expr::Between(_)
            | Expr::InList(_)
            | Expr::Case(_)
            | Expr::ScalarFunction(_)
            | Expr::AggregateFunction(_)
            | Expr::WindowFunction(_)
            | Expr::Negative(_)
            | Expr::InSubquery(_)
            | Expr::SetComparison(_)
    )
}

/// Aligns the operands of one expression that must have a common type.
fn rewrite_expression(mut expression: Expr, schema: &dyn ExprSchema) -> Result<Transformed<Expr>> {
    let mut has_numbers = false;
    if let Expr::WindowFunction(call) = &mut expression {
        has_numbers = range_of_numbers(call, schema)?;
    }
    if of_intervals(&mut expression, schema) || has_numbers {
        return Ok(Transformed::yes(expression));
    }
    let changed = match &mut expression {
        Expr::BinaryExpr(binary) if let Some(decided) = reals::beside_nan(binary, schema) => {
            expression = decided;
            true
        }
        Expr::BinaryExpr(binary) => {
            let compares = binary.op.supports_propagation();
            let aligned = align(vec![&mut binary.left, &mut binary.right], compares, schema);
            let aligned = reals::widen_operands(binary, schema) || aligned;
            let aligned = narrow_literals(binary, schema) || aligned;
            match quotient_of_decimals(binary, schema) {
                Some(quotient) => {
                    expression = quotient;
                    true
                }
                None => aligned,
            }
        }
        Expr::Between(between) => align(vec![&mut between.expr, &mut between.low, &mut between.high], true, schema),
        Expr::InList(list) => {
            let mut operands: Vec<&mut Expr> = vec![&mut list.expr];
            operands.extend(&mut list.list);
            align(operands, true, schema)
        }
        Expr::Case(case) => {
            let compared = match &mut case.expr {
                Some(expression) => {
                    let mut operands: Vec<&mut Expr> = vec![expression];
                    operands.extend(case.when_then_expr.iter_mut().map(|(when, _)| &mut **when));
                    align(operands, true, schema)
                }
                None => false,
            };
            let results = case.when_then_expr.iter_mut().map(|(_, then)| &mut **then);
            align(results.chain(case.else_expr.as_deref_mut()).collect(), false, schema) || compared
        }
        Expr::ScalarFunction(call) => align(call.args.iter_mut().collect(), false, schema),
        Expr::InSubquery(test) => sets::align_subquery(&mut test.expr, &mut test.subquery, schema)?,
        Expr::SetComparison(test) => sets::align_subquery(&mut test.expr, &mut test.subquery, schema)?,
        _ => false,
    };
    Ok(if changed { Transformed::yes(expression) } else { Transformed::no(expression) })
}

/// Makes the decimals among `operands` floats when a float is among them. In a comparison with REALs alone a literal
/// becomes a REAL, so that `r = 0.1` finds what was stored as 0.1.
fn align(operands: Vec<&mut Expr>, compares: bool, schema: &dyn ExprSchema) -> bool {
    let types: Result<Vec<DataType>> = operands.iter().map(|operand| operand.get_type(schema)).collect();
    match types {
        Ok(types) => align_typed(operands, types, compares),
        // What has no type yet is an error that DataFusion words better.
        Err(_) => false,
    }
}

pub(super) fn align_typed(operands: Vec<&mut Expr>, types: Vec<DataType>, compares: bool) -> bool {
    if compares && times::differ(&types) {
        return times::align(operands, &types);
    }
    if compares && types.iter().any(|data_type| matches!(data_type, DataType::Timestamp(..))) {
        return timestamps::align(operands, &types);
    }
    if compares && reals::meet_integers(&types) {
        return reals::widen_compared(operands, &types);
    }
    if !mixes(&types) {
        return false;
    }
    let real = compares && !types.contains(&DataType::Float64);
    for (operand, data_type) in operands.into_iter().zip(types) {
        if data_type.is_decimal() {
            make_float(operand, real);
        }
    }
    true
}

/// Whether floats meet decimals.
pub(super) fn mixes(types: &[DataType]) -> bool {
    types.iter().any(DataType::is_floating) && types.iter().any(DataType::is_decimal)
}

#[cfg(test)]
mod tests {
    use crate::Database;

    /// The type and the value of an expression over a DOUBLE `x`, a REAL `r` and a DECIMAL `d`, of 0.1 each.
    fn evaluate(expression: &str) -> (String, String) {
        let connection = Database::in_memory().unwrap().connect();
        connection.execute("CREATE TABLE t (x DOUBLE, r REAL, d DECIMAL(10,3))").unwrap();
        connection.execute("INSERT INTO t VALUES (0.1, 0.1, 0.1)").unwrap();
        let sql = format!("SELECT {expression} FROM t");
        let batch = connection.query(&sql).unwrap().collect_batches().unwrap().remove(0);
        let text = arrow::util::display::array_value_to_string(batch.column(0), 0).unwrap();
        (batch.column(0).data_type().to_string(), text)
    }

    #[test]
    fn floats_win() {
        for expression in
            ["x + 0.5", "0.5 * x", "d + x", "r * 0.5", "coalesce(x, 0.5)", "CASE WHEN x > 0 THEN x ELSE 0.5 END"]
        {
            assert_eq!(evaluate(expression).0, "Float64", "{expression}");
        }
        assert_eq!(evaluate("d + 0.5").0, "Decimal128(11, 3)");
    }

    #[test]
    fn floats_win_where_rows_meet() {
        let connection = Database::in_memory().unwrap().connect();
        connection.execute("CREATE TABLE t (x DOUBLE); CREATE TABLE u (x DECIMAL(10,3))").unwrap();
        connection.execute("INSERT INTO t VALUES (1e20), (0.5), (0.1); INSERT INTO u VALUES (0.5), (0.1)").unwrap();
        let third = "0.3333333333333333";
        for (sql, kind, values) in [
            ("SELECT 1e20 AS x UNION ALL SELECT 1.5", "Float64", "1.5 1e20"),
            ("SELECT 1.5 AS x UNION SELECT 1e0 / 3 UNION SELECT 7", "Float64", &format!("{third} 1.5 7.0")),
            ("SELECT y AS x FROM (SELECT x AS y FROM u UNION ALL SELECT x FROM t)", "Float64", "0.1 0.1 0.5 0.5 1e20"),
            ("SELECT column1 AS x FROM (VALUES (1.5), (1e20), (NULL), (2))", "Float64", "1.5 2.0 1e20 "),
            ("SELECT x + 1 AS x FROM (VALUES (0.5, 1.5), (1e20, 2.5)) AS v (x, y)", "Float64", "1.5 1e20"),
            ("SELECT y AS x FROM (VALUES (0.5, 1.5), (1e20, 2.5)) AS v (x, y)", "Decimal128(2, 1)", "1.5 2.5"),
            ("SELECT x FROM t INTERSECT SELECT x FROM u", "Float64", "0.1 0.5"),
            ("SELECT x FROM t EXCEPT SELECT x FROM u", "Float64", "1e20"),
            ("SELECT t.x AS x FROM t JOIN u USING (x)", "Float64", "0.1 0.5"),
            ("SELECT t.x AS x FROM t NATURAL JOIN u", "Float64", "0.1 0.5"),
            ("SELECT x FROM t WHERE x IN (SELECT x FROM u)", "Float64", "0.1 0.5"),
            ("SELECT x FROM t WHERE x NOT IN (SELECT x FROM u)", "Float64", "1e20"),
            ("SELECT x FROM u WHERE x IN (SELECT x FROM t)", "Decimal128(10, 3)", "0.100 0.500"),
            ("SELECT x FROM t WHERE x > ALL (SELECT x FROM u)", "Float64", "1e20"),
            ("SELECT x FROM t WHERE CASE x WHEN 0.1 THEN true ELSE false END", "Float64", "0.1"),
        ] {
            let sql = format!("SELECT x, arrow_typeof(x) FROM ({sql}) ORDER BY x");
            let batches = connection.query(&sql).and_then(|rows| rows.collect_batches());
            let batches = batches.unwrap_or_else(|error| panic!("{sql}: {error}"));
            let batch = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
            let text =
                |column: usize, row| arrow::util::display::array_value_to_string(batch.column(column), row).unwrap();
            let found: Vec<String> = (0..batch.num_rows()).map(|row| text(0, row)).collect();
            assert_eq!((found.join(" ").as_str(), text(1, 0).as_str()), (values, kind), "{sql}");
        }
    }

    #[test]
    fn a_literal_is_rounded_once_and_to_the_column() {
        for expression in ["x = 0.1", "r = 0.1", "x IN (0.1, 5)", "r BETWEEN 0.1 AND 0.1", "x < 1e300", "d = x"] {
            assert_eq!(evaluate(expression).1, "true", "{expression}");
        }
    }
}
