//! Publishing: what is new of the segment files, the catalog, a manifest, and then `latest`. Whenever it is stopped, readers find what they
//! found before.

use crate::published::newest::{LATEST, newest, numbered};
use crate::published::place::ObjectPlace;
use crate::published::sweep::{REUSED_FOR, SweepReport, sweep_place};
use crate::published::threads;
use crate::{Error, Result};
use chrono::Utc;
use futures::{StreamExt, TryStreamExt, stream};
use gingham_storage::SqlState;
use gingham_storage::maintenance::{Publication, checksum};
use gingham_storage::published::{DatabaseId, Manifest, PublishedSegment, manifest_name};
use gingham_storage::store::Store;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Files that are sent at a time.
const SIDE_BY_SIDE: usize = 8;
/// Another process that writes may replace a file before it is sent; then all is done again.
const ATTEMPTS: usize = 10;

/// How to publish.
///
/// ```
/// use std::time::Duration;
///
/// let options = gingham::PublishOptions::new().keep(Duration::from_secs(86_400));
/// # drop(options);
/// ```
#[derive(Debug, Clone, Default)]
pub struct PublishOptions {
    keep: Option<Duration>,
    after: Option<(u64, u64)>,
}

impl PublishOptions {
    /// Publishing, and nothing besides.
    ///
    /// ```
    /// # drop(gingham::PublishOptions::new());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes behind it what no state needs that was the newest within this time, as [`Database::sweep`](crate::Database::sweep) does.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # drop(gingham::PublishOptions::new().keep(Duration::from_secs(3600)));
    /// ```
    #[must_use]
    pub fn keep(self, age: Duration) -> Self {
        Self { keep: Some(age), ..self }
    }

    /// Sends nothing, and asks the place for nothing, when the database is as it was for that publication of this program.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let url = format!("file://{}", folder.path().display());
    /// let database = gingham::Database::in_memory()?;
    /// let first = database.publish(&url, &gingham::PublishOptions::new())?;
    /// let second = database.publish(&url, &gingham::PublishOptions::new().after(&first))?;
    /// assert_eq!((second.number, second.is_new), (first.number, false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn after(self, before: &PublishReport) -> Self {
        Self { after: Some((before.number, before.commit)), ..self }
    }
}

/// What a publication has done.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let database = gingham::Database::in_memory()?;
/// database.connect().execute("CREATE TABLE t AS SELECT 1 AS n")?;
/// let report = database.publish(&format!("file://{}", folder.path().display()), &gingham::PublishOptions::new())?;
/// assert!(report.is_new && report.number == 1 && report.sent_bytes > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PublishReport {
    /// Number of the manifest that readers find now.
    pub number: u64,
    /// Number of the database's commit.
    pub commit: u64,
    /// Whether it was made now: false when the database was published as it is.
    pub is_new: bool,
    /// Objects that were sent, the catalog among them.
    pub sent: usize,
    /// Bytes of those.
    pub sent_bytes: u64,
    /// Bytes of the catalog's file, which is sent each time.
    pub catalog_bytes: u64,
    /// Bytes of all that a reader may need.
    pub bytes: u64,
    /// What was swept behind it.
    pub swept: Option<SweepReport>,
}

/// Publishes the latest commit of `store` at `url`.
pub(crate) fn publish(store: &Arc<Store>, url: &str, options: &PublishOptions) -> Result<PublishReport> {
    publish_at(store, ObjectPlace::of(url)?, options)
}

/// [`publish`] at a place.
pub(super) fn publish_at(
    store: &Arc<Store>,
    place: Arc<ObjectPlace>,
    options: &PublishOptions,
) -> Result<PublishReport> {
    if let Some((number, commit)) = options.after
        && store.snapshot()?.commit == commit
    {
        return Ok(PublishReport { number, commit, ..nothing_new() });
    }
    let (begun, database) = (Instant::now(), store.identify()?);
    let mut report = None;
    for _ in 0..ATTEMPTS {
        let own = Arc::clone(&place);
        let before = threads::wait(async move { newest(&own).await })?;
        require_same(&place, before.as_ref(), database)?;
        let scratch = tempfile::Builder::new().prefix("gingham-publish-").tempdir();
        let scratch = scratch.map_err(|error| Error::Io(format!("making a folder for the catalog's copy: {error}")))?;
        let publication = store.publication(scratch.path())?;
        let Some(sending) = Sending::new(store, &place, publication, before)? else { continue };
        if let Some(sent) = threads::wait(async move { sending.run(begun).await })? {
            report = Some(sent);
            break;
        }
    }
    let mut report = report.ok_or_else(|| {
        Error::Locked(format!(
            "{} is written so often that its files are replaced before they are sent; publish from the process that writes",
            store.path().display()
        ))
    })?;
    if let Some(keep) = options.keep {
        report.swept = Some(threads::wait(async move { sweep_place(&place, keep, false).await })?);
    }
    Ok(report)
}

fn nothing_new() -> PublishReport {
    PublishReport {
        number: 0,
        commit: 0,
        is_new: false,
        sent: 0,
        sent_bytes: 0,
        catalog_bytes: 0,
        bytes: 0,
        swept: None,
    }
}

/// Refuses a place where another database is published.
fn require_same(place: &ObjectPlace, before: Option<&Manifest>, database: DatabaseId) -> Result<()> {
    match before {
        Some(before) if before.database != database => Err(Error::invalid(
            SqlState::ObjectNotInPrerequisiteState,
            format!(
                "{} has another database (number {} where this one has {database}); publish this one somewhere else",
                place.url(),
                before.database
            ),
        )),
        _ => Ok(()),
    }
}

