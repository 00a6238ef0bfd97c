//! Heap pages as bytes and views, without the catalog: pages of records that are changed in place (the PAX paper).
//!
//! | file | what |
//! |---|---|
//! | `head` | the 48 bytes that every page begins with, and the options of a page layout |
//! | `page`, `parts` | a page of either kind; what its bytes are, part by part |
//! | `nsm/`, `pax/` | slotted records, of which DSM's pairs are some; minipages |
//! | `attribute`, `bit` | fields of records, also those that outlive their page; bit vectors of minipages |
//! | `shapes` | the schemas of a table's pages, which may have been made for other columns |
//! | `load`, `run` | pages that a bulk load fills, in memory and in a file of their own |
//! | `columns`, `field_column`, `gather/` | column views of one page and of the pages of a zone |
//! | `bounds` | what is known of a column's values |
//! | `index` | keys of index entries |

pub(crate) mod attribute;
pub(crate) mod bit;
pub(crate) mod bounds;
pub(crate) mod columns;
pub(crate) mod field_column;
pub(crate) mod gather;
pub(crate) mod head;
pub(crate) mod index;
pub(crate) mod load;
pub(crate) mod nsm;
pub(crate) mod page;
pub(crate) mod parts;
pub(crate) mod pax;
pub(crate) mod run;
pub(crate) mod shapes;
#[cfg(test)]
mod tests;

pub use attribute::{Attribute, AttributeForm, Field, OverflowReference, PageSchema};
pub use bounds::ColumnBounds;
pub use head::{MAX_PAGE, MIN_PAGE, is_page_length};
pub use load::PageLoader;
pub use nsm::NsmPage;
pub use page::{Page, Update};
pub use parts::PagePart;
pub use pax::PaxPage;
