//! A read-only check of LMDB's file, by plain reads and never through the map.
//!
//! LMDB has no page checksums and trusts its pages: a damaged one can send it outside the map. So before the map of a
//! database is used, the trees of both metas are walked: page numbers, flags, bounds of every node, key order, counts,
//! overflow runs, the free list, and that no page is used twice. Values are not read here; their envelope has a
//! checksum. docs/decisions/0009-catalog-walker.md says what this finds and what it costs.
//!
//! What makes a file unreadable here rests on what LMDB's format promises, or on how Gingham alone uses it: it opens the
//! environment without flags that LMDB keeps, sizes its map by pages, and writes both metas with each database it makes.

pub(crate) mod commit_checksum;
pub(crate) mod page;
#[cfg(test)]
mod random_values;
pub(crate) mod salvage;
mod salvaged_commit;
pub(crate) mod tree;

pub(crate) use crate::lmdb::verifier::commit_checksum::is_sealed;

use crate::io::system::read_at;
use crate::lmdb::environment::Name;
use crate::lmdb::records::DatabaseState;
use crate::lmdb::verifier::page::Meta;
use crate::lmdb::verifier::tree::Trees;
use crate::lmdb::{records, values};
use crate::{Error, Result};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What the catalog verifier found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Pages read and found in order.
    pub(crate) pages: u64,
    /// One per damaged page.
    pub(crate) errors: Vec<Error>,
    /// What LMDB's code never does, though its format allows it, and wrong statistics. Nothing is lost by them: such a database is
    /// opened, and `check` lists them as errors.
    pub(crate) oddities: Vec<Error>,
    /// What happens and loses nothing.
    pub(crate) notes: Vec<String>,
    /// Bytes that the file has to have before LMDB copies it: all runs of overflow pages, with those of their pages that no value takes.
    pub(crate) bytes_of_runs: u64,
}

/// A walk of a file that another process writes is repeated when the file has moved on meanwhile.
const ATTEMPTS: usize = 50;

/// The data file, read page by page.
#[derive(Debug)]
pub(crate) struct PageFile {
    file: File,
    pub(crate) path: PathBuf,
    length: u64,
    page_size: usize,
}

impl PageFile {
    fn open(path: PathBuf) -> Result<Self> {
        let file = File::open(&path).map_err(Error::io("opening", &path))?;
        let length = file.metadata().map_err(Error::io("reading", &path))?.len();
        Ok(Self { file, path, length, page_size: 4096 })
    }

    /// Bytes of page `number`.
    pub(crate) fn read(&self, number: u64) -> Result<Vec<u8>, String> {
        let at = number.checked_mul(self.page_size as u64).ok_or("its number is too large")?;
        at.checked_add(self.page_size as u64).filter(|end| *end <= i64::MAX as u64).ok_or("its number is too large")?;
        let mut bytes = vec![0; self.page_size];
        match read_at(&self.file, &mut bytes, at) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                let length = self.file.metadata().map_err(|error| error.to_string())?.len();
                Err(format!("it lies behind the end of the file ({length} bytes)"))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// A damaged page.
    pub(crate) fn damaged(&self, number: u64, detail: impl std::fmt::Display) -> Error {
        Error::corrupt(format!("{}, page {number}", self.path.display()), detail.to_string())
    }
}

/// Which commits a catalog's file has to have whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trusted {
    /// The latest and the one before.
    Both,
    /// The latest: after a relaxed commit and a power loss the tree of the one before may be overwritten, which nobody reads.
    Latest,
    /// The one before the latest, which a power loss has interrupted.
    Before,
}

/// Errors unless the catalog's file is in order, so that LMDB can be trusted with it. Gives the bytes that the file has to have
/// before LMDB copies it.
pub(crate) fn verify_for_opening(catalog: &Path, trusted: Trusted) -> Result<u64> {
    let walked = walk(catalog, trusted)?;
    for note in walked.notes {
        tracing::warn!("{}: {note}", catalog.display());
    }
    for oddity in walked.oddities {
        tracing::warn!("{oddity}");
    }
    match walked.errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(walked.bytes_of_runs),
    }
}

