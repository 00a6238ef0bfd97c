//! Write transactions.
//!
//! | file | what |
//! |---|---|
//! | `transaction` | the transaction, and changes to definitions |
//! | `append`, `table_writer`, `batched_load`, `load_intent` | new records: their writers, how they become visible, loads in batches, and what an interrupted one leaves |
//! | `change`, `update`, `delete`, `column_files` | records replaced, columns written anew, deletions |
//! | `remove` | all records of a table removed, by the catalog alone |
//! | `schemas`, `sequences` | schemas and views; sequences |
//! | `reshape`, `rewrite` | ALTER TABLE that leaves heap pages as they are, or writes all records anew |
//! | `alter`, `indexes`, `heap_tables` | ALTER TABLE over records that exist; indexes; heap tables made, changed and checked |
//! | `keys/` | PRIMARY KEY, UNIQUE and REFERENCES |
//! | `ranges` | columns whose values must lie within 64 bits of each other |
//! | `cuts`, `sorted` | where segments are cut, and a table in the order of its `sort_by` |
//! | `begin`, `commit`, `dirty` | the beginning and the end of a transaction; its memory until the commit |
//! | `side_by_side` | work of a transaction on several threads |
//! | `heap/` | writers of heap tables |

pub(crate) mod alter;
pub(crate) mod append;
pub(crate) mod batched_load;
pub(crate) mod begin;
pub(crate) mod change;
pub(crate) mod column_files;
pub(crate) mod commit;
pub(crate) mod cuts;
pub(crate) mod delete;
pub(crate) mod dirty;
pub(crate) mod heap;
pub(crate) mod heap_tables;
pub(crate) mod indexes;
pub(crate) mod keys;
pub(crate) mod load_intent;
pub(crate) mod ranges;
pub(crate) mod remove;
pub(crate) mod reshape;
pub(crate) mod rewrite;
pub(crate) mod schemas;
pub(crate) mod sequences;
pub(crate) mod side_by_side;
pub(crate) mod sorted;
pub(crate) mod table_writer;
pub(crate) mod transaction;
pub(crate) mod update;

pub use change::RowChange;
pub use heap::writer::HeapWriter;
pub use keys::conflicts::Conflicts;
pub use rewrite::CheckedRows;
pub use table_writer::{TableWriter, WrittenRows};
pub use transaction::Transaction;
pub use update::{NewValues, WrittenValues};
