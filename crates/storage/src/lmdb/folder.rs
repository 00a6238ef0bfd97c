//! The database folder: its parts, how it is made, who may write it, and which files are left over.
//!
//! ```text
//! format        names the format and its version
//! writer.lock   locked by the process that has the database open for writing
//! catalog/      the LMDB environment
//! segments/     <table>/<segment>.seg, and <number>.pages while a load fills a heap table
//! workload      recorded statements (docs/formats/workload.md)
//! scratch-…/    a database of its own while designs are compared
//! ```
//! The catalog is built aside and renamed into place last, so a folder without `catalog/` was never a database.

use crate::SqlState;
use crate::io::lmdb::Access;
use crate::io::system;
use crate::lmdb::environment::Environment;
use crate::lmdb::records::DatabaseState;
use crate::lmdb::verifier::Trusted;
use crate::lmdb::{records, verifier};
use crate::segment::SegmentId;
use crate::{DEFAULT_SCHEMA, Error, Result, TableId};
use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Version of the folder's format that this build writes: what lies where, and what the catalog's values mean. It reads all
/// earlier ones; docs/formats/catalog.md says by what they differ.
pub(crate) const FORMAT_VERSION: u32 = 11;

const FORMAT_FILE: &str = "format";
const NEW_FORMAT_FILE: &str = "format.new";
const FORMAT_MAGIC: &str = "gingham database, format ";
const LOCK_FILE: &str = "writer.lock";
const CATALOG: &str = "catalog";
const NEW_CATALOG: &str = "catalog.new";
const SEGMENTS: &str = "segments";
/// How the names of scratch databases within a database begin.
pub(crate) const SCRATCH: &str = "scratch-";

/// Begin of the lock file while and after a writer changes something; anything else means a clean end. This one's last commit may
/// have been interrupted, which its checksum tells. The boot that the system was in stands behind it.
const SEALING: &[u8] = b"sealing";
/// How the lock file begins of a writer whose last commit could not be synced. The boot stands behind it, too: the system takes the
/// pages for synced that the disk has refused, until it goes down. To builds before it is [`SEALING`] without a boot.
const UNSYNCED: &[u8] = b"sealing, unsynced";
/// How the lock file begins of a process that makes commits that a power loss may undo. They have no checksum, and never lack pages.
const RELAXED: &[u8] = b"relaxed";
/// The lock file's text of builds that checksummed no commits.
const WRITING: &[u8] = b"writing";

/// The folder of the LMDB environment.
pub(crate) fn catalog(database: &Path) -> PathBuf {
    database.join(CATALOG)
}

/// The folder in which an environment is built before it becomes [`catalog`].
pub(crate) fn new_catalog(database: &Path) -> PathBuf {
    database.join(NEW_CATALOG)
}

/// The folder in which the VACUUM of that number builds an environment. Each of a process has its own, since LMDB's may stay
/// open for readers under the name that they were opened by.
pub(crate) fn vacuumed_catalog(database: &Path, number: u64) -> PathBuf {
    database.join(format!("{NEW_CATALOG}.{number}"))
}

/// The folder of all segment files.
pub(crate) fn segments(database: &Path) -> PathBuf {
    database.join(SEGMENTS)
}

/// The folder of a table's segment files.
pub(crate) fn table_segments(database: &Path, table: TableId) -> PathBuf {
    segments(database).join(table.to_string())
}

/// The file of a segment.
pub(crate) fn segment_file(database: &Path, table: TableId, segment: SegmentId) -> PathBuf {
    table_segments(database, table).join(format!("{segment}.seg"))
}

/// The file of a run of pages that no transaction has taken yet. No commit names it.
pub(crate) fn run_file(database: &Path, table: TableId, number: SegmentId) -> PathBuf {
    table_segments(database, table).join(format!("{number}.pages"))
}

/// Syncs a folder, so that files made in it survive a power loss.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(Error::io("syncing folder", folder))
}

