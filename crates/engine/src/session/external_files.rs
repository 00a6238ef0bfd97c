//! Files that `SELECT … FROM 'file'` reads in place.

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

/// File names that `SELECT … FROM 'file'` reads in place.
const READABLE: &[&str] = &[".parquet", ".csv", ".json", ".ndjson"];

/// The file or folder at `path` as a table, for `SELECT … FROM 'path'`; `None` for what is no path of a readable file.
/// A folder ends in `/`.
pub(crate) async fn file(path: &str, state: &SessionState) -> Result<Option<Arc<dyn TableProvider>>> {
    let is_path = |path: &str| READABLE.iter().any(|ending| path.ends_with(ending)) || path.ends_with('/');
    if path.strip_suffix(".gz").is_some_and(is_path) {
        return Err(Error::Unsupported(format!("'{path}' is compressed, which is not read in place; unpack it first")));
    }
    if !is_path(path) {
        return Ok(None);
    }
    local(path)?;
    if !exists(path) {
        return Err(Error::invalid(SqlState::UndefinedFile, format!("file '{path}' does not exist")));
    }
    let url = url(path)?;
    require_rows(path, &url, state).await?;
    let config = ListingTableConfig::new(url).infer_options(state).await?;
    let config = config.infer_partitions_from_path(state).await?.infer_schema(state).await?;
    Ok(Some(Arc::new(ListingTable::try_new(config)?)))
}
