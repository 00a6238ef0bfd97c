//! Which commit of a damaged catalog is read: the latest whose state can be found. LMDB's two meta pages lead to the last two; where
//! one of them is damaged, the page that names the databases of a commit is looked for among all pages.

use crate::lmdb::environment::Name;
use crate::lmdb::records::{self, DatabaseState};
use crate::lmdb::values;
use crate::lmdb::verifier::page::{self, BIG_DATA, BRANCH, DatabaseRecord, LEAF, Meta, NO_PAGE, SUB_DATABASE};
use crate::lmdb::verifier::tree::{MAX_DEPTH, Trees};
use crate::lmdb::verifier::{PageFile, Trusted};
use crate::{Error, Result};
use std::collections::HashSet;

/// Commits that are walked to find out which is whole. Older ones are seldom.
const LOOKED_AT: usize = 16;
/// Page sizes that LMDB may have, the usual one first.
const PAGE_SIZES: [usize; 8] = [4096, 16384, 65536, 8192, 32768, 512, 1024, 2048];

/// A commit, and the trees that it leads to.
#[derive(Debug, Clone)]
pub(super) struct Commit {
    pub(super) databases: Vec<(Name, DatabaseRecord)>,
    /// The free list, where a meta page says it.
    pub(super) free: Option<DatabaseRecord>,
    pub(super) state: DatabaseState,
    /// The page that names the databases.
    root: DatabaseRecord,
}

/// How a commit was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitOrigin {
    /// By a meta page: it is the last one that was acknowledged.
    Latest,
    /// By a meta page, when what leads to the one after it is damaged.
    Before,
    /// By a meta page, when the other one can't be read, which may have led to a later one.
    Other,
    /// By the page that names its databases, when its meta page can't be read.
    Found,
}

impl CommitOrigin {
    /// What there is to say of it.
    pub(crate) fn told(self) -> Option<&'static str> {
        match self {
            Self::Latest => None,
            Self::Before => {
                Some("what leads to the latest commit is damaged: all is as it was before that commit, which is lost")
            }
            Self::Other => Some(
                "a meta page of the catalog is damaged: if it was that of the latest commit, all is as it was before that commit",
            ),
            Self::Found => Some("a meta page of the catalog is damaged: the latest commit was found by its pages"),
        }
    }
}

/// The metas that can be read, by descending number of their transactions. Sets the page size.
fn readable_metas(file: &mut PageFile) -> Vec<Meta> {
    let mut metas: Vec<Meta> = Vec::new();
    for size in PAGE_SIZES {
        file.page_size = size;
        for number in [0, 1] {
            let parsed = file.read(number).and_then(|bytes| Meta::parse(&bytes, number));
            metas.extend(parsed.ok().filter(|meta| meta.page_size == size));
        }
        if !metas.is_empty() {
            metas.sort_by_key(|meta| std::cmp::Reverse(meta.transaction));
            return metas;
        }
    }
    file.page_size = PAGE_SIZES[0];
    metas
}

/// The commit to read, and how it was found.
pub(super) fn choose(file: &mut PageFile, trusted: Trusted) -> Result<(Commit, CommitOrigin)> {
    let mut metas = readable_metas(file);
    let both = matches!(&metas[..], [newest, before] if newest.transaction - before.transaction == 1);
    if both && trusted == Trusted::Before {
        metas.remove(0);
    }
    let commits: Vec<Commit> = metas.iter().filter_map(|meta| Commit::of_meta(file, meta)).collect();
    let latest = metas.first().map(|meta| meta.transaction);
    if let Some(commit) = commits.first().filter(|commit| both && Some(commit.state.transaction) == latest) {
        return Ok((commit.clone(), CommitOrigin::Latest));
    }
    let by_meta: Vec<u64> = commits.iter().map(|commit| commit.state.transaction).collect();
    let commit = best(file, commits).ok_or_else(|| {
        let detail = "no commit can be found in it: nothing leads to its tables; restore a backup";
        Error::corrupt(file.path.display().to_string(), detail)
    })?;
    let origin = match by_meta.contains(&commit.state.transaction) {
        true if both => CommitOrigin::Before,
        true => CommitOrigin::Other,
        false => CommitOrigin::Found,
    };
    Ok((commit, origin))
}

/// The later one that is whole, of the last two of these commits and those whose pages are found; where none is, one that a meta
/// page leads to, or else the latest.
fn best(file: &PageFile, mut commits: Vec<Commit>) -> Option<Commit> {
    let pages = file.length / file.page_size as u64;
    commits.extend((2..pages).filter_map(|number| Commit::of_page(file, number)));
    commits.sort_by_key(|commit| (std::cmp::Reverse(commit.state.transaction), commit.free.is_none()));
    let latest = commits.first()?.state.transaction;
    // Pages of earlier ones may still be there, and whole: nobody wants what was two commits ago.
    commits.retain(|commit| commit.state.transaction + 1 >= latest);
    let whole = commits.iter().take(LOOKED_AT).position(|commit| commit.is_whole(file));
    // One that is found by its pages alone, and is not whole, may never have been finished.
    let by_meta = commits.iter().position(|commit| commit.free.is_some());
    Some(commits.swap_remove(whole.or(by_meta).unwrap_or(0)))
}

