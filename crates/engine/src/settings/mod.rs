//! The settings of a session, `gingham.…`, kept among DataFusion's so that SHOW and information_schema list them.
//!
//! | file | what |
//! |---|---|
//! | `choices` | settings that choose one of several ways |
//! | `client` | settings of PostgreSQL that clients send |
//! | `isolation` | what a transaction sees of others |
//! | `parse` | values as they are written, and what they mean |
//! | `durations` | lengths of time |
//! | `sequences` | how functions reach sequences |
//! | `notes` | what is noted of a statement's plans |

mod choices;
mod client;
mod durations;
mod isolation;
mod notes;
mod parse;
mod sequences;

pub(crate) use choices::{ColumnNames, Execution, Machine, REFERENCE_THREADS};
pub(crate) use client::{
    ClientSettings, KNOWN, KnownSetting, POSTGRESQL_VERSION, SettingKind, WITHOUT_EFFECT, checked, known,
};
pub(crate) use isolation::{IsolationLevel, TransactionModes};
pub(crate) use notes::{Fallback, FallbackCounts, PlanFallbacks, PlanNotes};
pub(crate) use parse::switch;
pub(crate) use sequences::{SequenceReference, Sequences};

use crate::postgres::CatalogNames;
use crate::settings::parse::{
    parse_bytes, parse_column_names, parse_delta_rows, parse_durability, parse_execution, parse_explain_width,
    parse_io, parse_io_depth, parse_io_unit, parse_isa, parse_machine, parse_show_code, parse_switch, parse_threads,
};
use crate::suggest::did_you_mean;
use crate::{Error, Result};
use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::error::DataFusionError;
use gingham_execution::Mode;
use gingham_execution::lab::FixedStages;
use gingham_kernels::Isa;
use gingham_storage::io::ReadOptions;
use gingham_storage::store::WriteOptions;
use gingham_storage::{Caches, SqlState};
use std::any::Any;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Settings that had another name in the version before, which they are still known by.
const OLD_NAMES: &[(&str, &str)] = &[("gingham.keep_plans", "gingham.cache_plans")];

/// The name that a setting has now, in small letters.
pub(crate) fn current_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let renamed = OLD_NAMES.iter().find(|(old, _)| *old == name);
    renamed.map_or(name, |(_, new)| (*new).to_owned())
}

/// The settings of one session.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// `gingham.threads`: threads of a query.
    pub(crate) threads: usize,
    /// `gingham.memory_limit` in bytes: shared by all sessions of the database.
    pub(crate) memory_limit: usize,
    /// `gingham.isa`: `None` is `auto`.
    pub(crate) isa: Option<Isa>,
    /// `gingham.io`: scans read past the system's cache and ours.
    pub(crate) direct_io: bool,
    /// `gingham.io_unit` and `gingham.io_depth`: bytes of such a read, and reads ahead.
    pub(crate) reads: ReadOptions,
    /// `gingham.layout`: the layout of new tables that name none.
    pub(crate) layout: String,
    /// `gingham.column_names`: what columns of a result are called that no AS names.
    pub(crate) column_names: ColumnNames,
    /// `gingham.execution`: who runs what a pipeline can do.
    pub(crate) execution: Execution,
    /// `gingham.lab_stages`: what an experiment fixes of pipelines' stages. Experiments alone have the setting.
    pub(crate) lab_stages: Option<FixedStages>,
    /// `gingham.lab_delta_rows`: records past which a statement merges a delta into a segment. Experiments alone have the setting.
    pub(crate) lab_delta_rows: Option<u64>,
    /// `gingham.cache_plans`: keep the plan of a query for when the same text comes again.
    pub(crate) cache_plans: bool,
    /// `gingham.record_workload`: keep what statements are run, for the advisor.
    pub(crate) record_workload: bool,
    /// `gingham.machine`: what plans and choices about pipelines go by.
    pub(crate) machine: Machine,
    /// `gingham.lock_timeout`: how long a statement waits for others that write; `None` for as long as it takes.
    pub(crate) lock_timeout: Option<Duration>,
    /// `gingham.statement_timeout`: how long a statement may take.
    pub(crate) statement_timeout: Option<Duration>,
    /// `gingham.default_isolation`: what transactions see of others that say nothing of it.
    pub(crate) isolation: IsolationLevel,
    /// `gingham.idle_in_transaction_timeout`: how long a transaction may be open without a statement.
    pub(crate) idle_timeout: Option<Duration>,
    /// `gingham.idle_writer_timeout`: how long a transaction that has the turn to write may be open without a statement.
    pub(crate) idle_writer_timeout: Option<Duration>,
    /// `gingham.idle_session_timeout`: how long a session of a server may be without a statement outside of a transaction.
    pub(crate) idle_session_timeout: Option<Duration>,
    /// `gingham.durability`: whether a power loss may undo the last commit.
    pub(crate) relaxed: bool,
    /// `gingham.auto_vacuum`: whether commits let the catalog's file be made smaller in the background.
    pub(crate) auto_vacuum: bool,
    /// `gingham.show_code`: the pipeline whose code EXPLAIN ANALYZE shows.
    pub(crate) show_code: Option<usize>,
    /// `gingham.explain_width`: columns of text that EXPLAIN's tree takes.
    pub(crate) explain_width: usize,
    /// The catalog of the statement, for functions that ask it; no setting. Plans that are kept with a snapshot have these settings, and
    /// must not keep the snapshot.
    pub(crate) catalog: Option<Weak<dyn CatalogNames>>,
    /// Notes of the statement's plans for EXPLAIN; no setting.
    pub(crate) notes: Option<Arc<PlanNotes>>,
    /// The operators that the statement's plans leave to DataFusion; no setting.
    pub(crate) fallbacks: Arc<PlanFallbacks>,
    /// How the statement's functions reach sequences; no setting.
    pub(crate) sequences: Option<Arc<dyn Sequences>>,
}