/// Errors unless the one writer can trust LMDB with the catalog's file. A file that ends within a run is lengthened: a power loss
/// may have kept a commit's values and lost what lies behind them in their runs, which no commit checksum covers. LMDB never reads
/// that, but copies it through its map.
pub(crate) fn verify_for_writing(catalog: &Path, trusted: Trusted) -> Result<()> {
    let needed = verify_for_opening(catalog, trusted)?;
    let path = catalog.join("data.mdb");
    let length = std::fs::metadata(&path).map_err(Error::io("reading", &path))?.len();
    if length >= needed {
        return Ok(());
    }
    let lengthened = File::options().write(true).open(&path).and_then(|file| file.set_len(needed));
    lengthened.map_err(Error::io("lengthening", &path))
}

/// Walks the file of the catalog folder `catalog`.
pub(crate) fn walk(catalog: &Path, trusted: Trusted) -> Result<Walked> {
    let mut attempt = 0;
    loop {
        let mut file = PageFile::open(catalog.join("data.mdb"))?;
        let before = metas(&mut file);
        let walked = match &before {
            Ok(metas) => walk_metas(&file, metas, trusted),
            Err(_) => Walked::default(),
        };
        attempt += 1;
        // Pages of a snapshot are reused from the second commit after it on: only then can a sound file look damaged.
        let moved = |metas: &[Meta; 2]| metas.iter().map(|meta| meta.transaction).max();
        let sound = before.is_ok() && walked.errors.is_empty();
        if sound || attempt >= ATTEMPTS {
            return before.map(|_| walked);
        }
        let after = PageFile::open(catalog.join("data.mdb")).and_then(|mut file| metas(&mut file));
        match (&before, &after) {
            (Ok(before), Ok(after)) if moved(before) == moved(after) => return Ok(walked),
            (Err(_), Err(_)) => return before.map(|_| walked),
            _ => {}
        }
    }
}

/// Both metas, checked against each other.
fn metas(file: &mut PageFile) -> Result<[Meta; 2]> {
    let mut first = vec![0; 4096.min(usize::try_from(file.length).unwrap_or(4096))];
    let mut reader = &file.file;
    reader
        .seek(SeekFrom::Start(0))
        .and_then(|_| reader.read_exact(&mut first))
        .map_err(Error::io("reading", &file.path))?;
    let zero = Meta::parse(&first, 0).map_err(|detail| file.damaged(0, detail))?;
    file.page_size = zero.page_size;
    let second = file.read(1).map_err(|detail| file.damaged(1, detail))?;
    let one = Meta::parse(&second, 1).map_err(|detail| file.damaged(1, detail))?;
    if zero.page_size != one.page_size {
        return Err(file.damaged(0, format!("page sizes of the metas are {} and {}", zero.page_size, one.page_size)));
    }
    // Every commit of LMDB writes the older meta, with the next number; a copy begins with 0 and 1.
    if zero.transaction.abs_diff(one.transaction) != 1 {
        let detail = format!("transactions {} and {} do not follow each other", zero.transaction, one.transaction);
        return Err(file.damaged(u64::from(zero.transaction < one.transaction), detail));
    }
    Ok([zero, one])
}

fn walk_metas(file: &PageFile, metas: &[Meta; 2], trusted: Trusted) -> Walked {
    let mut walked = Walked { pages: 2, ..Walked::default() };
    let mut newest = usize::from(metas[1].transaction > metas[0].transaction);
    let mut wanted = vec![newest, 1 - newest];
    if trusted == Trusted::Before {
        newest = 1 - newest;
        wanted = vec![newest];
    }
    for number in wanted {
        let meta = &metas[number];
        let mut trees = Trees::new(file, meta);
        trees.walk();
        let state = trees.take_state();
        if trusted == Trusted::Latest && number != newest {
            let next = metas[newest].transaction + 1;
            walked.check_passed(file, (number as u64, meta), trees.errors.into_iter().next(), state, next);
            break;
        }
        walked.errors.extend(trees.errors);
        walked.bytes_of_runs = walked.bytes_of_runs.max(trees.end_of_runs * file.page_size as u64);
        if number == newest {
            walked.pages += trees.pages;
            walked.oddities.extend(trees.oddities);
            walked.notes.extend(trees.notes);
        }
        if walked.errors.is_empty()
            && let Err(error) =
                written_by(file, number as u64, state).and_then(|found| require_same(file, number as u64, meta, found))
        {
            walked.errors.push(error);
        }
        if !walked.errors.is_empty() {
            break;
        }
    }
    walked
}

