//! Compilation set-ups: a compiler at a level of optimisation, and the program that it made, checked before anything is measured.

use super::data::{Chunk, MappedFile, Values};
use super::program::Program;
use super::source::{Loop, LoopSource, Schema, Walk, program};
use super::toolchain::{Compiler, found, kept_programs};
use crate::experiment::Error;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Levels of optimisation.
pub const LEVELS: [u8; 3] = [1, 2, 3];
/// Records of the check: whole chunks of every size and a rest, for chunks of up to 2^16.
const CHECKED: usize = 2 * 65_536 + 77;

/// A set-up.
#[derive(Debug, Clone)]
pub struct SetUp {
    /// The level of the factor `setup`: `gcc -O2`.
    pub name: String,
    /// The path of the program.
    pub program: PathBuf,
}

/// The processors for which compilers are asked to make code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeTarget {
    /// Nothing: code for every processor of the kind, as the paper's.
    Any,
    /// Code for this processor.
    Native,
}

/// The set-ups that make right programs of some loops, and what a reader must know of the others. Each program must answer `checks`.
pub fn checked(
    loops: &[impl LoopSource],
    checks: &[CheckedLoop],
    target: CodeTarget,
    wanted: impl Fn(&Compiler, u8) -> bool,
) -> (Vec<SetUp>, Vec<String>) {
    let (compilers, mut notes) = found();
    let mut set_ups = Vec::new();
    for compiler in &compilers {
        let source = program(compiler.language, loops);
        for level in LEVELS.into_iter().filter(|level| wanted(compiler, *level)) {
            let name = format!("{} -O{level}", compiler.name);
            let made = compiler.compile(&source, level, target == CodeTarget::Native, &kept_programs());
            let checked = made.and_then(|program| {
                check(checks, &name, &program)?;
                Ok(SetUp { name: name.clone(), program })
            });
            match checked {
                Ok(set_up) => set_ups.push(set_up),
                Err(reason) => notes.push(format!("{name} is left out: {reason}")),
            }
        }
        notes.push(format!("{}: {}", compiler.name, compiler.version));
    }
    if set_ups.is_empty() {
        notes.push("nothing is measured: no compiler here makes these programs".to_owned());
    }
    (set_ups, notes)
}

/// The set-ups that make right programs of loops of the micro-benchmark.
pub fn set_ups(
    loops: &[Loop],
    target: CodeTarget,
    wanted: impl Fn(&Compiler, u8) -> bool,
) -> Result<(Vec<SetUp>, Vec<String>), Error> {
    Ok(checked(loops, &checks(loops)?, target, wanted))
}

/// The names of all set-ups that there may be here.
pub fn set_up_names() -> Vec<String> {
    let (compilers, _) = found();
    compilers.iter().flat_map(|compiler| LEVELS.map(|level| format!("{} -O{level}", compiler.name))).collect()
}

/// A loop of a program over small data, and its right answer.
pub struct CheckedLoop {
    /// The loop's name.
    pub name: String,
    /// The layout of the data.
    pub chunk: Chunk,
    /// The data.
    pub file: Rc<MappedFile>,
    /// Records of it.
    pub records: usize,
    /// The right answer.
    pub expected: i64,
}

/// Runs loops of a program, known by its set-up, and compares their answers.
fn check(loops: &[CheckedLoop], name: &str, path: &Path) -> Result<(), String> {
    let mut program = Program::start(name, path)?;
    for CheckedLoop { name, chunk, file, records, expected } in loops {
        program.map(0, file, false)?;
        let found = program.run(name, 0, *records, chunk.records(*records))?.result;
        if found != *expected {
            return Err(format!("{name} over layout {} gives {found}, {expected} expected", chunk.name()));
        }
    }
    Ok(())
}

/// The layout that a loop reads; one that is told its chunks is checked on some.
fn layouts(walk: Walk) -> Vec<Chunk> {
    match walk {
        Walk::Row => vec![Chunk::Of(1)],
        Walk::Column => vec![Chunk::All],
        Walk::Chunks(k) => vec![Chunk::Of(k)],
        Walk::AnyChunks => vec![Chunk::Of(1), Chunk::Of(6), Chunk::Of(4096)],
    }
}

