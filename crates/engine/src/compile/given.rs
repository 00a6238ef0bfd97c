//! Rows that DataFusion's operators give to pipelines: window functions, tables of others, whatever pipelines have no steps
//! for. They are gathered before the first pipeline begins, as integers; strings get numbers of the query's own.
//!
//! All of them, not a queue of batches that is filled while pipelines run: stages are planned for the ranges of what they
//! read, which are known when the last row is there; threads of the pool wait for nothing, so that nothing can wait for
//! itself; and no row has left when memory runs out.

use crate::Error;
use crate::compile::draft::{PipelineBuilder, QueryBuilder};
use crate::compile::functions::{integers, is_string, left, limits};
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::translate::{ColumnScope, Trace, Typed};
use crate::recursion::RoundExec;
use arrow::array::RecordBatch;
use datafusion::common::runtime::JoinSet;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;
use gingham_execution::{
    Error as ExecutionError, Expression, InternedStrings, Limits, Memory, Relation, Result, Rows, Source,
};
use std::sync::Arc;

/// Rows that an operator may give, for all that is known.
const MANY: u64 = 1 << 31;

/// An operator that gives rows to pipelines.
#[derive(Debug, Clone)]
pub(super) struct ExternalInput {
    pub(super) plan: Arc<dyn ExecutionPlan>,
    /// Columns of `plan` that are given, by position.
    pub(super) columns: Vec<usize>,
    pub(super) facts: Vec<(Limits, bool)>,
}

impl ExternalInput {
    /// Rows at most.
    pub(super) fn rows(&self) -> u64 {
        MANY
    }
}

impl QueryBuilder {
    /// The rows of an operator that pipelines can't do, for the reason given.
    pub(super) fn given(&mut self, plan: &Arc<dyn ExecutionPlan>, why: NotCompiled) -> Compiled<PipelineBuilder> {
        if !can_be_given(plan) {
            return Err(why);
        }
        self.foreign.get_or_insert(why);
        let (mut columns, mut facts, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        // The one row has nothing in its columns, of whatever types these are said to be.
        let is_empty = plan.is::<PlaceholderRowExec>();
        for (number, field) in plan.schema().fields().iter().enumerate() {
            let Some(limits) = limits(field.data_type()).filter(|_| !is_empty) else {
                columns.push(None);
                continue;
            };
            let mut typed = Typed::new(Expression::Column(kept.len()), field.data_type().clone());
            typed.trace = Trace { numbered: is_string(field.data_type()), ..Trace::default() };
            columns.push(Some(typed));
            facts.push((limits, field.is_nullable()));
            kept.push(number);
        }
        let scope = ColumnScope::new(facts.clone(), columns, MANY, &self.parameters);
        self.given.push(ExternalInput { plan: Arc::clone(plan), columns: kept, facts });
        Ok(PipelineBuilder::new(Source::Given(self.given.len() - 1), scope))
    }
}

/// Whether an operator's rows end, and may be asked for by someone else than the operator above it.
fn can_be_given(plan: &Arc<dyn ExecutionPlan>) -> bool {
    // A recursive query gives its operators other rows each time.
    !plan.boundedness().is_unbounded() && !plan.is::<RoundExec>() && plan.children().into_iter().all(can_be_given)
}

/// Runs an operator and gathers the columns that are wanted, its partitions side by side and one behind the other. What
/// fails is left to the operators that were replaced, which say why.
pub(super) async fn gathered(
    plan: &Arc<dyn ExecutionPlan>,
    columns: &[usize],
    context: &Arc<TaskContext>,
    strings: &Arc<InternedStrings>,
    memory: &Arc<dyn Memory>,
) -> Result<Arc<Relation>> {
    let mut tasks = JoinSet::new();
    let partitions = plan.output_partitioning().partition_count();
    let streams = (0..partitions).map(|partition| plan.execute(partition, Arc::clone(context)));
    let streams = streams.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    for (partition, stream) in streams.into_iter().enumerate() {
        let gathering = partition_of(stream, columns.to_vec(), Arc::clone(strings), Arc::clone(memory));
        tasks.spawn(async move { gathering.await.map(|rows| (partition, rows)) });
    }
    let mut parts = vec![Vec::new(); partitions];
    while let Some(ended) = tasks.join_next().await {
        match ended.map_err(|error| failed(DataFusionError::ExecutionJoin(Box::new(error)))).flatten() {
            Ok((partition, rows)) => parts[partition] = rows,
            Err(error) => {
                // Nobody asks for memory any more when the operators that were replaced begin.
                tasks.shutdown().await;
                return Err(error);
            }
        }
    }
    let parts = parts.concat();
    let rows = Rows::gathered(columns.len(), &parts)?;
    memory.grow(rows.bytes())?;
    let relation = Relation::new(&rows)?;
    memory.grow(relation.bytes())?;
    Ok(Arc::new(relation))
}

/// The rows of one partition, batch by batch.
async fn partition_of(
    mut stream: SendableRecordBatchStream,
    columns: Vec<usize>,
    strings: Arc<InternedStrings>,
    memory: Arc<dyn Memory>,
) -> Result<Vec<Rows>> {
    let mut parts = Vec::new();
    while let Some(batch) = stream.next().await {
        let part = of_batch(&batch.map_err(failed)?, &columns, &strings, &*memory)?;
        memory.grow(part.bytes())?;
        parts.push(part);
    }
    Ok(parts)
}

/// A fault is the query's error: whatever else is wrong, the operators that are replaced say as they meet it.
fn failed(error: DataFusionError) -> ExecutionError {
    match Error::from(error) {
        Error::Internal(text) => ExecutionError::Internal(text),
        other => left(&other),
    }
}

fn of_batch(batch: &RecordBatch, columns: &[usize], strings: &InternedStrings, memory: &dyn Memory) -> Result<Rows> {
    let column = |number: &usize| {
        let array = batch.column(*number);
        let column = integers(array, strings, memory)?;
        let (min, max) = column.bounds();
        // Where its values lie was said beforehand.
        match limits(array.data_type()) {
            Some(limits) if limits.covers(Limits { min, max }) => Ok(column),
            _ => Err(left(&"a value that its column can't hold")),
        }
    };
    Ok(Rows { rows: batch.num_rows(), columns: columns.iter().map(column).collect::<Result<_>>()? })
}
