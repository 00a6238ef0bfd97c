//! What the line editor asks about the text that is typed: completions, colours, and whether Enter runs it.

use crate::prompt::complete::Names;
use crate::prompt::{highlight, input, margin};
use gingham::Connection;
use gingham::storage::panics::caught;
use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};
use std::borrow::Cow;
use std::cell::Cell;

/// What the line editor asks.
pub struct PromptHelper {
    names: Names,
    colours: bool,
    /// Whether nothing is typed.
    is_empty: Cell<bool>,
}

impl PromptHelper {
    /// Completes names of what `connection` sees.
    pub fn new(connection: Connection) -> Self {
        Self { names: Names::new(connection), colours: highlight::wants_colours(), is_empty: Cell::new(true) }
    }

    /// Whether nothing was typed when the line was left.
    pub fn was_empty(&self) -> bool {
        self.is_empty.get()
    }
}

impl Completer for PromptHelper {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let (before, after) = (margin::without(&line[..pos]), margin::without(&line[pos..]));
        let text = format!("{before}{after}");
        // The terminal is the line editor's until a line is typed: nothing may go through it.
        let found = caught(|| self.names.completions(&text, before.len()));
        let (start, names) = found.unwrap_or_else(|_| (before.len(), Vec::new()));
        // A word has no margin in it.
        Ok((pos - (before.len() - start), names))
    }
}

impl Validator for PromptHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match input::is_complete(&margin::without(context.input())) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Hinter for PromptHelper {
    type Hint = String;

    /// Gives none, but is asked whenever the line has changed.
    fn hint(&self, line: &str, _pos: usize, _context: &Context<'_>) -> Option<String> {
        self.is_empty.set(line.is_empty());
        None
    }
}

impl Highlighter for PromptHelper {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        Cow::Owned(highlight::shown(line, self.colours))
    }

    fn highlight_char(&self, _line: &str, _pos: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}

impl Helper for PromptHelper {}
