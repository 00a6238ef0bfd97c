//! Where COPY … TO writes. A file is made in a folder beside its place and moved there when it is whole, so that a COPY that
//! fails, is cancelled or killed leaves what was there before. Devices and pipes get the bytes as they are.

use crate::error::is_full;
use crate::{Error, Result};
use gingham_storage::SqlState;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use url::Url;

/// As many links are followed as Linux follows.
const LINKS: usize = 40;
/// Where the files lie that a process has open.
const OPEN: [&str; 4] = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];

/// The words of DataFusion when the end of a file could not be written.
const UNFINISHED: &str = "finalizing writes";
/// Bytes by which is found out whether there is room.
const PROBE: usize = 1 << 20;

/// What lies at the place, or will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    /// A regular file.
    File,
    /// A device or a pipe.
    Stream,
    /// A folder of files.
    Folder,
}

/// Where a COPY writes, and where it ends up.
#[derive(Debug)]
pub(crate) struct CopyDestination {
    /// As the statement names it.
    named: String,
    kind: PlaceKind,
    /// The place, with links followed.
    place: PathBuf,
    /// What is written first: a file or a folder in `folder`.
    written: PathBuf,
    /// Removed with all that is left in it.
    folder: TempDir,
}

impl CopyDestination {
    /// For the place that a statement names: a folder of files `as_folder`, or where its name ends in `/`.
    pub(crate) fn of(named: &str, as_folder: bool) -> Result<Self> {
        let refused = |error: io::Error| refused(named, &error);
        let path = match named.strip_prefix("file://") {
            Some(_) => Url::parse(named).ok().and_then(|url| url.to_file_path().ok()).ok_or_else(|| {
                let text = format!("COPY TO '{named}': this is no path of a file of this machine");
                Error::invalid(SqlState::InvalidParameterValue, text)
            })?,
            None => PathBuf::from(named),
        };
        let as_folder = as_folder || named.ends_with('/');
        let path = std::path::absolute(path).map_err(refused)?;
        // A link to a stream that is open leads to no name; and /dev/stdout may be a file, which somebody has open.
        let is_stream = is_stream(&path);
        let place = if is_stream { path } else { followed(&path).map_err(refused)? };
        let (kind, beside) = match fs::metadata(&place) {
            Ok(known) if known.is_dir() && as_folder => (PlaceKind::Folder, parent(&place)),
            Ok(known) if known.is_dir() => {
                let text = format!("COPY TO '{named}': this is a folder; name a file in it");
                return Err(Error::invalid(SqlState::WrongObjectType, text));
            }
            Ok(known) if as_folder && known.is_file() => {
                let text = format!("COPY TO '{named}': this is a file, not a folder");
                return Err(Error::invalid(SqlState::WrongObjectType, text));
            }
            Ok(_) if !is_stream => {
                // Who may not write the file may not replace it.
                File::options().write(true).open(&place).map_err(refused)?;
                (PlaceKind::File, parent(&place))
            }
            Ok(_) => (PlaceKind::Stream, std::env::temp_dir()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let kind = if as_folder { PlaceKind::Folder } else { PlaceKind::File };
                (kind, parent(&place))
            }
            Err(error) => return Err(refused(error)),
        };
        let folder = tempfile::Builder::new().prefix(".gingham-copy-").tempdir_in(&beside).map_err(refused)?;
        // The ending says to DataFusion which format it is when the statement does not, and that it is one file.
        let ending = Path::new(named.trim_end_matches('/')).extension().and_then(|ending| ending.to_str());
        let written = match kind {
            PlaceKind::Folder => folder.path().join("rows"),
            PlaceKind::File | PlaceKind::Stream => folder.path().join(format!("rows.{}", ending.unwrap_or("file"))),
        };
        if kind == PlaceKind::Folder {
            fs::create_dir(&written).map_err(refused)?;
        }
        Ok(Self { named: named.to_owned(), kind, place, written, folder })
    }

    /// What is written first.
    pub(crate) fn written(&self) -> &Path {
        &self.written
    }

    /// Whether it is a folder of files.
    pub(crate) fn is_folder(&self) -> bool {
        self.kind == PlaceKind::Folder
    }

    /// Where DataFusion writes.
    pub(crate) fn url(&self) -> Result<String> {
        let url = match self.kind {
            PlaceKind::Folder => Url::from_directory_path(&self.written),
            PlaceKind::File | PlaceKind::Stream => Url::from_file_path(&self.written),
        };
        let url = url.map_err(|()| Error::Internal(format!("{} has no URL", self.written.display())))?;
        Ok(url.into())
    }

    /// Brings what was written to its place. Waits for the reader of a pipe.
    pub(crate) fn finish(&self) -> Result<()> {
        self.bring().map_err(|error| refused(&self.named, &error))
    }

    fn bring(&self) -> io::Result<()> {
        // Of no record, and without a header, no file is made.
        if self.kind != PlaceKind::Folder && !self.written.try_exists()? {
            File::create(&self.written)?;
        }
        match self.kind {
            PlaceKind::File => {
                if let Ok(known) = fs::metadata(&self.place) {
                    fs::set_permissions(&self.written, known.permissions())?;
                }
                fs::rename(&self.written, &self.place)
            }
            PlaceKind::Stream => {
                let mut to = File::options().append(true).open(&self.place)?;
                io::copy(&mut File::open(&self.written)?, &mut to).map(drop)
            }
            PlaceKind::Folder => moved(&self.written, &self.place),
        }
    }

