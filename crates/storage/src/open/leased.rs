//! Heap pages for what is run now and then and kept in between, as plans are: in between no read transaction holds what they
//! read, so that LMDB may reuse what later commits replace.

use crate::Result;
use crate::io::lmdb::ReadPin;
use crate::open::shared::Store;
use crate::snapshot::heap::reader::HeapReader;
use crate::snapshot::pin::{Pin, Seen};
use crate::snapshot::table_snapshot::Snapshot;
use std::sync::Arc;

/// The heap tables of a snapshot, whose readers fail with [`Error::Cancelled`](crate::Error::Cancelled) unless somebody has
/// them [`ResumedPages`].
#[derive(Debug)]
pub struct LeasedPages {
    pin: Pin,
    seen: Seen,
    commit: u64,
    readers: Vec<Arc<HeapReader>>,
}

/// Keeps heap tables readable for as long as it lives.
#[derive(Debug)]
pub struct ResumedPages {
    // Dropped first, as the environment of a pin is.
    readers: Vec<Arc<HeapReader>>,
    _transaction: Arc<ReadPin>,
}

impl Snapshot {
    /// Lends the pages of its heap tables: from here on they can be read while somebody has them awake, who calls this first.
    /// `None` when it has no such tables.
    pub fn lend_pages(&self) -> Result<Option<(LeasedPages, ResumedPages)>> {
        let readers: Vec<_> = self.tables.values().filter_map(|table| table.pages.clone()).collect();
        // Those of a snapshot have one pin together.
        let Some(pin) = readers.first().map(|reader| reader.pin().clone()) else { return Ok(None) };
        let seen = pin.seen()?;
        let awake = ResumedPages { readers: readers.clone(), _transaction: pin.lend()? };
        Ok(Some((LeasedPages { pin, seen, commit: self.commit, readers }, awake)))
    }
}

impl LeasedPages {
    /// Makes the tables readable again, at the commit that they were lent at; `None` when that is no longer the latest.
    pub fn wake(&self, store: &Arc<Store>) -> Result<Option<ResumedPages>> {
        let begin = || {
            store.grow_before_pin()?;
            store.pin_at(self.seen, self.commit)
        };
        let transaction = self.pin.renew(begin)?;
        Ok(transaction.map(|transaction| ResumedPages { readers: self.readers.clone(), _transaction: transaction }))
    }
}

impl Drop for ResumedPages {
    fn drop(&mut self) {
        self.readers.iter().for_each(|reader| reader.rest());
    }
}
