//! Subqueries become joins: wherever they stand, whatever is in them, and however many queries their columns come from.
//!
//! The binder leaves queries in expressions, and beside other members of FROM (LATERAL); both may look at columns of the queries
//! around them. Here, when all types are known and before DataFusion's rules see a plan, they become joins. From
//! outside in, each query that looks around is taken for what its outer rows ask:
//!
//! 1. a query of one row by its form becomes expressions of the outer rows (`inline`);
//! 2. where outer columns are in conditions alone, these are pulled out of the query and join it (`pull`);
//! 3. else the distinct values of the outer columns, the domain, go down into the query as rows (`domain`, `push`), after
//!    Neumann and Kemper, "Unnesting Arbitrary Queries" (BTW 2015). What the query's own queries look at is among the
//!    columns of its rows by then, so that each is unnested with what is next to it alone, as Neumann's "Improving
//!    Unnesting of Complex Queries" (BTW 2025) has it from the top down.
//!
//! Why, and the rules in words: docs/decisions/0053-unnesting.md.
//!
//! | file | what |
//! |---|---|
//! | `rows` | rows that get columns, and what outer columns are there |
//! | `free` | columns that a plan takes from around it |
//! | `operator`, `value`, `conditions` | operators, expressions and conditions that have subqueries |
//! | `scalar`, `mark`, `related` | the value of one row; IN, ANY and ALL; EXISTS, and which rows belong to which |
//! | `inline`, `pull`, `push`, `domain` | the three ways, and the domain |
//! | `asking` | a subquery's rows without those that no outer row asks for |
//! | `join`, `aggregate`, `window`, `recursive` | operators of subqueries, by keys that stand for outer columns |
//! | `one_row`, `or_null` | functions: a value with no second row; one that may be NULL |

mod aggregate;
mod asking;
mod conditions;
mod domain;
mod free;
mod inline;
mod join;
mod mark;
mod one_row;
mod operator;
mod or_null;
mod pull;
mod push;
mod recursive;
mod related;
mod rows;
mod scalar;
mod value;
mod window;

pub(crate) use free::{is_correlated, outer_columns, subquery_of};

use crate::shared::{SharedRows, has_readers, reader, settled};
use asking::Asking;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::AnalyzerRule;

/// The rule.
#[derive(Debug)]
pub(crate) struct UnnestSubqueries;

impl AnalyzerRule for UnnestSubqueries {
    fn name(&self) -> &str {
        "unnest_subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        // A part of a statement whose types the binder asks for: the whole comes later.
        if is_correlated(&plan)? {
            return Ok(plan);
        }
        if free::has_queries(&plan)? {
            let plan = Unnesting { options, names: 0, asking: Vec::new() }.whole(plan)?;
            return settled(plan);
        }
        if has_readers(&plan)? { settled(plan) } else { Ok(plan) }
    }
}

/// The state of unnesting one statement.
#[derive(Debug)]
struct Unnesting<'o> {
    options: &'o ConfigOptions,
    /// Names given so far.
    names: usize,
    /// The outer rows of the subqueries that are being unnested, the innermost last.
    asking: Vec<Option<Asking>>,
}

impl Unnesting<'_> {
    /// A name that no column of the statement has.
    fn fresh(&mut self, what: &str) -> String {
        self.names += 1;
        let what = what.trim_start_matches("__").split("__").next().unwrap_or(what);
        format!("__{what}__{}", self.names)
    }

    /// A plan that several will read: a reader of its rows, unless it is as well read several times, or gives other rows in
    /// each round of a recursive query.
    fn shared(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if is_cheap(&plan) || plan.exists(|node| Ok(recursive::is_round(node)))? {
            return Ok(plan);
        }
        reader(&SharedRows::new(plan, false))
    }

    /// Another reader of a plan that is shared.
    fn read_again(&mut self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        Ok(plan.clone())
    }
}

/// Whether a plan gives the same rows each time for next to nothing: those of a table, or of the one row of nothing.
fn is_cheap(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => {
            !projection.expr.iter().any(|own| own.is_volatile()) && is_cheap(&projection.input)
        }
        LogicalPlan::Filter(filter) => !filter.predicate.is_volatile() && is_cheap(&filter.input),
        LogicalPlan::TableScan(_) | LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => true,
        _ => false,
    }
}
