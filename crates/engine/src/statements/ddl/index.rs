//! CREATE INDEX and DROP INDEX. Tables in heap pages have entries of their indexes; of others an index is recorded, and a unique one is
//! a key.

use crate::session::{Outcome, Severity, StatementContext, TargetTable, did_you_mean};
use crate::sql::names::fold;
use crate::sql::names::unsupported;
use crate::statements::ddl::sequence::has_relation;
use crate::statements::ddl::{alter_constraint, constraints};
use crate::statements::{table_reference, writable, write};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{CreateIndex, Expr, Ident, IndexColumn, IndexType, ObjectName};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::store::Store;
use gingham_storage::write::Transaction;
use gingham_storage::{ColumnId, KeyDefinition, RecordedIndex, SqlState, TableDefinition, TableId, TableName};
use std::sync::Arc;

/// Runs CREATE INDEX.
pub(crate) async fn create(context: &StatementContext, statement: CreateIndex) -> Result<Outcome> {
    let CreateIndex {
        name,
        table_name,
        using,
        columns,
        unique,
        concurrently,
        if_not_exists,
        include,
        nulls_distinct,
        with,
        predicate,
        index_options,
        alter_options,
    } = statement;
    let refused = [
        (!matches!(using, None | Some(IndexType::BTree | IndexType::Hash)), "a method other than btree and hash"),
        (nulls_distinct == Some(false), "NULLS NOT DISTINCT"),
        (!index_options.is_empty() || !alter_options.is_empty(), "options"),
        (predicate.is_some(), "WHERE"),
    ];
    if let Some((_, clause)) = refused.iter().find(|(given, _)| *given) {
        return Err(unsupported(format!("CREATE INDEX with {clause}")));
    }
    let (idents, ordered) = plain_columns(&columns)?;
    let target = writable(context, &table_name, "CREATE INDEX")?;
    let definition = &target.table.definition;
    let columns = constraints::find_columns(definition, &idents, "CREATE INDEX")?;
    constraints::find_columns(definition, &include, "INCLUDE")?;
    let idle = [
        (concurrently, "CONCURRENTLY: others that write wait until the index is made"),
        (using == Some(IndexType::Hash), "USING hash: the index is ordered"),
        (!include.is_empty(), "INCLUDE: an index has no columns but its own"),
        (ordered, "the order of an index's columns, ASC, DESC and NULLS, as it is read in both directions"),
        (!with.is_empty(), "the options of an index in WITH"),
    ];
    for (_, clause) in idle.iter().filter(|(given, _)| *given) {
        context.say(Severity::Notice, SqlState::SuccessfulCompletion, format!("without effect: {clause}"));
    }
    let given = name.as_ref().map(index_name).transpose()?;
    let snapshot = if Arc::ptr_eq(&target.store, &context.session.engine.store) {
        &context.snapshot
    } else {
        context.temp.as_ref().unwrap_or(&context.snapshot)
    };
    let name = match given {
        Some(name) => {
            if find(snapshot, &definition.name.schema, &name).is_some() && if_not_exists {
                let text = format!("index '{name}' exists already, skipped");
                context.say(Severity::Notice, SqlState::DuplicateTable, text);
                return Ok(Outcome::Done);
            }
            require_free(snapshot, &definition.name.schema, &name)?;
            name
        }
        None if if_not_exists => {
            return Err(Error::invalid(
                SqlState::SyntaxError,
                "CREATE INDEX IF NOT EXISTS needs the name of the index",
            ));
        }
        None => free_name(snapshot, definition, &columns),
    };
    if definition.design.heap.is_none() {
        record(context, &target, RecordedIndex { name, columns, unique }, &table_name).await?;
        return Ok(Outcome::Done);
    }
    let (table, cancel) = (definition.id, context.cancel.clone());
    write(context, &target.store, move |transaction| {
        Ok(transaction.create_index(table, &name, columns, unique, &|| !cancel.is_cancelled())?)
    })
    .await?;
    Ok(Outcome::Done)
}

