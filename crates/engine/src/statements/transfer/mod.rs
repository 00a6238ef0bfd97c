//! COPY: from files and to files.
//!
//! | file | what |
//! |---|---|
//! | `copy` | its text and options |
//! | `run` | running it |

pub(crate) mod run;
