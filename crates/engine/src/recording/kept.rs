//! The recorded workload as a file of the database (docs/formats/workload.md).

use crate::{Error, Result};
use gingham_storage::io::{read_kept_file, write_kept_file};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The file's first line.
const HEAD: &str = "gingham workload, format 1";

/// What is recorded of statements that differ in values only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedShape {
    /// How often one was run to its end.
    pub(crate) count: u64,
    /// Nanoseconds of all of them together.
    pub(crate) nanoseconds: u64,
    /// The first ones that differ, as they were.
    pub(crate) examples: Vec<String>,
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_is_read() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/workload-v1/workload");
        let shapes = read(&file).unwrap();
        assert_eq!(shapes.len(), 2);
        let known = &shapes["select a from t where b = ?"];
        assert_eq!((known.count, known.nanoseconds, known.examples.len()), (12, 3_122_650, 2));
        assert_eq!(known.examples[1], "SELECT a FROM t WHERE b = 'é'");
        // What is written is read again.
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("workload"), &shapes).unwrap();
        assert_eq!(read(&folder.path().join("workload")).unwrap(), shapes);
    }
}
