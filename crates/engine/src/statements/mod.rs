//! Each kind of SQL statement, done or refused by name.
//!
//! | folder | what |
//! |---|---|
//! | `ddl/` | statements that define: CREATE, ALTER, DROP |
//! | `dml/` | statements that write records: INSERT, UPDATE, DELETE, MERGE |
//! | `transfer/` | COPY in both directions |
//! | `admin/` | SET, PREPARE, BEGIN, cursors, DESCRIBE, SUMMARIZE, VACUUM, system tables |
//! | `beginning` | what a statement needs of the transaction before it sees anything |
//! | `changing_source` | CREATE TABLE AS and COPY … TO of a query that changes records |
//! | `row_locks` | SELECT … FOR UPDATE |
//! | `command` | what a statement is called when it has run |
//! | `described` | the schema and the parameters of a statement, without running it |
//! | `kind` | what a front end has to know of a statement before it runs it |
//! | `named` | the tables that a statement names, and whether there are such |
//! | `rights` | whether who may only read may run a statement |
//! | `reads` | whether a statement leaves the database as it is |
//! | `targets` | the tables that statements write, and the one writer of a store |
//! | `uses` | what a statement asks of tables, without running it |

pub(crate) mod admin;
pub(crate) mod beginning;
mod changing_source;
mod command;
pub(crate) mod ddl;
pub(crate) mod described;
pub(crate) mod dml;
pub(crate) mod kind;
pub(crate) mod named;
mod reads;
pub(crate) mod rights;
pub(crate) mod row_locks;
mod targets;
pub(crate) mod transfer;
pub(crate) mod uses;

pub(crate) use crate::sql::depth::limit as limit_depth;
pub(crate) use crate::sql::parse::{Statement, all_of, parse, parse_single, query_of, query_of_view};
pub(crate) use crate::statements::command::command;
pub(crate) use crate::statements::ddl::create::for_load;
pub(crate) use crate::statements::ddl::definition::set_layout;
pub(crate) use crate::statements::ddl::external::free_name;
pub(crate) use crate::statements::reads::only_reads;
pub(crate) use crate::statements::targets::{is_view, refuse_others, table_reference, writable, write};

use crate::session::{CachedPlan, Outcome, StatementContext, TargetTable, blocking};
use crate::sql::copy_feed::CopyFeed;
use crate::sql::ignored as query;
use crate::sql::names::{fold, unsupported};
use crate::statements::admin::explain::ExplainedStart;
use crate::statements::admin::{
    describe, explain, explain_indent, prepare, session, show_create, summarize, transaction, vacuum,
};
use crate::statements::ddl::{alter, alter_design, create, define, external, index, objects, on_commit, view};
use crate::statements::dml::ingest::Ingest;
use crate::statements::dml::work::Work;
use crate::statements::dml::{change, insert, merge, parts, work};
use crate::statements::transfer::streams;
use crate::{Error, Result};
use datafusion::common::ParamValues;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{Query, Statement as Sql};
use futures::StreamExt;
use std::sync::Arc;

/// Runs one statement with `parameters` for `$1`, `$2`, ….
pub(crate) async fn run(
    context: &StatementContext,
    mut statement: Statement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    if !transaction::ends(&statement) {
        context.require_live()?;
    }
    if row_locks::may_lock(&statement) {
        // The context has the turn to write, or nobody has it any more.
        row_locks::strip(&mut statement, context.skips_locked)?;
    }
    let changes = context.session.ending_tables.is_any() && !only_reads(&statement);
    let outcome = run_one(context, statement, parameters).await?;
    if changes {
        on_commit::after_statement(context).await?;
    }
    Ok(outcome)
}

async fn run_one(context: &StatementContext, statement: Statement, parameters: Option<ParamValues>) -> Result<Outcome> {
    let mut statement = match statement {
        Statement::Sql(statement) => *statement,
        Statement::CopyFrom(copy) => match copy.feed.as_ref().and_then(CopyFeed::take) {
            Some(ends) => return streams::input::run(context, *copy, ends).await,
            None => return transfer::run::from(context, *copy).await,
        },
        Statement::CopyOut(copy) if copy.is_taken => return streams::output::rows(context, *copy, parameters).await,
        Statement::CopyOut(_) => return Err(transfer::run::without_stream("COPY … TO STDOUT", "copy_out")),
        Statement::Explain(explain) => {
            let start = ExplainedStart::new(context, explain.options, &explain.statement)?;
            let statement = explain::runnable(explain.statement)?;
            let ended = Box::pin(run(&start.context, statement, parameters)).await;
            return start.told(ended).await;
        }
        Statement::AlterDesign(alter) => return alter_design::run(context, *alter).await,
        Statement::Session(own) => return session::run(context, *own, parameters).await,
        Statement::Define(define) => return define::run(context, *define).await,
        Statement::Summarize(own) => return summarize::run(context, *own, parameters).await,
        Statement::Refused(error) => return Err(Error::Unsupported(error)),
    };
    if let Some(query) = changing_source::source(&mut statement).map(|query| Query::clone(query)) {
        return changing_source::run(context, statement, query, parameters).await;
    }
    match statement {
        DataFusionStatement::Statement(statement) => run_sql(context, *statement, parameters).await,
        DataFusionStatement::CreateExternalTable(statement) => external::create(context, statement).await,
        DataFusionStatement::CopyTo(statement) => transfer::run::to(context, statement, parameters).await,
        DataFusionStatement::Explain(statement) => explain_indent::run(context, statement, parameters).await,
        DataFusionStatement::Reset(_) => Err(Error::Internal("RESET has a grammar of its own".into())),
    }
}

