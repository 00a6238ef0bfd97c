//! SET, RESET and SHOW of a session's settings: Gingham's own, DataFusion's, and those of PostgreSQL's clients.
//!
//! | file | what |
//! |---|---|
//! | `own` | settings that are kept among DataFusion's |
//! | `shown` | values as SHOW and current_setting give them |
//! | `changes` | what a transaction that ends gives back |
//! | `defaults` | settings that a session was given when it began |
//! | `rights` | who may set what |
//! | `functions` | current_setting and set_config |

mod changes;
mod defaults;
mod functions;
mod own;
mod rights;
mod shown;

pub(crate) use changes::{GivenBack, SettingChange, SettingChanges};
pub(super) use functions::functions;
pub(crate) use own::SettingNumbers;
pub(super) use own::{merge_reserve, next_number};
pub(crate) use shown::ShownSetting;

use crate::session::{Notice, Session, Severity, did_you_mean};
use crate::settings::{ClientSettings, IsolationLevel, KnownSetting, SettingKind, checked, known, switch};
use crate::{Error, Result};
use gingham_storage::SqlState;
use std::sync::Arc;

/// Words for UTC itself.
const UTC: [&str; 9] = ["utc", "gmt", "z", "zulu", "uct", "etc/utc", "+00:00", "+00", "0"];

/// Where a setting is kept.
enum SettingPlace {
    /// Among DataFusion's, under this name.
    Own(String),
    /// One of clients that is known.
    Client(&'static KnownSetting),
    /// A program's own, `myapp.user`.
    Program(String),
    /// Who runs statements.
    User(&'static str),
}

/// Where the setting is that a name means. An unknown one is an error that suggests another.
fn place(session: &Session, name: &str) -> Result<SettingPlace> {
    let lower = name.to_ascii_lowercase();
    if let Some(known) = known(name) {
        return Ok(match known.kind {
            SettingKind::OwnTime(own) => SettingPlace::Own(own.to_owned()),
            SettingKind::OwnIsolation => SettingPlace::Own("gingham.default_isolation".to_owned()),
            SettingKind::OwnDurability => SettingPlace::Own("gingham.durability".to_owned()),
            _ => SettingPlace::Client(known),
        });
    }
    match lower.split_once('.') {
        Some(("gingham" | "datafusion", _)) => Ok(SettingPlace::Own(lower)),
        Some(("time", "zone")) => known("TimeZone").map(SettingPlace::Client).ok_or_else(|| unknown(session, name)),
        Some(_) => Ok(SettingPlace::Program(lower)),
        None if lower == "role" => Ok(SettingPlace::User("role")),
        None if lower == "session_authorization" => Ok(SettingPlace::User("session_authorization")),
        None => Err(unknown(session, name)),
    }
}

fn unknown(session: &Session, name: &str) -> Error {
    let (state, _) = session.state();
    let entries = state.config_options().entries();
    let mut known: Vec<&str> = shown::names().collect();
    known.extend(entries.iter().map(|entry| entry.key.as_str()));
    let text = format!("setting '{name}' does not exist{}", did_you_mean(name, known.into_iter()));
    Error::invalid(SqlState::UndefinedObject, text)
}

impl Session {
    /// `SET name = value`, and `SET name TO DEFAULT` without one. Errors name the settings or values that exist. Gives what was
    /// changed.
    pub(crate) fn change_setting(&self, name: &str, value: Option<&str>) -> Result<SettingChange> {
        match place(self, name)? {
            SettingPlace::Own(own) => {
                let before = own::value(self, &own);
                let value = value.map(|value| own_value(name, value)).transpose()?;
                match value {
                    Some(value) => own::set(self, &own, &value)?,
                    None => own::reset(self, &own)?,
                }
                let after = own::value(self, &own);
                Ok(SettingChange { name: own, before, after })
            }
            SettingPlace::Client(known) => {
                let is_fixed = matches!(known.kind, SettingKind::OfTransaction | SettingKind::Fixed);
                let value = match value {
                    None if !is_fixed => None,
                    value => Some(checked(known, value.unwrap_or_default())?),
                };
                self.say_of(known, value.as_deref());
                Ok(self.change_client(known.name, value))
            }
            SettingPlace::Program(own) => Ok(self.change_client(&own, value.map(str::to_owned))),
            SettingPlace::User(own) => match value {
                None => Ok(SettingChange { name: own.to_owned(), before: None, after: None }),
                Some(name) if name == self.identity.user => {
                    Ok(SettingChange { name: own.to_owned(), before: None, after: None })
                }
                Some(other) => Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!("role '{other}' does not exist; the only one is '{}'", self.identity.user),
                )),
            },
        }
    }

