//! 0.0 and -0.0 are one number, in lists too: `x IN (0.0, 5, 6, 7, 8)` finds both, as `x = 0.0` does, though DataFusion
//! looks for the bits of a value where a list has more than a few.

use crate::rewrite::{each_part, has_expression};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The optimizer rule; constants are folded when it sees them.
#[derive(Debug)]
pub(crate) struct OneZero;

impl OptimizerRule for OneZero {
    fn name(&self) -> &str {
        "one_zero"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !has_expression(&plan, is_list_with_zero)? {
            return Ok(Transformed::no(plan));
        }
        each_part(plan, |part| Ok(with_both_zeros(part)))
    }
}

/// A list with a zero in it.
fn is_list_with_zero(expression: &Expr) -> bool {
    matches!(expression, Expr::InList(list) if list.list.iter().any(|entry| other_zero(entry).is_some()))
}

/// Adds the other zero to a list that has one.
fn with_both_zeros(expression: Expr) -> Transformed<Expr> {
    let Expr::InList(InList { expr, mut list, negated }) = expression else { return Transformed::no(expression) };
    let missing: Vec<Expr> = list
        .iter()
        .filter_map(other_zero)
        .map(|zero| Expr::Literal(zero, None))
        .filter(|zero| !list.contains(zero))
        .collect();
    let changed = !missing.is_empty();
    list.extend(missing);
    let expression = Expr::InList(InList { expr, list, negated });
    if changed { Transformed::yes(expression) } else { Transformed::no(expression) }
}

fn other_zero(expression: &Expr) -> Option<ScalarValue> {
    match expression {
        Expr::Literal(ScalarValue::Float32(Some(value)), _) if *value == 0.0 => {
            Some(ScalarValue::Float32(Some(-value)))
        }
        Expr::Literal(ScalarValue::Float64(Some(value)), _) if *value == 0.0 => {
            Some(ScalarValue::Float64(Some(-value)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Database;

    #[test]
    fn both_zeros_are_one_number() {
        let connection = Database::in_memory().unwrap().connect();
        connection.execute("CREATE TABLE t (x DOUBLE, r REAL)").unwrap();
        connection.execute("INSERT INTO t VALUES (0.0, 0.0), ('-0.0', '-0.0'), (1, 1), ('NaN', 'NaN')").unwrap();
        for (condition, rows) in [
            ("x = '-0.0'::double", 2),
            ("x IN ('-0.0'::double, 7)", 2),
            ("x IN ('-0.0'::double, 5, 6, 7, 8, 9)", 2),
            ("x IN (-0e0, 5, 6, 7, 8, 9)", 2),
            ("x NOT IN ('-0.0'::double, 5, 6, 7, 8, 9)", 2),
            ("x * 1 IN ('-0.0'::double, 5, 6, 7, 8, 1)", 3),
            ("x * 1 IN (0e0, 'NaN'::double, 6, 7, 8, 9)", 3),
            ("r IN ('-0.0'::real, 5, 6, 7, 8, 9)", 2),
            ("r * r IN ('-0.0'::real, 5, 6, 7, 8, 9)", 2),
        ] {
            let batches = connection.query(&format!("SELECT r FROM t WHERE {condition}")).unwrap().collect_batches();
            let found: usize = batches.unwrap().iter().map(|batch| batch.num_rows()).sum();
            assert_eq!(found, rows, "{condition}");
        }
    }
}
