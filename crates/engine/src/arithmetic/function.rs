//! The checked operators as DataFusion functions. They name their columns as the operators do.

use crate::arithmetic::{decimal, integer, quotient};
use crate::functions::names;
use arrow::array::{ArrayRef, Datum};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef};
use arrow::error::ArrowError;
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::expr::Expr;
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    ColumnarValue, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;
use std::sync::Arc;

/// `+`, `-`, `*` of two numbers, or the negation of one, that fails instead of wrapping; `/` of two decimals.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Checked {
    operator: Operator,
    /// The unary minus.
    negates: bool,
    signature: Signature,
}

impl Checked {
    /// A binary operator.
    pub(super) fn new(operator: Operator) -> Self {
        Self { operator, negates: false, signature: Signature::any(2, Volatility::Immutable) }
    }

    /// The unary minus.
    pub(super) fn negate() -> Self {
        Self { operator: Operator::Minus, negates: true, signature: Signature::any(1, Volatility::Immutable) }
    }

    /// True when the operator needs a check with these operands. Sums and differences of decimals can't leave 38 digits
    /// unless the precision of the result is cut to that; products go here because our loop is the faster one.
    pub(super) fn takes(operator: Operator, left: &DataType, right: &DataType) -> bool {
        match (left, right) {
            (DataType::Decimal128(..), DataType::Decimal128(..)) => {
                operator == Operator::Multiply
                    || matches!(
                        BinaryTypeCoercer::new(left, &operator, right).get_result_type(),
                        Ok(DataType::Decimal128(DECIMAL128_MAX_PRECISION, _))
                    )
            }
            _ => left.is_integer() && left == right,
        }
    }

    fn compute(&self, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
        match left.get().0.data_type() {
            DataType::Decimal128(..) if self.operator == Operator::Divide => quotient::quotients(left, right),
            DataType::Decimal128(..) => decimal::checked(self.operator, left, right),
            _ => integer::checked(self.operator, left, right),
        }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.operator {
            _ if self.negates => names::NEGATE,
            Operator::Plus => names::ADD,
            Operator::Minus => names::SUBTRACT,
            Operator::Divide => names::DIVIDE,
            _ => names::MULTIPLY,
        }
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        Ok(names::call_name(self.name(), None, arguments))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [inner] if self.negates => Ok(inner.clone()),
            [left, right] if self.operator == Operator::Divide => quotient::quotient_type(left, right)
                .map_or_else(|| internal_err!("{left} / {right} is no quotient of decimals"), Ok),
            [left, right] => BinaryTypeCoercer::new(left, &self.operator, right).get_result_type(),
            _ => internal_err!("{} with {} arguments", self.name(), types.len()),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<_> = arguments.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let nullable = arguments.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match arguments.args.as_slice() {
            [inner] if self.negates => {
                let zero = datafusion::common::ScalarValue::new_zero(&inner.data_type())?;
                apply(&ColumnarValue::Scalar(zero), inner, integer::negate)
            }
            [left, right] => apply(left, right, |left, right| self.compute(left, right)),
            _ => internal_err!("{} with {} arguments", self.name(), arguments.args.len()),
        }
    }
}
