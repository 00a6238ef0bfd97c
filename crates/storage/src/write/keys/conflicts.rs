//! ON CONFLICT: which of the rows that are to be inserted have a key that is taken.

use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::keys::encode::{KeyEncoder, key_columns};
use crate::write::keys::search::Search;
use crate::write::keys::set::KeySet;
use crate::write::keys::{Left, Lists};
use crate::{KeyDefinition, Result};
use arrow::array::RecordBatch;
use std::sync::Arc;

/// What is known of the keys of new rows, which are numbered from 0 over all batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts {
    /// Whether a record of the table has the row's key.
    pub exists: Vec<bool>,
    /// The first of the new rows that has the same key; itself where none before it has, or where the key has a NULL.
    pub first: Vec<usize>,
}

impl Conflicts {
    /// Compares the keys of new rows, which have the table's columns, with each other and with those of the table. Fails when
    /// it can't be read.
    pub fn find(table: &Arc<TableSnapshot>, key: &KeyDefinition, rows: &[RecordBatch]) -> Result<Self> {
        let definition = &table.definition;
        let encoder = KeyEncoder::new(definition, &key.columns)?;
        let all = rows.iter().map(RecordBatch::num_rows).sum();
        let mut conflicts = Self { exists: vec![false; all], first: (0..all).collect() };
        let (mut keys, mut firsts) = (KeySet::default(), Vec::with_capacity(all));
        let mut lists = Lists::new(definition, &key.columns);
        let mut start = 0;
        for batch in rows {
            let columns = key_columns(definition, batch, &key.columns);
            for (row, bytes, hash) in encoder.encode(&columns)?.with_hashes(&key.columns)? {
                if keys.insert(bytes, hash) {
                    lists.add(&columns, row);
                    firsts.push(start + row);
                } else if let Some(number) = keys.number(bytes) {
                    conflicts.first[start + row] = firsts[number];
                }
            }
            start += batch.num_rows();
        }
        let predicate = lists.predicate(definition, &key.columns, None);
        let search = Search { columns: &key.columns, encoder: &encoder, keys: &keys, predicate };
        search.for_each(&Left { table, gone: &[] }, |columns| {
            let taken = encoder.encode(columns)?;
            let taken = taken.iter().filter_map(|(_, bytes)| keys.number(bytes));
            taken.for_each(|number| conflicts.exists[firsts[number]] = true);
            Ok(())
        })?;
        for row in 0..all {
            conflicts.exists[row] = conflicts.exists[conflicts.first[row]];
        }
        Ok(conflicts)
    }
}
