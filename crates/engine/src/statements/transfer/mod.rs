//! COPY: from files and to files.
//!
//! | file | what |
//! |---|---|
//! | `destination` | where COPY … TO writes |
//! | `run` | running it |
//! | `stream` | COPY with a stream told from COPY with a file |

mod destination;
pub(crate) mod run;
pub(crate) mod stream;
