//! Dates, times and numbers by a template: to_char, to_date and to_timestamp, with PostgreSQL's patterns. A template with a
//! `%` in it is one of DataFusion's, which these functions take as well.
//!
//! | file | what |
//! |---|---|
//! | `pattern` | templates of dates and times |
//! | `write`, `read` | values by them, and texts |
//! | `number` | numbers by their own templates |
//! | `functions` | the SQL functions |

mod functions;
mod number;
mod pattern;
mod read;
mod write;

pub(super) use functions::functions;
