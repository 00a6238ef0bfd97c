//! A table's definition as the CREATE TABLE statement that would make it.

use gingham::quoted;
use gingham::storage::{ColumnDefinition, ColumnId, TableDefinition};

/// The statement, ending with `;`. References name the numbers of tables only, so they are left to a comment.
pub fn create_statement(table: &TableDefinition) -> String {
    let names = |columns: &[ColumnId]| {
        let name = |id: &ColumnId| table.column_by_id(*id).map_or_else(|| format!("#{id}"), |c| quoted(&c.name));
        columns.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let mut parts: Vec<String> = table.columns.iter().map(column).collect();
    for key in &table.keys {
        let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
        parts.push(format!("{kind} ({})", names(&key.columns)));
    }
    parts.extend(table.checks.iter().map(|check| format!("CHECK ({})", check.condition)));
    let mut options = vec![format!("layout = '{}'", table.design.text(table))];
    let encodings = table.design.encodings_text(table);
    if !encodings.is_empty() {
        options.push(format!("encoding = '{encodings}'"));
    }
    if !table.sort_by.is_empty() {
        options.push(format!("sort_by = '{}'", names(&table.sort_by)));
    }
    let schema = match table.name.schema.as_str() {
        gingham::storage::DEFAULT_SCHEMA => String::new(),
        schema => format!("{}.", quoted(schema)),
    };
    format!(
        "CREATE TABLE {schema}{} (\n    {}\n) WITH ({});",
        quoted(&table.name.table),
        parts.join(",\n    "),
        options.join(", ")
    )
}

fn column(column: &ColumnDefinition) -> String {
    let mut text = format!("{} {}", quoted(&column.name), column.logical_type);
    if !column.nullable {
        text.push_str(" NOT NULL");
    }
    if let Some(default) = &column.default {
        text.push_str(&format!(" DEFAULT {default}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gingham::storage::{CheckDefinition, Datum, KeyDefinition, LogicalType, TableName};

    #[test]
    fn the_statement_says_all_that_the_table_has() {
        let column = |id, name: &str, logical_type, nullable| ColumnDefinition {
            id,
            name: name.to_owned(),
            logical_type,
            nullable,
            default: (id == 1).then(|| "0".to_owned()),
            initial: Datum::Null,
        };
        let table = TableDefinition {
            id: 1,
            keys: vec![KeyDefinition { name: "t_pkey".into(), columns: vec![0], primary: true }],
            checks: vec![CheckDefinition { name: "c".into(), condition: "id > 0".into() }],
            sort_by: vec![0],
            ..TableDefinition::new(
                TableName { schema: "public".into(), table: "t".into() },
                vec![
                    column(0, "id", LogicalType::Int(64), false),
                    column(1, "capital-gain", LogicalType::Decimal { precision: 9, scale: 2 }, true),
                ],
            )
        };
        assert_eq!(
            create_statement(&table),
            "CREATE TABLE t (\n    id BIGINT NOT NULL,\n    \"capital-gain\" DECIMAL(9,2) DEFAULT 0,\n    \
             PRIMARY KEY (id),\n    CHECK (id > 0)\n) WITH (layout = 'column', sort_by = 'id');"
        );
    }
}
