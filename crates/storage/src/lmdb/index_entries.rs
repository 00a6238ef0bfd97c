//! Entries of indexes of heap tables: keys and payloads.

use crate::lmdb::heap_record::RecordId;
use crate::pages::index::IndexKey;
use crate::{IndexDefinition, TableId};

/// The key of an entry: table, index, columns, and the record's id where records may have the same columns.
pub(crate) fn entry_key(table: TableId, index: &IndexDefinition, key: &IndexKey, id: RecordId) -> Vec<u8> {
    let mut bytes = entry_head(table, index.number).to_vec();
    bytes.extend_from_slice(&key.bytes);
    if !is_alone(index, key) {
        bytes.extend_from_slice(&id.to_be_bytes());
    }
    bytes
}

/// The bytes that the keys of all entries of an index begin with.
pub(crate) fn entry_head(table: TableId, number: u32) -> [u8; 12] {
    let mut head = [0; 12];
    head[..8].copy_from_slice(&table.to_be_bytes());
    head[8..].copy_from_slice(&number.to_be_bytes());
    head
}

/// Whether an entry's columns can be no other record's: then its value is the record's id.
pub(crate) fn is_alone(index: &IndexDefinition, key: &IndexKey) -> bool {
    index.unique && key.is_whole && !key.has_null
}

/// The payload of an entry.
pub(crate) fn entry_payload(index: &IndexDefinition, key: &IndexKey, id: RecordId) -> Vec<u8> {
    if is_alone(index, key) { id.to_le_bytes().to_vec() } else { Vec::new() }
}

/// The record of an entry.
pub(crate) fn entry_record(key: &[u8], payload: &[u8]) -> Option<RecordId> {
    match payload.len() {
        0 => Some(RecordId::from_be_bytes(*key.last_chunk()?)),
        _ => Some(RecordId::from_le_bytes(payload.try_into().ok()?)),
    }
}
