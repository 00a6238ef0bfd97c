//! How the command ends when it does not end well.

use gingham::storage::panics::Panic;
use std::io::ErrorKind;
use std::process::ExitCode;

/// Why the command stops, and with which exit status.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    /// What standard error is told; nothing when whoever reads our output has gone.
    message: Option<String>,
}

impl Failure {
    /// Wrong arguments or a missing file: status 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: Some(message.into()) }
    }

    /// A statement or a job failed: status 1.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { code: 1, message: Some(message.into()) }
    }

    /// True when the reader of our output went away, which is its right.
    pub fn is_broken_pipe(&self) -> bool {
        self.message.is_none()
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

    /// Tells standard error, and gives the exit status.
    pub fn report(self) -> ExitCode {
        if let Some(message) = &self.message {
            eprintln!("error: {message}");
        }
        ExitCode::from(self.code)
    }
}

impl From<gingham::Error> for Failure {
    fn from(error: gingham::Error) -> Self {
        Self::failed(error.to_string())
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
            ErrorKind::BrokenPipe => Self { code: 0, message: None },
            _ => Self::failed(format!("can't write the result: {error}")),
        }
    }
}

impl From<arrow::error::ArrowError> for Failure {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self::failed(format!("can't show a value: {error}"))
    }
}
