//! What clients of PostgreSQL set and ask for: settings without the prefix `gingham.`. Those that have a meaning here are heeded,
//! the others are kept and shown, and names that nobody knows are refused.
//!
//! | file | what |
//! |---|---|
//! | `known` | the settings, their defaults and the kinds of their values |
//! | `values` | values as they are written, and as they are shown |

mod known;
mod values;

pub(crate) use known::{KNOWN, KnownSetting, POSTGRESQL_VERSION, SettingKind, WITHOUT_EFFECT, known};
pub(crate) use values::checked;

use crate::settings::client::values::path_schemas;

use datafusion::prelude::SessionConfig;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The values that a session has given to settings of clients; the others have their defaults.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientSettings {
    /// By the names as SHOW writes them.
    set: BTreeMap<String, String>,
    /// The schemas of `search_path`, without `$user`; `None` for the default, which is `public` alone.
    path: Option<Vec<String>>,
    /// The values that the session began with, where they are others than the defaults of all.
    defaults: Arc<BTreeMap<String, String>>,
}

impl ClientSettings {
    /// Those that a session's configuration holds.
    pub(crate) fn of(config: &SessionConfig) -> Arc<Self> {
        config.get_extension::<Self>().unwrap_or_default()
    }

    /// Those of a session that begins with these values.
    pub(crate) fn beginning_with(defaults: BTreeMap<String, String>) -> Self {
        let path = defaults.get("search_path").map(|path| path_schemas(path));
        Self { set: BTreeMap::new(), path, defaults: Arc::new(defaults) }
    }

    /// The value that a setting was given.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.set.get(name).map(String::as_str)
    }

    /// The names of the settings that have other values than their defaults.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.set.keys().map(String::as_str)
    }

    /// The value of a setting, where it was set or is known.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let own = self.set.get(name).or_else(|| self.defaults.get(name)).map(String::as_str);
        own.or_else(|| known(name).map(|known| known.default))
    }

    /// Gives a setting a value that was checked; `None` is its default.
    pub(crate) fn set(&mut self, name: &str, value: Option<String>) {
        if name == "search_path" {
            self.path = value.as_ref().or_else(|| self.defaults.get(name)).map(|path| path_schemas(path));
        }
        match value {
            Some(value) => self.set.insert(name.to_owned(), value),
            None => self.set.remove(name),
        };
    }

    /// Settings of programs, such as `myapp.user`, which nobody knows before they are set.
    pub(crate) fn of_programs(&self) -> impl Iterator<Item = (&str, &str)> {
        let others = self.defaults.iter().filter(|(name, _)| !self.set.contains_key(*name));
        let own = self.set.iter().chain(others).filter(|(name, _)| known(name).is_none());
        own.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The schemas in which names without one are looked for, in order.
    pub(crate) fn search_path(&self) -> Option<&[String]> {
        self.path.as_deref()
    }
}
