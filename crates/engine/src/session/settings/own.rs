//! Settings that are kept among DataFusion's: `gingham.…` and `datafusion.…`.

use crate::session::{Session, did_you_mean};
use crate::settings::{Machine, REFERENCE_THREADS, Settings, current_name};
use crate::sql::layout::check_general as check_layout;
use crate::temporal::zones::ZONE;
use crate::{Error, Result};
use datafusion::common::config::{ConfigField, ConfigOptions};
use gingham_kernels::Isa;
use gingham_storage::SqlState;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A number for settings that differ from all before.
pub(in crate::session) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Numbers of the settings that sessions begin with, by what these are: sessions that begin alike share plans.
#[derive(Debug, Default)]
pub(crate) struct SettingNumbers(Mutex<BTreeMap<String, u64>>);

/// Kinds of beginnings that are remembered; of more, each session has a number of its own.
const BEGINNINGS: usize = 256;

impl SettingNumbers {
    /// The number of settings that are told apart by `beginning`.
    pub(in crate::session) fn of(&self, beginning: String) -> u64 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&beginning) {
            Some(number) => *number,
            None => {
                let number = next_number();
                if known.len() < BEGINNINGS {
                    known.insert(beginning, number);
                }
                number
            }
        }
    }
}

/// Gives a setting of Gingham's or DataFusion's a value.
pub(super) fn set(session: &Session, name: &str, value: &str) -> Result<()> {
    let name = current_name(name);
    session.change_state(|state| {
        let options = state.config_mut().options_mut();
        check_name(options, &name)?;
        let value = checked_value(&name, value)?;
        options.set(&name, value)?;
        apply(session, options, &name);
        Ok(())
    })
}

/// Gives a setting its default again.
pub(super) fn reset(session: &Session, name: &str) -> Result<()> {
    let name = current_name(name);
    let fresh = crate::session::state::template(&session.engine, &session.environment);
    session.change_state(|state| {
        let options = state.config_mut().options_mut();
        check_name(options, &name)?;
        match session.begun_with(&name).or_else(|| value_among(fresh.config().options(), &name)) {
            Some(value) => options.set(&name, &value)?,
            None => options.reset(&name)?,
        }
        apply(session, options, &name);
        Ok(())
    })
}

/// The value of a setting as a text that it can be set to.
pub(super) fn value(session: &Session, name: &str) -> Option<String> {
    value_among(session.state().0.config_options(), &current_name(name))
}

fn value_among(options: &ConfigOptions, name: &str) -> Option<String> {
    options.entries().into_iter().find(|entry| entry.key == name).and_then(|entry| entry.value)
}

/// The names of the settings that have other values than those that a session begins with.
pub(super) fn changed(session: &Session) -> Vec<String> {
    let fresh = crate::session::state::template(&session.engine, &session.environment);
    let (state, _) = session.state();
    let defaults = fresh.config().options().entries();
    let is_default = |name: &str, value: &Option<String>| match session.begun_with(name) {
        Some(begun) => value.as_ref() == Some(&begun),
        None => defaults.iter().any(|entry| entry.key == name && entry.value == *value),
    };
    let entries = state.config_options().entries().into_iter();
    entries.filter(|entry| !is_default(&entry.key, &entry.value)).map(|entry| entry.key).collect()
}

/// The value that a setting gets; settings that nothing here would heed are refused.
fn checked_value<'v>(name: &str, value: &'v str) -> Result<&'v str> {
    if name.starts_with("datafusion.format.") {
        return Err(Error::Unsupported(format!("setting {name}: results are written in one format")));
    }
    if name == "datafusion.optimizer.enable_piecewise_merge_join" && !value.eq_ignore_ascii_case("false") {
        return Err(Error::Unsupported(format!("setting {name}: rows of such joins come in a wrong order")));
    }
    if name == "gingham.layout" {
        check_layout(value)?;
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

/// Fails for a name that no setting has.
pub(super) fn check(session: &Session, name: &str) -> Result<()> {
    check_name(session.state().0.config_options(), &current_name(name))
}

fn check_name(options: &ConfigOptions, name: &str) -> Result<()> {
    let entries = options.entries();
    if entries.iter().any(|entry| entry.key == name) || name.starts_with("datafusion.runtime.") {
        return Ok(());
    }
    let names = entries.iter().map(|entry| entry.key.as_str());
    Err(Error::invalid(
        SqlState::UndefinedObject,
        format!("setting '{name}' does not exist{}", did_you_mean(name, names)),
    ))
}

/// Lets a changed setting take effect.
fn apply(session: &Session, options: &mut ConfigOptions, name: &str) {
    let settings = Settings::of(options);
    match name {
        "gingham.threads" => options.execution.target_partitions = settings.threads,
        "gingham.record_workload" => session.records.store(settings.record_workload, Ordering::Relaxed),
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
pub(in crate::session) fn merge_reserve(memory_limit: usize) -> usize {
    (memory_limit / 64).clamp(256 << 10, 10 << 20)
}
