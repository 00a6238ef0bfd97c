//! Schemas, relations, columns and constraints as tables of the schema.

use crate::postgres::{
    OWNER, Relation, RelationKind, USER, hashed, of_arrow, of_column, system_table_oid, type_of_oid,
};
use crate::session::pg_catalog::definitions::{constraints, index_text, numbers};
use crate::session::pg_catalog::names::{bytes_of, described};
use crate::session::pg_catalog::relations::{
    ListedRelations, RelationSource, SEQUENCE_COLUMNS, Seen, TEMPORARY, index_of,
};
use crate::session::pg_catalog::rows::{Cell, Rows, columns_of};
use crate::session::system_tables;
use gingham_storage::{ColumnDefinition, ColumnId, Generation, LogicalType, TableDefinition};

/// The access method of tables, and that of indexes.
pub(super) const HEAP: i64 = 2;
pub(super) const BTREE: i64 = 403;

/// The collation of texts.
pub(super) const COLLATION: i64 = 100;

pub(super) fn namespaces(relations: &ListedRelations, rows: &mut Rows) {
    for (name, oid) in &relations.schemas {
        rows.push([("oid", (*oid).into()), ("nspname", name.as_str().into()), ("nspowner", OWNER.into())]);
    }
}

pub(super) fn classes(relations: &ListedRelations, rows: &mut Rows) {
    for (relation, kind) in &relations.all {
        let (columns, checks, records, bytes, has_index) = match kind {
            RelationSource::Table { definition, snapshot, .. } => (
                definition.columns.len(),
                definition.checks.len(),
                snapshot.as_ref().map_or(-1, |table| i64::try_from(table.rows()).unwrap_or(i64::MAX)),
                snapshot.as_ref().map_or(0, |table| bytes_of(table)),
                has_indexes(definition),
            ),
            RelationSource::Index(index) => (index.columns.len(), 0, 0, 0, false),
            RelationSource::View(view) => (view.columns.len(), 0, 0, 0, false),
            // PostgreSQL keeps a page with a row of each.
            RelationSource::Sequence(_) => (SEQUENCE_COLUMNS.len(), 0, 1, 8192, false),
            RelationSource::Other => (columns_of(&relation.name).map_or(0, |own| own.len()), 0, -1, 0, false),
        };
        let method = match relation.kind {
            RelationKind::Table => HEAP,
            RelationKind::Index => BTREE,
            RelationKind::View | RelationKind::Sequence => 0,
        };
        rows.push([
            ("oid", relation.oid.into()),
            ("relname", relation.name.as_str().into()),
            ("relnamespace", relations.schema_oid(&relation.schema).into()),
            ("relowner", OWNER.into()),
            ("relam", method.into()),
            ("relfilenode", relation.oid.into()),
            ("relpages", i64::try_from(bytes.div_ceil(8192)).unwrap_or(i64::MAX).into()),
            ("reltuples", records.into()),
            ("relhasindex", has_index.into()),
            ("relpersistence", if relation.schema == TEMPORARY { "t" } else { "p" }.into()),
            ("relkind", relation.kind.letter().into()),
            ("relnatts", (columns as i64).into()),
            ("relchecks", (checks as i64).into()),
            ("relispopulated", true.into()),
            ("relreplident", if relation.kind == RelationKind::Table { "d" } else { "n" }.into()),
        ]);
    }
}

fn has_indexes(definition: &TableDefinition) -> bool {
    !(definition.keys.is_empty() && definition.indexes.is_empty() && definition.recorded.is_empty())
}

/// A column of a relation.
struct Attribute<'a> {
    relation: i64,
    number: usize,
    name: &'a str,
    oid: i64,
    modifier: i64,
    is_nullable: bool,
    has_default: bool,
    generation: Option<&'a Generation>,
}

fn attribute(rows: &mut Rows, own: &Attribute<'_>) {
    let known = type_of_oid(own.oid);
    let length = known.map_or(-1, |(known, is_array)| if is_array { -1 } else { known.length });
    let is_text = known.is_some_and(|(known, _)| known.category == "S");
    let (identity, generated) = match own.generation {
        None => ("", ""),
        Some(Generation::Identity { always: true, .. }) => ("a", ""),
        Some(Generation::Identity { always: false, .. }) => ("d", ""),
        Some(Generation::Stored(_)) => ("", "s"),
    };
    rows.push([
        ("attrelid", own.relation.into()),
        ("attname", own.name.into()),
        ("atttypid", own.oid.into()),
        ("attstattarget", (-1).into()),
        ("attlen", length.into()),
        ("attnum", (own.number as i64).into()),
        ("attndims", i64::from(known.is_some_and(|(_, is_array)| is_array)).into()),
        ("attcacheoff", (-1).into()),
        ("atttypmod", own.modifier.into()),
        ("attbyval", (1..=8).contains(&length).into()),
        ("attalign", if length == 8 { "d" } else { "i" }.into()),
        ("attstorage", if length > 0 { "p" } else { "x" }.into()),
        ("attcompression", "".into()),
        ("attnotnull", (!own.is_nullable).into()),
        ("atthasdef", own.has_default.into()),
        ("attidentity", identity.into()),
        ("attgenerated", generated.into()),
        ("attislocal", true.into()),
        ("attcollation", if is_text { COLLATION } else { 0 }.into()),
    ]);
}

