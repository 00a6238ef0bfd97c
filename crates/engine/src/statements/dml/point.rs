//! Statements about the one record that a unique key names: `SELECT a, b FROM t WHERE k = $1`, `UPDATE t SET a = a + 1 WHERE
//! k = 7`, `DELETE FROM t WHERE k = 7`, of a table in heap pages. Its index finds the record, and nothing is planned: planning
//! takes a hundred times as long as the rest.
//!
//! What is not plainly of this kind is nobody's here: every function says `None`, and the statement goes the usual way, which
//! gives the same rows, and the errors.

mod change;

pub(crate) use crate::statements::dml::point::change::change;
pub(crate) use crate::statements::dml::point::change::{AloneChange, PointChange, alone};

use crate::bind::{OutputColumns, heading};
use crate::session::{Execution, Session, StatementTables};
use crate::sql::names::fold;
use crate::statements::Statement;
use crate::table::{datum, scalar};
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr as SqlExpr, GroupByExpr, ObjectName, Query, Select, SelectItem, SetExpr, Statement as Sql,
    TableFactor, TableWithJoins, UnaryOperator, Value,
};
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{
    ColumnDefinition, DEFAULT_SCHEMA, Datum, IndexDefinition, LogicalType, TableDefinition, TableName,
};
use std::sync::Arc;

/// A unique index and the values of its columns.
#[derive(Debug, Clone)]
struct IndexLookup {
    index: IndexDefinition,
    values: Vec<Datum>,
}

/// The rows of a query about one record; `None` for any other statement.
pub(crate) fn select(
    session: &Session,
    tables: &StatementTables,
    statement: &Statement,
    parameters: Option<&ParamValues>,
) -> Result<Option<(SchemaRef, RecordBatch)>> {
    let Some(query) = query_of(statement) else { return Ok(None) };
    let Some(select) = plain_select(query) else { return Ok(None) };
    let ([from], Some(condition)) = (select.from.as_slice(), &select.selection) else { return Ok(None) };
    let Some(name) = plain_name(from) else { return Ok(None) };
    if !is_offered(session, tables, &name)? {
        return Ok(None);
    }
    let Some(table) = session.pinned_table(&name)? else { return Ok(None) };
    let Some(places) = columns_of(&table.definition, &select.projection) else { return Ok(None) };
    let Some(key) = key_of(&table, condition, parameters) else { return Ok(None) };
    let Some(pages) = &table.pages else { return Ok(None) };
    let record = pages.record_by_key(&key.index, &key.values, &places)?;
    let columns: Vec<&ColumnDefinition> = places.iter().map(|at| &table.definition.columns[*at]).collect();
    let fields = table.definition.arrow_schema().project(&places)?;
    let names: Option<Vec<String>> = select.projection.iter().map(heading).collect();
    let schema = Arc::new(OutputColumns::called(names.unwrap_or_default()).rename(&fields));
    let batch = match record {
        None => RecordBatch::new_empty(Arc::clone(&schema)),
        Some((_, values)) => one_row(&schema, &columns, &values)?,
    };
    Ok(Some((schema, batch)))
}

/// Whether a name means one of the database's tables as they were committed last, and DataFusion is not asked for by name.
fn is_offered(session: &Session, tables: &StatementTables, name: &TableName) -> Result<bool> {
    let offered = !session.in_transaction()
        && !tables.has(&name.table)
        && session.with_settings(|settings| settings.execution != Execution::DataFusion)
        && !session.has_search_path()
        && !session.has_own(name)?;
    Ok(offered)
}

fn one_row(schema: &SchemaRef, columns: &[&ColumnDefinition], values: &[Datum]) -> Result<RecordBatch> {
    let array = |(column, value): (&&ColumnDefinition, &Datum)| -> Result<ArrayRef> {
        let value = scalar(value, &column.logical_type).ok_or_else(|| {
            Error::Internal(format!("column '{}' has {value:?}, which is no value of it", column.name))
        })?;
        Ok(value.to_array()?)
    };
    let arrays = columns.iter().zip(values).map(array).collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), arrays)?)
}

