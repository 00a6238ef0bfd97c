//! The schema and the parameters of a statement whose WITH changes records: of each part in turn, those behind it seeing its columns.

use crate::Result;
use crate::session::StatementContext;
use crate::statements::described::{StatementDescription, of_sql};
use crate::statements::dml::parts::known::KnownQueries;
use arrow::datatypes::Schema;
use datafusion::sql::sqlparser::ast::{Query, Statement as Sql};
use std::sync::Arc;

/// Describes a statement whose WITH changes records.
pub(crate) async fn describe(context: &StatementContext, query: Query) -> Result<StatementDescription> {
    let mut known = KnownQueries::of(context, &query)?;
    let mut parameters = Vec::new();
    for place in known.order()? {
        if known.statement(place)?.is_none() {
            continue;
        }
        let (here, own) = (known.context(), Sql::Query(Box::new(known.part(place))));
        let described = Box::pin(of_sql(&here, own)).await?;
        parameters.push(described.parameters);
        if let Some(schema) = described.schema.filter(|schema| !schema.fields().is_empty()) {
            known.put_rows(place, &Arc::new(Schema::clone(&schema)), Vec::new())?;
        }
    }
    let here = known.context();
    let last = Sql::Query(Box::new(Query { with: known.all(), ..query }));
    let mut described = Box::pin(of_sql(&here, last)).await?;
    for own in parameters {
        described.note_others(own);
    }
    Ok(described)
}
