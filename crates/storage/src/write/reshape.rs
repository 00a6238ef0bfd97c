//! Columns of tables in heap pages come and go without a page being written anew: NSM and PAX pages stay as they are, of the shape that
//! they were made with, and DSM's relations come and go one by one.

use crate::lmdb::environment::Name;
use crate::lmdb::heap_record::{HeapRecord, RecordId};
use crate::lmdb::index_entries::entry_head;
use crate::lmdb::records::TableRecord;
use crate::model::heap_options::HeapLayout;
use crate::model::page_shape::PageShape;
use crate::pages::attribute::{Attribute, OwnedField};
use crate::pages::bounds::ColumnBounds;
use crate::write::heap_tables::new_record;
use crate::write::transaction::Transaction;
use crate::{ColumnDefinition, ColumnId, Error, IndexDefinition, KeyDefinition, Result, TableDefinition, TableId};
use std::ops::Bound;

/// What a relation of DSM is to have once the table's definition has changed.
#[derive(Debug)]
pub(crate) enum RelationFill {
    /// This value for each of these records.
    Initial(ColumnDefinition, Vec<RecordId>),
    /// The pairs that it had, in pages that take NULLs or do not.
    Pairs(ColumnId, Vec<(RecordId, OwnedField)>),
}

impl Transaction<'_> {
    /// Prepares the pages of a table for another definition, whose keys are among those that it has. What relations of DSM are to be
    /// filled with is given back, for [`fill_relations`](Self::fill_relations) when the table has the definition.
    pub(crate) fn reshape_pages(&mut self, id: TableId, after: &mut TableDefinition) -> Result<Vec<RelationFill>> {
        let mut record = self.record(id)?;
        let Some(mut heap) = record.heap.clone() else { return Ok(Vec::new()) };
        require_known_keys(&record, after)?;
        after.indexes.retain(|index| !index.of_constraint || after.keys.iter().any(|key| key.name == index.name));
        let before = record.definition.clone();
        for index in before.indexes.iter().filter(|own| after.indexes.iter().all(|kept| kept.number != own.number)) {
            self.remove_entries(record.prefix(), index.number)?;
        }
        if PageShape::of(heap.shapes.current, &before).is_of(after) {
            return Ok(Vec::new());
        }
        new_record(after, heap.options)?;
        let is_new = |column: &&ColumnDefinition| before.column_by_id(column.id).is_none();
        let mut bounds: Vec<ColumnBounds> = Vec::new();
        for column in after.columns.iter().filter(is_new) {
            let own = Attribute::new(column);
            let mut known = ColumnBounds::empty(&own);
            if heap.rows > 0 {
                known.add(&own.field(&column.initial)?);
            }
            bounds.push(known);
        }
        if heap.options.layout == HeapLayout::Dsm {
            let fills = self.take_relations(&before, after, heap.rows)?;
            record = self.record(id)?;
            heap = record.pages()?.clone();
            set_bounds(&mut heap, after, bounds);
            record.heap = Some(heap);
            self.put_record(record)?;
            return Ok(fills);
        }
        set_bounds(&mut heap, after, bounds);
        if heap.pages == 0 {
            heap.shapes = Default::default();
        } else if !heap.shapes.change(&before, after) {
            return Err(Error::Unsupported(format!(
                "the columns of table '{}' changed too often since its records were written; OPTIMIZE it first",
                before.name
            )));
        }
        record.heap = Some(heap);
        self.put_record(record)?;
        Ok(Vec::new())
    }

    /// Takes the relations away that a definition has no use for, or needs with NULLs where they have none, or without.
    fn take_relations(
        &mut self,
        before: &TableDefinition,
        after: &TableDefinition,
        rows: u64,
    ) -> Result<Vec<RelationFill>> {
        let mut fills = Vec::new();
        self.heap(before.id, |heap| {
            let new = after.columns.iter().filter(|column| before.column_by_id(column.id).is_none());
            let new: Vec<ColumnDefinition> = new.cloned().collect();
            if !new.is_empty() && rows > 0 {
                let ids = heap.record_ids()?;
                fills.extend(new.into_iter().map(|column| RelationFill::Initial(column, ids.clone())));
            }
            for column in &before.columns {
                match after.column_by_id(column.id) {
                    None => {
                        let pairs = heap.take_relation(column.id)?;
                        pairs.into_iter().try_for_each(|(_, field)| heap.forget(&[field]))?;
                    }
                    Some(same) if same.nullable == column.nullable => {}
                    Some(_) => fills.push(RelationFill::Pairs(column.id, heap.take_relation(column.id)?)),
                }
            }
            Ok(())
        })?;
        Ok(fills)
    }

    /// Fills relations of DSM, whose table has its new definition.
    pub(crate) fn fill_relations(&mut self, id: TableId, fills: Vec<RelationFill>) -> Result<()> {
        if fills.is_empty() {
            return Ok(());
        }
        self.heap(id, |heap| {
            for fill in fills {
                match fill {
                    RelationFill::Initial(column, ids) => {
                        let own = Attribute::new(&column);
                        let field = own.field(&column.initial)?;
                        for id in ids {
                            let mut pair = [OwnedField::from(field)];
                            heap.spill_values(&mut pair)?;
                            heap.append_pair(column.id, id, pair[0].field())?;
                        }
                    }
                    RelationFill::Pairs(column, pairs) => {
                        for (id, field) in pairs {
                            heap.append_pair(column, id, field.field())?;
                        }
                    }
                }
            }
            Ok(())
        })
    }

    /// Removes the entries of an index.
    pub(crate) fn remove_entries(&mut self, prefix: TableId, number: u32) -> Result<()> {
        let (first, last) = (entry_head(prefix, number), entry_head(prefix, number + 1));
        let range = (Bound::Included(&first[..]), Bound::Excluded(&last[..]));
        let environment = self.environment;
        let removed = environment.values(Name::Indexes)?.delete_range(&mut self.transaction, &range);
        removed.map(drop).map_err(environment.failed("writing"))
    }
}

