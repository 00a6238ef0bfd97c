//! `pg_typeof`, the type of a value as PostgreSQL calls it, and `pg_column_size`, the bytes of one.

use crate::functions::{Compute, PureFunction};
use crate::postgres::{format_type, of_arrow};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    vec![Arc::new(ScalarUDF::new_from_impl(PgTypeof { signature: Signature::any(1, Volatility::Immutable) })), size()]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct PgTypeof {
    signature: Signature,
}

impl ScalarUDFImpl for PgTypeof {
    fn name(&self) -> &str {
        "pg_typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(Field::new("pg_typeof", DataType::Utf8View, false)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let name = format_type(of_arrow(arguments.arg_fields[0].data_type()), None);
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(Some(name))))
    }
}

/// The bytes that a value takes here: of a number its width, of a text or of bytes their length.
fn size() -> Arc<ScalarUDF> {
    let compute: Compute = |arguments, _| {
        let values = &arguments[0];
        let width = values.data_type().primitive_width();
        let texts: Option<ArrayRef> = match values.data_type() {
            own if width.is_some() || *own == DataType::Boolean => None,
            own if own.is_binary() => Some(cast(values, &DataType::BinaryView)?),
            _ => Some(cast(values, &DataType::Utf8View)?),
        };
        let bytes = |row: usize| match &texts {
            _ if values.is_null(row) => None,
            None => Some(width.unwrap_or(1) as i64),
            Some(own) => Some(match own.as_string_view_opt() {
                Some(own) => own.value(row).len() as i64,
                None => own.as_binary_view().value(row).len() as i64,
            }),
        };
        Ok(Arc::new((0..values.len()).map(bytes).collect::<Int64Array>()))
    };
    let coerce = |types: &[DataType]| Ok(types.to_vec());
    PureFunction::new("pg_column_size", coerce, |_| Ok(DataType::Int64), compute).build()
}
