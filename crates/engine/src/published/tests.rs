//! Publishing to a store that fails at any of its writes, publishers beside each other, and sweeps.

use crate::published::newest::{latest, newest};
use crate::published::open::{PublishedSource, UrlOptions};
use crate::published::place::ObjectPlace;
use crate::published::send::{PublishOptions, PublishReport, publish_at};
use crate::published::sweep::{SweepReport, sweep_older};
use crate::published::threads;
use crate::{Database, Error, Result};
use async_trait::async_trait;
use datafusion::object_store::memory::InMemory;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use futures::stream::BoxStream;
use gingham_storage::io::MemoryBudget;
use gingham_storage::store::Store;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::time::Duration;

type StoreResult<T> = std::result::Result<T, StoreError>;

/// A store in memory whose writes fail from some one on, before they are done or right after.
#[derive(Debug)]
struct Failing {
    inner: InMemory,
    writes_left: AtomicIsize,
    does_the_last: AtomicBool,
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a store that fails")
    }
}

fn refused() -> StoreError {
    StoreError::Generic { store: "failing", source: "the store is gone".into() }
}

#[async_trait]
impl ObjectStore for Failing {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> StoreResult<PutResult> {
        let left = self.writes_left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 || left == 0 && self.does_the_last.load(Ordering::SeqCst) {
            let put = self.inner.put_opts(location, payload, options).await;
            return if left > 0 { put } else { put.and(Err(refused())) };
        }
        Err(refused())
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> StoreResult<GetResult> {
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, StoreResult<Path>>) -> BoxStream<'static, StoreResult<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

struct World {
    store: Arc<Failing>,
    place: Arc<ObjectPlace>,
    database: Database,
    cache: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let (writes_left, does_the_last) = (AtomicIsize::new(isize::MAX), AtomicBool::new(false));
        let store = Arc::new(Failing { inner: InMemory::new(), writes_left, does_the_last });
        let place = ObjectPlace::in_store(Arc::clone(&store) as _, "mem://place");
        Self { store, place, database: Database::in_memory().unwrap(), cache: tempfile::tempdir().unwrap() }
    }

    /// Opens a state, with so many bytes of memory and of disk.
    fn open(&self, as_of: Option<u64>, memory: usize, disk: u64) -> Result<(Arc<Store>, Arc<PublishedSource>)> {
        let cache = Some(self.cache.path().to_path_buf());
        let options = UrlOptions { as_of, cache, cache_bytes: Some(disk) };
        PublishedSource::open_at(Arc::clone(&self.place), &options, MemoryBudget::new(memory))
    }

    /// Adds a segment to each of two tables.
    fn grow(&self, round: usize) {
        let connection = self.database.connect();
        for table in ["a", "b"] {
            let sql = format!("CREATE TABLE IF NOT EXISTS {table} (n BIGINT, round BIGINT)");
            connection.execute(&sql).unwrap();
            let rows = format!("SELECT value, {round} FROM generate_series(1, 20000)");
            connection.execute(&format!("INSERT INTO {table} {rows}")).unwrap();
        }
    }

    fn publish(&self) -> Result<PublishReport> {
        publish_at(&self.database.engine().store, Arc::clone(&self.place), &PublishOptions::new())
    }

    /// The number that readers find, after they have read all of it.
    fn read(&self) -> Result<u64> {
        let (store, source) = self.open(None, 1 << 28, 1 << 20)?;
        let report = store.check()?;
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let snapshot = store.snapshot()?;
        let rows: Vec<u64> = snapshot.tables.values().map(|table| table.rows()).collect();
        assert!(rows.windows(2).all(|pair| pair[0] == pair[1]), "tables of two states: {rows:?}");
        assert_eq!(rows.first().copied().unwrap_or(0), 20_000 * source.shown());
        Ok(source.shown())
    }

    fn objects(&self) -> usize {
        let place = Arc::clone(&self.place);
        threads::wait(async move { Ok(place.list("segments").await?.len() + place.list("catalogs").await?.len()) })
            .unwrap()
    }

