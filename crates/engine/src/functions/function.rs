//! A function over arrays as DataFusion's scalar function, so that each of ours is a name, types and a loop.

use crate::functions::names::call_name;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::Expr;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The types that the arguments are cast to, or an error that says what the function takes.
pub(crate) type Coerce = fn(&[DataType]) -> Result<Vec<DataType>>;
/// The result's type for arguments of the types that [`Coerce`] gave.
pub(crate) type TypeOf = fn(&[DataType]) -> Result<DataType>;
/// The result for arrays of arguments, all of them as long as the batch; the type is that of [`TypeOf`].
pub(crate) type Compute = fn(&[ArrayRef], &DataType) -> Result<ArrayRef>;

/// The values of an array, which must be of that type.
pub(crate) fn typed<T: ArrowPrimitiveType>(array: &dyn Array) -> Result<&PrimitiveArray<T>> {
    match array.as_primitive_opt::<T>() {
        Some(values) => Ok(values),
        None => internal_err!("{} in the place of {}", array.data_type(), T::DATA_TYPE),
    }
}

/// The result of a function over arrays: one value where all of its arguments are constants.
pub(crate) fn over_arrays(
    arguments: &ScalarFunctionArgs,
    compute: impl FnOnce(&[ArrayRef]) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    let is_constant = arguments.args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
    let rows = if is_constant { 1 } else { arguments.number_rows };
    let arrays = arguments.args.iter().map(|argument| argument.to_array(rows)).collect::<Result<Vec<_>>>()?;
    let result = compute(&arrays)?;
    if result.len() != rows {
        return internal_err!("a function gave {} values for {rows} rows", result.len());
    }
    Ok(if is_constant { ScalarValue::try_from_array(&result, 0)?.into() } else { result.into() })
}

/// A scalar function that depends on nothing but its arguments. Two of one name are the same function.
#[derive(Debug, Clone)]
pub(crate) struct PureFunction {
    name: &'static str,
    aliases: Vec<String>,
    coerce: Coerce,
    type_of: TypeOf,
    compute: Compute,
    /// NULL arguments give NULL.
    is_strict: bool,
    /// Whether its result may be NULL where that does not hang on the arguments.
    nullable: Option<bool>,
    /// The operator that it stands for.
    operator: Option<&'static str>,
    signature: Signature,
}

impl PureFunction {
    /// A function that is NULL where an argument is.
    pub(crate) fn new(name: &'static str, coerce: Coerce, type_of: TypeOf, compute: Compute) -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self {
            name,
            aliases: Vec::new(),
            coerce,
            type_of,
            compute,
            is_strict: true,
            nullable: None,
            operator: None,
            signature,
        }
    }

    /// With another name beside its own.
    pub(crate) fn alias(mut self, name: &str) -> Self {
        self.aliases.push(name.to_owned());
        self
    }

    /// One that is not NULL wherever an argument is.
    pub(crate) fn with_nulls(mut self) -> Self {
        self.is_strict = false;
        self
    }

    /// One that is never NULL.
    pub(crate) fn always(mut self) -> Self {
        self.nullable = Some(false);
        self
    }

    /// One that may be NULL where no argument is.
    pub(crate) fn may_be_null(mut self) -> Self {
        self.nullable = Some(true);
        self
    }

    /// One that stands for an operator: its result column is named as the operator is written.
    pub(crate) fn operator(mut self, operator: &'static str) -> Self {
        self.operator = Some(operator);
        self
    }

    /// Its name.
    pub(super) fn called(&self) -> &'static str {
        self.name
    }

    /// The operator that it stands for.
    pub(super) fn stands_for(&self) -> Option<&'static str> {
        self.operator
    }

    /// For DataFusion.
    pub(crate) fn build(self) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::new_from_impl(self))
    }
}

impl PartialEq for PureFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PureFunction {}

impl Hash for PureFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for PureFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        self.is_strict
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        Ok(call_name(self.name, self.operator, arguments))
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        (self.coerce)(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        (self.type_of)(types)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<_> = arguments.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let nullable = arguments.arg_fields.iter().any(|field| field.is_nullable());
        let nullable = self.nullable.unwrap_or(nullable);
        Ok(Arc::new(Field::new(self.name, self.return_type(&types)?, nullable)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        over_arrays(&arguments, |arrays| (self.compute)(arrays, arguments.return_field.data_type()))
    }
}
