//! Statements about the session and the database.
//!
//! | file | what |
//! |---|---|
//! | `session` | statements about the session, one by one |
//! | `settings`, `prepare`, `transaction`, `cursors` | SET and SHOW; PREPARE and EXECUTE; BEGIN, COMMIT, savepoints; DECLARE and FETCH |
//! | `describe`, `show_create`, `functions` | what there is: DESCRIBE, SHOW CREATE, SHOW FUNCTIONS |
//! | `explain`, `explain_indent` | EXPLAIN in formats of Gingham's, and of DataFusion's |
//! | `summarize/` | what is in each column: SUMMARIZE |
//! | `vacuum` | VACUUM |

pub(crate) mod cursors;
pub(crate) mod describe;
pub(crate) mod explain;
pub(crate) mod explain_indent;
pub(crate) mod functions;
pub(crate) mod prepare;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod show_create;
pub(crate) mod summarize;
pub(crate) mod transaction;
pub(crate) mod vacuum;
