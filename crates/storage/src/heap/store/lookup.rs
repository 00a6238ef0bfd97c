//! Records of a heap table that an index finds, at one commit.

use super::RecordId;
use super::indexes::{entry_head, entry_record};
use super::reader::HeapReader;
use crate::catalog::environment::Name;
use crate::catalog::values;
use crate::heap::index::{KeyRange, ranges};
use crate::{Error, IndexDefinition, Predicate, Result};
use heed::{RoTxn, WithoutTls};
use std::ops::Bound;

impl HeapReader {
    /// Records among which are all that `predicate` is true of, by the index that finds the fewest; `None` when no index
    /// says anything of it, or all find more than `most`.
    pub(crate) fn candidates(&self, predicate: &Predicate, most: usize) -> Result<Option<Vec<RecordId>>> {
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
    pub(crate) fn read<R>(&self, work: impl FnOnce(&RoTxn<'_, WithoutTls>) -> R) -> R {
        self.pin.read(work)
    }

    /// Records of the entries in some runs of an index; `None` when they are more than `most`.
    pub(crate) fn entries(
        &self,
        index: &IndexDefinition,
        runs: &[KeyRange],
        most: usize,
    ) -> Result<Option<Vec<RecordId>>> {
        let environment = &self.store.environment;
        let (entries, head) = (environment.values(Name::Indexes)?, entry_head(self.definition().id, index.number));
        let failed = environment.failed("reading");
        let mut found = Vec::new();
        self.pin.read(|transaction| {
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
