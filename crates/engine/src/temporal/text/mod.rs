//! Dates, times, timestamps and intervals as text, in the forms that PostgreSQL reads and writes.
//!
//! | file | what |
//! |---|---|
//! | `moment` | reading dates, times and timestamps: the form of ISO 8601 at once, others word by word |
//! | `interval` | reading intervals |
//! | `zone` | offsets of time zones |
//! | `write` | writing all of them |

use gingham_storage::{Problem, SqlState};
mod interval;
mod moment;
mod write;
mod zone;

pub(super) use interval::{Fields, read_interval};
pub(super) use moment::{Moment, read_date, read_moment, read_time};
pub(super) use write::{write_date, write_interval, write_time, write_timestamp};
pub(super) use zone::{Zone, local_of, utc_of};

/// Why a text is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misread {
    /// The text has no form that is known.
    Form,
    /// Its form is known, but there is no such day or time, or the type does not reach it.
    Range,
    /// The text means something else each time it is read: `now`, `today`.
    Now,
}

impl Misread {
    /// The message about a text that was to be a `what`.
    pub(super) fn problem(self, text: &str, what: &str) -> Problem {
        let (state, text) = match self {
            Self::Form => (SqlState::InvalidDatetimeFormat, format!("value '{text}' is not a valid {what}")),
            Self::Range => {
                let state = match what {
                    "INTERVAL" => SqlState::IntervalFieldOverflow,
                    _ => SqlState::DatetimeFieldOverflow,
                };
                (state, format!("value '{text}' is out of range for {what}"))
            }
            Self::Now => {
                let text = format!("value '{text}' would be another {what} each time; use now() or current_date");
                (SqlState::InvalidDatetimeFormat, text)
            }
        };
        Problem::new(state, text)
    }
}