/// A column that has no default.
fn plain(
    rows: &mut Rows,
    (relation, number, name): (i64, usize, &str),
    (oid, modifier): (i64, i64),
    is_nullable: bool,
) {
    let (has_default, generation) = (false, None);
    attribute(rows, &Attribute { relation, number, name, oid, modifier, is_nullable, has_default, generation });
}

/// The text of a column's DEFAULT, or that of the expression that it is generated by.
pub(super) fn default_of(column: &ColumnDefinition) -> Option<&str> {
    match &column.generation {
        Some(Generation::Stored(text)) => Some(text),
        _ => column.default.as_deref(),
    }
}

/// The number of a column's DEFAULT.
pub(super) fn default_oid(relation: &Relation, column: &ColumnDefinition) -> i64 {
    hashed("default", &format!("{}.{}", relation.oid, column.id))
}

pub(super) async fn attributes(seen: &Seen, relations: &ListedRelations, rows: &mut Rows) {
    for (relation, kind) in &relations.all {
        match kind {
            RelationSource::Table { definition, .. } => {
                for (number, column) in (1..).zip(&definition.columns) {
                    let (oid, modifier) = of_column(&column.logical_type);
                    let (is_nullable, has_default) = (column.nullable, default_of(column).is_some());
                    let (relation, name, generation) = (relation.oid, column.name.as_str(), column.generation.as_ref());
                    let own = Attribute { relation, number, name, oid, modifier, is_nullable, has_default, generation };
                    attribute(rows, &own);
                }
            }
            RelationSource::Index(index) => {
                let columns = index.columns.iter().filter_map(|id| index.definition.column_by_id(*id));
                for (number, column) in (1..).zip(columns) {
                    let (oid, modifier) = of_column(&column.logical_type);
                    let (relation, name) = (relation.oid, column.name.as_str());
                    plain(rows, (relation, number, name), (oid, modifier), true);
                }
            }
            RelationSource::Sequence(_) => {
                for (number, (name, oid)) in (1..).zip(SEQUENCE_COLUMNS) {
                    plain(rows, (relation.oid, number, name), (oid, -1), false);
                }
            }
            RelationSource::View(_) => provided(seen, relation, rows).await,
            RelationSource::Other if relation.schema == seen.standard.0 => {}
            RelationSource::Other => match Rows::of(&relation.name) {
                Some(own) => {
                    let Ok(batch) = own.batch() else { continue };
                    for (number, field) in (1..).zip(batch.schema().fields()) {
                        let (relation, name, oid) = (relation.oid, field.name().as_str(), of_arrow(field.data_type()));
                        plain(rows, (relation, number, name), (oid, -1), true);
                    }
                }
                None if system_tables::NAMES.contains(&relation.name.as_str()) => {}
                None => provided(seen, relation, rows).await,
            },
        }
    }
}

/// The columns of a view or an external table; none of a view that does not work any more.
async fn provided(seen: &Seen, relation: &Relation, rows: &mut Rows) {
    let schema = Some(relation.schema.as_str()).filter(|schema| *schema != TEMPORARY);
    let Some(provider) = seen.provider(schema, &relation.name).await else { return };
    let is_view = relation.kind == RelationKind::View;
    for (number, field) in (1..).zip(provider.schema().fields()) {
        let (relation, name, oid) = (relation.oid, field.name().as_str(), of_arrow(field.data_type()));
        let modifier = LogicalType::from_arrow(name, field.data_type()).map_or(-1, |own| of_column(&own).1);
        plain(rows, (relation, number, name), (oid, modifier), is_view || field.is_nullable());
    }
}

pub(super) fn defaults(relations: &ListedRelations, rows: &mut Rows) {
    for (relation, definition) in relations.tables() {
        for (number, column) in (1..).zip(&definition.columns) {
            let Some(default) = default_of(column) else { continue };
            rows.push([
                ("oid", default_oid(relation, column).into()),
                ("adrelid", relation.oid.into()),
                ("adnum", Cell::Number(number)),
                ("adbin", default.into()),
            ]);
        }
    }
}

/// The number of the index of a table whose key is these columns in any order: what a reference to them leans on.
fn index_over(relations: &ListedRelations, table: i64, columns: &[ColumnId]) -> i64 {
    let is_over = |own: &[ColumnId]| own.len() == columns.len() && columns.iter().all(|column| own.contains(column));
    let index = relations.all.iter().find(|(_, kind)| match kind {
        RelationSource::Index(index) => index.table == table && index.is_unique && is_over(&index.columns),
        _ => false,
    });
    index.map_or(0, |(index, _)| index.oid)
}

