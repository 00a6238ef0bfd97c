//! A published database: what a manifest says of it, and how its files are read.
//!
//! | file | what |
//! |---|---|
//! | `manifest` | one state of a published database: its catalog and its segment files |
//! | `segment_files` | where a snapshot's segment files are opened: in the database's folder, or as a manifest names them |
//! | `fetch` | a catalog brought to a local folder |

pub(crate) mod fetch;
pub(crate) mod manifest;
pub(crate) mod segment_files;

pub use manifest::{DatabaseId, Manifest, PublishedSegment, manifest_name};
pub use segment_files::PublishedFiles;
