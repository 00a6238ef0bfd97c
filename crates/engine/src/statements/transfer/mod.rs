//! COPY: from files and to files.
//!
//! | file | what |
//! |---|---|
//! | `destination` | where COPY … TO writes |
//! | `run` | running it |
//! | `encode/`, `write` | rows as text, and into a file |
//! | `columnar` | options as DataFusion takes them, which writes the other formats |
//! | `stream` | COPY with a stream told from COPY with a file |

mod columnar;
mod destination;
mod encode;
pub(crate) mod run;
pub(crate) mod stream;
mod write;
