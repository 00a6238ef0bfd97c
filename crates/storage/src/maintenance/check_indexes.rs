//! Indexes of heap tables as `check` finds them.

use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::index_entries::{entry_head, entry_key, entry_payload, entry_record};
use crate::lmdb::values;
use crate::maintenance::report::CheckReport;
use crate::open::shared::Store;
use crate::pages::attribute::Field;
use crate::pages::index::IndexKey;
use crate::snapshot::heap::reader::HeapReader;
use crate::snapshot::table_snapshot::{Snapshot, TableSnapshot};
use crate::write::load_intent::LoadIntent;
use crate::{ColumnId, Error, IndexDefinition, Result};
use std::collections::HashSet;
use std::sync::Arc;

impl Store {
    /// Checks that the indexes of all heap tables have an entry for each record, and no others. The pages are whole.
    pub(crate) fn check_indexes(self: &Arc<Self>, report: &mut CheckReport) -> Result<()> {
        let snapshot = self.pinned()?;
        self.check_owners_of_entries(&snapshot, report)?;
        for table in snapshot.tables.values() {
            let Some(pages) = &table.pages else { continue };
            for index in &table.definition.indexes {
                let entries = pages.check_index(index, pages.pin().environment(), report)?;
                if entries != table.rows() {
                    report.errors.push(Error::corrupt(
                        format!("index '{}' of table {}", index.name, table.definition.name),
                        format!("{entries} entries are found, the table has {} records", table.rows()),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Reports entries of indexes that there are not.
    fn check_owners_of_entries(&self, snapshot: &Snapshot, report: &mut CheckReport) -> Result<()> {
        let entries = |table: &Arc<TableSnapshot>| {
            let prefix = table.heap.as_ref().map_or(0, |heap| heap.prefix(table.definition.id));
            let numbers = table.definition.indexes.iter().map(|index| index.number);
            numbers.map(|number| entry_head(prefix, number)).collect::<Vec<_>>()
        };
        let known: HashSet<[u8; 12]> = snapshot.tables.values().flat_map(entries).collect();
        let mut strangers = 0;
        let environment = self.environment()?;
        environment.read(|transaction| {
            let unfinished = LoadIntent::find(&environment, transaction)?.map(|load| load.prefix.to_be_bytes());
            let is_left = |key: &[u8]| unfinished.is_some_and(|prefix| key.starts_with(&prefix));
            values::each_raw(&environment, transaction, Name::Indexes, &[], |key, _| {
                let is_known = key.first_chunk().is_some_and(|head| known.contains(head));
                strangers += u64::from(!is_known && !is_left(key));
                Ok(())
            })
        })?;
        if strangers > 0 {
            report.errors.push(Error::corrupt(
                environment.folder().join("data.mdb").display().to_string(),
                format!("{strangers} entries belong to no index"),
            ));
        }
        Ok(())
    }
}

impl HeapReader {
    /// Reports the records that an index lacks; returns the number of its entries.
    fn check_index(&self, index: &IndexDefinition, environment: &Environment, report: &mut CheckReport) -> Result<u64> {
        let attributes = self.schema().attributes();
        let place = |column: &ColumnId| attributes.iter().position(|own| own.column == *column);
        let places: Vec<usize> = index.columns.iter().filter_map(place).collect();
        let table = self.prefix();
        self.each_id(|id| {
            let Some(values) = self.values(id, &places)? else { return Ok(()) };
            let fields = places.iter().zip(&values);
            let fields = fields.map(|(at, value)| Ok((&attributes[*at], attributes[*at].field(value)?)));
            let key = IndexKey::new(fields.collect::<Result<Vec<(_, Field<'_>)>>>()?);
            let payload = entry_payload(index, &key, id);
            let bytes = entry_key(table, index, &key, id);
            let found = self.read(|transaction| -> Result<bool> {
                Ok(values::get(environment, transaction, Name::Indexes, &bytes)? == Some(&payload[..]))
            })?;
            report.verified += 1;
            if !found {
                report.errors.push(Error::corrupt(
                    format!("index '{}' of table {}", index.name, self.definition().name),
                    format!("record {id} is not in it"),
                ));
            }
            Ok(())
        })?;
        let mut entries = 0;
        self.read(|transaction| {
            values::each_raw(environment, transaction, Name::Indexes, &entry_head(table, index.number), |key, value| {
                let payload = values::unseal(Name::Indexes, key, value, || values::describe_key(Name::Indexes, key))?;
                // What is beyond is of a load that has not ended.
                let is_beyond = entry_record(key, payload).is_some_and(|id| id >= self.record().first_new());
                entries += u64::from(!is_beyond);
                Ok(())
            })
        })?;
        Ok(entries)
    }
}
