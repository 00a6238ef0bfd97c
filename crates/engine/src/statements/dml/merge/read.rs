//! The rows of the one query of a MERGE, and what is written of them: the lanes of a writer take what the partitions give.

use crate::bind::{Beside, BoundMerge, MergeShape, MergeSide};
use crate::session::{StatementContext, TargetTable, blocking};
use crate::statements::dml::change::{
    FoundRecords, HeldRows, New, SEVERAL, lock, record_id, referred_columns, select, taken_twice, with_columns,
};
use crate::statements::dml::merge::Merging;
use crate::statements::dml::merge::clauses::{Doing, MergedClause};
use crate::statements::dml::pipeline;
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, StringArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Field, Int64Type, Schema, SchemaRef};
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::{Join, JoinConstraint, JoinOperator, Query, SelectItem, TableWithJoins};
use gingham_storage::write::TableWriter;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

impl Merging {
    /// What its clauses change.
    pub(crate) async fn find(
        &self,
        context: &StatementContext,
        target: &TargetTable,
        parameters: Option<ParamValues>,
    ) -> Result<FoundRecords> {
        let definition = &target.table.definition;
        let clauses = self.statement.clauses.iter().map(|clause| MergedClause::of(context, definition, clause));
        let clauses = clauses.collect::<Result<Vec<_>>>()?;
        let query = self.query(&clauses)?;
        let id = record_id(&query, definition);
        let shape = MergeShape {
            clauses: clauses.iter().map(MergedClause::shape).collect(),
            target: Arc::new(target.table.with_record_ids(id.clone())),
            id,
            returning: self.returning.is_some(),
        };
        let bound = context.bind_merge(*query, &shape, parameters).await?;
        let fields = bound.plan.schema().as_arrow().fields().clone();
        for (clause, values) in clauses.iter().zip(&bound.values) {
            clause.accept(&fields[values.clone()], definition)?;
        }
        let BoundMerge { plan, id, target: old, values, source, mut beside } = bound;
        let plan = context.physical_plan(plan).await?;
        let referred = referred_columns(context, target);
        let is_referred = |at: &usize| referred.contains(&definition.columns[*at].id);
        let reading = Arc::new(MergeRead {
            clauses,
            id,
            old,
            values,
            source: self.returning.is_some().then_some(source),
            referred: (0..definition.columns.len()).filter(is_referred).collect(),
            schema: definition.arrow_schema(),
            before: self.before.clone(),
            writer: target.store.table_writer(&target.table)?,
        });
        let held = Arc::new(Mutex::new(HeldRows::new(context, "MERGE")));
        let (work, into) = (Arc::clone(&reading), Arc::clone(&held));
        pipeline::each(context, plan, move |lane, batch| work.take(lane, &batch, &into)).await?;
        let held = Arc::into_inner(held).ok_or_else(|| Error::Internal("a lane of a MERGE is still at work".into()))?;
        let reading = Arc::into_inner(reading).ok_or_else(|| Error::Internal("a writer is still at work".into()))?;
        let held = held.into_inner().unwrap_or_else(PoisonError::into_inner);
        let written = blocking(move || Ok(reading.writer.finish()?)).await?;
        if self.returning.is_some() {
            beside.push(Beside::merge_action());
        }
        FoundRecords::merged(held, New::Rows(written), referred, beside)
            .ok_or_else(|| taken_twice(target, "MERGE", SEVERAL))
    }

    /// `SELECT conditions and values FROM target JOIN source ON …`.
    fn query(&self, clauses: &[MergedClause]) -> Result<Box<Query>> {
        let on = JoinConstraint::On((*self.statement.on).clone());
        let join =
            Join { relation: self.statement.source.clone(), global: false, join_operator: JoinOperator::Inner(on) };
        let from = TableWithJoins { relation: self.statement.table.clone(), joins: vec![join] };
        let items = clauses.iter().flat_map(|clause| clause.condition.iter().chain(&clause.values));
        let items: Vec<SelectItem> = items.cloned().map(SelectItem::UnnamedExpr).collect();
        let mut query = select(vec![from], items)?;
        query.with.clone_from(&self.with);
        crate::sql::ignored::refuse_ignored(&mut query)?;
        Ok(query)
    }
}

