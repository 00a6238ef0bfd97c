//! What is sound of a damaged catalog, read page by page and never through LMDB's map.
//!
//! A tree is walked as far as its pages can be read. Values prove themselves: those with an envelope by its checksum, which covers the
//! key and the database's name, heap pages by theirs and the key in their head; so a page that is damaged in part still gives what
//! is whole of it. What a value can't tell is whether a later one has taken its place: a page of the free list, one that is met
//! twice and one whose keys lie outside the bounds of the page above are not believed.

use crate::lmdb::environment::Name;
use crate::lmdb::records::DatabaseState;
use crate::lmdb::values;
use crate::lmdb::verifier::page::{self, BIG_DATA, BRANCH, DatabaseRecord, LEAF, NO_PAGE};
use crate::lmdb::verifier::salvaged_commit::{Commit, CommitOrigin, choose, overflow};
use crate::lmdb::verifier::tree::MAX_DEPTH;
use crate::lmdb::verifier::{PageFile, Trusted};
use crate::{Error, Result};
use std::collections::HashSet;
use std::path::Path;

/// A damaged catalog.
#[derive(Debug)]
pub(crate) struct Salvage {
    file: PageFile,
    commit: Commit,
    /// How the commit was found.
    pub(crate) origin: CommitOrigin,
    /// Pages of which nothing is in use.
    free: HashSet<u64>,
}

/// Told of each value: its key and its bytes, as they lie in the catalog.
pub(crate) type Visit<'v> = dyn FnMut(&[u8], Vec<u8>) -> Result<()> + 'v;

/// What a walk has missed.
#[derive(Debug, Default)]
pub(crate) struct Missed {
    /// One for each page or value that can't be read.
    pub(crate) places: Vec<Error>,
    /// Entries that the tree says it has and that were not met, as far as it can be known.
    pub(crate) entries: u64,
}

impl Missed {
    /// Whether all was met.
    pub(crate) fn is_nothing(&self) -> bool {
        self.places.is_empty() && self.entries == 0
    }
}

impl Salvage {
    /// Finds the latest commit of a catalog that can be read.
    pub(crate) fn open(catalog: &Path, trusted: Trusted) -> Result<Self> {
        let mut file = PageFile::open(catalog.join("data.mdb"))?;
        let (commit, origin) = choose(&mut file, trusted)?;
        let mut salvage = Self { file, commit, origin, free: HashSet::new() };
        salvage.free = salvage.free_pages();
        Ok(salvage)
    }

    /// The state of the commit.
    pub(crate) fn state(&self) -> &DatabaseState {
        &self.commit.state
    }

    fn record(&self, name: Name) -> Option<DatabaseRecord> {
        self.commit.databases.iter().find(|(own, _)| *own == name).map(|(_, record)| *record)
    }

    /// Visits what can be read of a database, in the order of its keys.
    pub(crate) fn each(&self, name: Name, visit: &mut Visit<'_>) -> Result<Missed> {
        let mut walk = SalvageWalk::new(self, true, visit);
        match self.record(name) {
            None => {}
            Some(record) if record.root == NO_PAGE => {}
            Some(record) => {
                if record.depth <= MAX_DEPTH {
                    walk.page(record.root, record.depth, (None, None))?;
                } else {
                    walk.miss(record.root, format!("of {}: its depth is {}", name.text(), record.depth));
                }
                walk.missed.entries = record.entries.saturating_sub(walk.found);
            }
        }
        Ok(walk.missed)
    }

    /// Visits the values with an envelope that lie in any page of the file, whether a commit leads to them or not: what is known of
    /// something by them may be out of date.
    pub(crate) fn each_ever(&self, name: Name, visit: &mut Visit<'_>) -> Result<()> {
        for number in 2..self.file.length / self.file.page_size as u64 {
            let Ok(bytes) = self.file.read(number) else { continue };
            if !page::is_leaf(&bytes) {
                continue;
            }
            for node in page::readable_nodes(&bytes, LEAF) {
                let Ok(value) = self.value(&node) else { continue };
                if values::unseal(name, node.key, &value, String::new).is_ok() {
                    visit(node.key, value)?;
                }
            }
        }
        Ok(())
    }

