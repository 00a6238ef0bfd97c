//! Which pages and minipages of the open database were checked: a checksum is verified once for each page and the commit that
//! wrote it, whoever reads it then. Another file in the catalog's place, as VACUUM makes one, is checked anew.

use crate::TableId;
use crate::io::lmdb::{PinnedRun, Places};
use crate::pages::gather::bare::Minipages;
use crate::snapshot::heap::zones::PageZone;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// What was checked of the catalog's file.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    latest: Mutex<File>,
}

/// What was checked of the newest file that was read, by table.
#[derive(Debug, Default)]
struct File {
    /// The generation of its environment.
    generation: u64,
    tables: HashMap<TableId, Arc<TablePages>>,
}

/// What was checked of a table's pages, by the attribute and the number of their keys.
#[derive(Debug, Default)]
pub(crate) struct TablePages {
    pages: RwLock<HashMap<(u32, u64), Arc<Checked>>>,
    /// The zones of the table as one commit left it.
    zones: Mutex<Option<(u64, Arc<Zones>)>>,
}

/// The zones of a table as one commit left it.
#[derive(Debug)]
pub(crate) struct Zones {
    pub(crate) zones: Vec<PageZone>,
    /// For each zone and attribute whether all that a view of it is made of was checked.
    checked: Box<[AtomicBool]>,
    /// PAX: where the minipages of each zone's pages lie, once somebody has looked.
    minipages: Box<[OnceLock<Minipages>]>,
    /// Where the pages of each zone were found last; of none in dsm, where each column has its own.
    runs: Box<[Mutex<Option<Arc<Places>>>]>,
}

impl Zones {
    /// Zones of which nothing was checked yet.
    pub(crate) fn new(zones: Vec<PageZone>, attributes: usize) -> Self {
        let checked = (0..zones.len() * attributes).map(|_| AtomicBool::new(false)).collect();
        let minipages = zones.iter().map(|_| OnceLock::new()).collect();
        let runs = zones.iter().map(|_| Mutex::default()).collect();
        Self { zones, checked, minipages, runs }
    }

    /// Where the minipages of a zone's pages lie: what is known, or what `find` finds.
    pub(crate) fn minipages(&self, zone: usize, find: impl FnOnce() -> Minipages) -> &Minipages {
        self.minipages[zone].get_or_init(find)
    }

    /// The pages of a zone, which `find` finds by where they were found last.
    pub(crate) fn run(
        &self,
        zone: usize,
        find: impl FnOnce(Option<Arc<Places>>) -> crate::Result<PinnedRun>,
    ) -> crate::Result<PinnedRun> {
        let known = || self.runs[zone].lock().unwrap_or_else(PoisonError::into_inner);
        let before = known().clone();
        let found = find(before)?;
        *known() = Some(Arc::clone(found.places()));
        Ok(found)
    }

    /// Whether the heads of a zone's pages and an attribute's minipages were checked.
    pub(crate) fn checked(&self, zone: usize, attribute: usize) -> &AtomicBool {
        &self.checked[zone * (self.checked.len() / self.zones.len()) + attribute]
    }
}

/// What was checked of a page as one commit wrote it.
#[derive(Debug)]
pub(crate) struct Checked {
    written: u64,
    /// The page's head, or all of an NSM page; then its minipages.
    parts: Box<[AtomicBool]>,
}

impl Verified {
    /// What was checked of a table in the file of an environment. Of older files than the newest nothing is known any more.
    pub(crate) fn table(&self, generation: u64, table: TableId) -> Arc<TablePages> {
        let mut latest = self.latest();
        if generation < latest.generation {
            return Arc::default();
        }
        if generation > latest.generation {
            *latest = File { generation, tables: HashMap::new() };
        }
        Arc::clone(latest.tables.entry(table).or_default())
    }

    /// Forgets a table that loses its pages.
    pub(crate) fn forget(&self, table: TableId) {
        self.latest().tables.remove(&table);
    }

