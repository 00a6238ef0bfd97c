//! The rows of INSERT … VALUES. Each value keeps the type that it has, so that `(1), ('2')` fills an INTEGER column and
//! an error names its row; DataFusion's VALUES would first bring a column's values to one type.

use crate::casts::number;
use crate::session::StatementContext;
use crate::statements::ddl::expression;
use crate::statements::dml::ingest::{ConvertError, Converter};
use crate::statements::query_of;
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, SelectItem, SetExpr, UnaryOperator, Value, Values, With,
};
use futures::TryStreamExt;
use gingham_storage::{ColumnDefinition, SqlState, TableDefinition};
use std::sync::Arc;

/// Rows of a batch.
const CHUNK: usize = 8192;
/// Values that one query computes.
const COMPUTED_AT_ONCE: usize = 512;

/// Rows, each of the same number of values.
#[derive(Debug)]
pub(crate) struct ValuesRows {
    width: usize,
    rows: usize,
    /// Row by row.
    values: Vec<ScalarValue>,
}

impl ValuesRows {
    /// One row without values: all columns take their defaults.
    pub(crate) fn defaults() -> Self {
        Self { width: 0, rows: 1, values: Vec::new() }
    }

    /// As batches. A column whose values are of several types within a batch is cast value by value.
    pub(crate) fn batches(&self, converter: &Converter) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        for start in (0..self.rows).step_by(CHUNK) {
            let rows = start..self.rows.min(start + CHUNK);
            let mut fields = Vec::with_capacity(self.width);
            let mut arrays = Vec::with_capacity(self.width);
            for column in 0..self.width {
                let values = rows.clone().map(|row| (row, &self.values[row * self.width + column]));
                let array = self.column(converter, column, values.collect())?;
                fields.push(Field::new(format!("column{}", column + 1), array.data_type().clone(), true));
                arrays.push(array);
            }
            let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
            batches.push(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?);
        }
        Ok(batches)
    }

    fn column(&self, converter: &Converter, column: usize, values: Vec<(usize, &ScalarValue)>) -> Result<ArrayRef> {
        let mut types: Vec<DataType> = Vec::new();
        for (_, value) in &values {
            let data_type = value.data_type();
            if !data_type.is_null() && !types.contains(&data_type) {
                types.push(data_type);
            }
        }
        let nulls_of = |value: &ScalarValue, data_type: &DataType| -> Result<ScalarValue> {
            Ok(if value.is_null() { ScalarValue::try_from(data_type)? } else { value.clone() })
        };
        match types.as_slice() {
            [] => Ok(arrow::array::new_null_array(&DataType::Null, values.len())),
            [one] => {
                let scalars = values.iter().map(|(_, value)| nulls_of(value, one)).collect::<Result<Vec<_>>>()?;
                Ok(ScalarValue::iter_to_array(scalars)?)
            }
            _ => {
                let mut cast = Vec::with_capacity(values.len());
                for (row, value) in values {
                    let array = converter.cast_input(column, &value.to_array()?).map_err(|error| match error {
                        ConvertError::Row(bad) => bad.into_error(&format!("row {}", row + 1)),
                        ConvertError::Other(error) => error,
                    })?;
                    cast.push(ScalarValue::try_from_array(&array, 0)?);
                }
                Ok(ScalarValue::iter_to_array(cast)?)
            }
        }
    }
}

/// The columns that rows fill.
#[derive(Clone, Copy)]
pub(crate) struct Filled<'t> {
    pub(crate) definition: &'t TableDefinition,
    /// Their names; `None` for all of the table.
    pub(crate) given: Option<&'t [String]>,
}

impl<'t> Filled<'t> {
    fn width(self) -> usize {
        self.given.map_or(self.definition.columns.len(), <[String]>::len)
    }

    /// The column that a position of a row fills.
    fn column(self, position: usize) -> Option<&'t ColumnDefinition> {
        match self.given {
            None => self.definition.columns.get(position),
            Some(given) => given.get(position).and_then(|name| self.definition.column(name)),
        }
    }
}

/// Refuses a row of another number of values than there are columns to fill.
pub(crate) fn check_width(columns: usize, values: usize, row: Option<usize>) -> Result<()> {
    if columns == values {
        return Ok(());
    }
    let row = row.map_or("the row".to_owned(), |row| format!("row {row}"));
    let columns = if columns == 1 { "1 column is".to_owned() } else { format!("{columns} columns are") };
    let text = format!("{row} has {}, but {columns} to be filled", count(values, "value"));
    Err(Error::invalid(SqlState::SyntaxError, text))
}

