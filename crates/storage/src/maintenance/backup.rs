//! `backup`: a consistent copy of the database while it is in use.
//!
//! LMDB copies its latest commit; the copy then says which segment files belong to it. Files are immutable, and while a
//! backup runs this process removes none, so they can be copied one after the other. A copy that lives as long as this
//! process needs no files of its own: it links them.
//!
//! A backup has all tables or is none: it fails when a table can't be opened. A copy of links lacks what the database lacks.

use crate::SqlState;
use crate::io::lmdb::Access;
use crate::lmdb::environment::Environment;
use crate::lmdb::folder::FolderKind;
use crate::lmdb::{folder, records};
use crate::open::shared::Store;
use crate::segment::SegmentId;
use crate::segment::reader::Segment;
use crate::write::load_intent;
use crate::{Error, Result, TableId, TableName};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// Another process may remove a file between the copy of the catalog and that of the file; then both are done again.
const ATTEMPTS: usize = 10;

/// How segment files come into a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopiedFiles {
    /// Copied and synced.
    Copied,
    /// Linked where the file system can do that, else copied; not synced.
    Linked,
}

impl Store {
    /// Copies a consistent snapshot to the folder `to`, which must be missing or empty, while the database is in use.
    /// Returns the bytes copied. Fails when a table can't be opened, and names it.
    pub fn backup(&self, to: &Path) -> Result<u64> {
        self.require_in_folder("backup")?;
        self.require_vacant(to)?;
        self.require_no_damage()?;
        folder::make_with_parents(to)?;
        self.copy_whole(to, CopiedFiles::Copied)
    }

    /// Errors when a table can't be opened.
    pub(super) fn require_no_damage(&self) -> Result<()> {
        self.snapshot()?.damaged.values().next().map_or(Ok(()), |damaged| Err(damaged.error()))
    }

    /// Copies a consistent snapshot to the empty folder `to`. Returns the bytes that were copied or linked.
    pub(crate) fn copy_whole(&self, to: &Path, files: CopiedFiles) -> Result<u64> {
        let mut attempt = 1;
        loop {
            let held = self.files.hold(self.path());
            let result = self.copy(to, files);
            drop(held);
            match result {
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound && attempt < ATTEMPTS => {
                    attempt += 1;
                    clear(to)?;
                }
                Err(error) => {
                    if let Err(second) = clear(to) {
                        tracing::warn!("clearing an incomplete backup: {second}");
                    }
                    return Err(error);
                }
                Ok(bytes) => return Ok(bytes),
            }
        }
    }

