//! COPY: from files and to files.
//!
//! | file | what |
//! |---|---|
//! //! | `destination` | where COPY … TO writes |
//! | `run` | running it |

mod destination;
pub(crate) mod run;
