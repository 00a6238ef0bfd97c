//! COPY: from files and to files.
//!
//! | file | what |
//! |---|---|
//! | `destination` | where COPY … TO writes |
//! | `run` | running it |
//! | `encode/`, `write` | rows as text, and into files |
//! | `copy_file` | one file |
//! | `folders` | which folder and file a row goes to |
//! | `columnar` | options as DataFusion takes them, which writes the other formats |
//! | `stream` | COPY with a stream told from COPY with a file |
//! | `streams/` | records of streams, in PostgreSQL's formats |

mod columnar;
mod copy_file;
mod destination;
mod encode;
mod folders;
pub(crate) mod run;
pub(crate) mod stream;
pub(crate) mod streams;
mod write;
