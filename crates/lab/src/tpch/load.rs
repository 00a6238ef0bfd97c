//! Generated tables into a Gingham database.

use super::{TpchTable, queries};
use arrow::array::RecordBatch;
use gingham::{Connection, Result};

/// Creates the eight tables, without keys.
pub fn create_tables(connection: &Connection) -> Result<()> {
    connection.execute(queries::SCHEMA)?;
    Ok(())
}

/// Appends `batches` to `table`, all or nothing, and returns their rows. `progress` is told of the rows handed over.
pub fn load(
    connection: &Connection,
    table: TpchTable,
    batches: &[RecordBatch],
    mut progress: impl FnMut(u64),
) -> Result<u64> {
    let mut appender = connection.appender(table.name())?;
    for batch in batches {
        appender.append_batch(batch.clone())?;
        progress(batch.num_rows() as u64);
    }
    appender.finish()
}
