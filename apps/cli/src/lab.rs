//! `gingham lab`: the experiments of the papers, run here, with a verdict on each claim.

use crate::failure::Failure;
use crate::progress::Step;
use clap::{Args, Subcommand};
use gingham_lab::experiment::{
    Bench, Counter, Experiment, Mode, Outcome, Progress, Settings, count, document, run as run_all, tally,
};
use gingham_lab::experiments::{all, select};
use gingham_lab::merge::merge;
use gingham_lab::report;
use gingham_lab::words::counted;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `lab` does.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Show the experiments and how many claims each has
    List,
    /// Run experiments, check every answer, judge the papers' claims
    Run(RunArgs),
    /// Put results of several machines together, each claim with a verdict from each
    Merge(MergeArgs),
}

/// Arguments of `lab merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Results of `lab run --json`, of at least two machines, with the same seed and mode
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write all of them as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a report with a panel of each figure for each machine, one HTML file that needs no other
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// What `lab run` takes.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Experiments: names, prefixes such as byteslice, patterns such as 'byteslice.fig1*', or all
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// Smaller data and fewer levels
    #[arg(long)]
    quick: bool,

    /// The papers' sizes, as far as memory goes
    #[arg(long, conflicts_with = "quick")]
    full: bool,

    /// Measuring time of each experiment, set-up not counted [default: 120; 15 with --quick, 1800 with --full]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    budget: Option<u32>,

    /// Threads at most, in experiments that vary them [default: all]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Determines the data and the order of the runs
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Folder of the data sets that some experiments read
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,

    /// Write all results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a report with figures, one HTML file that needs no other
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Run each variant a few times and write a line for it: what `lab run` starts under valgrind
    #[arg(long, hide = true)]
    counted: bool,
}

impl RunArgs {
    fn settings(&self) -> Settings {
        let mode = match (self.quick, self.full) {
            (true, _) => Mode::Quick,
            (_, true) => Mode::Full,
            _ => Mode::Default,
        };
        let mut settings = Settings { seed: self.seed, data: self.data.clone(), ..Settings::of(mode) };
        if let Some(seconds) = self.budget {
            settings.budget = Duration::from_secs(seconds.into());
        }
        if let Some(threads) = self.threads {
            settings.threads = threads.into();
        }
        settings.counter = self.counter();
        settings
    }

    /// This program, to be started under valgrind with the same levels; sizes are those of the simulated caches.
    fn counter(&self) -> Option<Counter> {
        let program = std::env::current_exe().ok().filter(|_| !self.counted)?;
        let mut arguments: Vec<OsString> = ["lab", "run", "--counted"].map(OsString::from).into();
        arguments.extend(self.quick.then(|| "--quick".into()));
        arguments.extend(["--seed".into(), self.seed.to_string().into()]);
        Some(Counter { program, arguments })
    }
}

/// Runs the command.
pub fn run(command: LabCommand) -> Result<(), Failure> {
    match command {
        LabCommand::List => {
            list();
            Ok(())
        }
        LabCommand::Run(args) => run_experiments(&args),
        LabCommand::Merge(args) => merge_results(&args),
    }
}

fn list() {
    for experiment in all() {
        let claims = counted(experiment.claims.len() as u64, "claim");
        say!("{:<18} {:>9}  {} ({})", experiment.name, claims, experiment.title, experiment.place);
    }
}

fn run_experiments(args: &RunArgs) -> Result<(), Failure> {
    let experiments = select(&args.names).map_err(|error| Failure::usage(error.to_string()))?;
    let mut bench = Bench::new(args.settings());
    if args.counted {
        let counted = experiments
            .iter()
            .try_for_each(|experiment| count(experiment, Bench::new(args.settings()), &mut std::io::stdout().lock()));
        return counted.map_err(|error| Failure::failed(error.to_string()));
    }
    if bench.machine.profile == "debug" {
        eprintln!("note: this is a debug build, whose times say nothing; build with --release or --profile dist");
    }
    bench.probe();
    let shown = Shown { step: RefCell::new(None) };
    let outcomes = run_all(&experiments, &bench, &shown).map_err(|error| {
        // The bar of what was running would stay below the message.
        shown.step.take().inspect(Step::abandon);
        Failure::failed(error.to_string())
    })?;
    summarise(&outcomes);
    if let Some(path) = &args.json {
        let text = format!("{:#}\n", document(&bench, &outcomes));
        write(path, &text)?;
    }
    if let Some(path) = &args.report {
        write(path, &report::html(&bench, &outcomes))?;
        say!("Report: {}", path.display());
    }
    Ok(())
}

fn merge_results(args: &MergeArgs) -> Result<(), Failure> {
    let mut files = Vec::with_capacity(args.files.len());
    for path in &args.files {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::failed(format!("can't read {}: {error}", path.display())))?;
        files.push((path.display().to_string(), text));
    }
    let merged = merge(&files).map_err(|error| Failure::failed(error.to_string()))?;
    for experiment in &merged.experiments {
        say!("\n{}: {}", experiment.outcome.experiment.name, experiment.outcome.experiment.title);
        for (claim, verdicts) in &experiment.verdicts {
            say!("  {}", claim.text);
            for (machine, judgement) in verdicts {
                say!("    {:<20} {machine}: {}", judgement.verdict.phrase(), judgement.evidence);
            }
        }
    }
    if let Some(path) = &args.json {
        write(path, &format!("{:#}\n", merged.document()))?;
    }
    if let Some(path) = &args.report {
        write(path, &report::merged_html(&merged))?;
        say!("Report: {}", path.display());
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::failed(format!("can't write {}: {error}", path.display())))
}

/// Shows how the run goes on.
struct Shown {
    step: RefCell<Option<Step>>,
}

impl Progress for Shown {
    fn begin(&self, experiment: &Experiment, blocks: usize) {
        *self.step.borrow_mut() = Some(Step::start(experiment.name.to_string(), blocks as u64));
    }

    fn note(&self, text: &str) {
        self.step.borrow().iter().for_each(|step| step.note(text.to_string()));
    }

    fn advance(&self) {
        self.step.borrow().iter().for_each(|step| step.advance(1));
    }

    fn finish(&self, outcome: &Outcome) {
        if let Some(step) = self.step.take() {
            step.finish(&format!(
                "{}, every answer checked; {}",
                counted(outcome.findings.points.len() as u64, "result"),
                tally(std::slice::from_ref(outcome))
            ));
        }
    }
}

/// Prints each claim with its verdict and the figures behind it.
fn summarise(outcomes: &[Outcome]) {
    for outcome in outcomes {
        say!("\n{}: {}", outcome.experiment.name, outcome.experiment.title);
        outcome.notes.iter().for_each(|note| say!("  note: {note}"));
        let units = outcome.units();
        if !units.is_empty() {
            say!("  figures: {units}");
        }
        for (claim, judgement) in outcome.experiment.claims.iter().zip(&outcome.judgements) {
            say!("  {:<20} {}", judgement.verdict.phrase(), claim.text);
            say!("  {:<20} {}", "", judgement.evidence);
        }
    }
    say!("\n{}", tally(outcomes));
}