/// What is made of the query's rows.
struct MergeRead {
    clauses: Vec<MergedClause>,
    /// The column of the ids.
    id: Option<usize>,
    /// The columns of the old records; none where no clause is about any.
    old: Range<usize>,
    /// The columns of each clause's values.
    values: Vec<Range<usize>>,
    /// RETURNING: the first of the source's columns.
    source: Option<usize>,
    /// The places of the columns that tables refer to.
    referred: Vec<usize>,
    /// The table's.
    schema: SchemaRef,
    /// Records that other parts of the statement change.
    before: Option<Arc<HashSet<u64>>>,
    writer: TableWriter,
}

impl MergeRead {
    /// Takes a batch of the query's rows, clause by clause.
    fn take(&self, lane: usize, batch: &RecordBatch, held: &Mutex<HeldRows>) -> Result<()> {
        let taken = batch.column(0).as_primitive::<Int64Type>();
        let is_before = |row: usize| match (self.id, &self.before) {
            (Some(id), Some(before)) => {
                let ids = batch.column(id).as_primitive::<Int64Type>();
                ids.is_valid(row) && before.contains(&(ids.value(row) as u64))
            }
            _ => false,
        };
        for (number, clause) in self.clauses.iter().enumerate() {
            if matches!(clause.does, Doing::Nothing) {
                continue;
            }
            let is_own = |row: usize| taken.is_valid(row) && taken.value(row) == number as i64 && !is_before(row);
            let own: BooleanArray = (0..batch.num_rows()).map(|row| Some(is_own(row))).collect();
            let rows = match own.true_count() {
                0 => continue,
                all if all == batch.num_rows() => batch.clone(),
                _ => filter_record_batch(batch, &own)?,
            };
            self.clause(lane, number, &rows, held)?;
        }
        Ok(())
    }

    /// Takes the rows of one clause.
    fn clause(&self, lane: usize, number: usize, rows: &RecordBatch, held: &Mutex<HeldRows>) -> Result<()> {
        let clause = &self.clauses[number];
        let old: &[ArrayRef] = if clause.side == MergeSide::Source { &[] } else { &rows.columns()[self.old.clone()] };
        let values: Vec<usize> = self.values[number].clone().collect();
        let new = clause.new_records(old, &rows.project(&values)?)?;
        let returned = match self.source {
            None => None,
            Some(source) => {
                let own = match &new {
                    Some(new) => new.clone(),
                    None => RecordBatch::try_new(Arc::clone(&self.schema), old.to_vec())?,
                };
                let action = StringArray::from(vec![clause.does.name(); rows.num_rows()]);
                Some(with_columns(&own, &with_action(rows, action)?, source)?)
            }
        };
        let (ids, referred) = match self.id {
            Some(id) if clause.side != MergeSide::Source => {
                let ids = rows.column(id).as_primitive::<Int64Type>().values().iter().map(|id| *id as u64).collect();
                (ids, self.referred_of(old)?)
            }
            _ => (Vec::new(), None),
        };
        lock(held).add(&ids, rows.num_rows() as u64, referred, returned)?;
        match new {
            Some(new) if new.num_rows() > 0 => Ok(self.writer.append(lane, new)?),
            _ => Ok(()),
        }
    }

    /// The old values of the columns that tables refer to.
    fn referred_of(&self, old: &[ArrayRef]) -> Result<Option<RecordBatch>> {
        if self.referred.is_empty() {
            return Ok(None);
        }
        let schema = Arc::new(self.schema.project(&self.referred)?);
        let columns = self.referred.iter().map(|at| Arc::clone(&old[*at])).collect();
        Ok(Some(RecordBatch::try_new(schema, columns)?))
    }
}

/// Rows with what was done behind their columns.
fn with_action(rows: &RecordBatch, action: StringArray) -> Result<RecordBatch> {
    let action: ArrayRef = Arc::new(action);
    let field = Arc::new(Field::new("action", action.data_type().clone(), true));
    let fields: Vec<_> = rows.schema().fields().iter().cloned().chain([field]).collect();
    let columns = rows.columns().iter().cloned().chain([action]).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}
