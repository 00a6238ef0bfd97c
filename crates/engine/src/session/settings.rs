//! `SET gingham.…`: the settings of Gingham, kept among DataFusion's so that SHOW and information_schema list them.

use crate::session::{Session, did_you_mean, durations};
use crate::statements::check_layout;
use crate::temporal::zones::ZONE;
use crate::{Error, Result};
use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigField, ConfigOptions, ExtensionOptions};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use gingham_execution::{FixedStages, Mode};
use gingham_kernels::Isa;
use gingham_storage::Caches;
use gingham_storage::store::WriteOptions;
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The settings of one session.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// `gingham.threads`: threads of a query.
    pub(crate) threads: usize,
    /// `gingham.memory_limit` in bytes: shared by all sessions of the database.
    pub(crate) memory_limit: usize,
    /// `gingham.isa`: `None` is `auto`.
    pub(crate) isa: Option<Isa>,
    /// `gingham.layout`: the layout of new tables that name none.
    pub(crate) layout: String,
    /// `gingham.execution`: who runs what a pipeline can do.
    pub(crate) execution: Execution,
    /// `gingham.lab_stages`: what an experiment fixes of pipelines' stages.
    pub(crate) lab_stages: FixedStages,
    /// `gingham.keep_plans`: keep the plan of a query for when the same text comes again.
    pub(crate) keep_plans: bool,
    /// `gingham.machine`: what plans and choices about pipelines go by.
    pub(crate) machine: Machine,
    /// `gingham.lock_timeout`: how long a statement waits for others that write; `None` for as long as it takes.
    pub(crate) lock_timeout: Option<Duration>,
    /// `gingham.idle_in_transaction_timeout`: how long a transaction may be open without a statement.
    pub(crate) idle_timeout: Option<Duration>,
    /// `gingham.durability`: whether a power loss may undo the last commit.
    pub(crate) relaxed: bool,
    /// `gingham.auto_vacuum`: whether commits let the catalog's file be made smaller in the background.
    pub(crate) auto_vacuum: bool,
    /// `gingham.show_code`: the pipeline whose code EXPLAIN ANALYZE shows.
    pub(crate) show_code: Option<usize>,
    /// Who wants to know more of a plan: EXPLAIN, no setting.
    pub(crate) notes: Option<Arc<PlanNotes>>,
}

/// What EXPLAIN tells besides a plan: names and texts.
#[derive(Debug, Default)]
pub(crate) struct PlanNotes(Mutex<Vec<(String, String)>>);

impl PlanNotes {
    /// An operator that pipelines leave to DataFusion, and why: a line of one text.
    pub(crate) fn left(&self, plan: &Arc<dyn ExecutionPlan>, why: &str) {
        let text = displayable(plan.as_ref()).one_line().to_string();
        let line = format!("{}: {why}", text.trim_end());
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match notes.iter_mut().find(|(name, _)| name == LEFT) {
            Some((_, lines)) => *lines = format!("{lines}\n{line}"),
            None => notes.push((LEFT.to_owned(), line)),
        }
    }

    /// A plan of rows that are shared.
    pub(crate) fn shared(&self, name: &str, plan: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match notes.iter_mut().find(|(own, _)| own == name) {
            Some((_, text)) => *text = format!("{text}\n{}", plan.trim_end()),
            None => notes.push((name.to_owned(), plan.trim_end().to_owned())),
        }
    }

    /// The code of a pipeline.
    pub(crate) fn code(&self, pipeline: usize, text: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push((format!("code_of_pipeline_{pipeline}"), text.to_owned()));
    }

    /// All of them, which are told once.
    pub(crate) fn take(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The name of what pipelines leave.
const LEFT: &str = "left_to_datafusion";

/// What plans and choices about pipelines go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    /// The one that this runs on.
    Here,
    /// One that is the same everywhere, so that its plans are: fixed caches, [`REFERENCE_THREADS`], the scalar kernels.
    Reference,
}

/// Threads of the reference machine.
const REFERENCE_THREADS: usize = 2;

/// Who runs what a pipeline can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Execution {
    /// Pipelines of ours.
    Compiled(Mode),
    /// DataFusion's operators.
    DataFusion,
}

