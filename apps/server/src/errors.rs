//! Errors as clients of PostgreSQL take them.

use gingham::{Error, Notice};
use pgwire::error::{ErrorInfo, PgWireError};
use pgwire::messages::PgWireBackendMessage as Answer;

/// Characters of a message that are sent: libpq takes no longer ones of some kinds.
const MOST: usize = 8_000;

/// Where in a client's text a statement lies, for the places of its mistakes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'t> {
    /// The whole text.
    pub(crate) text: &'t str,
    /// The byte at which the statement begins.
    pub(crate) start: usize,
}

impl Place<'_> {
    /// The character of the text, counted from 1, at a line and column of the statement.
    fn character(self, position: gingham::Position) -> Option<usize> {
        let statement = self.text.get(self.start..)?;
        let line = position.line.checked_sub(1)? as usize;
        let before: usize = statement.split_inclusive('\n').take(line).map(str::len).sum();
        let ahead = self.text[..self.start + before].chars().count();
        Some(ahead + position.column as usize)
    }
}

/// An error that ends what a client has asked for, and not the connection.
pub(crate) fn error(code: &str, text: impl Into<String>) -> PgWireError {
    user_error("ERROR", code, text.into())
}

/// An error that ends the connection.
pub(crate) fn fatal(code: &str, text: String) -> PgWireError {
    user_error("FATAL", code, text)
}

/// A client that does not speak the protocol.
pub(crate) fn protocol_violation(text: String) -> PgWireError {
    fatal("08P01", text)
}

fn user_error(severity: &str, code: &str, text: String) -> PgWireError {
    PgWireError::UserError(Box::new(info(severity, code, &text)))
}

fn info(severity: &str, code: &str, text: &str) -> ErrorInfo {
    let mut message: String = text.chars().take(MOST).collect();
    if message.len() < text.len() {
        message.push('…');
    }
    // A zero would end the field.
    let mut info = ErrorInfo::new(severity.into(), code.into(), message.replace('\0', "\u{fffd}"));
    info.severity_nonlocalized = Some(severity.into());
    info
}

/// An error of the engine, about a statement that lies at a place.
pub(crate) fn of_engine(error: &Error, place: Option<Place<'_>>) -> PgWireError {
    let character = error.position().zip(place).and_then(|(position, place)| place.character(position));
    let text = match error {
        // The place is told apart.
        Error::InvalidInput(problem) | Error::Constraint(problem) if character.is_some() => problem.text.clone(),
        Error::Cancelled => "canceling statement due to user request".into(),
        other => other.to_string(),
    };
    let mut info = info("ERROR", error.sqlstate(), &text);
    info.position = character.map(|character| character.to_string());
    PgWireError::UserError(Box::new(info))
}

/// A warning of the server's own.
pub(crate) fn warning(code: &str, text: &str) -> Answer {
    Answer::NoticeResponse(info("WARNING", code, text).into())
}

/// A notice.
pub(crate) fn notice(notice: &Notice) -> Answer {
    let severity = notice.severity.to_string();
    Answer::NoticeResponse(info(&severity, notice.sqlstate.sqlstate(), &notice.text).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gingham::Position;

    #[test]
    fn places_are_characters_of_the_whole_text() {
        let text = "SELECT 'é';\nSELECT 1,\n  tow";
        let place = Place { text, start: text.find("SELECT 1").unwrap() };
        assert_eq!(place.character(Position { line: 1, column: 1 }), Some(13));
        assert_eq!(place.character(Position { line: 2, column: 3 }), Some(text.chars().count() - 2));
    }

    #[test]
    fn long_texts_are_cut() {
        let PgWireError::UserError(info) = error("42601", "x".repeat(100_000)) else { panic!("it is one") };
        assert_eq!(info.message.chars().count(), MOST + 1);
    }
}
