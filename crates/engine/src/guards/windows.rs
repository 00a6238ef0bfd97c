//! Windows over what conditions guard. Operators of windows compute arguments, keys and FILTER by themselves, where no guard
//! can be put; so those with conditions are computed beforehand, in a projection, which has one. The argument of a window
//! function with FILTER becomes a CASE of it.
//!
//! Keys that are no columns are computed there, too. They are once then, and not by each operator that divides or sorts rows by them;
//! and DataFusion does not know the order of a comparison of functions, not even behind its own sort by it, since it asks what range the
//! sides have and finds one without a type (DataFusion 55, `EquivalenceProperties::get_expr_properties`): it refuses the plan.

use crate::rewrite::has_expression;
use datafusion::common::Column;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::{Case, Expr, LogicalPlan, Operator, Projection, Window};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The analyzer rule; it runs when types are known and subqueries are joins.
#[derive(Debug)]
pub(crate) struct GuardedWindows;

impl AnalyzerRule for GuardedWindows {
    fn name(&self) -> &str {
        "guarded_windows"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(in_plan)?.data)
    }
}

fn in_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let asks = |part: &Expr| match part {
        Expr::WindowFunction(call) => {
            let parameters = &call.params;
            let orders = parameters.order_by.iter().map(|order| &order.expr);
            parameters.filter.is_some() || !parameters.partition_by.iter().chain(orders).all(is_plain)
        }
        part => is_condition(part),
    };
    if !matches!(plan, LogicalPlan::Window(_)) || !has_expression(&plan, asks)? {
        return Ok(Transformed::no(plan));
    }
    let LogicalPlan::Window(window) = plan else { return Ok(Transformed::no(plan)) };
    let shown: Vec<Expr> = window.schema.columns().into_iter().map(Expr::Column).collect();
    let given = window.input.schema().columns().into_iter().map(Expr::Column).collect();
    let mut before = Beforehand { computed: given, known: Vec::new() };
    let width = before.computed.len();
    let calls = window.window_expr.iter().map(|call| before.call(call.clone())).collect::<Result<Vec<_>>>()?;
    if before.computed.len() == width {
        return Ok(Transformed::no(LogicalPlan::Window(window)));
    }
    let input = LogicalPlan::Projection(Projection::try_new(before.computed, window.input)?);
    let plan = LogicalPlan::Window(Window::try_new(calls, Arc::new(input))?);
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(shown, Arc::new(plan))?)))
}

/// An expression with parts that are not asked of every row.
fn is_condition(expression: &Expr) -> bool {
    match expression {
        Expr::BinaryExpr(binary) => matches!(binary.op, Operator::And | Operator::Or),
        Expr::ScalarFunction(call) => call.func.short_circuits(),
        Expr::InList(list) => !list.list.iter().all(is_plain),
        other => matches!(other, Expr::Case(_) | Expr::Between(_)),
    }
}

/// An expression that can't fail.
fn is_plain(expression: &Expr) -> bool {
    matches!(expression, Expr::Column(_) | Expr::Literal(..))
}

/// The columns that a projection computes before the windows.
struct Beforehand {
    computed: Vec<Expr>,
    /// What some of them are. Windows of one plan have equal keys, and keep them.
    known: Vec<(Expr, Expr)>,
}

impl Beforehand {
    /// A window function over columns in the place of what has conditions; it keeps its name.
    fn call(&mut self, expression: Expr) -> Result<Expr> {
        let (relation, name) = expression.qualified_name();
        let (before, bare) = (self.computed.len(), expression.unalias());
        let Expr::WindowFunction(mut call) = bare else { return Ok(bare.alias_qualified(relation, name)) };
        let parameters = &mut call.params;
        if let Some(filter) = &parameters.filter {
            for argument in parameters.args.iter_mut().filter(|argument| !is_plain(argument)) {
                let taken = std::mem::take(argument);
                *argument = Expr::Case(Case::new(None, vec![(filter.clone(), Box::new(taken))], None));
            }
        }
        let filter = parameters.filter.iter_mut().map(|filter| &mut **filter);
        for part in parameters.args.iter_mut().chain(filter) {
            if part.exists(|part| Ok(is_condition(part)))? {
                *part = self.column(part);
            }
        }
        let orders = parameters.order_by.iter_mut().map(|order| &mut order.expr);
        for key in parameters.partition_by.iter_mut().chain(orders).filter(|key| !is_plain(key)) {
            *key = self.column(key);
        }
        let bare = Expr::WindowFunction(call);
        let is_same = self.computed.len() == before && relation.is_none();
        Ok(if is_same && bare.schema_name().to_string() == name { bare } else { bare.alias_qualified(relation, name) })
    }

    /// The column that is an expression.
    fn column(&mut self, expression: &Expr) -> Expr {
        if let Some((_, column)) = self.known.iter().find(|(known, _)| known == expression) {
            return column.clone();
        }
        let name = format!("__guarded{}", self.computed.len());
        let column = Expr::Column(Column::new_unqualified(&name));
        self.computed.push(expression.clone().alias(name));
        self.known.push((expression.clone(), column.clone()));
        column
    }
}