const EXECUTION: &str = "Who runs what a pipeline can do: auto, fused, staged, vectorized, interpreted or datafusion";
const LAB_STAGES: &str = "For experiments: how pipelines are cut into stages, and what kernels do between them";
const THREADS: &str = "Threads of a query";
const MEMORY_LIMIT: &str = "Bytes that queries and cache of the database may hold together, such as '2GB'";
const ISA: &str = "Instruction set of the kernels: auto, scalar, avx2 or avx512";
const KEEP_PLANS: &str = "Keep the plan of a query for when the same text comes again: true or false";
const MACHINE: &str = "What plans go by: here, or reference, which is the same on every machine (2 threads, scalar kernels, fixed caches)";
const SHOW_CODE: &str = "The pipeline whose generated code EXPLAIN ANALYZE shows: its number, or off";
const LOCK_TIMEOUT: &str =
    "How long a statement waits for another transaction that writes, such as '10 s'; 0 is for ever";
const IDLE_TIMEOUT: &str =
    "How long a transaction may be open without a statement before it is rolled back, such as '5 min'; 0 is for ever";
const DURABILITY: &str = "full: a commit survives a power loss; relaxed: the last one may not, but never in part";
const AUTO_VACUUM: &str =
    "Make the catalog's file smaller in the background when a commit leaves more than half of it free: true or false";
const LAYOUT: &str = "Layout of new tables whose CREATE TABLE names none";

/// How long a statement waits for the write lock, unless a setting says otherwise.
const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(60);
/// The layout of new tables unless a setting or a statement says otherwise.
const DEFAULT_LAYOUT: &str = "column";

/// A number for settings that differ from all before.
pub(super) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Settings {
    /// The instruction set that scans use.
    pub(crate) fn effective_isa(&self) -> Isa {
        self.isa.unwrap_or_else(Isa::best)
    }

    /// How statements write.
    pub(crate) fn write_options(&self) -> WriteOptions {
        let (lock_timeout, relaxed, keeps_size) = (self.lock_timeout, self.relaxed, !self.auto_vacuum);
        WriteOptions { lock_timeout, relaxed, keeps_size, ..WriteOptions::default() }
    }

    /// Sizes of the caches that choices go by.
    pub(crate) fn caches(&self) -> Caches {
        match self.machine {
            Machine::Here => Caches::here(),
            Machine::Reference => Caches::REFERENCE,
        }
    }

    /// The defaults, but for what the database was opened with.
    pub(super) fn new(threads: usize, memory_limit: usize) -> Self {
        Self {
            threads,
            memory_limit,
            isa: None,
            layout: DEFAULT_LAYOUT.to_owned(),
            execution: Execution::Compiled(Mode::Auto),
            lab_stages: FixedStages::default(),
            keep_plans: true,
            machine: Machine::Here,
            lock_timeout: Some(DEFAULT_LOCK_TIMEOUT),
            idle_timeout: None,
            relaxed: false,
            auto_vacuum: true,
            show_code: None,
            notes: None,
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
            "layout" => {
                check_layout(value)?;
                self.layout = value.trim().to_ascii_lowercase();
            }
            "execution" => self.execution = parse_execution(value)?,
            "lab_stages" => {
                let refused = |detail| Error::InvalidInput(format!("gingham.lab_stages: {detail}"));
                self.lab_stages = value.parse().map_err(refused)?;
            }
            "keep_plans" => self.keep_plans = parse_switch(key, value)?,
            "machine" => self.machine = parse_machine(value)?,
            "lock_timeout" => self.lock_timeout = durations::parse(key, value)?,
            "idle_in_transaction_timeout" => self.idle_timeout = durations::parse(key, value)?,
            "auto_vacuum" => self.auto_vacuum = parse_switch(key, value)?,
            "durability" => self.relaxed = parse_durability(value)?,
            "show_code" => self.show_code = parse_show_code(value)?,
            _ => {
                let names: Vec<String> = self.entries().into_iter().map(|entry| entry.key).collect();
                let full = format!("gingham.{key}");
                return Err(Error::InvalidInput(format!(
                    "setting '{full}' does not exist{}",
                    did_you_mean(&full, names.iter().map(String::as_str))
                )));
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
        vec![
            entry("threads", self.threads.to_string(), THREADS),
            entry("memory_limit", self.memory_limit.to_string(), MEMORY_LIMIT),
            entry("isa", self.isa.map_or("auto", Isa::name).to_string(), ISA),
            entry("layout", self.layout.clone(), LAYOUT),
            entry("execution", self.execution.to_string(), EXECUTION),
            entry("lab_stages", self.lab_stages.to_string(), LAB_STAGES),
            entry("keep_plans", self.keep_plans.to_string(), KEEP_PLANS),
            entry("machine", if self.machine == Machine::Here { "here" } else { "reference" }.to_owned(), MACHINE),
            entry("lock_timeout", durations::show(self.lock_timeout), LOCK_TIMEOUT),
            entry("idle_in_transaction_timeout", durations::show(self.idle_timeout), IDLE_TIMEOUT),
            entry("durability", if self.relaxed { "relaxed" } else { "full" }.to_owned(), DURABILITY),
            entry("auto_vacuum", self.auto_vacuum.to_string(), AUTO_VACUUM),
            entry("show_code", self.show_code.map_or("off".to_owned(), |number| number.to_string()), SHOW_CODE),
        ]
    }
}

/// Sets a variable of `session`, ours or DataFusion's.
pub(super) fn set(session: &Session, name: &str, value: &str) -> Result<()> {
    let name = name.to_ascii_lowercase();
    let name = if name == "timezone" || name == "time.zone" { "datafusion.execution.time_zone".into() } else { name };
    session.change_state(|state| {
        let options = state.config_mut().options_mut();
        check_name(options, &name)?;
        let value = checked_value(&name, value)?;
        options.set(&name, value)?;
        apply(session, options, &name);
        Ok(())
    })
}

/// Gives a variable of `session` its default again.
pub(super) fn reset(session: &Session, name: &str) -> Result<()> {
    let name = name.to_ascii_lowercase();
    let fresh = crate::session::state::template(&session.engine);
    session.change_state(|state| {
        let options = state.config_mut().options_mut();
        check_name(options, &name)?;
        let default = fresh.config().options().entries().into_iter().find(|entry| entry.key == name);
        match default.and_then(|entry| entry.value) {
            Some(value) => options.set(&name, &value)?,
            None => options.reset(&name)?,
        }
        apply(session, options, &name);
        Ok(())
    })
}

/// The value that DataFusion's setting gets; settings that nothing here would heed are refused.
fn checked_value<'v>(name: &str, value: &'v str) -> Result<&'v str> {
    if name.starts_with("datafusion.format.") {
        return Err(Error::Unsupported(format!("setting {name}: results are written in one format")));
    }
    if name != "datafusion.execution.time_zone" {
        return Ok(value);
    }
    match value.to_ascii_uppercase().as_str() {
        "UTC" | "GMT" | "Z" | "+00:00" | "+00" => Ok(ZONE),
        _ => Err(Error::Unsupported(format!(
            "time zone '{value}': times with a zone are read with the zone in their text, else as UTC, and shown in UTC"
        ))),
    }
}

