//! Databases that are published, and opened from where they were.

use crate::Result;
use crate::database::{Database, DatabaseOptions, budget};
use crate::published::{PublishOptions, PublishReport, PublishedSource, SweepReport, publish, sweep};
use crate::session::Engine;
use gingham_storage::panics::guarded;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

impl DatabaseOptions {
    /// The number of the state that [`DatabaseOptions::open_url`] opens; the newest unless this gives one.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let url = format!("file://{}", folder.path().display());
    /// let database = gingham::Database::in_memory()?;
    /// for sql in ["CREATE TABLE t AS SELECT 1 AS n", "DROP TABLE t"] {
    ///     database.connect().execute(sql)?;
    ///     database.publish(&url, &gingham::PublishOptions::new())?;
    /// }
    /// let first = gingham::DatabaseOptions::new().as_of(1).open_url(&url)?;
    /// assert_eq!(first.connect().table("t")?.rows(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_of(mut self, number: impl Into<Option<u64>>) -> Self {
        self.url.as_of = number.into();
        self
    }

    /// The folder in which [`DatabaseOptions::open_url`] keeps what it has read of segment files, and the bytes that this may take. Without
    /// one that is the user's folder for caches, and 10 GiB; nothing is kept of a database that is published in a folder.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let url = format!("file://{}", folder.path().join("shop").display());
    /// gingham::Database::in_memory()?.publish(&url, &gingham::PublishOptions::new())?;
    /// let options = gingham::DatabaseOptions::new().url_cache(folder.path().join("cache"), 1 << 30);
    /// options.open_url(&url)?.connect().execute("SELECT 1")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn url_cache(mut self, folder: impl Into<PathBuf>, bytes: impl Into<Option<u64>>) -> Self {
        (self.url.cache, self.url.cache_bytes) = (Some(folder.into()), bytes.into());
        self
    }

    /// Opens what is published at `url` for reading. What is read of it is fetched when it is needed; [`Database::refresh`] and the
    /// statement REFRESH take a newer state.
    ///
    /// # Errors
    ///
    /// Nothing is published there, this build does not have that kind of store, or what is there is damaged.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let url = format!("file://{}", folder.path().display());
    /// assert!(gingham::DatabaseOptions::new().open_url(&url).is_err());
    /// gingham::Database::in_memory()?.publish(&url, &gingham::PublishOptions::new())?;
    /// assert!(gingham::DatabaseOptions::new().open_url(&url).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_url(&self, url: &str) -> Result<Database> {
        let budget = budget(self.memory_limit);
        guarded(|| {
            let (store, source) = PublishedSource::open(url, &self.url, Arc::clone(&budget))?;
            Ok(Database { engine: Engine::start_of(store, Some(source), budget, self.threads)? })
        })
    }
}

impl Database {
    /// Opens what is published at `url` for reading: `s3://bucket/shop`, `file:///srv/shop`.
    ///
    /// # Errors
    ///
    /// As [`DatabaseOptions::open_url`].
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let url = format!("file://{}", folder.path().display());
    /// let database = gingham::Database::in_memory()?;
    /// database.connect().execute("CREATE TABLE t AS SELECT 1 AS n")?;
    /// database.publish(&url, &gingham::PublishOptions::new())?;
    /// let elsewhere = gingham::Database::open_url(&url)?;
    /// assert_eq!(elsewhere.connect().table("t")?.rows(), 1);
    /// assert!(elsewhere.connect().execute("DROP TABLE t").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_url(url: &str) -> Result<Self> {
        DatabaseOptions::new().open_url(url)
    }

    /// Publishes the database as it is now at `url`, while it is in use: what the place does not have yet of its segment files, its
    /// catalog, and a manifest that names them. Readers find it when all of it is there.
    ///
    /// # Errors
    ///
    /// Another database is published there, somebody else publishes there at the same time, or the place can't be written. What was
    /// published before stays as it was.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let url = format!("file://{}", folder.path().display());
    /// let (one, two) = (gingham::Database::in_memory()?, gingham::Database::in_memory()?);
    /// assert_eq!(one.publish(&url, &gingham::PublishOptions::new())?.number, 1);
    /// assert!(two.publish(&url, &gingham::PublishOptions::new()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn publish(&self, url: &str, options: &PublishOptions) -> Result<PublishReport> {
        guarded(|| publish(&self.engine.store, url, options))
    }

    /// Removes at `url` what no state of the database needs that was the newest within `keep`; says only what it would remove when
    /// `dry_run`. Objects younger than a day are left, since they may be of a publication that is under way.
    ///
    /// # Errors
    ///
    /// Nothing is published there, or it can't be written.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let url = format!("file://{}", folder.path().display());
    /// let database = gingham::Database::in_memory()?;
    /// database.publish(&url, &gingham::PublishOptions::new())?;
    /// database.connect().execute("CREATE TABLE t (n INT)")?;
    /// database.publish(&url, &gingham::PublishOptions::new())?;
    /// let report = gingham::Database::sweep(&url, std::time::Duration::ZERO, true)?;
    /// assert_eq!(report.manifests, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sweep(url: &str, keep: Duration, dry_run: bool) -> Result<SweepReport> {
        guarded(|| sweep(url, keep, dry_run))
    }

    /// Shows the newest state of a database that was opened by its URL from here on; queries that run keep theirs. Gives the number
    /// of that state.
    ///
    /// # Errors
    ///
    /// It was not opened by a URL, or as of a number; or the place can't be read, and then it stays as it is.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let url = format!("file://{}", folder.path().display());
    /// let database = gingham::Database::in_memory()?;
    /// database.publish(&url, &gingham::PublishOptions::new())?;
    /// let elsewhere = gingham::Database::open_url(&url)?;
    /// database.connect().execute("CREATE TABLE t (n INT)")?;
    /// database.publish(&url, &gingham::PublishOptions::new())?;
    /// assert!(elsewhere.connect().table("t").is_err());
    /// assert_eq!(elsewhere.refresh()?, 2);
    /// assert!(elsewhere.connect().table("t").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refresh(&self) -> Result<u64> {
        guarded(|| self.engine.refresh())
    }

    /// The URL that the database was opened by; `None` of one in a folder.
    ///
    /// ```
    /// assert_eq!(gingham::Database::in_memory()?.url(), None);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn url(&self) -> Option<&str> {
        self.engine.published.as_ref().map(|source| source.url())
    }

    /// The number of the published state that is shown; `None` of a database in a folder.
    ///
    /// ```
    /// assert_eq!(gingham::Database::in_memory()?.published_number(), None);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn published_number(&self) -> Option<u64> {
        self.engine.published.as_ref().map(|source| source.shown())
    }
}
