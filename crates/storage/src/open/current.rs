//! Which environment a store reads and writes. VACUUM puts another catalog in the place of the one in use, of this process or
//! of one that writes beside a reader; what reads the old one goes on until it ends.

use crate::io::lmdb::Access;
use crate::io::system;
use crate::io::system::FileIdentity;
use crate::lmdb::environment::Environment;
use crate::lmdb::verifier::Trusted;
use crate::lmdb::{folder, verifier};
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// The catalog may be exchanged while it is opened, which is seldom and short.
const ATTEMPTS: usize = 10;
/// The files of an environment.
const FILES: [&str; 2] = ["data.mdb", "lock.mdb"];

/// The current environment.
#[derive(Debug)]
pub(crate) struct Current {
    now: RwLock<Arc<Environment>>,
    /// Another process writes, which may exchange the catalog at any time.
    foreign: bool,
}

impl Current {
    /// The environment that was opened first.
    pub(crate) fn new(environment: Environment, access: Access) -> Self {
        let foreign = matches!(access, Access::Read | Access::ReadUnlocked);
        Self { now: RwLock::new(Arc::new(environment)), foreign }
    }

    /// The environment to read and to write.
    pub(crate) fn get(&self, database: &Path) -> Result<Arc<Environment>> {
        let now = Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner));
        if !self.foreign || is_in_place(&now) { Ok(now) } else { self.follow(database) }
    }

    /// Takes another one from here on.
    pub(crate) fn set(&self, environment: Environment) {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        *now = after(&now, environment);
    }

    /// Opens the catalog that another process has put in the place of the one that is open.
    fn follow(&self, database: &Path) -> Result<Arc<Environment>> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        if !is_in_place(&now) {
            *now = after(&now, open_whole(database, open_again)?);
        }
        Ok(Arc::clone(&now))
    }
}

/// An environment that takes the place of `before`, in the registry too.
fn after(before: &Environment, environment: Environment) -> Arc<Environment> {
    before.registration().inspect(|registration| environment.register(registration));
    Arc::new(environment)
}

/// Whether the file that was opened is still the one of its name. Where that can't be told, it is taken to be.
fn is_in_place(environment: &Environment) -> bool {
    match (environment.identity(), FileIdentity::of(&environment.folder().join(FILES[0]))) {
        (Some(opened), Ok(there)) => *opened == there,
        _ => true,
    }
}

/// Opens the catalog to read it, with a reader slot, or without one where the folder can't be written.
pub(crate) fn open_for_reading(database: &Path) -> Result<Environment> {
    open_whole(database, |catalog| open(catalog, catalog))
}

/// Opens the catalog by `open`, and once more when it was exchanged meanwhile: LMDB opens its table of readers and its file
/// by name, and both must be of one folder.
fn open_whole(database: &Path, open: impl Fn(&Path) -> Result<Environment>) -> Result<Environment> {
    let catalog = folder::catalog(database);
    let identity = || FileIdentity::of(&catalog).and_then(|one| Ok((one, FileIdentity::of(&catalog.join(FILES[0]))?)));
    let mut attempt = 0;
    loop {
        attempt += 1;
        let before = identity().ok();
        let opened = verify(database).and_then(|bytes| Ok(open(&catalog)?.with_bytes_of_runs(bytes)));
        if attempt >= ATTEMPTS || before == identity().ok() {
            return opened;
        }
    }
}

/// Checks the catalog's structure, as far as its last commit is to be trusted. Gives the bytes that its file has to have to be copied.
fn verify(database: &Path) -> Result<u64> {
    let trusted = folder::trusted(database, || folder::is_live(database))?;
    if trusted == Trusted::Before {
        return Err(Error::Locked(format!(
            "the last commit of database {} was interrupted by a power loss; open it for writing once, which undoes it",
            database.display()
        )));
    }
    verifier::verify_for_opening(&folder::catalog(database), trusted)
}

/// Opens `catalog`, whose files are found at `links` too.
fn open(links: &Path, catalog: &Path) -> Result<Environment> {
    match Environment::open_at(links, catalog, Access::Read) {
        Err(Error::Io { source, .. })
            if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
        {
            Environment::open_at(links, catalog, Access::ReadUnlocked)
        }
        result => result,
    }
}

/// Opens the catalog while the one that had its name before may still be read: heed opens a path once, so that the files get
/// other names for a moment.
fn open_again(catalog: &Path) -> Result<Environment> {
    let links = tempfile::Builder::new()
        .prefix("gingham-")
        .tempdir()
        .map_err(Error::io("creating folder in", &std::env::temp_dir()))?;
    for name in FILES {
        let file = catalog.join(name);
        system::link(&file, &links.path().join(name)).map_err(Error::io("linking", &file))?;
    }
    open(links.path(), catalog)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_database_and_not_the_links_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = folder.path().join("shop.gingham").join("catalog");
        std::fs::create_dir_all(&catalog).unwrap();
        for bytes in [Vec::new(), vec![7; 8192]] {
            std::fs::write(catalog.join(FILES[0]), &bytes).unwrap();
            std::fs::write(catalog.join(FILES[1]), []).unwrap();
            let error = open_again(&catalog).unwrap_err().to_string();
            assert!(error.contains(&catalog.display().to_string()), "{error}");
            assert!(!error.contains("gingham-"), "{error}");
        }
    }
}