fn query_of(statement: &Statement) -> Option<&Query> {
    match statement.tree()? {
        Sql::Query(query) => Some(query),
        _ => None,
    }
}

/// The SELECT of a query that has nothing else, and no clause but FROM and WHERE.
fn plain_select(query: &Query) -> Option<&Select> {
    let Query {
        with: None,
        body,
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks,
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators,
    } = query
    else {
        return None;
    };
    let SetExpr::Select(select) = &**body else { return None };
    let Select {
        select_token: _,
        optimizer_hints,
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: _,
        projection: _,
        exclude: None,
        into: None,
        from: _,
        lateral_views,
        prewhere: None,
        selection: _,
        connect_by,
        group_by: GroupByExpr::Expressions(groups, modifiers),
        cluster_by,
        distribute_by,
        sort_by,
        having: None,
        named_window,
        qualify: None,
        window_before_qualify: _,
        value_table_mode: None,
        flavor: _,
    } = &**select
    else {
        return None;
    };
    let nothing = locks.is_empty()
        && pipe_operators.is_empty()
        && optimizer_hints.is_empty()
        && lateral_views.is_empty()
        && connect_by.is_empty()
        && groups.is_empty()
        && modifiers.is_empty()
        && cluster_by.is_empty()
        && distribute_by.is_empty()
        && sort_by.is_empty()
        && named_window.is_empty();
    nothing.then_some(select)
}

/// The name of a table that stands alone, without an alias.
fn plain_name(from: &TableWithJoins) -> Option<TableName> {
    let TableFactor::Table {
        name,
        alias: None,
        args: None,
        with_hints,
        version: None,
        with_ordinality: false,
        partitions,
        json_path: None,
        sample: None,
        index_hints,
    } = &from.relation
    else {
        return None;
    };
    let plain = from.joins.is_empty() && with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty();
    if plain { table_name(name) } else { None }
}

fn table_name(name: &ObjectName) -> Option<TableName> {
    let parts: Option<Vec<String>> = name.0.iter().map(|part| part.as_ident().map(fold)).collect();
    match <[String; 1]>::try_from(parts?) {
        Ok([table]) => Some(TableName { schema: DEFAULT_SCHEMA.to_owned(), table }),
        Err(parts) => {
            let [schema, table] = <[String; 2]>::try_from(parts).ok()?;
            Some(TableName { schema, table })
        }
    }
}

/// The places of the columns that a SELECT gives: its names, or all for `*`.
fn columns_of(definition: &TableDefinition, projection: &[SelectItem]) -> Option<Vec<usize>> {
    let mut places = Vec::with_capacity(projection.len());
    for item in projection {
        match item {
            SelectItem::Wildcard(options) if options.to_string().is_empty() => {
                places.extend(0..definition.columns.len());
            }
            SelectItem::UnnamedExpr(SqlExpr::Identifier(ident))
            | SelectItem::ExprWithAlias { expr: SqlExpr::Identifier(ident), alias: _ } => {
                let name = fold(ident);
                places.push(definition.columns.iter().position(|column| column.name == name)?);
            }
            _ => return None,
        }
    }
    if places.is_empty() {
        return None;
    }
    // The same column twice is given other names, which is not this file's to do.
    let mut sorted = places.clone();
    sorted.sort_unstable();
    sorted.dedup();
    (sorted.len() == places.len()).then_some(places)
}

/// The unique index whose columns a condition compares with constants, each of them and nothing else, all by `=` and AND.
fn key_of(table: &TableSnapshot, condition: &SqlExpr, parameters: Option<&ParamValues>) -> Option<IndexLookup> {
    let definition = &table.definition;
    if definition.indexes.is_empty() {
        return None;
    }
    let mut given: Vec<(&ColumnDefinition, Datum)> = Vec::new();
    equalities(definition, condition, parameters, &mut given)?;
    let index = definition.indexes.iter().find(|index| {
        let names = |column| given.iter().any(|(own, _)| own.id == column);
        index.unique && index.columns.len() == given.len() && index.columns.iter().all(|column| names(*column))
    })?;
    let value = |column: &u32| given.iter().find(|(own, _)| own.id == *column).map(|(_, value)| value.clone());
    let values = index.columns.iter().map(value).collect::<Option<Vec<_>>>()?;
    Some(IndexLookup { index: index.clone(), values })
}