const EXECUTION: &str = "Who runs what a pipeline can do: auto, fused, staged, vectorized, interpreted or datafusion";
const LAB_STAGES: &str = "For experiments: how pipelines are cut into stages, and what kernels do between them";
const LAB_DELTA_ROWS: &str = "For experiments: records past which a delta is merged into a segment, or default";
const COLUMN_NAMES: &str = "What columns of a result are called that no AS names: text, as they are written, or postgres, as PostgreSQL calls them";
const THREADS: &str = "Threads of a query";
const MEMORY_LIMIT: &str = "Bytes that queries and cache of the database may hold together, such as '2GB'";
const ISA: &str = "Instruction set of the kernels: auto, scalar, avx2 or avx512";
const IO: &str = "How scans read segments: cached, or direct: past the caches, ahead of what is worked on";
const IO_UNIT: &str = "Bytes of one read with gingham.io = 'direct', such as '128KiB'";
const IO_DEPTH: &str = "Reads that are under way ahead with gingham.io = 'direct'";
const CACHE_PLANS: &str = "Keep the plan of a query for when the same text comes again: true or false";
const RECORD_WORKLOAD: &str =
    "Keep what statements this session runs in gingham_workload, for gingham advise --recorded: true or false";
const MACHINE: &str = "What plans go by: here, or reference, which is the same on every machine (2 threads, scalar kernels, fixed caches)";
const SHOW_CODE: &str = "The pipeline whose generated code EXPLAIN ANALYZE shows: its number, or off";
const EXPLAIN_WIDTH: &str = "Columns of text that EXPLAIN's tree takes: 40 to 1000";
const LOCK_TIMEOUT: &str =
    "How long a statement waits for another transaction that writes, such as '10 s'; 0 is for ever";
const STATEMENT_TIMEOUT: &str = "How long a statement may take before it is cancelled, such as '10 s'; 0 is for ever";
const DEFAULT_ISOLATION: &str =
    "What a transaction sees of others unless it says so: repeatable read, or read committed, as PostgreSQL";
const IDLE_TIMEOUT: &str =
    "How long a transaction may be open without a statement before it is rolled back, such as '5 min'; 0 is for ever";
const IDLE_WRITER_TIMEOUT: &str = "How long a transaction that keeps others from writing may be open without a statement before it is rolled back, such as '60 s'; 0 is for ever";
const IDLE_SESSION_TIMEOUT: &str = "How long a client of a server may send no statement, outside of a transaction, before it is disconnected, such as '30 min'; 0 is for ever";
const DURABILITY: &str = "full: a commit survives a power loss; relaxed: the last one may not, but never in part";
const AUTO_VACUUM: &str =
    "Make the catalog's file smaller in the background when a commit leaves more than half of it free: true or false";