pub(super) fn constraint_list(relations: &ListedRelations, rows: &mut Rows) {
    for (relation, definition) in relations.tables() {
        for own in constraints(relation, definition) {
            let referred = own.referred.as_ref().and_then(|(id, columns)| {
                let (other, there) = relations.referred(*id, relation)?;
                Some((other.oid, numbers(there, columns)))
            });
            let index = match &own.referred {
                Some((_, columns)) => referred.as_ref().map_or(0, |(oid, _)| index_over(relations, *oid, columns)),
                None => index_of(relations, relation, own.name),
            };
            let columns = numbers(definition, &own.columns);
            let is_reference = own.kind == "f";
            let action = if is_reference { "a" } else { " " };
            rows.push([
                ("oid", own.oid.into()),
                ("conname", own.name.into()),
                ("connamespace", relations.schema_oid(&relation.schema).into()),
                ("contype", own.kind.into()),
                ("convalidated", (!definition.not_valid.iter().any(|name| name == own.name)).into()),
                ("conrelid", relation.oid.into()),
                ("conindid", index.into()),
                ("confrelid", referred.as_ref().map_or(0, |(oid, _)| *oid).into()),
                ("confupdtype", action.into()),
                ("confdeltype", action.into()),
                ("confmatchtype", if is_reference { "s" } else { " " }.into()),
                ("conislocal", true.into()),
                ("connoinherit", true.into()),
                ("conkey", if columns.is_empty() { Cell::Null } else { columns.into() }),
                ("confkey", referred.map_or(Cell::Null, |(_, columns)| columns.into())),
                ("conbin", own.condition.map_or(Cell::Null, Into::into)),
            ]);
        }
    }
}

pub(super) fn indexes(relations: &ListedRelations, rows: &mut Rows) {
    for (relation, kind) in &relations.all {
        let RelationSource::Index(index) = kind else { continue };
        let columns = numbers(&index.definition, &index.columns);
        let zeros = vec![0; columns.len()];
        rows.push([
            ("indexrelid", relation.oid.into()),
            ("indrelid", index.table.into()),
            ("indnatts", (columns.len() as i64).into()),
            ("indnkeyatts", (columns.len() as i64).into()),
            ("indisunique", index.is_unique.into()),
            ("indisprimary", index.is_primary.into()),
            ("indimmediate", true.into()),
            ("indisvalid", true.into()),
            ("indisready", true.into()),
            ("indislive", true.into()),
            ("indkey", columns.into()),
            ("indcollation", zeros.clone().into()),
            ("indclass", zeros.clone().into()),
            ("indoption", zeros.into()),
        ]);
    }
}

pub(super) fn tables(relations: &ListedRelations, rows: &mut Rows) {
    for (relation, kind) in &relations.all {
        if relation.kind != RelationKind::Table {
            continue;
        }
        let has_indexes = matches!(kind, RelationSource::Table { definition, .. } if has_indexes(definition));
        rows.push([
            ("schemaname", relation.schema.as_str().into()),
            ("tablename", relation.name.as_str().into()),
            ("tableowner", USER.into()),
            ("hasindexes", has_indexes.into()),
        ]);
    }
}

pub(super) fn views(relations: &ListedRelations, rows: &mut Rows) {
    for (relation, kind) in &relations.all {
        let RelationSource::View(view) = kind else { continue };
        rows.push([
            ("schemaname", relation.schema.as_str().into()),
            ("viewname", relation.name.as_str().into()),
            ("viewowner", USER.into()),
            ("definition", format!("{};", view.query).into()),
        ]);
    }
}

pub(super) fn index_list(relations: &ListedRelations, rows: &mut Rows) {
    for (relation, kind) in &relations.all {
        let RelationSource::Index(index) = kind else { continue };
        rows.push([
            ("schemaname", relation.schema.as_str().into()),
            ("tablename", index.definition.name.table.as_str().into()),
            ("indexname", relation.name.as_str().into()),
            ("indexdef", index_text(relations, index).into()),
        ]);
    }
}

/// The records of each table, which are what is known of all that PostgreSQL counts.
pub(super) fn statistics(relations: &ListedRelations, rows: &mut Rows) {
    for (relation, kind) in &relations.all {
        let RelationSource::Table { snapshot, .. } = kind else { continue };
        let records = snapshot.as_ref().map_or(0, |table| i64::try_from(table.rows()).unwrap_or(i64::MAX));
        rows.push([
            ("relid", relation.oid.into()),
            ("schemaname", relation.schema.as_str().into()),
            ("relname", relation.name.as_str().into()),
            ("n_live_tup", records.into()),
        ]);
    }
}

/// The rows of pg_description.
pub(super) fn descriptions(relations: &ListedRelations, rows: &mut Rows) {
    for own in described(relations) {
        rows.push([
            ("objoid", own.object.into()),
            ("classoid", system_table_oid(own.class).into()),
            ("objsubid", own.column.into()),
            ("description", own.text.into()),
        ]);
    }
}
