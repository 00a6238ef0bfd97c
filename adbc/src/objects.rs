//! Catalogs, schemas, tables and columns, from information_schema: as nested rows, which arrow's JSON decoder builds.

use crate::connection::{CATALOG, TABLE_TYPES};
use crate::error::told;
use adbc_core::error::Result;
use adbc_core::options::ObjectDepth;
use adbc_core::schemas::GET_OBJECTS_SCHEMA;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::json::ReaderBuilder;
use gingham::{Connection, ScalarValue};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The objects that are asked for: a depth, and patterns of LIKE.
pub(crate) struct Wanted<'a> {
    pub(crate) depth: ObjectDepth,
    pub(crate) catalog: Option<&'a str>,
    pub(crate) schema: Option<&'a str>,
    pub(crate) table: Option<&'a str>,
    pub(crate) types: Option<Vec<&'a str>>,
    pub(crate) column: Option<&'a str>,
}

type Rows = Vec<Vec<Option<String>>>;

/// The rows of a query as text.
pub(crate) fn texts(connection: &Connection, sql: &str, parameters: &[ScalarValue]) -> Result<Rows> {
    let rows = match parameters {
        [] => connection.query(sql),
        given => connection.prepare(sql).and_then(|prepared| prepared.query(given)),
    };
    let mut all = Vec::new();
    for batch in rows.map_err(told)? {
        let batch = batch.map_err(told)?;
        let columns =
            batch.columns().iter().map(gingham::as_text).collect::<gingham::Result<Vec<_>>>().map_err(told)?;
        let cell = |column: &Arc<dyn Array>, row: usize| {
            let texts = column.as_string_view();
            texts.is_valid(row).then(|| texts.value(row).to_owned())
        };
        all.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| cell(column, row)).collect()));
    }
    Ok(all)
}

/// Rows of a table of information_schema whose columns are like patterns, where there are any.
fn like(connection: &Connection, select: &str, patterns: &[(&str, Option<&str>)], order: &str) -> Result<Rows> {
    let given = || patterns.iter().filter_map(|(column, pattern)| Some((column, (*pattern)?)));
    let conditions: Vec<String> = given().map(|(column, _)| format!("{column} LIKE ?")).collect();
    let conditions = if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    let values: Vec<ScalarValue> = given().map(|(_, pattern)| ScalarValue::from(pattern)).collect();
    texts(connection, &format!("{select}{conditions} ORDER BY {order}"), &values)
}

/// The rows of GetObjects.
pub(crate) fn batch(connection: &Connection, wanted: &Wanted<'_>) -> Result<RecordBatch> {
    let is_wanted = match wanted.catalog {
        None => true,
        Some(pattern) => {
            let sql = "SELECT 1 AS n WHERE ? LIKE ?";
            !texts(connection, sql, &[ScalarValue::from(CATALOG), ScalarValue::from(pattern)])?.is_empty()
        }
    };
    let mut rows = Vec::new();
    if is_wanted {
        let schemas = match wanted.depth {
            ObjectDepth::Catalogs => Value::Null,
            _ => Value::Array(schemas(connection, wanted)?),
        };
        rows.push(json!({ "catalog_name": CATALOG, "catalog_db_schemas": schemas }));
    }
    let schema = Arc::clone(&GET_OBJECTS_SCHEMA);
    let mut decoder = ReaderBuilder::new(Arc::clone(&schema)).build_decoder()?;
    decoder.serialize(&rows)?;
    Ok(decoder.flush()?.unwrap_or_else(|| RecordBatch::new_empty(schema)))
}

fn schemas(connection: &Connection, wanted: &Wanted<'_>) -> Result<Vec<Value>> {
    let select = "SELECT schema_name FROM information_schema.schemata";
    let names = like(connection, select, &[("schema_name", wanted.schema)], "schema_name")?;
    let mut tables = match wanted.depth {
        ObjectDepth::Schemas => None,
        _ => Some(tables(connection, wanted)?),
    };
    let schema = |row: Vec<Option<String>>| {
        let name = row.into_iter().next().flatten().unwrap_or_default();
        let tables = tables.as_mut().map(|tables| tables.remove(&name).unwrap_or_default());
        json!({ "db_schema_name": name, "db_schema_tables": tables })
    };
    Ok(names.into_iter().map(schema).collect())
}

