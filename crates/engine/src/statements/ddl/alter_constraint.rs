//! ALTER TABLE … ADD, DROP and RENAME CONSTRAINT, over records that exist: those are asked by queries whether they keep it.

use crate::session::{StatementContext, TargetTable};
use crate::sql::names::{fold, unsupported};
use crate::sql::quoted::quoted;
use crate::statements::ddl::alter::Change;
use crate::statements::ddl::cascade::still_needed;
use crate::statements::ddl::constraints::{ConstraintScope, Constraints};
use crate::statements::query_of;
use crate::{Error, Result};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::sql::sqlparser::ast::{ConstraintUsingIndex, TableConstraint};
use futures::TryStreamExt;
use gingham_storage::snapshot::Snapshot;
use gingham_storage::write::CheckedRows;
use gingham_storage::{KeyDefinition, ReferenceDefinition, SqlState, TableDefinition};
use std::sync::Arc;

/// Adds a constraint of the table.
pub(crate) fn add(
    scope: &ConstraintScope<'_>,
    change: &mut Change,
    constraint: &TableConstraint,
    not_valid: bool,
) -> Result<()> {
    let can_wait = matches!(constraint, TableConstraint::Check(_) | TableConstraint::ForeignKey(_));
    if not_valid && !can_wait {
        return Err(unsupported("a constraint that is NOT VALID and neither a CHECK nor a FOREIGN KEY".into()));
    }
    match constraint {
        TableConstraint::PrimaryKeyUsingIndex(using) => return use_index(change, using, true),
        TableConstraint::UniqueUsingIndex(using) => return use_index(change, using, false),
        _ => {}
    }
    let mut constraints = Constraints::default();
    constraints.add(constraint)?;
    let (keys, before) = (change.after.keys.len(), change.after.columns.clone());
    let known: Vec<String> = change.after.constraint_names().cloned().collect();
    constraints.apply(scope, &mut change.after)?;
    if not_valid {
        let new: Vec<String> = change.after.constraint_names().filter(|name| !known.contains(name)).cloned().collect();
        change.after.not_valid.extend(new);
    }
    let tightened = before.iter().zip(&change.after.columns).any(|(before, after)| before.nullable != after.nullable);
    if change.after.keys.len() > keys {
        change.rewrites_pages();
    } else if tightened {
        change.reshapes_pages();
    }
    Ok(())
}

/// ADD … USING INDEX: the index becomes that of the constraint, which has its name unless another is given.
fn use_index(change: &mut Change, using: &ConstraintUsingIndex, primary: bool) -> Result<()> {
    if using.characteristics.is_some() {
        return Err(unsupported("a constraint USING INDEX that is deferrable".into()));
    }
    let name = fold(&using.index_name);
    let definition = &mut change.after;
    let found = definition.indexes.iter().position(|index| index.name == name && !index.of_constraint);
    let key = definition.keys.iter().position(|key| key.name == name && definition.is_of_index(&name));
    let is_plain = definition.recorded.iter().any(|index| index.name == name && !index.unique);
    let columns = match (found, key) {
        (Some(at), _) if definition.indexes[at].unique => definition.indexes.remove(at).columns,
        // Of a table in segments, a unique index is a key already.
        (None, Some(at)) => {
            definition.recorded.retain(|index| index.name != name);
            definition.keys.remove(at).columns
        }
        (found, None) if found.is_some() || is_plain => {
            return Err(Error::invalid(SqlState::WrongObjectType, format!("index '{name}' is not unique")));
        }
        _ => {
            return Err(Error::invalid(
                SqlState::UndefinedObject,
                format!("table '{}' has no index '{name}'", definition.name),
            ));
        }
    };
    if primary && definition.keys.iter().any(|key| key.primary) {
        return Err(Error::invalid(
            SqlState::InvalidTableDefinition,
            format!("table '{}' has two PRIMARY KEYs", definition.name),
        ));
    }
    let given = using.name.as_ref().map_or(name.clone(), fold);
    if definition.constraint_names().any(|other| *other == given) {
        return Err(Error::invalid(SqlState::DuplicateObject, format!("constraint '{given}' already exists")));
    }
    if given != name {
        change.said.push(format!("index '{name}' is called '{given}' now, as its constraint is"));
    }
    if primary {
        let own = definition.columns.iter_mut().filter(|column| columns.contains(&column.id));
        own.for_each(|column| column.nullable = false);
    }
    definition.keys.push(KeyDefinition { name: given, columns, primary });
    change.rewrites_pages();
    Ok(())
}

