//! Who may set what: settings that others notice, or that reach files, are for those who may do everything.

use crate::Result;
use crate::session::Session;
use crate::session::settings::{SettingPlace, own, place};
use crate::settings::{current_name, switch};

/// The settings among Gingham's and DataFusion's that are about the session alone.
const OF_SESSION: &[&str] = &[
    "gingham.cache_plans",
    "gingham.column_names",
    "gingham.default_isolation",
    "gingham.durability",
    "gingham.execution",
    "gingham.explain_width",
    "gingham.idle_in_transaction_timeout",
    "gingham.idle_session_timeout",
    "gingham.isa",
    "gingham.layout",
    "gingham.lock_timeout",
    "gingham.show_code",
    "gingham.statement_timeout",
];

impl Session {
    /// Fails where the user may not give a setting a value; none is its default.
    pub(crate) fn check_setting(&self, name: &str, value: Option<&str>) -> Result<()> {
        if self.is_admin() {
            return Ok(());
        }
        if let SettingPlace::Own(known) = place(self, name)? {
            own::check(self, &known)?;
            let known = current_name(&known);
            if !OF_SESSION.contains(&known.as_str()) {
                self.require_admin(format_args!("SET {known}"))?;
            }
        }
        let is_off = value.and_then(switch) == Some(false);
        if self.is_reader() && is_off && name.eq_ignore_ascii_case("default_transaction_read_only") {
            return Err(self.read_only("SET default_transaction_read_only = off"));
        }
        Ok(())
    }
}
