//! The tables beside the one that changes, in FROM or USING: RETURNING may name their columns too.

use crate::Result;
use crate::bind::Beside;
use arrow::array::RecordBatch;
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, SelectItem, SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins,
    WildcardAdditionalOptions,
};
use gingham_storage::TableDefinition;
use std::sync::Arc;

/// `u.*` for each member of `from` but the first.
pub(super) fn items(from: &[TableWithJoins]) -> Vec<SelectItem> {
    let mut names = Vec::new();
    from.iter().for_each(|tables| add_names(tables, &mut names));
    let whole = |name: Vec<Ident>| {
        let kind = SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(name));
        SelectItem::QualifiedWildcard(kind, WildcardAdditionalOptions::default())
    };
    names.into_iter().skip(1).map(whole).collect()
}

/// What the members of FROM are called: by an alias, or by the name and what stands before that.
fn add_names(tables: &TableWithJoins, names: &mut Vec<Vec<Ident>>) {
    for factor in std::iter::once(&tables.relation).chain(tables.joins.iter().map(|join| &join.relation)) {
        match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => add_names(table_with_joins, names),
            other => names.extend(Some(known_as(other)).filter(|name| !name.is_empty())),
        }
    }
}

/// What a member of FROM is called.
pub(super) fn known_as(table: &TableFactor) -> Vec<Ident> {
    match table {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. }
        | TableFactor::UNNEST { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. } => vec![alias.name.clone()],
        TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => {
            name.0.iter().filter_map(|part| part.as_ident()).cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// The rows of a table with the columns of `batch` from position `first` on behind their own.
pub(crate) fn with_columns(rows: &RecordBatch, batch: &RecordBatch, first: usize) -> Result<RecordBatch> {
    let others = batch.schema();
    let fields = others.fields()[first..].iter().enumerate().map(|(number, field)| beside(number, field));
    let fields: Vec<FieldRef> = rows.schema().fields().iter().cloned().chain(fields).collect();
    let columns = rows.columns().iter().chain(&batch.columns()[first..]).cloned().collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

/// The schema of such rows.
pub(super) fn schema(definition: &TableDefinition, tables: &[Beside], rows: &[RecordBatch]) -> SchemaRef {
    if let Some(first) = rows.first() {
        return first.schema();
    }
    let own = definition.arrow_schema();
    let others = tables.iter().flat_map(Beside::fields).enumerate().map(|(number, field)| beside(number, &field));
    let fields: Vec<FieldRef> = own.fields().iter().cloned().chain(others).collect();
    Arc::new(Schema::new(fields))
}

/// A column of another table under a name that tells it from the table's own.
fn beside(number: usize, field: &FieldRef) -> FieldRef {
    Arc::new(Field::new(format!("beside {number}"), field.data_type().clone(), true))
}