/// Syncs the folder that `path` lies in, so that its name survives a power loss. One that may not be read can't be synced.
pub(crate) fn sync_parent(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match sync_folder(parent) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => Ok(()),
        result => result,
    }
}

/// Makes a folder, and those above it that are missing, so that they survive a power loss.
pub(crate) fn make_with_parents(path: &Path) -> Result<()> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    fs::create_dir_all(path).map_err(Error::io("creating folder", path))?;
    missing.into_iter().rev().try_for_each(sync_parent)
}

/// The right to write a database, held by its lock file.
#[derive(Debug)]
pub(crate) struct WriterLock {
    file: File,
    path: PathBuf,
    /// True when the writer before ended without saying so.
    pub(crate) unclean: bool,
}

impl WriterLock {
    /// Takes the lock; [`Error::Locked`] when another process has it or the folder can't be written.
    pub(crate) fn take(database: &Path) -> Result<Self> {
        let path = database.join(LOCK_FILE);
        let mut file = match File::options().read(true).write(true).create(true).truncate(false).open(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
                return Err(Error::Locked(format!(
                    "database {} can't be written ({error}); open it for reading only (--read-only)",
                    database.display()
                )));
            }
            Err(error) => return Err(Error::io("opening", &path)(error)),
        };
        match patiently(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let number = system::lock_holder(&file).map_or_else(String::new, |process| format!(" ({process})"));
                return Err(Error::Locked(format!(
                    "database {} is open for writing in another process{number}; end that, or open the database for reading only (--read-only)",
                    database.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("locking", &path)(error)),
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(Error::io("reading", &path))?;
        let unclean = [SEALING, RELAXED, WRITING].iter().any(|text| content.starts_with(text));
        Ok(Self { file, path, unclean })
    }

    /// Records that commits begin which are checksummed, so that the next open looks at the last one's checksum when this process does
    /// not end well. That is on disk before the first of them is.
    pub(crate) fn mark_sealing(&self) -> Result<()> {
        self.mark_durably(&in_this_boot(SEALING))
    }

    /// Records that the last commit could not be synced: what the system knows of it is not what is on disk, in this boot neither.
    pub(crate) fn mark_unsynced(&self) {
        if let Err(error) = self.mark(&in_this_boot(UNSYNCED)) {
            tracing::warn!("writing {}: {error}", self.path.display());
        }
    }

    /// Records that commits begin which a power loss may undo. That is on disk before the first of them is.
    pub(crate) fn mark_relaxed(&self) -> Result<()> {
        self.mark_durably(RELAXED)
    }

    fn mark_durably(&self, content: &[u8]) -> Result<()> {
        let marked = self.mark(content).and_then(|()| self.file.sync_data());
        marked.map_err(Error::io("writing", &self.path))?;
        // The file may be new.
        sync_parent(&self.path)
    }

    /// Records a clean end.
    pub(crate) fn mark_clean(&self) {
        if let Err(error) = self.mark(b"closed") {
            tracing::warn!("writing {}: {error}", self.path.display());
        }
    }

    /// Writes over what the file says, and cuts it then: one that was cut first would say on a full disk that all is well.
    fn mark(&self, content: &[u8]) -> std::io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(content)?;
        file.set_len(content.len() as u64)
    }
}

/// Closing the file leaves the lock with a process that another thread is just starting, until that one runs a program of its own.
impl Drop for WriterLock {
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Takes a file's lock, unless somebody keeps it: who asks whether a writer lives has it for a moment, too.
fn patiently(file: &File) -> std::result::Result<(), TryLockError> {
    for milliseconds in [1, 4, 16] {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(milliseconds)),
            known => return known,
        }
    }
    file.try_lock()
}

/// A mark with the boot that the system is in behind it, where that is known.
fn in_this_boot(mark: &[u8]) -> Vec<u8> {
    let boot = system::boot().map_or(Vec::new(), |boot| [b" ", boot.as_bytes()].concat());
    [mark, &boot].concat()
}