const LAYOUT: &str = "Layout of new tables whose CREATE TABLE names none";

/// How long a statement waits for the write lock, unless a setting says otherwise.
const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(60);
/// Unit and depth of reads past the caches unless settings say otherwise: the read-optimized paper's (section 5.3).
const DEFAULT_READS: ReadOptions = ReadOptions { unit: 128 << 10, depth: 48 };
/// Columns of EXPLAIN's tree unless a setting says otherwise.
const DEFAULT_EXPLAIN_WIDTH: usize = 100;
/// The layout of new tables unless a setting or a statement says otherwise.
const DEFAULT_LAYOUT: &str = "column";

impl Settings {
    /// The instruction set that scans use.
    pub(crate) fn effective_isa(&self) -> Isa {
        self.isa.unwrap_or_else(Isa::best)
    }

    /// Unit and depth of scans' reads past the caches; `None` when scans use them.
    pub(crate) fn read_options(&self) -> Option<ReadOptions> {
        self.direct_io.then_some(self.reads)
    }

    /// How statements write.
    pub(crate) fn write_options(&self) -> WriteOptions {
        let (lock_timeout, relaxed, keeps_size) = (self.lock_timeout, self.relaxed, !self.auto_vacuum);
        WriteOptions { lock_timeout, relaxed, keeps_size, delta_rows: self.lab_delta_rows, ..WriteOptions::default() }
    }

    /// Sizes of the caches that choices go by.
    pub(crate) fn caches(&self) -> Caches {
        match self.machine {
            Machine::Here => Caches::here(),
            Machine::Reference => Caches::REFERENCE,
        }
    }

    /// The defaults, but for what the database was opened with.
    pub(crate) fn new(threads: usize, memory_limit: usize) -> Self {
        Self {
            threads,
            memory_limit,
            isa: None,
            direct_io: false,
            reads: DEFAULT_READS,
            layout: DEFAULT_LAYOUT.to_owned(),
            column_names: ColumnNames::Text,
            execution: Execution::Compiled(Mode::Auto),
            lab_stages: None,
            lab_delta_rows: None,
            cache_plans: true,
            record_workload: false,
            machine: Machine::Here,
            lock_timeout: Some(DEFAULT_LOCK_TIMEOUT),
            statement_timeout: None,
            isolation: IsolationLevel::RepeatableRead,
            idle_timeout: None,
            idle_writer_timeout: None,
            idle_session_timeout: None,
            relaxed: false,
            auto_vacuum: true,
            show_code: None,
            explain_width: DEFAULT_EXPLAIN_WIDTH,
            catalog: None,
            notes: None,
            fallbacks: Arc::default(),
            sequences: None,
        }
    }

    /// The settings among `options`.
    pub(crate) fn of(options: &ConfigOptions) -> Self {
        let own = options.extensions.get::<Self>().cloned();
        own.unwrap_or_else(|| Self::new(options.execution.target_partitions, usize::MAX))
    }

