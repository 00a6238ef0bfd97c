//! One file that COPY TO writes: text, packed or not, or columns.

use crate::files::Compression;
use crate::statements::transfer::encode::{EncodedRows, Encoder};
use arrow::ipc::writer::FileWriter;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The level of zstd that its command has.
const ZSTD_LEVEL: i32 = 3;
/// Bytes of a Parquet file's row group that are held in memory.
const GROUP_BYTES: usize = 8 << 20;

/// A file that batches are written into.
pub(super) struct CopyFile {
    to: FileContent,
    /// The number of the last batch with records of it.
    pub(super) last_batch: u64,
}

enum FileContent {
    Text { to: Box<Packed>, is_empty: bool },
    Parquet(Box<ArrowWriter<File>>),
    Arrow(Box<FileWriter<BufWriter<File>>>),
}

impl CopyFile {
    pub(super) fn create(path: &Path, compression: Compression, encoder: &Encoder) -> io::Result<Self> {
        let to = match encoder {
            Encoder::Csv(_) | Encoder::Json(_) => {
                let mut to = Packed::create(path, compression)?;
                to.write_all(encoder.start())?;
                FileContent::Text { to: Box::new(to), is_empty: true }
            }
            Encoder::Parquet(schema, properties) => {
                let writer =
                    ArrowWriter::try_new(File::create(path)?, schema.clone(), Some(properties.as_ref().clone()));
                FileContent::Parquet(Box::new(writer.map_err(io::Error::other)?))
            }
            Encoder::Arrow(schema) => {
                let writer = FileWriter::try_new(BufWriter::new(File::create(path)?), schema);
                FileContent::Arrow(Box::new(writer.map_err(io::Error::other)?))
            }
        };
        Ok(Self { to, last_batch: 0 })
    }

    pub(super) fn write(&mut self, rows: EncodedRows, encoder: &Encoder) -> io::Result<()> {
        match (&mut self.to, rows) {
            (FileContent::Text { to, is_empty }, EncodedRows::Text(bytes)) => {
                if !std::mem::take(is_empty) {
                    to.write_all(encoder.between())?;
                }
                to.write_all(&bytes)
            }
            (FileContent::Parquet(to), EncodedRows::Columns(batch)) => {
                to.write(&batch)?;
                if to.in_progress_size() > GROUP_BYTES { Ok(to.flush()?) } else { Ok(()) }
            }
            (FileContent::Arrow(to), EncodedRows::Columns(batch)) => to.write(&batch).map_err(io::Error::other),
            _ => Err(io::Error::other("rows of another format")),
        }
    }

    pub(super) fn finish(self, encoder: &Encoder) -> io::Result<()> {
        match self.to {
            FileContent::Text { mut to, .. } => {
                to.write_all(encoder.end())?;
                (*to).finish()
            }
            FileContent::Parquet(to) => Ok(to.close().map(drop)?),
            FileContent::Arrow(mut to) => to.finish().and_then(|()| to.into_inner()).map_err(io::Error::other)?.flush(),
        }
    }
}

/// A file that is packed while it is written.
enum Packed {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl Packed {
    fn create(path: &Path, compression: Compression) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 18, File::create(path)?);
        Ok(match compression {
            Compression::Gzip => Self::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Compression::Zstd => Self::Zstd(zstd::Encoder::new(file, ZSTD_LEVEL)?),
            Compression::None | Compression::Auto => Self::Plain(file),
        })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(to) => to.write_all(bytes),
            Self::Gzip(to) => to.write_all(bytes),
            Self::Zstd(to) => to.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        let mut file = match self {
            Self::Plain(file) => file,
            Self::Gzip(to) => to.finish()?,
            Self::Zstd(to) => to.finish()?,
        };
        file.flush()
    }
}
