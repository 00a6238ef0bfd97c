//! nextval, currval, lastval, setval and pg_get_serial_sequence. How they reach sequences stands among the statement's settings.

use crate::functions::quoting::quoted;
use crate::settings::{SequenceReference, Sequences, Settings};
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::sync::Arc;

/// Which function it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SequenceCall {
    Next,
    Current,
    Last,
    Set,
    OfColumn,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SequenceFunction {
    kind: SequenceCall,
    signature: Signature,
}

/// All of them.
pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let make = |kind, arguments: &[usize]| {
        let forms = arguments.iter().map(|number| match number {
            0 => TypeSignature::Nullary,
            number => TypeSignature::Any(*number),
        });
        let volatility = if kind == SequenceCall::OfColumn { Volatility::Stable } else { Volatility::Volatile };
        let signature = Signature::one_of(forms.collect(), volatility);
        Arc::new(ScalarUDF::new_from_impl(SequenceFunction { kind, signature }))
    };
    vec![
        make(SequenceCall::Next, &[1]),
        make(SequenceCall::Current, &[1]),
        make(SequenceCall::Last, &[0]),
        make(SequenceCall::Set, &[2, 3]),
        make(SequenceCall::OfColumn, &[2]),
    ]
}

fn access(options: &ConfigOptions) -> Result<Arc<dyn Sequences>> {
    let settings = options.extensions.get::<Settings>();
    let access = settings.and_then(|settings| settings.sequences.clone());
    access.ok_or_else(|| Error::Unsupported("a sequence can't be asked here".into()))
}

/// The names or numbers of sequences.
enum SequenceNames {
    Texts(StringViewArray),
    Numbers(Int64Array),
}

impl SequenceNames {
    fn of(values: &ArrayRef) -> Result<Self> {
        Ok(match values.data_type() {
            integer if integer.is_integer() => {
                Self::Numbers(cast(values, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            _ => Self::Texts(cast(values, &DataType::Utf8View)?.as_string_view().clone()),
        })
    }

    fn at(&self, row: usize) -> Option<SequenceReference<'_>> {
        match self {
            Self::Texts(texts) => texts.is_valid(row).then(|| SequenceReference::Text(texts.value(row))),
            Self::Numbers(numbers) => numbers.is_valid(row).then(|| SequenceReference::Number(numbers.value(row))),
        }
    }
}

impl SequenceFunction {
    fn compute(&self, access: &dyn Sequences, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        if self.kind == SequenceCall::Last {
            let last = access.last()?;
            return Ok(Arc::new(Int64Array::from(vec![last; rows])));
        }
        if let (SequenceCall::Next, [ColumnarValue::Scalar(name)]) = (self.kind, args) {
            let names = SequenceNames::of(&name.to_array()?)?;
            return Ok(match names.at(0) {
                Some(reference) => Arc::new(Int64Array::from(access.next(reference, rows)?)),
                None => Arc::new(Int64Array::new_null(rows)),
            });
        }
        let arrays = args.iter().map(|value| value.to_array(rows)).collect::<DataFusionResult<Vec<ArrayRef>>>()?;
        let [first, rest @ ..] = arrays.as_slice() else {
            return Err(Error::Internal("a function of sequences without arguments".into()));
        };
        if self.kind == SequenceCall::OfColumn {
            return of_columns(access, first, rest);
        }
        let names = SequenceNames::of(first)?;
        let values = rest.first().map(|values| cast(values, &DataType::Int64)).transpose()?;
        let called = rest.get(1).map(|called| cast(called, &DataType::Boolean)).transpose()?;
        let mut results = Vec::with_capacity(rows);
        for row in 0..rows {
            let Some(reference) = names.at(row) else {
                results.push(None);
                continue;
            };
            results.push(match self.kind {
                SequenceCall::Set => set(access, reference, values.as_ref(), called.as_ref(), row)?,
                SequenceCall::Current => Some(access.current(reference)?),
                _ => access.next(reference, 1)?.first().copied(),
            });
        }
        Ok(Arc::new(Int64Array::from(results)))
    }
}

fn set(
    access: &dyn Sequences,
    reference: SequenceReference<'_>,
    values: Option<&ArrayRef>,
    called: Option<&ArrayRef>,
    row: usize,
) -> Result<Option<i64>> {
    let Some(values) = values.map(|values| values.as_primitive::<Int64Type>()) else { return Ok(None) };
    let called: Option<&BooleanArray> = called.map(|called| called.as_boolean());
    if values.is_null(row) || called.is_some_and(|called| called.is_null(row)) {
        return Ok(None);
    }
    access.set(reference, values.value(row), called.is_none_or(|called| called.value(row)))?;
    Ok(Some(values.value(row)))
}

fn of_columns(access: &dyn Sequences, tables: &ArrayRef, rest: &[ArrayRef]) -> Result<ArrayRef> {
    let Some(columns) = rest.first() else {
        return Err(Error::Internal("pg_get_serial_sequence without a column".into()));
    };
    let (tables, columns) = (cast(tables, &DataType::Utf8View)?, cast(columns, &DataType::Utf8View)?);
    let pairs = tables.as_string_view().iter().zip(columns.as_string_view());
    let names = pairs.map(|pair| match pair {
        (Some(table), Some(column)) => {
            let name = access.of_column(table, column)?;
            // With its schema, as PostgreSQL has it.
            Ok(name.map(|name| format!("{}.{}", quoted(&name.schema), quoted(&name.table))))
        }
        _ => Ok(None),
    });
    Ok(Arc::new(names.collect::<Result<StringViewArray>>()?))
}

impl ScalarUDFImpl for SequenceFunction {
    fn name(&self) -> &str {
        match self.kind {
            SequenceCall::Next => "nextval",
            SequenceCall::Current => "currval",
            SequenceCall::Last => "lastval",
            SequenceCall::Set => "setval",
            SequenceCall::OfColumn => "pg_get_serial_sequence",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(if self.kind == SequenceCall::OfColumn { DataType::Utf8View } else { DataType::Int64 })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let access = access(&args.config_options)?;
        Ok(ColumnarValue::Array(self.compute(access.as_ref(), &args.args, args.number_rows)?))
    }
}
