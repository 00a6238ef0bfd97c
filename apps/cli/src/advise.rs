//! `gingham DB advise W.sql`: which designs suit a workload.

use crate::failure::Failure;
use crate::interrupt;
use clap::Args;
use gingham::Database;
use gingham::advisor::Workload;
use gingham::storage::TableName;
use gingham_lab::advisor::{Applied, Request, Stop, Watch, advise, apply, html};
use gingham_lab::machine::Machine;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The arguments of `advise`.
#[derive(Debug, Args)]
pub struct AdviseArgs {
    /// File of statements, each perhaps behind a comment such as -- weight: 10
    #[arg(value_name = "WORKLOAD", required_unless_present = "recorded", conflicts_with = "recorded")]
    workload: Option<PathBuf>,

    /// The statements that were run while gingham.record_workload was on
    #[arg(long)]
    recorded: bool,

    /// Tables that may change [default: all that the workload names]
    #[arg(long, value_name = "TABLE,…", value_delimiter = ',')]
    tables: Vec<String>,

    /// How long it may take, such as 90s or 5min
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    budget: Duration,

    /// Bytes of scratch tables at most, in times of the database's, such as 3x [default: 2x, or 1 GB where that is more]
    #[arg(long, value_name = "TIMES", value_parser = times)]
    disk: Option<f64>,

    /// Give the tables these designs, then compare all answers and times once more; a design that answers otherwise or is slower is
    /// taken away again
    #[arg(long)]
    pub apply: bool,

    /// Write a page with all of it: every design, every statement, every reason
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    /// Determines the order of measurements
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// A time with its unit: `90s`, `1.5min`, `500ms`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.trim().parse().map_err(|_| "a time is a number with a unit, such as 90s".to_owned())?;
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("'{unit}' is no unit of time: ms, s, min or h")),
    };
    let all = number * seconds;
    if (0.1..=86_400.0).contains(&all) {
        Ok(Duration::from_secs_f64(all))
    } else {
        Err("a time from 100ms to 24h".to_owned())
    }
}

/// A factor: `2x` or `2`.
fn times(text: &str) -> Result<f64, String> {
    match text.trim_end_matches(['x', '×']).parse::<f64>() {
        Ok(times) if (0.0..=1000.0).contains(&times) => Ok(times),
        _ => Err("a number of times from 0 to 1000, such as 2x".to_owned()),
    }
}

/// Shows what is done now.
struct Bar(ProgressBar);

impl Watch for Bar {
    fn note(&self, what: &str, spent: f64) {
        self.0.set_position((spent * 1000.0) as u64);
        self.0.set_message(what.to_owned());
    }
}

/// Runs the verb.
pub fn run(database: &Database, arguments: &AdviseArgs) -> Result<(), Failure> {
    let workload = match &arguments.workload {
        Some(file) => {
            let origin = file.display().to_string();
            let text = std::fs::read_to_string(file)
                .map_err(|error| Failure::usage(format!("can't read {origin}: {error}")))?;
            Workload::parse(&text, &origin)?
        }
        None => database.connect().recorded_workload()?,
    };
    let tables = arguments.tables.iter().map(|name| table_name(name)).collect();
    let request = Request { workload, tables, budget: arguments.budget, disk: arguments.disk, seed: arguments.seed };
    let stop = Arc::new(Stop::default());
    interrupt::stops(&stop)?;
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {percent}% {msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    let bar = Bar(bar);
    let advice = advise(database, &request, &bar, &stop).inspect_err(|_| bar.0.finish_and_clear())?;
    bar.0.suspend(|| say!("{}", advice.to_string().trim_end()));
    let applied = if arguments.apply { apply(database, &advice, threads(), &bar, &stop) } else { Ok(Vec::new()) };
    bar.0.finish_and_clear();
    let applied = applied?;
    if let Some(file) = &arguments.report {
        let page = html(&advice, &applied, &Machine::here());
        std::fs::write(file, page)
            .map_err(|error| Failure::failed(format!("can't write {}: {error}", file.display())))?;
        say!("Report: {}", file.display());
    }
    tell(&applied)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Tells what became of the tables; fails when a change was undone.
fn tell(applied: &[Applied]) -> Result<(), Failure> {
    for Applied { table, gain, undone, compared } in applied {
        match (undone, gain) {
            (Some(why), _) => say!("{table}: undone, {why}"),
            (None, Some(gain)) => say!("{table}: changed, {gain}, {compared}"),
            (None, None) => say!("{table}: changed, {compared}"),
        }
    }
    let undone: Vec<String> =
        applied.iter().filter(|table| table.undone.is_some()).map(|table| table.table.to_string()).collect();
    if undone.is_empty() { Ok(()) } else { Err(Failure::failed(format!("{} kept the old design", undone.join(", ")))) }
}

/// `schema.table`, or a table of the default schema.
fn table_name(text: &str) -> TableName {
    let (schema, table) = text.split_once('.').unwrap_or((gingham::storage::DEFAULT_SCHEMA, text));
    TableName { schema: schema.to_owned(), table: table.to_owned() }
}
