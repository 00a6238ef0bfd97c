//! The folder of chunks: a bounded one, whose oldest chunks make room for new ones.
//!
//! A chunk is a file: its bytes, and their CRC-32C behind them. It gets its name when it is whole, so that any number of processes
//! share a folder. One that is damaged is read again from where it came from. A folder that is full, or can't be written, costs
//! reads and fails nothing.

use crate::{Error, Result};
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How the names of chunks end.
const SUFFIX: &str = ".chunk";
/// How the names of chunks begin that are being written.
const UNFINISHED: &str = ".new-";
/// An unfinished chunk of that age is nobody's any more.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Bytes of the checksum behind a chunk.
const CHECKSUM: usize = 4;

/// A folder of chunks.
#[derive(Debug)]
pub struct ChunkFolder {
    path: PathBuf,
    limit: u64,
    known: Mutex<KnownChunks>,
}

/// The chunks that are there, as far as this process knows.
#[derive(Debug, Default)]
struct KnownChunks {
    chunks: HashMap<String, (u64, u64)>,
    /// Their names, those first that were not used for longest.
    order: BTreeMap<u64, String>,
    bytes: u64,
    next: u64,
    /// Whether it was said that the folder can't be written.
    has_failed: bool,
}

impl KnownChunks {
    fn add(&mut self, name: String, bytes: u64) {
        self.remove(&name);
        let turn = self.next;
        self.next += 1;
        self.bytes += bytes;
        self.order.insert(turn, name.clone());
        self.chunks.insert(name, (turn, bytes));
    }

    fn remove(&mut self, name: &str) {
        if let Some((turn, bytes)) = self.chunks.remove(name) {
            self.order.remove(&turn);
            self.bytes -= bytes;
        }
    }

    fn use_again(&mut self, name: &str) {
        if let Some((turn, _)) = self.chunks.get_mut(name)
            && let Some(name) = self.order.remove(turn)
        {
            *turn = self.next;
            self.order.insert(self.next, name);
            self.next += 1;
        }
    }
}

impl ChunkFolder {
    /// The folder `path`, which is made when it is missing, for at most `limit` bytes.
    pub fn open(path: &Path, limit: u64) -> Result<Self> {
        fs::create_dir_all(path).map_err(Error::io("creating folder", path))?;
        let mut found = Vec::new();
        for entry in fs::read_dir(path).map_err(Error::io("reading folder", path))?.flatten() {
            let Ok(facts) = entry.metadata() else { continue };
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let modified = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if name.starts_with(UNFINISHED) && modified.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(entry.path());
            }
            if !name.starts_with(UNFINISHED) && name.ends_with(SUFFIX) {
                found.push((modified, name, facts.len()));
            }
        }
        found.sort_unstable();
        let mut known = KnownChunks::default();
        found.into_iter().for_each(|(_, name, bytes)| known.add(name, bytes));
        let folder = Self { path: path.to_path_buf(), limit, known: Mutex::new(known) };
        folder.shrink_to(limit);
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the chunks in it.
    pub fn bytes(&self) -> u64 {
        self.known().bytes
    }

    fn known(&self) -> MutexGuard<'_, KnownChunks> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a chunk seems to be there.
    pub(crate) fn has(&self, chunk: &str) -> bool {
        self.known().chunks.contains_key(&format!("{chunk}{SUFFIX}"))
    }

    /// A chunk of `length` bytes, when it is there and whole.
    pub(crate) fn get(&self, chunk: &str, length: usize) -> Option<Bytes> {
        let name = format!("{chunk}{SUFFIX}");
        let path = self.path.join(&name);
        let mut bytes = fs::read(&path).ok()?;
        let sum = bytes.last_chunk::<CHECKSUM>().map(|sum| u32::from_le_bytes(*sum));
        bytes.truncate(bytes.len().saturating_sub(CHECKSUM));
        if bytes.len() != length || sum != Some(crc32c::crc32c(&bytes)) {
            tracing::warn!("{}: a damaged chunk is read again from where it came from", path.display());
            self.forget(chunk);
            return None;
        }
        let mut known = self.known();
        if known.chunks.contains_key(&name) {
            known.use_again(&name);
        } else {
            known.add(name, (length + CHECKSUM) as u64);
        }
        Some(Bytes::from(bytes))
    }

    /// Removes a chunk.
    pub(crate) fn forget(&self, chunk: &str) {
        let name = format!("{chunk}{SUFFIX}");
        let _ = fs::remove_file(self.path.join(&name));
        self.known().remove(&name);
    }

    /// Keeps a chunk, if there is room.
    pub(crate) fn put(&self, chunk: &str, bytes: &[u8]) {
        let whole = (bytes.len() + CHECKSUM) as u64;
        if whole > self.limit {
            return;
        }
        self.shrink_to(self.limit - whole);
        let name = format!("{chunk}{SUFFIX}");
        let written = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.write_all(&crc32c::crc32c(bytes).to_le_bytes())?;
            file.persist(self.path.join(&name)).map_err(|error| error.error)
        });
        match written {
            Ok(_) => self.known().add(name, whole),
            Err(error) => {
                // The disk may be full of what others write.
                self.shrink_to(self.bytes() / 8 * 7);
                if !std::mem::replace(&mut self.known().has_failed, true) {
                    tracing::warn!("{}: chunks can't be kept here: {error}", self.path.display());
                }
            }
        }
    }

    /// Removes chunks until no more than so many bytes are left.
    fn shrink_to(&self, bytes: u64) {
        loop {
            let mut known = self.known();
            if known.bytes <= bytes {
                return;
            }
            let Some((_, name)) = known.order.pop_first() else { return };
            known.remove(&name);
            drop(known);
            let _ = fs::remove_file(self.path.join(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_chunks_make_room_and_damaged_ones_are_no_chunks() {
        let place = tempfile::tempdir().unwrap();
        let folder = ChunkFolder::open(place.path(), 3 * 104).unwrap();
        for name in ["a", "b", "c"] {
            folder.put(name, &[7; 100]);
        }
        assert_eq!(folder.bytes(), 312);
        assert_eq!(folder.get("a", 100).as_deref(), Some(&[7; 100][..]));
        folder.put("d", &[8; 100]);
        assert!(folder.get("b", 100).is_none() && !folder.has("b"), "the one that was not used for longest");
        assert!(folder.has("a") && folder.has("c") && folder.has("d"));
        folder.put("large", &[0; 400]);
        assert!(!folder.has("large") && folder.bytes() == 312);
        // Another process finds them.
        let again = ChunkFolder::open(place.path(), 312).unwrap();
        assert_eq!(again.get("d", 100).as_deref(), Some(&[8; 100][..]));
        let path = place.path().join("d.chunk");
        let mut bytes = fs::read(&path).unwrap();
        bytes[3] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert!(again.get("d", 100).is_none() && !path.exists());
        assert!(again.get("c", 99).is_none(), "another length");
        // A smaller limit removes at once.
        assert!(ChunkFolder::open(place.path(), 104).unwrap().bytes() <= 104);
    }

    #[test]
    fn a_folder_that_is_gone_keeps_nothing_and_fails_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("chunks");
        let folder = ChunkFolder::open(&path, 1 << 20).unwrap();
        fs::remove_dir_all(&path).unwrap();
        folder.put("a", &[1; 10]);
        assert!(folder.get("a", 10).is_none() && folder.bytes() == 0);
    }
}
