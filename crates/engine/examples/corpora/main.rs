//! Runs the sqllogictest files of other projects on Gingham, and asks PostgreSQL about whatever differs. Their tests were
//! written by others with other mistakes in mind, which makes them a better witness than our own. `cargo xtask corpora DIR`
//! builds and starts this program; DIR holds the folders `sqlite`, `duckdb`, `datafusion` and `postgres`, which are fetched by hand.

mod beside;
mod child;
mod correlated;
mod differ;
mod expect;
mod interval;
mod judge;
mod kinds;
mod loops;
mod order;
mod reader;
mod report;
mod run;
mod script;
mod server;
mod subject;
mod table;
#[cfg(test)]
mod tests;
mod wire;

use reader::{CORPORA, Corpus, File};
use report::Report;
use server::Server;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

const USAGE: &str = "corpora DIR [--only WORD[:N][,WORD[:N]]] [--files N] [--page FILE] [--commit NAME]";

fn main() -> ExitCode {
    let outcome = Options::read(std::env::args().skip(1)).and_then(|options| match &options.child {
        Some(name) => one_file(&options, name),
        None => all_files(&options),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, Default)]
struct Options {
    dir: PathBuf,
    /// Parts of names: only files with one of them are run, at most as many as a number behind the colon says.
    only: Vec<String>,
    /// At most so many files for each word of `only`, or of each corpus.
    files: Option<usize>,
    page: Option<PathBuf>,
    /// The commit of Gingham that is run.
    commit: Option<String>,
    /// The file that this process is to run, when it was started by another one for that.
    child: Option<String>,
    without: Vec<usize>,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            if !argument.starts_with("--") {
                options.dir = std::path::absolute(&argument).map_err(|error| error.to_string())?;
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{argument} needs a value\n{USAGE}"))?;
            match argument.as_str() {
                "--only" => options.only = value.split(',').map(str::to_owned).collect(),
                "--files" => {
                    options.files = Some(value.parse().map_err(|_| format!("--files {value}: a number\n{USAGE}"))?)
                }
                "--page" => options.page = Some(value.into()),
                "--commit" => options.commit = Some(value),
                "--child" => options.child = Some(value),
                "--without" => options.without = value.split(',').filter_map(|number| number.parse().ok()).collect(),
                _ => return Err(format!("{argument}: no such option\n{USAGE}")),
            }
        }
        match options.dir.is_dir() {
            true => Ok(options),
            false => Err(format!("'{}' is no folder\n{USAGE}", options.dir.display())),
        }
    }

    /// The command that a reader types.
    fn command(&self) -> String {
        let mut command = "cargo xtask corpora DIR".to_owned();
        if !self.only.is_empty() {
            command += &format!(" --only {}", self.only.join(","));
        }
        if let Some(files) = self.files {
            command += &format!(" --files {files}");
        }
        command
    }
}

fn one_file(options: &Options, name: &str) -> Result<(), String> {
    let file = file(&options.dir, name).ok_or_else(|| format!("{name}: of no corpus"))?;
    run::run(&file, &options.without.iter().copied().collect())
}

fn file(dir: &Path, name: &str) -> Option<File> {
    let corpus = CORPORA.into_iter().find(|corpus| name.starts_with(corpus.folder()))?;
    Some(File { corpus, path: dir.join(name), name: name.to_owned() })
}

fn all_files(options: &Options) -> Result<(), String> {
    let files = chosen(options)?;
    let server = Server::start()?;
    let version = server.as_ref().map(Server::version).transpose()?;
    let report = Mutex::new(Report::default());
    let (next, begun) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = whole(options, file, server.as_ref(), &report) {
                        eprintln!("{}: {error}", file.name);
                    }
                }
            });
        }
    });
    let report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    let lists = options.dir.join("report");
    report.write_lists(&lists).map_err(|error| format!("{}: {error}", lists.display()))?;
    let page = report.page(&options.command(), options.commit.as_deref(), version.as_deref());
    let path = options.page.clone().unwrap_or_else(|| lists.join("sql-conformance.md"));
    std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))?;
    println!(
        "{} files in {:.0} s; see {} and {}",
        files.len(),
        begun.elapsed().as_secs_f64(),
        path.display(),
        lists.display()
    );
    Ok(())
}

/// Runs, judges and counts one file.
fn whole(options: &Options, file: &File, server: Option<&Server>, report: &Mutex<Report>) -> Result<(), String> {
    let begun = Instant::now();
    let scratch = tempfile::Builder::new().prefix("gingham-corpora-").tempdir().map_err(|error| error.to_string())?;
    let records = reader::read(file, scratch.path())?;
    let run = child::run(file, &options.dir, scratch.path(), records.len())?;
    let ran = begun.elapsed();
    let findings = judge::judge(&records, &run, server)?;
    let of = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    println!(
        "{}: {} records, {} wrong, {} refused wrongly; {:.1} s, {:.1} s with PostgreSQL",
        file.name,
        findings.len(),
        of(judge::Verdict::Wrong),
        of(judge::Verdict::RefusedWrongly),
        ran.as_secs_f64(),
        (begun.elapsed() - ran).as_secs_f64(),
    );
    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
    report.file(file.corpus, &file.name, &records, &findings, &run.defects);
    Ok(())
}

/// The files to run: of each group as many as asked for, spread evenly over the group's names.
fn chosen(options: &Options) -> Result<Vec<File>, String> {
    let mut names = Vec::new();
    for corpus in CORPORA {
        collect(&options.dir, &options.dir.join(corpus.folder()), &mut names);
    }
    names.sort();
    let words: Vec<String> = match options.only.is_empty() {
        true => CORPORA.iter().map(|corpus| format!("{}/", corpus.folder())).collect(),
        false => options.only.clone(),
    };
    let mut files: Vec<File> = Vec::new();
    for word in &words {
        let (word, most) = match word.split_once(':') {
            None => (word.as_str(), options.files),
            Some((word, most)) => (word, Some(most.parse().map_err(|_| format!("{word}:{most}: no number\n{USAGE}"))?)),
        };
        let group: Vec<&String> = names.iter().filter(|name| name.contains(word)).collect();
        let count = most.unwrap_or(group.len()).min(group.len());
        for place in 0..count {
            let name = group[place * group.len() / count];
            if files.iter().all(|file| file.name != *name) {
                files.extend(file(&options.dir, name));
            }
        }
    }
    match files.is_empty() {
        true => Err(format!("no file of a corpus in {} has one of: {}", options.dir.display(), words.join(", "))),
        false => Ok(files),
    }
}

/// Adds the names, below `dir`, of the test files in `folder`.
fn collect(dir: &Path, folder: &Path, names: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let of_postgres = dir.join(Corpus::Postgres.folder()).join("sql") == folder;
        let script = path.file_stem().is_some_and(|name| script::SCRIPTS.iter().any(|of| name == *of));
        let test = match of_postgres {
            true => script && path.extension().is_some_and(|ending| ending == "sql"),
            false => path.extension().is_some_and(|ending| ["test", "slt"].iter().any(|of| ending == *of)),
        };
        // Of Spark's functions PostgreSQL has hardly one, and DuckDB's folder of data has files of the same ending.
        let passed_over = path.ends_with("test_files/spark") || path.ends_with("duckdb/data");
        if path.is_dir() && !path.is_symlink() && !passed_over {
            collect(dir, &path, names);
        } else if let (true, Ok(name)) = (test, path.strip_prefix(dir)) {
            names.push(name.to_string_lossy().into_owned());
        }
    }
}