impl Walked {
    /// Looks at the commit before the latest, which nobody reads: after relaxed commits and a power loss the one after the
    /// `next` may lie over its pages, in part or wholly. One that says itself that it is the next is the latest in truth, by a
    /// meta page that is damaged.
    fn check_passed(
        &mut self,
        file: &PageFile,
        (number, meta): (u64, &Meta),
        error: Option<Error>,
        state: Option<Vec<u8>>,
        next: u64,
    ) {
        let overwritten = match (written_by(file, number, state), error) {
            (Ok(found), _) if found <= next && found != meta.transaction => {
                self.errors.extend(require_same(file, number, meta, found).err());
                return;
            }
            (Ok(found), None) if found == meta.transaction => return,
            (Ok(found), None) => format!("commit {found} lies over it"),
            (_, Some(error)) | (Err(error), None) => error.to_string(),
        };
        self.notes.push(format!(
            "the commit before the last is overwritten in part, as after relaxed commits and a power loss: {overwritten}"
        ));
    }
}

/// The transaction that wrote the state that a meta leads to.
fn written_by(file: &PageFile, number: u64, state: Option<Vec<u8>>) -> Result<u64> {
    let value = state.ok_or_else(|| file.damaged(number, "it leads to a catalog without its meta value 'state'"))?;
    let place = || format!("{}, meta value state", file.path.display());
    let payload = values::unseal(Name::Meta, records::STATE_KEY, &value, place)?;
    Ok(values::parse::<DatabaseState>(payload, place)?.transaction)
}

/// The state that a meta leads to names the transaction that wrote it: a damaged transaction number would otherwise
/// bring back an older commit unnoticed.
fn require_same(file: &PageFile, number: u64, meta: &Meta, found: u64) -> Result<()> {
    if found == meta.transaction {
        return Ok(());
    }
    Err(file.damaged(number, format!("it says transaction {}, its catalog says {found}", meta.transaction)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::MemoryBudget;
    use crate::lmdb::folder;
    use crate::open::shared::Store;
    use crate::store::facade::OpenOptions;

    /// Bytes of a page, and where a meta page has the number of its transaction.
    const PAGE: usize = 4096;
    const TRANSACTION: usize = 144;

    fn transaction(bytes: &[u8], meta: usize) -> u64 {
        page::u64_at(bytes, meta * PAGE + TRANSACTION)
    }

    #[test]
    fn a_commit_that_is_passed_may_be_overwritten_and_a_damaged_number_may_not_be() {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions { create: true, read_only: false };
        let store = Store::open(&folder.path().join("db"), &options, MemoryBudget::new(1 << 30)).unwrap();
        let catalog = folder::catalog(store.path());
        let mut images: Vec<Vec<u8>> = Vec::new();
        for number in 0..12 {
            store.write(|transaction| transaction.create_schema(&format!("s{number}"))).unwrap();
            images.push(std::fs::read(catalog.join("data.mdb")).unwrap());
        }
        let copy = tempfile::tempdir().unwrap();
        let walked = |bytes: &[u8], trusted| {
            std::fs::write(copy.path().join("data.mdb"), bytes).unwrap();
            walk(copy.path(), trusted).unwrap()
        };
        let mut overwritten = 0;
        for pair in images.windows(3) {
            // The pages of two commits more reach the disk, their metas do not.
            let bytes = [&pair[0][..2 * PAGE], &pair[2][2 * PAGE..]].concat();
            overwritten += usize::from(!walked(&bytes, Trusted::Both).errors.is_empty());
            let errors = walked(&bytes, Trusted::Latest).errors;
            assert!(errors.is_empty(), "{errors:?}");
        }
        assert!(overwritten > 0, "no commit lay over the pages of another");
        let mut bytes = images[0].clone();
        let newest = usize::from(transaction(&bytes, 1) > transaction(&bytes, 0));
        let lower = transaction(&bytes, newest) - 2;
        bytes[newest * PAGE + TRANSACTION..][..8].copy_from_slice(&lower.to_le_bytes());
        let error = &walked(&bytes, Trusted::Latest).errors[0];
        assert!(error.to_string().contains(&format!("it says transaction {lower}, its catalog says")), "{error}");
    }
}
