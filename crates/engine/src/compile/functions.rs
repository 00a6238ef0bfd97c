//! Functions that execution asks for while a query runs: expressions that DataFusion evaluates, over columns that are
//! integers there. Results are integers again; strings get numbers of the query's own, equal ones the same.

use crate::compile::entry_numbers::EntryNumbers;
use crate::compile::groups::{OutputColumn, OutputSource};
use crate::compile::numbers;
use crate::compile::results::array;
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, SchemaRef};
use datafusion::physical_expr::PhysicalExpr;
use gingham_execution::{
    Column, Compute, Error as ExecutionError, InternedStrings, Limits, Memory, Rows, Values, ordered,
};
use gingham_kernels::Isa;
use gingham_storage::encoding::integers_of_array;
use gingham_storage::{LogicalType, ValueClass};
use std::fmt;
use std::sync::Arc;

/// The largest distance from zero of integers of 64 bits that an expression may give here: ranges of keys and of what is
/// compared have to fit 62 bits. Larger ones are left to the operators that were replaced.
const LARGEST: i64 = 1 << 60;

/// An expression and what its columns are.
#[derive(Debug, Clone)]
pub(super) struct CompiledFunction {
    pub(super) expression: Arc<dyn PhysicalExpr>,
    /// The columns that it is over.
    pub(super) schema: SchemaRef,
    /// What they are, each of the argument with its number.
    pub(super) columns: Vec<OutputColumn>,
    /// Those without an argument have the same value in all records; `None` is NULL.
    pub(super) constants: Vec<Option<i64>>,
}

/// A function for one run of a query.
#[derive(Debug)]
struct RunningFunction {
    function: CompiledFunction,
    strings: Arc<InternedStrings>,
    /// The numbers that it gives for a dictionary's entries, where it is over nothing else.
    entries: Option<EntryNumbers>,
    isa: Isa,
}

impl CompiledFunction {
    /// For a run of the query that numbers `strings`.
    pub(super) fn running(&self, strings: &Arc<InternedStrings>, isa: Isa) -> Arc<dyn Compute> {
        let entries = self.entries().map(EntryNumbers::new);
        Arc::new(RunningFunction { function: self.clone(), strings: Arc::clone(strings), entries, isa })
    }

    /// The entries of the dictionary that it makes strings of, if it looks at nothing else.
    fn entries(&self) -> Option<usize> {
        let [OutputColumn { how: OutputSource::Column(_), entries: Some(entries), .. }] = self.columns.as_slice()
        else {
            return None;
        };
        let data_type = self.expression.data_type(&self.schema).ok()?;
        (is_string(&data_type) && self.constants.is_empty()).then(|| entries.len())
    }
}

impl RunningFunction {
    /// The function's columns for records with these arguments.
    fn columns(&self, arguments: &[Column], rows: usize) -> gingham_execution::Result<Vec<ArrayRef>> {
        let CompiledFunction { schema, columns, constants, .. } = &self.function;
        let constants = constants.iter().map(|value| Column {
            values: Values::Short(vec![value.unwrap_or_default(); rows]),
            valid: value.is_none().then(|| BooleanBuffer::new_unset(rows)),
        });
        let given = Rows { rows, columns: arguments.iter().cloned().chain(constants).collect() };
        let argument = |(column, field): (&OutputColumn, &arrow::datatypes::FieldRef)| {
            let values = array(column, &given, &self.strings, self.isa).map_err(|error| left(&error))?;
            if values.data_type() == field.data_type() {
                Ok(values)
            } else {
                cast(&values, field.data_type()).map_err(|error| left(&error))
            }
        };
        columns.iter().zip(schema.fields()).map(argument).collect()
    }

    /// The values of the expression for records with these arguments.
    fn evaluated(&self, arguments: &[Column], rows: usize) -> gingham_execution::Result<ArrayRef> {
        let columns = self.columns(arguments, rows)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.function.schema), columns, &options);
        let batch = batch.map_err(|error| left(&error))?;
        let results = self.function.expression.evaluate(&batch).and_then(|results| results.into_array(rows));
        results.map_err(|error| left(&error))
    }
}

