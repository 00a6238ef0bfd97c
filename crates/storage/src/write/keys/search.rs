//! Where in a table the records may be that have one of some keys: in the segments whose filters let a key through, those
//! without a filter, and the delta. Each is scanned for the keys that it may have alone, so that a key costs no scan of codes but
//! where it is, or where a filter is wrong.

use crate::decode::arrays::datum;
use crate::segment::reader::Segment;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::keys::encode::KeyEncoder;
use crate::write::keys::set::KeySet;
use crate::write::keys::{Left, Lists};
use crate::{ColumnId, Datum, Predicate, Result};
use arrow::array::ArrayRef;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys that are looked for in a table.
pub(super) struct Search<'s> {
    pub(super) columns: &'s [ColumnId],
    pub(super) encoder: &'s KeyEncoder,
    pub(super) keys: &'s KeySet,
    /// What all records with one of the keys fulfil, for what no filter is of.
    pub(super) predicate: Predicate,
}

/// A part of a table.
struct SearchPart {
    table: TableSnapshot,
    /// The number of its first record.
    first: u64,
    predicate: Predicate,
}

impl Search<'_> {
    /// Calls `visit` with the columns of records among which all are that have one of the keys and stay, in record order.
    pub(super) fn for_each(self, left: &Left<'_>, mut visit: impl FnMut(&[ArrayRef]) -> Result<()>) -> Result<()> {
        let filtered = |segment: &Arc<Segment>| segment.has_filter(self.columns);
        if !left.table.segments.iter().any(filtered) {
            return left.for_each(self.columns, self.predicate, visit);
        }
        for part in self.parts(left.table)? {
            // Record ids of a table without heap pages are row ids.
            let place = |number: u64| left.gone.partition_point(|id| *id < number);
            let gone = &left.gone[place(part.first)..place(part.first + part.table.numbers())];
            let gone: Vec<u64> = gone.iter().map(|id| id - part.first).collect();
            let left = Left { table: &Arc::new(part.table), gone: &gone };
            left.for_each(self.columns, part.predicate, &mut visit)?;
        }
        Ok(())
    }

    /// The parts of a table that have to be read.
    fn parts(&self, table: &TableSnapshot) -> Result<Vec<SearchPart>> {
        let ends = self.ends()?;
        let (mut parts, mut first): (Vec<SearchPart>, u64) = (Vec::new(), 0);
        for segment in &table.segments {
            let start = first;
            first += segment.rows() as u64;
            if ends.as_ref().is_some_and(|ends| self.is_beyond(segment, ends)) {
                continue;
            }
            let predicate = match segment.may_have(self.columns, self.keys.hashes())? {
                None => self.predicate.clone(),
                Some(numbers) if numbers.is_empty() => continue,
                Some(numbers) => self.list(table, &numbers)?,
            };
            parts.push(SearchPart {
                table: table.reduced(vec![Arc::clone(segment)], Vec::new()),
                first: start,
                predicate,
            });
        }
        if !table.delta.is_empty() {
            // As it is stored: codes for its strings, which queries want, would be made anew after each small insert.
            let mut delta = table.reduced(Vec::new(), table.delta.clone());
            (delta.coded, delta.dictionaries) = (Arc::default(), BTreeMap::new());
            parts.push(SearchPart { table: delta, first, predicate: self.predicate.clone() });
        }
        Ok(parts)
    }

    /// The condition that some of the keys are looked up by.
    fn list(&self, table: &TableSnapshot, numbers: &[usize]) -> Result<Predicate> {
        let columns = self.decode(numbers)?;
        let mut lists = Lists::new(&table.definition, self.columns);
        (0..numbers.len()).for_each(|row| lists.add(&columns, row));
        Ok(lists.predicate(&table.definition, self.columns, None))
    }

    /// The columns of keys.
    fn decode(&self, numbers: &[usize]) -> Result<Vec<ArrayRef>> {
        self.encoder.decode(numbers.iter().map(|number| self.keys.key(*number)))
    }

    /// Smallest and largest value of the key's first column.
    fn ends(&self) -> Result<Option<(Datum, Datum)>> {
        let Some((first, last)) = self.keys.ends() else { return Ok(None) };
        let columns = self.decode(&[first, last])?;
        let logical_type = self.encoder.logical_type(0);
        Ok(datum(logical_type, &columns[0], 0).zip(datum(logical_type, &columns[0], 1)))
    }

    /// True when a segment's values of the key's first column all lie beyond those of the keys.
    fn is_beyond(&self, segment: &Segment, (low, high): &(Datum, Datum)) -> bool {
        let Some(meta) = segment.column(self.columns[0]) else { return false };
        let (min, max) = (&meta.statistics.min, &meta.statistics.max);
        let above = |a: &Datum, b: &Datum| a.compare(b).is_some_and(|order| order.is_gt());
        above(min, high) || above(low, max)
    }
}
