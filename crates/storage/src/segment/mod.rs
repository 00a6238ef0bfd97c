//! Segments: immutable horizontal runs of a table's records, each a file (or, for the delta, a value of the catalog).
//!
//! A segment is divided into zones of `zone_rows` records; a block is what one column stores for one zone, with its own
//! checksum. docs/formats/segment.md is the byte map. An UPDATE of many records writes the columns that it changes as a file of their
//! own, and the segment has the others in the files that were there.

pub(crate) mod block;
pub(crate) mod cache;
pub(crate) mod decode;
pub(crate) mod dense;
pub(crate) mod directory;
pub(crate) mod filter;
pub(crate) mod filter_reader;
pub(crate) mod format;
pub(crate) mod group;
pub(crate) mod joined;
pub(crate) mod key_hash;
pub(crate) mod load;
pub(crate) mod memo;
pub(crate) mod meta;
pub(crate) mod reader;
pub(crate) mod region;
pub(crate) mod scratch;
pub(crate) mod source;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod writer;

pub use crate::segment::cache::BlockCache;
pub use crate::segment::dense::form::{DenseMeta, PageField};
pub use crate::segment::group::GroupMeta;
pub use crate::segment::meta::{ColumnMeta, SegmentId, ZoneMap};
pub use crate::segment::reader::Segment;
pub use crate::segment::writer::{WrittenSegment, write_segment_file, write_segment_image};
