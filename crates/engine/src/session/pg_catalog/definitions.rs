//! Constraints and indexes as the SQL that makes them.

use crate::functions::quoted;
use crate::postgres::{Relation, numbered_oid};
use crate::session::pg_catalog::relations::{Index, ListedRelations, TEMPORARY};
use gingham_storage::{ColumnId, TableDefinition};

/// A constraint of a table.
#[derive(Debug, Clone)]
pub(super) struct Constraint<'a> {
    pub(super) oid: i64,
    pub(super) name: &'a str,
    /// The letter of `pg_constraint.contype`.
    pub(super) kind: &'static str,
    pub(super) columns: Vec<ColumnId>,
    /// The table that it refers to, and the columns there.
    pub(super) referred: Option<(u64, Vec<ColumnId>)>,
    pub(super) condition: Option<&'a str>,
}

/// The constraints of a table.
pub(super) fn constraints<'a>(relation: &Relation, definition: &'a TableDefinition) -> Vec<Constraint<'a>> {
    let of = |name: &'a str, kind: &'static str, columns: Vec<ColumnId>| Constraint {
        oid: numbered_oid(
            relation.schema == TEMPORARY,
            definition.numbers.constraints.get(name).copied(),
            "constraint",
            &format!("{}.{name}", relation.oid),
        ),
        name,
        kind,
        columns,
        referred: None,
        condition: None,
    };
    // The key of an index that was made as such is no constraint.
    let own_keys = definition.keys.iter().filter(|key| !definition.is_of_index(&key.name));
    let keys = own_keys.map(|key| of(&key.name, if key.primary { "p" } else { "u" }, key.columns.clone()));
    let checks = definition
        .checks
        .iter()
        .map(|check| Constraint { condition: Some(&check.condition), ..of(&check.name, "c", Vec::new()) });
    let references = definition.references.iter().map(|own| Constraint {
        referred: Some((own.table, own.referred.clone())),
        ..of(&own.name, "f", own.columns.clone())
    });
    keys.chain(checks).chain(references).collect()
}

/// A constraint as CREATE TABLE has it.
pub(super) fn constraint_text(
    relations: &ListedRelations,
    relation: &Relation,
    definition: &TableDefinition,
    own: &Constraint<'_>,
) -> String {
    let columns = names(definition, &own.columns);
    let is_valid = !definition.not_valid.iter().any(|name| name == own.name);
    let text = match (own.kind, &own.referred) {
        ("p", _) => format!("PRIMARY KEY ({columns})"),
        ("u", _) => format!("UNIQUE ({columns})"),
        ("c", _) => format!("CHECK (({}))", own.condition.unwrap_or_default()),
        (_, Some((id, referred))) => match relations.referred(*id, relation) {
            Some((other, there)) => {
                let name = match other.is_visible {
                    true => quoted(&other.name),
                    false => format!("{}.{}", quoted(&other.schema), quoted(&other.name)),
                };
                format!("FOREIGN KEY ({columns}) REFERENCES {name}({})", names(there, referred))
            }
            None => format!("FOREIGN KEY ({columns})"),
        },
        (_, None) => String::new(),
    };
    if is_valid { text } else { format!("{text} NOT VALID") }
}

/// An index as CREATE INDEX has it.
pub(super) fn index_text(relations: &ListedRelations, index: &Index) -> String {
    let unique = if index.is_unique { "UNIQUE " } else { "" };
    let table = relations
        .by_oid(index.table)
        .map_or_else(String::new, |(table, _)| format!("{}.{}", quoted(&table.schema), quoted(&table.name)));
    let columns = names(&index.definition, &index.columns);
    format!("CREATE {unique}INDEX {} ON {table} USING btree ({columns})", quoted(&index.name))
}

fn names(definition: &TableDefinition, columns: &[ColumnId]) -> String {
    let names = columns.iter().filter_map(|id| definition.column_by_id(*id)).map(|column| quoted(&column.name));
    names.collect::<Vec<_>>().join(", ")
}

/// The places of columns in their table, from 1, as `attnum` counts them.
pub(super) fn numbers(definition: &TableDefinition, columns: &[ColumnId]) -> Vec<i64> {
    let place = |id: &ColumnId| definition.columns.iter().position(|column| column.id == *id);
    columns.iter().filter_map(place).map(|place| place as i64 + 1).collect()
}
