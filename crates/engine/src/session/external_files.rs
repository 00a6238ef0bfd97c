//! Files that `SELECT … FROM 'file'` reads in place.

use crate::files::{FileFormat, FileTable, ReadOptions, find};
use crate::session::{Session, blocking};
use crate::{Error, Result};
use datafusion::catalog::TableProvider;
use datafusion::datasource::listing::{ListingTable, ListingTableConfig, ListingTableConfigExt, ListingTableUrl};
use datafusion::execution::SessionState;
use futures::TryStreamExt;
use gingham_storage::SqlState;
use std::path::Path;
use std::sync::Arc;
use url::Url;

/// Refuses a location that is not on this machine.
pub(crate) fn local(location: &str) -> Result<()> {
    match location.split_once("://") {
        Some((scheme, _)) if scheme != "file" => Err(Error::Unsupported(format!(
            "'{location}' is not supported: locations are files and folders of this machine, not of {scheme}"
        ))),
        _ => Ok(()),
    }
}

/// Whether there is something at a location; patterns with `*` are taken at their word.
pub(crate) fn exists(location: &str) -> bool {
    let path = location.strip_prefix("file://").unwrap_or(location);
    path.contains(['*', '?', '[']) || Path::new(path).exists()
}

/// The location of what is at `path`, or of what its pattern finds where there is nothing of that very name.
fn url(path: &str) -> Result<ListingTableUrl> {
    let place = Path::new(path);
    let absolute = if place.exists() { std::path::absolute(place).ok() } else { None };
    let literal = absolute.and_then(|absolute| match path.ends_with('/') {
        true => Url::from_directory_path(absolute).ok(),
        false => Url::from_file_path(absolute).ok(),
    });
    Ok(match literal {
        Some(literal) => ListingTableUrl::parse(literal)?,
        None => ListingTableUrl::parse(path)?,
    })
}

/// Refuses a pattern that finds nothing, and a Parquet file without a byte: both would be a table without columns.
async fn require_rows(path: &str, url: &ListingTableUrl, state: &SessionState) -> Result<()> {
    if Path::new(path).is_file() {
        let is_empty = std::fs::metadata(path).is_ok_and(|known| known.len() == 0);
        return match is_empty && path.ends_with(".parquet") {
            true => {
                let text = format!("file '{path}' has no byte in it, and is no Parquet file");
                Err(Error::invalid(SqlState::BadCopyFileFormat, text))
            }
            false => Ok(()),
        };
    }
    let store = state.runtime_env().object_store(url)?;
    let mut files = url.list_all_files(state, store.as_ref(), "").await?;
    match files.try_next().await? {
        Some(_) => Ok(()),
        None => Err(Error::invalid(SqlState::UndefinedFile, format!("no file with rows is found at '{path}'"))),
    }
}

/// The files or the folder at `path` as a table, for `SELECT … FROM 'path'`; `None` for what is no path of a readable file. A folder
/// ends in `/`.
pub(crate) async fn file(path: &str, session: &Session) -> Result<Option<Arc<dyn TableProvider>>> {
    let is_read = find::of_name(Path::new(path)).is_some() || path.ends_with('/');
    match is_read {
        true => files(vec![path.to_owned()], ReadOptions::default(), session).await.map(Some),
        false => Ok(None),
    }
}

/// The files at `patterns` as a table.
pub(crate) async fn files(
    patterns: Vec<String>,
    options: ReadOptions,
    session: &Session,
) -> Result<Arc<dyn TableProvider>> {
    patterns.iter().try_for_each(|path| local(path))?;
    let format = options.format.or_else(|| find::of_name(Path::new(&patterns[0])));
    if matches!(format, Some(FileFormat::Csv | FileFormat::Tbl)) {
        let rejects = session.rejects.clone();
        let table = blocking(move || FileTable::find(&patterns, &options, &rejects)).await?;
        return Ok(Arc::new(table));
    }
    let path = &patterns[0];
    let state = &session.state().0;
    if !exists(path) {
        return Err(Error::invalid(SqlState::UndefinedFile, format!("file '{path}' does not exist")));
    }
    let url = url(path)?;
    require_rows(path, &url, state).await?;
    let config = ListingTableConfig::new(url).infer_options(state).await?;
    let config = config.infer_partitions_from_path(state).await?.infer_schema(state).await?;
    Ok(Arc::new(ListingTable::try_new(config)?))
}
