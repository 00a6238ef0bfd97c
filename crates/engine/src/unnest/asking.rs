//! Rows of a subquery that outer rows ask for. A subquery whose conditions are pulled out is computed for all keys that its tables have;
//! where few outer rows ask, the keys of these are looked up before it groups, numbers or sorts.

use crate::optimizer::rows_about;
use crate::unnest::free::has_outer;
use crate::unnest::join::{Condition, joined};
use crate::unnest::rows::{UnnestedRows, project};
use crate::unnest::{Unnesting, is_cheap};
use datafusion::common::{Column, JoinType};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// So many times more rows than those that ask are worth a look-up.
const MORE: f64 = 8.0;
/// Rows that are grouped sooner than others are planned.
const FEW: f64 = 10_000.0;

/// Outer rows that are cheap to read twice.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    rows: UnnestedRows,
    about: f64,
}

impl Unnesting<'_> {
    /// Does `work` for a subquery that `rows` ask.
    pub(super) fn asked_by<T>(&mut self, rows: &UnnestedRows, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let asking =
            is_cheap(&rows.plan).then(|| Asking { rows: rows.clone(), about: rows_about(&rows.plan, self.options) });
        self.asking.push(asking);
        let done = work(self);
        self.asking.pop();
        done
    }

    /// The rows of `plan` whose `keys` are equal to what some outer row has; all of them where that gains nothing.
    pub(super) fn asked_for(&mut self, plan: LogicalPlan, outer: &[Expr], keys: &[Expr]) -> Result<LogicalPlan> {
        let Some(Some(asking)) = self.asking.last().cloned() else { return Ok(plan) };
        let rows = rows_about(&plan, self.options);
        if rows < FEW || asking.about * MORE > rows {
            return Ok(plan);
        }
        let (mut shown, mut on) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for (outer, key) in outer.iter().zip(keys) {
            let value = asking.rows.bind(outer.clone())?;
            if has_outer(&value) {
                return Ok(plan);
            }
            let name = self.fresh("asked");
            shown.push(value.alias(&name));
            on.push((key.clone(), Expr::Column(Column::new_unqualified(name))));
        }
        joined(plan, project(asking.rows.plan, shown)?, JoinType::LeftSemi, Condition::equal(on))
    }
}
