//! `md5(text)`: the digest, in hexadecimal.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::type_name::type_name;
use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use md5::{Digest, Md5};
use std::sync::Arc;

pub(super) fn md5() -> Arc<ScalarUDF> {
    PureFunction::new("md5", text_or_bytes, |_| Ok(DataType::Utf8View), |own, _| digests(&own[0])).build()
}

fn text_or_bytes(types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [own] if own.is_string() || own.is_binary() || own.is_null() => Ok(vec![DataType::BinaryView]),
        [other] => invalid!(UndefinedFunction, "md5 takes a text or bytes, not {}; cast it", type_name(other)),
        _ => invalid!(UndefinedFunction, "md5 takes one text, not {} values", types.len()),
    }
}

fn digests(values: &ArrayRef) -> Result<ArrayRef> {
    let values = cast(values, &DataType::BinaryView)?;
    let of = |bytes: &[u8]| Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let digests = values.as_binary_view().iter().map(|bytes| bytes.map(of));
    Ok(Arc::new(digests.collect::<StringViewArray>()))
}
