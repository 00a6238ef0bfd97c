//! COPY TO with PARTITIONED BY: records in folders called `name=value`, as Hive writes them and FROM reads them.

use crate::files::{Compression, FOLDER_OF_NULL, FileFormat};
use crate::statements::transfer::encode::texts;
use crate::{Error, Result};
use arrow::array::{Array, RecordBatch, UInt64Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::Schema;
use gingham_storage::SqlState;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::HashMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Characters that names of folders have as `%20`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Folders by the values of columns.
#[derive(Debug)]
pub(super) struct Folders {
    root: PathBuf,
    /// Names and places of the columns that are folders.
    by: Vec<(String, usize)>,
    /// Places of the others.
    written: Vec<usize>,
    ending: String,
    /// Tells the files of this COPY from those that are there.
    copy: u64,
}

impl Folders {
    /// Folders in `root` by the columns `by` of rows of `schema`.
    pub(super) fn new(
        root: &Path,
        schema: &Schema,
        by: &[String],
        (format, compression): (FileFormat, Compression),
    ) -> Result<Self> {
        let by = by.iter().map(|name| Ok((name.clone(), schema.index_of(name)?))).collect::<Result<Vec<_>>>()?;
        let is_written = |place: &usize| !by.iter().any(|(_, own)| own == place);
        let written: Vec<usize> = (0..schema.fields().len()).filter(is_written).collect();
        if written.is_empty() {
            let text =
                "PARTITIONED BY has all columns, so that nothing is left to be written into the files".to_owned();
            return Err(Error::invalid(SqlState::InvalidParameterValue, text));
        }
        let name = match format {
            FileFormat::Json => "json",
            FileFormat::Parquet => "parquet",
            FileFormat::Arrow => "arrow",
            FileFormat::Csv | FileFormat::Tbl => "csv",
        };
        let ending = match compression {
            Compression::Gzip => format!("{name}.gz"),
            Compression::Zstd => format!("{name}.zst"),
            Compression::None | Compression::Auto => name.to_owned(),
        };
        Ok(Self { root: root.to_owned(), by, written, ending, copy: RandomState::new().hash_one(root) })
    }

    /// The columns that files have.
    pub(super) fn schema(&self, schema: &Schema) -> Result<Schema> {
        Ok(schema.project(&self.written)?)
    }

    /// The file of that number in a folder, which is made.
    pub(super) fn file(&self, folder: &str, number: usize) -> io::Result<PathBuf> {
        let mut path = self.root.clone();
        for part in folder.split('/').filter(|part| !part.is_empty()) {
            path.push(part);
            match fs::create_dir(&path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(path.join(format!("{:016x}-{number}.{}", self.copy, self.ending)))
    }

    /// The rows of a batch by their folders, in the order in which these are met.
    pub(super) fn split(&self, batch: &RecordBatch) -> Result<Vec<(String, RecordBatch)>> {
        let values = self.by.iter().map(|(_, column)| texts(batch.column(*column), None, None));
        let values = values.collect::<Result<Vec<_>>>()?;
        let (mut numbers, mut all) = (HashMap::new(), Vec::<(String, Vec<u64>)>::new());
        for row in 0..batch.num_rows() {
            let key: Vec<Option<&str>> = values.iter().map(|own| own.is_valid(row).then(|| own.value(row))).collect();
            let number = *numbers.entry(key).or_insert_with_key(|key| {
                all.push((self.folder(key), Vec::new()));
                all.len() - 1
            });
            all[number].1.push(row as u64);
        }
        let own = batch.project(&self.written)?;
        let part = |(folder, rows)| Ok((folder, take_record_batch(&own, &UInt64Array::from(rows))?));
        all.into_iter().map(part).collect()
    }

    fn folder(&self, values: &[Option<&str>]) -> String {
        let part = |((name, _), value): (&(String, usize), &Option<&str>)| {
            let name = utf8_percent_encode(name, ENCODED);
            match value {
                Some(value) => format!("{name}={}", utf8_percent_encode(value, ENCODED)),
                None => format!("{name}={FOLDER_OF_NULL}"),
            }
        };
        self.by.iter().zip(values).map(part).collect::<Vec<_>>().join("/")
    }
}
