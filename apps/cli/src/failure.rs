//! How the command ends when it does not end well.

use gingham::Position;
use gingham::storage::panics::Panic;
use std::io::ErrorKind;
use std::process::ExitCode;
use unicode_width::UnicodeWidthStr;

/// Why the command stops, and with which exit status.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    /// What standard error is told; nothing when whoever reads our output has gone.
    message: Option<String>,
    /// Where in the statement the mistake is, when that is known.
    position: Option<Position>,
}

impl Failure {
    /// Wrong arguments or a missing file: status 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: Some(message.into()), position: None }
    }

    /// A statement or a job failed: status 1.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { code: 1, message: Some(message.into()), position: None }
    }

    /// The end of the command with a status, when nothing is left to say.
    pub fn status(code: u8) -> Self {
        Self { code, message: None, position: None }
    }

    /// True when the reader of our output went away, which is its right.
    pub fn is_broken_pipe(&self) -> bool {
        self.code == 0 && self.message.is_none()
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// This failure with where it happened put before the message.
    pub fn at(self, place: &str) -> Self {
        let message = self.message.map(|message| format!("{place}{message}"));
        Self { message, ..self }
    }

    /// This failure with the line of its statement behind the message, in which the mistake is pointed at, where its place is known.
    pub fn shown_in(self, sql: &str) -> Self {
        let shown = self.position.and_then(|position| excerpt(sql, position));
        match (self.message, shown) {
            (Some(message), Some(shown)) => Self { message: Some(format!("{message}\n{shown}")), ..self },
            (message, _) => Self { message, ..self },
        }
    }

    /// Tells standard error, and gives the exit status.
    pub fn report(self) -> ExitCode {
        if let Some(message) = &self.message {
            eprintln!("error: {message}");
        }
        ExitCode::from(self.code)
    }
}

/// Characters of a line that are shown before and behind a mistake.
const AROUND: (usize, usize) = (50, 20);

/// The line of a mistake, as psql shows it, and below it what points at the mistake.
fn excerpt(sql: &str, position: Position) -> Option<String> {
    let line = sql.lines().nth(usize::try_from(position.line).ok()?.checked_sub(1)?)?;
    let column = usize::try_from(position.column).ok()?.checked_sub(1)?;
    let characters: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if column > characters.len() {
        return None;
    }
    let (first, last) = (column.saturating_sub(AROUND.0), (column + AROUND.1).min(characters.len()));
    let (before, behind) = (&characters[first..column], &characters[column..last]);
    let cut = |is_cut: bool| if is_cut { "…" } else { "" };
    let before = format!("LINE {}: {}{}", position.line, cut(first > 0), before.iter().collect::<String>());
    let behind: String = behind.iter().collect();
    Some(format!("{before}{behind}{}\n{}^", cut(last < characters.len()), " ".repeat(before.width())))
}

impl From<gingham::Error> for Failure {
    fn from(error: gingham::Error) -> Self {
        Self { position: error.position(), ..Self::failed(error.to_string()) }
    }
}

impl From<Panic> for Failure {
    fn from(panic: Panic) -> Self {
        gingham::Error::from(panic).into()
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::status(0),
            _ => Self::failed(format!("can't write the result: {error}")),
        }
    }
}

impl From<arrow::error::ArrowError> for Failure {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self::failed(format!("can't show a value: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_pointed_at() {
        let shown = |sql: &str, line, column| excerpt(sql, Position { line, column }).unwrap_or_default();
        assert_eq!(shown("SELECT\n  tow FROM t", 2, 3), "LINE 2:   tow FROM t\n          ^");
        assert_eq!(shown("SELECT '日本', tow", 1, 14), "LINE 1: SELECT '日本', tow\n                       ^");
        let long = format!("SELECT {}tow{}", "1, ".repeat(40), ", 1".repeat(40));
        let cut = shown(&long, 1, 128);
        assert!(cut.starts_with("LINE 1: …, 1, 1") && cut.contains("1, tow, 1, 1, 1, 1, 1, …\n"), "{cut}");
        assert!(cut.lines().all(|line| line.chars().count() < 90));
        assert_eq!(shown("SELECT", 1, 7), "LINE 1: SELECT\n              ^");
        assert_eq!(shown("SELECT", 3, 1), "");
        assert_eq!(shown("SELECT", 1, 99), "");
    }
}