    fn value(&self, node: &page::Node<'_>) -> Result<Vec<u8>, String> {
        match node.flags & BIG_DATA {
            0 => Ok(node.data.to_vec()),
            _ => {
                let first = page::u64_at(node.data, 0);
                if self.free.contains(&first) {
                    return Err(format!("overflow page {first} is free"));
                }
                overflow(&self.file, first, node.number).map_err(|detail| format!("overflow page {first}: {detail}"))
            }
        }
    }

    /// The pages of the free list, as far as it can be read.
    fn free_pages(&self) -> HashSet<u64> {
        let mut free = HashSet::new();
        let Some(record) = self.commit.free.filter(|free| free.root != NO_PAGE && free.depth <= MAX_DEPTH) else {
            return free;
        };
        let mut visit = |_: &[u8], value: Vec<u8>| {
            let (words, _) = value.as_chunks::<8>();
            let mut numbers = words.iter().map(|word| u64::from_le_bytes(*word));
            let count = numbers.next().unwrap_or(0);
            free.extend(numbers.take(usize::try_from(count).unwrap_or(0)));
            Ok(())
        };
        let mut walk = SalvageWalk::new(self, false, &mut visit);
        let walked = walk.page(record.root, record.depth, (None, None));
        // A damaged list would call pages free that are not.
        let whole = walked.is_ok() && walk.missed.is_nothing() && walk.found == record.entries;
        if whole { free } else { HashSet::new() }
    }
}

/// Keys that those of a page keep to: from the first to before the second.
type KeyBounds<'b> = (Option<&'b [u8]>, Option<&'b [u8]>);

/// A walk through one tree.
struct SalvageWalk<'s, 'v> {
    salvage: &'s Salvage,
    /// Whether keys are in the order of their bytes; those of the free list are numbers.
    ordered: bool,
    seen: HashSet<u64>,
    missed: Missed,
    found: u64,
    visit: &'s mut Visit<'v>,
}

impl<'s, 'v> SalvageWalk<'s, 'v> {
    fn new(salvage: &'s Salvage, ordered: bool, visit: &'s mut Visit<'v>) -> Self {
        Self { salvage, ordered, seen: HashSet::new(), missed: Missed::default(), found: 0, visit }
    }
    fn miss(&mut self, number: u64, detail: impl std::fmt::Display) {
        let error = self.salvage.file.damaged(number, detail);
        self.missed.places.push(error);
    }

    /// Walks a page, `depth` levels above and including the leaves.
    fn page(&mut self, number: u64, depth: u16, bounds: KeyBounds<'_>) -> Result<()> {
        if self.salvage.free.contains(&number) || !self.seen.insert(number) || depth == 0 {
            self.miss(number, "it is used twice, or free");
            return Ok(());
        }
        let bytes = match self.salvage.file.read(number) {
            Ok(bytes) => bytes,
            Err(detail) => {
                self.miss(number, detail);
                return Ok(());
            }
        };
        let kind = if depth == 1 { LEAF } else { BRANCH };
        let nodes = match page::nodes(&bytes, number, kind) {
            Ok(found) => found.nodes,
            Err(detail) => {
                self.miss(number, detail);
                page::readable_nodes(&bytes, kind)
            }
        };
        if kind == LEAF {
            return nodes.iter().try_for_each(|node| self.value(number, node, bounds));
        }
        for (at, node) in nodes.iter().enumerate() {
            // The first key of a branch page stands for everything below the second.
            let low = if at == 0 { bounds.0 } else { Some(node.key) };
            let high = nodes.get(at + 1).map(|next| next.key).or(bounds.1);
            self.page(node.number, depth - 1, (low, high))?;
        }
        Ok(())
    }

    fn value(&mut self, owner: u64, node: &page::Node<'_>, (low, high): KeyBounds<'_>) -> Result<()> {
        let outside = low.is_some_and(|low| node.key < low) || high.is_some_and(|high| node.key >= high);
        if self.ordered && outside {
            self.miss(owner, "a key lies outside the bounds of the page above");
            return Ok(());
        }
        match self.salvage.value(node) {
            Ok(value) => {
                self.found += 1;
                (self.visit)(node.key, value)
            }
            Err(detail) => {
                self.miss(owner, detail);
                Ok(())
            }
        }
    }
}