/// VALIDATE CONSTRAINT: the records that exist are asked for one that was NOT VALID.
pub(crate) fn validate(change: &mut Change, name: &str) -> Result<()> {
    require(&change.after, name)?;
    if change.after.keys.iter().any(|key| key.name == name) {
        let text = format!("constraint '{name}' of table '{}' is neither a CHECK nor a FOREIGN KEY", change.after.name);
        return Err(Error::invalid(SqlState::WrongObjectType, text));
    }
    change.after.not_valid.retain(|own| own != name);
    Ok(())
}

/// Refuses the name of a constraint that the table does not have.
pub(crate) fn require(definition: &TableDefinition, name: &str) -> Result<()> {
    if definition.constraint_names().any(|own| own == name) {
        return Ok(());
    }
    let names: Vec<String> = definition.constraint_names().cloned().collect();
    let suggestion = crate::session::did_you_mean(name, names.iter().map(String::as_str));
    Err(Error::invalid(
        SqlState::UndefinedObject,
        format!("table '{}' has no constraint '{name}'{suggestion}", definition.name),
    ))
}

/// Drops a constraint. With `cascade` the references to a key go too.
pub(crate) fn drop_constraint(
    snapshot: &Snapshot,
    change: &mut Change,
    name: &str,
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    if let Err(error) = require(&change.after, name) {
        if if_exists {
            change.said.push(format!("constraint '{name}' of table '{}' does not exist, skipped", change.after.name));
            return Ok(());
        }
        return Err(error);
    }
    if let Some(key) = change.after.keys.iter().find(|key| key.name == name).cloned() {
        let own = change.after.id;
        let others: Vec<&KeyDefinition> = change.after.keys.iter().filter(|key| key.name != name).collect();
        let same = |key: &KeyDefinition, reference: &ReferenceDefinition| {
            key.columns.len() == reference.referred.len()
                && reference.referred.iter().all(|column| key.columns.contains(column))
        };
        let needs = |reference: &&ReferenceDefinition| {
            reference.table == own && same(&key, reference) && !others.iter().any(|other| same(other, reference))
        };
        let mut found = Vec::new();
        for (table, other) in snapshot.definitions() {
            found
                .extend(other.references.iter().filter(needs).map(|reference| (table.clone(), reference.name.clone())));
        }
        if !found.is_empty() && !cascade {
            let words: Vec<String> =
                found.iter().map(|(table, name)| format!("constraint '{name}' of table '{table}'")).collect();
            return Err(still_needed(&format!("constraint '{name}' of table '{}'", change.after.name), &words));
        }
        for (table, constraint) in found {
            change.said.push(format!("drop cascades to constraint '{constraint}' of table '{table}'"));
            if table == change.after.name {
                change.after.references.retain(|reference| reference.name != constraint);
            } else {
                change.dependents.constraints.push((table, constraint));
            }
        }
    }
    change.after.keys.retain(|key| key.name != name);
    change.after.checks.retain(|check| check.name != name);
    change.after.references.retain(|reference| reference.name != name);
    Ok(())
}

/// Gives a constraint another name.
pub(crate) fn rename(snapshot: &Snapshot, change: &mut Change, from: &str, to: &str) -> Result<()> {
    require(&change.after, from)?;
    if from == to {
        return Ok(());
    }
    if change.after.constraint_names().any(|own| own == to) {
        return Err(Error::invalid(
            SqlState::DuplicateObject,
            format!("constraint '{to}' of table '{}' already exists", change.after.name),
        ));
    }
    if change.after.keys.iter().any(|key| key.name == from) {
        crate::statements::ddl::index::require_free(snapshot, &change.after.name.schema, to)?;
    }
    change.after.rename_constraint(from, to);
    Ok(())
}

/// The keys and references that are new, over columns that exist.
fn new_over_existing<'a>(
    before: &TableDefinition,
    after: &'a TableDefinition,
) -> (Vec<&'a KeyDefinition>, Vec<&'a ReferenceDefinition>) {
    let exists = |columns: &[u32]| columns.iter().all(|column| before.column_by_id(*column).is_some());
    let known = |key: &KeyDefinition| {
        let same = |other: &KeyDefinition| other.columns == key.columns && (other.primary || !key.primary);
        before.keys.iter().any(same)
    };
    let keys = after.keys.iter().filter(|key| exists(&key.columns) && !known(key)).collect();
    let known = |reference: &ReferenceDefinition| {
        let same = |other: &ReferenceDefinition| {
            (&other.columns, other.table, &other.referred) == (&reference.columns, reference.table, &reference.referred)
        };
        let is_held = |other: &ReferenceDefinition| !before.not_valid.contains(&other.name) && same(other);
        after.not_valid.contains(&reference.name) || before.references.iter().any(is_held)
    };
    let references = after.references.iter().filter(|own| exists(&own.columns) && !known(own)).collect();
    (keys, references)
}

