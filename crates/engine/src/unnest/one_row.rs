//! The value of a subquery's only row: an error where it has more, for those rows alone that ask.

use arrow::compute::kernels::aggregate::max;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::cast::as_int64_array;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// `value` where `rows` is not above one.
pub(super) fn one_row(value: Expr, rows: Expr) -> Expr {
    ScalarUDF::from(OneRow::new()).call(vec![value, rows])
}

const ONE_ROW: &str = "gingham_one_row";

/// `gingham_one_row(value, rows)`: the value.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OneRow {
    signature: Signature,
}

impl OneRow {
    fn new() -> Self {
        // It must not be evaluated for other rows than those that ask.
        Self { signature: Signature::any(2, Volatility::Volatile) }
    }
}

impl ScalarUDFImpl for OneRow {
    fn name(&self) -> &str {
        ONE_ROW
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        arguments.first().cloned().ok_or_else(misused)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = arguments.arg_fields.first().ok_or_else(misused)?;
        Ok(Arc::new(field.as_ref().clone().with_nullable(true)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, rows]: [ColumnarValue; 2] = arguments.args.try_into().map_err(|_| misused())?;
        let rows = rows.into_array(arguments.number_rows)?;
        let most = max(as_int64_array(rows.as_ref())?);
        match most {
            Some(most) if most > 1 => Err(DataFusionError::Execution(format!(
                "a subquery that stands for a value gives {most} rows; add LIMIT 1, or an aggregate function such as min()"
            ))),
            _ => Ok(value),
        }
    }
}

fn misused() -> DataFusionError {
    DataFusionError::Plan(format!("{ONE_ROW}(value, rows) takes two arguments"))
}
