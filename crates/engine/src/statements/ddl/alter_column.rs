//! ALTER TABLE … ALTER COLUMN and DROP COLUMN.

use crate::sql::column_types::logical_type;
use crate::sql::define::SequenceOptions;
use crate::sql::names::column_name;
use crate::sql::quoted::quoted;
use crate::statements::ddl::alter::{Change, find, uses_column};
use crate::statements::ddl::cascade::{Dependents, still_needed};
use crate::statements::ddl::constraints::ConstraintScope;
use crate::statements::ddl::identity::{self, ColumnSequence};
use crate::statements::ddl::{definition, following_views};
use crate::statements::dml::ingest::is_automatic;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{AlterColumnOperation, DataType, Expr, GeneratedAs, Ident};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{ColumnId, Generation, LogicalType, SqlState, TableDefinition, TableName};

/// Changes one column.
pub(crate) fn alter(
    scope: &ConstraintScope<'_>,
    change: &mut Change,
    name: &Ident,
    operation: &AlterColumnOperation,
) -> Result<()> {
    let name = column_name(&change.after, name)?;
    let id = find(&change.after, &name)?;
    match operation {
        AlterColumnOperation::SetNotNull => set_nullable(change, id, false),
        AlterColumnOperation::DropNotNull => {
            let key = change.after.keys.iter().find(|key| key.primary && key.columns.contains(&id));
            if let Some(key) = key {
                return Err(Error::invalid(
                    SqlState::InvalidTableDefinition,
                    format!("column '{name}' is in the PRIMARY KEY '{}', and stays NOT NULL", key.name),
                ));
            }
            let column = change.after.column_by_id(id);
            if column.is_some_and(|column| matches!(column.generation, Some(Generation::Identity { .. }))) {
                return Err(Error::invalid(
                    SqlState::SyntaxError,
                    format!("column '{name}' is an identity column, and stays NOT NULL"),
                ));
            }
            set_nullable(change, id, true)
        }
        AlterColumnOperation::SetDefault { value } => set_default(scope, change, id, Some(value.to_string())),
        AlterColumnOperation::DropDefault => set_default(scope, change, id, None),
        AlterColumnOperation::SetDataType { data_type, using, had_set: _ } => {
            set_type(scope, change, id, data_type, using.as_ref())
        }
        AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
            let options = SequenceOptions::of_column(sequence_options.as_deref().unwrap_or_default());
            let options = options.map_err(datafusion::error::DataFusionError::from)?;
            let always = !matches!(generated_as, Some(GeneratedAs::ByDefault));
            add_identity(change, id, always, &options)
        }
    }
}

fn set_nullable(change: &mut Change, id: ColumnId, nullable: bool) -> Result<()> {
    let Some(column) = change.after.columns.iter_mut().find(|column| column.id == id) else { return Ok(()) };
    if column.nullable != nullable {
        column.nullable = nullable;
        change.reshapes_pages();
    }
    Ok(())
}

fn set_default(scope: &ConstraintScope<'_>, change: &mut Change, id: ColumnId, text: Option<String>) -> Result<()> {
    let Some(column) = change.after.columns.iter_mut().find(|column| column.id == id) else { return Ok(()) };
    let (name, table) = (column.name.clone(), change.after.name.clone());
    let what = match column.generation {
        Some(Generation::Identity { .. }) => Some("an identity column; use ALTER COLUMN … DROP IDENTITY"),
        Some(Generation::Stored(_)) => Some("a generated column; use ALTER COLUMN … DROP EXPRESSION"),
        None => None,
    };
    if let Some(what) = what {
        return Err(Error::invalid(SqlState::SyntaxError, format!("column '{name}' of table '{table}' is {what}")));
    }
    column.default = text;
    match &column.default {
        Some(text) => definition::check_default(scope, column, text),
        None => Ok(()),
    }
}

