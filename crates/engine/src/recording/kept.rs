//! The recorded workload as a file of the database (docs/formats/workload.md).

use crate::recording::RecordedShape;
use crate::{Error, Result};
use gingham_storage::io::{read_kept_file, write_kept_file};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The file's first line.
const HEAD: &str = "gingham workload, format 1";

pub(super) fn write(file: &Path, shapes: &HashMap<String, RecordedShape>) -> Result<()> {
    let ordered: BTreeMap<&String, &RecordedShape> = shapes.iter().collect();
    let content = serde_json::to_vec(&ordered).map_err(|error| Error::Internal(error.to_string()))?;
    Ok(write_kept_file(file, HEAD, &content)?)
}

pub(super) fn read(file: &Path) -> Result<HashMap<String, RecordedShape>> {
    let Some(content) = read_kept_file(file, HEAD)? else { return Ok(HashMap::new()) };
    serde_json::from_slice(&content)
        .map_err(|error| Error::Corrupt { place: file.display().to_string(), detail: error.to_string() })
}
