//! What a query gives as text, for tests that compare it.

use arrow::util::display::{ArrayFormatter, FormatOptions};
use gingham::{Connection, QueryResult, Result};

/// All rows of a query as text, columns parted by `|`; NULL is empty.
pub fn rows(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    let batches = connection.query(sql).and_then(QueryResult::collect_batches)?;
    let options = FormatOptions::default();
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).expect("a format")).collect();
        for row in 0..batch.num_rows() {
            rows.push(columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|"));
        }
    }
    Ok(rows)
}
