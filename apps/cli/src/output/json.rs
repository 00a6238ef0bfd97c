//! JSON: one array of objects for each result, one object to a line.
//!
//! Integers and decimals are numbers with all their digits (a reader that turns them into doubles loses some, one that
//! asks for exact numbers does not); NaN and infinities, which JSON lacks, are strings.

use crate::failure::Failure;
use crate::output::cell::{Cells, Kind, Times};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// Writes one result.
#[derive(Debug)]
pub struct JsonWriter {
    /// `"name":` of each column. A name that is there before gets a number, as an object has each key once.
    keys: Vec<String>,
    rows: u64,
}

impl JsonWriter {
    /// A writer for results of that schema.
    pub fn new(schema: &SchemaRef) -> Self {
        let key = |name: &str| {
            let mut key = String::new();
            string(&mut key, name);
            key.push(':');
            key
        };
        Self { keys: names(schema).iter().map(|name| key(name)).collect(), rows: 0 }
    }

    /// Writes the rows of a batch.
    pub fn batch(&mut self, out: &mut impl Write, batch: &RecordBatch) -> Result<(), Failure> {
        let cells = Cells::new(batch, Times::Iso)?;
        let (mut line, mut text) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            line.clear();
            line.push_str(if self.rows == 0 { "[{" } else { ",\n {" });
            for column in 0..cells.len() {
                if column > 0 {
                    line.push(',');
                }
                line.push_str(&self.keys[column]);
                let present = cells.read(column, row, &mut text)?;
                value(&mut line, cells.kind(column), present.then_some(&text));
            }
            line.push('}');
            out.write_all(line.as_bytes())?;
            self.rows += 1;
        }
        Ok(())
    }

    /// Ends the result.
    pub fn finish(self, out: &mut impl Write) -> Result<(), Failure> {
        out.write_all(if self.rows == 0 { b"[]\n" } else { b"]\n" })?;
        Ok(())
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

fn value(line: &mut String, kind: Kind, text: Option<&String>) {
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
