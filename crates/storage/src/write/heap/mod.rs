//! Writers of heap tables within a write transaction.
//!
//! | file | what |
//! |---|---|
//! | `writer` | a heap table and its pages until they are written back |
//! | `records`, `space` | records of NSM and PAX pages, and the map of free space |
//! | `pairs` | DSM's relations |
//! | `load`, `suspended` | bulk loads, also over several transactions |
//! | `indexes` | entries that come and go |

pub(crate) mod indexes;
pub(crate) mod load;
pub(crate) mod pairs;
pub(crate) mod records;
pub(crate) mod space;
pub(crate) mod suspended;
pub(crate) mod writer;
