//! Runs the stored statements. Each gives PostgreSQL's answer, or is marked as refused and is still.

use crate::answer::Outcome;
use crate::engine::Engine;
use crate::stored::{self, Entry, Section};
use std::path::{Path, PathBuf};

/// The folder of the stored files.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/postgres")
}

/// The stored files.
pub fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "txt")).collect();
    files.sort();
    files
}

/// What is wrong with a statement; nothing when all is well. A mark of a refusal that is no more is taken away when
/// `bless` says so.
fn check(engine: &Engine, entry: &mut Entry, bless: bool) -> Option<String> {
    let sql = &entry.sql;
    let outcome = engine.answer(sql, entry.changes.as_deref());
    match (outcome, &entry.refused) {
        (Outcome::Error(..), Some(_)) => None,
        (Outcome::Error(_, error), None) => {
            Some(format!("{sql}\n{}Gingham now refuses it: {error}\n", stored::answer(&entry.answer)))
        }
        (Outcome::Answer(typed), refused) => {
            let right = typed.agrees(&entry.answer, entry.ordered);
            if right && refused.is_none() {
                return None;
            }
            if right && bless {
                entry.refused = None;
                return None;
            }
            let what = if right { "right now: remove the mark (GINGHAM_BLESS=1 does)" } else { "wrong" };
            let (expected, found) = (stored::answer(&entry.answer), stored::answer(&typed.answer));
            Some(format!("{sql}\n{what}; PostgreSQL:\n{expected}Gingham:\n{found}"))
        }
    }
}

/// Runs all statements of a section.
fn run(section: &mut Section, bless: bool) -> Vec<String> {
    let engine = match Engine::with(&section.script) {
        Ok(engine) => engine,
        Err(error) => return vec![format!("the tables can't be made: {error}\n")],
    };
    let script = section.script.join(";\n");
    let failures = section.entries.iter_mut().filter_map(|entry| check(&engine, entry, bless));
    failures.map(|failure| format!("{script};\n{failure}")).collect()
}

#[test]
fn replay() {
    let bless = std::env::var_os("GINGHAM_BLESS").is_some();
    let (mut statements, mut failures) = (0, Vec::new());
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut sections = stored::parse(&text);
        for section in &mut sections {
            statements += section.entries.len();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            failures.extend(run(section, bless).into_iter().map(|failure| format!("==== {name}\n{failure}")));
        }
        if bless {
            let comments: String =
                text.lines().take_while(|line| line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
            std::fs::write(&file, comments + &stored::text(&sections)).expect("the file can be written");
        }
    }
    let shown = failures.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} of {statements} stored statements fail; the first:\n{shown}", failures.len());
}
