//! What a transaction has read of the database before it writes: when others have changed none of it, the transaction can go on
//! from the newest commit as if it had begun there.

use gingham_storage::TableName;
use gingham_storage::snapshot::Snapshot;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The names under which tables and views were looked for.
#[derive(Debug, Default)]
pub(crate) struct ReadSet {
    read: Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    names: BTreeSet<TableName>,
    /// It has read lists of what there is.
    everything: bool,
}

impl ReadSet {
    /// A table or view was looked for, and perhaps not found.
    pub(crate) fn note(&self, name: &TableName) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if !read.names.contains(name) {
            read.names.insert(name.clone());
        }
    }

    /// What is in the catalog was read.
    pub(crate) fn note_everything(&self) {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).everything = true;
    }

    /// What has been read in `old` and is another in `new`, as words that an error can tell; `None` when nothing is.
    pub(crate) fn changed(&self, old: &Snapshot, new: &Snapshot) -> Option<String> {
        if old.commit == new.commit {
            return None;
        }
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.everything {
            return Some("the catalog".to_owned());
        }
        read.names.iter().find(|name| !is_same(name, old, new)).map(|name| format!("'{name}'"))
    }
}

/// Whether a name stands for the same records in both.
fn is_same(name: &TableName, old: &Snapshot, new: &Snapshot) -> bool {
    let table = |snapshot: &Snapshot| snapshot.tables.get(name).map(|table| (table.definition.id, table.version));
    let damaged = |snapshot: &Snapshot| snapshot.damaged.contains_key(name);
    let schema = |snapshot: &Snapshot| snapshot.schemas.contains(&name.schema);
    table(old) == table(new)
        && !damaged(old)
        && !damaged(new)
        && old.views.get(name) == new.views.get(name)
        && schema(old) == schema(new)
}
