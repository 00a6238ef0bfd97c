//! Checks of comments' words: how docstrings begin, and what safety arguments rest on.

use super::lexer;
use super::{File, Finding};

/// Beginnings that lean on a sentence elsewhere, so that a reader of this item alone learns nothing.
const LEANING: &[&str] = &["The same", "Of ", "As above", "Which.", "Of what", "Which of them"];

/// Beginnings of safety arguments that only name somebody else.
const NO_ARGUMENTS: &[&str] = &["the caller's", "the caller promises", "the caller checked", "as the caller"];

/// All findings in a Rust file.
pub fn check(file: &File) -> Vec<Finding> {
    let lines = lexer::lines(&file.text);
    let mut findings = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let goes_on = index > 0 && lines[index - 1].comment.get(..3) == line.comment.get(..3);
        if is_doc(&line.comment) && !goes_on {
            findings.extend(leaning(file, index + 1, line.comment[3..].trim_start()));
        }
        if let Some((_, argument)) = line.comment.split_once("SAFETY:") {
            findings.extend(no_argument(file, index + 1, argument.trim_start()));
        }
    }
    findings
}

fn is_doc(comment: &str) -> bool {
    comment.starts_with("///") || comment.starts_with("//!")
}

fn leaning(file: &File, number: usize, text: &str) -> Option<Finding> {
    let beginning = LEANING.iter().find(|beginning| text.starts_with(**beginning))?;
    let message =
        format!("begin the docstring with a sentence that stands alone: '{}' needs another", beginning.trim());
    Some(Finding::new(&file.path, number, message))
}

fn no_argument(file: &File, number: usize, text: &str) -> Option<Finding> {
    let lower = text.to_lowercase();
    NO_ARGUMENTS.iter().any(|words| lower.starts_with(words)).then(|| {
        Finding::new(&file.path, number, "name the fact that makes it sound, and where it is checked, not the caller")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    fn lines(text: &str) -> Vec<usize> {
        check(&sample("crates/kernels/src/a.rs", text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn openings_that_lean_on_others_are_found() {
        assert_eq!(lines("//! A file.\n/// The same with NULLs.\nfn f() {}\n/// Of the rows.\nfn g() {}\n"), [2, 4]);
        assert_eq!(lines("//! Of files.\n"), [1]);
        assert_eq!(lines("/// Offsets of rows.\n/// The same goes for columns.\nfn f() {}\n// The same.\n"), [0; 0]);
    }

    #[test]
    fn safety_that_rests_on_the_caller_is_found() {
        assert_eq!(lines("// SAFETY: the caller's.\n// SAFETY: the slice has eight codes.\n"), [1]);
        assert_eq!(lines("// SAFETY: The caller promises it.\n"), [1]);
    }
}