    fn require_vacant(&self, to: &Path) -> Result<()> {
        let absolute = std::path::absolute(to).map_err(Error::io("finding", to))?;
        let existing = absolute.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
        if existing.is_some_and(|folder| folder.starts_with(self.path())) {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("backup folder {} lies inside the database", to.display()),
            ));
        }
        let empty = match fs::read_dir(to) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(Error::io("reading folder", to)(error)),
        };
        if empty && folder::inspect(to)? == FolderKind::Vacant {
            return Ok(());
        }
        Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("backup folder {} is not empty; name a new one", to.display()),
        ))
    }

    fn copy(&self, to: &Path, files: CopiedFiles) -> Result<u64> {
        let new = folder::new_catalog(to);
        fs::create_dir(&new).map_err(Error::io("creating folder", &new))?;
        let data = new.join("data.mdb");
        self.environment()?.copy_to(&data)?;
        let (commit, needed) = label_copy(&new, files)?;
        let mut bytes = fs::metadata(&data).map_err(Error::io("reading", &data))?.len();
        let root = folder::segments(to);
        fs::create_dir(&root).map_err(Error::io("creating folder", &root))?;
        for ((table, segment), file) in needed {
            let source = folder::segment_file(self.path(), table, segment);
            let target = folder::segment_file(to, table, segment);
            let parent = folder::table_segments(to, table);
            fs::create_dir_all(&parent).map_err(Error::io("creating folder", &parent))?;
            if files == CopiedFiles::Copied {
                self.require_whole_file(&source, segment, file.directory_checksum)
                    .map_err(|error| self.of_source(error, commit, &file.table))?;
            }
            match files.bring(&source, &target) {
                Ok(brought) => bytes += brought,
                Err(error) => match self.of_source(error, commit, &file.table) {
                    Error::Corrupt { .. } if files == CopiedFiles::Linked => {}
                    error => return Err(error),
                },
            }
        }
        if files == CopiedFiles::Linked {
            folder::write_format(to)?;
            return folder::name_catalog(to).map(|()| bytes);
        }
        for entry in fs::read_dir(&root).map_err(Error::io("reading folder", &root))? {
            folder::sync_folder(&entry.map_err(Error::io("reading folder", &root))?.path())?;
        }
        folder::sync_folder(&root)?;
        folder::write_format(to)?;
        folder::publish_catalog(to)?;
        Ok(bytes)
    }

    /// Errors when a segment file can't be opened: it is cut off, or another one.
    pub(super) fn require_whole_file(&self, file: &Path, segment: SegmentId, directory_checksum: u32) -> Result<()> {
        Segment::open(file, segment, directory_checksum, BTreeMap::new(), Arc::clone(self.cache())).map(drop)
    }

    /// An error of a segment file that is copied. One that is missing is damage of its table, unless another process may have
    /// replaced it: by a commit after the one that is copied.
    pub(super) fn of_source(&self, error: Error, commit: u64, table: &TableName) -> Error {
        match &error {
            Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => match self.latest_commit() {
                Ok(latest) if latest == commit || !self.is_read_only() => error.of_table(table),
                Ok(_) => error,
                Err(other) => other,
            },
            Error::Io { source, .. } if source.kind() != ErrorKind::PermissionDenied => error,
            _ => error.of_table(table),
        }
    }
}

/// The files of a copy, by table and segment.
pub(super) type NeededFiles = BTreeMap<(TableId, SegmentId), NeededFile>;

/// A segment file that a copy needs.
pub(super) struct NeededFile {
    pub(super) table: TableName,
    pub(super) directory_checksum: u32,
}

impl CopiedFiles {
    /// Brings one file into the copy. Returns its bytes.
    fn bring(self, source: &Path, target: &Path) -> Result<u64> {
        if self == Self::Linked && fs::hard_link(source, target).is_ok() {
            return Ok(fs::metadata(target).map_err(Error::io("reading", target))?.len());
        }
        let bytes = fs::copy(source, target).map_err(Error::io("copying", source))?;
        if self == Self::Copied {
            File::open(target).and_then(|file| file.sync_all()).map_err(Error::io("syncing", target))?;
        }
        Ok(bytes)
    }
}

/// Makes the copied environment name its own transactions; gives the commit that it is of, and the segment files that it needs.
pub(super) fn label_copy(catalog: &Path, files: CopiedFiles) -> Result<(u64, NeededFiles)> {
    let environment = Environment::open(catalog, Access::Durable)?;
    let (state, needed) = environment.read(|transaction| {
        let state = records::state(&environment, transaction)?;
        let mut needed = BTreeMap::new();
        for table in records::tables(&environment, transaction)? {
            let (id, name) = (table.definition.id, &table.definition.name);
            let segments = match records::segments(&environment, transaction, &table) {
                Ok(segments) => segments,
                Err(_) if files == CopiedFiles::Linked => continue,
                Err(error) => return Err(error.of_table(name)),
            };
            for (_, segment) in segments {
                for (file, directory_checksum) in segment.checksums() {
                    needed.insert((id, file), NeededFile { table: name.clone(), directory_checksum });
                }
            }
        }
        Ok((state, needed))
    })?;
    let mut transaction = environment.write()?.0;
    load_intent::remove(&environment, &mut transaction)?;
    transaction.commit().map_err(environment.failed("writing"))?;
    let commit = state.commit;
    folder::label_both_metas(&environment, state)?;
    Ok((commit, needed))
}

/// Removes what an attempt has copied.
fn clear(to: &Path) -> Result<()> {
    for folder in [folder::new_catalog(to), folder::segments(to)] {
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io("removing", &folder)(error)),
            _ => {}
        }
    }
    Ok(())
}