    /// Whether the disk has room for more.
    fn room(&self) -> io::Result<()> {
        fs::write(self.folder.path().join("probe"), vec![0; PROBE])
    }

    /// An error of a COPY, with the place that the statement names in the place of the one that was written.
    pub(crate) fn told(&self, error: Error) -> Error {
        let about = |text: String| {
            let text = text.replace(&self.folder.path().display().to_string(), &self.named);
            format!("COPY TO '{}': {text}", self.named)
        };
        match error {
            Error::Io(text) => Error::Io(about(text)),
            Error::DiskFull(text) => Error::DiskFull(about(text)),
            // DataFusion does not say why the last bytes were refused.
            Error::Internal(text) if text.contains(UNFINISHED) => match self.room() {
                Err(error) if is_full(&error) => Error::DiskFull(about(format!("{error}; make room and run it again"))),
                _ => Error::Io(about("the last bytes could not be written; the disk may be full".into())),
            },
            other => other,
        }
    }
}

/// Whether there is a device or a pipe at a path, or a file that is open as one of the process's own.
fn is_stream(path: &Path) -> bool {
    let is_open = OPEN.iter().any(|open| path.starts_with(open));
    fs::metadata(path).is_ok_and(|known| !known.is_dir() && (is_open || !known.is_file()))
}

fn parent(place: &Path) -> PathBuf {
    place.parent().unwrap_or(place).to_path_buf()
}

/// A path whose last part is no link.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::symlink_metadata(&path) {
            Ok(known) if known.is_symlink() => path = parent(&path).join(fs::read_link(&path)?),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("too many links lead to it"))
}

/// Moves a folder to a place where there is none, or what is in it into the one that is there.
fn moved(from: &Path, to: &Path) -> io::Result<()> {
    if !to.try_exists()? {
        return fs::rename(from, to);
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => moved(&entry.path(), &target)?,
            false => fs::rename(entry.path(), target)?,
        }
    }
    Ok(())
}

/// What the system says of a place, as PostgreSQL classes it.
fn refused(named: &str, error: &io::Error) -> Error {
    let text = format!("COPY TO '{named}': {error}");
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Error::invalid(SqlState::InsufficientPrivilege, text)
        }
        ErrorKind::NotFound => Error::invalid(SqlState::UndefinedFile, text),
        ErrorKind::IsADirectory | ErrorKind::NotADirectory => Error::invalid(SqlState::WrongObjectType, text),
        _ if is_full(error) => Error::DiskFull(text),
        _ => Error::Io(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_that_are_open_are_streams_and_others_of_the_folder_are_not() {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            let folder = tempfile::tempdir_in(memory).unwrap();
            let file = folder.path().join("x.csv");
            for text in ["one", "2"] {
                written(&file, text).unwrap();
                assert_eq!(fs::read_to_string(&file).unwrap(), text);
            }
        }
        assert!(is_stream(Path::new("/dev/null")) && !is_stream(Path::new("/dev")));
    }

    fn written(named: &Path, text: &str) -> Result<()> {
        let destination = CopyDestination::of(named.to_str().unwrap(), false)?;
        fs::write(&destination.written, text).unwrap();
        destination.finish()
    }

    #[test]
    fn a_link_stays_one_and_what_was_not_finished_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let (target, link) = (root.path().join("a b%.csv"), root.path().join("link.csv"));
        symlink("a b%.csv", &link).unwrap();
        written(&link, "1").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "1");
        let mode = |path: &Path| std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
        fs::set_permissions(&target, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
        let destination =
            CopyDestination::of(&format!("file://{}", link.display()).replace("%", "%25"), false).unwrap();
        fs::write(&destination.written, "two").unwrap();
        drop(destination);
        assert_eq!(fs::read_to_string(&target).unwrap(), "1");
        written(&target, "2").unwrap();
        assert_eq!((fs::read_to_string(&target).unwrap().as_str(), mode(&target) & 0o777), ("2", 0o640));
        let names: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn what_the_system_refuses_is_classed() {
        let root = tempfile::tempdir().unwrap();
        let (folder, looping) = (root.path().join("folder"), root.path().join("loop"));
        fs::create_dir(&folder).unwrap();
        symlink("loop", &looping).unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        for (named, state) in [
            (root.path().join("no/such.csv"), "58P01"),
            (PathBuf::from("/proc/x.csv"), "58P01"),
            (folder, "42809"),
            (root.path().join("file/x.csv"), "42809"),
            (root.path().join("n".repeat(300)), "58030"),
            (looping, "58030"),
        ] {
            let error = written(&named, "1").unwrap_err();
            assert_eq!(error.sqlstate(), state, "{error}");
            assert!(error.to_string().starts_with(&format!("COPY TO '{}': ", named.display())), "{error}");
        }
        assert!(!root.path().join("no").exists());
    }
}
