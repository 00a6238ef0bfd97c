//! Indexes of heap tables: made, dropped and checked. Their entries are crate::heap's.

use crate::catalog::environment::Name;
use crate::catalog::unfinished::{Unfinished, first_new};
use crate::catalog::{CheckReport, Snapshot, Store, TableSnapshot, Transaction, values};
use crate::heap::index::IndexKey;
use crate::heap::store::indexes::{entry_head, entry_key, entry_payload, entry_record};
use crate::heap::{Field, HeapReader};
use crate::{ColumnId, Error, IndexDefinition, Result, TableDefinition, TableId};
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

impl Transaction<'_> {
    /// Makes an index of a heap table over its records. Fails when a table of its schema has one of that name, when it lies in
    /// no pages, and for a unique one when two records have the same values. `wanted` is asked now and then.
    pub fn create_index(
        &mut self,
        table: TableId,
        name: &str,
        columns: Vec<ColumnId>,
        unique: bool,
        wanted: &dyn Fn() -> bool,
    ) -> Result<()> {
        let mut record = self.record(table)?;
        let definition = &mut record.definition;
        if record.heap.is_none() {
            return Err(Error::Unsupported(format!(
                "table '{}' has the layout {}, whose zone maps take the place of indexes; they are for the layouts nsm, dsm \
                 and pax",
                definition.name,
                definition.design.text(definition)
            )));
        }
        for other in self.table_ids() {
            let other = self.record(other)?.definition;
            if other.name.schema == definition.name.schema && other.indexes.iter().any(|index| index.name == name) {
                return Err(Error::InvalidInput(format!("index '{name}' already exists, of table '{}'", other.name)));
            }
        }
        let number = add_index(definition, name, columns, unique, false);
        self.put_record(record)?;
        self.heap(table, |heap| heap.fill_index(number, wanted))
    }

    /// Drops an index of a heap table. Fails for one that a constraint needs.
    pub fn drop_index(&mut self, table: TableId, name: &str) -> Result<()> {
        let mut record = self.record(table)?;
        let definition = &mut record.definition;
        let found = definition
            .indexes
            .iter()
            .position(|index| index.name == name)
            .ok_or_else(|| Error::InvalidInput(format!("table '{}' has no index '{name}'", definition.name)))?;
        if definition.indexes[found].of_constraint {
            return Err(Error::Constraint(format!(
                "index '{name}' can't be dropped: constraint '{name}' of table '{}' needs it",
                definition.name
            )));
        }
        let number = definition.indexes.remove(found).number;
        let prefix = record.prefix();
        let (first, last) = (entry_head(prefix, number), entry_head(prefix, number + 1));
        let range = (Bound::Included(&first[..]), Bound::Excluded(&last[..]));
        let environment = self.environment;
        let removed = environment.values(Name::Indexes)?.delete_range(&mut self.transaction, &range);
        removed.map_err(environment.failed("writing"))?;
        self.put_record(record)
    }
}

/// Gives the definition of a table in heap pages the indexes of its keys.
pub(crate) fn add_key_indexes(definition: &mut TableDefinition) {
    for key in definition.keys.clone() {
        add_index(definition, &key.name, key.columns, true, true);
    }
}

/// Takes the indexes of keys from the definition of a table that leaves its pages. Fails when it has others.
pub(crate) fn remove_key_indexes(definition: &mut TableDefinition) -> Result<()> {
    if let Some(index) = definition.indexes.iter().find(|index| !index.of_constraint) {
        return Err(Error::InvalidInput(format!(
            "table '{}' has the index '{}', which only the layouts nsm, dsm and pax can have; drop it first",
            definition.name, index.name
        )));
    }
    definition.indexes.clear();
    Ok(())
}

/// Adds an index and returns its number: one that no other has, which one that was dropped may have had.
fn add_index(
    definition: &mut TableDefinition,
    name: &str,
    columns: Vec<ColumnId>,
    unique: bool,
    of_constraint: bool,
) -> u32 {
    let number = definition.indexes.iter().map(|index| index.number + 1).max().unwrap_or(0);
    definition.indexes.push(IndexDefinition { number, name: name.to_owned(), columns, unique, of_constraint });
    number
}

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
            let unfinished = Unfinished::find(&environment, transaction)?.map(|load| load.prefix.to_be_bytes());
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
    fn check_index(
        &self,
        index: &IndexDefinition,
        environment: &crate::catalog::environment::Environment,
        report: &mut CheckReport,
    ) -> Result<u64> {
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
                let is_beyond = entry_record(key, payload).is_some_and(|id| id >= first_new(self.record()));
                entries += u64::from(!is_beyond);
                Ok(())
            })
        })?;
        Ok(entries)
    }
}