impl Compute for RunningFunction {
    fn compute(&self, arguments: &[Column], rows: usize, memory: &dyn Memory) -> gingham_execution::Result<Column> {
        let numbers = |arguments: &[Column], rows| integers(&self.evaluated(arguments, rows)?, &self.strings, memory);
        match (&self.entries, arguments) {
            (Some(entries), [argument]) => entries.numbers(argument, memory, numbers),
            _ => numbers(arguments, rows),
        }
    }

    fn texts(&self, arguments: &[Column], rows: usize) -> gingham_execution::Result<BinaryViewArray> {
        let texts = cast(&self.evaluated(arguments, rows)?, &DataType::BinaryView);
        Ok(texts.map_err(|error| left(&error))?.as_binary_view().clone())
    }

    fn numbers(&self, texts: &[Option<&[u8]>], memory: &dyn Memory) -> gingham_execution::Result<Vec<Option<u32>>> {
        self.strings.numbers(texts.iter().copied(), memory)
    }
}

/// An error of DataFusion's: which one it is, and whether the query has it at all, the operators that were replaced know.
pub(super) fn left(error: &dyn fmt::Display) -> ExecutionError {
    ExecutionError::Unsupported(error.to_string())
}

/// Where the integers of an expression's results lie; `None` for a type that has none.
pub(super) fn limits(data_type: &DataType) -> Option<Limits> {
    let logical_type = LogicalType::from_arrow("", data_type).ok()?;
    Some(match logical_type.class() {
        ValueClass::Bytes if is_string(data_type) => InternedStrings::LIMITS,
        ValueClass::Bytes => return None,
        // Whatever a function gives: infinities and NaN too.
        ValueClass::Float => Limits::new(i64::MIN + 1, i64::MAX),
        ValueClass::Integer if logical_type.to_arrow() != *data_type => return None,
        ValueClass::Integer => match data_type {
            DataType::Boolean => Limits::new(0, 1),
            DataType::Date32 | DataType::Time32(_) => Limits::new(i32::MIN, i32::MAX),
            DataType::Int8 | DataType::Int16 | DataType::Int32 => numbers::limits(data_type)?,
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => numbers::limits(data_type)?,
            DataType::UInt64 => Limits::new(0, LARGEST),
            _ => Limits::new(-LARGEST, LARGEST),
        },
    })
}

/// Types of strings that queries number.
pub(super) fn is_string(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
    )
}

/// Values as integers, as pipelines have them.
pub(super) fn integers(
    array: &ArrayRef,
    strings: &InternedStrings,
    memory: &dyn Memory,
) -> gingham_execution::Result<Column> {
    let valid = array.nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.inner().clone());
    let short = |values: Vec<i64>| Ok(Column { values: Values::Short(values), valid: valid.clone() });
    match array.data_type() {
        DataType::Int64 => short(array.as_primitive::<Int64Type>().values().to_vec()),
        DataType::Float64 => {
            short(array.as_primitive::<Float64Type>().values().iter().map(|value| ordered(*value)).collect())
        }
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().values();
            short(values.iter().map(|value| ordered((*value).into())).collect())
        }
        data_type if is_string(data_type) => {
            let views = cast(array, &DataType::BinaryView).map_err(|error| left(&error))?;
            let numbers = strings.numbers(views.as_binary_view().iter(), memory)?;
            short(numbers.into_iter().map(|number| number.unwrap_or_default().into()).collect())
        }
        _ => {
            let values = integers_of_array(array)?;
            let long = || left(&"a computed value of more than 64 bits");
            let value = |value: Option<i128>| i64::try_from(value.unwrap_or_default()).map_err(|_| long());
            short(values.into_iter().map(value).collect::<Result<_, _>>()?)
        }
    }
}