fn check_name(options: &ConfigOptions, name: &str) -> Result<()> {
    let entries = options.entries();
    if entries.iter().any(|entry| entry.key == name) || name.starts_with("datafusion.runtime.") {
        return Ok(());
    }
    let names = entries.iter().map(|entry| entry.key.as_str());
    Err(Error::InvalidInput(format!("setting '{name}' does not exist{}", did_you_mean(name, names))))
}

/// Lets a changed setting take effect.
fn apply(session: &Session, options: &mut ConfigOptions, name: &str) {
    let settings = Settings::of(options);
    match name {
        "gingham.threads" => options.execution.target_partitions = settings.threads,
        "gingham.memory_limit" => {
            session.engine.budget.set_limit(settings.memory_limit);
            options.execution.sort_spill_reservation_bytes = merge_reserve(settings.memory_limit);
        }
        "gingham.machine" => {
            let (threads, isa) = match settings.machine {
                Machine::Here => (session.engine.threads, None),
                Machine::Reference => (REFERENCE_THREADS, Some(Isa::Scalar)),
            };
            options.execution.target_partitions = threads;
            options.extensions.insert(Settings { threads, isa, ..settings });
        }
        _ => {}
    }
}

/// Bytes that a sort sets aside to merge what it spilled: DataFusion's 10 MB, less under a small limit.
pub(super) fn merge_reserve(memory_limit: usize) -> usize {
    (memory_limit / 64).clamp(256 << 10, 10 << 20)
}

fn parse_threads(value: &str) -> Result<usize> {
    match value.trim().parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err(Error::InvalidInput(format!("gingham.threads is a number from 1 to 1024, not '{value}'"))),
    }
}

