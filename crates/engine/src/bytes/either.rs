//! A name that means DataFusion's function for texts, and one of ours where bytes are among the arguments.

use crate::functions::PureFunction;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use std::sync::Arc;

/// The two functions.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Either {
    texts: Arc<ScalarUDF>,
    bytes: PureFunction,
    signature: Signature,
}

impl Either {
    pub(super) fn of(texts: Arc<ScalarUDF>, bytes: PureFunction) -> Arc<ScalarUDF> {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Self { texts, bytes, signature }))
    }

    fn for_types<'a>(&self, types: impl IntoIterator<Item = &'a DataType>) -> &dyn ScalarUDFImpl {
        if types.into_iter().any(DataType::is_binary) { &self.bytes } else { self.texts.inner().as_ref() }
    }
}

impl ScalarUDFImpl for Either {
    fn name(&self) -> &str {
        self.texts.name()
    }

    fn aliases(&self) -> &[String] {
        self.texts.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        self.texts.inner().is_strict()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if types.iter().any(DataType::is_binary) {
            return self.bytes.coerce_types(types);
        }
        let field = |data_type: &DataType| Arc::new(Field::new("", data_type.clone(), true));
        let fields = fields_with_udf(&types.iter().map(field).collect::<Vec<_>>(), self.texts.as_ref())?;
        Ok(fields.iter().map(|field| field.data_type().clone()).collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.for_types(types).return_type(types)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types = arguments.arg_fields.iter().map(|field| field.data_type());
        self.for_types(types).return_field_from_args(arguments)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types = arguments.arg_fields.iter().map(|field| field.data_type());
        self.for_types(types).invoke_with_args(arguments)
    }

    fn simplify(&self, arguments: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        for argument in &arguments {
            if info.get_data_type(argument)?.is_binary() {
                return Ok(ExprSimplifyResult::Original(arguments));
            }
        }
        self.texts.inner().simplify(arguments, info)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.texts.documentation()
    }
}
