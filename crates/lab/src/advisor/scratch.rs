//! A scratch database in which designs of one table are built side by side: each in a schema of its own, and each with a
//! connection whose statements find it under the table's name. The other tables are the database's own, by links to their files.

use super::stop::Stop;
use gingham::advisor::Candidate;
use gingham::storage::scan::TableScan;
use gingham::storage::snapshot::TableSnapshot;
use gingham::storage::store::WriteOptions;
use gingham::storage::{Predicate, TableDefinition, TableName};
use gingham::{Connection, Database, Error, Result, lab};
use gingham_kernels::Isa;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Records of a batch that is copied.
const BATCH: usize = 1 << 16;
/// How long the end of a statement that failed may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The part of a table of many segments that is copied.
const SAMPLE: f64 = 0.05;
/// Records that a sample has at least: those of a segment.
const LEAST_SAMPLE: u64 = 1 << 20;

/// The scratch database.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Dropped in this order.
    database: Database,
    _gone: UntilGone,
    /// Bytes of its own that it may have.
    limit: u64,
    /// Designs built so far, for the names of schemas.
    built: usize,
}

/// Waits until a scratch database's folder is gone: threads of the last statement may have it for a moment.
#[derive(Debug)]
struct UntilGone(PathBuf);

impl Drop for UntilGone {
    fn drop(&mut self) {
        let begun = Instant::now();
        while self.0.exists() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// One design as a table.
#[derive(Debug)]
pub(crate) struct Built {
    /// Finds the design under the table's name.
    pub(crate) connection: Connection,
    name: TableName,
    /// Bytes of its records.
    pub(crate) bytes: u64,
}

/// Which zones of a table are copied.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    morsels: Vec<usize>,
    /// The part of the table's records that they have.
    pub(crate) share: f64,
}

impl Scratch {
    /// Copies the database as it is now; the copy may grow to so many bytes of its own.
    pub(crate) fn of(database: &Database, limit: u64) -> Result<Self> {
        // Heap pages are part of the catalog, which is copied.
        let catalog = std::fs::metadata(database.path().join("catalog/data.mdb")).map_or(0, |file| file.len());
        let room = limit.min(free_bytes(database.path()));
        if catalog > room {
            return Err(no_room(database.path(), catalog, room));
        }
        let database = lab::scratch_copy(database)?;
        let _gone = UntilGone(database.path().to_path_buf());
        Ok(Self { database, _gone, limit, built: 0 })
    }

    /// A connection that sees the tables as they are.
    pub(crate) fn connect(&self) -> Connection {
        self.database.connect()
    }

    /// Bytes that tables may still take: of the limit, and on the disk.
    pub(crate) fn room(&self) -> u64 {
        let left = self.limit.saturating_sub(folder_bytes(self.database.path(), own_bytes));
        left.min(free_bytes(self.database.path()))
    }

    /// An error when there is no room for so many bytes.
    pub(crate) fn require_room(&self, bytes: u64) -> Result<()> {
        let room = self.room();
        if room >= bytes { Ok(()) } else { Err(no_room(self.database.path(), bytes, room)) }
    }

    /// Makes a table of a design and copies records of `table` into it.
    pub(crate) fn build(
        &mut self,
        table: &Arc<TableSnapshot>,
        sample: &Sample,
        candidate: &Candidate,
        stop: &Stop,
    ) -> Result<Built> {
        let own = &table.definition.name;
        self.built += 1;
        let name = TableName { schema: format!("gingham advisor {}", self.built), table: own.table.clone() };
        let definition = candidate.definition(&table.definition, name.clone());
        lab::store(&self.database).write(|transaction| {
            transaction.create_schema(&name.schema)?;
            transaction.create_table(definition)
        })?;
        let connection = self.database.connect();
        lab::stand_in(&connection, own.clone(), name.clone())?;
        let built = Built { connection, name, bytes: 0 };
        let filled = stop.while_running(&built.connection, || self.fill(table, sample, &built, stop));
        match filled {
            Ok(bytes) => Ok(Built { bytes, ..built }),
            Err(error) => {
                self.remove(built);
                Err(error)
            }
        }
    }

    /// Copies the records and gives the table the form that ALTER TABLE would: no delta, and in order. Returns its bytes.
    fn fill(&self, table: &Arc<TableSnapshot>, sample: &Sample, built: &Built, stop: &Stop) -> Result<u64> {
        let quoted = reference(&built.name);
        let columns = table.definition.columns.iter().map(|column| column.id).collect();
        let scan = TableScan::new(Arc::clone(table), columns, Predicate::Constant(true), BATCH, Isa::best())?;
        let scan = Arc::new(scan);
        let mut appender = built.connection.appender(&quoted)?;
        for morsel in &sample.morsels {
            for batch in scan.read(*morsel)? {
                stop.check()?;
                appender.append_batch(batch?)?;
            }
        }
        appender.finish()?;
        built.connection.execute(&format!("OPTIMIZE TABLE {quoted}"))?;
        Ok(table_bytes(&*built.connection.table(&quoted)?))
    }

