//! Batches of any castable types to the rows of a table: columns mapped, defaults filled in, values cast, and the
//! constraints that a single row can break checked. The first bad row is named with its column and value.

use crate::statements::ddl::expression;
use crate::statements::dml::ingest::assign::assign;
use crate::statements::dml::ingest::value;
use crate::statements::dml::ingest::value::assignable;
use crate::type_name::type_name;
use crate::{Error, Result, table};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::execution::SessionState;
use datafusion::physical_expr::PhysicalExpr;
use gingham_storage::{ColumnDefinition, Datum, Generation, LogicalType, Problem, SqlState, TableDefinition};
use std::sync::Arc;

/// Turns source batches into batches of a table's Arrow schema.
#[derive(Debug)]
pub(crate) struct Converter {
    schema: SchemaRef,
    columns: Vec<TargetColumn>,
    checks: Vec<Check>,
    /// Columns of the source batches.
    inputs: usize,
}

#[derive(Debug)]
struct TargetColumn {
    name: String,
    logical_type: LogicalType,
    arrow: DataType,
    nullable: bool,
    source: ValueSource,
}

/// Where a table column's values come from.
#[derive(Debug)]
enum ValueSource {
    /// A column of the source batch, by position.
    Input(usize),
    /// The column's DEFAULT, evaluated for each row.
    Default(Arc<dyn PhysicalExpr>),
    /// NULL: not given, and no DEFAULT.
    Null,
    /// The column's expression over the others, whatever is given.
    Generated(Arc<dyn PhysicalExpr>),
}

#[derive(Debug)]
struct Check {
    name: String,
    condition: String,
    expression: Arc<dyn PhysicalExpr>,
}

/// A row that does not fit its table.
#[derive(Debug, Clone)]
pub(crate) struct BadRow {
    /// Row within the source batch, from 0.
    pub(crate) row: usize,
    /// The column at fault, when it is one.
    pub(crate) column: Option<String>,
    /// What is wrong, with the value.
    pub(crate) problem: Problem,
}

impl BadRow {
    /// The error, `place` naming the row ("row 3", "file.csv:17").
    pub(crate) fn into_error(self, place: &str) -> Error {
        let column = self.column.map(|column| format!("column '{column}'"));
        let place = Some(place).filter(|place| !place.is_empty());
        let place = [place, column.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let problem = if place.is_empty() { self.problem } else { self.problem.about(place) };
        if problem.state.is_constraint() { Error::Constraint(problem) } else { Error::InvalidInput(problem) }
    }
}

/// Why a batch was not converted.
#[derive(Debug)]
pub(crate) enum ConvertError {
    /// The first row that does not fit.
    Row(BadRow),
    /// Something that concerns all rows.
    Other(Error),
}

impl From<Error> for ConvertError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<arrow::error::ArrowError> for ConvertError {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self::Other(error.into())
    }
}

impl Converter {
    /// For batches whose columns are, in order, the table's columns `given`; all of them when it is `None`. Columns not
    /// given take their DEFAULT or NULL.
    pub(crate) fn new(state: &SessionState, definition: &TableDefinition, given: Option<&[String]>) -> Result<Self> {
        let schema = definition.arrow_schema();
        let mut columns = Vec::with_capacity(definition.columns.len());
        let named = given;
        for (position, column) in definition.columns.iter().enumerate() {
            let given = match given {
                None => Some(position),
                Some(names) => names.iter().position(|name| *name == column.name),
            };
            if matches!(column.generation, Some(Generation::Stored(_))) && named.is_some() && given.is_some() {
                return Err(Error::invalid(
                    SqlState::GeneratedAlways,
                    format!("column '{}' is generated, and takes no values; leave it out", column.name),
                ));
            }
            let default = expression::default_text(column);
            let source = match (given, &column.generation, default) {
                (_, Some(Generation::Stored(text)), _) => {
                    ValueSource::Generated(expression::generated(state, definition, &column.name, text)?)
                }
                (Some(position), ..) => ValueSource::Input(position),
                (None, _, Some(text)) => ValueSource::Default(expression::default(state, &column.name, &text)?),
                (None, _, None) => ValueSource::Null,
            };
            columns.push(TargetColumn {
                name: column.name.clone(),
                logical_type: column.logical_type.clone(),
                arrow: column.logical_type.to_arrow(),
                nullable: column.nullable,
                source,
            });
        }
        let mut checks = Vec::with_capacity(definition.checks.len());
        for check in &definition.checks {
            checks.push(Check {
                name: check.name.clone(),
                condition: check.condition.clone(),
                expression: expression::check(state, &check.name, &schema, &check.condition)?,
            });
        }
        let inputs = given.map_or(definition.columns.len(), <[String]>::len);
        Ok(Self { schema, columns, checks, inputs })
    }

