//! Records of heap tables as `check` reads them: what a page refers to may be missing, though the page is whole.

use crate::maintenance::report::CheckReport;
use crate::open::shared::Store;
use crate::snapshot::heap::reader::HeapReader;
use crate::{Datum, Result, ValueClass};
use std::sync::Arc;

impl Store {
    /// Reads the values of all heap tables that may be too long for a page. The pages are whole.
    pub(crate) fn check_long_values(self: &Arc<Self>, report: &mut CheckReport) -> Result<()> {
        for table in self.pinned()?.tables.values() {
            let Some(pages) = &table.pages else { continue };
            let columns = &table.definition.columns;
            let may_be_long = |place: &usize| columns[*place].logical_type.class() == ValueClass::Bytes;
            let places: Vec<usize> = (0..columns.len()).filter(may_be_long).collect();
            if places.is_empty() {
                continue;
            }
            each_record(pages, &places, &mut |values| {
                report.errors.extend(values.err().map(|error| error.in_table(&table.definition.name)));
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Calls `visit` with the values that each record has at these places, or the error of those that can't be read.
pub(crate) fn each_record(
    reader: &HeapReader,
    places: &[usize],
    visit: &mut dyn FnMut(Result<Vec<Datum>>) -> Result<()>,
) -> Result<()> {
    for zone in 0..reader.zones() {
        let ids: Vec<u64> = match reader.zone(zone) {
            Ok(zone) => {
                let live = zone.live_rows();
                let is_live = |row: &usize| live.as_ref().is_none_or(|live| live[row / 64] >> (row % 64) & 1 == 1);
                (0..zone.rows()).filter(is_live).map(|row| zone.id_of_row(row)).collect()
            }
            Err(error) if error.is_of_bytes() => {
                visit(Err(error))?;
                continue;
            }
            Err(error) => return Err(error),
        };
        for id in ids {
            match reader.values(id, places) {
                Ok(Some(record)) => visit(Ok(record))?,
                Ok(None) => {}
                Err(error) if error.is_of_bytes() => visit(Err(error))?,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lmdb::environment::Name;
    use crate::lmdb::heap_keys::{OVERFLOW, key};
    use crate::model::{HeapLayout, HeapOptions};
    use crate::{ColumnDefinition, Design, LogicalType, TableDefinition, TableName};

    #[test]
    fn a_long_value_that_is_missing_is_found() {
        for layout in [HeapLayout::Nsm, HeapLayout::Dsm, HeapLayout::Pax] {
            let store = Store::scratch(crate::io::MemoryBudget::new(64 << 20)).unwrap();
            let columns = vec![
                ColumnDefinition::new(1, "id", LogicalType::Int(64)),
                ColumnDefinition::new(2, "label", LogicalType::Varchar(None)),
            ];
            let mut definition =
                TableDefinition::new(TableName { schema: "public".into(), table: "t".into() }, columns);
            definition.design = Design::of_pages(HeapOptions::new(layout));
            let table = store.write(|transaction| transaction.create_table(definition)).unwrap();
            let record = |id: i128| [Datum::Integer(id), Datum::Bytes(vec![b'x'; 9000].into())];
            store
                .write(|transaction| {
                    transaction.heap(table, |heap| (0..5).try_for_each(|id| heap.insert(&record(id)).map(drop)))
                })
                .unwrap();
            assert!(store.check().unwrap().errors.is_empty());
            let reader = store.heap(table).unwrap();
            let (prefix, mut gone) = (reader.prefix(), 0);
            drop(reader);
            store
                .write(|transaction| {
                    let values = transaction.environment.values(Name::Heap)?;
                    gone = (0..64)
                        .filter(|number| {
                            let key = key(prefix, OVERFLOW, *number);
                            values.delete(&mut transaction.transaction, &key).unwrap()
                        })
                        .take(1)
                        .count();
                    // A transaction that changes nothing is not committed.
                    transaction.heap(table, |heap| heap.insert(&record(5)).map(drop))
                })
                .unwrap();
            assert_eq!(gone, 1);
            let errors = store.check().unwrap().errors;
            assert!(errors.len() == 1 && errors[0].to_string().contains("long value"), "{layout:?}: {errors:?}");
        }
    }
}
