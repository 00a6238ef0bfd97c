//! Files of one format as one set of records, whatever the format is.

use crate::Result;
use crate::files::filter::RecordFilter;
use crate::files::json::{Json, JsonLane};
use crate::files::options::{FileFormat, ReadOptions};
use crate::files::records::{FileColumn, FilePart, FileRecords, ValueTypes};
use crate::files::source::{FileSource, SAMPLE_BYTES};
use crate::files::text::{DelimitedText, TextLane};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A lane reads no less than so many bytes.
const LANE_BYTES: u64 = 4 << 20;

/// Files that are text.
#[derive(Debug, Clone)]
pub(crate) enum FileSet {
    /// Delimited text.
    Text(Arc<DelimitedText>),
    /// JSON objects.
    Json(Arc<Json>),
}

impl FileSet {
    /// Looks at files of delimited text or of JSON. `columns` are those of the table that they fill, when it exists.
    pub(crate) fn open(
        paths: &[PathBuf],
        format: FileFormat,
        options: &ReadOptions,
        columns: Option<&[String]>,
    ) -> Result<Self> {
        Ok(match format {
            FileFormat::Json => Self::Json(Arc::new(Json::open(paths, options)?)),
            _ => Self::Text(Arc::new(DelimitedText::open(paths, options, format == FileFormat::Tbl, columns)?)),
        })
    }

    /// The columns with their types.
    pub(crate) fn columns(&self) -> Result<Vec<FileColumn>> {
        match self {
            Self::Text(text) => text.columns(),
            Self::Json(json) => json.columns(),
        }
    }

    /// The file of that number.
    pub(crate) fn source(&self, file: usize) -> &FileSource {
        match self {
            Self::Text(text) => text.source(file),
            Self::Json(json) => json.source(file),
        }
    }

    /// The number of files.
    pub(crate) fn files(&self) -> usize {
        match self {
            Self::Text(text) => text.files(),
            Self::Json(json) => json.files(),
        }
    }

    /// All files.
    pub(crate) fn sources(&self) -> Vec<FileSource> {
        (0..self.files()).map(|file| self.source(file).clone()).collect()
    }

    /// Bytes of the files.
    pub(crate) fn bytes(&self) -> u64 {
        (0..self.files()).map(|file| self.bytes_of(file)).sum()
    }

    /// Bytes of a file's records, or of the packed file.
    fn bytes_of(&self, file: usize) -> u64 {
        match self {
            Self::Text(text) => text.bytes(file),
            Self::Json(json) => json.bytes(file),
        }
    }

    /// Records that the types were found by.
    pub(crate) fn sampled_records(&self) -> usize {
        match self {
            Self::Text(text) => text.sampled_records(),
            Self::Json(json) => json.sampled_records(),
        }
    }

    /// Whether the types are those of all records.
    pub(crate) fn types_are_final(&self) -> bool {
        match self {
            Self::Text(text) => text.types_are_final(),
            Self::Json(json) => json.types_are_final(),
        }
    }

    /// About the number of records, by those of the samples.
    pub(crate) fn about_records(&self) -> usize {
        let records = self.sampled_records();
        if self.types_are_final() {
            return records;
        }
        let sources = self.sources();
        let (text, sampled) =
            (sources.iter().map(FileSource::about_length).sum::<u64>(), SAMPLE_BYTES * sources.len() as u64);
        (records as u128 * u128::from(text) / u128::from(sampled)) as usize
    }

    /// This one with the types that every value allows. `goes_on` fails once nobody waits.
    pub(crate) fn read_types(&self, goes_on: &dyn Fn() -> Result<()>) -> Result<Self> {
        Ok(match self {
            Self::Text(text) => Self::Text(Arc::new(text.with_all_types(goes_on)?)),
            Self::Json(json) => Self::Json(Arc::new(json.with_all_types(goes_on)?)),
        })
    }

    /// Some files, each cut into parts of about `part_bytes` where it can be read so.
    pub(crate) fn parts(&self, files: &[usize], part_bytes: u64) -> Result<Vec<FilePart>> {
        let mut all = Vec::new();
        for file in files.iter().copied() {
            let parts = self.source(file).length().map_or(1, |_| self.bytes_of(file) / part_bytes.max(1));
            all.extend(self.ranges(file, parts.max(1))?.into_iter().map(|range| FilePart { file, range }));
        }
        Ok(all)
    }

    /// For each of at most `threads` lanes its parts of files, in order.
    pub(crate) fn lanes(&self, threads: usize) -> Result<Vec<Vec<FilePart>>> {
        let total = self.bytes();
        let count = (total / LANE_BYTES).clamp(1, threads.max(1) as u64);
        let share = total.div_ceil(count).max(1);
        let mut lanes = vec![Vec::new(); count as usize];
        let mut before = 0;
        for file in 0..self.files() {
            let length = self.bytes_of(file);
            let end = self.source(file).length();
            let start = match self {
                Self::Text(text) => text.start(file),
                Self::Json(_) => 0,
            };
            for range in self.ranges(file, length.div_ceil(share).max(1))? {
                let middle = match end {
                    Some(end) => before + (range.start + range.end.min(end)) / 2 - start,
                    None => before + length / 2,
                };
                let lane = (middle / share).min(count - 1);
                lanes[lane as usize].push(FilePart { file, range });
            }
            before += length;
        }
        Ok(lanes)
    }

    /// A file in so many parts, where it can be read so.
    fn ranges(&self, file: usize, parts: u64) -> Result<Vec<Range<u64>>> {
        match self {
            Self::Text(text) => text.ranges(file, parts),
            Self::Json(json) => Ok(json.ranges(file, parts)),
        }
    }

    /// Reads parts, which `columns` are parsed of. Where `others` says so, objects may have fields that no column is of.
    pub(crate) fn lane(
        &self,
        columns: &Arc<[FileColumn]>,
        types: ValueTypes,
        others: bool,
        parts: Vec<FilePart>,
    ) -> FileLane {
        let columns = Arc::clone(columns);
        match self {
            Self::Text(text) => FileLane::Text(TextLane::new(Arc::clone(text), columns, types, parts)),
            Self::Json(json) => FileLane::Json(JsonLane::new(Arc::clone(json), columns, types, others, parts)),
        }
    }
}

/// Reads parts of files one after the other.
pub(crate) enum FileLane {
    /// Delimited text.
    Text(TextLane),
    /// JSON objects.
    Json(JsonLane),
}

impl FileLane {
    /// This one, which may leave out records that `filter` does not want. Its columns have their own types.
    pub(super) fn filtered(self, filter: Option<RecordFilter>) -> Self {
        match self {
            Self::Text(lane) => Self::Text(lane.filtered(filter)),
            // The fields of an object are all found at once.
            Self::Json(lane) => Self::Json(lane),
        }
    }

    /// The next records; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<FileRecords>> {
        match self {
            Self::Text(lane) => lane.next(),
            Self::Json(lane) => lane.next(),
        }
    }
}
