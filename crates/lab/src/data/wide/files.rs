//! CSV files as wide tables, read by the engine itself.

use super::{Builder, Wide};
use crate::experiment::Error;
use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use gingham::load::LoadOptions;
use gingham::{Connection, Database, StatementHandle};
use std::path::Path;

/// Loads `file` as a table named `table`, asks `query` of it (or of tables loaded before), and encodes each column of the
/// answer: whole numbers as differences from the smallest, all else as text. A NULL is the smallest number less one, or
/// the empty text.
///
/// # Errors
/// When a file is missing or damaged, with the engine's message.
pub fn load_csv(files: &[(&str, &Path)], query: &str) -> Result<Wide, Error> {
    let failed = |error: gingham::Error| Error::Data(error.to_string());
    let connection = Database::in_memory().map_err(failed)?.connect();
    for (table, file) in files {
        load(&connection, table, file)?;
    }
    let result = connection.query(query).map_err(failed)?;
    let schema = result.schema();
    let batches = result.collect_batches().map_err(failed)?;
    let mut wide = Wide::default();
    for (place, field) in schema.fields().iter().enumerate() {
        let arrays = batches.iter().map(|batch| batch.column(place).as_ref());
        let whole = field.data_type().is_integer();
        let builder = if whole { whole_numbers(arrays) } else { texts(arrays) };
        let builder = builder.map_err(|error| Error::Data(format!("column {}: {error}", field.name())))?;
        wide.attributes.push(builder.finish(field.name(), None));
    }
    Ok(wide)
}

fn load(connection: &Connection, table: &str, file: &Path) -> Result<(), Error> {
    let options = LoadOptions { table: table.to_string(), ..LoadOptions::default() };
    let loaded = connection.load(&[file.to_path_buf()], &options, &StatementHandle::new());
    loaded.map(|_| ()).map_err(|error| Error::Data(format!("{}: {error}", file.display())))
}

fn whole_numbers<'a>(arrays: impl Iterator<Item = &'a dyn Array>) -> Result<Builder, arrow::error::ArrowError> {
    let mut values = Vec::new();
    for array in arrays {
        values.extend(cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().iter());
    }
    let null = values.iter().flatten().min().map_or(0, |least| least - 1);
    let mut builder = Builder::numbers();
    values.into_iter().for_each(|value| builder.number(value.unwrap_or(null)));
    Ok(builder)
}

fn texts<'a>(arrays: impl Iterator<Item = &'a dyn Array>) -> Result<Builder, arrow::error::ArrowError> {
    let mut builder = Builder::texts();
    for array in arrays {
        let array = cast(array, &DataType::Utf8View)?;
        array.as_string_view().iter().for_each(|text| builder.text(text.unwrap_or_default()));
    }
    Ok(builder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_files_become_attributes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("people.csv");
        std::fs::write(&file, "name,age\nAda,36\nBob,\nAda,40\n").unwrap();
        let wide = load_csv(&[("people", &file)], "SELECT name, age FROM people").unwrap();
        assert_eq!((wide.rows(), wide.place("age")), (3, 1));
        let codes: Vec<u64> = (0..3).map(|row| wide.attributes[1].codes.get(row)).collect();
        assert_eq!(codes, [1, 0, 5]);
        assert_eq!(wide.attributes[0].of_text("Bob"), 1);
        let missing = load_csv(&[("people", &folder.path().join("none.csv"))], "SELECT 1").unwrap_err();
        assert!(missing.to_string().contains("none.csv"), "{missing}");
    }
}
