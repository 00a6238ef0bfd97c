//! SUMMARIZE: a row for each column of a table or a query, of what is in it.
//!
//! The rows are read twice, since the bars need the range: once for what is exact, by a query in SQL that pipelines compute, and
//! once for what is estimated. Both see the statement's snapshot, and keep a few kilobytes a column and thread.
//!
//! | file | what |
//! |---|---|
//! | `exact` | rows, NULLs, extremes, means and deviations |
//! | `range` | the range that bars lie in, and the bar of a value |
//! | `row` | the row of an aggregate without groups |
//! | `sketch` | the aggregate that estimates: distinct values, quartiles, bars |
//! | `quantiles` | a sketch of an order |
//! | `shown` | figures as the statement's rows |

mod exact;
mod quantiles;
mod range;
mod row;
mod shown;
mod sketch;

pub(crate) use shown::schema;

use crate::Result;
use crate::bind::BoundQuery;
use crate::session::{Outcome, StatementContext};
use crate::sql::ignored::refuse_ignored;
use crate::sql::summarize::Summarize;
use crate::type_name::type_name;
use datafusion::common::ParamValues;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::ObjectName;
use gingham_storage::snapshot::Snapshot;

/// Runs SUMMARIZE.
pub(crate) async fn run(
    context: &StatementContext,
    summarize: Summarize,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let Summarize { mut query, table } = summarize;
    refuse_ignored(&mut query)?;
    let BoundQuery { plan, columns, .. } = context.bind(query.clone(), parameters.clone()).await?;
    let schema = columns.rename(plan.schema().as_arrow());
    let exact = exact::figures(context, &query, &schema, parameters).await?;
    let estimated = sketch::estimates(context, plan, &exact).await?;
    let types = match stored_types(context, table.as_ref())? {
        Some(types) if types.len() == schema.fields().len() => types,
        _ => schema.fields().iter().map(|field| type_name(field.data_type())).collect(),
    };
    let shown = shown::rows(&schema, &types, &exact, &estimated)?;
    let (schema, rows) = (shown.schema(), futures::stream::iter([Ok(shown)]));
    Ok(Outcome::Rows(Box::pin(RecordBatchStreamAdapter::new(schema, rows))))
}

/// The types of a table's columns as it was defined, which tell a CHAR from a VARCHAR; `None` where the name is no table's.
fn stored_types(context: &StatementContext, name: Option<&ObjectName>) -> Result<Option<Vec<String>>> {
    let Some(name) = name else { return Ok(None) };
    let reference = object_name_to_table_reference(name.clone(), true)?;
    let name = context.name(&reference)?;
    let is_view = |snapshot: &Snapshot| snapshot.views.contains_key(&name);
    if context.is_given(&reference) || is_view(&context.snapshot) || context.temp.as_deref().is_some_and(is_view) {
        return Ok(None);
    }
    let Some(target) = context.find(&reference)? else { return Ok(None) };
    Ok(Some(target.table.definition.columns.iter().map(|column| column.logical_type.to_string()).collect()))
}
