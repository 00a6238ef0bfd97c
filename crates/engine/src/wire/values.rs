//! What columns and parameters read alike: numbers of PostgreSQL's epoch as ours, and texts.

use crate::wire::epoch::{EPOCH_DAYS, EPOCH_MICROSECONDS};
use gingham_storage::{Problem, SqlState};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Days since 1970-01-01 from those since 2000-01-01; infinite dates stay.
pub(super) fn date(since: i32) -> Result<i32, Problem> {
    match since {
        infinite @ (i32::MAX | i32::MIN) => Ok(infinite),
        since => {
            let days = since.checked_add(EPOCH_DAYS).filter(|days| *days != i32::MAX);
            days.ok_or_else(|| out_of_range("date"))
        }
    }
}

/// Microseconds since 1970-01-01 from those since 2000-01-01; infinite timestamps stay.
pub(super) fn timestamp(since: i64) -> Result<i64, Problem> {
    match since {
        infinite @ (i64::MAX | i64::MIN) => Ok(infinite),
        since => {
            let moved = since.checked_add(EPOCH_MICROSECONDS).filter(|moved| *moved != i64::MAX);
            moved.ok_or_else(|| out_of_range("timestamp"))
        }
    }
}

/// Microseconds of a time of day.
pub(super) fn time(microseconds: i64) -> Result<i64, Problem> {
    if (0..DAY).contains(&microseconds) { Ok(microseconds) } else { Err(out_of_range("time")) }
}

/// The text that bytes are.
pub(super) fn text(value: &[u8]) -> Result<&str, Problem> {
    let text = std::str::from_utf8(value).map_err(|error| {
        let text = format!("the text is not UTF-8 at byte {}", error.valid_up_to());
        Problem::new(SqlState::CharacterNotInRepertoire, text)
    })?;
    match text.contains('\0') {
        true => Err(Problem::new(SqlState::CharacterNotInRepertoire, "the text has a character with the number 0")),
        false => Ok(text),
    }
}

/// The error of a date or time that there is not.
pub(super) fn out_of_range(name: &str) -> Problem {
    Problem::new(SqlState::DatetimeFieldOverflow, format!("the {name} is out of range"))
}
