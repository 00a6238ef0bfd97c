//! The share of rows that a condition leaves, where it is none of a scan's, which are sampled: guesses, but for
//! equalities with a constant, which the number of distinct values tells.

use datafusion::common::Column;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// A comparison that leaves out one side.
pub(super) const ONE_SIDED: f64 = 1.0 / 3.0;
/// The share of groups that is assumed to be left by a condition on aggregates: who asks for some of them by what they add up to
/// asks for few.
pub(super) const OF_GROUPS: f64 = 0.1;
/// BETWEEN.
const RANGE: f64 = 0.25;
/// LIKE, IS NULL, and equalities of which nothing is known.
const FEW: f64 = 0.1;

/// The share of rows for which `condition` holds; `distinct` tells a column's distinct values, and `one_sided` is the
/// share of a comparison that leaves out one side.
pub(super) fn share(condition: &Expr, one_sided: f64, distinct: &dyn Fn(&Column) -> f64) -> f64 {
    let share = match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => share(left, one_sided, distinct) * share(right, one_sided, distinct),
            Operator::Or => 1.0 - (1.0 - share(left, one_sided, distinct)) * (1.0 - share(right, one_sided, distinct)),
            Operator::Eq | Operator::IsNotDistinctFrom => equal(left, right, distinct),
            Operator::NotEq | Operator::IsDistinctFrom => 1.0 - equal(left, right, distinct),
            _ => one_sided,
        },
        Expr::Not(inner) => 1.0 - share(inner, one_sided, distinct),
        Expr::Between(between) if between.negated => 1.0 - RANGE,
        Expr::Between(_) => RANGE,
        Expr::InList(list) => {
            let found = (list.list.len() as f64 * equal(&list.expr, &list.expr, distinct)).min(1.0);
            if list.negated { 1.0 - found } else { found }
        }
        Expr::Like(like) if like.negated => 1.0 - FEW,
        Expr::Like(_) | Expr::IsNull(_) => FEW,
        Expr::IsNotNull(_) => 1.0 - FEW,
        Expr::Literal(value, _) => f64::from(u8::from(*value == true.into())),
        _ => ONE_SIDED,
    };
    share.clamp(0.0, 1.0)
}

fn equal(left: &Expr, right: &Expr, distinct: &dyn Fn(&Column) -> f64) -> f64 {
    let columns = [left, right].into_iter().filter_map(Expr::try_as_col);
    columns
        .map(|column| 1.0 / distinct(column).max(1.0))
        .fold(None, |least: Option<f64>, share| Some(least.map_or(share, |least| least.min(share))))
        .unwrap_or(FEW)
}