async fn run_sql(context: &StatementContext, statement: Sql, parameters: Option<ParamValues>) -> Result<Outcome> {
    if parts::changes_in_with(&statement) {
        return parts::run(context, statement, parameters).await;
    }
    let (statement, with) = query::apart(statement);
    match statement {
        Sql::Query(mut query) => {
            query::refuse_ignored(&mut query)?;
            let bound = context.bind_with(*query, parameters).await?;
            let wanted = CachedPlan::wanted(context, &bound.plan)?;
            let plan = context.physical_plan(bound.plan).await?;
            let turn = CachedPlan::keep(context, wanted, &plan, &bound.columns)?;
            Ok(Outcome::Rows(turn.give(bound.columns.give(context.execute(plan)?))))
        }
        Sql::Insert(statement) => insert::run(context, statement, with, parameters).await,
        Sql::Update(statement) => {
            let work = Work::Change(Box::new(change::update(statement, with)?));
            work::run(context, work, parameters).await
        }
        Sql::Delete(statement) => {
            let work = Work::Change(Box::new(change::delete(statement, with)?));
            work::run(context, work, parameters).await
        }
        Sql::Merge(statement) => {
            let work = Work::Merge(Box::new(merge::merging(statement, with)?));
            work::run(context, work, parameters).await
        }
        Sql::CreateTable(statement) => create::run(context, statement, parameters).await,
        Sql::CreateView(statement) => view::run(context, statement).await,
        Sql::CreateIndex(statement) => index::create(context, statement).await,
        Sql::CreateSchema { .. } => objects::create_schema(context, statement).await,
        Sql::AlterTable(statement) => alter::run(context, statement).await,
        Sql::Drop { .. } => objects::drop_objects(context, statement).await,
        Sql::Truncate(statement) => objects::truncate(context, statement).await,
        Sql::Vacuum(statement) => vacuum::checked(context, statement).await,
        Sql::OptimizeTable { .. } => objects::optimize(context, statement).await,
        Sql::Rollback { chain: _, savepoint: Some(savepoint) } => {
            transaction::back_to(context, &fold(&savepoint)).await
        }
        Sql::Savepoint { .. } | Sql::ReleaseSavepoint { .. } => transaction::savepoint(context, statement).await,
        Sql::Prepare { .. } => prepare::prepare(context, statement).await,
        Sql::Execute { .. } => prepare::execute(context, statement, parameters).await,
        Sql::Deallocate { .. } => prepare::deallocate(context, &statement),
        Sql::ShowCreate { obj_type, obj_name } => show_create::run(context, &obj_type, &obj_name),
        Sql::ExplainTable { .. } | Sql::Explain { .. } => describe::describe(context, statement).await,
        Sql::ShowFunctions { .. } | Sql::ShowTables { .. } | Sql::ShowColumns { .. } => {
            context.reads_catalog();
            describe::show(context, statement).await
        }
        other => {
            let text = other.to_string();
            let first: Vec<&str> = text.split_whitespace().take(2).collect();
            Err(unsupported(first.join(" ")))
        }
    }
}

/// Adds the rows of a stream, which has the table's columns in order (types may need a cast), to a table after checking
/// its constraints: all of them or none. Returns their number.
pub(crate) async fn insert_stream(
    context: &StatementContext,
    target: &TargetTable,
    mut rows: SendableRecordBatchStream,
) -> Result<u64> {
    let ingest = Arc::new(Ingest::new(context, &target.store, &target.table, None)?);
    let mut row = 1;
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        let first = row;
        row += batch.num_rows() as u64;
        context.cancel.check()?;
        let ingest = Arc::clone(&ingest);
        blocking(move || ingest.batch(0, &batch, Some(first))).await?;
    }
    let ingest = Arc::into_inner(ingest).ok_or_else(|| Error::Internal("a writer is still at work".into()))?;
    context.in_line(&target.store, move || ingest.finish()).await
}
