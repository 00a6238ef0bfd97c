//! The bytes of a file as UTF-8: unpacked where its first bytes say that it is packed, and decoded from its encoding.
//!
//! A file of plain UTF-8 can be read from any byte, so that several threads each read a part. Another one is a stream, which a
//! thread of its own unpacks and decodes ahead of its reader.

use crate::files::encoding::{DecodedText, TextEncoding};
use crate::files::options::Compression;
use crate::{Error, Result};
use flate2::read::MultiGzDecoder;
use gingham_storage::SqlState;
use gingham_storage::panics::guarded;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes of a file's text that are looked at before it is read.
pub(crate) const SAMPLE_BYTES: u64 = 4 << 20;
/// A packed file has about so many bytes of text for each of its own.
const UNPACKED: u64 = 4;
/// Bytes that a stream hands on at a time.
const BLOCK_BYTES: usize = 1 << 20;
/// Blocks that a stream may be ahead of its reader.
const AHEAD: usize = 4;
/// Bytes at a file's beginning that tell how it is packed and encoded.
const MAGIC_BYTES: usize = 4;

/// How the bytes of a file are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// An error of reading what is packed so.
    fn told(self, error: io::Error) -> io::Error {
        let name = match self {
            Self::Plain => return error,
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        };
        io::Error::new(error.kind(), format!("it can't be unpacked as {name}: {error}"))
    }
}

/// A file of text.
#[derive(Debug, Clone)]
pub(crate) struct FileSource {
    path: PathBuf,
    packing: Packing,
    encoding: TextEncoding,
    /// Bytes of the file as it lies on disk.
    bytes: u64,
}

/// Reads a [`FileSource`] on from some byte.
pub(crate) struct SourceReader {
    bytes: SourceBytes,
    /// Bytes of the file that were read for those that were given.
    consumed: Arc<AtomicU64>,
}

enum SourceBytes {
    File(File),
    Stream(BlockReader),
}

impl FileSource {
    /// Looks at the beginning of a file.
    pub(crate) fn open(path: &Path, compression: Compression, encoding: Option<TextEncoding>) -> Result<Self> {
        let failed = |error| io_error(path, &error);
        let mut file = File::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let magic = beginning(&mut file).map_err(failed)?;
        let packing = match compression {
            Compression::None => Packing::Plain,
            Compression::Gzip => Packing::Gzip,
            Compression::Zstd => Packing::Zstd,
            Compression::Auto => packing_of(path, &magic)?,
        };
        let mut source = Self { path: path.to_owned(), packing, encoding: TextEncoding::Utf8, bytes };
        let start = match packing {
            Packing::Plain => magic,
            _ => beginning(&mut source.reader(0)?).map_err(failed)?,
        };
        source.encoding = encoding.unwrap_or_default().of_marked(&start);
        Ok(source)
    }

    /// A file that is read by rows, not as text.
    pub(crate) fn of_rows(path: &Path) -> Self {
        Self { path: path.to_owned(), packing: Packing::Plain, encoding: TextEncoding::Utf8, bytes: 0 }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file as it lies on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes of its text, where they are known without reading it; such a text can be read in parts.
    pub(crate) fn length(&self) -> Option<u64> {
        (self.packing == Packing::Plain && self.encoding.is_utf8()).then_some(self.bytes)
    }

    /// About the bytes of its text.
    pub(crate) fn about_length(&self) -> u64 {
        self.length().unwrap_or(self.bytes * UNPACKED)
    }

    /// Its text from byte `start` on.
    pub(crate) fn reader(&self, start: u64) -> Result<SourceReader> {
        let failed = |error| io_error(&self.path, &error);
        let mut file = File::open(&self.path).map_err(failed)?;
        if self.length().is_some() {
            file.seek(SeekFrom::Start(start)).map_err(failed)?;
            return Ok(SourceReader { bytes: SourceBytes::File(file), consumed: Arc::default() });
        }
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = BufReader::with_capacity(BLOCK_BYTES, CountedFile { file, bytes: Arc::clone(&consumed) });
        let unpacked: Box<dyn Read + Send> = match self.packing {
            Packing::Plain => Box::new(counted),
            Packing::Gzip => Box::new(MultiGzDecoder::new(counted)),
            Packing::Zstd => Box::new(zstd::Decoder::with_buffer(counted).map_err(failed)?),
        };
        let text: Box<dyn Read + Send> = match self.encoding.is_utf8() {
            true => unpacked,
            false => Box::new(DecodedText::new(unpacked, self.encoding)),
        };
        let mut reader = SourceReader { bytes: SourceBytes::Stream(BlockReader::of(text, self.packing)?), consumed };
        let skipped = io::copy(&mut (&mut reader).take(start), &mut io::sink()).map_err(failed)?;
        match skipped == start {
            true => Ok(reader),
            false => Err(Error::Io(format!("{}: it has become shorter while it was read", self.path.display()))),
        }
    }
}

impl SourceReader {
    /// Bytes of the file that were read so far of a text that can't be read in parts.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }
}

impl Read for SourceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.bytes {
            SourceBytes::File(file) => file.read(buffer),
            SourceBytes::Stream(blocks) => blocks.read(buffer),
        }
    }
}