    fn change(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "threads" => self.threads = parse_threads(value)?,
            "memory_limit" => self.memory_limit = parse_bytes(value)?,
            "isa" => self.isa = parse_isa(value)?,
            "io" => self.direct_io = parse_io(value)?,
            "io_unit" => self.reads.unit = parse_io_unit(value)?,
            "io_depth" => self.reads.depth = parse_io_depth(value)?,
            "layout" => self.layout = value.trim().to_ascii_lowercase(),
            "column_names" => self.column_names = parse_column_names(value)?,
            "execution" => self.execution = parse_execution(value)?,
            "lab_stages" if self.lab_stages.is_some() => {
                let refused =
                    |detail| Error::invalid(SqlState::InvalidParameterValue, format!("gingham.lab_stages: {detail}"));
                self.lab_stages = Some(value.parse().map_err(refused)?);
            }
            "lab_delta_rows" if self.lab_stages.is_some() => self.lab_delta_rows = parse_delta_rows(value)?,
            "cache_plans" => self.cache_plans = parse_switch(key, value)?,
            "record_workload" => self.record_workload = parse_switch(key, value)?,
            "machine" => self.machine = parse_machine(value)?,
            "lock_timeout" => self.lock_timeout = durations::parse(key, value)?,
            "statement_timeout" => self.statement_timeout = durations::parse(key, value)?,
            "default_isolation" => self.isolation = IsolationLevel::of(value)?,
            "idle_in_transaction_timeout" => self.idle_timeout = durations::parse(key, value)?,
            "idle_writer_timeout" => self.idle_writer_timeout = durations::parse(key, value)?,
            "idle_session_timeout" => self.idle_session_timeout = durations::parse(key, value)?,
            "auto_vacuum" => self.auto_vacuum = parse_switch(key, value)?,
            "durability" => self.relaxed = parse_durability(value)?,
            "show_code" => self.show_code = parse_show_code(value)?,
            "explain_width" => self.explain_width = parse_explain_width(value)?,
            _ => {
                let names: Vec<String> = self.entries().into_iter().map(|entry| entry.key).collect();
                let full = format!("gingham.{key}");
                return Err(Error::invalid(
                    SqlState::UndefinedObject,
                    format!("setting '{full}' does not exist{}", did_you_mean(&full, names.iter().map(String::as_str))),
                ));
            }
        }
        Ok(())
    }
}

impl ConfigExtension for Settings {
    const PREFIX: &'static str = "gingham";
}

impl ExtensionOptions for Settings {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), DataFusionError> {
        Ok(self.change(key, value)?)
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |key: &str, value: String, description: &'static str| ConfigEntry {
            key: format!("gingham.{key}"),
            value: Some(value),
            description,
        };
        let mut entries = vec![
            entry("threads", self.threads.to_string(), THREADS),
            entry("memory_limit", self.memory_limit.to_string(), MEMORY_LIMIT),
            entry("isa", self.isa.map_or("auto", Isa::name).to_string(), ISA),
            entry("io", if self.direct_io { "direct" } else { "cached" }.to_owned(), IO),
            entry("io_unit", self.reads.unit.to_string(), IO_UNIT),
            entry("io_depth", self.reads.depth.to_string(), IO_DEPTH),
            entry("layout", self.layout.clone(), LAYOUT),
            entry(
                "column_names",
                if self.column_names == ColumnNames::Text { "text" } else { "postgres" }.to_owned(),
                COLUMN_NAMES,
            ),
            entry("execution", self.execution.to_string(), EXECUTION),
            entry("cache_plans", self.cache_plans.to_string(), CACHE_PLANS),
            entry("record_workload", self.record_workload.to_string(), RECORD_WORKLOAD),
            entry("machine", if self.machine == Machine::Here { "here" } else { "reference" }.to_owned(), MACHINE),
            entry("lock_timeout", durations::show(self.lock_timeout), LOCK_TIMEOUT),
            entry("statement_timeout", durations::show(self.statement_timeout), STATEMENT_TIMEOUT),
            entry("default_isolation", self.isolation.name().to_owned(), DEFAULT_ISOLATION),
            entry("idle_in_transaction_timeout", durations::show(self.idle_timeout), IDLE_TIMEOUT),
            entry("idle_writer_timeout", durations::show(self.idle_writer_timeout), IDLE_WRITER_TIMEOUT),
            entry("idle_session_timeout", durations::show(self.idle_session_timeout), IDLE_SESSION_TIMEOUT),
            entry("durability", if self.relaxed { "relaxed" } else { "full" }.to_owned(), DURABILITY),
            entry("auto_vacuum", self.auto_vacuum.to_string(), AUTO_VACUUM),
            entry("show_code", self.show_code.map_or("off".to_owned(), |number| number.to_string()), SHOW_CODE),
            entry("explain_width", self.explain_width.to_string(), EXPLAIN_WIDTH),
        ];
        let delta_rows = self.lab_delta_rows.map_or("default".to_owned(), |rows| rows.to_string());
        let is_lab = self.lab_stages.is_some();
        entries.extend(is_lab.then(|| entry("lab_delta_rows", delta_rows, LAB_DELTA_ROWS)));
        entries.extend(self.lab_stages.as_ref().map(|stages| entry("lab_stages", stages.to_string(), LAB_STAGES)));
        entries
    }
}