fn parse_execution(value: &str) -> Result<Execution> {
    match value.trim().to_ascii_lowercase().as_str() {
        "auto" => Ok(Execution::Compiled(Mode::Auto)),
        "fused" => Ok(Execution::Compiled(Mode::Fused)),
        "staged" => Ok(Execution::Compiled(Mode::Staged)),
        "vectorized" => Ok(Execution::Compiled(Mode::Vectorized)),
        "interpreted" => Ok(Execution::Compiled(Mode::Interpreted)),
        "datafusion" => Ok(Execution::DataFusion),
        _ => Err(Error::InvalidInput(format!(
            "gingham.execution is auto, fused, staged, vectorized, interpreted or datafusion, not '{value}'"
        ))),
    }
}

impl std::fmt::Display for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Compiled(mode) => mode.fmt(f),
            Self::DataFusion => f.write_str("datafusion"),
        }
    }
}

fn parse_switch(name: &str, value: &str) -> Result<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        _ => Err(Error::InvalidInput(format!("gingham.{name} is true or false, not '{value}'"))),
    }
}

fn parse_machine(value: &str) -> Result<Machine> {
    match value.trim().to_ascii_lowercase().as_str() {
        "here" => Ok(Machine::Here),
        "reference" => Ok(Machine::Reference),
        _ => Err(Error::InvalidInput(format!("gingham.machine is here or reference, not '{value}'"))),
    }
}

fn parse_durability(value: &str) -> Result<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "full" => Ok(false),
        "relaxed" => Ok(true),
        _ => Err(Error::InvalidInput(format!("gingham.durability is full or relaxed, not '{value}'"))),
    }
}

fn parse_show_code(value: &str) -> Result<Option<usize>> {
    match value.trim() {
        off if off.eq_ignore_ascii_case("off") => Ok(None),
        number => number.parse().map(Some).map_err(|_| {
            Error::InvalidInput(format!("gingham.show_code is the number of a pipeline, or off, not '{value}'"))
        }),
    }
}

fn parse_isa(value: &str) -> Result<Option<Isa>> {
    let isa = match value.trim().to_ascii_lowercase().as_str() {
        "auto" => return Ok(None),
        "scalar" => Isa::Scalar,
        "avx2" => Isa::Avx2,
        "avx512" => Isa::Avx512,
        _ => {
            return Err(Error::InvalidInput(format!("gingham.isa is auto, scalar, avx2 or avx512, not '{value}'")));
        }
    };
    if isa > Isa::best() {
        let available: Vec<_> = Isa::available().map(Isa::name).collect();
        let list = available.join(", ");
        return Err(Error::InvalidInput(format!(
            "this machine has no {}; gingham.isa may be auto, {list}",
            isa.name()
        )));
    }
    Ok(Some(isa))
}

/// Bytes of '2GB', '512 MiB', '1.5g' or '1000000'. KB, MB, GB and TB count in 1024s, as do KiB and the others.
pub(crate) fn parse_bytes(value: &str) -> Result<usize> {
    let wrong = || {
        Error::InvalidInput(format!(
            "gingham.memory_limit is a number of bytes with an optional unit KB, MB, GB or TB, such as '2GB', not '{value}'"
        ))
    };
    let text = value.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(wrong()),
    };
    let bytes = match number.parse::<usize>() {
        Ok(whole) => whole.checked_mul(1 << shift).ok_or_else(wrong)?,
        Err(_) => (number.parse::<f64>().map_err(|_| wrong())? * (1u64 << shift) as f64) as usize,
    };
    if bytes < 1 << 20 {
        return Err(Error::InvalidInput(format!("gingham.memory_limit must be at least 1MB, not '{value}'")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_with_and_without_units() {
        for (text, bytes) in [("2GB", 2 << 30), ("512 MiB", 512 << 20), ("1.5g", 3 << 29), ("2000000", 2_000_000)] {
            assert_eq!(parse_bytes(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "many", "12 parsecs", "-1GB", "17", "99999999999TB"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_bad_value_names_the_choices() {
        let error = parse_isa("neon").unwrap_err().to_string();
        assert_eq!(error, "gingham.isa is auto, scalar, avx2 or avx512, not 'neon'");
        assert!(parse_threads("0").unwrap_err().to_string().contains("from 1 to 1024"));
    }
}
