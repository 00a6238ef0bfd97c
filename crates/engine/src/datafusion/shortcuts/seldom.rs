//! DataFusion's rules for what few plans have, kept from the others: fields of structs. It walks through the
//! whole plan otherwise, and puts together the schemas of all operators. And rules for what few operators have
//! (docs/decisions/0023-planning-time.md).

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Aggregate, Expr, ExpressionPlacement, LogicalPlan};
use datafusion::optimizer::decorrelate_lateral_join::DecorrelateLateralJoin;
use datafusion::optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion::optimizer::eliminate_duplicated_expr::EliminateDuplicatedExpr;
use datafusion::optimizer::extract_leaf_expressions::ExtractLeafExpressions;
use datafusion::optimizer::rewrite_set_comparison::RewriteSetComparison;
use datafusion::optimizer::scalar_subquery_to_join::ScalarSubqueryToJoin;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// A rule as it is, or kept from plans without what it is for.
pub(crate) fn only_where_wanted(rule: Arc<dyn OptimizerRule + Send + Sync>) -> Arc<dyn OptimizerRule + Send + Sync> {
    if ExtractLeafExpressions::new().name() != rule.name() {
        return only_at_some(rule);
    }
    let wanted = |part: &Expr| part.placement() == ExpressionPlacement::MoveTowardsLeafNodes;
    Arc::new(OnlyWith { rule, wanted })
}

/// False for a rule about subqueries, which are joins by then.
pub(crate) fn is_needed(rule: &str) -> bool {
    ![
        RewriteSetComparison::new().name(),
        DecorrelatePredicateSubquery::new().name(),
        DecorrelateLateralJoin::new().name(),
        ScalarSubqueryToJoin::new().name(),
    ]
    .contains(&rule)
}

/// A rule as it is, or kept from operators that it would put together anew as they are.
fn only_at_some(rule: Arc<dyn OptimizerRule + Send + Sync>) -> Arc<dyn OptimizerRule + Send + Sync> {
    let wanted = match rule.name() {
        name if name == EliminateDuplicatedExpr::new().name() => may_repeat,
        name if name == SimplifyExpressions::new().name() => may_be_simpler,
        _ => return rule,
    };
    Arc::new(OnlyAt { rule, wanted })
}

/// A rule for some operators, of which it looks at one at a time.
#[derive(Debug)]
struct OnlyAt {
    rule: Arc<dyn OptimizerRule + Send + Sync>,
    wanted: fn(&LogicalPlan) -> bool,
}

impl OptimizerRule for OnlyAt {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if (self.wanted)(&plan) { self.rule.rewrite(plan, config) } else { Ok(Transformed::no(plan)) }
    }
}

/// False for an operator that groups or sorts by nothing twice. What it sorts by may follow from something else, too; but above
/// aggregations DataFusion believes that of columns of which it is not so.
fn may_repeat(plan: &LogicalPlan) -> bool {
    let is_aggregation = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_)));
    match plan {
        LogicalPlan::Sort(sort) => sort.expr.len() > 1 && !sort.input.exists(is_aggregation).unwrap_or(true),
        LogicalPlan::Aggregate(Aggregate { group_expr, .. }) => {
            group_expr.iter().enumerate().any(|(position, group)| group_expr[..position].contains(group))
        }
        _ => false,
    }
}

/// False for an operator whose expressions, if it has any, are columns and names for columns.
fn may_be_simpler(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let visited = plan.apply_expressions(|expression| {
        let named = match expression {
            Expr::Alias(alias) => &alias.expr,
            other => other,
        };
        found = !matches!(named, Expr::Column(_));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    visited.is_err() || found
}

/// A rule for plans with some kind of expression.
#[derive(Debug)]
struct OnlyWith {
    rule: Arc<dyn OptimizerRule + Send + Sync>,
    wanted: fn(&Expr) -> bool,
}

impl OptimizerRule for OnlyWith {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !has(&plan, self.wanted)? {
            return Ok(Transformed::no(plan));
        }
        match self.rule.apply_order() {
            None => self.rule.rewrite(plan, config),
            Some(ApplyOrder::TopDown) => plan.transform_down_with_subqueries(|node| self.rule.rewrite(node, config)),
            Some(ApplyOrder::BottomUp) => plan.transform_up_with_subqueries(|node| self.rule.rewrite(node, config)),
        }
    }
}

/// True when `wanted` holds for a part of an expression of a plan or of its subqueries' plans.
fn has(plan: &LogicalPlan, wanted: fn(&Expr) -> bool) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            found = found || expression.exists(|part| Ok(wanted(part)))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::Database;
    use datafusion::arrow::util::display::array_value_to_string;

    /// The logical plan and the number of rows of a query over a file whose only column is a struct of `a` and `b`.
    fn plan_and_rows(sql: &str) -> (String, usize) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.parquet");
        let connection = Database::in_memory().unwrap().connect();
        let rows = "SELECT named_struct('a', value, 'b', 2 * value) AS s FROM generate_series(1, 3)";
        connection.execute(&format!("COPY ({rows}) TO '{}'", file.display())).unwrap();
        let sql = sql.replace("FILE", &format!("'{}'", file.display()));
        let plan = connection.query(&format!("EXPLAIN FORMAT indent {sql}")).unwrap().collect_batches().unwrap();
        let plan = array_value_to_string(plan[0].column(1), 0).unwrap();
        (plan, connection.execute(&sql).unwrap() as usize)
    }

    #[test]
    fn fields_of_structs_are_taken_where_they_are_read() {
        let (plan, rows) = plan_and_rows("SELECT s['b'] AS b FROM FILE WHERE s['a'] > 1 ORDER BY s['a']");
        assert!(plan.contains("__datafusion_extracted"), "{plan}");
        assert_eq!(rows, 2);
        // In the plan of a subquery alone.
        let (plan, rows) = plan_and_rows(
            "SELECT value FROM generate_series(1, 5) WHERE value > (SELECT max(s['b']) - 2 FROM FILE WHERE s['a'] > 1)",
        );
        assert!(plan.contains("__datafusion_extracted"), "{plan}");
        assert_eq!(rows, 1);
    }
}
