//! `json_build_object` and `json_build_array`, which clients of PostgreSQL's catalog call: JSON as text, written as PostgreSQL
//! writes it.

use crate::error::invalid;
use crate::functions::{Compute, PureFunction};
use crate::text::as_text;
use arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The functions.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let text = |_: &[DataType]| Ok(DataType::Utf8View);
    let object: Compute = |own, _| rows(own, object);
    let array: Compute = |own, _| rows(own, array);
    vec![
        PureFunction::new("json_build_object", pairs, text, object).with_nulls().always().build(),
        PureFunction::new("json_build_array", |own| Ok(own.to_vec()), text, array).with_nulls().always().build(),
    ]
}

fn pairs(types: &[DataType]) -> Result<Vec<DataType>> {
    if !types.len().is_multiple_of(2) {
        return invalid!(
            InvalidParameterValue,
            "json_build_object takes names and values in turn, an even number of arguments, not {}",
            types.len()
        );
    }
    let own = |(at, own): (usize, &DataType)| if at.is_multiple_of(2) { DataType::Utf8View } else { own.clone() };
    Ok(types.iter().enumerate().map(own).collect())
}

/// A JSON text for each row.
fn rows(arguments: &[ArrayRef], write: fn(&[JsonColumn], usize, &mut String) -> Result<()>) -> Result<ArrayRef> {
    let columns = arguments.iter().map(JsonColumn::of).collect::<Result<Vec<_>>>()?;
    let length = arguments.first().map_or(1, |own| own.len());
    let texts = (0..length).map(|row| {
        let mut text = String::new();
        write(&columns, row, &mut text)?;
        Ok(text)
    });
    Ok(Arc::new(texts.collect::<Result<Vec<_>>>()?.into_iter().map(Some).collect::<StringViewArray>()))
}

fn object(columns: &[JsonColumn], row: usize, text: &mut String) -> Result<()> {
    text.push('{');
    for (at, pair) in columns.chunks_exact(2).enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        if pair[0].is_null(row) {
            return invalid!(NullValueNotAllowed, "a name in json_build_object is NULL (argument {})", 2 * at + 1);
        }
        pair[0].write(row, text)?;
        text.push_str(" : ");
        pair[1].write(row, text)?;
    }
    text.push('}');
    Ok(())
}

fn array(columns: &[JsonColumn], row: usize, text: &mut String) -> Result<()> {
    text.push('[');
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        column.write(row, text)?;
    }
    text.push(']');
    Ok(())
}

/// A column, and how its values are written.
struct JsonColumn {
    array: ArrayRef,
    form: Form,
}

enum Form {
    /// By their digits or words: numbers that are finite, and truths.
    Bare(ArrayRef),
    /// Between quotes; times of a day behind a T.
    Quoted {
        texts: ArrayRef,
        is_moment: bool,
    },
    List(Box<JsonColumn>),
    Struct(Vec<(String, JsonColumn)>),
}

impl JsonColumn {
    fn of(array: &ArrayRef) -> Result<Self> {
        let form = match array.data_type() {
            DataType::List(_) => Form::List(Box::new(Self::of(array.as_list::<i32>().values())?)),
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let columns = columns.map(|(field, own)| Ok((field.name().clone(), Self::of(own)?)));
                Form::Struct(columns.collect::<Result<_>>()?)
            }
            own if own.is_numeric() || *own == DataType::Boolean => Form::Bare(as_text(array)?),
            own => Form::Quoted { texts: as_text(array)?, is_moment: matches!(own, DataType::Timestamp(..)) },
        };
        Ok(Self { array: Arc::clone(array), form })
    }

    fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || self.array.data_type().is_null()
    }

    fn write(&self, row: usize, text: &mut String) -> Result<()> {
        if self.is_null(row) {
            text.push_str("null");
            return Ok(());
        }
        match &self.form {
            Form::Bare(texts) => {
                let own = texts.as_string_view().value(row);
                // JSON has no infinity.
                if own.ends_with(|last: char| last.is_ascii_alphabetic()) && !["true", "false"].contains(&own) {
                    quote(own, text);
                } else {
                    text.push_str(own);
                }
            }
            Form::Quoted { texts, is_moment } => {
                let own = texts.as_string_view().value(row);
                if *is_moment { quote(&own.replacen(' ', "T", 1), text) } else { quote(own, text) }
            }
            Form::List(elements) => {
                let offsets = self.array.as_list::<i32>().value_offsets();
                text.push('[');
                for at in offsets[row]..offsets[row + 1] {
                    if at > offsets[row] {
                        text.push(',');
                    }
                    elements.write(at as usize, text)?;
                }
                text.push(']');
            }
            Form::Struct(fields) => {
                text.push('{');
                for (at, (name, own)) in fields.iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    quote(name, text);
                    text.push(':');
                    own.write(row, text)?;
                }
                text.push('}');
            }
        }
        Ok(())
    }
}

fn quote(own: &str, text: &mut String) {
    text.push_str(&serde_json::Value::from(own).to_string());
}
