//! The checksum of a commit, over the pages that it has written, behind LMDB's fields on its meta page. With it pages and
//! meta can be synced at once: after a power loss, who opens the database sees whether all of them are on disk, and goes by the
//! commit before when they are not, whose pages no commit overwrites before the next one is synced. The pages of a commit
//! are those that its trees have and the trees of the commit before have not, since LMDB never changes a page in place.
//! A large commit is not read again to be checksummed: it is noted beforehand, and its pages are synced before its meta page is written.
//! docs/decisions/0040-sealed-commits.md says why, docs/formats/catalog.md has the bytes.

use crate::lmdb::verifier::page::{
    BIG_DATA, BRANCH, DATABASE_RECORD, DatabaseRecord, LEAF, Meta, NO_PAGE, SUB_DATABASE,
};
use crate::lmdb::verifier::{PageFile, page};
use crate::{Error, Result};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// Where the commit checksum lies on a meta page, of which LMDB writes less than the first 256 bytes.
const AT: u64 = 1024;
const META_BYTES: usize = 256;
const MAGIC: &[u8; 4] = b"GSEA";
const VERSION: u32 = 1;
const BYTES: usize = 32;
/// The number of pages in the note of a commit whose meta page is written when they are synced.
const SYNCED: u64 = u64::MAX;

/// Checksums commits of an open catalog.
#[derive(Debug)]
pub(crate) struct CommitChecksum {
    pages: PageFile,
    file: File,
}

impl CommitChecksum {
    /// For the catalog in that folder.
    pub(crate) fn open(catalog: &Path) -> Result<Self> {
        let path = catalog.join("data.mdb");
        let mut pages = PageFile::open(path.clone())?;
        crate::lmdb::verifier::metas(&mut pages)?;
        let file = File::options().write(true).open(&path).map_err(Error::io("opening", &path))?;
        Ok(Self { pages, file })
    }

    /// Checksums the latest commit and syncs it with all its pages. The caller is the one writer.
    pub(crate) fn write(&self) -> Result<()> {
        let (newest, older) = newest_first(&self.pages)?;
        let bytes = seal(&self.pages, &newest, &older).map_err(|detail| self.pages.damaged(newest.number(), detail))?;
        self.put(newest.number(), &bytes)?;
        self.file.sync_data().map_err(|error| {
            // The system takes the pages for synced from here on: nobody is to find them checksummed.
            if let Err(error) = self.put(newest.number(), &[0; BYTES]) {
                tracing::warn!("{error}");
            }
            Error::io("syncing", &self.pages.path)(error)
        })
    }

    /// Notes that the commit of that number will need no checksum. The note has to be synced before the meta page is written, as it
    /// is when the pages of the commit are.
    pub(crate) fn note_synced(&self, transaction: u64) -> Result<()> {
        self.put(transaction & 1, &encode(transaction, SYNCED, 0))
    }

    /// Whether a note says that the commit of that number needs no checksum.
    pub(crate) fn is_noted(&self, transaction: u64) -> Result<bool> {
        let number = transaction & 1;
        let meta = self.pages.read(number).map_err(|detail| self.pages.damaged(number, detail))?;
        Ok(stored(&meta) == encode(transaction, SYNCED, 0))
    }

    /// What LMDB has on the meta page that the transaction of that number will write over.
    pub(crate) fn meta_before(&self, transaction: u64) -> Result<Vec<u8>> {
        let number = transaction & 1;
        let mut meta = self.pages.read(number).map_err(|detail| self.pages.damaged(number, detail))?;
        meta.truncate(META_BYTES);
        Ok(meta)
    }

    /// Puts it back after a commit that the disk has refused.
    pub(crate) fn restore_meta(&self, transaction: u64, meta: &[u8]) {
        let mut file = &self.file;
        let at = (transaction & 1) * self.pages.page_size as u64;
        if let Err(error) = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(meta)) {
            tracing::warn!("writing {}: {error}", self.pages.path.display());
        }
    }

    /// Checksums the latest commit unless it has a commit checksum or needs none.
    pub(crate) fn seal_if_open(&self) -> Result<()> {
        if is_whole(&self.pages)? { Ok(()) } else { self.write() }
    }

    fn put(&self, page: u64, bytes: &[u8; BYTES]) -> Result<()> {
        let at = page * self.pages.page_size as u64 + AT;
        let mut file = &self.file;
        let put = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes));
        put.map_err(Error::io("writing", &self.pages.path))
    }
}