fn add_identity(change: &mut Change, id: ColumnId, always: bool, options: &SequenceOptions) -> Result<()> {
    let Some(column) = change.after.column_by_id(id) else { return Ok(()) };
    let (name, logical_type) = (column.name.clone(), column.logical_type.clone());
    let wrong = |text: String| Err(Error::invalid(SqlState::ObjectNotInPrerequisiteState, text));
    if column.generation.is_some() {
        return wrong(format!("column '{name}' of table '{}' is generated already", change.after.name));
    }
    if column.default.is_some() {
        return wrong(format!("column '{name}' of table '{}' has a DEFAULT already; drop it first", change.after.name));
    }
    if column.nullable {
        return wrong(format!(
            "column '{name}' of table '{}' must be NOT NULL before it gets an identity",
            change.after.name
        ));
    }
    let definition = identity::sequence_for(&change.after, &name, &logical_type, options)?;
    change.sequences.push(ColumnSequence { column: id, definition, identity: Some(always) });
    Ok(())
}

/// The columns that a table's generated columns use, other than `id` itself.
fn used_by_generated(definition: &TableDefinition, name: &str) -> Result<Option<String>> {
    for column in &definition.columns {
        if let Some(Generation::Stored(text)) = &column.generation
            && uses_column(text, name)?
        {
            return Ok(Some(column.name.clone()));
        }
    }
    Ok(None)
}

fn set_type(
    scope: &ConstraintScope<'_>,
    change: &mut Change,
    id: ColumnId,
    data_type: &DataType,
    using: Option<&Expr>,
) -> Result<()> {
    let Some(column) = change.after.column_by_id(id) else { return Ok(()) };
    let (name, before) = (column.name.clone(), column.logical_type.clone());
    let after = logical_type(&name, data_type)?;
    if matches!(column.generation, Some(Generation::Stored(_))) && using.is_some() {
        return Err(Error::invalid(
            SqlState::InvalidTableDefinition,
            format!("column '{name}' is generated: its values have no USING"),
        ));
    }
    if let Some(generated) = used_by_generated(&change.after, &name)? {
        return Err(Error::Unsupported(format!(
            "the type of column '{name}' can't change: the generated column '{generated}' uses it"
        )));
    }
    let refers = |other: &TableDefinition| {
        let mut references = other.references.iter();
        references.any(|reference| reference.table == change.after.id && reference.referred.contains(&id))
    };
    let is_referred = scope.snapshot.definitions().any(|(_, other)| refers(other));
    let refers = change.after.references.iter().any(|reference| reference.columns.contains(&id));
    if (is_referred || refers) && before.to_arrow() != after.to_arrow() {
        return Err(Error::Unsupported(format!(
            "the type of column '{name}' can't change: a FOREIGN KEY compares it with a column of the other type; drop that first"
        )));
    }
    if let Some(column) = change.after.columns.iter_mut().find(|column| column.id == id) {
        column.logical_type = after.clone();
        if let Some(Generation::Identity { sequence, .. }) = &column.generation {
            let LogicalType::Int(bits @ (16 | 32 | 64)) = after else {
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!("identity column '{name}' is to be of type {after}, not SMALLINT, INTEGER or BIGINT"),
                ));
            };
            change.retyped.push((*sequence, bits));
        }
    }
    if let Some(column) = change.after.column_by_id(id)
        && let Some(text) = &column.default
    {
        definition::check_default(scope, column, text)
            .map_err(|error| error.about(format_args!("ALTER COLUMN {name} TYPE {data_type}")))?;
    }
    if before == after && using.is_none() {
        return Ok(());
    }
    let widens = match (&before, &after) {
        (LogicalType::Varchar(Some(_)), LogicalType::Varchar(None)) => true,
        (LogicalType::Varchar(Some(before)), LogicalType::Varchar(Some(after))) => before <= after,
        _ => false,
    };
    if widens && using.is_none() {
        return Ok(());
    }
    if using.is_none() && !is_automatic(&before, &after) {
        return Err(Error::invalid(
            SqlState::DatatypeMismatch,
            format!(
                "column '{name}' can't be cast automatically from {before} to {after}; say how: ALTER COLUMN {name} TYPE {data_type} \
                 USING {name}::{data_type}"
            ),
        ));
    }
    let value = match (using, &after) {
        (Some(using), _) => format!("({using})"),
        // A text that is too long is an error, and no shorter text.
        (None, LogicalType::Varchar(_) | LogicalType::Char(_))
            if matches!(before, LogicalType::Varchar(_) | LogicalType::Char(_)) =>
        {
            old_name(change, id, &name)
        }
        (None, LogicalType::Varchar(_) | LogicalType::Char(_)) => {
            format!("CAST({} AS TEXT)", old_name(change, id, &name))
        }
        (None, _) => format!("CAST({} AS {data_type})", old_name(change, id, &name)),
    };
    change.rewrites().values.insert(id, value);
    Ok(())
}