/// A publication on its way.
struct Sending {
    place: Arc<ObjectPlace>,
    publication: Publication,
    before: Option<Manifest>,
    manifest: Manifest,
    /// The segment files, by their places in the manifest.
    paths: Vec<PathBuf>,
}

impl Sending {
    /// Finds out what the manifest will say. `None` when a file is gone: another process has replaced it.
    fn new(
        store: &Arc<Store>,
        place: &Arc<ObjectPlace>,
        publication: Publication,
        before: Option<Manifest>,
    ) -> Result<Option<Self>> {
        let (catalog_length, catalog_checksum) = checksum(&publication.catalog)?;
        let mut segments: Vec<PublishedSegment> = Vec::with_capacity(publication.files.len());
        for file in &publication.files {
            match store.published_segment(file, before.as_ref()) {
                Ok(segment) => segments.push(segment),
                Err(_) if !file.path.exists() => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        let manifest = Manifest {
            format: publication.format,
            database: publication.database,
            number: before.as_ref().map_or(1, |before| before.number + 1),
            commit: publication.commit,
            time: publication.time,
            catalog_length,
            catalog_checksum,
            segments,
        };
        let paths = publication.files.iter().map(|file| file.path.clone()).collect();
        Ok(Some(Self { place: Arc::clone(place), publication, before, manifest, paths }))
    }

    fn report(&self) -> PublishReport {
        let segments: u64 = self.manifest.segments.iter().map(|segment| segment.length).sum();
        PublishReport {
            number: self.manifest.number,
            commit: self.manifest.commit,
            catalog_bytes: self.manifest.catalog_length,
            bytes: self.manifest.catalog_length + segments,
            ..nothing_new()
        }
    }

    /// Sends what is missing, then the manifest. `None` when a file is gone.
    async fn run(self, begun: Instant) -> Result<Option<PublishReport>> {
        let mut report = self.report();
        if let Some(before) = self.before.as_ref().filter(|before| self.is_what(before)) {
            // Who published it may have been stopped before readers were told.
            make_latest(&self.place, before.clone()).await?;
            return Ok(Some(PublishReport { number: before.number, ..report }));
        }
        let sent: Vec<Option<u64>> = stream::iter(self.new_segments())
            .map(|(segment, path)| send_segment(Arc::clone(&self.place), segment, path))
            .buffer_unordered(SIDE_BY_SIDE)
            .try_collect()
            .await?;
        if sent.contains(&None) {
            return Ok(None);
        }
        let (catalog, length) = (&self.publication.catalog, self.manifest.catalog_length);
        if !self.place.send(&self.manifest.catalog_name(), catalog, length).await? {
            return Err(Error::Io(format!("the catalog's copy {} is gone", catalog.display())));
        }
        if begun.elapsed() > REUSED_FOR {
            return Err(Error::Io(format!(
                "publishing took more than {} hours, so that a sweep may take what it has sent; publish again, which sends only what is missing",
                REUSED_FOR.as_secs() / 3600
            )));
        }
        self.name().await?;
        let sent = sent.into_iter().flatten().filter(|bytes| *bytes > 0);
        (report.sent, report.sent_bytes) = sent.fold((1, length), |(count, bytes), more| (count + 1, bytes + more));
        report.is_new = true;
        Ok(Some(report))
    }

    /// Whether a manifest shows the database as this one does.
    fn is_what(&self, before: &Manifest) -> bool {
        let Manifest { commit, catalog_length, catalog_checksum, segments, .. } = &self.manifest;
        (before.commit, before.catalog_length, before.catalog_checksum) == (*commit, *catalog_length, *catalog_checksum)
            && before.segments == *segments
    }

    /// The segment files that the manifest before does not name, and where they lie.
    fn new_segments(&self) -> Vec<(PublishedSegment, PathBuf)> {
        let known: HashSet<&PublishedSegment> = self.before.iter().flat_map(|before| &before.segments).collect();
        let all = self.manifest.segments.iter().zip(&self.paths);
        all.filter(|(segment, _)| !known.contains(segment)).map(|(segment, path)| (*segment, path.clone())).collect()
    }

    /// Puts the manifest, once and for all, and tells readers.
    async fn name(&self) -> Result<()> {
        let (bytes, number) = (self.manifest.to_bytes(), self.manifest.number);
        let name = manifest_name(number);
        // It may be ours: the answer to a first attempt may have been lost.
        if !self.place.create(&name, bytes.clone()).await?
            && self.place.get(&name).await?.as_deref() != Some(&bytes[..])
        {
            return Err(Error::Conflict(format!(
                "somebody else has published as number {number} at {} meanwhile; publish again",
                self.place.url()
            )));
        }
        make_latest(&self.place, self.manifest.clone()).await
    }
}

/// Sends a segment file, unless one who was stopped has sent it not long ago. Gives the bytes; `None` when the file is gone.
async fn send_segment(place: Arc<ObjectPlace>, segment: PublishedSegment, path: PathBuf) -> Result<Option<u64>> {
    let name = segment.name();
    if let Some(found) = place.look(&name).await?
        && found.length == segment.length
        && (Utc::now() - found.put).to_std().is_ok_and(|age| age < REUSED_FOR)
    {
        return Ok(Some(0));
    }
    let is_sent = place.send(&name, &path, segment.length).await?;
    Ok(is_sent.then_some(segment.length))
}

/// Tells readers of a manifest, or of those that have come since.
async fn make_latest(place: &ObjectPlace, mut manifest: Manifest) -> Result<()> {
    loop {
        place.put(LATEST, manifest.to_bytes()).await?;
        match numbered(place, manifest.number + 1).await? {
            Some(newer) => manifest = newer,
            None => return Ok(()),
        }
    }
}
