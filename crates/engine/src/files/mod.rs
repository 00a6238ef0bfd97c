//! Files as records: which files a name means, what they hold, and their records as Arrow arrays. FROM, `read_csv`, COPY FROM, `load`
//! and Python read them by the same code.
//!
//! | file | what |
//! |---|---|
//! | `options` | how files are read |
//! | `call` | `read_csv(…)` in FROM |
//! | `find` | which files, and what they hold |
//! | `source`, `encoding` | the bytes of a file as UTF-8 |
//! | `text/` | delimited text |
//! | `table`, `exec` | files as a table of a query |
//! | `rejects` | records that were passed over |

mod call;
mod encoding;
mod exec;
pub(crate) mod find;
mod options;
mod rejects;
mod source;
mod table;
mod text;

pub use options::{Compression, FileFormat, OptionValue, ReadOptions};

pub(crate) use call::{FileCall, file_call, file_functions};
pub(crate) use exec::FileExec;
pub(crate) use rejects::Rejects;
pub(crate) use source::{FileSource, SourceReader, io_error};
pub(crate) use table::FileTable;
pub(crate) use text::{FilePart, Text, TextColumn, TextLane, TextRecords, ValueTypes, lines as text_lines};
