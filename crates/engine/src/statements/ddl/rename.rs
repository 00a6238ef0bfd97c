//! ALTER … RENAME TO of views, indexes, sequences and schemas.

use crate::session::{BARE_NAMES, Outcome, Severity, StatementContext, sequence_defaults};
use crate::sql::define::ObjectKind;
use crate::sql::names::fold;
use crate::statements::ddl::{following_views, index, objects, sequence};
use crate::statements::{table_reference, write};
use crate::{Error, Result};
use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{DEFAULT_SCHEMA, SqlState, TableDefinition, TableName};
use std::sync::Arc;

/// Runs ALTER … RENAME TO.
pub(crate) async fn run(
    context: &StatementContext,
    kind: ObjectKind,
    if_exists: bool,
    name: &ObjectName,
    to: &Ident,
) -> Result<Outcome> {
    let to = fold(to);
    if to.is_empty() {
        return Err(Error::invalid(SqlState::InvalidName, "a name can't be empty"));
    }
    let renamed = match kind {
        ObjectKind::Schema => schema(context, name, to).await,
        ObjectKind::Sequence => rename_sequence(context, name, to).await,
        ObjectKind::Index => rename_index(context, name, to).await,
        ObjectKind::View => view(context, name, to).await,
        ObjectKind::Table => Err(Error::Internal("ALTER TABLE … RENAME is the parser's".into())),
    };
    match renamed {
        Err(Error::InvalidInput(problem))
            if if_exists && matches!(problem.state, SqlState::UndefinedTable | SqlState::UndefinedObject) =>
        {
            let text = format!("{} '{name}' does not exist, skipped", kind.keyword().to_lowercase());
            context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
            Ok(Outcome::Done)
        }
        renamed => renamed.map(|()| Outcome::Done),
    }
}

/// The kind of what has that name and is no table.
pub(crate) fn kind_of(context: &StatementContext, reference: &TableReference) -> Result<Option<ObjectKind>> {
    let name = context.name(reference)?;
    for (snapshot, _) in context.stores() {
        if snapshot.views.contains_key(&name) {
            return Ok(Some(ObjectKind::View));
        }
        if snapshot.sequences.contains_key(&name) {
            return Ok(Some(ObjectKind::Sequence));
        }
        let mut tables = snapshot.definitions().filter(|(table, _)| table.schema == name.schema);
        if tables.any(|(_, table)| table.index_names().any(|index| *index == name.table)) {
            return Ok(Some(ObjectKind::Index));
        }
    }
    Ok(None)
}

async fn schema(context: &StatementContext, name: &ObjectName, to: String) -> Result<()> {
    let from = objects::schema_of(name)?;
    if to == BARE_NAMES || to == "information_schema" {
        let text = format!("schema '{to}' is Gingham's own; choose another name");
        return Err(Error::invalid(SqlState::InsufficientPrivilege, text));
    }
    if from == DEFAULT_SCHEMA || from == "information_schema" {
        let text = format!("schema '{from}' can't be renamed");
        return Err(Error::invalid(SqlState::InsufficientPrivilege, text));
    }
    let moved =
        |name: &TableName| (name.schema == from).then(|| TableName { schema: to.clone(), table: name.table.clone() });
    let mut views = following_views::with_relations_renamed(&context.snapshot, &moved);
    for view in &mut views {
        view.name = moved(&view.name).unwrap_or_else(|| view.name.clone());
    }
    let changed = with_sequences_renamed(&context.snapshot, |sequence| {
        (sequence.schema == from).then(|| TableName { schema: to.clone(), table: sequence.table.clone() })
    });
    let store = Arc::clone(&context.session.engine.store);
    write(context, &store, move |transaction| {
        changed.into_iter().try_for_each(|definition| transaction.alter_table(definition))?;
        transaction.rename_schema(&from, &to)?;
        Ok(views.into_iter().try_for_each(|view| transaction.create_view(view, true))?)
    })
    .await
}

/// The definitions of tables whose defaults ask sequences that get other names.
fn with_sequences_renamed(snapshot: &Snapshot, to: impl Fn(&TableName) -> Option<TableName>) -> Vec<TableDefinition> {
    let renamed: Vec<(&TableName, TableName)> =
        snapshot.sequences.keys().filter_map(|from| Some((from, to(from)?))).collect();
    let mut changed = Vec::new();
    for (_, table) in snapshot.definitions() {
        let mut after = (**table).clone();
        for column in &mut after.columns {
            for (from, to) in &renamed {
                let default = column.default.as_ref().and_then(|text| sequence_defaults::renamed(text, from, to));
                column.default = default.or(column.default.take());
            }
        }
        if after != **table {
            changed.push(after);
        }
    }
    changed
}

async fn rename_sequence(context: &StatementContext, name: &ObjectName, to: String) -> Result<()> {
    let reference = table_reference(name)?;
    let Some((record, store)) = sequence::find(context, &reference)? else {
        return Err(sequence::unknown(context, &reference)?);
    };
    let from = record.definition.name.clone();
    let new = TableName { schema: from.schema.clone(), table: to };
    let snapshot = sequence::snapshot_of(context, &store);
    let changed = with_sequences_renamed(&snapshot, |sequence| (*sequence == from).then(|| new.clone()));
    let number = record.definition.number;
    write(context, &store, move |transaction| {
        changed.into_iter().try_for_each(|definition| transaction.alter_table(definition))?;
        let mut definition = transaction.sequence(number)?.definition;
        definition.name = new;
        Ok(transaction.alter_sequence(definition, None)?)
    })
    .await
}

async fn rename_index(context: &StatementContext, name: &ObjectName, to: String) -> Result<()> {
    let (store, definition, from) = index::named(context, name)?;
    let snapshot = sequence::snapshot_of(context, &store);
    index::require_free(&snapshot, &definition.name.schema, &to)?;
    let table = definition.id;
    write(context, &store, move |transaction| {
        let mut definition = (*index::definition_of(transaction.base(), table)?).clone();
        if definition.keys.iter().any(|key| key.name == from) {
            definition.rename_constraint(&from, &to);
        } else {
            definition.rename_index(&from, &to);
        }
        Ok(transaction.relabel_table(definition)?)
    })
    .await
}

async fn view(context: &StatementContext, name: &ObjectName, to: String) -> Result<()> {
    let (store, from) = objects::view_named(context, name)?;
    let snapshot = sequence::snapshot_of(context, &store);
    let to = TableName { schema: from.schema.clone(), table: to };
    let views = following_views::with_relations_renamed(&snapshot, &|name| (*name == from).then(|| to.clone()));
    write(context, &store, move |transaction| {
        transaction.rename_view(&from, &to)?;
        Ok(views.into_iter().try_for_each(|view| transaction.create_view(view, true))?)
    })
    .await
}