/// Whether queries have to tell whether the records keep what is new.
pub(crate) fn asks(before: &TableDefinition, after: &TableDefinition) -> bool {
    let (keys, references) = new_over_existing(before, after);
    !keys.is_empty() || !references.is_empty()
}

/// Asks the records of a table for the keys and references that are new.
pub(crate) async fn verify(
    context: &StatementContext,
    target: &TargetTable,
    after: &TableDefinition,
) -> Result<CheckedRows> {
    let before = &target.table.definition;
    let (keys, references) = new_over_existing(before, after);
    let is_main = Arc::ptr_eq(&target.store, &context.session.engine.store);
    let place = |name: &gingham_storage::TableName| match is_main {
        true => format!("{}.{}", quoted(&name.schema), quoted(&name.table)),
        false => quoted(&name.table),
    };
    let table = place(&before.name);
    let mut verified = CheckedRows { constraints: Vec::new(), not_null: true };
    for key in keys {
        let names = names_of(before, &key.columns);
        let list = names.join(", ");
        let given = names.iter().map(|name| format!("{name} IS NOT NULL")).collect::<Vec<_>>().join(" AND ");
        let sql = format!("SELECT {list} FROM {table} WHERE {given} GROUP BY {list} HAVING count(*) > 1 LIMIT 1");
        if let Some(values) = first_row(context, &sql).await? {
            let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
            return Err(Error::constraint(
                SqlState::UniqueViolation,
                format!(
                    "{kind} ({list}) can't hold: several records of table '{}' have ({list}) = ({}) (constraint '{}')",
                    before.name,
                    values.join(", "),
                    key.name
                ),
            ));
        }
        verified.constraints.push(key.name.clone());
    }
    let snapshot = crate::statements::ddl::sequence::snapshot_of(context, &target.store);
    for reference in references {
        let referred = if reference.table == before.id {
            Some(before.as_ref())
        } else {
            snapshot.definitions().map(|(_, other)| other.as_ref()).find(|other| other.id == reference.table)
        };
        let Some(referred) = referred else { continue };
        let (own, theirs) = (names_of(before, &reference.columns), names_of(referred, &reference.referred));
        let equal: Vec<String> =
            own.iter().zip(&theirs).map(|(own, theirs)| format!("referring.{own} = referred.{theirs}")).collect();
        let given: Vec<String> = own.iter().map(|name| format!("referring.{name} IS NOT NULL")).collect();
        let shown: Vec<String> = own.iter().map(|name| format!("referring.{name}")).collect();
        let sql = format!(
            "SELECT {} FROM {table} AS referring WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS referred WHERE {}) LIMIT 1",
            shown.join(", "),
            given.join(" AND "),
            place(&referred.name),
            equal.join(" AND ")
        );
        if let Some(values) = first_row(context, &sql).await? {
            return Err(Error::constraint(
                SqlState::ForeignKeyViolation,
                format!(
                    "({}) = ({}) of table '{}' does not exist in table '{}' (constraint '{}')",
                    own.join(", "),
                    values.join(", "),
                    before.name,
                    referred.name,
                    reference.name
                ),
            ));
        }
        verified.constraints.push(reference.name.clone());
    }
    Ok(verified)
}

fn names_of(definition: &TableDefinition, columns: &[u32]) -> Vec<String> {
    columns.iter().filter_map(|id| definition.column_by_id(*id)).map(|column| quoted(&column.name)).collect()
}

/// The values of the first row of a query, as texts.
pub(crate) async fn first_row(context: &StatementContext, sql: &str) -> Result<Option<Vec<String>>> {
    let plan = context.bind(query_of(sql)?, None).await?.plan;
    let batches: Vec<_> = context.rows(plan).await?.try_collect().await?;
    let Some(batch) = batches.into_iter().find(|batch| batch.num_rows() > 0) else { return Ok(None) };
    let options = FormatOptions::default();
    let values = batch.columns().iter().map(|column| {
        let text = ArrayFormatter::try_new(column.as_ref(), &options).map(|formatter| formatter.value(0).to_string());
        text.map_err(Error::from)
    });
    values.collect::<Result<Vec<String>>>().map(Some)
}