    fn sweep(&self, keep: Duration, age: Duration, dry_run: bool) -> SweepReport {
        let place = Arc::clone(&self.place);
        threads::wait(async move { sweep_older(&place, keep, age, dry_run).await }).unwrap()
    }
}

#[test]
fn a_store_that_fails_at_any_write_leaves_what_was_published() {
    // Two segment files, the catalog, the manifest, and what tells readers.
    for (does_the_last, writes) in [false, true].into_iter().flat_map(|does| (0..5).map(move |writes| (does, writes))) {
        let world = World::new();
        world.grow(1);
        assert_eq!(world.publish().unwrap().number, 1);
        world.grow(2);
        world.store.does_the_last.store(does_the_last, Ordering::SeqCst);
        world.store.writes_left.store(writes, Ordering::SeqCst);
        let error = world.publish().unwrap_err().to_string();
        assert!(error.contains("the store is gone") && error.contains("mem://place/"), "{error}");
        let is_told = does_the_last && writes == 4;
        assert_eq!(world.read().unwrap(), if is_told { 2 } else { 1 }, "after {writes} writes");
        world.store.writes_left.store(isize::MAX, Ordering::SeqCst);
        assert_eq!(world.publish().unwrap().number, 2, "after {writes} writes");
        assert_eq!(world.read().unwrap(), 2);
        assert_eq!(world.objects(), 6, "four segment files and two catalogs, none a second time");
    }
}

#[test]
fn what_did_not_change_is_not_published_again() {
    let world = World::new();
    world.grow(1);
    let first = world.publish().unwrap();
    assert_eq!((first.sent, first.is_new), (3, true));
    let second = world.publish().unwrap();
    assert_eq!((second.number, second.sent, second.is_new), (1, 0, false));
    world.grow(2);
    let third = world.publish().unwrap();
    assert_eq!((third.number, third.sent, third.is_new), (2, 3, true), "two new files and the catalog");
    assert!(third.sent_bytes < third.bytes);
    assert_eq!(world.read().unwrap(), 2);
}

#[test]
fn of_publishers_at_once_one_wins_and_the_others_are_told() {
    let world = World::new();
    world.grow(1);
    world.database.engine().store.identify().unwrap();
    let reports: Vec<Result<PublishReport>> = std::thread::scope(|scope| {
        let publish = || world.publish();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(publish)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let new = reports.iter().flatten().filter(|report| report.is_new).count();
    for error in reports.iter().filter_map(|report| report.as_ref().err()) {
        assert!(matches!(error, Error::Conflict(text) if text.contains("publish again")), "{error}");
    }
    assert!(new >= 1);
    let place = Arc::clone(&world.place);
    let (found, all) =
        threads::wait(async move { Ok((latest(&place).await?.unwrap(), newest(&place).await?.unwrap())) }).unwrap();
    assert_eq!((found.number, all.number), (new as u64, new as u64));
}

#[test]
fn another_database_is_refused() {
    let (world, mut other) = (World::new(), World::new());
    world.grow(1);
    world.publish().unwrap();
    other.place = Arc::clone(&world.place);
    other.grow(1);
    let error = other.publish().unwrap_err();
    assert!(matches!(&error, Error::InvalidInput(problem) if problem.text.contains("has another database")), "{error}");
    assert_eq!(world.read().unwrap(), 1);
}

#[test]
fn a_sweep_takes_what_no_state_needs_that_is_kept() {
    let world = World::new();
    for round in 1..=4 {
        world.grow(round);
        world.publish().unwrap();
        if round == 2 {
            // What is merged leaves files that later states don't have.
            for table in ["a", "b"] {
                world.database.connect().execute(&format!("OPTIMIZE {table}")).unwrap();
            }
        }
    }
    // Sent by one who was stopped.
    let place = Arc::clone(&world.place);
    threads::wait(async move { place.put("segments/9/9-00000000", vec![1; 10]).await }).unwrap();
    let all = world.objects();
    let hour = Duration::from_secs(3600);
    let kept = world.sweep(hour, Duration::ZERO, true);
    assert_eq!((kept.manifests.len(), kept.left), (0, 4), "all are young");
    assert_eq!(kept.objects, ["segments/9/9-00000000"]);
    let young = world.sweep(Duration::ZERO, hour, true);
    assert_eq!((young.manifests.as_slice(), young.objects.len()), (&[1, 2, 3][..], 0), "objects are too young");
    let dry = world.sweep(Duration::ZERO, Duration::ZERO, true);
    assert!(dry.objects.len() >= 4, "{:?}", dry.objects);
    assert_eq!((dry.manifests.as_slice(), dry.left), (&[1, 2, 3][..], 1));
    assert_eq!(world.objects(), all, "a dry run removes nothing");
    let (store, _source) = world.open(None, 1 << 28, 0).unwrap();
    let swept = world.sweep(Duration::ZERO, Duration::ZERO, false);
    assert_eq!((swept.objects.len(), swept.bytes), (dry.objects.len(), dry.bytes));
    assert_eq!(world.objects(), all - swept.objects.len());
    // A reader of the newest state goes on, and the next finds it whole.
    assert!(store.check().unwrap().errors.is_empty());
    assert_eq!(world.read().unwrap(), 4);
    let gone = world.open(Some(2), 1 << 28, 0).unwrap_err();
    assert!(gone.to_string().contains("swept"), "{gone}");
    let again = world.sweep(Duration::ZERO, Duration::ZERO, false);
    assert_eq!((again.manifests.len(), again.objects.len(), again.left), (0, 0, 1));
    world.grow(5);
    assert_eq!(world.publish().unwrap().number, 5);
}

#[test]
fn a_reader_whose_state_is_swept_is_told_which_object_is_gone() {
    let world = World::new();
    world.grow(1);
    world.publish().unwrap();
    // With memory or a disk it would have kept what it has read.
    let (store, source) = world.open(None, 1000, 0).unwrap();
    for table in ["a", "b"] {
        world.database.connect().execute(&format!("DROP TABLE {table}")).unwrap();
    }
    world.publish().unwrap();
    assert_eq!(world.sweep(Duration::ZERO, Duration::ZERO, false).objects.len(), 3);
    let errors = store.check().unwrap().errors;
    assert!(!errors.is_empty());
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("mem://place/segments/") && text.contains("missing"), "{text}");
    }
    assert_eq!(source.refresh(&store).unwrap(), 2);
    assert!(store.check().unwrap().errors.is_empty());
}
