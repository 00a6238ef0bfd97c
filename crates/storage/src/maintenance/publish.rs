//! What a publication sends: a compacted copy of the catalog and the segment files that it names, as a backup has them, and the
//! random number by which the database is known.

use crate::lmdb::environment::Name;
use crate::lmdb::{folder, values};
use crate::maintenance::backup::{CopiedFiles, label_copy};
use crate::open::pending::HeldFiles;
use crate::open::shared::Store;
use crate::published::manifest::{DatabaseId, Manifest, PublishedSegment};
use crate::segment::SegmentId;
use crate::write::transaction::Transaction;
use crate::{Error, Result, TableId};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Key of the database's random number in the meta database, as hexadecimal digits.
const KEY: &[u8] = b"identity";
/// A file that was written so long before a publication began is the one that this has sent, when number and length are the same.
const CLEARLY_BEFORE: Duration = Duration::from_secs(2);
/// Bytes that are checksummed at a time.
const PORTION: usize = 1 << 20;

/// What is to be sent. While it lives, this process removes none of the files.
#[derive(Debug)]
pub struct Publication {
    /// Whose it is.
    pub database: DatabaseId,
    /// The commit that it shows.
    pub commit: u64,
    /// Version of the database's format.
    pub format: u32,
    /// When it was begun.
    pub time: SystemTime,
    /// The copy of the catalog.
    pub catalog: PathBuf,
    /// The segment files, in the order of tables and numbers.
    pub files: Vec<PublicationFile>,
    _held: HeldFiles,
}

/// A segment file that is to be sent.
#[derive(Debug)]
pub struct PublicationFile {
    /// Its table.
    pub table: TableId,
    /// Its number.
    pub segment: SegmentId,
    /// Where it lies.
    pub path: PathBuf,
    directory_checksum: u32,
}

impl Store {
    /// The random number by which the database is known; `None` when it has none yet.
    pub fn database_id(&self) -> Result<Option<DatabaseId>> {
        let environment = self.environment()?;
        let text: Option<String> =
            environment.read(|transaction| values::get_json(&environment, transaction, Name::Meta, KEY))?;
        let parse = |text: String| {
            let digits = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
            let bytes: Option<Vec<u8>> = (0..16).map(digits).collect();
            let id = bytes.and_then(|bytes| bytes.try_into().ok()).map(DatabaseId);
            id.ok_or_else(|| {
                Error::corrupt(
                    values::place(&environment, Name::Meta, KEY),
                    format!("'{text}' is no number of a database"),
                )
            })
        };
        text.map(parse).transpose()
    }

    /// The random number by which the database is known, which it gets when it has none.
    pub fn identify(self: &Arc<Self>) -> Result<DatabaseId> {
        if let Some(known) = self.database_id()? {
            return Ok(known);
        }
        self.writer_lock().map_err(|_| {
            Error::Locked(format!(
                "database {} was never published, and gets its number when it first is: end the process that writes, or let that publish",
                self.path().display()
            ))
        })?;
        let mut number = [0; 16];
        getrandom::fill(&mut number).map_err(|error| Error::Internal(format!("no random number: {error}")))?;
        let new = DatabaseId(number);
        self.write(|transaction| transaction.set_identity(new))?;
        // Another of this process may have come first.
        self.database_id()?.ok_or_else(|| Error::Internal("the number was not kept".into()))
    }

    /// Makes a consistent copy of the catalog in the empty folder `to`, and lists the files that belong to it. Fails when a table can't
    /// be opened.
    pub fn publication(self: &Arc<Self>, to: &Path) -> Result<Publication> {
        self.require_in_folder("publish")?;
        self.require_no_damage()?;
        let (database, time) = (self.identify()?, SystemTime::now());
        let held = self.files.hold(self.path());
        let catalog = to.join("data.mdb");
        self.environment()?.copy_to(&catalog)?;
        let (commit, needed) = label_copy(to, CopiedFiles::Copied)?;
        let files = needed.into_iter().map(|((table, segment), file)| PublicationFile {
            table,
            segment,
            path: folder::segment_file(self.path(), table, segment),
            directory_checksum: file.directory_checksum,
        });
        let format = folder::FORMAT_VERSION;
        Ok(Publication { database, commit, format, time, catalog, files: files.collect(), _held: held })
    }

    /// What a manifest is to say of a file. It is not read when `before`, the manifest before, has it. Fails when it is cut off or
    /// another one.
    pub fn published_segment(&self, file: &PublicationFile, before: Option<&Manifest>) -> Result<PublishedSegment> {
        let facts = fs::metadata(&file.path).map_err(Error::io("reading", &file.path))?;
        let known = before.and_then(|before| known_segment(before, file, &facts));
        if let Some(known) = known {
            return Ok(known);
        }
        self.require_whole_file(&file.path, file.segment, file.directory_checksum)?;
        let (length, checksum) = checksum(&file.path)?;
        let PublicationFile { table, segment, directory_checksum, .. } = *file;
        Ok(PublishedSegment { table, segment, length, checksum, directory_checksum })
    }

    /// Errors for a database that was opened by its URL.
    pub(super) fn require_in_folder(&self, what: &str) -> Result<()> {
        if self.segment_files.is_folder() {
            return Ok(());
        }
        Err(Error::Unsupported(format!("{what} needs the database itself, and this one was opened by its URL")))
    }
}

/// The file in an earlier manifest. Its number may have been given again since, to a file that is newer.
fn known_segment(before: &Manifest, file: &PublicationFile, facts: &fs::Metadata) -> Option<PublishedSegment> {
    let place = before.segments.binary_search_by_key(&(file.table, file.segment), |known| (known.table, known.segment));
    let known = before.segments[place.ok()?];
    let is_older = facts.modified().ok()?.checked_add(CLEARLY_BEFORE)? < before.time;
    let is_it = known.length == facts.len() && known.directory_checksum == file.directory_checksum;
    (is_older && is_it).then_some(known)
}

/// Length and CRC-32C of a file.
pub fn checksum(path: &Path) -> Result<(u64, u32)> {
    let mut file = File::open(path).map_err(Error::io("opening", path))?;
    let (mut length, mut sum, mut portion) = (0, 0, vec![0; PORTION]);
    loop {
        let came = file.read(&mut portion).map_err(Error::io("reading", path))?;
        if came == 0 {
            return Ok((length, sum));
        }
        length += came as u64;
        sum = crc32c::crc32c_append(sum, &portion[..came]);
    }
}

impl Transaction<'_> {
    /// Gives the database its random number, unless it has one.
    fn set_identity(&mut self, id: DatabaseId) -> Result<()> {
        let known: Option<String> = values::get_json(self.environment, &self.transaction, Name::Meta, KEY)?;
        if known.is_none() {
            values::put_json(self.environment, &mut self.transaction, Name::Meta, KEY, &id.to_string())?;
            self.changes.changed = true;
        }
        Ok(())
    }
}