/// Which commits of a database are whole. While somebody has it open for writing, as `is_live` tells, the system knows all pages
/// of the latest, whatever of them is on disk.
pub(crate) fn trusted(database: &Path, is_live: impl FnOnce() -> bool) -> Result<Trusted> {
    let content = fs::read(database.join(LOCK_FILE)).unwrap_or_default();
    if content.starts_with(RELAXED) {
        return Ok(Trusted::Latest);
    }
    if system::boot().is_some() && content == in_this_boot(UNSYNCED) {
        // Whatever its seal says: the system knows pages that are not on disk.
        return Ok(if is_live() { Trusted::Both } else { Trusted::Before });
    }
    if !content.starts_with(SEALING) {
        return Ok(Trusted::Both);
    }
    // A system that has not gone down since knows all pages too: the writer was killed.
    let is_this = system::boot().is_some() && content == in_this_boot(SEALING);
    let catalog = catalog(database);
    // A writer may have come after the first question, and gone after the second.
    let is_whole = is_this || verifier::is_sealed(&catalog)? || is_live() || verifier::is_sealed(&catalog)?;
    Ok(if is_whole { Trusted::Both } else { Trusted::Before })
}

/// Whether a process has a database open for writing.
pub(crate) fn is_live(database: &Path) -> bool {
    let Ok(file) = File::open(database.join(LOCK_FILE)) else { return false };
    let locked = file.try_lock_shared();
    let _ = file.unlock();
    matches!(locked, Err(TryLockError::WouldBlock))
}

/// What a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderKind {
    /// A database.
    Database,
    /// Missing, empty, or left by a creation that did not end.
    Vacant,
}

/// Looks at a folder. Errors when it holds something else, or a database of another format.
pub(crate) fn inspect(database: &Path) -> Result<FolderKind> {
    let entries = match fs::read_dir(database) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FolderKind::Vacant),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(Error::invalid(
                SqlState::InvalidDatabase,
                format!("{} is a file; a Gingham database is a folder", database.display()),
            ));
        }
        Err(error) => return Err(Error::io("reading folder", database)(error)),
    };
    let mut foreign = None;
    for entry in entries {
        let name = entry.map_err(Error::io("reading folder", database))?.file_name();
        match name.to_str() {
            Some(CATALOG) => {
                check_format(database)?;
                return Ok(FolderKind::Database);
            }
            Some(FORMAT_FILE | NEW_FORMAT_FILE | LOCK_FILE | NEW_CATALOG | SEGMENTS) => {}
            _ => foreign = Some(name),
        }
    }
    match foreign {
        None => Ok(FolderKind::Vacant),
        Some(name) => Err(Error::invalid(
            SqlState::InvalidDatabase,
            format!(
                "folder {} is not a Gingham database: it has no catalog, but '{}' in it",
                database.display(),
                name.to_string_lossy()
            ),
        )),
    }
}

/// Reads the format file.
fn check_format(database: &Path) -> Result<()> {
    let path = database.join(FORMAT_FILE);
    let bytes = fs::read(&path).map_err(Error::io("reading", &path))?;
    let version = std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| text.strip_prefix(FORMAT_MAGIC))
        .and_then(|rest| rest.strip_suffix('\n'))
        .and_then(|number| number.parse::<u32>().ok())
        .ok_or_else(|| {
            Error::corrupt(path.display().to_string(), "this is not the format file of a Gingham database")
        })?;
    require_known_format(version, &database.display().to_string())
}

/// Errors when this build does not read the format of the database at `place`.
pub(crate) fn require_known_format(version: u32, place: &str) -> Result<()> {
    if (1..=FORMAT_VERSION).contains(&version) {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "database {place} has format {version}; this Gingham reads formats 1 to {FORMAT_VERSION}"
    )))
}

/// Writes the format file anew unless it has today's format.
pub(crate) fn raise_older_format(database: &Path) -> Result<()> {
    let path = database.join(FORMAT_FILE);
    let content = fs::read(&path).map_err(Error::io("reading", &path))?;
    if content == format!("{FORMAT_MAGIC}{FORMAT_VERSION}\n").as_bytes() { Ok(()) } else { raise_format(database) }
}

