//! Settings that a session was given when it began: it has them again when it gives its own up.

use crate::Result;
use crate::session::Session;
use crate::session::options::SessionOptions;
use crate::settings::ClientSettings;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How long a client of a server may keep others from writing while it sends nothing.
const IDLE_WRITER: (&str, &str) = ("gingham.idle_writer_timeout", "60 s");
/// What has no part in plans.
const OF_NO_PLAN: &str = "application_name";

impl Session {
    /// Gives the session the settings that it begins with.
    pub(in crate::session) fn take_defaults(&self, options: &SessionOptions) -> Result<()> {
        let mut defaults = BTreeMap::new();
        let mut take = |name: &str, value: &str| -> Result<()> {
            let change = self.change_setting(name, Some(value))?;
            if let Some(value) = change.after {
                defaults.insert(change.name, value);
            }
            Ok(())
        };
        if options.of_server {
            take(IDLE_WRITER.0, IDLE_WRITER.1)?;
        }
        if self.is_reader() {
            take("default_transaction_read_only", "on")?;
        }
        for (name, value) in &options.settings {
            self.check_setting(name, Some(value))?;
            take(name, value)?;
        }
        if defaults.is_empty() && self.is_admin() && !options.of_server {
            return Ok(());
        }
        let of_clients = defaults.iter().filter(|(name, _)| !is_own(name));
        let client =
            ClientSettings::beginning_with(of_clients.map(|(name, value)| (name.clone(), value.clone())).collect());
        self.change_state(|state| state.config_mut().set_extension(Arc::new(client)));
        let told: Vec<_> = defaults.iter().filter(|(name, _)| *name != OF_NO_PLAN).collect();
        let beginning = format!("{} {} {told:?}", options.role, options.of_server);
        self.settings_number.store(self.engine.other_numbers.of(beginning), Ordering::Release);
        // It begins once.
        drop(self.defaults.set(defaults));
        Ok(())
    }

    /// The value of a setting that the session began with, by the name that it is kept by.
    pub(in crate::session) fn begun_with(&self, name: &str) -> Option<String> {
        self.defaults.get()?.get(name).cloned()
    }
}

/// Whether a setting is kept among DataFusion's.
fn is_own(name: &str) -> bool {
    name.starts_with("gingham.") || name.starts_with("datafusion.")
}
