//! Heap pages: tables whose records are changed in place, in the layouts NSM, DSM and PAX (section 2 and 3 of "Data Page
//! Layouts for Relational Databases on Deep Memory Hierarchies").
//!
//! | file | what |
//! |---|---|
//! | `attribute` | a column as pages store it: codes of a fixed width, or byte strings |
//! | `field_column` | a column of an Arrow batch as pages take it |
//! | `head` | the 48 bytes that every page begins with |
//! | `bit` | bits of a bitmap in a page |
//! | `nsm/` | slotted pages of whole records; DSM's pages are such pages of pairs |
//! | `pax/` | pages of minipages, and the paper's algorithms on them |
//! | `load` | pages filled one after the other |
//! | `run` | pages filled in a file, before a transaction takes them |
//! | `columns` | a page's columns as the views that scans read |
//! | `gather` | the values of several pages as one view |
//! | `bounds` | what is known of an attribute's values |
//! | `index` | the keys of index entries, and runs of them for predicates |
//! | `store/` | heap tables: pages in the catalog's LMDB environment |
//! | `parts` | what the bytes of a page are, for people |
//! | `page` | a page of either kind: what the layouts have in common |
//!
//! docs/formats/heap.md is the byte map.

mod attribute;
mod bit;
mod bounds;
mod columns;
mod field_column;
mod gather;
mod head;
pub(crate) mod index;
mod load;
mod nsm;
mod page;
mod parts;
mod pax;
pub(crate) mod run;
pub(crate) mod store;
#[cfg(test)]
mod tests;

pub use attribute::{Attribute, Field, Kind, OverflowReference, PageSchema};
pub use bounds::ColumnBounds;
pub use head::{Deletes, HeapLayout, MAX_PAGE, MIN_PAGE, is_page_length};
pub use load::{HeapOptions, PageLoader};
pub use nsm::NsmPage;
pub use page::{Page, Update};
pub use parts::PagePart;
pub use pax::PaxPage;
pub use store::{DirectPage, DirectPages, DirectRead, MinipageColumn, PageColumn, SlottedColumn};
pub use store::{FoundPage, HeapReader, HeapRecord, HeapWriter, RECORD_IDS, RecordId};
