//! What a reader sees at one commit.
//!
//! | file | what |
//! |---|---|
//! | `table_snapshot` | the picture of the catalog, table by table |
//! | `load_snapshot` | from catalog values to a snapshot |
//! | `damaged_table` | a table that can't be read |
//! | `pin` | read transactions that keep heap pages as they are |
//! | `delete_vector` | which records of a segment or delta block are deleted |
//! | `dictionaries` | dictionary versions as catalog values |
//! | `coded_delta` | delta blocks that have got codes for their strings |
//! | `summary` | statistics of a column over a whole table |
//! | `heap/` | readers of heap tables |

pub(crate) mod coded_delta;
pub(crate) mod damaged_table;
pub(crate) mod delete_vector;
pub(crate) mod dictionaries;
pub(crate) mod heap;
pub(crate) mod load_snapshot;
pub(crate) mod pin;
pub(crate) mod summary;
pub(crate) mod table_snapshot;

pub use coded_delta::CodedBlocks;
pub use damaged_table::DamagedTable;
pub use delete_vector::DeleteVector;
pub use heap::reader::HeapReader;
pub use heap::zones::{FoundPage, RECORD_IDS};
pub use summary::Summaries;
pub use table_snapshot::{Snapshot, TableSnapshot};
