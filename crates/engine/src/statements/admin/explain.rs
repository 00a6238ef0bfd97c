//! EXPLAIN and EXPLAIN ANALYZE of any statement that has a plan: as a tree, as JSON, as a page.
//!
//! The statement goes its usual way, as far as its plan when it is not to run ([`Until`]); so what is told is what would be done.

use crate::explain::{self, ExplainedRun, ExplainedStatement, PlanNode, PlanReader};
use crate::session::{Explaining, Outcome, PlanNotes, PlanningTimes, Settings, StatementContext, Until};
use crate::sql::copy::{CopyPlace, columns_of};
use crate::sql::explain::ExplainOptions;
use crate::sql::ignored::{apart, has_changes, writes};
use crate::sql::parse::{Statement, all_of};
use crate::{Error, Result};
use arrow::array::{RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::{CopyToSource, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{FromTable, Statement as Sql, TableObject};
use futures::StreamExt;
use std::sync::Arc;
use std::time::Instant;

/// The columns of the answer: a line a row.
pub(crate) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("plan", DataType::Utf8View, true)]))
}

/// A statement that is explained: it is run in `context`, and what comes of it is told.
pub(crate) struct ExplainedStart {
    /// Where the statement runs, or goes as far as its plan.
    pub(crate) context: StatementContext,
    options: ExplainOptions,
    kind: ExplainedKind,
    explaining: Arc<Explaining>,
    notes: Arc<PlanNotes>,
    begun: Instant,
    /// What was planned before it.
    before: PlanningTimes,
}

impl ExplainedStart {
    /// Begins to explain a statement. Fails for one that has no plan.
    pub(crate) fn new(context: &StatementContext, options: ExplainOptions, statement: &Statement) -> Result<Self> {
        let kind = ExplainedKind::of(statement)?;
        let (noting, notes) = context.noting();
        let until = match kind {
            _ if options.analyze => Until::End,
            // Parts that find nothing change nothing.
            ExplainedKind::Change { has_parts: true, .. } => Until::AllPlans,
            _ => Until::FirstPlan,
        };
        let (own, explaining) = noting.explained(until);
        let before = context.watch.times();
        Ok(Self { context: own, options, kind, explaining, notes, begun: Instant::now(), before })
    }

    /// Tells of the statement, which ended so.
    pub(crate) async fn told(self, ended: Result<Outcome>) -> Result<Outcome> {
        let given = match ended {
            Err(_) if self.explaining.has_ended() => None,
            ended => given(ended?).await?,
        };
        let taken = self.begun.elapsed();
        let Self { context, options, kind, explaining, notes, before, .. } = self;
        let settings = context.settings();
        let times = context.watch.times();
        let planned = |times: PlanningTimes| times.logical + times.optimize + times.physical;
        let now = planned(times).saturating_sub(planned(before));
        let mut reader = PlanReader::new(&settings.fallbacks.all(), options.analyze, options.verbose);
        let plans = explaining.plans().iter().map(|plan| reader.tree(plan)).collect();
        let seen = given.filter(|_| options.analyze).and_then(|rows| usize::try_from(rows).ok());
        let node = kind.over(plans);
        let plan = PlanNode { rows: node.rows.or(seen), ..node };
        let run = options.analyze.then(|| ExplainedRun {
            running: taken.saturating_sub(now),
            compiling: times.compile,
            memory: explaining.most_memory(),
        });
        let code = notes.take().into_iter().filter(|(name, _)| name.starts_with("code_of_pipeline"));
        let statement = ExplainedStatement {
            plan,
            planning: times.parse + now,
            run,
            settings: if options.settings { changed_settings(&settings) } else { Vec::new() },
            code: code.map(|(name, text)| (name.replace('_', " "), text)).collect(),
        };
        lines(&explain::lines(statement, &options, settings.explain_width))
    }
}

/// Lines as rows.
fn lines(lines: &[String]) -> Result<Outcome> {
    let lines: StringViewArray = lines.iter().map(Some).collect();
    let batch = RecordBatch::try_new(schema(), vec![Arc::new(lines)])?;
    Ok(Outcome::Rows(Box::pin(RecordBatchStreamAdapter::new(schema(), futures::stream::iter([Ok(batch)])))))
}

