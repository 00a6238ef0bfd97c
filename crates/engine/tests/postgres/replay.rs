//! Runs the stored statements. Each gives PostgreSQL's answer, or is marked as refused and still is, for the same reason.

use crate::answer::Outcome;
use crate::engine::Engine;
use crate::judge::OUT_OF_MEMORY;
use crate::stored::{self, Entry, Section};
use crate::{refusals, report};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The folder of the stored files.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/postgres")
}

/// The stored files, of which there are some.
pub fn files() -> Vec<PathBuf> {
    let folder = folder();
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())).path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files
}

/// What a stored statement comes to now.
struct Replay {
    bless: bool,
    /// The kinds of refusals that the list knows, and those that were met.
    known: BTreeSet<String>,
    met: Mutex<BTreeSet<String>>,
}

impl Replay {
    /// What is wrong with a statement; nothing when all is well. A mark of a refusal that is no more, or that has other words, is
    /// mended when the replay blesses.
    fn check(&self, engine: &Engine, entry: &mut Entry, little_memory: bool) -> Option<String> {
        let sql = &entry.sql;
        match engine.answer(sql, entry.changes.as_deref()) {
            // How much memory a statement takes is not the same each time.
            Outcome::Error(code, _) if little_memory && code == OUT_OF_MEMORY => None,
            Outcome::Error(_, error) => self.refused(entry, &error),
            Outcome::Answer(typed) => {
                let right = typed.agrees(&entry.answer, entry.ordered);
                if right && (entry.refused.is_none() || self.bless) {
                    entry.refused = None;
                    return None;
                }
                let what = if right { "right now: remove the mark (GINGHAM_BLESS=1 does)" } else { "wrong" };
                let (expected, found) = (stored::answer(&entry.answer), stored::answer(&typed.answer));
                Some(format!("{sql}\n{what}; PostgreSQL:\n{expected}Gingham:\n{found}"))
            }
        }
    }

    /// What is wrong with a statement that Gingham refuses: a mark that it lacks, or that has other words.
    fn refused(&self, entry: &mut Entry, error: &str) -> Option<String> {
        let (sql, kind) = (&entry.sql, report::kind(error));
        let Some(mark) = &entry.refused else {
            let expected = stored::answer(&entry.answer);
            return Some(format!("{sql}\n{expected}Gingham now refuses it: {error}\n"));
        };
        self.met.lock().expect("no thread panics with it").insert(kind.clone());
        if !self.known.contains(&kind) {
            return Some(format!(
                "{sql}\nrefused for a reason that {} does not have: {kind}\n",
                refusals::file().display()
            ));
        }
        if report::kind(mark) == kind {
            return None;
        }
        if self.bless {
            entry.refused = Some(error.to_owned());
            return None;
        }
        Some(format!("{sql}\nrefused with other words (GINGHAM_BLESS=1 takes them): {error}\nbefore: {mark}\n"))
    }

    /// Runs all statements of a section.
    fn run(&self, section: &mut Section) -> Vec<String> {
        let engine = match Engine::with(&section.script) {
            Ok(engine) => engine,
            Err(error) => return vec![format!("the tables can't be made: {error}\n")],
        };
        let script = section.script.join(";\n");
        let little_memory = script.contains("gingham.memory_limit");
        let failures = section.entries.iter_mut().filter_map(|entry| self.check(&engine, entry, little_memory));
        failures.map(|failure| format!("{script};\n{failure}")).collect()
    }
}

/// A stored file.
struct Stored {
    path: PathBuf,
    /// The lines that say what it is.
    head: String,
    sections: Vec<Section>,
}

impl Stored {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let head = text.lines().take_while(|line| line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
        Self { path, head, sections: stored::parse(&text) }
    }

    fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

#[test]
fn replay() {
    let bless = std::env::var_os("GINGHAM_BLESS").is_some();
    let replay = Replay { bless, known: refusals::known(), met: Mutex::default() };
    let mut all: Vec<Stored> = files().into_iter().map(Stored::read).collect();
    for part in ["generated-", "values"] {
        assert!(all.iter().any(|file| file.name().starts_with(part)), "{} has no file {part}*.txt", folder().display());
    }
    let statements: usize = all.iter().flat_map(|file| &file.sections).map(|section| section.entries.len()).sum();
    assert!(statements > 0, "{} has no statements", folder().display());
    let mut sections = Vec::new();
    for file in &mut all {
        let name = file.name();
        sections.extend(file.sections.iter_mut().map(|section| (name.clone(), section)));
    }
    let (waiting, failures) = (Mutex::new(sections), Mutex::new(Vec::new()));
    let work = || {
        while let Some((name, section)) = { waiting.lock().expect("no thread panics here").pop() } {
            let found = replay.run(section).into_iter().map(|failure| format!("==== {name}\n{failure}"));
            failures.lock().expect("no thread panics here").extend(found);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    for file in all.iter().filter(|_| bless) {
        let text = file.head.clone() + &stored::text(&file.sections);
        std::fs::write(&file.path, text).expect("the file can be written");
    }
    for kind in replay.known.difference(&replay.met.into_inner().expect("no thread panicked")) {
        println!("no stored statement is refused for this reason, which may leave the list: {kind}");
    }
    let failures = failures.into_inner().expect("no thread panicked");
    let shown = failures.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} of {statements} stored statements fail; the first:\n{shown}", failures.len());
}