/// Whether the latest commit of a catalog was synced with all its pages, as its checksum says.
pub(crate) fn is_sealed(catalog: &Path) -> Result<bool> {
    let mut pages = PageFile::open(catalog.join("data.mdb"))?;
    crate::lmdb::verifier::metas(&mut pages)?;
    is_whole(&pages)
}

fn is_whole(pages: &PageFile) -> Result<bool> {
    let (newest, older) = newest_first(pages)?;
    let meta = pages.read(newest.number()).map_err(|detail| pages.damaged(newest.number(), detail))?;
    let stored = stored(&meta);
    // Pages that are missing may make any sense or none.
    Ok(stored == encode(newest.transaction, SYNCED, 0)
        || seal(pages, &newest, &older).is_ok_and(|expected| expected == stored))
}

/// The bytes in the place of a commit checksum.
fn stored(meta: &[u8]) -> &[u8] {
    meta.get(AT as usize..AT as usize + BYTES).unwrap_or_default()
}

fn newest_first(pages: &PageFile) -> Result<(Meta, Meta)> {
    let meta = |number| {
        let bytes = pages.read(number).and_then(|bytes| Meta::parse(&bytes, number));
        bytes.map_err(|detail| pages.damaged(number, detail))
    };
    let (zero, one) = (meta(0)?, meta(1)?);
    Ok(if one.transaction > zero.transaction { (one, zero) } else { (zero, one) })
}

/// The commit checksum that belongs on the page of `newest`, which follows `older`.
fn seal(pages: &PageFile, newest: &Meta, older: &Meta) -> Result<[u8; BYTES], String> {
    let mut written = CommitPages { pages, limit: newest.last_page.saturating_add(1), count: 0, checksum: 0 };
    written.commit(newest, older)?;
    Ok(encode(newest.transaction, written.count, written.checksum))
}

fn encode(transaction: u64, pages: u64, checksum: u32) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..4].copy_from_slice(MAGIC);
    bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
    bytes[8..16].copy_from_slice(&transaction.to_le_bytes());
    bytes[16..24].copy_from_slice(&pages.to_le_bytes());
    bytes[24..28].copy_from_slice(&checksum.to_le_bytes());
    let own = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&own.to_le_bytes());
    bytes
}

/// The pages that a commit has written, as they are found.
struct CommitPages<'f> {
    pages: &'f PageFile,
    /// Pages that the file may have: damaged ones could lead in circles.
    limit: u64,
    count: u64,
    checksum: u32,
}

/// Pages of one level of a tree.
type Level = Vec<u64>;

/// What leaves hold that lies elsewhere.
#[derive(Default)]
struct Leaves {
    /// Long values: their first pages and how many there are.
    runs: Vec<(u64, u64)>,
    /// Records of databases, by name.
    databases: BTreeMap<Vec<u8>, DatabaseRecord>,
}

