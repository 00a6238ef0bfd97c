//! COPY: from files and to files.
//!
//! | file | what |
//! |---|---|
//! //! | `destination` | where COPY … TO writes |
//! | `run` | running it |
//! | `stream` | which one is about a stream |

mod destination;
pub(crate) mod run;
pub(crate) mod stream;
