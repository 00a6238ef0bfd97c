//! Settings as SHOW, `current_setting` and `SHOW ALL` give them.

use crate::Result;
use crate::session::Session;
use crate::session::settings::{SettingPlace, own, place};
use crate::settings::{ClientSettings, KNOWN, KnownSetting, SettingKind, WITHOUT_EFFECT, known};

/// A setting and what it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownSetting {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) description: String,
}

/// The names of settings of clients.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().chain(WITHOUT_EFFECT).map(|known| known.name)
}

/// The names of the settings that have other values than a session begins with.
pub(super) fn changed(session: &Session) -> Vec<String> {
    let (state, _) = session.state();
    let client = ClientSettings::of(state.config());
    own::changed(session).into_iter().chain(client.names().map(str::to_owned)).collect()
}

impl Session {
    /// The name that SHOW writes for a setting, and its value. An unknown one is an error that suggests another.
    pub(crate) fn shown_setting(&self, name: &str) -> Result<ShownSetting> {
        let shown = |name: &str, value: Option<String>| ShownSetting {
            name: name.to_owned(),
            value: value.unwrap_or_default(),
            description: String::new(),
        };
        if let Some(known) = known(name) {
            return Ok(shown(known.name, Some(self.value_of(known))));
        }
        match place(self, name)? {
            SettingPlace::Own(own) => {
                own::check(self, &own)?;
                Ok(shown(&own, own::value(self, &own)))
            }
            SettingPlace::Program(own) => match self.client(&own) {
                Some(value) => Ok(shown(&own, Some(value))),
                None => Err(super::unknown(self, name)),
            },
            SettingPlace::User("role") => Ok(shown("role", Some("none".to_owned()))),
            SettingPlace::User(own) => Ok(shown(own, Some(self.identity.user.clone()))),
            SettingPlace::Client(known) => Ok(shown(known.name, Some(self.value_of(known)))),
        }
    }

    fn value_of(&self, known: &KnownSetting) -> String {
        let own = |name: &str| own::value(self, name).unwrap_or_default();
        match known.kind {
            // PostgreSQL writes '5min' for '5 min'.
            SettingKind::OwnTime(name) => own(name).replace(' ', ""),
            SettingKind::OwnIsolation => own("gingham.default_isolation"),
            SettingKind::OwnDurability => if own("gingham.durability") == "full" { "on" } else { "off" }.to_owned(),
            SettingKind::OfTransaction if known.name == "transaction_isolation" => self.isolation().name().to_owned(),
            SettingKind::OfTransaction if known.name == "transaction_read_only" => {
                if self.is_read_only() { "on" } else { "off" }.to_owned()
            }
            SettingKind::Fixed if known.name == "is_superuser" => if self.is_admin() { "on" } else { "off" }.to_owned(),
            _ => self.client(known.name).unwrap_or_default(),
        }
    }

    /// All settings by name.
    pub(crate) fn all_settings(&self) -> Vec<ShownSetting> {
        let about = |known: &KnownSetting, description: &str| ShownSetting {
            name: known.name.to_owned(),
            value: self.value_of(known),
            description: description.to_owned(),
        };
        let (state, _) = self.state();
        let client = ClientSettings::of(state.config());
        let mut all: Vec<ShownSetting> = KNOWN.iter().map(|known| about(known, "As in PostgreSQL")).collect();
        all.extend(WITHOUT_EFFECT.iter().map(|known| about(known, "As in PostgreSQL; it is kept, and has no effect")));
        all.extend(client.of_programs().map(|(name, value)| ShownSetting {
            name: name.to_owned(),
            value: value.to_owned(),
            description: "A program's own".to_owned(),
        }));
        all.extend(state.config_options().entries().into_iter().map(|entry| ShownSetting {
            name: entry.key,
            value: entry.value.unwrap_or_default(),
            description: entry.description.to_owned(),
        }));
        all.sort_by_key(|setting| setting.name.to_ascii_lowercase());
        all
    }
}