/// Writes the format file anew, where the folder's format was an older one.
pub(crate) fn raise_format(database: &Path) -> Result<()> {
    let (path, new) = (database.join(FORMAT_FILE), database.join(NEW_FORMAT_FILE));
    write_format_file(&new)?;
    fs::rename(&new, &path).map_err(Error::io("renaming", &new))?;
    sync_folder(database)
}

/// Writes the format file and syncs it.
pub(crate) fn write_format(database: &Path) -> Result<()> {
    write_format_file(&database.join(FORMAT_FILE))
}

fn write_format_file(path: &Path) -> Result<()> {
    let mut file = File::create(path).map_err(Error::io("creating", path))?;
    file.write_all(format!("{FORMAT_MAGIC}{FORMAT_VERSION}\n").as_bytes()).map_err(Error::io("writing", path))?;
    file.sync_all().map_err(Error::io("syncing", path))
}

/// Makes an empty database in a vacant folder whose lock is held.
pub(crate) fn create(database: &Path, access: Access) -> Result<()> {
    let new = new_catalog(database);
    match fs::remove_dir_all(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io("removing", &new)(error)),
        _ => fs::create_dir(&new).map_err(Error::io("creating folder", &new))?,
    }
    let environment = Environment::create(&new, access)?;
    let schemas = vec![DEFAULT_SCHEMA.to_owned()];
    label_both_metas(&environment, DatabaseState::first(schemas))?;
    drop(environment);
    let segments = segments(database);
    match fs::create_dir(&segments) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(Error::io("creating folder", &segments)(error));
        }
        _ => write_format(database)?,
    }
    match access {
        Access::Scratch => name_catalog(database),
        _ => publish_catalog(database),
    }
}

/// Gives the new catalog its name, without syncing anything: a scratch database's.
pub(crate) fn name_catalog(database: &Path) -> Result<()> {
    let new = new_catalog(database);
    fs::rename(&new, catalog(database)).map_err(Error::io("renaming", &new))
}

/// Gives the new catalog its name: from here on the folder is a database, also after a power loss. Whatever else makes it
/// one has its name before.
pub(crate) fn publish_catalog(database: &Path) -> Result<()> {
    let (new, catalog) = (new_catalog(database), catalog(database));
    let format = database.join(FORMAT_FILE);
    give_permissions(&format, &new.join("data.mdb"))?;
    sync_folder(&new)?;
    sync_folder(database)?;
    fs::rename(&new, &catalog).map_err(Error::io("creating folder", &catalog))?;
    sync_folder(database)?;
    sync_parent(database)
}

/// LMDB makes its file for the owner alone; who may read it is the user's choice, as for every other file.
pub(crate) fn give_permissions(from: &Path, data: &Path) -> Result<()> {
    let permissions = fs::metadata(from).map_err(Error::io("reading", from))?.permissions();
    fs::set_permissions(data, permissions).map_err(Error::io("changing the permissions of", data))
}

/// Removes catalogs that were built or taken out of use, and not removed by who did that.
pub(crate) fn remove_new_catalogs(database: &Path) -> Result<()> {
    for path in list(database)? {
        let behind = path.file_name().and_then(|name| name.to_str()?.strip_prefix(NEW_CATALOG));
        let number = |behind: &str| behind.strip_prefix('.').is_some_and(|number| number.parse::<u64>().is_ok());
        if behind.is_some_and(|behind| behind.is_empty() || number(behind))
            && let Err(error) = fs::remove_dir_all(&path)
        {
            tracing::warn!("removing {}: {error}", path.display());
        }
    }
    Ok(())
}

/// Removes scratch databases of processes that have ended without doing so.
pub(crate) fn remove_scratch(database: &Path) -> Result<()> {
    for path in list(database)? {
        let is_scratch = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(SCRATCH));
        if is_scratch
            && !is_live(&path)
            && let Err(error) = fs::remove_dir_all(&path)
        {
            tracing::warn!("removing {}: {error}", path.display());
        }
    }
    Ok(())
}

