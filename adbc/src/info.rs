//! The names and versions of driver and database.

use adbc_core::constants::ADBC_VERSION_1_1_0;
use adbc_core::error::Result;
use adbc_core::options::InfoCode;
use adbc_core::schemas::GET_INFO_SCHEMA;
use arrow::array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array, UnionArray, new_empty_array,
};
use arrow::datatypes::DataType;
use std::collections::HashSet;
use std::sync::Arc;

/// Position of each kind of value in the union.
const STRING: i8 = 0;
const BOOLEAN: i8 = 1;
const INT64: i8 = 2;

enum Told {
    Text(&'static str),
    Truth(bool),
    Number(i64),
}

/// The answer for a code; `None` for one that is not known.
fn told(code: InfoCode) -> Option<Told> {
    Some(match code {
        InfoCode::VendorName => Told::Text("Gingham"),
        InfoCode::VendorVersion | InfoCode::DriverVersion => Told::Text(env!("CARGO_PKG_VERSION")),
        InfoCode::VendorArrowVersion | InfoCode::DriverArrowVersion => Told::Text(arrow::ARROW_VERSION),
        InfoCode::VendorSql => Told::Truth(true),
        InfoCode::VendorSubstrait => Told::Truth(false),
        InfoCode::DriverName => Told::Text("ADBC Gingham Driver"),
        InfoCode::DriverAdbcVersion => Told::Number(ADBC_VERSION_1_1_0.into()),
        _ => return None,
    })
}

/// The rows of GetInfo: those of some codes, or all.
pub(crate) fn batch(codes: Option<&HashSet<InfoCode>>) -> Result<RecordBatch> {
    const ALL: [InfoCode; 9] = [
        InfoCode::VendorName,
        InfoCode::VendorVersion,
        InfoCode::VendorArrowVersion,
        InfoCode::VendorSql,
        InfoCode::VendorSubstrait,
        InfoCode::DriverName,
        InfoCode::DriverVersion,
        InfoCode::DriverArrowVersion,
        InfoCode::DriverAdbcVersion,
    ];
    let wanted = ALL.into_iter().filter(|code| codes.is_none_or(|codes| codes.contains(code)));
    let (mut names, mut kinds, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    let (mut texts, mut truths, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for code in wanted {
        let Some(value) = told(code) else { continue };
        names.push(u32::from(&code));
        let (kind, offset) = match value {
            Told::Text(text) => {
                texts.push(text);
                (STRING, texts.len())
            }
            Told::Truth(truth) => {
                truths.push(truth);
                (BOOLEAN, truths.len())
            }
            Told::Number(number) => {
                numbers.push(number);
                (INT64, numbers.len())
            }
        };
        kinds.push(kind);
        offsets.push(offset as i32 - 1);
    }
    let DataType::Union(fields, _) = GET_INFO_SCHEMA.field(1).data_type().clone() else {
        return Err(crate::error::wrong_state("the schema of GetInfo has no union"));
    };
    let children = fields.iter().map(|(kind, field)| -> ArrayRef {
        match kind {
            STRING => Arc::new(StringArray::from(texts.clone())),
            BOOLEAN => Arc::new(BooleanArray::from(truths.clone())),
            INT64 => Arc::new(Int64Array::from(numbers.clone())),
            _ => new_empty_array(field.data_type()),
        }
    });
    let values = UnionArray::try_new(fields.clone(), kinds.into(), Some(offsets.into()), children.collect())?;
    let names: ArrayRef = Arc::new(UInt32Array::from(names));
    Ok(RecordBatch::try_new(Arc::clone(&GET_INFO_SCHEMA), vec![names, Arc::new(values)])?)
}