/// Refuses a key that no index of the table is for: it takes one over all records.
fn require_known_keys(record: &TableRecord, after: &TableDefinition) -> Result<()> {
    let before = &record.definition;
    let is_known = |key: &&KeyDefinition| {
        let is_of = |index: &&IndexDefinition| index.of_constraint && index.name == key.name;
        after.indexes.iter().find(is_of).is_some_and(|index| {
            let is_kept = |own: &IndexDefinition| own.number == index.number && own.columns == key.columns;
            before.indexes.iter().any(is_kept)
        })
    };
    match after.keys.iter().find(|key| !is_known(key)) {
        None => Ok(()),
        Some(key) => Err(Error::Unsupported(format!(
            "table '{}' lies in heap pages, which can't get the key '{}' without writing its records anew",
            before.name, key.name
        ))),
    }
}

/// Keeps the bounds of the columns that there are, and takes in those of new ones.
fn set_bounds(heap: &mut HeapRecord, after: &TableDefinition, new: Vec<ColumnBounds>) {
    heap.columns.retain(|known| after.column_by_id(known.column).is_some());
    if heap.rows > 0 {
        heap.columns.extend(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryBudget;
    use crate::lmdb::heap_keys::PAGES;
    use crate::model::heap_options::HeapOptions;
    use crate::open::shared::Store;
    use crate::write::rewrite::CheckedRows;
    use crate::{Datum, LogicalType, TableName};
    use std::sync::Arc;

    /// The bytes of all pages of these attributes.
    fn pages(store: &Arc<Store>, table: TableId, attributes: &[u32]) -> Vec<(u64, Vec<u8>)> {
        let reader = store.heap(table).unwrap();
        let mut all = Vec::new();
        for attribute in attributes {
            let visit = |number, bytes: &[u8]| {
                all.push((number, bytes.to_vec()));
                Ok(())
            };
            reader.source.each(*attribute, 0..reader.record().end(*attribute), visit).unwrap();
        }
        all
    }

    #[test]
    fn no_page_is_written() {
        for layout in [HeapLayout::Nsm, HeapLayout::Dsm, HeapLayout::Pax] {
            let store = Store::scratch(MemoryBudget::new(1 << 28)).unwrap();
            let name = TableName { schema: "public".into(), table: "t".into() };
            let column = |id, logical_type| ColumnDefinition::new(id, format!("c{id}"), logical_type);
            let columns = vec![
                column(0, LogicalType::Int(32)),
                column(1, LogicalType::Varchar(None)),
                column(2, LogicalType::Int(64)),
            ];
            let definition = TableDefinition::new(name, columns);
            let table = store
                .write(|transaction| {
                    let table = transaction.create_heap_table(definition, HeapOptions::new(layout))?;
                    transaction.heap(table, |heap| {
                        (0..3000_i128).try_for_each(|row| {
                            let text = Datum::Bytes(format!("text {row}").into_bytes().into());
                            heap.insert(&[Datum::Integer(row), text, Datum::Integer(-row)]).map(drop)
                        })
                    })?;
                    Ok(table)
                })
                .unwrap();
            let attributes: &[u32] = if layout == HeapLayout::Dsm { &[0, 1] } else { &[PAGES] };
            let before = pages(&store, table, attributes);
            assert!(before.len() > 4);
            store
                .write(|transaction| {
                    let mut after = transaction.definition(table)?;
                    let mut added = column(Transaction::next_column(&mut after), LogicalType::Int(16));
                    (added.nullable, added.initial) = (false, Datum::Integer(77));
                    after.columns.push(added);
                    after.columns.remove(2);
                    transaction.alter_table(after)
                })
                .unwrap();
            assert!(pages(&store, table, attributes) == before, "{layout:?}");
            if layout != HeapLayout::Dsm {
                store
                    .write(|transaction| {
                        let mut after = transaction.definition(table)?;
                        after.columns[1].nullable = false;
                        let verified = CheckedRows { not_null: true, ..CheckedRows::default() };
                        transaction.alter_table_knowing(after, &verified)
                    })
                    .unwrap();
                assert!(pages(&store, table, attributes) == before, "{layout:?}");
            }
            let mut found = 0;
            let reader = store.heap(table).unwrap();
            reader
                .each_id(|id| {
                    let record = reader.get(id)?.unwrap_or_default();
                    assert_eq!((record.len(), &record[2]), (3, &Datum::Integer(77)));
                    found += 1;
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, 3000);
        }
    }
}