/// The columns and constants of `a = 1 AND b = 'x' AND …`; `None` for any other condition, and for one that names a column
/// twice.
fn equalities<'d>(
    definition: &'d TableDefinition,
    condition: &SqlExpr,
    parameters: Option<&ParamValues>,
    given: &mut Vec<(&'d ColumnDefinition, Datum)>,
) -> Option<()> {
    match condition {
        SqlExpr::Nested(inner) => equalities(definition, inner, parameters, given),
        SqlExpr::BinaryOp { left, op: BinaryOperator::And, right } => {
            equalities(definition, left, parameters, given)?;
            equalities(definition, right, parameters, given)
        }
        SqlExpr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            let (ident, constant) = match (&**left, &**right) {
                (SqlExpr::Identifier(ident), constant) | (constant, SqlExpr::Identifier(ident)) => (ident, constant),
                _ => return None,
            };
            let column = definition.column(&fold(ident))?;
            let value = constant_of(constant, column, parameters)?;
            if value.is_null() || given.iter().any(|(known, _)| known.id == column.id) {
                return None;
            }
            given.push((column, value));
            Some(())
        }
        _ => None,
    }
}

/// The constant that an expression is, as a value of a column; `None` when it is none, or has to be converted first in any
/// way that may go wrong.
fn constant_of(expr: &SqlExpr, column: &ColumnDefinition, parameters: Option<&ParamValues>) -> Option<Datum> {
    let logical_type = &column.logical_type;
    // Of others a type's own bounds are not those of its values, or equal values have several forms.
    let plain = matches!(
        logical_type,
        LogicalType::Boolean
            | LogicalType::Int(_)
            | LogicalType::UInt(_)
            | LogicalType::Varchar(_)
            | LogicalType::Binary
            | LogicalType::Date
    );
    if !plain {
        return None;
    }
    match expr {
        SqlExpr::Value(value) => match &value.value {
            Value::Placeholder(name) => {
                let given = parameters?.get_placeholders_with_values(name).ok()?.value;
                match integer_of(&given) {
                    Some(value) => fitting(value, logical_type),
                    None => datum(&given, logical_type),
                }
            }
            Value::Number(text, _) => fitting(text.parse().ok()?, logical_type),
            Value::SingleQuotedString(text) if matches!(logical_type, LogicalType::Varchar(_)) => {
                Some(Datum::Bytes(text.as_bytes().into()))
            }
            Value::Null => Some(Datum::Null),
            _ => None,
        },
        SqlExpr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            SqlExpr::Value(value) => match &value.value {
                Value::Number(text, _) => fitting(-text.parse::<i128>().ok()?, logical_type),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// An integer of any width.
fn integer_of(value: &ScalarValue) -> Option<i128> {
    Some(match value {
        ScalarValue::Int8(Some(value)) => (*value).into(),
        ScalarValue::Int16(Some(value)) => (*value).into(),
        ScalarValue::Int32(Some(value)) => (*value).into(),
        ScalarValue::Int64(Some(value)) => (*value).into(),
        ScalarValue::UInt8(Some(value)) => (*value).into(),
        ScalarValue::UInt16(Some(value)) => (*value).into(),
        ScalarValue::UInt32(Some(value)) => (*value).into(),
        ScalarValue::UInt64(Some(value)) => (*value).into(),
        _ => return None,
    })
}

/// An integer as a value of an integer column that has it.
fn fitting(value: i128, logical_type: &LogicalType) -> Option<Datum> {
    let range = match logical_type {
        LogicalType::Int(bits) => -(1 << (bits - 1))..1 << (bits - 1),
        LogicalType::UInt(bits) => 0..1i128 << bits,
        _ => return None,
    };
    range.contains(&value).then_some(Datum::Integer(value))
}
