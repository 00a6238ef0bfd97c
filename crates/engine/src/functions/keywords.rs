//! `pg_get_keywords()`: the words that SQL means something by here, which clients quote in names.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use arrow::array::{Array, ArrayRef, ListArray, StringArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use datafusion::sql::sqlparser::keywords::{ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS};
use std::sync::Arc;

/// The words as a list, which pg_get_keywords gives as rows.
pub(crate) const KEYWORDS: &str = "keywords";

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let none = |types: &[DataType]| match types {
        [] => Ok(Vec::new()),
        _ => invalid!(UndefinedFunction, "pg_get_keywords takes no arguments"),
    };
    vec![
        PureFunction::new(KEYWORDS, none, |_| Ok(DataType::new_list(DataType::Struct(fields()), true)), listed).build(),
    ]
}

/// The columns that PostgreSQL gives.
fn fields() -> Fields {
    let names = ["word", "catcode", "barelabel", "catdesc", "baredesc"];
    Fields::from(names.map(|name| Field::new(name, DataType::Utf8, true)).to_vec())
}

fn listed(_: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let reserved = |at: usize| RESERVED_FOR_COLUMN_ALIAS.contains(&ALL_KEYWORDS_INDEX[at]);
    let column = |of: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new((0..ALL_KEYWORDS.len()).map(|at| Some(of(at))).collect::<StringArray>())
    };
    let pick = |at: usize, yes: &str, no: &str| if reserved(at) { yes.to_owned() } else { no.to_owned() };
    let columns = vec![
        column(&|at| ALL_KEYWORDS[at].to_ascii_lowercase()),
        column(&|at| pick(at, "R", "U")),
        column(&|at| pick(at, "false", "true")),
        column(&|at| pick(at, "reserved", "unreserved")),
        column(&|at| pick(at, "requires AS", "can be bare label")),
    ];
    let rows = StructArray::try_new(fields(), columns, None)?;
    let field = Arc::new(Field::new_list_field(rows.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths([rows.len()]), Arc::new(rows), None)?))
}