    /// Refuses a source whose columns are too few, too many or of types that don't convert; for planning.
    pub(crate) fn accept(&self, source: &Schema) -> Result<()> {
        for (target, position) in self.inputs() {
            let Some(field) = source.fields().get(position) else { continue };
            if !assignable(field.data_type(), &target.logical_type) {
                return Err(Error::invalid(
                    SqlState::DatatypeMismatch,
                    format!(
                        "column '{}' is {}, but its new values are {}; cast them",
                        target.name,
                        target.logical_type,
                        type_name(field.data_type()),
                    ),
                ));
            }
        }
        let expected = self.inputs;
        if source.fields().len() != expected {
            return Err(Error::invalid(
                SqlState::SyntaxError,
                format!(
                    "{} to be filled, but {} given",
                    value::count_are(expected, "column"),
                    value::count_are(source.fields().len(), "value"),
                ),
            ));
        }
        Ok(())
    }

    fn inputs(&self) -> impl Iterator<Item = (&TargetColumn, usize)> {
        self.columns.iter().filter_map(|target| match target.source {
            ValueSource::Input(position) => Some((target, position)),
            _ => None,
        })
    }

    /// Converts a batch, or names its first bad row.
    pub(crate) fn convert(&self, batch: &RecordBatch) -> Result<RecordBatch, ConvertError> {
        self.accept(batch.schema_ref())?;
        let mut arrays = Vec::with_capacity(self.columns.len());
        let mut worst: Option<BadRow> = None;
        for target in &self.columns {
            match target.fill(batch)? {
                Ok(array) => arrays.push(array),
                Err(bad) => worst = first(worst, bad),
            }
        }
        if let Some(bad) = worst {
            return Err(ConvertError::Row(bad));
        }
        self.generate(&mut arrays, batch.num_rows())?;
        // Nullability is checked by `fill`; the options keep the number of rows of a batch without columns.
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let converted = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?;
        for check in &self.checks {
            if let Some(bad) = check.violation(&converted)? {
                worst = first(worst, bad);
            }
        }
        match worst {
            Some(bad) => Err(ConvertError::Row(bad)),
            None => Ok(converted),
        }
    }

    /// Computes the generated columns of the others, in the place of the NULLs that stand for them.
    fn generate(&self, arrays: &mut [ArrayRef], rows: usize) -> Result<(), ConvertError> {
        let is_generated = |target: &TargetColumn| matches!(target.source, ValueSource::Generated(_));
        if !self.columns.iter().any(is_generated) {
            return Ok(());
        }
        let fields = self.schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let others = RecordBatch::try_new_with_options(schema, arrays.to_vec(), &options)?;
        for (target, array) in self.columns.iter().zip(arrays) {
            if let ValueSource::Generated(expression) = &target.source {
                let values =
                    expression.evaluate(&others).map_err(Error::from)?.into_array(rows).map_err(Error::from)?;
                *array = target.cast(&values)?.map_err(ConvertError::Row)?;
            }
        }
        Ok(())
    }

    /// Casts single values, given as an array, to the type of the table column that source column `position` fills.
    pub(crate) fn cast_input(&self, position: usize, values: &ArrayRef) -> Result<ArrayRef, ConvertError> {
        match self.inputs().find(|(_, input)| *input == position) {
            Some((target, _)) => target.cast(values)?.map_err(ConvertError::Row),
            None => Ok(Arc::clone(values)),
        }
    }
}

/// The one value of `values` as a value of `column`.
pub(crate) fn single_value(values: &ArrayRef, column: &ColumnDefinition) -> Result<Datum> {
    let target = TargetColumn {
        name: column.name.clone(),
        logical_type: column.logical_type.clone(),
        arrow: column.logical_type.to_arrow(),
        nullable: column.nullable,
        source: ValueSource::Input(0),
    };
    let cast = target.cast(values)?.map_err(|bad| bad.into_error(""))?;
    let value = ScalarValue::try_from_array(&cast, 0)?;
    table::datum(&value, &column.logical_type)
        .ok_or_else(|| Error::Internal(format!("column '{}' can't keep {value}", column.name)))
}

fn first(a: Option<BadRow>, b: BadRow) -> Option<BadRow> {
    match a {
        Some(a) if a.row <= b.row => Some(a),
        _ => Some(b),
    }
}

impl TargetColumn {
    /// The column's values for a source batch.
    fn fill(&self, batch: &RecordBatch) -> Result<Result<ArrayRef, BadRow>> {
        let values = match &self.source {
            ValueSource::Input(position) => Arc::clone(batch.column(*position)),
            ValueSource::Default(expression) => expression.evaluate(batch)?.into_array(batch.num_rows())?,
            ValueSource::Null => arrow::array::new_null_array(&self.arrow, batch.num_rows()),
            ValueSource::Generated(_) => return Ok(Ok(arrow::array::new_null_array(&self.arrow, batch.num_rows()))),
        };
        self.cast(&values)
    }

