//! Where a float meets a decimal, both are floats, as the SQL standard has it.
//!
//! DataFusion would make them decimals: `x < 0.5` over a DOUBLE column would cast each stored value to DECIMAL(30,15),
//! which rounds most and fails for 1e20. TIMEs of different units, which it does not compare at all, are aligned too.

use super::times;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast};

/// The analyzer rule; runs before type coercion, which then finds nothing to do.
#[derive(Debug)]
pub(crate) struct ApproximateWins;

impl datafusion::optimizer::AnalyzerRule for ApproximateWins {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(rewrite_plan)?.data)
    }

    fn name(&self) -> &str {
        "approximate_wins"
    }
}

fn rewrite_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
    }
    let names = NamePreserver::new(&plan);
    let plan = plan.map_expressions(|expression| {
        let name = names.save(&expression);
        let rewritten = expression.transform_up(|part| Ok(rewrite_expression(part, &schema)))?;
        Ok(rewritten.update_data(|expression| name.restore(expression)))
    })?;
    if plan.transformed { plan.map_data(LogicalPlan::recompute_schema) } else { Ok(plan) }
}

/// Aligns the operands of one expression that must have a common type.
fn rewrite_expression(mut expression: Expr, schema: &dyn ExprSchema) -> Transformed<Expr> {
    let changed = match &mut expression {
        Expr::BinaryExpr(binary) => {
            let compares = binary.op.supports_propagation();
            align(vec![&mut binary.left, &mut binary.right], compares, schema)
        }
        Expr::Between(between) => align(vec![&mut between.expr, &mut between.low, &mut between.high], true, schema),
        Expr::InList(list) => {
            let mut operands: Vec<&mut Expr> = vec![&mut list.expr];
            operands.extend(&mut list.list);
            align(operands, true, schema)
        }
        Expr::Case(case) => {
            let results = case.when_then_expr.iter_mut().map(|(_, then)| &mut **then);
            align(results.chain(case.else_expr.as_deref_mut()).collect(), false, schema)
        }
        Expr::ScalarFunction(call) => align(call.args.iter_mut().collect(), false, schema),
        _ => false,
    };
    if changed { Transformed::yes(expression) } else { Transformed::no(expression) }
}

/// Makes the decimals among `operands` floats when a float is among them. In a comparison with REALs alone a literal
/// becomes a REAL, so that `r = 0.1` finds what was stored as 0.1.
fn align(operands: Vec<&mut Expr>, compares: bool, schema: &dyn ExprSchema) -> bool {
    let types: Result<Vec<DataType>> = operands.iter().map(|operand| operand.get_type(schema)).collect();
    // What has no type yet is an error that DataFusion words better.
    let Ok(types) = types else { return false };
    if compares && times::differ(&types) {
        return times::align(operands, &types);
    }
    if !types.iter().any(DataType::is_floating) || !types.iter().any(DataType::is_decimal) {
        return false;
    }
    let real = compares && !types.contains(&DataType::Float64);
    for (operand, data_type) in operands.into_iter().zip(types) {
        if data_type.is_decimal() {
            let literal = if let Expr::Literal(value, _) = &*operand { float(value, real) } else { None };
            *operand = match literal {
                Some(value) => Expr::Literal(value, None),
                None => cast(std::mem::take(operand), DataType::Float64),
            };
        }
    }
    true
}

/// The float nearest to a decimal: read from its digits, so that it is rounded once.
fn float(decimal: &ScalarValue, real: bool) -> Option<ScalarValue> {
    if decimal.is_null() {
        return None;
    }
    let text = decimal.to_string();
    Some(if real { ScalarValue::Float32(text.parse().ok()) } else { ScalarValue::Float64(text.parse().ok()) })
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
    fn a_literal_is_rounded_once_and_to_the_column() {
        for expression in ["x = 0.1", "r = 0.1", "x IN (0.1, 5)", "r BETWEEN 0.1 AND 0.1", "x < 1e300", "d = x"] {
            assert_eq!(evaluate(expression).1, "true", "{expression}");
        }
    }
}
