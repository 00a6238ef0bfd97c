//! Files that `SELECT … FROM 'file'` reads in place.

use crate::files::{ColumnarFiles, FileTable, FoundFiles, ReadOptions, find};
use crate::session::{Session, blocking};
use crate::{Error, Result};
use datafusion::catalog::TableProvider;
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
    session.require_admin(format_args!("reading file '{}'", patterns.join("', '")))?;
    let (own, options, rejects) = (patterns.clone(), options, session.rejects.clone());
    let (found, options) = blocking(move || Ok((FileTable::find(&own, &options, &rejects)?, options))).await?;
    match found {
        FoundFiles::Text(table) => Ok(Arc::new(table)),
        FoundFiles::Columns(paths, format) => {
            Ok(Arc::new(ColumnarFiles::open(&paths, format, &options, &session.state().0).await?))
        }
    }
}
