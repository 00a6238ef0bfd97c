//! INSERT … ON CONFLICT: rows whose key is taken are left out, or change the record that has it.
//!
//! Which rows these are is found in the snapshot of the statement, by their keys alone; DO UPDATE is then an UPDATE of a join
//! with them, under the name `excluded`. All is written in one transaction, unless the table was changed since.

use crate::session::{StatementContext, TargetTable, blocking};
use crate::sql::names::{column_name, unsupported};
use crate::statements::dml::change;
use crate::statements::dml::change::{FoundRecords, New, RecordChange, Returning, find, from_table};
use crate::{Error, Result};
use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use datafusion::catalog::MemTable;
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, ConflictTarget, DoUpdate, Expr as SqlExpr, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    OnConflict, OnConflictAction, TableAlias, TableFactor, With,
};
use gingham_storage::write::Conflicts;
use gingham_storage::{KeyDefinition, SqlState, TableDefinition};
use std::collections::HashSet;
use std::sync::Arc;

/// What ON CONFLICT calls the rows that were to be inserted.
const EXCLUDED: &str = "excluded";

/// INSERT … ON CONFLICT.
pub(crate) struct Upsert {
    pub(crate) table: ObjectName,
    /// What SET and WHERE call the table.
    pub(crate) alias: Option<Ident>,
    pub(crate) on: OnConflict,
    pub(crate) returning: Option<Returning>,
    /// The WITH before the statement.
    pub(crate) with: Option<With>,
    /// Its rows, as the table keeps them.
    pub(crate) proposed: Vec<RecordBatch>,
    /// What they were made for.
    pub(crate) written_for: Arc<TableDefinition>,
    /// Records that other parts of the statement change.
    pub(crate) before: Option<Arc<HashSet<u64>>>,
}

impl Upsert {
    /// What the statement changes.
    pub(crate) async fn find(
        &self,
        context: &StatementContext,
        target: &TargetTable,
        parameters: Option<ParamValues>,
    ) -> Result<FoundRecords> {
        let definition = &target.table.definition;
        if *definition != self.written_for {
            return Err(Error::invalid(
                SqlState::ObjectNotInPrerequisiteState,
                format!("table '{}' was altered while rows were made for it; try again", definition.name),
            ));
        }
        let keys = keys_of(definition, self.on.conflict_target.as_ref())?;
        let returning = self.returning.is_some();
        match &self.on.action {
            OnConflictAction::DoNothing => {
                let free = free_of_all(target, &keys, &self.proposed).await?;
                FoundRecords::insert(context, target, pick(&self.proposed, &free)?, returning).await
            }
            OnConflictAction::DoUpdate(update) => {
                let [key] = keys.as_slice() else {
                    return Err(Error::invalid(
                        SqlState::SyntaxError,
                        "ON CONFLICT DO UPDATE needs the columns of the key whose conflicts it is about: \
                         ON CONFLICT (column, …) DO UPDATE",
                    ));
                };
                let conflicts = conflicts(target, key, &self.proposed).await?;
                let is_second = |(row, first): (usize, &usize)| row != *first && !conflicts.exists[row];
                if conflicts.first.iter().enumerate().any(is_second) {
                    return Err(Error::constraint(
                        SqlState::CardinalityViolation,
                        format!(
                            "INSERT … ON CONFLICT DO UPDATE of table '{}': two of the new rows have the same key (constraint '{}')",
                            target.table.definition.name, key.name
                        ),
                    ));
                }
                let free: Vec<bool> = conflicts.exists.iter().map(|exists| !exists).collect();
                let new = FoundRecords::insert(context, target, pick(&self.proposed, &free)?, returning).await?;
                let taken = pick(&self.proposed, &conflicts.exists)?;
                if taken.is_empty() {
                    return Ok(new);
                }
                let change = update_of(self, update, key, target, taken)?;
                let mut found = find(context, target, &change, parameters).await?;
                found.absorb(new);
                Ok(found)
            }
        }
    }
}

/// The keys whose conflicts matter.
fn keys_of(definition: &TableDefinition, target: Option<&ConflictTarget>) -> Result<Vec<KeyDefinition>> {
    match target {
        None => Ok(definition.unique_keys()),
        Some(ConflictTarget::OnConstraint(name)) => {
            let wanted = name.to_string();
            let found = definition.keys.iter().find(|key| key.name == wanted || format!("\"{}\"", key.name) == wanted);
            let missing = || {
                Error::invalid(
                    SqlState::UndefinedObject,
                    format!("table '{}' has no PRIMARY KEY and no UNIQUE that is called {wanted}", definition.name),
                )
            };
            Ok(vec![found.ok_or_else(missing)?.clone()])
        }
        Some(ConflictTarget::Columns(columns)) => {
            let names = columns.iter().map(|ident| column_name(definition, ident)).collect::<Result<Vec<String>>>()?;
            let mut ids = HashSet::new();
            for name in &names {
                ids.insert(crate::statements::ddl::alter::find(definition, name)?);
            }
            let same = |key: &KeyDefinition| key.columns.iter().copied().collect::<HashSet<_>>() == ids;
            let missing = || {
                Error::invalid(
                    SqlState::InvalidColumnReference,
                    format!(
                        "ON CONFLICT ({}): these columns are not the PRIMARY KEY of table '{}' and not UNIQUE",
                        names.join(", "),
                        definition.name
                    ),
                )
            };
            Ok(vec![definition.unique_keys().into_iter().find(same).ok_or_else(missing)?])
        }
    }
}

