//! Whether DataFusion's logical rules are worth another pass.
//!
//! DataFusion runs its rules three times, or until a pass changes nothing, which a whole pass has to find out. On TPC-H's
//! queries passes after the first took a quarter of the optimizer's time and changed a LIMIT and a join in few of them.
//! So the session runs one pass, in which the rule for LIMIT comes twice, and another one only where the rule for joins
//! changes something, or a look at the plan finds what rules may still do something about. Why:
//! docs/decisions/0023-planning-time.md.

use crate::datafusion::fixes::WholeKeys;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Join, JoinType, LogicalPlan, Operator, Volatility};
use datafusion::optimizer::eliminate_join::EliminateJoin;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::push_down_limit::PushDownLimit;
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Passes after the first, at most, as DataFusion has them.
const MORE: usize = 2;

/// `rules` for one pass, of which joins are ordered by the last, `order`; and behind them what makes it more.
pub(crate) fn in_passes(
    mut rules: Vec<Arc<dyn OptimizerRule + Send + Sync>>,
    order: Arc<dyn OptimizerRule + Send + Sync>,
) -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    // What a projection has kept apart is together now.
    rules.push(Arc::new(PushDownLimit::new()));
    rules.push(Arc::clone(&order));
    let again = MorePasses { rules: Optimizer::with_rules(rules.clone()), order };
    rules.push(Arc::new(again));
    rules
}

/// Runs rules again where they may gain.
#[derive(Debug)]
struct MorePasses {
    rules: Optimizer,
    order: Arc<dyn OptimizerRule + Send + Sync>,
}

impl OptimizerRule for MorePasses {
    fn name(&self) -> &str {
        "more_passes"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let (mut plan, mut changed) = (plan, false);
        for _ in 0..MORE {
            // Joins that came of subqueries, or have their keys only now, of which one side only is asked for.
            let plan_with_keys = WholeKeys.rewrite(plan, config)?.data;
            let joins = EliminateJoin::new().rewrite(plan_with_keys, config)?;
            plan = match (may_gain(&joins.data), joins.transformed) {
                (true, _) => self.rules.optimize(joins.data, config, |_, _| {})?,
                // A side that is only looked for gives no columns, and may be looked for elsewhere, so that another one is only
                // looked for. Other rules have no say in that.
                (false, true) => {
                    let keyed = WholeKeys.rewrite(joins.data, config)?.data;
                    let fewer = OptimizeProjections::new().rewrite(keyed, config)?.data;
                    self.order.rewrite(fewer, config)?.data
                }
                (false, false) => return Ok(Transformed::new_transformed(joins.data, changed)),
            };
            changed = true;
        }
        Ok(Transformed::new_transformed(plan, changed))
    }
}

