//! The main job from nothing: TPC-H data from the embedded generator, a database, the 22 queries, every answer checked
//! against DataFusion over the same rows, and a report to look at.

mod measure;
mod report;
mod sizes;

use crate::failure::Failure;
use crate::progress::Step;
use clap::Args;
use gingham::advisor::Workload;
use gingham::{Database, DatabaseOptions};
use gingham_lab::advisor::{Advice, Answered, Request, Stop, Watch, advise};
use gingham_lab::machine::Machine;
use gingham_lab::tpch::{self, TpchTable};
use gingham_lab::words::{bytes, counted, thousands};
use gingham_reference::Reference;
use measure::Measurement;
use report::Report;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What `demo` takes.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Size of the data: 1 is 8.7 million records, about 1 GB of text
    #[arg(long, default_value_t = 0.1, value_parser = scale)]
    scale: f64,

    /// Folder for the database and report.html; an earlier demo's is overwritten, any other is refused
    #[arg(long, default_value = "gingham-demo", value_name = "FOLDER")]
    dir: PathBuf,

    /// Threads of both engines [default: all]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

/// How long designs are compared.
const ADVICE: Duration = Duration::from_secs(8);
/// Names a folder as a demo's, so that it may be overwritten.
const MARK: &str = ".gingham-demo";
/// The database within the folder.
const DATABASE: &str = "tpch.gingham";
/// The report within the folder.
const REPORT: &str = "report.html";

fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (0.001..=100.0).contains(&scale) => Ok(scale),
        _ => Err("a scale is a number from 0.001 to 100".to_string()),
    }
}

/// Runs the demo. Fails when an answer is wrong.
pub fn run(args: DemoArgs) -> Result<(), Failure> {
    let start = Instant::now();
    let machine = Machine::here();
    let threads = args.threads.map_or(machine.threads, usize::from);
    prepare_folder(&args.dir)?;

    let (tables, generating) = generate(args.scale, threads);
    let database = args.dir.join(DATABASE);
    let options = DatabaseOptions::new().threads(threads);
    let opened = options.open(&database)?;
    let connection = opened.connect();
    let loading = load(&connection, &tables, &database)?;
    let sizes = sizes::columns(&connection, &tables)?;
    let reference = Reference::new(threads).map_err(reference_failed)?;
    for (table, batches) in &tables {
        reference.register_memory(table.name(), batches).map_err(reference_failed)?;
    }
    let measurement = Measurement::run(&connection, &reference, args.scale)?;
    measure::print_table(&measurement);
    sizes::print_summary(&sizes);

    let advice = advised(&opened, args.scale)?;
    let report = Report {
        advice,
        machine,
        scale: args.scale,
        threads,
        rows: rows(&tables),
        generating,
        loading,
        disk_bytes: folder_bytes(&database),
        measurement,
        sizes,
    };
    say!("\n{}", report.verdict());
    let path = args.dir.join(REPORT);
    std::fs::write(&path, report.html()).map_err(|error| cannot("write", &path, &error))?;
    say!("Report: {}", path.display());
    say!("Look further: gingham {}   ({:.1} s in all)", database.display(), start.elapsed().as_secs_f64());
    Ok(())
}

/// Asks the advisor for designs that suit the 22 queries.
fn advised(database: &Database, scale: f64) -> Result<Advice, Failure> {
    let text: String = tpch::queries::NUMBERS.map(|number| tpch::queries::text(number, scale) + ";\n").collect();
    let workload = Workload::parse(&text, "the 22 queries of TPC-H")?;
    let request = Request { workload, tables: Vec::new(), budget: ADVICE, disk: None, seed: 1 };
    let step = Step::start("Comparing designs of the tables for these queries".to_string(), 1000);
    let advice = advise(database, &request, &Shown(&step), &Stop::default())?;
    let changes = advice.tables.iter().filter(|table| table.answered() == Answered::Change).count();
    let measured: usize = advice.tables.iter().map(|table| table.designs.len()).sum();
    step.finish(&format!(
        "{} of {} measured, {} would change",
        counted(measured as u64, "design"),
        counted(advice.tables.len() as u64, "table"),
        counted(changes as u64, "table")
    ));
    Ok(advice)
}