/// The first bytes, as many as tell what they begin.
fn beginning(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(MAGIC_BYTES);
    from.take(MAGIC_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn packing_of(path: &Path, magic: &[u8]) -> Result<Packing> {
    let unreadable = match magic {
        [0x1f, 0x8b, ..] => return Ok(Packing::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd] => return Ok(Packing::Zstd),
        [b'P', b'K', 3, 4] => "zip",
        [b'B', b'Z', b'h', _] => "bzip2",
        [0xfd, b'7', b'z', b'X'] => "xz",
        [0x04, 0x22, 0x4d, 0x18] => "lz4",
        _ => return Ok(Packing::Plain),
    };
    Err(Error::invalid(
        SqlState::BadCopyFileFormat,
        format!(
            "{} is packed by {unreadable}; gzip and zstd are unpacked, what else is packed has to be unpacked first",
            path.display()
        ),
    ))
}

/// A file that counts the bytes that were read.
struct CountedFile {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Read for CountedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// A stream that a thread reads ahead, block by block.
struct BlockReader {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    at: usize,
}

impl BlockReader {
    fn of(stream: Box<dyn Read + Send>, packing: Packing) -> Result<Self> {
        let (sender, blocks) = sync_channel(AHEAD);
        let named = std::thread::Builder::new().name("gingham-unpack".to_owned());
        let started = named.spawn(move || read_ahead(stream, packing, &sender));
        started.map_err(|error| Error::Io(format!("starting a thread that reads a file: {error}")))?;
        Ok(Self { blocks, block: Vec::new(), at: 0 })
    }
}

/// Hands on the blocks of a stream until it ends, fails, or nobody takes them.
fn read_ahead(mut stream: Box<dyn Read + Send>, packing: Packing, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        let read = guarded(|| Ok::<_, Error>((&mut stream).take(BLOCK_BYTES as u64).read_to_end(&mut block)));
        let item = match read {
            Ok(Ok(0)) => return,
            Ok(Ok(_)) => Ok(block),
            Ok(Err(error)) => Err(packing.told(error)),
            Err(error) => Err(io::Error::other(error.to_string())),
        };
        let ends = item.is_err();
        if sender.send(item).is_err() || ends {
            return;
        }
    }
}

impl Read for BlockReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() {
            match self.blocks.recv() {
                Ok(block) => (self.block, self.at) = (block?, 0),
                // The thread has ended.
                Err(_) => return Ok(0),
            }
        }
        let given = buffer.len().min(self.block.len() - self.at);
        buffer[..given].copy_from_slice(&self.block[self.at..self.at + given]);
        self.at += given;
        Ok(given)
    }
}

/// The error of a file operation.
pub(crate) fn io_error(path: &Path, error: &io::Error) -> Error {
    let text = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::NotFound => Error::invalid(SqlState::UndefinedFile, text),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
            Error::invalid(SqlState::BadCopyFileFormat, text)
        }
        _ => Error::Io(text),
    }
}