    fn change_client(&self, name: &str, value: Option<String>) -> SettingChange {
        let (before, after) = self.change_state(|state| {
            let config = state.config_mut();
            let mut client = ClientSettings::of(config).as_ref().clone();
            let before = client.given(name).map(str::to_owned);
            client.set(name, value.clone());
            config.set_extension(Arc::new(client));
            (before, value)
        });
        if name == "client_min_messages" {
            let begun_with = self.begun_with(name);
            self.notices.want(least_severity(after.as_deref().or(begun_with.as_deref())));
        }
        SettingChange { name: name.to_owned(), before, after }
    }

    /// Says what a value has no effect on.
    fn say_of(&self, known: &KnownSetting, value: Option<&str>) {
        let Some(value) = value.filter(|_| known.kind == SettingKind::TimeZone) else { return };
        if !UTC.contains(&value.to_ascii_lowercase().as_str()) {
            let text =
                format!("times are shown in UTC, whatever the time zone ('{value}') is; zones within texts are heeded");
            self.notices.say(Notice { severity: Severity::Notice, sqlstate: SqlState::SuccessfulCompletion, text });
        }
    }

    /// Gives all settings their defaults again.
    pub(crate) fn reset_settings(&self) -> Result<Vec<SettingChange>> {
        let names = shown::changed(self);
        names.iter().map(|name| self.change_setting(name, None)).collect()
    }

    /// What transactions see of others that say nothing of it.
    pub(crate) fn default_isolation(&self) -> IsolationLevel {
        self.with_settings(|settings| settings.isolation)
    }

    /// Whether transactions only read that say nothing of it.
    pub(crate) fn default_read_only(&self) -> bool {
        self.client("default_transaction_read_only").as_deref() == Some("on")
    }

    /// Whether names without a schema are looked for elsewhere than in the default one.
    pub(crate) fn has_search_path(&self) -> bool {
        self.with_config(|config| ClientSettings::of(config).search_path().is_some())
    }

    /// The value of a setting of clients.
    pub(in crate::session) fn client(&self, name: &str) -> Option<String> {
        self.with_config(|config| ClientSettings::of(config).get(name).map(str::to_owned))
    }
}

/// A value by the words of the setting of Gingham's that `name` stands for.
fn own_value(name: &str, value: &str) -> Result<String> {
    if known(name).is_none_or(|known| known.kind != SettingKind::OwnDurability) {
        return Ok(value.to_owned());
    }
    let word = value.trim().to_ascii_lowercase();
    match switch(&word) {
        Some(on) => Ok(if on { "full" } else { "relaxed" }.to_owned()),
        None if ["local", "remote_write", "remote_apply"].contains(&word.as_str()) => Ok("full".to_owned()),
        None => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("setting '{name}' is on, off, local, remote_write or remote_apply, not '{value}'"),
        )),
    }
}

/// The least severity of notices that `client_min_messages` lets through; nothing for none.
fn least_severity(value: Option<&str>) -> Option<Severity> {
    match value {
        Some("error") => None,
        Some("warning") => Some(Severity::Warning),
        _ => Some(Severity::Notice),
    }
}
