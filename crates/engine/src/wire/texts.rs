//! Columns as texts, as PostgreSQL's output functions print them: as CAST to TEXT does, but that TRUE is `t`.

use crate::casts::{Failing, convert};
use crate::wire::column_type::has_records;
use arrow::array::{Array, ArrayRef, AsArray, StringViewArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use arrow::util::display::array_value_to_string;
use datafusion::error::Result;

/// The values as texts.
pub(super) fn texts(values: &ArrayRef) -> Result<StringViewArray> {
    match values.data_type() {
        DataType::Boolean => Ok(truths(values)),
        DataType::Struct(_) => records(values),
        data_type if has_records(data_type) => displayed(values),
        DataType::Null => Ok(StringViewArray::new_null(values.len())),
        _ => Ok(convert(values, &DataType::Utf8View, Failing::Error)?.as_string_view().clone()),
    }
}

/// Lists of numbers as `int2vector` and `oidvector` are printed: `1 2`.
pub(super) fn vectors(values: &ArrayRef) -> StringViewArray {
    let lists = values.as_list::<i32>();
    let text = |list: ArrayRef| {
        let numbers = list.as_primitive::<Int64Type>().iter();
        numbers.map(|number| number.unwrap_or_default().to_string()).collect::<Vec<_>>().join(" ")
    };
    lists.iter().map(|list| list.map(text)).collect()
}

fn truths(values: &ArrayRef) -> StringViewArray {
    values.as_boolean().iter().map(|value| value.map(|value| if value { "t" } else { "f" })).collect()
}

/// Records as `record_out` prints them: `(1,"a b",)`.
fn records(values: &ArrayRef) -> Result<StringViewArray> {
    let records = values.as_struct();
    let fields = records.columns().iter().map(texts).collect::<Result<Vec<_>>>()?;
    let (mut all, mut text) = (StringViewBuilder::with_capacity(records.len()), String::new());
    for row in 0..records.len() {
        if records.is_null(row) {
            all.append_null();
            continue;
        }
        text.clear();
        for (place, field) in fields.iter().enumerate() {
            text.push(if place == 0 { '(' } else { ',' });
            if field.is_valid(row) {
                quoted(field.value(row), &mut text);
            }
        }
        text.push_str(if fields.is_empty() { "()" } else { ")" });
        all.append_value(&text);
    }
    Ok(all.finish())
}

/// A field of a record, in quotes where it could be taken for something else.
fn quoted(value: &str, to: &mut String) {
    let is_plain = |letter: char| !matches!(letter, '"' | '\\' | '(' | ')' | ',') && !letter.is_ascii_whitespace();
    if !value.is_empty() && value.chars().all(is_plain) {
        return to.push_str(value);
    }
    to.push('"');
    for letter in value.chars() {
        if matches!(letter, '"' | '\\') {
            to.push(letter);
        }
        to.push(letter);
    }
    to.push('"');
}

/// What PostgreSQL has no type for.
fn displayed(values: &ArrayRef) -> Result<StringViewArray> {
    let values = match values.data_type() {
        DataType::Dictionary(_, inner) => cast(values, inner)?,
        _ => ArrayRef::clone(values),
    };
    let text = |row| values.is_valid(row).then(|| array_value_to_string(&values, row)).transpose();
    Ok((0..values.len()).map(text).collect::<Result<StringViewArray, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BooleanArray, Int32Array, StringArray, StructArray};
    use arrow::datatypes::{Field, Fields};
    use std::sync::Arc;

    #[test]
    fn texts_are_those_of_postgresql() {
        let truths: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]));
        assert_eq!(texts(&truths).unwrap().iter().collect::<Vec<_>>(), [Some("t"), None, Some("f")]);
        let fields = Fields::from(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true)]);
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
        let words: ArrayRef = Arc::new(StringArray::from(vec![Some("a \"b\""), Some(""), None]));
        let records: ArrayRef = Arc::new(StructArray::new(fields, vec![numbers, words], None));
        let found = texts(&records).unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), [Some(r#"(1,"a ""b""")"#), Some(r#"(,"")"#), Some("(3,)")]);
    }
}
