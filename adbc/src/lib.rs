//! Gingham as a driver of ADBC, Arrow's interface to databases (version 1.1): connections and transactions, statements with bound
//! streams, bulk ingest, and what the database holds.
//!
//! | file | what |
//! |---|---|
//! | `error` | errors with their status and SQLSTATE |
//! | `options` | values of options |
//! | `guarded` | all of it as programs get it, with panics as errors |
//! | `driver` | the driver and a database |
//! | `connection` | a connection: transactions, and what it tells of the database |
//! | `statement` | queries and changes, with parameters |
//! | `rows` | the rows of results as readers of Arrow |
//! | `ingest` | a stream into a table |
//! | `objects`, `info` | catalogs, schemas, tables and columns; the names and versions of driver and database |

mod connection;
mod driver;
mod error;
mod guarded;
mod info;
mod ingest;
mod objects;
mod options;
mod rows;
mod statement;

pub use guarded::{AdbcConnection, AdbcDatabase, AdbcStatement, GinghamDriver, Guarded};

#[doc(hidden)]
pub use adbc_core;
#[doc(hidden)]
pub use adbc_ffi;

/// Exports the functions by which a driver manager finds the driver in a library: `AdbcDriverGinghamInit` and `AdbcDriverInit`.
#[macro_export]
macro_rules! export {
    () => {
        mod adbc_entry {
            use $crate::{adbc_core, adbc_ffi};

            adbc_ffi::export_driver!(AdbcDriverGinghamInit, $crate::GinghamDriver);
        }
    };
}