/// Tables by their schemas.
fn tables(connection: &Connection, wanted: &Wanted<'_>) -> Result<BTreeMap<String, Vec<Value>>> {
    let select = "SELECT table_schema, table_name, table_type FROM information_schema.tables";
    let patterns = [("table_schema", wanted.schema), ("table_name", wanted.table)];
    let found = like(connection, select, &patterns, "table_schema, table_name")?;
    let deep = matches!(wanted.depth, ObjectDepth::All | ObjectDepth::Columns);
    let mut columns = if deep { columns(connection, wanted)? } else { BTreeMap::new() };
    let mut constraints = if deep { constraints(connection, wanted)? } else { BTreeMap::new() };
    let mut tables: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in found {
        let [Some(schema), Some(name), Some(kind)] = row.as_slice() else { continue };
        let kind = TABLE_TYPES.iter().find(|known| known.contains(kind.as_str())).copied().unwrap_or(kind);
        if wanted.types.as_ref().is_some_and(|types| !types.contains(&kind)) {
            continue;
        }
        let key = (schema.clone(), name.clone());
        let own = |map: &mut BTreeMap<(String, String), Vec<Value>>| {
            if deep { Value::Array(map.remove(&key).unwrap_or_default()) } else { Value::Null }
        };
        tables.entry(schema.clone()).or_default().push(json!({
            "table_name": name,
            "table_type": kind,
            "table_columns": own(&mut columns),
            "table_constraints": own(&mut constraints),
        }));
    }
    Ok(tables)
}

type OfTables = BTreeMap<(String, String), Vec<Value>>;

fn columns(connection: &Connection, wanted: &Wanted<'_>) -> Result<OfTables> {
    let select = "SELECT table_schema, table_name, column_name, ordinal_position, data_type, is_nullable, column_default, \
                  numeric_precision, numeric_scale, numeric_precision_radix FROM information_schema.columns";
    let patterns = [("table_schema", wanted.schema), ("table_name", wanted.table), ("column_name", wanted.column)];
    let mut all = OfTables::new();
    for row in like(connection, select, &patterns, "table_schema, table_name, ordinal_position")? {
        let text = |at: usize| row.get(at).cloned().flatten();
        let number = |at: usize| text(at).and_then(|digits| digits.parse::<i64>().ok());
        let nullable = text(5).is_some_and(|text| text == "YES");
        let column = json!({
            "column_name": text(2),
            "ordinal_position": number(3),
            "xdbc_type_name": text(4),
            "xdbc_column_size": number(7),
            "xdbc_decimal_digits": number(8),
            "xdbc_num_prec_radix": number(9),
            "xdbc_nullable": i64::from(nullable),
            "xdbc_column_def": text(6),
            "xdbc_is_nullable": text(5),
        });
        all.entry((text(0).unwrap_or_default(), text(1).unwrap_or_default())).or_default().push(column);
    }
    Ok(all)
}

fn constraints(connection: &Connection, wanted: &Wanted<'_>) -> Result<OfTables> {
    let patterns = [("c.table_schema", wanted.schema), ("c.table_name", wanted.table)];
    let select = "SELECT c.table_schema, c.table_name, c.constraint_name, c.constraint_type, k.column_name \
                  FROM information_schema.table_constraints c LEFT JOIN information_schema.key_column_usage k \
                  ON k.table_schema = c.table_schema AND k.table_name = c.table_name AND k.constraint_name = c.constraint_name";
    let order = "c.table_schema, c.table_name, c.constraint_name, k.ordinal_position";
    /// Kind and columns of the constraints of a table, by their names.
    type Constraints = BTreeMap<String, (String, Vec<String>)>;
    let mut all: BTreeMap<(String, String), Constraints> = BTreeMap::new();
    for row in like(connection, select, &patterns, order)? {
        let [Some(schema), Some(table), Some(name), Some(kind), column] = row.as_slice() else { continue };
        let own = all.entry((schema.clone(), table.clone())).or_default();
        own.entry(name.clone()).or_insert_with(|| (kind.clone(), Vec::new())).1.extend(column.clone());
    }
    let constraint = |(name, (kind, columns)): (String, (String, Vec<String>))| json!({ "constraint_name": name, "constraint_type": kind, "constraint_column_names": columns });
    Ok(all.into_iter().map(|(table, own)| (table, own.into_iter().map(constraint).collect())).collect())
}