/// Reads the rows of VALUES: literals and parameters as they are, the rest computed by a query behind `with`.
pub(crate) async fn read(
    context: &StatementContext,
    into: Filled<'_>,
    rows: &Values,
    with: Option<&With>,
    parameters: Option<ParamValues>,
) -> Result<ValuesRows> {
    let width = into.width();
    let mut values = Vec::with_capacity(width * rows.rows.len());
    let mut computed: Vec<(usize, Expr)> = Vec::new();
    for (number, row) in rows.rows.iter().enumerate() {
        check_width(width, row.content.len(), Some(number + 1))?;
        for (position, expression) in row.content.iter().enumerate() {
            let value = if is_default(expression) {
                default_of(context, into, position)?
            } else {
                match literal(expression, parameters.as_ref())? {
                    Some(value) => value,
                    None => {
                        computed.push((values.len(), expression.clone()));
                        ScalarValue::Null
                    }
                }
            };
            values.push(value);
        }
    }
    for chunk in computed.chunks(COMPUTED_AT_ONCE) {
        let results = match compute(context, chunk, with, parameters.clone()).await {
            Ok(results) => results,
            Err(error) => return Err(blame(context, into, chunk, with, parameters, error).await),
        };
        for ((position, _), value) in chunk.iter().zip(results) {
            values[*position] = value;
        }
    }
    Ok(ValuesRows { width, rows: rows.rows.len(), values })
}

/// The error of the first of several expressions that fails on its own, with its row and column.
async fn blame(
    context: &StatementContext,
    into: Filled<'_>,
    expressions: &[(usize, Expr)],
    with: Option<&With>,
    parameters: Option<ParamValues>,
    all: Error,
) -> Error {
    for one in expressions {
        let alone = compute(context, std::slice::from_ref(one), with, parameters.clone()).await;
        let Err(error @ Error::InvalidInput(_)) = alone else { continue };
        let (row, position) = (one.0 / into.width() + 1, one.0 % into.width());
        let column = into.column(position).map(|column| column.name.as_str());
        return error.about(format_args!("row {row}, column '{}'", column.unwrap_or_default()));
    }
    all
}

/// The values of expressions without columns: arguments of EXECUTE.
pub(crate) async fn evaluate(
    context: &StatementContext,
    expressions: &[Expr],
    parameters: Option<ParamValues>,
) -> Result<Vec<ScalarValue>> {
    if expressions.is_empty() {
        return Ok(Vec::new());
    }
    let numbered: Vec<(usize, Expr)> = expressions.iter().cloned().enumerate().collect();
    compute(context, &numbered, None, parameters).await
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The keyword DEFAULT, which the parser takes for a column.
pub(crate) fn is_default(expression: &Expr) -> bool {
    matches!(expression, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

fn default_of(context: &StatementContext, into: Filled<'_>, position: usize) -> Result<ScalarValue> {
    let column = into.column(position);
    match column.and_then(|column| Some((column, expression::default_text(column)?))) {
        None => Ok(ScalarValue::Null),
        Some((column, text)) => {
            let planned = expression::default(&context.state, &column.name, &text)?;
            let options = RecordBatchOptions::new().with_row_count(Some(1));
            let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?;
            Ok(ScalarValue::try_from_array(&planned.evaluate(&row)?.into_array(1)?, 0)?)
        }
    }
}

/// The value of a literal that needs no planning.
fn literal(expression: &Expr, parameters: Option<&ParamValues>) -> Result<Option<ScalarValue>> {
    Ok(match expression {
        Expr::Value(value) => match &value.value {
            Value::Null => Some(ScalarValue::Null),
            Value::Boolean(value) => Some(ScalarValue::Boolean(Some(*value))),
            Value::SingleQuotedString(text) => Some(ScalarValue::Utf8(Some(text.clone()))),
            Value::Number(digits, false) => number(digits),
            Value::Placeholder(name) => match parameters {
                Some(parameters) => Some(parameters.get_placeholders_with_values(name)?.value),
                None => {
                    return Err(Error::invalid(SqlState::UndefinedParameter, format!("parameter {name} has no value")));
                }
            },
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Value(value) => match &value.value {
                Value::Number(digits, false) => number(&format!("-{digits}")),
                _ => None,
            },
            _ => None,
        },
        Expr::Nested(inner) => literal(inner, parameters)?,
        _ => None,
    })
}

/// Computes expressions as one query without a table, behind a WITH.
async fn compute(
    context: &StatementContext,
    expressions: &[(usize, Expr)],
    with: Option<&With>,
    parameters: Option<ParamValues>,
) -> Result<Vec<ScalarValue>> {
    let items = expressions.iter().enumerate().map(|(number, (_, expression))| SelectItem::ExprWithAlias {
        expr: expression.clone(),
        alias: Ident::with_quote('"', format!("value {number}")),
    });
    let mut query = query_of("SELECT 1")?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(Error::Internal("SELECT was not parsed as a SELECT".into()));
    };
    select.projection = items.collect();
    select.group_by = GroupByExpr::Expressions(vec![], vec![]);
    query.with = with.cloned();
    crate::sql::ignored::refuse_ignored(&mut query)?;
    // EXPLAIN is of what is done with the values.
    let context = context.not_explained();
    let plan = context.bind(query, parameters).await?.plan;
    let batches: Vec<RecordBatch> = context.rows(plan).await?.try_collect().await?;
    if batches.iter().map(RecordBatch::num_rows).sum::<usize>() > 1 {
        let text = "not supported: functions that give rows in VALUES or as a parameter; use SELECT";
        return Err(Error::Unsupported(text.to_owned()));
    }
    let row = batches.iter().find(|batch| batch.num_rows() > 0);
    let row = row.ok_or_else(|| Error::Unsupported("not supported: functions that give no row in VALUES".into()))?;
    row.columns().iter().map(|column| Ok(ScalarValue::try_from_array(column, 0)?)).collect()
}
