//! Starts the process that runs a file, and reads its journal. A process that came to its end before the file did is started
//! again without the record at which that happened.

use crate::reader::{Corpus, File};
use crate::table::Table;
use serde_json::Value;
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What Gingham made of a record.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The process did not get that far.
    NotRun,
    Right,
    /// The answer can't be held against the file.
    Unclear,
    Refused {
        message: String,
        /// The code of five letters and digits; none when the process ended.
        code: String,
    },
    Different(Table),
    /// Different, and too many rows to hand on.
    Big,
    /// A statement was done, and changed so many records.
    Done(Option<u64>),
}

/// What became of a file.
#[derive(Debug, Default)]
pub struct FileRun {
    /// One for each record.
    pub outcomes: Vec<Outcome>,
    /// Panics, crashes and internal errors, each with the number of its record.
    pub defects: Vec<(usize, String)>,
}

/// A process is started this many times at most.
const STARTS: usize = 4;

/// Runs `file`, which has `records` records, in a process of its own within `scratch`.
pub fn run(file: &File, dir: &Path, scratch: &Path, records: usize) -> Result<FileRun, String> {
    let mut without = HashSet::new();
    for start in 1.. {
        let folder = scratch.join(format!("run{start}"));
        let inside = lay_out(file.corpus, dir, &folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut run = FileRun { outcomes: vec![Outcome::NotRun; records], defects: Vec::new() };
        let ended = one_process(file, dir, &inside, &without, &mut run)?;
        for number in &without {
            run.outcomes[*number] = refused("the process ended, or never came back", "");
        }
        let next = (0..records).rev().find(|number| !matches!(run.outcomes[*number], Outcome::NotRun));
        let next = next.map_or(0, |last| last + 1).min(records.saturating_sub(1));
        match ended {
            Ended::AtTheEnd => return Ok(with_ends(run, &without)),
            Ended::At(number) => without.insert(number),
            Ended::Somewhere => without.insert(next),
        };
        if start == STARTS {
            return Ok(with_ends(run, &without));
        }
    }
    Err("no process was started".to_owned())
}

fn with_ends(mut run: FileRun, without: &HashSet<usize>) -> FileRun {
    run.defects.extend(without.iter().map(|number| (*number, "the process ended, or never came back".to_owned())));
    run
}

enum Ended {
    AtTheEnd,
    /// It gave up at this record.
    At(usize),
    /// It broke down.
    Somewhere,
}

fn one_process(
    file: &File,
    dir: &Path,
    inside: &Path,
    without: &HashSet<usize>,
    run: &mut FileRun,
) -> Result<Ended, String> {
    let mut child = start(file, dir, inside, without)?;
    let out = child.stdout.take().ok_or("a process without output")?;
    let mut ended = Ended::Somewhere;
    let mut panics = Vec::new();
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
        match (line[0].as_u64(), line[0].as_str(), line[1].as_str()) {
            (None, Some("end"), _) => ended = Ended::AtTheEnd,
            (None, Some("panic"), Some(text)) => panics.push(text.to_owned()),
            (Some(number), _, Some("stuck")) => ended = Ended::At(number as usize),
            (Some(number), _, Some(word)) if (number as usize) < run.outcomes.len() => {
                let number = number as usize;
                run.defects.extend(panics.drain(..).map(|panic| (number, panic)));
                if line[3].as_bool() == Some(true) {
                    run.defects.push((number, line[2].as_str().unwrap_or_default().to_owned()));
                }
                run.outcomes[number] = outcome(word, &line[2], line[4].as_str().unwrap_or_default());
            }
            _ => {}
        }
    }
    child.wait().map_err(|error| error.to_string())?;
    Ok(ended)
}

fn start(file: &File, dir: &Path, inside: &Path, without: &HashSet<usize>) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let without: Vec<String> = without.iter().map(usize::to_string).collect();
    let mut command = Command::new(program);
    command.arg(dir).args(["--child", &file.name, "--without", &without.join(",")]);
    command.current_dir(inside).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().map_err(|error| format!("can't start a process for {}: {error}", file.name))
}

fn refused(message: &str, code: &str) -> Outcome {
    Outcome::Refused { message: message.to_owned(), code: code.to_owned() }
}

fn outcome(word: &str, detail: &Value, code: &str) -> Outcome {
    match word {
        "right" => Outcome::Right,
        "refused" => refused(detail.as_str().unwrap_or_default(), code),
        "slow" => refused("took too long", "57014"),
        "different" => Table::from_json(detail).map_or(Outcome::Big, Outcome::Different),
        "big" => Outcome::Big,
        "done" => Outcome::Done(detail.as_u64()),
        _ => Outcome::Unclear,
    }
}

/// Makes the folder in which the process runs, with the corpus's data files where its files look for them.
fn lay_out(corpus: Corpus, dir: &Path, folder: &Path) -> std::io::Result<std::path::PathBuf> {
    let from = dir.join(corpus.folder());
    let inside = match corpus {
        Corpus::Datafusion => folder.join("datafusion/sqllogictest"),
        _ => folder.to_path_buf(),
    };
    std::fs::create_dir_all(&inside)?;
    let link = |of: &str, to: std::path::PathBuf| match from.join(of) {
        path if path.exists() => std::os::unix::fs::symlink(path, to),
        _ => Ok(()),
    };
    match corpus {
        Corpus::Sqlite | Corpus::Postgres => {}
        Corpus::Duckdb => {
            link("data", inside.join("data"))?;
            link("test", inside.join("test"))?;
        }
        Corpus::Datafusion => {
            std::fs::create_dir_all(inside.join("test_files/scratch"))?;
            link("core", folder.join("datafusion/core"))?;
            link("test_files/data", inside.join("test_files/data"))?;
        }
    }
    Ok(inside)
}