impl Commit {
    /// The commit that a meta leads to; `None` where its state can't be read, or is another commit's.
    fn of_meta(file: &PageFile, meta: &Meta) -> Option<Self> {
        let commit = Self::of_root(file, meta.main, Some(meta.free))?;
        (commit.state.transaction == meta.transaction).then_some(commit)
    }

    /// The commit whose databases the page `number` names.
    fn of_page(file: &PageFile, number: u64) -> Option<Self> {
        let bytes = file.read(number).ok().filter(|bytes| page::is_leaf(bytes))?;
        let nodes = page::nodes(&bytes, number, LEAF).ok()?.nodes;
        let of_databases = nodes.iter().all(|node| node.flags == SUB_DATABASE && name_of(node.key).is_some());
        let root = DatabaseRecord {
            pad: 0,
            flags: 0,
            depth: 1,
            branch_pages: 0,
            leaf_pages: 1,
            overflow_pages: 0,
            entries: nodes.len() as u64,
            root: number,
        };
        of_databases.then(|| Self::of_root(file, root, None)).flatten()
    }

    fn of_root(file: &PageFile, root: DatabaseRecord, free: Option<DatabaseRecord>) -> Option<Self> {
        // The databases are so few that their names fit a page.
        let bytes = file.read(root.root).ok().filter(|_| root.depth == 1)?;
        let databases: Vec<(Name, DatabaseRecord)> = page::readable_nodes(&bytes, LEAF)
            .iter()
            .filter(|node| node.flags == SUB_DATABASE)
            .filter_map(|node| Some((name_of(node.key)?, DatabaseRecord::parse(node.data)?)))
            .collect();
        let of = |name: Name| databases.iter().find(|(own, _)| *own == name).map(|(_, record)| record);
        let tables = of(Name::Tables)?;
        // Without its root all of them are lost, which the commit before may have.
        if tables.root != NO_PAGE && file.read(tables.root).is_err() {
            return None;
        }
        let state = state(file, of(Name::Meta)?)?;
        Some(Self { databases, free, state, root })
    }

    /// Whether all trees are in order.
    fn is_whole(&self, file: &PageFile) -> bool {
        let none = DatabaseRecord { flags: page::INTEGER_KEY, root: NO_PAGE, depth: 0, entries: 0, ..self.root };
        let none = DatabaseRecord { leaf_pages: 0, ..none };
        let meta = Meta {
            page_size: file.page_size,
            free: self.free.unwrap_or(none),
            main: self.root,
            last_page: (file.length / file.page_size as u64).saturating_sub(1),
            transaction: self.state.transaction,
        };
        let mut trees = Trees::new(file, &meta);
        trees.walk();
        trees.errors.is_empty() && trees.oddities.is_empty()
    }
}

fn name_of(key: &[u8]) -> Option<Name> {
    Name::ALL.into_iter().find(|name| name.text().as_bytes() == key)
}

/// The state in the tree of that record, found as LMDB finds a key.
fn state(file: &PageFile, record: &DatabaseRecord) -> Option<DatabaseState> {
    let (mut number, mut depth, mut seen) = (record.root, record.depth, HashSet::new());
    if depth == 0 || depth > MAX_DEPTH {
        return None;
    }
    loop {
        let bytes = file.read(number).ok().filter(|_| seen.insert(number))?;
        if depth == 1 {
            let nodes = page::readable_nodes(&bytes, LEAF);
            let node = nodes.iter().find(|node| node.key == records::STATE_KEY)?;
            let value = match node.flags & BIG_DATA {
                0 => node.data.to_vec(),
                _ => overflow(file, page::u64_at(node.data, 0), node.number).ok()?,
            };
            let payload = values::unseal(Name::Meta, records::STATE_KEY, &value, String::new).ok()?;
            return values::parse(payload, String::new).ok();
        }
        let nodes = page::readable_nodes(&bytes, BRANCH);
        let behind = nodes.iter().skip(1).take_while(|node| node.key <= records::STATE_KEY).count();
        number = nodes.get(behind)?.number;
        depth -= 1;
    }
}

/// The `length` bytes of a value in the run of overflow pages from `first`.
pub(super) fn overflow(file: &PageFile, first: u64, length: u64) -> Result<Vec<u8>, String> {
    if length > file.length {
        return Err(format!("a value of {length} bytes in a file of {}", file.length));
    }
    let end = first.checked_add(page::overflow_pages(length, file.page_size)).ok_or("its number is too large")?;
    let mut bytes = Vec::new();
    for number in first..end {
        bytes.extend(file.read(number)?);
    }
    bytes.drain(..page::PAGE_HEADER);
    bytes.truncate(usize::try_from(length).map_err(|_| "a value too long for this machine")?);
    Ok(bytes)
}
