//! How far two answers of a statement, of two designs of a table, have to be the same.

use crate::functions::ORDERED_AGGREGATES;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Two answers of a statement have this in common.
///
/// ```
/// use gingham::advisor::{Comparison, Workload};
///
/// let connection = gingham::Database::in_memory()?.connect();
/// connection.execute("CREATE TABLE t (a INT, b INT)")?;
/// let workload = Workload::parse("SELECT b, a FROM t ORDER BY a LIMIT 3; SELECT a FROM t LIMIT 3", "w.sql")?;
/// let of = |at: usize| connection.workload_use(&workload.statements[at], &workload.origin);
/// assert_eq!(of(0)?.comparison, Comparison::First { keys: vec![1], skips: false });
/// assert_eq!(of(1)?.comparison, Comparison::Count);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// All rows, as often as they come, and the order of the columns at these places, by which they are sorted.
    Rows {
        /// Places of the columns of ORDER BY, in its order.
        keys: Vec<usize>,
    },
    /// The first rows of those that are sorted by the columns at these places: the values of these columns, and the rows before those
    /// that have the last of them. Of rows that are equal in these columns, others may be among the first.
    First {
        /// Places of the columns of ORDER BY, in its order.
        keys: Vec<usize>,
        /// Rows are left out by OFFSET, so that others may be among those with the first values of these columns, too.
        skips: bool,
    },
    /// The number of rows: which they are, or what is computed of them, depends on an order that the statement does not fix.
    Count,
}

impl Default for Comparison {
    fn default() -> Self {
        Self::Rows { keys: Vec::new() }
    }
}

/// How answers are compared of a query whose plan, as it was bound, this is.
pub(super) fn comparison(bound: &LogicalPlan) -> Result<Comparison> {
    let (mut limits, mut by_order) = (0, false);
    bound.apply_with_subqueries(|node| {
        limits += usize::from(matches!(node, LogicalPlan::Limit(_)));
        by_order |= matches!(node, LogicalPlan::Window(_));
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                if let Expr::AggregateFunction(call) = part {
                    by_order |= ORDERED_AGGREGATES.contains(&call.func.name());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    let Top { keys, limits: on_top, skips } = sorted_by(bound);
    Ok(match on_top {
        _ if by_order || limits != on_top => Comparison::Count,
        0 => Comparison::Rows { keys },
        _ if keys.is_empty() => Comparison::Count,
        _ => Comparison::First { keys, skips },
    })
}

/// The last steps of a query: how its rows are sorted, and which of them are left out.
struct Top {
    /// The columns of the rows that ORDER BY names, as far as they are among them.
    keys: Vec<usize>,
    /// The number of limits on the sorted rows.
    limits: usize,
    /// Whether one has an OFFSET.
    skips: bool,
}

fn sorted_by(bound: &LogicalPlan) -> Top {
    // For each column of the rows, the one of `node` that it is.
    let mut own: Vec<Option<usize>> = (0..bound.schema().fields().len()).map(Some).collect();
    let (mut node, mut limits, mut skips) = (bound, 0, false);
    loop {
        match node {
            LogicalPlan::Projection(items) => {
                let below = |place: usize| place_of(items.expr.get(place)?, items.input.schema());
                own = own.into_iter().map(|place| place.and_then(below)).collect();
                node = &items.input;
            }
            LogicalPlan::Limit(limit) => {
                limits += 1;
                skips |= limit.skip.is_some();
                node = &limit.input;
            }
            LogicalPlan::Sort(sort) => {
                let key = |expression: &Expr| {
                    let place = place_of(expression, sort.input.schema())?;
                    own.iter().position(|own| *own == Some(place))
                };
                return Top { keys: sort.expr.iter().map_while(|sort| key(&sort.expr)).collect(), limits, skips };
            }
            _ => return Top { keys: Vec::new(), limits, skips },
        }
    }
}

/// The place of the column that an expression is.
fn place_of(expression: &Expr, schema: &DFSchema) -> Option<usize> {
    match expression {
        Expr::Alias(alias) => place_of(&alias.expr, schema),
        Expr::Column(column) => schema.maybe_index_of_column(column),
        _ => None,
    }
}
