//! Each kind of SQL statement, done or refused by name.
//!
//! | file | what |
//! |---|---|
//! | `parse`, `refuse` | text to statements; those that are not offered |
//! | `types`, `expression` | column types, DEFAULT and CHECK |
//! | `ingest/` | new records: conversion, constraints, writing |
//! | `copy` | COPY in both directions |

mod copy;
mod expression;
pub(crate) mod ingest;
mod parse;
mod refuse;
mod types;

pub(crate) use copy::CopyFrom;
pub(crate) use parse::{Statement, parse, parse_single};

use crate::session::{Outcome, StatementContext, Target, blocking};
use crate::{Error, Result};
use datafusion::common::ParamValues;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::sql::sqlparser::ast::Ident;
use futures::StreamExt;
use ingest::Ingest;
use std::sync::Arc;

/// Runs one statement with `parameters` for `$1`, `$2`, ….
pub(crate) async fn run(
    context: &StatementContext,
    statement: Statement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    match statement {
        Statement::Sql(statement) => {
            let plan = context.plan(*statement, parameters).await?;
            Ok(Outcome::Rows(context.rows(&plan).await?))
        }
        Statement::CopyFrom(copy) => Err(Error::Unsupported(format!("COPY {} FROM is not supported yet", copy.table))),
        Statement::Refused(error) => Err(Error::Unsupported(error)),
    }
}

/// Adds the rows of a stream, which has the table's columns in order (types may need a cast), to a table after checking
/// its constraints: all of them or none. Returns their number.
pub(crate) async fn insert_stream(
    context: &StatementContext,
    target: &Target,
    mut rows: SendableRecordBatchStream,
) -> Result<u64> {
    let ingest = Arc::new(Ingest::new(&context.state, &target.store, &target.table, None)?);
    let mut row = 1;
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        let first = row;
        row += batch.num_rows() as u64;
        context.cancel.check()?;
        let ingest = Arc::clone(&ingest);
        blocking(move || ingest.batch(0, &batch, Some(first))).await?;
    }
    finish(ingest).await
}

/// Commits what all lanes wrote.
async fn finish(ingest: Arc<Ingest>) -> Result<u64> {
    let ingest = Arc::into_inner(ingest).ok_or_else(|| Error::Internal("a writer is still at work".into()))?;
    blocking(move || ingest.finish()).await
}

/// An identifier as the catalog keeps it: lower case unless quoted.
fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    }
}
