//! `x IN (a, b)` whose list has columns is `x = a OR x = b`. DataFusion evaluates such a list over no rows to see whether it
//! is constant, and takes a CASE for a constant then, since one over no rows is: `INTERVAL '1 day' IN (CASE WHEN f THEN INTERVAL
//! '1 day' END, INTERVAL '2 days')` holds where `f` is false.

use crate::rewrite::{each_part, has_expression};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, LogicalPlan, not};
use datafusion::optimizer::AnalyzerRule;

/// The analyzer rule.
#[derive(Debug)]
pub(crate) struct ListsOfColumns;

impl AnalyzerRule for ListsOfColumns {
    fn name(&self) -> &str {
        "lists_of_columns"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            if !has_expression(&plan, is_such)? {
                return Ok(Transformed::no(plan));
            }
            each_part(plan, |part| Ok(compared(part)))
        });
        Ok(rewritten?.data)
    }
}

/// A list with a CASE over columns in it, of a value that may be computed several times.
fn is_such(expression: &Expr) -> bool {
    let has_case = |entry: &Expr| {
        entry.exists(|part| Ok(matches!(part, Expr::Case(_)))).unwrap_or(false) && entry.any_column_refs()
    };
    matches!(expression, Expr::InList(list) if list.list.iter().any(has_case) && !list.expr.is_volatile())
}

fn compared(expression: Expr) -> Transformed<Expr> {
    if !is_such(&expression) {
        return Transformed::no(expression);
    }
    let Expr::InList(InList { expr, list, negated }) = expression else { return Transformed::no(expression) };
    let equal = list.into_iter().map(|entry| expr.as_ref().clone().eq(entry)).reduce(Expr::or);
    match equal {
        Some(equal) => Transformed::yes(if negated { not(equal) } else { equal }),
        None => Transformed::no(Expr::InList(InList { expr, list: Vec::new(), negated })),
    }
}

#[cfg(test)]
mod tests {
    use crate::Database;

    #[test]
    fn a_case_in_a_list_is_asked_of_each_row() {
        let connection = Database::in_memory().unwrap().connect();
        connection
            .execute("CREATE TABLE t (id INTEGER, f BOOLEAN); INSERT INTO t VALUES (1, true), (2, false)")
            .unwrap();
        for (condition, found) in [
            ("1 IN (CASE WHEN f THEN 1 END, 4)", "1"),
            ("1 NOT IN (CASE WHEN f THEN 2 END, 4)", "1"),
            ("id * 1 IN (CASE WHEN f THEN 3 ELSE 2 END, 4, 5, 6, 7)", "2"),
            ("INTERVAL '1 day' IN (CASE WHEN f THEN INTERVAL '24 hours' END, INTERVAL '2 days')", "1"),
        ] {
            let rows = connection.query(&format!("SELECT id FROM t WHERE {condition}")).unwrap();
            let batches = rows.collect_batches().unwrap();
            let text = |batch: &arrow::array::RecordBatch| {
                let show = |row| arrow::util::display::array_value_to_string(batch.column(0), row).unwrap();
                (0..batch.num_rows()).map(show).collect::<String>()
            };
            assert_eq!(batches.iter().map(text).collect::<String>(), found, "{condition}");
        }
    }
}
