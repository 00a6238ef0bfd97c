//! The memo of a zone's reader while it asks for columns one after the other: dense pages that they share, and where their bytes come
//! from when they are read past the system's cache.

use crate::Result;
use crate::io::ahead::{FileSpan, MorselReads};
use crate::segment::cache::CacheKey;
use crate::segment::dense::read::ZonePages;
use arrow::buffer::Buffer;
use hashbrown::HashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// The memo of a zone's reader.
#[derive(Debug, Default)]
pub(crate) struct ZoneMemo<'a> {
    groups: RefCell<Vec<KnownPages<'a>>>,
    reads: Option<ZoneReads<'a>>,
}

/// The pages of one group, by which it is known to the cache.
type KnownPages<'a> = (CacheKey, Rc<ZonePages<'a>>);

/// Reads past the system's cache.
#[derive(Debug)]
pub(crate) struct ZoneReads<'a> {
    /// The reads of the zone.
    pub morsel: MorselReads,
    /// The files, by the number of their opening.
    pub files: &'a HashMap<u64, usize>,
}

impl<'a> ZoneMemo<'a> {
    /// For a zone whose bytes come from these reads.
    pub fn reading(reads: ZoneReads<'a>) -> Self {
        Self { reads: Some(reads), ..Self::default() }
    }

    /// True when bytes are read past the system's cache and decoded past ours.
    pub fn is_direct(&self) -> bool {
        self.reads.is_some()
    }

    /// Bytes of the file of that opening, when its reads are planned.
    pub fn bytes(&self, file: u64, offset: u64, length: usize) -> Result<Option<Buffer>> {
        let Some(reads) = &self.reads else { return Ok(None) };
        let Some(file) = reads.files.get(&file).copied() else { return Ok(None) };
        reads.morsel.bytes(FileSpan { file, offset, length })
    }

    /// The pages of a group, read when they are not here.
    pub fn pages(&self, group: CacheKey, read: impl FnOnce() -> Result<ZonePages<'a>>) -> Result<Rc<ZonePages<'a>>> {
        if let Some((_, pages)) = self.groups.borrow().iter().find(|(known, _)| *known == group) {
            return Ok(Rc::clone(pages));
        }
        let pages = Rc::new(read()?);
        self.groups.borrow_mut().push((group, Rc::clone(&pages)));
        Ok(pages)
    }

    /// The number of groups whose pages were read.
    #[cfg(test)]
    pub fn reads(&self) -> usize {
        self.groups.borrow().len()
    }
}