/// True where a rule may find something that the pass before has brought about.
fn may_gain(plan: &LogicalPlan) -> bool {
    let mut gains = false;
    let visited = plan.apply_with_subqueries(|node| {
        gains |= match node {
            // A condition that went down beside it may rule out its NULLs.
            LogicalPlan::Filter(filter) => is_outer_join(&filter.input),
            LogicalPlan::Join(join) => has_key_in_filter(join),
            _ => node.inputs().into_iter().any(is_empty),
        };
        if !gains {
            node.apply_expressions(|expression| {
                expression.apply(|part| {
                    gains |= is_subquery(part) || is_constant(part);
                    Ok(if gains { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
                })
            })?;
        }
        Ok(if gains { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    gains || visited.is_err()
}

/// True for an outer join, and for columns of one.
fn is_outer_join(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_outer_join(&projection.input),
        LogicalPlan::Join(join) => matches!(join.join_type, JoinType::Left | JoinType::Right | JoinType::Full),
        _ => false,
    }
}

fn is_empty(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::EmptyRelation(empty) if !empty.produce_one_row)
}

/// True for a join whose conditions are not yet told apart, and for one of no rows.
fn has_key_in_filter(join: &Join) -> bool {
    let is_equality = |condition: &&Expr| matches!(condition, Expr::BinaryExpr(BinaryExpr { op: Operator::Eq, .. }));
    let keyless = join.on.is_empty() && join.filter.iter().flat_map(split_conjunction).any(|part| is_equality(&part));
    keyless || is_empty(&join.left) || is_empty(&join.right)
}

/// A subquery that the rules make a join of.
fn is_subquery(expression: &Expr) -> bool {
    match expression {
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => true,
        Expr::ScalarSubquery(subquery) => !subquery.outer_ref_columns.is_empty(),
        _ => false,
    }
}

/// An expression of which the value is known, and so what is made of it.
fn is_constant(expression: &Expr) -> bool {
    let known = |part: &Expr| matches!(part, Expr::Literal(..));
    match expression {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => known(left) || known(right),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let unknown = |part: &Expr| matches!(part, Expr::Literal(value, _) if value.is_null());
            let compares = op.returns_null_on_null() && (unknown(left) || unknown(right));
            compares || known(left) && known(right)
        }
        Expr::Not(inner)
        | Expr::Negative(inner)
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::IsTrue(inner)
        | Expr::IsFalse(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsNotFalse(inner) => known(inner),
        Expr::Cast(cast) => known(&cast.expr),
        Expr::InList(list) => known(&list.expr),
        Expr::Between(between) => known(&between.expr),
        Expr::Like(like) => known(&like.expr),
        Expr::Case(case) => {
            case.expr.as_deref().is_some_and(known)
                || case.when_then_expr.iter().any(|(when, _)| known(when)) && case.expr.is_none()
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            func.signature().volatility == Volatility::Immutable && !args.is_empty() && args.iter().all(known)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::Database;
    use datafusion::arrow::util::display::array_value_to_string;

    /// The optimised logical plan of a query over tables `t` and `u`, as EXPLAIN has it, with DataFusion's passes or ours.
    fn plan_of(sql: &str, passes: usize) -> String {
        let connection = Database::in_memory().unwrap().connect();
        connection
            .execute(
                "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c VARCHAR); CREATE TABLE u (a INTEGER, d INTEGER);
                 INSERT INTO t VALUES (1, 2, 'x'); INSERT INTO u VALUES (1, 2), (1, 3);
                 CREATE VIEW parts AS SELECT 'one' AS part, a FROM t UNION ALL SELECT 'two', a FROM u;
                 CREATE VIEW wide AS SELECT t.b, u.d + 1 AS e FROM t LEFT JOIN u ON t.a = u.a",
            )
            .unwrap();
        connection.execute(&format!("SET datafusion.optimizer.max_passes = {passes}")).unwrap();
        let batches = connection.query(&format!("EXPLAIN FORMAT indent {sql}")).unwrap().collect_batches().unwrap();
        array_value_to_string(batches[0].column(1), 0).unwrap()
    }

    #[test]
    fn one_pass_finds_what_three_do() {
        for sql in [
            "SELECT a FROM t WHERE b > 1 ORDER BY c LIMIT 3",
            "SELECT a FROM parts WHERE part = 'two'",
            "SELECT count(*) FROM parts WHERE part = 'three'",
            "SELECT b FROM wide WHERE e > 1",
            "SELECT b FROM t WHERE a IN (SELECT a FROM u WHERE d IN (SELECT b FROM t WHERE c = 'x'))",
            "SELECT u.d FROM u JOIN t ON u.a = t.a WHERE u.d > 1",
            "SELECT b FROM t WHERE b > (SELECT avg(d) FROM u WHERE u.a = t.a) ORDER BY b LIMIT 1",
            "SELECT x.a FROM (SELECT a, 1 AS one FROM t) x WHERE one = 1 AND EXISTS (SELECT 1 FROM u WHERE u.a = x.a)",
            "SELECT * FROM (SELECT a, b FROM t LIMIT 5) LIMIT 2",
            "SELECT a FROM t WHERE b NOT IN (1, NULL)",
            "SELECT t.a, u.d FROM t, u WHERE t.a = u.a AND (u.d = 1 AND t.b = 2 OR u.d = 2 AND t.b = 1)",
        ] {
            assert_eq!(plan_of(sql, 1), plan_of(sql, 3), "{sql}");
        }
    }

    #[test]
    fn another_pass_is_looked_for() {
        // Without the second pass it would look for rows of 'one' among those of 'two'.
        let plan = plan_of("SELECT a FROM parts WHERE part = 'two'", 1);
        assert!(plan.contains("u") && !plan.contains("one") && !plan.contains("Filter"), "{plan}");
    }
}
