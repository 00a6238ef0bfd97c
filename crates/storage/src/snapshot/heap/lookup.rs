//! Records of a heap table that an index finds, at one commit.

use crate::SqlState;
use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_record::RecordId;
use crate::lmdb::index_entries::{entry_head, entry_key, entry_record, is_alone};
use crate::lmdb::values;
use crate::pages::attribute::PageSchema;
use crate::pages::index::{IndexKey, KeyRange, ranges};
use crate::snapshot::heap::reader::HeapReader;
use crate::{ColumnId, Datum, Error, IndexDefinition, Predicate, Result, TableId};
use heed::{RoTxn, WithoutTls};
use std::ops::Bound;

/// The key that a record with these values has in an index, and the places of the index's columns.
pub(crate) fn key_of(schema: &PageSchema, index: &IndexDefinition, values: &[Datum]) -> Result<(IndexKey, Vec<usize>)> {
    let attributes = schema.attributes();
    let place = |column: &ColumnId| attributes.iter().position(|own| own.column == *column);
    let places: Vec<usize> = index.columns.iter().filter_map(place).collect();
    if places.len() != values.len() {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("index '{}' has {} columns, {} values are given", index.name, places.len(), values.len()),
        ));
    }
    let mut fields = Vec::with_capacity(places.len());
    for (at, value) in places.iter().zip(values) {
        fields.push((&attributes[*at], attributes[*at].field(value)?));
    }
    Ok((IndexKey::new(fields), places))
}

/// The records that may have a key in an index: one when the index is unique and the key whole.
pub(crate) fn alike(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    table: TableId,
    index: &IndexDefinition,
    key: &IndexKey,
) -> Result<Vec<RecordId>> {
    let mut found = Vec::new();
    if is_alone(index, key) {
        let bytes = entry_key(table, index, key, 0);
        let payload = values::get(environment, transaction, Name::Indexes, &bytes)?;
        found.extend(payload.and_then(|payload| entry_record(&bytes, payload)));
        return Ok(found);
    }
    let mut prefix = entry_head(table, index.number).to_vec();
    prefix.extend_from_slice(&key.bytes);
    values::each(environment, transaction, Name::Indexes, &prefix, |key, payload| {
        found.extend(entry_record(key, payload));
        Ok(())
    })?;
    Ok(found)
}

impl HeapReader {
    /// Records among which are all that `predicate` is true of, by the index that finds the fewest; `None` when no index
    /// says anything of it, or all find more than `most`.
    pub(crate) fn candidates(&self, predicate: &Predicate, most: usize) -> Result<Option<Vec<RecordId>>> {
        // What an open transaction has written has no entries that anybody could read.
        if self.overlay().is_some() {
            return Ok(None);
        }
        let mut fewest: Option<Vec<RecordId>> = None;
        for index in &self.definition().indexes {
            let Some(runs) = ranges(self.schema(), &index.columns, predicate) else { continue };
            let most = fewest.as_ref().map_or(most, Vec::len);
            if let Some(found) = self.entries(index, &runs, most)? {
                fewest = Some(found);
            }
        }
        Ok(fewest)
    }

    /// The record whose values of the columns of a unique index are these: its id, and its values of the columns at the places
    /// `wanted` among the table's. None of NULLs. Fails for values that are not of the columns' types.
    pub fn record_by_key(
        &self,
        index: &IndexDefinition,
        values: &[Datum],
        wanted: &[usize],
    ) -> Result<Option<(RecordId, Vec<Datum>)>> {
        let (key, places) = key_of(self.schema(), index, values)?;
        if key.has_null {
            return Ok(None);
        }
        let (environment, table) = (self.environment(), self.prefix());
        let copies = self.overlay().is_some();
        let found = match copies {
            false => self.pin().read(|transaction| alike(environment, transaction, table, index, &key))?,
            // What an open transaction has written has no entries that anybody could read.
            true => self.ids()?,
        };
        for id in found {
            let is_it = key.is_whole && !copies || self.values(id, &places)?.is_some_and(|own| own == values);
            if is_it && let Some(found) = self.values(id, wanted)? {
                return Ok(Some((id, found)));
            }
            // A load that has not ended has entries of records that nobody sees yet.
            if is_it && id < self.record().first_new() {
                let place = format!("index '{}' of table {}", index.name, self.schema().table);
                return Err(Error::corrupt(place, format!("record {id}, which it names, is missing")));
            }
        }
        Ok(None)
    }

    fn ids(&self) -> Result<Vec<RecordId>> {
        let mut ids = Vec::new();
        self.each_id(|id| {
            ids.push(id);
            Ok(())
        })?;
        Ok(ids)
    }

    /// Calls `visit` with the id of each record.
    pub(crate) fn each_id(&self, mut visit: impl FnMut(RecordId) -> Result<()>) -> Result<()> {
        for zone in 0..self.zones() {
            let zone = self.zone(zone)?;
            let live = zone.live_rows();
            let is_live = |row: &usize| live.as_ref().is_none_or(|live| live[row / 64] >> (row % 64) & 1 == 1);
            (0..zone.rows()).filter(is_live).try_for_each(|row| visit(zone.id_of_row(row)))?;
        }
        Ok(())
    }

    /// Reads within the table's read transaction.
    pub(crate) fn read<R>(&self, work: impl FnOnce(&RoTxn<'_, WithoutTls>) -> Result<R>) -> Result<R> {
        self.pin().read(work)
    }

    /// Records of the entries in some runs of an index; `None` when they are more than `most`.
    pub(crate) fn entries(
        &self,
        index: &IndexDefinition,
        runs: &[KeyRange],
        most: usize,
    ) -> Result<Option<Vec<RecordId>>> {
        let environment = self.environment();
        let (entries, head) = (environment.values(Name::Indexes)?, entry_head(self.prefix(), index.number));
        let failed = environment.failed("reading");
        let mut found = Vec::new();
        self.pin().read(|transaction| {
            for (low, high) in runs {
                let (low, high) = ([&head[..], low].concat(), [&head[..], high].concat());
                let range = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
                for entry in entries.range(transaction, &range).map_err(&failed)? {
                    let (key, value) = entry.map_err(&failed)?;
                    let place = || {
                        let file = environment.folder().join("data.mdb");
                        format!("{}, index '{}' of table {}", file.display(), index.name, self.schema().table)
                    };
                    let payload = values::unseal(Name::Indexes, key, value, place)?;
                    let id = entry_record(key, payload);
                    found.push(id.ok_or_else(|| Error::corrupt(place(), "an entry names no record"))?);
                    if found.len() > most {
                        return Ok(None);
                    }
                }
            }
            Ok(Some(found))
        })
    }
}