    /// Casts, then checks length and NOT NULL. The outer error concerns all rows.
    fn cast(&self, values: &ArrayRef) -> Result<Result<ArrayRef, BadRow>> {
        if !assignable(values.data_type(), &self.logical_type) {
            return Err(Error::invalid(
                SqlState::DatatypeMismatch,
                format!(
                    "column '{}' is {}, but its new value is {}; cast it",
                    self.name,
                    self.logical_type,
                    type_name(values.data_type()),
                ),
            ));
        }
        let cast = match assign(values, &self.logical_type)? {
            Ok(cast) => cast,
            Err(misfit) => {
                let before = self.cast(&values.slice(0, misfit.row))?;
                return Ok(before.and_then(|_| Err(self.bad(misfit.row, misfit.problem))));
            }
        };
        let cast = self.without_blanks(cast);
        let bad = [self.too_long(&cast), self.missing(&cast)];
        Ok(match bad.into_iter().flatten().min_by_key(|bad| bad.row) {
            None => Ok(cast),
            Some(bad) => Err(bad),
        })
    }

    fn bad(&self, row: usize, problem: Problem) -> BadRow {
        BadRow { row, column: Some(self.name.clone()), problem }
    }

    /// Strings without the blanks that a CHAR does not keep, and those behind the most characters of a VARCHAR.
    fn without_blanks(&self, values: ArrayRef) -> ArrayRef {
        let (Some(limit), Some(strings)) = (self.logical_type.character_limit(), values.as_string_view_opt()) else {
            return values;
        };
        let kept = if self.logical_type.fixed_length().is_some() { 0 } else { limit as usize };
        let ends_in_blank = |text: Option<&str>| text.is_some_and(|text| text.len() > kept && text.ends_with(' '));
        if !strings.iter().any(ends_in_blank) {
            return values;
        }
        Arc::new(strings.iter().map(|text| text.map(|text| without_blanks(text, kept))).collect::<StringViewArray>())
    }

    /// The first string with more characters than the type allows.
    fn too_long(&self, values: &ArrayRef) -> Option<BadRow> {
        let limit = self.logical_type.character_limit()? as usize;
        let strings = values.as_string_view_opt()?;
        // Bytes, whose number a view begins with, are at least as many as characters: most strings are never counted.
        let longer = strings.views().iter().enumerate().filter(|(_, view)| **view as u32 as usize > limit);
        let is_too_long = |row: &usize| strings.is_valid(*row) && strings.value(*row).chars().nth(limit).is_some();
        let row = longer.map(|(row, _)| row).find(is_too_long)?;
        let text = strings.value(row);
        let problem = format!(
            "value {} has {} characters, too long for {}",
            value::quote(text),
            text.chars().count(),
            self.logical_type
        );
        Some(self.bad(row, Problem::new(SqlState::StringDataRightTruncation, problem)))
    }

    /// The first NULL under NOT NULL.
    fn missing(&self, values: &ArrayRef) -> Option<BadRow> {
        if self.nullable || values.logical_null_count() == 0 {
            return None;
        }
        let row = values.logical_nulls()?.iter().position(|present| !present)?;
        let problem = match self.source {
            ValueSource::Null => "is NOT NULL, has no default and is given no value".to_owned(),
            _ => "NULL violates NOT NULL".to_owned(),
        };
        Some(self.bad(row, Problem::new(SqlState::NotNullViolation, problem)))
    }
}

/// A text without the blanks at its end that lie behind its first `kept` characters.
fn without_blanks(text: &str, kept: usize) -> &str {
    let least = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
    let trimmed = text.trim_end_matches(' ').len();
    &text[..trimmed.max(least)]
}

impl Check {
    /// The first row for which the condition is false; NULL passes.
    fn violation(&self, batch: &RecordBatch) -> Result<Option<BadRow>> {
        let result = self.expression.evaluate(batch)?.into_array(batch.num_rows())?;
        let Some(result) = result.as_any().downcast_ref::<BooleanArray>() else {
            return Ok(None); // the type NULL: neither true nor false for any row
        };
        if result.true_count() + result.null_count() == result.len() {
            return Ok(None);
        }
        let row = (0..result.len()).find(|&row| result.is_valid(row) && !result.value(row));
        Ok(row.map(|row| BadRow {
            row,
            column: None,
            problem: Problem::new(
                SqlState::CheckViolation,
                format!(
                    "CHECK constraint '{}' ({}) does not hold for {}",
                    self.name,
                    self.condition,
                    value::row(batch, row)
                ),
            ),
        }))
    }
}
