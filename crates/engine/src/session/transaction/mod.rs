//! Transactions over statements: what a session reads and writes between BEGIN and COMMIT.
//!
//! A transaction of REPEATABLE READ reads the database as it was before its first statement, one of READ COMMITTED as it is
//! before each. The first statement that writes takes the turn to write and goes on from the newest commit; that fails where
//! others have meanwhile changed what the transaction has read and may not see another way. From then on the transaction reads its own
//! changes too. TEMP tables are in a store of their own, in which the transaction has a part of its own.
//!
//! | file | what |
//! |---|---|
//! | `open` | an open transaction and its parts |
//! | `read_set` | what it has read before it writes |
//! | `slot` | the transaction of a session: begun, ended |
//! | `idle` | transactions that stand still are rolled back |
//! | `writing` | how a statement writes, alone or within |

mod idle;
mod open;
mod read_set;
mod slot;
mod writing;

pub use open::TransactionStatus;
pub(crate) use open::{SessionTransaction, Slot, Use};
pub(crate) use read_set::ReadSet;
pub(crate) use writing::Writing;
