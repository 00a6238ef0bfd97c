//! Rows into files: several threads encode batches, and one writes them in the order of the rows.

use crate::files::Compression;
use crate::session::{StatementContext, blocking};
use crate::statements::transfer::copy_file::CopyFile;
use crate::statements::transfer::destination::CopyDestination;
use crate::statements::transfer::encode::{EncodedRows, Encoder};
use crate::statements::transfer::folders::Folders;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures::{StreamExt, TryStreamExt};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, channel};

/// Batches that may be encoded ahead of what is written.
const AHEAD: usize = 4;
/// Most files that are open at a time; another one takes the place of the one that has waited longest for records.
const OPEN_FILES: usize = 200;

/// Where rows are written.
#[derive(Debug)]
pub(super) enum CopyFiles {
    /// Into a new file.
    File(PathBuf),
    /// Into new files in folders.
    Folders(Folders),
}

impl CopyFiles {
    /// The rows of a batch by the folders that they go to.
    fn split(&self, batch: RecordBatch) -> Result<Vec<(String, RecordBatch)>> {
        match self {
            Self::File(_) => Ok(vec![(String::new(), batch)]),
            Self::Folders(folders) => folders.split(&batch),
        }
    }

    /// The file of that number in a folder, which is made.
    fn path(&self, folder: &str, number: usize) -> io::Result<PathBuf> {
        match self {
            Self::File(path) => Ok(path.clone()),
            Self::Folders(folders) => folders.file(folder, number),
        }
    }
}

/// Records of a batch, by folder.
type EncodedBatch = Vec<(String, EncodedRows)>;

/// Writes rows into files of `destination`, and gives their number.
pub(super) async fn write(
    context: &StatementContext,
    rows: SendableRecordBatchStream,
    encoder: Encoder,
    compression: Compression,
    (destination, files): (&Arc<CopyDestination>, CopyFiles),
) -> Result<u64> {
    let (encoder, files, threads) = (Arc::new(encoder), Arc::new(files), context.settings().threads.max(1));
    let (sender, receiver) = channel(AHEAD);
    let (own, places) = (Arc::clone(&encoder), Arc::clone(&files));
    // Who writes has it too, so that it is removed behind the last byte where nobody waits for that any more.
    let destination = Arc::clone(destination);
    let writing = blocking(move || {
        let written = write_all(&places, compression, &own, receiver);
        drop(destination);
        written
    });
    let sending = async move {
        let encoded = rows.map_err(Error::from).map(|batch| {
            let (encoder, files) = (Arc::clone(&encoder), Arc::clone(&files));
            async move {
                let batch = batch?;
                let records = batch.num_rows() as u64;
                let encode = move || -> Result<EncodedBatch> {
                    let parts = files.split(batch)?.into_iter();
                    parts.map(|(folder, batch)| Ok((folder, encoder.encode(batch)?))).collect()
                };
                Ok::<_, Error>((records, blocking(encode).await?))
            }
        });
        let mut encoded = std::pin::pin!(encoded.buffered(threads));
        let mut records = 0;
        while let Some((more, parts)) = encoded.try_next().await? {
            // Who writes has failed, and says why.
            if more > 0 && sender.send(parts).await.is_err() {
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
fn write_all(
    files: &CopyFiles,
    compression: Compression,
    encoder: &Encoder,
    mut batches: Receiver<EncodedBatch>,
) -> Result<()> {
    let failed = |error: io::Error| Error::from(DataFusionError::IoError(error));
    let mut open = OpenFiles { files, compression, encoder, open: HashMap::new(), finished: HashMap::new() };
    if let CopyFiles::File(_) = files {
        // It is there without records, too.
        open.of("").map_err(failed)?;
    }
    let mut batch_number = 0;
    while let Some(parts) = batches.blocking_recv() {
        batch_number += 1;
        for (folder, rows) in parts {
            let file = open.of(&folder).map_err(failed)?;
            file.last_batch = batch_number;
            file.write(rows, encoder).map_err(failed)?;
        }
    }
    open.open.into_values().try_for_each(|file| file.finish(encoder).map_err(failed))
}

/// The files that records are written into, one of each folder, as many as may be open.
struct OpenFiles<'f> {
    files: &'f CopyFiles,
    compression: Compression,
    encoder: &'f Encoder,
    open: HashMap<String, CopyFile>,
    /// How many files of a folder have ended.
    finished: HashMap<String, usize>,
}

impl OpenFiles<'_> {
    /// The file of a folder, a new one where none is open.
    fn of(&mut self, folder: &str) -> io::Result<&mut CopyFile> {
        if !self.open.contains_key(folder) {
            self.make_room()?;
            let path = self.files.path(folder, self.finished.get(folder).copied().unwrap_or(0))?;
            self.open.insert(folder.to_owned(), CopyFile::create(&path, self.compression, self.encoder)?);
        }
        self.open.get_mut(folder).ok_or_else(|| io::Error::other("a file that was opened is not open"))
    }

    /// Ends the file that has waited longest for records, where another one would be too many.
    fn make_room(&mut self) -> io::Result<()> {
        if self.open.len() < OPEN_FILES {
            return Ok(());
        }
        let oldest = self.open.iter().min_by_key(|(_, file)| file.last_batch).map(|(folder, _)| folder.clone());
        let Some((folder, file)) = oldest.and_then(|oldest| self.open.remove_entry(&oldest)) else { return Ok(()) };
        *self.finished.entry(folder).or_insert(0) += 1;
        file.finish(self.encoder)
    }
}