/// The new rows that no record of the table has a key of, and no row before them that is inserted.
async fn free_of_all(target: &TargetTable, keys: &[KeyDefinition], proposed: &[RecordBatch]) -> Result<Vec<bool>> {
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        found.push(conflicts(target, key, proposed).await?);
    }
    let conflicts = found;
    let mut taken: Vec<HashSet<usize>> = vec![HashSet::new(); conflicts.len()];
    let rows = proposed.iter().map(RecordBatch::num_rows).sum();
    let mut free = Vec::with_capacity(rows);
    for row in 0..rows {
        let own = || conflicts.iter().zip(&taken);
        let is_free = own().all(|(key, taken)| !key.exists[row] && !taken.contains(&key.first[row]));
        if is_free {
            for (key, taken) in conflicts.iter().zip(&mut taken) {
                taken.insert(key.first[row]);
            }
        }
        free.push(is_free);
    }
    Ok(free)
}

/// What new rows meet, found off the threads that drive queries.
async fn conflicts(target: &TargetTable, key: &KeyDefinition, proposed: &[RecordBatch]) -> Result<Conflicts> {
    let (table, key, proposed) = (Arc::clone(&target.table), key.clone(), proposed.to_vec());
    blocking(move || Ok(Conflicts::find(&table, &key, &proposed)?)).await
}

/// The rows for which it is true.
fn pick(proposed: &[RecordBatch], which: &[bool]) -> Result<Vec<RecordBatch>> {
    let (mut rest, mut picked) = (which, Vec::new());
    for batch in proposed {
        let (own, others) = rest.split_at(batch.num_rows());
        let batch = filter_record_batch(batch, &BooleanArray::from(own.to_vec()))?;
        picked.extend(Some(batch).filter(|batch| batch.num_rows() > 0));
        rest = others;
    }
    Ok(picked)
}

/// `UPDATE t SET … FROM excluded WHERE t.key = excluded.key AND …`.
fn update_of(
    upsert: &Upsert,
    update: &DoUpdate,
    key: &KeyDefinition,
    target: &TargetTable,
    taken: Vec<RecordBatch>,
) -> Result<RecordChange> {
    let definition = &target.table.definition;
    let mut from = from_table(&upsert.table)?;
    let own = upsert.alias.as_ref().or_else(|| upsert.table.0.last()?.as_ident()).cloned();
    if let (TableFactor::Table { alias, .. }, Some(name)) = (&mut from.relation, upsert.alias.clone()) {
        *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
    }
    let own = own.ok_or_else(|| unsupported(format!("INSERT INTO {} with ON CONFLICT", upsert.table)))?;
    let mut excluded = from_table(&upsert.table)?.relation;
    if let TableFactor::Table { alias, .. } = &mut excluded {
        let name = Ident::with_quote('"', EXCLUDED);
        *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
    }
    let equal = key.columns.iter().filter_map(|id| definition.column_by_id(*id)).map(|column| {
        let of = |table: &Ident| {
            Box::new(SqlExpr::CompoundIdentifier(vec![table.clone(), Ident::with_quote('"', &column.name)]))
        };
        let excluded = of(&Ident::with_quote('"', EXCLUDED));
        SqlExpr::BinaryOp { left: of(&own), op: BinaryOperator::Eq, right: excluded }
    });
    let all = |left, right| SqlExpr::BinaryOp { left: Box::new(left), op: BinaryOperator::And, right: Box::new(right) };
    let condition = equal.reduce(all).ok_or_else(|| Error::Internal("a key without columns".into()))?;
    let join_operator = JoinOperator::Inner(JoinConstraint::On(condition));
    from.joins.push(Join { relation: excluded, global: false, join_operator });
    let assignments = change::assignments(update.assignments.clone())?;
    let rows = MemTable::try_new(definition.arrow_schema(), vec![taken])?;
    Ok(RecordChange {
        assignments,
        condition: update.selection.clone(),
        returning: upsert.returning.clone(),
        with: upsert.with.clone(),
        excluded: Some(Arc::new(rows)),
        replaces: true,
        before: upsert.before.clone(),
        ..RecordChange::of("INSERT … ON CONFLICT DO UPDATE", upsert.table.clone(), vec![from])
    })
}

impl FoundRecords {
    /// New rows, which have the table's columns.
    pub(crate) async fn insert(
        context: &StatementContext,
        target: &TargetTable,
        rows: Vec<RecordBatch>,
        returning: bool,
    ) -> Result<Self> {
        let writer = target.store.table_writer(&target.table)?;
        let records = rows.iter().map(|batch| batch.num_rows() as u64).sum();
        let returned = if returning { rows.clone() } else { Vec::new() };
        let written = blocking(move || {
            rows.into_iter().filter(|batch| batch.num_rows() > 0).try_for_each(|batch| writer.append(0, batch))?;
            Ok(writer.finish()?)
        });
        Self::of_new(context, target, New::Rows(written.await?), records, returned)
    }
}