/// The names of an index's columns, and whether an order of theirs is given. Expressions are refused.
fn plain_columns(columns: &[IndexColumn]) -> Result<(Vec<Ident>, bool)> {
    let (mut names, mut ordered) = (Vec::with_capacity(columns.len()), false);
    for column in columns {
        let Expr::Identifier(name) = &column.column.expr else {
            return Err(unsupported(format!("an index over an expression ({column})")));
        };
        if column.operator_class.is_some() || column.column.with_fill.is_some() {
            return Err(unsupported(format!("an index over {column} with an operator class")));
        }
        let options = &column.column.options;
        ordered |= options.asc.is_some() || options.nulls_first.is_some();
        names.push(name.clone());
    }
    Ok((names, ordered))
}

/// Records an index of a table in segments: zone maps do what it would, and a unique one is a key, which the records that exist are
/// asked for.
async fn record(
    context: &StatementContext,
    target: &TargetTable,
    index: RecordedIndex,
    table: &ObjectName,
) -> Result<()> {
    if !index.unique {
        let text = format!("index '{}' has no entries: the zone maps of table '{table}' do what it would", index.name);
        context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
        let number = target.table.definition.id;
        return write(context, &target.store, move |transaction| {
            let mut definition = (*definition_of(transaction.base(), number)?).clone();
            definition.recorded.push(index);
            Ok(transaction.alter_table(definition)?)
        })
        .await;
    }
    let (name, store) = (table.clone(), Arc::clone(&target.store));
    context
        .all_or_nothing(&store, |context| async move {
            let target = writable(&context, &name, "CREATE INDEX")?;
            let mut after = (*target.table.definition).clone();
            let RecordedIndex { name, columns, .. } = index.clone();
            if after.constraint_names().any(|constraint| *constraint == name) {
                return Err(Error::invalid(
                    SqlState::DuplicateTable,
                    format!("constraint '{name}' of table '{}' already exists", after.name),
                ));
            }
            after.keys.push(KeyDefinition { name, columns, primary: false });
            after.recorded.push(index);
            let verified = alter_constraint::verify(&context, &target, &after).await?;
            write(&context, &target.store, move |transaction| Ok(transaction.alter_table_knowing(after, &verified)?))
                .await
        })
        .await
}

/// The name of an index, which stands in the schema of its table.
fn index_name(name: &ObjectName) -> Result<String> {
    match name.0.as_slice() {
        [part] => part.as_ident().map(fold),
        _ => None,
    }
    .filter(|name| !name.is_empty())
    .ok_or_else(|| {
        Error::invalid(
            SqlState::InvalidName,
            format!("'{name}' is not the name of an index, which stands without a schema"),
        )
    })
}

/// `table_a_b_idx`, or that with a number behind it.
pub(crate) fn free_name(snapshot: &Snapshot, definition: &TableDefinition, columns: &[ColumnId]) -> String {
    let mut name = definition.name.table.clone();
    for column in columns.iter().filter_map(|id| definition.column_by_id(*id)) {
        name = format!("{name}_{}", column.name);
    }
    let candidates = std::iter::once(format!("{name}_idx")).chain((1..).map(|number| format!("{name}_idx{number}")));
    let mut free = candidates.filter(|name| find(snapshot, &definition.name.schema, name).is_none());
    free.next().unwrap_or(name)
}

/// The table of a schema's index, and whether the index came with a constraint; of two with the name one that did not, since a
/// constraint may take a name that an index has.
fn find<'s>(snapshot: &'s Snapshot, schema: &str, name: &str) -> Option<(&'s TableDefinition, bool)> {
    let tables = snapshot.definitions().map(|(_, definition)| &**definition);
    let own = tables.filter(|table| table.name.schema == schema);
    let named = own.filter_map(|table| {
        let of_constraint = table.keys.iter().any(|key| key.name == name);
        let is_own = table.indexes.iter().any(|index| index.name == name && !index.of_constraint)
            || table.recorded.iter().any(|index| index.name == name);
        (of_constraint || is_own).then_some((table, !is_own))
    });
    named.min_by_key(|(_, of_constraint)| *of_constraint)
}

/// The index of that name: its store, its table, and its own name. Keys have one each.
pub(crate) fn named(
    context: &StatementContext,
    name: &ObjectName,
) -> Result<(Arc<Store>, Arc<TableDefinition>, String)> {
    let reference = table_reference(name)?;
    let place = context.name(&reference)?;
    let mut known = Vec::new();
    for (snapshot, store) in context.stores() {
        if let Some((table, _)) = find(snapshot, &place.schema, &place.table) {
            return Ok((Arc::clone(store), definition_of(snapshot, table.id)?, place.table));
        }
        known.extend(snapshot.definitions().flat_map(|(_, table)| table.index_names().cloned().collect::<Vec<_>>()));
    }
    Err(Error::invalid(
        SqlState::UndefinedObject,
        format!("index '{place}' does not exist{}", did_you_mean(&place.table, known.iter().map(String::as_str))),
    ))
}