    /// Gives a table of the database's a design, here alone.
    pub(crate) fn arrange(&self, definition: &TableDefinition, candidate: &Candidate, stop: &Stop) -> Result<()> {
        let mut watch = |_, _| if stop.is_stopped() { Err(gingham::storage::Error::Cancelled) } else { Ok(()) };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (arrangement, options) = (candidate.arrangement(definition), WriteOptions::default());
        lab::store(&self.database).set_arrangement(&definition.name, &arrangement, threads, &mut watch, &options)?;
        Ok(())
    }

    /// Removes a design's table.
    pub(crate) fn remove(&self, built: Built) {
        let Built { connection, name, .. } = built;
        drop(connection);
        // What stays goes with the scratch database.
        let _ = lab::store(&self.database).write(|transaction| transaction.drop_schema(&name.schema, true));
    }
}

impl Sample {
    /// All of a table.
    pub(crate) fn whole(table: &Arc<TableSnapshot>) -> Result<Self> {
        let scan = scan_of(table)?;
        Ok(Self { morsels: (0..scan.morsels()).collect(), share: 1.0 })
    }

    /// Segments spread over the table, or runs of pages: a twentieth of it, and a segment at least; all of a table that has hardly
    /// more.
    pub(crate) fn of(table: &Arc<TableSnapshot>) -> Result<Self> {
        let rows = table.rows();
        if rows < 2 * LEAST_SAMPLE {
            return Self::whole(table);
        }
        let scan = scan_of(table)?;
        // Morsels that lie together: those of a segment, or as many of pages as have as many records.
        let mut runs: Vec<(Vec<usize>, u64)> = Vec::new();
        for morsel in 0..scan.morsels() {
            let of_morsel = scan.count(morsel)? as u64;
            match runs.last_mut().filter(|(_, rows)| rows + of_morsel <= LEAST_SAMPLE) {
                Some((run, rows)) => {
                    run.push(morsel);
                    *rows += of_morsel;
                }
                None => runs.push((vec![morsel], of_morsel)),
            }
        }
        let wanted = ((SAMPLE * runs.len() as f64) as usize).max(1);
        let chosen = (0..wanted).map(|number| &runs[(2 * number + 1) * runs.len() / (2 * wanted)]);
        let (mut morsels, mut taken) = (Vec::new(), 0);
        for (run, of_run) in chosen {
            morsels.extend(run);
            taken += of_run;
        }
        Ok(Self { morsels, share: taken as f64 / rows as f64 })
    }

    /// How many times as large the table is.
    pub(crate) fn scale(&self) -> f64 {
        1.0 / self.share.max(1e-9)
    }

    /// Whether it is the whole table.
    pub(crate) fn is_whole(&self) -> bool {
        self.share >= 1.0
    }
}

fn scan_of(table: &Arc<TableSnapshot>) -> Result<TableScan> {
    Ok(TableScan::new(Arc::clone(table), Vec::new(), Predicate::Constant(true), BATCH, Isa::best())?)
}

/// A table's name as SQL has it.
pub(crate) fn reference(name: &TableName) -> String {
    format!("{}.{}", gingham::quoted(&name.schema), gingham::quoted(&name.table))
}

/// Bytes of a table's records, wherever they lie.
pub(crate) fn table_bytes(table: &TableSnapshot) -> u64 {
    let parts: u64 = table.segments.iter().chain(&table.delta).map(|part| part.bytes()).sum();
    let page = table.heap.as_ref().map_or(0, |heap| heap.pages * heap.options.page_bytes as u64);
    parts + page
}

fn no_room(folder: &Path, needed: u64, room: u64) -> Error {
    Error::Io(format!(
        "no room for scratch tables in {}: {needed} more bytes are needed and {room} may be taken; free some, or give more of \
         the disk with --disk",
        folder.display()
    ))
}

/// Bytes that may be taken of a folder's disk: the last tenth is for others. All where the system does not say.
fn free_bytes(folder: &Path) -> u64 {
    gingham::storage::io::free_bytes(folder).map_or(u64::MAX, |free| free / 10 * 9)
}

/// What `of` says of the files of a folder, those of folders within it too, added up.
pub(crate) fn folder_bytes(folder: &Path, of: fn(&Metadata) -> u64) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path(), of),
        Ok(metadata) => of(&metadata),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Bytes that a file takes on disk; none for one that other folders have too, by links.
#[cfg(unix)]
fn own_bytes(file: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    if file.nlink() > 1 { 0 } else { file.blocks() * 512 }
}

#[cfg(not(unix))]
fn own_bytes(file: &Metadata) -> u64 {
    file.len()
}
