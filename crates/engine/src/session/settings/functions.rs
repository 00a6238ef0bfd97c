//! `current_setting(name [, missing_ok])` and `set_config(name, value, is_local)`.

use crate::session::Session;
use arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

/// The functions of a session about its settings.
pub(in crate::session) fn functions(session: &Weak<Session>) -> Vec<Arc<ScalarUDF>> {
    let function = |reads: bool| {
        let text = DataType::Utf8View;
        let signature = match reads {
            true => Signature::one_of(
                vec![TypeSignature::Exact(vec![text.clone()]), TypeSignature::Exact(vec![text, DataType::Boolean])],
                Volatility::Stable,
            ),
            false => Signature::exact(vec![text.clone(), text, DataType::Boolean], Volatility::Volatile),
        };
        Arc::new(ScalarUDF::new_from_impl(SettingFunction { session: Weak::clone(session), reads, signature }))
    };
    vec![function(true), function(false)]
}

#[derive(Debug)]
struct SettingFunction {
    session: Weak<Session>,
    /// It is current_setting.
    reads: bool,
    signature: Signature,
}

impl PartialEq for SettingFunction {
    fn eq(&self, other: &Self) -> bool {
        self.reads == other.reads && self.session.ptr_eq(&other.session)
    }
}

impl Eq for SettingFunction {}

impl Hash for SettingFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl ScalarUDFImpl for SettingFunction {
    fn name(&self) -> &str {
        if self.reads { "current_setting" } else { "set_config" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let gone = || DataFusionError::Internal("the session is gone".into());
        let session = self.session.upgrade().ok_or_else(gone)?;
        let is_constant = arguments.args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        // Set once, however many rows there are.
        let rows = if is_constant { 1 } else { arguments.number_rows };
        let arrays = arguments.args.iter().map(|argument| argument.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let value = |row| if self.reads { shown(&session, &arrays, row) } else { set(&session, &arrays, row) };
        let values: StringViewArray = (0..rows).map(value).collect::<Result<_>>()?;
        Ok(match is_constant {
            true => ScalarValue::try_from_array(&values, 0)?.into(),
            false => ColumnarValue::Array(Arc::new(values)),
        })
    }
}

/// A text in a row; nothing for NULL.
fn text(array: &ArrayRef, row: usize) -> Option<&str> {
    let texts = array.as_string_view();
    texts.is_valid(row).then(|| texts.value(row))
}

/// Whether a row is true; nothing for NULL.
fn flag(array: &ArrayRef, row: usize) -> Option<bool> {
    let flags = array.as_boolean();
    flags.is_valid(row).then(|| flags.value(row))
}

/// The value of the setting that a row names.
fn shown(session: &Arc<Session>, arguments: &[ArrayRef], row: usize) -> Result<Option<String>> {
    let Some(name) = text(&arguments[0], row) else { return Ok(None) };
    let missing_ok = match arguments.get(1).map(|own| flag(own, row)) {
        Some(None) => return Ok(None),
        given => given.flatten().unwrap_or(false),
    };
    match session.shown_setting(name) {
        Ok(shown) => Ok(Some(shown.value)),
        Err(_) if missing_ok => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sets what a row says, and gives what it is then. A value of NULL is the default.
fn set(session: &Arc<Session>, arguments: &[ArrayRef], row: usize) -> Result<Option<String>> {
    let Some(name) = text(&arguments[0], row) else {
        return crate::error::invalid!(InvalidParameterValue, "set_config: the name of the setting is NULL");
    };
    let local = flag(&arguments[2], row).unwrap_or(false);
    session.set_in_transaction(name, text(&arguments[1], row), local)?;
    Ok(Some(session.shown_setting(name)?.value))
}