/// The statement that is run to explain one: rows for a stream go nowhere.
pub(crate) fn runnable(statement: Statement) -> Result<Statement> {
    let Statement::CopyOut(copy) = statement else { return Ok(statement) };
    let query = match copy.source {
        CopyToSource::Query(query) => *query,
        CopyToSource::Relation(name) if copy.columns.is_empty() => all_of(&name)?,
        CopyToSource::Relation(name) => columns_of(&name, &copy.columns)?,
    };
    Ok(Statement::Sql(Box::new(DataFusionStatement::Statement(Box::new(Sql::Query(Box::new(query)))))))
}

/// The records that a statement changed, or the rows that it gave, all of which are taken.
async fn given(outcome: Outcome) -> Result<Option<u64>> {
    match outcome {
        Outcome::Rows(mut rows) => {
            let mut number = 0;
            while let Some(batch) = rows.next().await {
                number += batch?.num_rows() as u64;
            }
            Ok(Some(number))
        }
        Outcome::Affected(records) => Ok(Some(records)),
        Outcome::Done => Ok(None),
    }
}

/// What a statement does besides its plan.
enum ExplainedKind {
    /// It gives the rows of its plan.
    Query,
    /// It does something with them, in words. Several parts of it may find records.
    Change { what: String, has_parts: bool },
}

impl ExplainedKind {
    fn of(statement: &Statement) -> Result<Self> {
        let change = |what| Ok(Self::Change { what, has_parts: false });
        match statement {
            Statement::Sql(statement) => match &**statement {
                DataFusionStatement::Statement(tree) => Self::of_sql(tree.as_ref().clone()),
                DataFusionStatement::CopyTo(copy) => change(format!("copy to '{}'", copy.target)),
                other => Err(refusal(&other.to_string())),
            },
            Statement::CopyFrom(copy) => match &copy.from {
                CopyPlace::File(file) => change(format!("copy into {} from '{file}'", copy.table)),
                CopyPlace::Stream => Err(refusal("COPY … FROM STDIN")),
            },
            Statement::CopyOut(_) => change("copy to standard output".to_owned()),
            Statement::Refused(error) => Err(Error::Unsupported(error.clone())),
            other => Err(refusal(&other.to_string())),
        }
    }

    /// The statement's node over its plans.
    fn over(&self, mut plans: Vec<PlanNode>) -> PlanNode {
        let what = match (self, plans.len()) {
            (Self::Query, 1) => return plans.remove(0),
            (Self::Query, _) => "the last of several plans gives the rows",
            (Self::Change { what, .. }, _) => what,
        };
        let without = "nothing was planned: its rows are written out, in a file, or found by a key".to_owned();
        let notes = if plans.is_empty() { vec![without] } else { Vec::new() };
        PlanNode { notes, children: plans, ..PlanNode::new(what) }
    }

    fn of_sql(statement: Sql) -> Result<Self> {
        let (statement, with) = apart(statement);
        let mut has_parts = has_changes(with.as_ref());
        let what = match &statement {
            Sql::Query(query) if writes(query) => {
                has_parts = true;
                "query over statements that change records".to_owned()
            }
            Sql::Query(_) => return Ok(Self::Query),
            Sql::Insert(insert) => match &insert.table {
                TableObject::TableName(name) => format!("insert into {name}"),
                other => format!("insert into {other}"),
            },
            Sql::Update(update) => format!("update {}", update.table),
            Sql::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                format!("delete from {}", from.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
            Sql::Merge(merge) => format!("merge into {}", merge.table),
            Sql::CreateTable(table) if table.query.is_some() => format!("create table {}", table.name),
            Sql::Execute { name: Some(name), .. } => format!("execute {name}"),
            other => return Err(refusal(&other.to_string())),
        };
        Ok(Self::Change { what, has_parts })
    }
}

fn refusal(text: &str) -> Error {
    let first: Vec<&str> = text.split_whitespace().take(2).collect();
    Error::Unsupported(format!(
        "EXPLAIN of {} is not supported; it explains queries and statements that change records",
        first.join(" ")
    ))
}

/// The settings that decide how a statement runs: threads, memory, and those that are not as they are by default.
fn changed_settings(settings: &Settings) -> Vec<(String, String)> {
    use datafusion::common::config::ExtensionOptions;
    let usual = Settings::new(settings.threads, settings.memory_limit).entries();
    let own = settings.entries();
    let always = ["gingham.threads", "gingham.memory_limit"];
    let changed = own.into_iter().filter(|entry| {
        let usual = usual.iter().find(|usual| usual.key == entry.key);
        always.contains(&entry.key.as_str()) || usual.is_none_or(|usual| usual.value != entry.value)
    });
    changed.map(|entry| (entry.key, entry.value.unwrap_or_default())).collect()
}