/// The name of a column in the table as it is.
fn old_name(change: &Change, id: ColumnId, name: &str) -> String {
    let old = change.before.column_by_id(id);
    quoted(old.map_or(name, |old| old.name.as_str()))
}

/// Drops a column. With `cascade` what needs it goes too: constraints over it, generated columns, references to it.
pub(crate) fn drop_column(snapshot: &Snapshot, change: &mut Change, name: &str, cascade: bool) -> Result<()> {
    let id = find(&change.after, name)?;
    let definition = &mut change.after;
    let used = |by: String| {
        Err(Error::constraint(SqlState::DependentObjectsStillExist, format!("column '{name}' can't be dropped: {by}")))
    };
    if definition.sort_by.contains(&id) {
        return used("the table is sorted by it".into());
    }
    let mut needing: Vec<String> = Vec::new();
    for check in &definition.checks {
        if uses_column(&check.condition, name)? {
            needing.push(check.name.clone());
        }
    }
    let keys = definition.keys.iter().filter(|key| key.columns.contains(&id)).map(|key| &key.name);
    let references = definition.references.iter().filter(|reference| reference.columns.contains(&id));
    needing.extend(keys.chain(references.map(|reference| &reference.name)).cloned());
    let mut others = Vec::new();
    for (table, other) in snapshot.definitions() {
        let own = other.references.iter();
        let own = own.filter(|reference| reference.table == definition.id && reference.referred.contains(&id));
        others.extend(own.map(|reference| (table.clone(), reference.name.clone())));
    }
    let mut generated = Vec::new();
    for column in definition.columns.iter().filter(|column| column.id != id) {
        if let Some(Generation::Stored(text)) = &column.generation
            && uses_column(text, name)?
        {
            generated.push(column.id);
        }
    }
    let naming = following_views::naming_column(snapshot, &change.before, id);
    let definition = &mut change.after;
    if !cascade {
        // As PostgreSQL has it, what is over this column alone goes with it; what others share is asked for.
        let mut words: Vec<String> = Vec::new();
        words.extend(others.iter().map(|(table, name)| format!("constraint '{name}' of table '{table}'")));
        words.extend(naming.iter().map(|view| format!("view '{view}'")));
        let names = generated.iter().filter_map(|id| definition.column_by_id(*id));
        words.extend(names.map(|column| format!("the generated column '{}'", column.name)));
        if !words.is_empty() {
            return Err(still_needed(&format!("column '{name}'"), &words));
        }
    }
    for constraint in &needing {
        definition.keys.retain(|key| key.name != *constraint);
        definition.checks.retain(|check| check.name != *constraint);
        definition.references.retain(|reference| reference.name != *constraint);
    }
    definition.indexes.retain(|index| !index.columns.contains(&id));
    definition.recorded.retain(|index| !index.columns.contains(&id));
    let gone = |column: ColumnId| column == id || generated.contains(&column);
    if definition.columns.iter().all(|column| gone(column.id)) {
        return used(format!("it is the only one of table '{}'", definition.name));
    }
    let names: Vec<String> = generated
        .iter()
        .filter_map(|id| definition.column_by_id(*id))
        .map(|column| format!("drop cascades to column '{}' of table '{}'", column.name, definition.name))
        .collect();
    definition.columns.retain(|column| !gone(column.id));
    definition.design.remove_column(id);
    generated.iter().for_each(|id| definition.design.remove_column(*id));
    change.said.extend(names);
    let mut naming: Vec<TableName> = naming;
    for column in &generated {
        naming.extend(following_views::naming_column(snapshot, &change.before, *column));
    }
    if !naming.is_empty() {
        let mut views = Dependents::of(snapshot, &naming).views;
        views.extend(naming);
        views.retain(|view| !change.dependents.views.contains(view));
        for view in views {
            if !change.dependents.views.contains(&view) {
                change.said.push(format!("drop cascades to view '{view}'"));
                change.dependents.views.push(view);
            }
        }
    }
    for (table, constraint) in others.into_iter().filter(|(table, _)| *table != definition.name) {
        change.said.push(format!("drop cascades to constraint '{constraint}' of table '{table}'"));
        change.dependents.constraints.push((table, constraint));
    }
    Ok(())
}
