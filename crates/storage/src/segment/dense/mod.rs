//! Dense pages: records or single columns packed one behind the other, without slots and without gaps (read-optimized paper,
//! section 5.2; docs/formats/dense.md is the byte map).
//!
//! | file | what |
//! |---|---|
//! | `form` | what the directory says of a group's pages, and where the fields of an entry lie |
//! | `entries` | the columns of a segment that are to be written |
//! | `cut` | where pages end |
//! | `choose` | the packings that take fewest bytes |
//! | `strings` | pages of one column of byte strings |
//! | `write` | pages to bytes |
//! | `page` | the parts of a page that was read, checked |
//! | `read` | the pages of a zone, and their columns as native codes |
//! | `resume` | where delta-coded pages may be read on in the middle |
//! | `cursor`, `stream` | pages of a group one after the other, and their entries value by value: for experiments |

pub(crate) mod choose;
pub(crate) mod cursor;
pub(crate) mod cut;
pub(crate) mod entries;
pub(crate) mod form;
pub(crate) mod page;
pub(crate) mod read;
pub(crate) mod resume;
pub(crate) mod stream;
pub(crate) mod strings;
pub(crate) mod write;