/// Commits `state` twice, so that both of LMDB's metas lead to a state that names its own transaction.
pub(crate) fn label_both_metas(environment: &Environment, mut state: DatabaseState) -> Result<()> {
    for _ in 0..2 {
        let (mut transaction, _shared) = environment.write()?;
        state.transaction = transaction.id() as u64;
        records::put_state(environment, &mut transaction, &state)?;
        transaction.commit().map_err(environment.failed("writing"))?;
    }
    Ok(())
}

/// The segment files that a commit names.
#[derive(Debug, Default)]
pub(crate) struct NamedFiles {
    files: HashSet<(TableId, SegmentId)>,
    /// Tables of which it can't be told.
    unknown: HashSet<TableId>,
}

impl NamedFiles {
    /// Adds those of a table.
    pub(crate) fn add(&mut self, table: TableId, files: impl Iterator<Item = SegmentId>) {
        self.files.extend(files.map(|file| (table, file)));
    }

    /// What is in the table's folder may be named.
    pub(crate) fn add_unknown(&mut self, table: TableId) {
        self.unknown.insert(table);
    }
}

/// Files under `segments/` that `known` does not name; also such that are no segment files. A folder that can't be read keeps
/// its files.
pub(crate) fn orphans(database: &Path, known: &NamedFiles) -> Result<Vec<PathBuf>> {
    let root = segments(database);
    let mut found = Vec::new();
    for folder in list(&root)? {
        let table: Option<TableId> = file_stem(&folder);
        if !folder.is_dir() {
            found.push(folder);
            continue;
        }
        if table.is_some_and(|table| known.unknown.contains(&table)) {
            continue;
        }
        let files = list(&folder).unwrap_or_else(|error| {
            tracing::warn!("{error}");
            Vec::new()
        });
        for file in files {
            let segment =
                file.extension().is_some_and(|extension| extension == "seg").then(|| file_stem(&file)).flatten();
            if !table.zip(segment).is_some_and(|pair| known.files.contains(&pair)) {
                found.push(file);
            }
        }
    }
    Ok(found)
}

/// Removes the folder of files that were written for tables that had no number yet, when these have all been moved. Somebody may
/// write there at any time but when the database is opened for writing.
pub(crate) fn remove_unnumbered(database: &Path) {
    let _ = fs::remove_dir(table_segments(database, 0));
}

/// Removes `files`, then folders of tables that are empty.
pub(crate) fn remove_files(database: &Path, files: &[PathBuf]) {
    for file in files {
        if let Err(error) = fs::remove_file(file)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!("removing {}: {error}", file.display());
        }
    }
    let folders: HashSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let root = segments(database);
    for folder in folders.into_iter().filter(|folder| **folder != root) {
        // A folder that still holds segments stays: removing it fails, which is what is wanted.
        let _ = fs::remove_dir(folder);
    }
}

fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = || Error::io("reading folder", folder);
    let mut paths = Vec::new();
    match fs::read_dir(folder) {
        Ok(entries) => {
            for entry in entries {
                paths.push(entry.map_err(failed())?.path());
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed()(error)),
    }
    Ok(paths)
}

fn file_stem(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_with_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let lock = WriterLock::take(folder.path()).unwrap();
        assert!(is_live(folder.path()));
        let refused = WriterLock::take(folder.path()).unwrap_err().to_string();
        // The system tells where the folder is its own file system's, not laid over another.
        let holders = [format!("another process ({});", std::process::id()), "another process;".to_owned()];
        assert!(
            holders.iter().any(|holder| refused.contains(&format!("is open for writing in {holder}"))),
            "{refused}"
        );
        // What a process has of it that was being started meanwhile.
        let inherited = lock.file.try_clone().unwrap();
        drop(lock);
        assert!(!is_live(folder.path()));
        drop(WriterLock::take(folder.path()).unwrap());
        drop(inherited);
    }
}