impl CommitPages<'_> {
    fn commit(&mut self, newest: &Meta, older: &Meta) -> Result<(), String> {
        let (fresh, gone) = self.tree(&newest.main, &older.main)?;
        self.tree(&newest.free, &older.free)?;
        let empty = DatabaseRecord { depth: 0, root: NO_PAGE, ..newest.main };
        for (name, record) in fresh.databases {
            let before = gone.databases.get(&name).copied().unwrap_or(empty);
            self.tree(&record, &before)?;
        }
        Ok(())
    }

    /// Takes the pages that a tree has and the tree before it has not. Gives what lies behind its new leaves, and behind those
    /// that are gone: whatever else there is, both have.
    fn tree(&mut self, record: &DatabaseRecord, before: &DatabaseRecord) -> Result<(Leaves, Leaves), String> {
        let root = |record: &DatabaseRecord| if record.root == NO_PAGE { Vec::new() } else { vec![record.root] };
        let (mut fresh, mut gone) = (root(record), root(before));
        let (mut depth, mut depth_before) = (record.depth, before.depth);
        if depth.max(depth_before) > crate::lmdb::verifier::tree::MAX_DEPTH {
            return Err(format!("a tree is {} levels deep", depth.max(depth_before)));
        }
        loop {
            // Levels are counted from the leaves, at which all paths end.
            if depth == depth_before {
                let (old, new): (HashSet<u64>, HashSet<u64>) =
                    (gone.iter().copied().collect(), fresh.iter().copied().collect());
                fresh.retain(|page| !old.contains(page));
                gone.retain(|page| !new.contains(page));
            }
            if fresh.is_empty() {
                return Ok(Default::default());
            }
            if depth == 0 || fresh.len() as u64 > self.limit {
                return Err(format!("a tree has {} pages at level {depth}", fresh.len()));
            }
            if depth == 1 && depth_before <= 1 {
                return self.leaves(&fresh, &gone);
            }
            let (down, down_before) = (depth >= depth_before, depth_before >= depth);
            if down {
                fresh = self.below(&fresh, true)?;
                depth -= 1;
            }
            if down_before {
                gone = self.below(&gone, false)?;
                depth_before -= 1;
            }
        }
    }

    /// The pages below branch pages, which are taken themselves when they are new.
    fn below(&mut self, branches: &[u64], new: bool) -> Result<Level, String> {
        let mut level = Vec::new();
        for number in branches {
            let bytes = self.page(*number, new)?;
            page::each_node(&bytes, BRANCH, |node| level.push(node.number))?;
        }
        Ok(level)
    }

    /// Takes leaves, and long values that the leaves before had not.
    fn leaves(&mut self, fresh: &[u64], gone: &[u64]) -> Result<(Leaves, Leaves), String> {
        let mut found = [Leaves::default(), Leaves::default()];
        for (at, level) in [fresh, gone].into_iter().enumerate() {
            for number in level {
                let bytes = self.page(*number, at == 0)?;
                let leaves = &mut found[at];
                page::each_node(&bytes, LEAF, |node| {
                    if node.flags & BIG_DATA != 0 {
                        let count = page::overflow_pages(node.number, self.pages.page_size);
                        leaves.runs.push((page::u64_at(node.data, 0), count));
                    } else if node.flags & SUB_DATABASE != 0 && node.data.len() == DATABASE_RECORD {
                        leaves
                            .databases
                            .extend(DatabaseRecord::parse(node.data).map(|record| (node.key.to_vec(), record)));
                    }
                })?;
            }
        }
        let [fresh, gone] = found;
        let before: HashSet<(u64, u64)> = gone.runs.iter().copied().collect();
        for (first, count) in fresh.runs.iter().filter(|run| !before.contains(run)) {
            let end = first.checked_add(*count).filter(|end| *end <= self.limit);
            let end = end.ok_or_else(|| format!("a value of {count} pages begins on page {first}"))?;
            (*first..end).try_for_each(|number| self.page(number, true).map(drop))?;
        }
        Ok((fresh, gone))
    }

    /// A page, which is taken when it is new.
    fn page(&mut self, number: u64, new: bool) -> Result<Vec<u8>, String> {
        let bytes = self.pages.read(number)?;
        if new {
            self.count += 1;
            if self.count > self.limit {
                return Err("its trees have more pages than the file".to_owned());
            }
            self.checksum = crc32c::crc32c_append(self.checksum, &number.to_le_bytes());
            self.checksum = crc32c::crc32c_append(self.checksum, &bytes);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::MemoryBudget;
    use crate::lmdb::folder;
    use crate::model::heap_options::HeapLayout;
    use crate::model::heap_options::HeapOptions;
    use crate::open::shared::Store;
    use crate::store::facade::OpenOptions;
    use crate::write::transaction::Transaction;
    use crate::{ColumnDefinition, Datum, Design, LogicalType, TableDefinition, TableName};
    use std::sync::Arc;

    const PAGE: usize = 4096;

    /// Numbers of all pages of the trees under a meta.
    fn reachable(pages: &PageFile, newest: &Meta) -> HashSet<u64> {
        let mut all = HashSet::new();
        let mut add = |record: &DatabaseRecord| {
            let mut level = if record.root == NO_PAGE { Vec::new() } else { vec![record.root] };
            let mut databases = Vec::new();
            for depth in (1..=record.depth).rev() {
                all.extend(level.iter().copied());
                let mut below = Vec::new();
                for number in level {
                    let bytes = pages.read(number).unwrap();
                    let kind = if depth == 1 { LEAF } else { BRANCH };
                    page::each_node(&bytes, kind, |node| match depth {
                        1 if node.flags & BIG_DATA != 0 => {
                            let first = page::u64_at(node.data, 0);
                            all.extend(first..first + page::overflow_pages(node.number, PAGE));
                        }
                        1 if node.flags & SUB_DATABASE != 0 => databases.extend(DatabaseRecord::parse(node.data)),
                        1 => {}
                        _ => below.push(node.number),
                    })
                    .unwrap();
                }
                level = below;
            }
            databases
        };
        add(&newest.free);
        let databases = add(&newest.main);
        databases.iter().for_each(|record| drop(add(record)));
        all
    }

    fn text(length: u64) -> Datum {
        Datum::Bytes("x".repeat(length as usize).as_bytes().into())
    }

    fn table(store: &Arc<Store>) -> u64 {
        let columns = vec![
            ColumnDefinition::new(1, "id", LogicalType::Int(64)),
            ColumnDefinition::new(2, "label", LogicalType::Varchar(None)),
        ];
        let mut definition = TableDefinition::new(TableName { schema: "public".into(), table: "t".into() }, columns);
        definition.design = Design::of_pages(HeapOptions::new(HeapLayout::Pax));
        store
            .write(|transaction| {
                let id = transaction.create_table(definition)?;
                transaction.create_index(id, "i", vec![1], false, &|| true)?;
                Ok(id)
            })
            .unwrap()
    }

    /// No page of a commit may be missing; the commit checksum of one that is whole says so.
    #[test]
    fn a_commit_that_lacks_a_page_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (path, image) = (folder.path().join("db"), folder.path().join("image"));
        std::fs::create_dir(&image).unwrap();
        let options = OpenOptions { create: true, read_only: false };
        let store = Store::open(&path, &options, MemoryBudget::new(1 << 30)).unwrap();
        let (table, catalog) = (table(&store), folder::catalog(store.path()));
        let (data, copy) = (catalog.join("data.mdb"), image.join("data.mdb"));
        let mut seed = 3u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut ids = Vec::new();
        let mut missed = 0;
        for round in 0..40u64 {
            let before = std::fs::read(&data).unwrap();
            let change = |transaction: &mut Transaction<'_>| {
                if round % 8 == 7 {
                    transaction.create_schema(&format!("s{round}"))?;
                }
                transaction.heap(table, |heap| {
                    // Enough at first that the trees grow a level.
                    for _ in 0..if round < 4 { 2000 } else { 1 + random(20) } {
                        let id = random(1000) as i64;
                        ids.push(heap.insert(&[Datum::Integer(id.into()), text(random(40))])?);
                    }
                    if round % 5 == 4 {
                        heap.insert(&[Datum::Null, text(30_000)])?;
                    }
                    for _ in 0..if round == 30 { ids.len() * 9 / 10 } else { random(5) as usize } {
                        let gone = ids.swap_remove(random(ids.len() as u64) as usize);
                        heap.delete(gone)?;
                    }
                    Ok(())
                })
            };
            store.write(change).unwrap();
            assert!(is_sealed(&catalog).unwrap(), "commit of round {round}");
            let after = std::fs::read(&data).unwrap();
            let pages = PageFile::open(data.clone()).unwrap();
            let (newest, _) = newest_first(&pages).unwrap();
            let used = reachable(&pages, &newest);
            for number in 2..after.len() / PAGE {
                let own = number * PAGE..(number + 1) * PAGE;
                let old = before.get(own.clone()).unwrap_or(&[0; PAGE]);
                if *old == after[own.clone()] || !used.contains(&(number as u64)) {
                    continue;
                }
                let mut lacks = after.clone();
                // A part of a page, as a power loss leaves it.
                let part = own.start..own.start + 512 * (1 + random(8) as usize);
                lacks[part.clone()].copy_from_slice(&old[..part.len()]);
                if lacks == after {
                    continue;
                }
                std::fs::write(&copy, &lacks).unwrap();
                assert!(!is_sealed(&image).unwrap(), "page {number} of round {round}");
                missed += 1;
            }
        }
        assert!(missed > 400, "{missed} pages were left out");
    }
}
