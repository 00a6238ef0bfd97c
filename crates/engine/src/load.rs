//! Loading files: CSV, TPC-H `.tbl`, Parquet and Arrow IPC into tables.

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Comma-separated values, or another delimiter.
    Csv,
    /// TPC-H's `|`-terminated fields without a header.
    Tbl,
    /// Parquet.
    Parquet,
    /// Arrow IPC file.
    Arrow,
}

/// How to load.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// The table; made when it does not exist.
    pub table: String,
    /// Format; otherwise from the file's name.
    pub format: Option<FileFormat>,
    /// Layout of a table that is made.
    pub layout: Option<String>,
    /// Columns and types of a table that is made, as in CREATE TABLE: `a INT, b DECIMAL(15,2)`; otherwise inferred.
    pub schema: Option<String>,
    /// CSV: the first line names the columns; otherwise sniffed.
    pub header: Option<bool>,
    /// CSV: delimiter; otherwise sniffed.
    pub delimiter: Option<u8>,
    /// CSV: text that stands for NULL, besides an empty field.
    pub null: Option<String>,
    /// CSV: strftime format of dates, otherwise ISO.
    pub date_format: Option<String>,
    /// CSV: `utf-8` (default) or `latin1`.
    pub encoding: Option<String>,
    /// Bad lines to skip before giving up.
    pub skip_bad: u64,
}

/// What was loaded.
#[derive(Debug, Clone, Default)]
pub struct LoadReport {
    /// Records loaded.
    pub rows: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Bad lines skipped, each as "file:line: why".
    pub skipped: Vec<String>,
}

/// Told how far a load is.
pub trait Progress: Send + Sync {
    /// `done` of `total` bytes of input are read, `rows` records so far.
    fn update(&self, done: u64, total: u64, rows: u64);
}

/// Ignores progress.
impl Progress for () {
    fn update(&self, _done: u64, _total: u64, _rows: u64) {}
}
