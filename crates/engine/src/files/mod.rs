//! Files as records: which files a name means, what they hold, and their records as Arrow arrays. FROM, `read_csv`, COPY FROM, `load`
//! and Python read them by the same code.
//!
//! | file | what |
//! |---|---|
//! | `options` | how files are read |
//! | `call` | `read_csv(…)` in FROM |
//! | `find` | which files, and what they hold |
//! | `folders` | folders called `name=value` as columns |
//! | `source`, `encoding` | the bytes of a file as UTF-8 |
//! | `values/` | how values are written, and arrays of their types |
//! | `text/` | delimited text |
//! | `json/` | JSON objects |
//! | `records` | columns, and records as readers give them |
//! | `set` | files of any of these formats |
//! | `table`, `exec` | files of text as a table of a query |
//! | `columnar`, `float_statistics` | Parquet and Arrow IPC files as a table of a query |
//! | `filter` | conditions that records are wanted by |
//! | `rejects` | records that were passed over |

mod call;
mod columnar;
mod encoding;
mod exec;
mod filter;
pub(crate) mod find;
mod float_statistics;
mod folders;
mod json;
mod options;
mod records;
mod rejects;
mod set;
mod source;
mod table;
mod text;
mod values;

pub use options::{Compression, FileFormat, OptionValue, ReadOptions};
pub(crate) use options::{GivenOption, option_name};

pub(crate) use call::{FileCall, file_call, file_functions};
pub(crate) use columnar::{ColumnarFiles, unreadable, word_columns};
pub(crate) use exec::FileExec;
pub(crate) use folders::FOLDER_OF_NULL;
pub(crate) use json::Json;
pub(crate) use records::{FileColumn, FileRecords, ValueTypes, without};
pub(crate) use rejects::{KEPT_REJECTS, Reject, Rejects};
pub(crate) use set::FileSet;
pub(crate) use source::{FileSource, io_error};
pub(crate) use table::{FileTable, FoundFiles};
pub(crate) use text::lines as text_lines;
pub(crate) use values::dates::{iso_date, iso_timestamp};
