//! ALTER TABLE that writes all records anew, or has to look at them by a query first: as a transaction that has the write lock from the
//! start, so that nobody changes the table meanwhile.

use crate::session::{StatementContext, TargetTable, blocking};
use crate::sql::quoted::quoted;
use crate::statements::ddl::alter::{Change, plan};
use crate::statements::ddl::identity::{self, ColumnSequence};
use crate::statements::ddl::{alter_constraint, existing, following_views, objects, sequence};
use crate::statements::dml::ingest::Ingest;
use crate::statements::dml::pipeline;
use crate::statements::{query_of, writable, write};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{AlterTableOperation, ObjectName};
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::write::{CheckedRows, Transaction, WrittenRows};
use gingham_storage::{ColumnId, Generation, TableDefinition, TableName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How records are written anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rewrite {
    /// Expressions over the table as it was, of the columns that are not what they were.
    pub(crate) values: BTreeMap<ColumnId, String>,
}

/// Runs the operations.
pub(crate) async fn run(
    context: &StatementContext,
    name: &ObjectName,
    operations: &[AlterTableOperation],
) -> Result<()> {
    let (name, operations) = (name.clone(), operations.to_vec());
    let store = writable(context, &name, "ALTER TABLE")?.store;
    context.all_or_nothing(&store, |context| async move { attempt(&context, &name, &operations).await }).await
}

async fn attempt(context: &StatementContext, name: &ObjectName, operations: &[AlterTableOperation]) -> Result<()> {
    let target = writable(context, name, "ALTER TABLE")?;
    let snapshot = sequence::snapshot_of(context, &target.store);
    let mut change = plan(context, &snapshot, &target, operations)?;
    let mut made = Vec::new();
    if !change.sequences.is_empty() {
        let (sequences, mut after) = (std::mem::take(&mut change.sequences), change.after.clone());
        (change.after, made) = write(context, &target.store, move |transaction| {
            let made = ColumnSequence::make(&sequences, transaction, &mut after)?;
            Ok((after, made))
        })
        .await?;
    }
    let verified = match change.rewrite {
        Some(_) => CheckedRows::default(),
        None => alter_constraint::verify(context, &target, &change.after).await?,
    };
    let rows = match change.rewrite.take() {
        Some(rewrite) => Some(read(context, &target, &change.after, &rewrite).await?),
        None => None,
    };
    let (own, table, version) = (context.clone(), target.table.definition.id, target.table.version);
    write(context, &target.store, move |transaction| {
        let now = transaction.base().table_by_id(table).cloned();
        let Some(now) = now.filter(|now| now.version == version) else {
            return Err(Error::Conflict(
                "the table was changed while its records were read; run ALTER TABLE again".into(),
            ));
        };
        if rows.is_none() {
            existing::check(&own, &now, &change.after)?;
        }
        let (id, after) = (change.after.id, change.after.clone());
        put(transaction, change, Some((rows, verified)))?;
        identity::give(transaction, id, &after, &made)
    })
    .await
}

/// Puts a changed definition in the place of the one before, with its records, when these were written anew. Views follow its names.
pub(crate) fn put(
    transaction: &mut Transaction<'_>,
    change: Change,
    found: Option<(Option<WrittenRows>, CheckedRows)>,
) -> Result<()> {
    let Change { before, after, dependents, retyped, .. } = change;
    objects::drop_dependents(transaction, &dependents)?;
    let mut views = Vec::new();
    if before.name != after.name {
        let to = |name: &TableName| (*name == before.name).then(|| after.name.clone());
        views = following_views::with_relations_renamed(transaction.base(), &to);
    }
    if before.columns != after.columns {
        views.extend(following_views::with_columns_renamed(transaction.base(), &before, &after));
    }
    for (sequence, bits) in retyped {
        let record = transaction.sequence(sequence)?;
        transaction.alter_sequence(sequence::of_bits(&record, bits)?, None)?;
    }
    put_definition(transaction, after, found)?;
    views.retain(|view| !dependents.views.contains(&view.name));
    Ok(views.into_iter().try_for_each(|view| transaction.create_view(view, true))?)
}

fn put_definition(
    transaction: &mut Transaction<'_>,
    after: TableDefinition,
    found: Option<(Option<WrittenRows>, CheckedRows)>,
) -> Result<()> {
    match found {
        Some((Some(rows), _)) => Ok(transaction.rewrite_table(after, rows)?),
        Some((None, verified)) => Ok(transaction.alter_table_knowing(after, &verified)?),
        // CHECK and NOT NULL were asked of the records already.
        None => {
            let verified = CheckedRows { not_null: true, ..CheckedRows::default() };
            Ok(transaction.alter_table_knowing(after, &verified)?)
        }
    }
}

/// Reads the records of a table as those of another definition, and writes them, for nobody to see yet.
async fn read(
    context: &StatementContext,
    target: &TargetTable,
    after: &TableDefinition,
    rewrite: &Rewrite,
) -> Result<WrittenRows> {
    let before = &target.table.definition;
    let mut given = Vec::new();
    let mut items = Vec::new();
    for column in &after.columns {
        if matches!(column.generation, Some(Generation::Stored(_))) {
            continue;
        }
        let old = before.column_by_id(column.id).map(|old| quoted(&old.name));
        if let Some(value) = rewrite.values.get(&column.id).cloned().or(old) {
            items.push(format!("{value} AS {}", quoted(&format!("column{}", given.len() + 1))));
            given.push(column.name.clone());
        }
    }
    if items.is_empty() {
        return Err(Error::Unsupported(format!(
            "ALTER TABLE of '{}' leaves none of its columns; create another table",
            before.name
        )));
    }
    let is_main = Arc::ptr_eq(&target.store, &context.session.engine.store);
    let table = match is_main {
        true => format!("{}.{}", quoted(&before.name.schema), quoted(&before.name.table)),
        false => quoted(&before.name.table),
    };
    let query = query_of(&format!("SELECT {} FROM {table}", items.join(", ")))?;
    let plan = context.bind(query, None).await?.plan;
    // What is NOT VALID is not asked of records that exist.
    let mut asked = after.clone();
    asked.checks.retain(|check| !after.not_valid.contains(&check.name));
    let empty = Arc::new(TableSnapshot::empty(asked));
    let ingest = Ingest::new(context, &target.store, &empty, Some(&given))?;
    ingest.converter().accept(plan.schema().as_arrow())?;
    let plan = pipeline::sorted(plan, after, Some(&given))?;
    let ingest = pipeline::fill(context, context.physical_plan(plan).await?, ingest).await?;
    blocking(move || ingest.written()).await
}
