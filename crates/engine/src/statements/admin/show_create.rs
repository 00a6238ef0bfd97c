//! SHOW CREATE TABLE and SHOW CREATE VIEW: the statement that makes the same again, and those of a table's indexes.

use crate::session::system_tables;
use crate::session::{Outcome, StatementContext, names_schema};
use crate::sql::layout;
use crate::sql::names::unsupported;
use crate::sql::quoted::{full_name, quoted};
use crate::statements::admin::describe;
use crate::statements::ddl::identity;
use crate::statements::dml::generated;
use crate::statements::table_reference;
use crate::{Error, Result};
use datafusion::catalog::SchemaProvider;
use datafusion::sql::sqlparser::ast::{ObjectName, ShowCreateObject};
use gingham_storage::model::ViewDefinition;
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{
    ColumnDefinition, ColumnId, DEFAULT_SCHEMA, Generation, LogicalType, ReferenceDefinition, SqlState, TableDefinition,
};

/// Runs SHOW CREATE TABLE and SHOW CREATE VIEW; each takes tables and views.
pub(crate) fn run(context: &StatementContext, kind: &ShowCreateObject, name: &ObjectName) -> Result<Outcome> {
    if !matches!(kind, ShowCreateObject::Table | ShowCreateObject::View) {
        return Err(unsupported(format!("SHOW CREATE {kind}")));
    }
    let reference = table_reference(name)?;
    let name = context.name(&reference)?;
    let temp = context.temp.iter().filter(|_| !names_schema(&reference));
    let snapshots = temp.map(|temp| (temp, true)).chain([(&context.snapshot, false)]);
    for (snapshot, temporary) in snapshots {
        let text = match (snapshot.definition(&name), snapshot.views.get(&name)) {
            (Some(definition), _) => table_statement(definition, snapshot, temporary)?,
            (None, Some(view)) => view_statement(view, temporary),
            (None, None) => continue,
        };
        return describe::rows(["table_name", "create_statement"], &[[Some(name.to_string()), Some(text)]]);
    }
    if name.schema == DEFAULT_SCHEMA && context.session.externals.table_exist(&name.table) {
        return Err(unsupported(format!("SHOW CREATE of an external table ('{name}')")));
    }
    if name.schema == "information_schema" || system_tables::NAMES.contains(&name.table.as_str()) {
        return Err(Error::invalid(
            SqlState::WrongObjectType,
            format!("'{name}' is a system table, which no statement makes"),
        ));
    }
    Err(context.unknown_table(&name))
}

fn view_statement(view: &ViewDefinition, temporary: bool) -> String {
    let columns: Vec<String> = view.columns.iter().map(|column| quoted(column)).collect();
    let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    format!("CREATE {}VIEW {}{columns} AS {}", temp(temporary), full_name(&view.name), view.query)
}

fn table_statement(definition: &TableDefinition, snapshot: &Snapshot, temporary: bool) -> Result<String> {
    let mut parts: Vec<String> = definition.columns.iter().map(|own| column(own, snapshot)).collect();
    for key in definition.keys.iter().filter(|key| !definition.is_of_index(&key.name)) {
        let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
        parts.push(format!("CONSTRAINT {} {kind} {}", quoted(&key.name), list(definition, &key.columns)));
    }
    for check in &definition.checks {
        parts.push(format!("CONSTRAINT {} CHECK ({})", quoted(&check.name), check.condition));
    }
    for reference in &definition.references {
        parts.push(foreign_key(definition, reference, snapshot)?);
    }
    let sort_by: Vec<String> = names(definition, &definition.sort_by).map(quoted).collect();
    let design = match definition.auto {
        // What OPTIMIZE chose is for it to choose again.
        Some(_) => [("layout", "auto".to_owned()), ("packing", String::new()), ("encoding", String::new())],
        None => [
            ("layout", definition.design.text(definition)),
            ("packing", layout::page_packings(&definition.design, definition)),
            ("encoding", definition.design.encodings_text(definition)),
        ],
    };
    let options: Vec<_> = design.into_iter().chain([("sort_by", sort_by.join(", "))]).collect();
    let pages = match definition.auto {
        Some(_) => Default::default(),
        None => layout::page_options(&definition.design),
    };
    let options = options.iter().chain(&pages).filter(|(_, text)| !text.is_empty());
    let options: Vec<String> = options.map(|(name, text)| format!("{name} = '{}'", text.replace('\'', "''"))).collect();
    let (name, parts) = (full_name(&definition.name), parts.join(",\n  "));
    let mut text = format!("CREATE {}TABLE {name} (\n  {parts}\n) WITH ({})", temp(temporary), options.join(", "));
    let own = definition.indexes.iter().filter(|index| !index.of_constraint);
    let own = own.map(|index| (&index.name, &index.columns, index.unique));
    let recorded = definition.recorded.iter().map(|index| (&index.name, &index.columns, index.unique));
    for (index, columns, unique) in own.chain(recorded) {
        let (unique, columns) = (if unique { "UNIQUE " } else { "" }, list(definition, columns));
        text += &format!(";\nCREATE {unique}INDEX {} ON {name} {columns}", quoted(index));
    }
    Ok(text)
}

fn temp(temporary: bool) -> &'static str {
    if temporary { "TEMP " } else { "" }
}

fn column(column: &ColumnDefinition, snapshot: &Snapshot) -> String {
    let mut text = format!("{} {}", quoted(&column.name), type_name(&column.logical_type));
    if !column.nullable {
        text += " NOT NULL";
    }
    if let Some(default) = &column.default {
        text += &format!(" DEFAULT {default}");
    }
    let options = match column.generation {
        Some(Generation::Identity { sequence, .. }) => identity::shown_options(snapshot, sequence),
        _ => String::new(),
    };
    if let Some(clause) = generated::clause(column, &options) {
        text += &format!(" {clause}");
    }
    text
}

/// The type without the zone's name, which CREATE TABLE does not take: zones differ in how values are shown alone.
fn type_name(logical_type: &LogicalType) -> String {
    match logical_type {
        LogicalType::Timestamp(unit, Some(_)) => format!("TIMESTAMP({}) WITH TIME ZONE", unit.digits()),
        other => other.to_string(),
    }
}

fn foreign_key(definition: &TableDefinition, reference: &ReferenceDefinition, snapshot: &Snapshot) -> Result<String> {
    let Some((_, referred)) = snapshot.definitions().find(|(_, other)| other.id == reference.table) else {
        return Err(Error::Internal(format!("constraint '{}' refers to a table that is gone", reference.name)));
    };
    Ok(format!(
        "CONSTRAINT {} FOREIGN KEY {} REFERENCES {} {}",
        quoted(&reference.name),
        list(definition, &reference.columns),
        full_name(&referred.name),
        list(referred, &reference.referred)
    ))
}

fn names<'a>(definition: &'a TableDefinition, columns: &'a [ColumnId]) -> impl Iterator<Item = &'a str> {
    columns.iter().filter_map(|id| definition.column_by_id(*id)).map(|column| column.name.as_str())
}

fn list(definition: &TableDefinition, columns: &[ColumnId]) -> String {
    format!("({})", names(definition, columns).map(quoted).collect::<Vec<_>>().join(", "))
}
