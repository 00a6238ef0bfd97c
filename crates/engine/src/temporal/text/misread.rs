//! Why a text is not read.

use gingham_storage::{Problem, SqlState};

/// Why a text is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::temporal) enum Misread {
    /// The text has no form that is known.
    Form,
    /// Its form is known, but there is no such day or time, or the type does not reach it.
    Range,
    /// The text means something else each time it is read: `now`, `today`.
    Now,
}

impl Misread {
    /// The message about a text that was to be a `what`.
    pub(in crate::temporal) fn problem(self, text: &str, what: &str) -> Problem {
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
