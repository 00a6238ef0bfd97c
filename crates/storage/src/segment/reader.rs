//! Reading a segment: open, verify, and give column views.

use crate::cache::BlockCache;
use crate::dictionary::DictionaryVersion;
use crate::segment::{ColumnMeta, SegmentId, ZoneMap};
use crate::view::ColumnView;
use crate::{ColumnDefinition, ColumnId, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// An open segment. Holds its file open, so that it can be unlinked while readers use it.
#[derive(Debug)]
pub struct Segment {
    _private: (),
}

impl Segment {
    /// Opens the segment file `path` and verifies magic, version, directory checksum (against `directory_checksum` of
    /// the catalog) and length. `dictionaries` has, per dictionary-encoded column, the version that the catalog names.
    pub fn open(
        path: &Path,
        id: SegmentId,
        directory_checksum: u32,
        dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>,
        cache: Arc<BlockCache>,
    ) -> Result<Self> {
        let _ = (path, id, directory_checksum, dictionaries, cache);
        todo!()
    }

    /// Opens a delta image. `place` names it in errors ("delta block 3 of table t").
    pub fn from_image(image: Arc<[u8]>, id: SegmentId, place: &str, cache: Arc<BlockCache>) -> Result<Self> {
        let _ = (image, id, place, cache);
        todo!()
    }

    /// The same open segment with other dictionary versions (their arrays to the newest change when the union grows);
    /// shares the file and the cached blocks.
    pub fn with_dictionaries(&self, dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>) -> Self {
        let _ = dictionaries;
        todo!()
    }

    /// Its number.
    pub fn id(&self) -> SegmentId {
        todo!()
    }

    /// Records.
    pub fn rows(&self) -> usize {
        todo!()
    }

    /// Length of the file or image in bytes.
    pub fn bytes(&self) -> u64 {
        todo!()
    }

    /// True for a delta image.
    pub fn is_delta(&self) -> bool {
        todo!()
    }

    /// Columns that the segment has.
    pub fn columns(&self) -> &[ColumnMeta] {
        todo!()
    }

    /// One of them; `None` for a column added later.
    pub fn column(&self, column: ColumnId) -> Option<&ColumnMeta> {
        let _ = column;
        todo!()
    }

    /// The dictionary version that a column's codes refer to.
    pub fn dictionary(&self, column: ColumnId) -> Option<&Arc<DictionaryVersion>> {
        let _ = column;
        todo!()
    }

    /// Number of zones.
    pub fn zones(&self) -> usize {
        todo!()
    }

    /// Records of a zone.
    pub fn zone_rows(&self, zone: usize) -> Range<usize> {
        let _ = zone;
        todo!()
    }

    /// Zone map of a column, without reading its blocks; `None` for a column added later.
    pub fn zone_map(&self, column: ColumnId, zone: usize) -> Option<ZoneMap> {
        let _ = (column, zone);
        todo!()
    }

    /// The column's values in a zone; loads and verifies its blocks when they are not in the cache. A column that the
    /// segment does not have is the constant `definition.initial`.
    pub fn view(&self, definition: &ColumnDefinition, zone: usize) -> Result<ColumnView> {
        let _ = (definition, zone);
        todo!()
    }

    /// Reads every block past the cache and verifies checksums, bounds and zone maps; one error per damaged block.
    pub fn check(&self) -> Vec<crate::Error> {
        todo!()
    }
}
