//! The advisor's knowledge of designs and workloads: what statements ask of tables, designs worth trying, and a model of what each
//! costs.
//! Nothing is measured here; whoever measures takes the candidates from here (`gingham-lab`'s advisor does).
//!
//! | file | what |
//! |---|---|
//! | `workload` | a file of statements: parsed, weighed, refused by line |
//! | `usage` | what a statement asks of each table: columns, conditions and how much they leave, writes |
//! | `comparison` | how far two answers of a statement have to be the same |
//! | `facts` | what is known of a table's columns |
//! | `candidate` | a design with the statements that make and undo it |
//! | `propose` | candidates for a table |
//! | `co_access` | columns that are used together |
//! | `model` | nanoseconds and bytes of a design under a workload, about |
//! | `rank` | the order in which candidates are worth measuring |

mod candidate;
mod co_access;
mod comparison;
mod facts;
mod model;
mod propose;
mod rank;
mod usage;
mod workload;

pub use candidate::Candidate;
pub use comparison::Comparison;
pub use facts::{ColumnFacts, TableFacts};
pub use model::{Modelled, model};
pub use propose::propose;
pub use rank::rank;
pub(crate) use usage::table_uses;
pub use usage::{FilterKind, FilterUse, StatementUse, TableUse, WriteKind, WriteUse};
pub(crate) use workload::recorded;
pub use workload::{Workload, WorkloadStatement};
