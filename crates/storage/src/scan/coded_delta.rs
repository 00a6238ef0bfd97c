//! Delta blocks as queries read them. Byte strings lie plain in a block, and executors that take a column's codes could take
//! none of the whole table's: so strings of columns whose segments have dictionaries get codes of these when a query first
//! reads a block, as far as the dictionaries have all of its values. Values that are new stay plain until they are merged.

use crate::encoding::meta::Encoding;
use crate::model::dictionary::{Dictionary, DictionaryVersion, codes_within};
use crate::scan::rows::read_rows;
use crate::segment::reader::Segment;
use crate::segment::writer::write_coded_image;
use crate::snapshot::heap::zones::RECORD_IDS;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::{ColumnId, Result, TableDefinition, ValueClass};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Numbers of dictionary versions that blocks have in memory: no stored one comes so far.
const IN_MEMORY: u32 = 1 << 31;

impl TableSnapshot {
    /// The delta blocks, with codes where strings have them in all segments. One that can't be read is given as it is, and tells
    /// when it is scanned.
    pub(crate) fn coded_delta(&self) -> Vec<Arc<Segment>> {
        let coded = |block: &Arc<Segment>| {
            let known = self.coded.known().get(&block.id()).cloned();
            known.unwrap_or_else(|| {
                let made = coded(block, self).unwrap_or_else(|error| {
                    let table = &self.definition.name;
                    tracing::warn!("delta block {} of table {table} stays without codes: {error}", block.id());
                    Arc::clone(block)
                });
                self.coded.known().insert(block.id(), Arc::clone(&made));
                made
            })
        };
        self.delta.iter().map(coded).collect()
    }
}

/// A block of a table with codes for strings that have them in all segments.
fn coded(block: &Arc<Segment>, table: &TableSnapshot) -> Result<Arc<Segment>> {
    let (segments, dictionaries) = (&table.segments, &table.dictionaries);
    let mut definition = TableDefinition::clone(&table.definition);
    definition.columns.retain(|column| column.id != RECORD_IDS);
    let in_all = |column: ColumnId| {
        let coded = |segment: &Arc<Segment>| {
            segment.column(column).is_some_and(|meta| matches!(meta.encoding, Encoding::Dictionary))
        };
        segments.iter().all(coded) && block.column(column).is_some()
    };
    let of_strings = definition.columns.iter().filter(|column| column.logical_type.class() == ValueClass::Bytes);
    let wanted = of_strings.filter_map(|column| Some((column.id, dictionaries.get(&column.id)?)));
    let mut wanted: BTreeMap<ColumnId, &Arc<Dictionary>> = wanted.filter(|(column, _)| in_all(*column)).collect();
    if wanted.is_empty() {
        return Ok(Arc::clone(block));
    }
    let mut whole = TableSnapshot::empty(definition.clone());
    whole.delta.push(Arc::clone(block));
    let rows = read_rows(&Arc::new(whole))?;
    loop {
        let columns: Vec<ColumnId> = wanted.keys().copied().collect();
        let (written, image) = write_coded_image(block.id(), &definition, rows.clone(), &columns)?;
        let before = wanted.len();
        let mut versions = BTreeMap::new();
        for (column, entries) in written.dictionaries {
            let Some(dictionary) = wanted.get(&column) else { continue };
            match codes_within(&entries, &dictionary.newest) {
                Some(newest) => {
                    let version = IN_MEMORY | block.id() as u32;
                    versions.insert(column, Arc::new(DictionaryVersion { version, entries, newest }));
                }
                None => drop(wanted.remove(&column)),
            }
        }
        if wanted.is_empty() {
            return Ok(Arc::clone(block));
        }
        if wanted.len() == before {
            let place = format!("delta block {} of table {}, coded", block.id(), definition.name);
            let coded = Segment::from_image(Arc::from(image), block.id(), &place, Arc::clone(block.cache()))?;
            return Ok(Arc::new(coded.with_dictionaries(versions)));
        }
    }
}