/// The definition of the table of that number.
pub(crate) fn definition_of(snapshot: &Snapshot, table: TableId) -> Result<Arc<TableDefinition>> {
    let mut all = snapshot.definitions().map(|(_, definition)| definition);
    let found = all.find(|definition| definition.id == table).cloned();
    found.ok_or_else(|| {
        Error::invalid(SqlState::ObjectNotInPrerequisiteState, "the table was dropped meanwhile; try again")
    })
}

/// Refuses the name of an index that an index, a table or a view of the schema has.
pub(crate) fn require_free(snapshot: &Snapshot, schema: &str, name: &str) -> Result<()> {
    if let Some((table, _)) = find(snapshot, schema, name) {
        return Err(Error::invalid(
            SqlState::DuplicateTable,
            format!("index '{name}' already exists, of table '{}'", table.name),
        ));
    }
    let relation = TableName { schema: schema.to_owned(), table: name.to_owned() };
    if has_relation(snapshot, &relation) {
        return Err(Error::invalid(SqlState::DuplicateTable, format!("'{relation}' already exists and is no index")));
    }
    Ok(())
}

/// Runs DROP INDEX: all that are named, or none; those of TEMP tables apart.
pub(crate) async fn drop_indexes(context: &StatementContext, names: &[ObjectName], if_exists: bool) -> Result<()> {
    let engine = &context.session.engine.store;
    let temp = context.temp.as_ref().zip(context.session.existing_temp_store());
    let stores: Vec<(&Arc<Snapshot>, &Arc<Store>)> = temp.into_iter().chain([(&context.snapshot, engine)]).collect();
    let mut found: Vec<(Arc<Store>, TableId, String)> = Vec::new();
    for name in names {
        let place = context.name(&table_reference(name)?)?;
        let holder = stores.iter().find_map(|(snapshot, store)| {
            find(snapshot, &place.schema, &place.table).map(|(table, of_constraint)| (*store, table, of_constraint))
        });
        match holder {
            Some((_, table, true)) => {
                return Err(Error::constraint(
                    SqlState::DependentObjectsStillExist,
                    format!(
                        "index '{}' can't be dropped: constraint '{}' of table '{}' needs it",
                        place.table, place.table, table.name
                    ),
                ));
            }
            Some((store, table, false)) => found.push((Arc::clone(store), table.id, place.table)),
            None if if_exists => {}
            None => {
                let tables = stores.iter().flat_map(|(snapshot, _)| snapshot.definitions());
                let known: Vec<String> =
                    tables.flat_map(|(_, table)| table.index_names().cloned().collect::<Vec<_>>()).collect();
                return Err(Error::invalid(
                    SqlState::UndefinedObject,
                    format!(
                        "index '{place}' does not exist{}",
                        did_you_mean(&place.table, known.iter().map(String::as_str))
                    ),
                ));
            }
        }
    }
    for (_, store) in stores {
        let own: Vec<(TableId, String)> = found
            .iter()
            .filter(|(of, ..)| Arc::ptr_eq(of, store))
            .map(|(_, table, name)| (*table, name.clone()))
            .collect();
        if !own.is_empty() {
            write(context, store, move |transaction| {
                own.iter().try_for_each(|(table, name)| drop_one(transaction, *table, name))
            })
            .await?;
        }
    }
    Ok(())
}

/// Drops an index, with the key that a unique one of a table in segments is.
fn drop_one(transaction: &mut Transaction<'_>, table: TableId, name: &str) -> Result<()> {
    let definition = transaction.definition(table)?;
    if !definition.recorded.iter().any(|index| index.name == name) {
        return Ok(transaction.drop_index(table, name)?);
    }
    let mut after = definition;
    let of_index = after.is_of_index(name);
    after.recorded.retain(|index| index.name != name);
    after.keys.retain(|key| !(of_index && key.name == name));
    Ok(transaction.alter_table(after)?)
}
