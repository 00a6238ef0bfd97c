//! Where a segment's bytes come from: a file, read at offsets, a file that lies elsewhere, or an image in memory.

use crate::io::direct::DirectFile;
use crate::io::remote::files::RemoteFile;
use crate::io::system::read_at;
use crate::{Error, Result};
use arrow::buffer::Buffer;
use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that were read.
#[derive(Debug)]
pub(crate) enum ReadBytes<'a> {
    /// Bytes as the source has or gives them.
    Source(Cow<'a, [u8]>),
    /// Bytes as a read past the system's cache gave them.
    Direct(Buffer),
}

impl std::ops::Deref for ReadBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Source(bytes) => bytes,
            Self::Direct(bytes) => bytes,
        }
    }
}

/// The bytes of a segment.
#[derive(Debug)]
pub(crate) enum SegmentBytes {
    /// An open file; reading it does not depend on its name still being there.
    File {
        /// The file.
        file: File,
        /// What it was opened as, for errors.
        path: PathBuf,
    },
    /// A file that lies elsewhere.
    Remote(Arc<RemoteFile>),
    /// A delta image.
    Image(Arc<[u8]>),
}

impl SegmentBytes {
    /// Opens the file `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("opening", path))?;
        Ok(Self::File { file, path: path.to_path_buf() })
    }

    /// The file, opened to be read past the system's cache, and its name; `None` of what is no file here.
    pub fn direct(&self) -> Result<Option<(DirectFile, &Path)>> {
        let Self::File { file, path } = self else { return Ok(None) };
        Ok(Some((DirectFile::reopen(file).map_err(Error::io("opening", path))?, path)))
    }

    /// Its length in bytes.
    pub fn length(&self) -> Result<u64> {
        match self {
            Self::File { file, path } => Ok(file.metadata().map_err(Error::io("reading", path))?.len()),
            Self::Remote(file) => Ok(file.length()),
            Self::Image(image) => Ok(image.len() as u64),
        }
    }

    /// The file that lies elsewhere, where it is one.
    pub fn remote(&self) -> Option<&Arc<RemoteFile>> {
        if let Self::Remote(file) = self { Some(file) } else { None }
    }

    /// Says that a range is not what was written, so that it is not kept.
    pub fn is_damaged(&self, offset: u64, length: usize) {
        self.remote().iter().for_each(|file| file.forget(offset, length));
    }

    /// `length` bytes from `offset` on, which the caller holds to be within the segment.
    pub fn read(&self, offset: u64, length: usize) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::File { file, path } => {
                let mut bytes = Vec::new();
                if bytes.try_reserve_exact(length).is_err() {
                    return Err(Error::OutOfMemory(format!("{length} bytes to read {}", path.display())));
                }
                bytes.resize(length, 0);
                read_at(file, &mut bytes, offset).map_err(|error| match error.kind() {
                    std::io::ErrorKind::UnexpectedEof => {
                        Error::corrupt(path.display().to_string(), format!("cut off: no {length} bytes at {offset}"))
                    }
                    _ => Error::io("reading", path)(error),
                })?;
                Ok(Cow::Owned(bytes))
            }
            Self::Remote(file) => file.read(offset, length).map(Cow::Owned),
            Self::Image(image) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let bytes = image.get(start..).and_then(|rest| rest.get(..length));
                bytes.map(Cow::Borrowed).ok_or_else(|| {
                    Error::corrupt("a delta block", format!("{length} bytes at {offset} of {} bytes", image.len()))
                })
            }
        }
    }
}
