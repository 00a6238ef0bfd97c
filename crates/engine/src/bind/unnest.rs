//! `unnest(array)` in a select list, in GROUP BY or in FROM: a row for each element, a column for each field of a struct.

use crate::Result;
use crate::bind::binder::{Binder, column_of};
use crate::temporal::SERIES;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, UnnestOptions};
use datafusion::logical_expr::expr::Unnest;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder};

/// Whether an expression calls `unnest`.
pub(super) fn has_unnest(expression: &Expr) -> bool {
    expression.exists(|part| Ok(matches!(part, Expr::Unnest(_)))).unwrap_or(false)
}

impl Binder<'_> {
    /// Unnests what `expressions` unnest, all of one depth side by side. Gives for each expression those that take its
    /// place: several where a struct becomes the columns of its fields.
    pub(super) fn unnest(
        &mut self,
        mut plan: LogicalPlan,
        expressions: Vec<Expr>,
    ) -> Result<(LogicalPlan, Vec<Vec<Expr>>)> {
        let mut groups: Vec<Vec<Expr>> = expressions.into_iter().map(|expression| vec![expression]).collect();
        while groups.iter().flatten().any(has_unnest) {
            let mut innermost: Vec<Unnest> = Vec::new();
            for expression in groups.iter().flatten() {
                expression.apply(|part| {
                    if let Expr::Unnest(unnest) = part
                        && !has_unnest(&unnest.expr)
                        && !innermost.contains(unnest)
                    {
                        innermost.push(unnest.clone());
                    }
                    Ok(TreeNodeRecursion::Continue)
                })?;
            }
            let (unnested, columns) = self.unnested(plan, &innermost)?;
            plan = unnested;
            let mut next = Vec::with_capacity(groups.len());
            for group in groups {
                let mut own = Vec::with_capacity(group.len());
                for expression in group {
                    own.extend(replaced(expression, &innermost, &columns)?);
                }
                next.push(own);
            }
            groups = next;
        }
        Ok((plan, groups))
    }

    /// Adds the elements of each array, or the fields of each struct, as columns.
    fn unnested(&mut self, plan: LogicalPlan, unnests: &[Unnest]) -> Result<(LogicalPlan, Vec<Vec<Column>>)> {
        let mut columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for unnest in unnests {
            let field = unnest.expr.to_field(plan.schema())?.1;
            let name = self.names.fresh("unnest");
            let input = unnest.expr.as_ref().clone().alias(&name);
            let column = column_of(&input);
            outputs.push(match field.data_type() {
                DataType::Struct(fields) => {
                    fields.iter().map(|field| Column::new_unqualified(format!("{name}.{}", field.name()))).collect()
                }
                _ => vec![column.clone()],
            });
            columns.push(input);
            inputs.push(column);
        }
        let plan = self.project(plan, columns)?;
        // As PostgreSQL does, an array without elements gives no row.
        let options = UnnestOptions::new().with_preserve_nulls(false);
        let plan = LogicalPlanBuilder::from(plan).unnest_columns_with_options(inputs, options)?.build()?;
        Ok((plan, outputs))
    }
}

/// An expression with columns in the place of what was unnested.
fn replaced(expression: Expr, unnests: &[Unnest], columns: &[Vec<Column>]) -> Result<Vec<Expr>> {
    let position = |part: &Expr| match part {
        Expr::Unnest(unnest) => unnests.iter().position(|known| known == unnest),
        _ => None,
    };
    if let Some(at) = position(&expression) {
        return Ok(columns[at].iter().cloned().map(Expr::Column).collect());
    }
    let replaced = expression.transform_down(|part| {
        Ok(match position(&part).and_then(|at| columns[at].first()) {
            Some(column) => Transformed::new(Expr::Column(column.clone()), true, TreeNodeRecursion::Jump),
            None => Transformed::no(part),
        })
    })?;
    Ok(vec![replaced.data])
}

/// Calls of generate_series in an item of a select list, whose values are rows there. One that is the list which a function of lists
/// takes stays a list.
pub(super) fn in_rows(item: Expr) -> Result<Expr> {
    let rows = item.transform_down(|part| {
        Ok(match part {
            Expr::ScalarFunction(call) if call.func.name() == SERIES => {
                let unnest = Expr::Unnest(Unnest::new(Expr::ScalarFunction(call)));
                Transformed::new(unnest, true, TreeNodeRecursion::Jump)
            }
            Expr::ScalarFunction(call) if takes_lists(call.func.name()) => {
                Transformed::new(Expr::ScalarFunction(call), false, TreeNodeRecursion::Jump)
            }
            Expr::Unnest(unnest) => Transformed::new(Expr::Unnest(unnest), false, TreeNodeRecursion::Jump),
            other => Transformed::no(other),
        })
    });
    Ok(rows?.data)
}

fn takes_lists(function: &str) -> bool {
    let is_named = ["array_", "list_"].iter().any(|start| function.starts_with(start));
    is_named || ["cardinality", "flatten", "empty", "arrays_zip"].contains(&function)
}
