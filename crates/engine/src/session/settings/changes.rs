//! What a transaction has set, for when it ends: ROLLBACK undoes it, COMMIT undoes what was SET LOCAL.

use crate::session::Session;
use crate::{Error, Result};

/// A setting that was changed. The values are as it can be set to; `None` is the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingChange {
    pub(crate) name: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// One of a transaction's changes.
#[derive(Debug)]
struct NotedChange {
    change: SettingChange,
    /// It lasts to the end of the transaction.
    local: bool,
    /// Savepoints that were open.
    depth: usize,
}

/// The changes of a transaction, in order.
#[derive(Debug, Default)]
pub(crate) struct SettingChanges(Vec<NotedChange>);

/// Settings and the values that they are to have.
pub(crate) type GivenBack = Vec<(String, Option<String>)>;

impl SettingChanges {
    /// Notes a change that was made with `depth` savepoints open.
    pub(crate) fn note(&mut self, change: SettingChange, local: bool, depth: usize) {
        self.0.push(NotedChange { change, local, depth });
    }

    /// Savepoints from `depth` on were released: what was done in them is the transaction's.
    pub(crate) fn release(&mut self, depth: usize) {
        self.0.iter_mut().for_each(|own| own.depth = own.depth.min(depth));
    }

    /// Takes what was changed with more than `depth` savepoints open, and gives what undoes it.
    pub(crate) fn back_to(&mut self, depth: usize) -> GivenBack {
        let kept = self.0.iter().position(|own| own.depth > depth).unwrap_or(self.0.len());
        let undone = self.0.split_off(kept);
        undone.into_iter().rev().map(|own| (own.change.name, own.change.before)).collect()
    }

    /// What undoes all.
    pub(crate) fn rolled_back(&mut self) -> GivenBack {
        let all = std::mem::take(&mut self.0);
        all.into_iter().rev().map(|own| (own.change.name, own.change.before)).collect()
    }

    /// What undoes changes that were for the transaction alone.
    pub(crate) fn committed(&mut self) -> GivenBack {
        let all = std::mem::take(&mut self.0);
        let mut names: Vec<&str> = all.iter().filter(|own| own.local).map(|own| own.change.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let kept = |name: &str| {
            let mut own = all.iter().filter(|own| own.change.name == name).peekable();
            let before = own.peek().and_then(|first| first.change.before.clone());
            own.rfind(|own| !own.local).map_or(before, |last| last.change.after.clone())
        };
        names.into_iter().map(|name| (name.to_owned(), kept(name))).collect()
    }
}

impl Session {
    /// Gives settings back the values that they had.
    pub(crate) fn give_back(&self, settings: GivenBack) -> Result<()> {
        let mut failed: Option<Error> = None;
        for (name, value) in settings {
            // The others are given back all the same.
            failed = failed.or(self.change_setting(&name, value.as_deref()).err());
        }
        failed.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: &str, after: &str) -> SettingChange {
        SettingChange { name: "work_mem".into(), before: Some(before.into()), after: Some(after.into()) }
    }

    fn value(back: GivenBack) -> Vec<String> {
        back.into_iter().map(|(_, value)| value.unwrap_or_default()).collect()
    }

    #[test]
    fn local_values_go_with_the_transaction() {
        let mut changes = SettingChanges::default();
        changes.note(change("1", "2"), true, 0);
        assert_eq!(value(changes.committed()), ["1"]);
        changes.note(change("1", "2"), false, 0);
        changes.note(change("2", "3"), true, 0);
        assert_eq!(value(changes.committed()), ["2"]);
        changes.note(change("1", "2"), true, 0);
        changes.note(change("2", "3"), false, 0);
        assert_eq!(value(changes.committed()), ["3"]);
        changes.note(change("1", "2"), false, 0);
        assert!(changes.committed().is_empty());
    }

    #[test]
    fn savepoints_undo_what_came_after_them() {
        let mut changes = SettingChanges::default();
        changes.note(change("1", "2"), false, 0);
        changes.note(change("2", "3"), false, 1);
        changes.note(change("3", "4"), true, 2);
        assert_eq!(value(changes.back_to(1)), ["3"]);
        changes.release(0);
        assert_eq!(value(changes.back_to(0)), Vec::<String>::new());
        assert_eq!(value(changes.rolled_back()), ["2", "1"]);
    }
}