/// Shows how far the advisor is.
struct Shown<'s>(&'s Step);

impl Watch for Shown<'_> {
    fn note(&self, what: &str, spent: f64) {
        self.0.reach((spent * 1000.0) as u64);
        self.0.note(what.to_owned());
    }
}

/// Makes the folder, or empties an earlier demo's of what a demo makes.
fn prepare_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| cannot("make", folder, &error))?;
    let mark = folder.join(MARK);
    if !mark.exists() {
        let mut entries = std::fs::read_dir(folder).map_err(|error| cannot("read", folder, &error))?;
        if entries.next().is_some() {
            return Err(Failure::failed(format!(
                "{} holds files that are not a demo's; give --dir a new or empty folder",
                folder.display()
            )));
        }
        std::fs::write(&mark, "gingham demo may overwrite the files beside this one\n")
            .map_err(|error| cannot("write", &mark, &error))?;
    }
    let database = folder.join(DATABASE);
    if database.exists() {
        std::fs::remove_dir_all(&database).map_err(|error| cannot("remove", &database, &error))?;
    }
    Ok(())
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("can't {what} {}: {error}", path.display()))
}

fn reference_failed(error: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("DataFusion, which the answers are checked against, failed: {error}"))
}

type Tables = Vec<(TpchTable, Vec<arrow::array::RecordBatch>)>;

fn rows(tables: &Tables) -> u64 {
    tables.iter().flat_map(|(_, batches)| batches).map(|batch| batch.num_rows() as u64).sum()
}

fn generate(scale: f64, threads: usize) -> (Tables, Duration) {
    let expected = TpchTable::ALL.iter().map(|table| table.rows(scale)).sum();
    let step = Step::start(format!("Generating TPC-H at scale {scale}"), expected);
    let tables = tpch::generate_all(scale, threads, |rows| step.advance(rows));
    let elapsed = step.finish(&format!("{} records in 8 tables", thousands(rows(&tables))));
    (tables, elapsed)
}

fn load(connection: &gingham::Connection, tables: &Tables, database: &Path) -> Result<Duration, Failure> {
    let step = Step::start(format!("Loading into {}", database.display()), rows(tables));
    tpch::create_tables(connection)?;
    for (table, batches) in tables {
        tpch::load(connection, *table, batches, |rows| step.advance(rows))?;
    }
    Ok(step.finish(&format!("{} on disk", bytes(folder_bytes(database)))))
}

/// Bytes that the files of a folder take on disk; holes in sparse files take none.
fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => disk_bytes(&metadata),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

#[cfg(unix)]
fn disk_bytes(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata) * 512
}

#[cfg(not(unix))]
fn disk_bytes(metadata: &std::fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_demos_folder_is_overwritten() {
        let parent = tempfile::tempdir().unwrap();
        let other = parent.path().join("other");
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("thesis.txt"), "years of work").unwrap();
        assert!(prepare_folder(&other).unwrap_err().message().contains("--dir"));
        assert!(other.join("thesis.txt").exists());

        let demo = parent.path().join("new/demo");
        prepare_folder(&demo).unwrap();
        std::fs::create_dir(demo.join(DATABASE)).unwrap();
        std::fs::write(demo.join(DATABASE).join("file"), "x").unwrap();
        std::fs::write(demo.join("notes.txt"), "mine").unwrap();
        prepare_folder(&demo).unwrap();
        assert!(!demo.join(DATABASE).exists());
        assert!(demo.join("notes.txt").exists());
    }

    #[test]
    fn scales_have_bounds() {
        assert_eq!(scale("0.1"), Ok(0.1));
        for bad in ["0", "-1", "nan", "1e9", "big"] {
            assert!(scale(bad).is_err(), "{bad}");
        }
    }
}