/// Loops of the micro-benchmark over small data in every layout that they need.
pub fn checks(loops: &[Loop]) -> Result<Vec<CheckedLoop>, Error> {
    let mut kinds: Vec<(Schema, usize)> = loops.iter().map(|own| (own.schema, own.columns)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut checks = Vec::new();
    for kind in kinds {
        let values = Values::new(kind.0, kind.1, CHECKED, 1);
        let (mut files, mut answers) = (BTreeMap::new(), BTreeMap::new());
        for own in loops.iter().filter(|own| (own.schema, own.columns) == kind) {
            let expected = *answers.entry(own.question).or_insert_with(|| values.answer(own.question));
            for chunk in layouts(own.walk) {
                let file = match files.get(&chunk) {
                    Some(file) => Rc::clone(file),
                    None => Rc::new(MappedFile::new(&values.table, chunk, &std::env::temp_dir())?),
                };
                files.insert(chunk, Rc::clone(&file));
                checks.push(CheckedLoop { name: own.name(), chunk, file, records: CHECKED, expected });
            }
        }
    }
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::fragility::source::{Language, MicroQuery};
    use std::os::unix::fs::PermissionsExt;

    /// Loops of every kind.
    fn every_kind() -> Vec<Loop> {
        let mut loops = Vec::new();
        for schema in Schema::ALL {
            for columns in [2, 4] {
                for question in [MicroQuery::Min, MicroQuery::Product, MicroQuery::BranchFreeMin] {
                    for walk in [
                        Walk::Row,
                        Walk::Column,
                        Walk::AnyChunks,
                        Walk::Chunks(2),
                        Walk::Chunks(6),
                        Walk::Chunks(64),
                        Walk::Chunks(65_536),
                    ] {
                        loops.push(Loop { schema, columns, question, walk });
                    }
                }
            }
        }
        loops
    }

    #[test]
    fn programs_of_every_compiler_here_are_right() {
        let loops = every_kind();
        let (set_ups, notes) = set_ups(&loops, CodeTarget::Any, |_, _| true).unwrap();
        assert!(notes.iter().all(|note| !note.contains("-O")), "{notes:?}");
        // The tests themselves were compiled by rustc, and LMDB by a C compiler.
        for language in ["rustc -O1", "rustc -O2", "rustc -O3"] {
            assert!(set_ups.iter().any(|set_up| set_up.name == language), "{notes:?}");
        }
        assert!(set_ups.len() >= 6, "{notes:?}");
    }

    #[test]
    fn programs_that_are_wrong_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let loops = [Loop { schema: Schema::Char, columns: 4, question: MicroQuery::Min, walk: Walk::Row }];
        let checks = checks(&loops).unwrap();
        // A compiler that makes wrong code: its programs answer 5 to everything.
        let script = folder.path().join("wrongcc");
        let wrong = "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nprintf '#!/bin/sh\\nwhile read w rest; do case $w in map) echo ok 0;; *) echo 9 5;; esac; done\\n' > \"$2\"; chmod +x \"$2\"\n";
        std::fs::write(&script, wrong).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let compiler = Compiler { name: "wrong".into(), program: script, language: Language::C, version: "1".into() };
        let program = compiler.compile("", 2, false, &folder.path().join("kept")).unwrap();
        let told = check(&checks, "wrong -O2", &program).unwrap_err();
        assert_eq!(
            told,
            format!(
                "char4_min_row over layout row gives 5, {} expected",
                Values::new(Schema::Char, 4, CHECKED, 1).answer(MicroQuery::Min)
            )
        );
        let told = check(&checks, "wrong -O2", Path::new("/bin/false")).unwrap_err();
        assert!(told.starts_with("wrong -O2, map 0") && told.contains("the program ended with"), "{told}");
    }
}
