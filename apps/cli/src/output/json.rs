//! JSON: one array of objects for each result, one object to a line; or the objects alone.
//!
//! Integers and decimals are numbers with all their digits (a reader that turns them into doubles loses some, one that
//! asks for exact numbers does not); NaN and infinities, which JSON lacks, are strings.

use crate::failure::Failure;
use crate::output::cell::{Cells, Kind, Times};
use crate::output::lines::RowFormat;
use arrow::datatypes::SchemaRef;
use std::collections::{HashMap, HashSet};

/// Writes the rows of one result.
#[derive(Debug)]
pub struct Json {
    /// `"name":` of each column. A name that is there before gets a number, as an object has each key once.
    keys: Vec<String>,
    is_array: bool,
    begun: bool,
}

impl Json {
    /// One array.
    pub fn array(schema: &SchemaRef) -> Self {
        let key = |name: &String| {
            let mut key = String::new();
            string(&mut key, name);
            key.push(':');
            key
        };
        Self { keys: names(schema).iter().map(key).collect(), is_array: true, begun: false }
    }

    /// Objects, one a line.
    pub fn lines(schema: &SchemaRef) -> Self {
        Self { is_array: false, ..Self::array(schema) }
    }
}

impl RowFormat for Json {
    fn times(&self) -> Times {
        Times::Iso
    }

    fn row(&mut self, text: &mut String, cells: &mut Cells<'_>, row: usize) -> Result<(), Failure> {
        text.push_str(match (self.is_array, self.begun) {
            (false, _) => "{",
            (true, false) => "[{",
            (true, true) => ",\n {",
        });
        self.begun = true;
        for column in 0..cells.len() {
            if column > 0 {
                text.push(',');
            }
            text.push_str(&self.keys[column]);
            let kind = cells.kind(column);
            value(text, kind, cells.read(column, row)?);
        }
        text.push_str(if self.is_array { "}" } else { "}\n" });
        Ok(())
    }

    fn end(&mut self, text: &mut String) {
        if self.is_array {
            text.push_str(if self.begun { "]\n" } else { "[]\n" });
        }
    }
}

/// The names of the columns, each once: `a`, `a_1`.
fn names(schema: &SchemaRef) -> Vec<String> {
    let own: HashSet<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let (mut taken, mut numbers) = (HashSet::new(), HashMap::new());
    let mut name_of = |name: &str| {
        if taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let number: &mut u64 = numbers.entry(name.to_owned()).or_default();
        loop {
            *number += 1;
            let numbered = format!("{name}_{number}");
            if !own.contains(numbered.as_str()) && taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    };
    schema.fields().iter().map(|field| name_of(field.name())).collect()
}

fn value(line: &mut String, kind: Kind, text: Option<&str>) {
    match (kind, text) {
        (_, None) => line.push_str("null"),
        (Kind::Number | Kind::Boolean, Some(text)) => line.push_str(text),
        (Kind::Float, Some(text)) if text.ends_with(|last: char| last.is_ascii_digit()) => line.push_str(text),
        (_, Some(text)) => string(line, text),
    }
}

fn string(line: &mut String, text: &str) {
    // A JSON string from a str can't fail: there is nothing in a str that JSON can't escape.
    line.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::names;
    use arrow::datatypes::{DataType, Field, Schema};
    use std::sync::Arc;

    #[test]
    fn each_key_is_there_once() {
        let given = ["a", "b", "a", "a", "a_1", "B", "a_1", ""];
        let fields: Vec<Field> = given.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect();
        assert_eq!(names(&Arc::new(Schema::new(fields))), ["a", "b", "a_2", "a_3", "a_1", "B", "a_1_1", ""]);
    }
}
