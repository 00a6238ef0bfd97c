//! Delta blocks as queries read them. Byte strings lie plain in a block, and executors that take a column's codes could take
//! none of the whole table's: so strings of columns whose segments have dictionaries get codes of these when a block is
//! loaded, as far as the dictionaries have all of its values. Values that are new stay plain until they are merged.

use crate::cache::BlockCache;
use crate::catalog::TableSnapshot;
use crate::catalog::rows::read_rows;
use crate::dictionary::{Dictionary, DictionaryVersion, codes_within};
use crate::segment::{Encoding, Segment, write_coded_image};
use crate::{ColumnId, Result, TableDefinition, ValueClass};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Numbers of dictionary versions that blocks have in memory: no stored one comes so far.
const IN_MEMORY: u32 = 1 << 31;

/// The block with codes for strings that have them in all of `segments`.
pub(crate) fn coded(
    block: Arc<Segment>,
    definition: &TableDefinition,
    segments: &[Arc<Segment>],
    dictionaries: &BTreeMap<ColumnId, Arc<Dictionary>>,
    cache: &Arc<BlockCache>,
) -> Result<Arc<Segment>> {
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
        return Ok(block);
    }
    let mut whole = TableSnapshot::empty(definition.clone());
    whole.delta.push(Arc::clone(&block));
    let rows = read_rows(&Arc::new(whole))?;
    loop {
        let columns: Vec<ColumnId> = wanted.keys().copied().collect();
        let (written, image) = write_coded_image(block.id(), definition, rows.clone(), &columns)?;
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
            return Ok(block);
        }
        if wanted.len() == before {
            let place = format!("delta block {} of table {}, coded", block.id(), definition.name);
            let coded = Segment::from_image(Arc::from(image), block.id(), &place, Arc::clone(cache))?;
            return Ok(Arc::new(coded.with_dictionaries(versions)));
        }
    }
}
