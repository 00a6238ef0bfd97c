//! What the user of a session may do. Each kind of thing is asked for in one place: a statement that writes where it is launched,
//! and again where it would get in line to write; files where they are opened; settings where they are set.

use crate::postgres::Role;
use crate::session::shared::Session;
use crate::settings::TransactionModes;
use crate::{Error, Result};
use gingham_storage::SqlState;

impl Session {
    /// Whether the user may not write anything.
    pub(crate) fn is_reader(&self) -> bool {
        self.identity.role == Role::Read
    }

    /// Whether the user may do everything.
    pub(crate) fn is_admin(&self) -> bool {
        self.identity.role == Role::Admin
    }

    /// Fails unless the user may do everything; `what` tells what that is needed for.
    pub(crate) fn require_admin(&self, what: impl std::fmt::Display) -> Result<()> {
        match self.is_admin() {
            true => Ok(()),
            false => {
                let (user, role) = (&self.identity.user, self.identity.role);
                let text = format!("{what} needs role admin; user '{user}' has role {role}");
                Err(Error::invalid(SqlState::InsufficientPrivilege, text))
            }
        }
    }

    /// Fails where a transaction is told to write, and its user may not.
    pub(crate) fn check_modes(&self, modes: TransactionModes) -> Result<()> {
        match modes.read_only {
            Some(false) if self.is_reader() => Err(self.read_only("a transaction that is READ WRITE")),
            _ => Ok(()),
        }
    }

    /// The error of what would write where that is not to be.
    pub(crate) fn read_only(&self, what: &str) -> Error {
        let text = match self.is_reader() {
            true => format!("{what} needs role write; user '{}' has role read", self.identity.user),
            false => format!("{what} can't run in a transaction that is READ ONLY"),
        };
        Error::invalid(SqlState::ReadOnlySqlTransaction, text)
    }
}
