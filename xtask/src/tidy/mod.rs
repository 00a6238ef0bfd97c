//! `cargo xtask tidy`: habits that people forget, checked by a program. STYLE.md gives the reasons.
//!
//! Each check looks at the text of files in memory and gives findings, so that its tests can show it a bad sample.

mod crates;
mod docs;
mod imports;
mod layers;
mod lexer;
mod rust;
mod text;
mod types;
mod words;

use crate::process;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// A tracked file.
#[derive(Debug)]
pub struct File {
    /// Path from the checkout's root, with `/`.
    pub path: String,
    /// Its text; empty for a file that is not UTF-8.
    pub text: String,
}

/// Something to mend.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// Line from 1.
    pub line: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks the checkout at `root`; prints each finding, and fails when there is one.
pub fn run(root: &Path) -> Result<(), String> {
    let (files, paths) = tracked_files(root)?;
    let findings = check(&files, &paths);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} files, nothing to mend", files.len());
            Ok(())
        }
        count => Err(format!("tidy: {count} to mend")),
    }
}

/// All findings in `files`. `paths` has every tracked path, for links.
fn check(files: &[File], paths: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        findings.extend(text::check(file));
        if file.path.ends_with(".rs") {
            findings.extend(rust::check(file));
            findings.extend(words::check(file));
            findings.extend(crates::check_source(file));
        } else if file.path.ends_with("Cargo.toml") {
            findings.extend(crates::check_manifest(file));
        }
    }
    findings.extend(docs::check(files, paths));
    findings.extend(layers::check(files));
    findings.extend(types::check(files));
    findings.sort();
    findings
}

/// Files that git tracks or would add, with their text.
fn tracked_files(root: &Path) -> Result<(Vec<File>, BTreeSet<String>), String> {
    let listing = process::output(root, "git", &["ls-files", "--cached", "--others", "--exclude-standard"])?;
    let paths: BTreeSet<String> = listing.lines().filter(|path| root.join(path).is_file()).map(str::to_owned).collect();
    let mut files = Vec::new();
    for path in &paths {
        let bytes = std::fs::read(root.join(path)).map_err(|error| format!("reading {path}: {error}"))?;
        let text = String::from_utf8(bytes).unwrap_or_default();
        files.push(File { path: path.clone(), text });
    }
    Ok((files, paths))
}

#[cfg(test)]
fn sample(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}
