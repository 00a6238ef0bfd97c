//! Files that `SELECT … FROM 'file'` reads in place: text by the readers of `files`, columns by DataFusion.

use crate::files::{FileFormat, FileTable, FoundFiles, ReadOptions, find};
use crate::session::{Session, blocking};
use crate::{Error, Result};
use datafusion::catalog::TableProvider;
use datafusion::datasource::file_format::FileFormat as ListedFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
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

/// Refuses a Parquet file without a byte, which would be a table without columns.
fn require_bytes(path: &str) -> Result<()> {
    let is_empty = std::fs::metadata(path).is_ok_and(|known| known.is_file() && known.len() == 0);
    match is_empty && path.ends_with(".parquet") {
        true => {
            let text = format!("file '{path}' has no byte in it, and is no Parquet file");
            Err(Error::invalid(SqlState::BadCopyFileFormat, text))
        }
        false => Ok(()),
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
    let (own, options, rejects) = (patterns.clone(), options, session.rejects.clone());
    let (found, options) = blocking(move || Ok((FileTable::find(&own, &options, &rejects)?, options))).await?;
    let format = match found {
        FoundFiles::Text(table) => return Ok(Arc::new(table)),
        FoundFiles::Columns(format) => format,
    };
    if options.filename {
        return Err(Error::Unsupported("filename is an option of delimited text and JSON only".to_owned()));
    }
    let state = &session.state().0;
    let mut urls = Vec::with_capacity(patterns.len());
    for path in &patterns {
        require_bytes(path)?;
        urls.push(url(path)?);
    }
    let listing = ListingOptions::new(listed_format(format, state));
    // A folder may have other files too; a file is meant whatever its name ends in.
    let ending = if patterns.iter().all(|path| path.ends_with('/')) { listing.format.get_ext() } else { String::new() };
    let config =
        ListingTableConfig::new_with_multi_paths(urls).with_listing_options(listing.with_file_extension(ending));
    let config = config.infer_partitions_from_path(state).await?;
    let config = config.infer_schema(state).await.map_err(|error| match error {
        DataFusionError::ParquetError(error) => {
            let text = format!("{} can't be read as Parquet: {error}", patterns.join(", "));
            Error::invalid(SqlState::BadCopyFileFormat, text)
        }
        other => other.into(),
    })?;
    Ok(Arc::new(ListingTable::try_new(config)?))
}

/// How DataFusion reads files of columns.
fn listed_format(format: FileFormat, state: &SessionState) -> Arc<dyn ListedFormat> {
    match format {
        FileFormat::Arrow => Arc::new(ArrowFormat),
        _ => Arc::new(ParquetFormat::default().with_options(state.default_table_options().parquet)),
    }
}
