//! A segment whose columns lie in several files: its own has those that an UPDATE has written anew, the files of segments that had
//! the same records before have the others.

use crate::segment::group::GroupMeta;
use crate::segment::meta::ColumnMeta;
use crate::segment::reader::Opened;
use crate::{ColumnId, Error, Result};
use std::sync::Arc;

/// Where the columns of such a segment lie.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// The segment's own file, then the others.
    pub(super) files: Vec<Arc<Opened>>,
    /// The columns, those of the first file first.
    pub(super) columns: Vec<ColumnMeta>,
    /// Their groups, without columns that are read from other files.
    pub(super) groups: Vec<GroupMeta>,
    /// For each column its file and its place there.
    pub(super) sources: Vec<(usize, usize)>,
}

impl Joined {
    /// All columns of `own`, and of each other file those that are named.
    pub(super) fn new(own: &Arc<Opened>, others: &[(Arc<Opened>, Vec<ColumnId>)]) -> Result<Self> {
        let mut joined = Self::default();
        joined.add(own, None)?;
        for (file, columns) in others {
            let (zones, rows) = (file.directory.zone_rows, file.directory.rows);
            if rows != own.directory.rows || zones != own.directory.zone_rows {
                let detail = format!(
                    "{rows} records by {zones} where segment {}, which has some of its columns, has {} by {}",
                    own.id, own.directory.rows, own.directory.zone_rows
                );
                return Err(Error::corrupt(&file.place, detail));
            }
            joined.add(file, Some(columns))?;
        }
        Ok(joined)
    }

    /// Adds a file's columns, all or some.
    fn add(&mut self, file: &Arc<Opened>, some: Option<&[ColumnId]>) -> Result<()> {
        let (number, known) = (self.files.len(), self.columns.len());
        for group in &file.directory.groups {
            let mut columns = Vec::with_capacity(group.columns.len());
            for place in &group.columns {
                let meta = &file.directory.columns[*place];
                if some.is_some_and(|some| !some.contains(&meta.column)) {
                    continue;
                }
                if self.columns.iter().any(|known| known.column == meta.column) {
                    return Err(Error::corrupt(&file.place, format!("column {} is in two files", meta.column)));
                }
                columns.push(self.columns.len());
                self.columns.push(meta.clone());
                self.sources.push((number, *place));
            }
            if !columns.is_empty() {
                self.groups.push(GroupMeta { columns, ..group.clone() });
            }
        }
        let missing = |column: &&ColumnId| self.columns[known..].iter().all(|meta| meta.column != **column);
        if let Some(column) = some.and_then(|some| some.iter().find(missing)) {
            return Err(Error::corrupt(&file.place, format!("column {column}, which the catalog names, is not there")));
        }
        self.files.push(Arc::clone(file));
        Ok(())
    }
}
