//! Opening and growing an LMDB environment: the calls that heed marks `unsafe`.

use heed::{Env, EnvFlags, EnvOpenOptions, WithoutTls};
use std::path::Path;

/// How an environment is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Read and write, every commit synced.
    Durable,
    /// Read and write without syncing: a scratch database, gone when the process ends.
    Scratch,
    /// Read only, with a slot in the table of readers.
    Read,
    /// Read only, where even the lock file can't be opened for writing: nobody can write then.
    ReadUnlocked,
}

/// Address space given to the map. It costs nothing until it is used; a process whose address space is limited gets
/// the largest that it can have.
const MAP_SIZES: [usize; 3] = [64 << 30, 8 << 30, 1 << 30];

/// Reader slots: one per read transaction at a time, and those are short.
const READERS: u32 = 510;

/// Opens the environment in `folder` with room for `databases` named databases.
pub(crate) fn open(folder: &Path, access: Access, databases: u32) -> heed::Result<Env<WithoutTls>> {
    let flags = match access {
        Access::Durable => EnvFlags::empty(),
        Access::Scratch => EnvFlags::NO_SYNC | EnvFlags::NO_META_SYNC,
        Access::Read => EnvFlags::READ_ONLY,
        Access::ReadUnlocked => EnvFlags::READ_ONLY | EnvFlags::NO_LOCK,
    };
    let mut result = Err(heed::Error::EnvAlreadyOpened);
    for size in MAP_SIZES {
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.max_readers(READERS).max_dbs(databases).map_size(size);
        // SAFETY: the flags that heed calls unsafe are used where they can't hurt: without syncing only in a scratch
        // folder that no other process opens and that nobody reads after a crash; without locks only where the folder
        // can't be written, so that no writer exists. The map's file is changed by LMDB alone: the folder is named
        // `catalog` inside a database folder, a second environment on it within the process is refused by heed, and
        // its structure was verified by the walker before this call.
        result = unsafe {
            options.flags(flags);
            options.open(folder)
        };
        match &result {
            Err(heed::Error::Io(error)) if error.kind() == std::io::ErrorKind::OutOfMemory => continue,
            _ => break,
        }
    }
    result
}

/// Sets the size of the map; 0 takes over the size that another process has grown it to. The caller guarantees that no
/// transaction of this process is active.
pub(crate) fn resize(env: &Env<WithoutTls>, size: usize) -> heed::Result<()> {
    // SAFETY: the caller holds the environment's gate exclusively, so no transaction of this process points into the map.
    unsafe { env.resize(size) }
}