    fn latest(&self) -> MutexGuard<'_, File> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TablePages {
    /// The zones of the table as commit `version` left it: those that are known, or what `cut` finds.
    pub(crate) fn zones(&self, version: u64, cut: impl FnOnce() -> crate::Result<Zones>) -> crate::Result<Arc<Zones>> {
        let mut known = self.zones.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, zones)) = known.as_ref().filter(|(of, _)| *of == version) {
            return Ok(Arc::clone(zones));
        }
        let zones = Arc::new(cut()?);
        // A reader of an older commit does not take the place of a newer one's.
        if known.as_ref().is_none_or(|(of, _)| *of < version) {
            *known = Some((version, Arc::clone(&zones)));
        }
        Ok(zones)
    }

    /// What was checked of a page of so many minipages that commit `written` wrote.
    pub(crate) fn page(&self, attribute: u32, number: u64, written: u64, minipages: usize) -> Arc<Checked> {
        let key = (attribute, number);
        let known = self.pages.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known.filter(|known| known.written == written && known.parts.len() == minipages + 1) {
            return known;
        }
        let parts = (0..=minipages).map(|_| AtomicBool::new(false)).collect();
        let fresh = Arc::new(Checked { written, parts });
        self.pages.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&fresh));
        fresh
    }
}

impl Checked {
    /// Whether the head was checked.
    pub(crate) fn head(&self) -> &AtomicBool {
        &self.parts[0]
    }

    /// Whether a minipage was checked.
    pub(crate) fn minipage(&self, attribute: usize) -> &AtomicBool {
        &self.parts[attribute + 1]
    }

    /// Has all of the page checked again.
    pub(crate) fn forget(&self) {
        self.parts.iter().for_each(|part| part.store(false, Ordering::Release));
    }
}

/// Runs `check` unless it has succeeded before.
pub(crate) fn once(done: &AtomicBool, check: impl FnOnce() -> crate::Result<()>) -> crate::Result<()> {
    if !done.load(Ordering::Acquire) {
        check()?;
        done.store(true, Ordering::Release);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn what_was_checked_is_known_for_the_commit_that_wrote_it() {
        let verified = Verified::default();
        let table = verified.table(5, 1);
        let page = table.page(0, 7, 3, 2);
        once(page.minipage(1), || Ok(())).unwrap();
        assert!(once(page.minipage(0), || Err(Error::Cancelled)).is_err());
        let again = verified.table(5, 1).page(0, 7, 3, 2);
        once(again.minipage(1), || Err(Error::Cancelled)).unwrap();
        assert!(once(again.minipage(0), || Err(Error::Cancelled)).is_err(), "what failed is checked again");
        assert!(once(again.head(), || Err(Error::Cancelled)).is_err());
        let another = verified.table(5, 2);
        for other in [table.page(0, 7, 4, 2), table.page(0, 8, 3, 2), table.page(1, 7, 3, 2), another.page(0, 7, 3, 2)]
        {
            assert!(once(other.minipage(1), || Err(Error::Cancelled)).is_err());
        }
        let page = verified.table(5, 1).page(0, 8, 3, 2);
        once(page.minipage(0), || Ok(())).unwrap();
        page.forget();
        assert!(once(page.minipage(0), || Err(Error::Cancelled)).is_err());
        verified.forget(1);
        assert!(once(verified.table(5, 1).page(0, 7, 3, 2).minipage(1), || Err(Error::Cancelled)).is_err());
    }

    #[test]
    fn of_another_file_nothing_is_known() {
        let verified = Verified::default();
        let check = |generation, result: Result<(), Error>| {
            once(verified.table(generation, 1).page(0, 7, 3, 2).head(), || result)
        };
        check(5, Ok(())).unwrap();
        check(5, Err(Error::Cancelled)).unwrap();
        assert!(check(6, Err(Error::Cancelled)).is_err(), "the file that VACUUM has made");
        check(6, Ok(())).unwrap();
        assert!(check(5, Err(Error::Cancelled)).is_err(), "readers of the old file check for themselves");
        check(6, Err(Error::Cancelled)).unwrap();
    }
}
