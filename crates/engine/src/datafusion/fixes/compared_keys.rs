//! Windows divided or put in order by comparisons, as in `count(*) OVER (PARTITION BY greatest(a, 1) > b)`. DataFusion asks what
//! range a comparison's sides have, finds for most functions, and for CASE, a range without a type, and knows nothing of the order of
//! the comparison then, not even that the rows were sorted by it: it refuses the plan (DataFusion 55,
//! `EquivalenceProperties::get_expr_properties`). So such keys become columns below their window. A filter by an equality with a function makes
//! a column the same as the function, with the same end; what it says is not told to what is above it.

use crate::datafusion::cancellation::StoppableExec;
use datafusion::common::Column;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, Projection, Window};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column as InputColumn, Literal};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// Makes columns of keys; it runs behind the rules that would put expressions in the place of columns.
#[derive(Debug)]
pub(crate) struct ComparedKeys;

impl OptimizerRule for ComparedKeys {
    fn name(&self) -> &str {
        "compared_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = plan else { return Ok(Transformed::no(plan)) };
        let mut keys = Keys { of: Vec::new() };
        let width = window.input.schema().fields().len();
        let functions: Result<Vec<Expr>> =
            window.window_expr.iter().map(|function| keys.by_columns(function.clone())).collect();
        let functions = functions?;
        if keys.of.is_empty() {
            return Ok(Transformed::no(LogicalPlan::Window(window)));
        }
        let own = window.input.schema().columns().into_iter().map(Expr::Column);
        let named = keys.of.iter().enumerate().map(|(at, key)| key.clone().alias(name(at)));
        let below = Projection::try_new(own.chain(named).collect(), window.input)?;
        let above = Window::try_new(functions, Arc::new(LogicalPlan::Projection(below)))?;
        let made: Vec<Expr> = above.schema.columns().into_iter().map(Expr::Column).collect();
        let mut shown = made[..width].to_vec();
        for (column, original) in made[width + keys.of.len()..].iter().zip(&window.schema.columns()[width..]) {
            shown.push(column.clone().alias_qualified(original.relation.clone(), original.name.clone()));
        }
        Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(shown, Arc::new(LogicalPlan::Window(above)))?)))
    }
}

/// The name of a key's column. No other column of a plan has it above the projection over the window.
fn name(at: usize) -> String {
    format!("__compared_key_{at}")
}

/// Keys that become columns.
struct Keys {
    of: Vec<Expr>,
}

impl Keys {
    /// A window function with columns in the place of comparisons.
    fn by_columns(&mut self, function: Expr) -> Result<Expr> {
        let changed = function.transform_down(|expression| {
            let Expr::WindowFunction(mut call) = expression else { return Ok(Transformed::no(expression)) };
            for key in &mut call.params.partition_by {
                self.take(key);
            }
            for key in &mut call.params.order_by {
                self.take(&mut key.expr);
            }
            Ok(Transformed::yes(Expr::WindowFunction(call)))
        });
        Ok(changed?.data)
    }

    fn take(&mut self, key: &mut Expr) {
        if !compares(key) {
            return;
        }
        let known = self.of.iter().position(|other| other == key);
        let at = known.unwrap_or_else(|| {
            self.of.push(key.clone());
            self.of.len() - 1
        });
        *key = Expr::Column(Column::new_unqualified(name(at)));
    }
}

/// Whether an expression has a comparison, AND or OR in it.
fn compares(expression: &Expr) -> bool {
    let is_comparison = |part: &Expr| match part {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => {
            op.supports_propagation() || matches!(op, Operator::And | Operator::Or | Operator::NotEq)
        }
        _ => false,
    };
    expression.exists(|part| Ok(is_comparison(part))).unwrap_or(true)
}

/// Keeps to themselves what filters say of functions; it runs before sorts are put in and left out.
#[derive(Debug)]
pub(crate) struct EqualFunctions;

impl PhysicalOptimizerRule for EqualFunctions {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let hidden = plan.transform_up(|plan| {
            if !plan.is::<FilterExec>() || !equals_function(&plan) {
                return Ok(Transformed::no(plan));
            }
            Ok(Transformed::yes(Arc::new(StoppableExec::without_equalities(plan)) as Arc<dyn ExecutionPlan>))
        });
        Ok(hidden?.data)
    }

    fn name(&self) -> &str {
        "equal_functions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether something else than columns and constants is said to be equal to another value.
fn equals_function(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_plain = |expression: &Arc<dyn PhysicalExpr>| expression.is::<InputColumn>() || expression.is::<Literal>();
    let classes = plan.equivalence_properties().eq_group();
    classes.iter().any(|class| class.len() > 1 && !class.iter().all(is_plain))
}
