//! Rows into a file of text: several threads encode batches, and one writes them in the order of the rows.

use crate::files::Compression;
use crate::session::{StatementContext, blocking};
use crate::statements::transfer::encode::Encoder;
use crate::{Error, Result};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use flate2::write::GzEncoder;
use futures::{StreamExt, TryStreamExt};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, channel};

/// Batches that may be encoded ahead of what is written.
const AHEAD: usize = 4;
/// The level of zstd that its command has.
const ZSTD_LEVEL: i32 = 3;

/// Writes rows into a new file at `path`, and gives their number.
pub(super) async fn write(
    context: &StatementContext,
    rows: SendableRecordBatchStream,
    encoder: Encoder,
    compression: Compression,
    path: &Path,
) -> Result<u64> {
    let (encoder, threads) = (Arc::new(encoder), context.settings().threads.max(1));
    let (sender, receiver) = channel(AHEAD);
    let (own, path) = (Arc::clone(&encoder), path.to_owned());
    let writing = blocking(move || write_all(&path, compression, &own, receiver));
    let sending = async move {
        let encoded = rows.map_err(Error::from).map(|batch| {
            let encoder = Arc::clone(&encoder);
            async move {
                let batch = batch?;
                let records = batch.num_rows() as u64;
                Ok::<_, Error>((records, blocking(move || encoder.encode(&batch)).await?))
            }
        });
        let mut encoded = std::pin::pin!(encoded.buffered(threads));
        let mut records = 0;
        while let Some((more, bytes)) = encoded.try_next().await? {
            // Who writes has failed, and says why.
            if more > 0 && sender.send(bytes).await.is_err() {
                break;
            }
            records += more;
        }
        Ok::<_, Error>(records)
    };
    let (records, written) = futures::join!(sending, writing);
    written?;
    records
}

/// Writes what comes, with what stands before, between and behind it.
fn write_all(path: &Path, compression: Compression, encoder: &Encoder, mut batches: Receiver<Vec<u8>>) -> Result<()> {
    let failed = |error: io::Error| Error::from(DataFusionError::IoError(error));
    let mut to = Packed::create(path, compression).map_err(failed)?;
    to.write_all(encoder.start()).map_err(failed)?;
    let mut is_first = true;
    while let Some(bytes) = batches.blocking_recv() {
        if !std::mem::take(&mut is_first) {
            to.write_all(encoder.between()).map_err(failed)?;
        }
        to.write_all(&bytes).map_err(failed)?;
    }
    to.write_all(encoder.end()).map_err(failed)?;
    to.finish().map_err(failed)
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
