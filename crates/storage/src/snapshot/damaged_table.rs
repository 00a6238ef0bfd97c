//! A table that can't be read: a file of it is missing or is not what was written, or what the catalog keeps of it is not. Its name
//! and definition stay known, so that statements about it fail by name and it can be dropped; others don't know of it.

use crate::io::system::FileState;
use crate::{Error, TableDefinition};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// A table that can't be read.
#[derive(Debug)]
pub struct DamagedTable {
    /// Columns, constraints, options.
    pub definition: Arc<TableDefinition>,
    /// Changes with each commit to the table's data or definition.
    pub version: u64,
    why: Error,
    watched: Watched,
}

/// What tells whether another look may find the table whole.
#[derive(Debug)]
enum Watched {
    /// The files of the segment that could not be opened, as they were just before.
    Files(Vec<(PathBuf, Option<FileState>)>),
    /// Nothing: the system refused something that it may give the next time.
    Always,
}

impl DamagedTable {
    /// A table that `why` keeps from being read, which names it. `files` are those that could not be opened, as they were before that
    /// was tried; none when it is about the catalog.
    pub(crate) fn new(
        definition: Arc<TableDefinition>,
        version: u64,
        why: Error,
        files: Vec<(PathBuf, Option<FileState>)>,
    ) -> Self {
        let passing = matches!(&why, Error::Io { source, .. } if source.kind() != ErrorKind::PermissionDenied);
        let watched = if passing { Watched::Always } else { Watched::Files(files) };
        Self { definition, version, why, watched }
    }

    /// Why it can't be read: an error that names the table and the file or value, and says what to do.
    pub fn error(&self) -> Error {
        self.why.again()
    }

    /// Whether it may be whole by now: a file that could not be opened is another one.
    pub(crate) fn is_worth_another_look(&self) -> bool {
        match &self.watched {
            Watched::Always => true,
            Watched::Files(files) => files.iter().any(|(path, before)| FileState::of(path) != *before),
        }
    }

    /// Whether a file was not there, or has gone since it was looked at: another process may have replaced it by a commit.
    pub(crate) fn lacks_a_file(&self) -> bool {
        let is_gone = |(path, before): &(PathBuf, Option<FileState>)| before.is_none() || FileState::of(path).is_none();
        matches!(&self.watched, Watched::Files(files) if files.iter().any(is_gone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::table::TableName;

    /// The file goes between the look at it and its opening.
    #[test]
    fn a_file_that_went_after_the_look_at_it_is_lacking() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_path_buf();
        let name = TableName { schema: "public".into(), table: "t".into() };
        let definition = Arc::new(TableDefinition::new(name, Vec::new()));
        let files = vec![(path.clone(), FileState::of(&path))];
        let table = DamagedTable::new(definition, 1, Error::corrupt("segment", "cut off"), files);
        assert!(!table.lacks_a_file());
        drop(file);
        assert!(table.lacks_a_file() && table.is_worth_another_look());
    }
}
