//! Files that `SELECT … FROM 'file'` reads in place.

use crate::{Error, Result};
use datafusion::catalog::TableProvider;
use datafusion::datasource::listing::{ListingTable, ListingTableConfig, ListingTableConfigExt, ListingTableUrl};
use datafusion::execution::SessionState;
use gingham_storage::SqlState;
use std::path::Path;
use std::sync::Arc;

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
    let url = ListingTableUrl::parse(path)?;
    let config = ListingTableConfig::new(url).infer_options(state).await?;
    let config = config.infer_partitions_from_path(state).await?.infer_schema(state).await?;
    Ok(Some(Arc::new(ListingTable::try_new(config)?)))
}
