//! Plans of queries in which a table is put in the place of another: one that gives the ids of its records too, or one of rows
//! that no table has yet. DataFusion plans a statement's text first, so that every name in it means what it always does.

use crate::session::Target;
use crate::statements::unsupported;
use crate::table::GinghamTable;
use crate::{Error, Result};
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, SubqueryAlias, Volatility};
use std::any::Any;
use std::sync::Arc;

/// What ON CONFLICT calls the rows that were to be inserted.
pub(in crate::statements) const EXCLUDED: &str = "excluded";

/// The plan of a query that reads `target` first, in which the table gives the ids of its records behind its columns, and the
/// query behind its own. The column of ids has a name that no column of the query's tables has.
pub(super) fn with_ids(plan: LogicalPlan, target: &Target, verb: &str) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = plan else { return Err(aggregates(verb)) };
    let known = |name: &str| {
        let read = input.schema().fields().iter().any(|field| field.name() == name);
        read || target.table.definition.column(name).is_some()
    };
    let mut name = "record id".to_owned();
    while known(&name) {
        name.push('_');
    }
    let table = GinghamTable::new(Arc::new(target.table.with_record_ids(name.clone())))?;
    let input = in_place_of(Arc::unwrap_or_clone(input), target, Arc::new(table), verb)?;
    let id = input.schema().columns().into_iter().find(|column| column.name == name);
    let id = id.ok_or_else(|| Error::Internal(format!("{verb}: the query lost the ids of the records")))?;
    let expr = expr.into_iter().chain([Expr::Column(id)]).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(expr, Arc::new(input))?))
}

/// The plan of a query that reads `target` first, in which it reads `table` instead.
pub(crate) fn in_place_of(
    plan: LogicalPlan,
    target: &Target,
    table: Arc<dyn TableProvider>,
    verb: &str,
) -> Result<LogicalPlan> {
    let mut inputs: Vec<LogicalPlan> = plan.inputs().into_iter().cloned().collect();
    match &plan {
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Join(_) => {
            let first = inputs.remove(0);
            inputs.insert(0, in_place_of(first, target, table, verb)?);
            Ok(plan.with_new_exprs(plan.expressions(), inputs)?)
        }
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source)?;
            let found = (&*provider as &dyn Any).downcast_ref::<GinghamTable>();
            if found.is_none_or(|found| found.table.definition.id != target.table.definition.id) {
                return Err(unsupported(format!(
                    "{verb} of '{}', which is also the name of an external table",
                    scan.table_name
                )));
            }
            let scan = TableScanBuilder::new(scan.table_name.clone(), provider_as_source(table));
            Ok(LogicalPlan::TableScan(scan.build()?))
        }
        _ => Err(aggregates(verb)),
    }
}

/// The plan of a query in which the table that it calls `excluded` is `rows`.
pub(super) fn with_excluded(plan: LogicalPlan, rows: &Arc<dyn TableProvider>) -> Result<LogicalPlan> {
    let replaced = plan.transform_up(|plan| match plan {
        LogicalPlan::SubqueryAlias(alias) if alias.alias.table() == EXCLUDED => match &*alias.input {
            LogicalPlan::TableScan(scan) => {
                let scan = TableScanBuilder::new(scan.table_name.clone(), provider_as_source(Arc::clone(rows)));
                let scan = Arc::new(LogicalPlan::TableScan(scan.build()?));
                Ok(Transformed::yes(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(scan, alias.alias)?)))
            }
            _ => Ok(Transformed::no(LogicalPlan::SubqueryAlias(alias))),
        },
        other => Ok(Transformed::no(other)),
    });
    Ok(replaced?.data)
}

/// Refuses what a clause of MERGE reads when other clauses, which read it too, would find something else: a function in USING,
/// ON or AND that gives another value each time. What the clause makes of each row, at the plan's top, may have some.
pub(in crate::statements) fn refuse_volatile(plan: &LogicalPlan) -> Result<()> {
    let mut found = None;
    let mut look = |part: &Expr| match part {
        Expr::ScalarFunction(call) if call.func.signature().volatility == Volatility::Volatile => {
            found = Some(call.name().to_owned());
            Ok(TreeNodeRecursion::Stop)
        }
        _ => Ok(TreeNodeRecursion::Continue),
    };
    for input in plan.inputs() {
        input.apply_with_subqueries(|node| node.apply_expressions(|expression| expression.apply(&mut look)))?;
    }
    match found {
        None => Ok(()),
        Some(name) => Err(Error::InvalidInput(format!(
            "MERGE: each of several clauses reads what USING, ON and AND give, and {name} gives something else each time; put \
             the rows into a table first, with CREATE TEMP TABLE … AS"
        ))),
    }
}

fn aggregates(verb: &str) -> Error {
    unsupported(format!("{verb} with aggregates or window functions"))
}
