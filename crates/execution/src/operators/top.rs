//! The first rows in an order, when no more are wanted. Of each morsel only those are kept that may be among them, and what
//! the last of the best so far has for its first key is told to the scan: it leaves out records behind that, and zones
//! that have no others. Morsels whose zone maps promise the best come first.
//!
//! A record whose first key equals that of the last is never left out, so that the answer does not depend on which thread
//! came first. Whether a record that would be an error is looked at may.

use crate::Result;
use crate::data::rows::{Column, Rows};
use crate::operators::gathered;
use crate::operators::gathered::Chunk;
use crate::operators::order::SortKey;
use crate::program::float::float;
use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use gingham_storage::scan::TableScan;
use gingham_storage::{ColumnId, Datum, FloatBits, Predicate, ValueClass};
use std::collections::BinaryHeap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};

/// The first rows in an order, which suffice for a query with LIMIT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Top {
    /// Their order, by columns of the query's rows; one at least.
    pub keys: Vec<SortKey>,
    /// The first so many, at least one.
    pub rows: usize,
    /// Rows that equal the last of them in the first key are wanted too: others choose among them.
    pub ties: bool,
}

/// What is known of the best rows, for all threads of a pipeline.
pub(crate) struct BestRows {
    top: Top,
    /// The column of the pipeline's scan that is the first key.
    scanned: Option<Scanned>,
    so_far: Mutex<SoFar>,
}

struct Scanned {
    column: ColumnId,
    position: usize,
    class: ValueClass,
    nullable: bool,
    /// What codes stand for, of a column of strings.
    entries: Option<ArrayRef>,
}

#[derive(Default)]
struct SoFar {
    /// The first keys of the best rows, the worst of them on top: no more than are wanted.
    ranks: BinaryHeap<i128>,
    /// The scan without records that are worse than this.
    narrowed: Option<(i128, Arc<TableScan>)>,
}

impl BestRows {
    /// Nothing so far. `scanned` is the scan, and the position of its column, that the first key is, where it is one.
    pub(crate) fn new(top: &Top, scanned: Option<(&TableScan, usize)>) -> Self {
        let scanned = scanned.and_then(|(scan, column)| Scanned::new(scan, column));
        Self { top: top.clone(), scanned, so_far: Mutex::default() }
    }

    /// The morsels of a scan in the order in which they are taken.
    pub(crate) fn order(&self, scan: &TableScan) -> Option<Vec<usize>> {
        let (key, scanned) = (self.top.keys[0], self.scanned.as_ref()?);
        let best = |morsel: &usize| match scan.range(*morsel, scanned.position) {
            Some((min, max)) => rank(key, Some(if key.descending { max } else { min })),
            // Those of which nothing is known may have any.
            None => i128::MIN,
        };
        let mut order: Vec<usize> = (0..scan.morsels()).collect();
        order.sort_by_cached_key(best);
        Some(order)
    }

    /// A scan without records that can't be among the first; `None` while it is all of them.
    pub(crate) fn with_filter(&self, scan: &TableScan) -> Result<Option<Arc<TableScan>>> {
        let Some(scanned) = &self.scanned else { return Ok(None) };
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        if so_far.ranks.len() < self.top.rows {
            return Ok(None);
        }
        let Some(last) = so_far.ranks.peek().copied() else { return Ok(None) };
        if so_far.narrowed.as_ref().is_none_or(|(known, _)| *known != last) {
            let Some(predicate) = scanned.up_to(self.top.keys[0], last) else { return Ok(None) };
            so_far.narrowed = Some((last, Arc::new(scan.with_filter(&predicate)?)));
        }
        Ok(so_far.narrowed.as_ref().map(|(_, scan)| Arc::clone(scan)))
    }

    /// What is kept of a morsel's rows, of which these outputs are the columns.
    pub(crate) fn kept(&self, mut chunk: Chunk, columns: &[(usize, Option<usize>)]) -> Chunk {
        let Top { keys, rows: wanted, ties } = &self.top;
        let rows = gathered::rows(std::slice::from_ref(&chunk), columns);
        if rows.rows > *wanted {
            let mut places = match ties {
                true => rows.first_and_ties(keys[0], *wanted),
                false => rows.in_order(keys, true, *wanted),
            };
            places.sort_unstable();
            chunk = chunk.taken(&places);
            self.learn(&rows, &places);
        } else {
            self.learn(&rows, &(0..rows.rows).collect::<Vec<_>>());
        }
        chunk
    }

    /// Looks at the first keys of some rows.
    fn learn(&self, rows: &Rows, places: &[usize]) {
        let key = self.top.keys[0];
        let column: &Column = &rows.columns[key.column];
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        for place in places {
            let rank = rank(key, column.get(*place).map(|value| value as i64));
            if so_far.ranks.len() < self.top.rows {
                so_far.ranks.push(rank);
            } else if let Some(mut last) = so_far.ranks.peek_mut()
                && rank < *last
            {
                *last = rank;
            }
        }
    }
}

/// Where a value comes in the order of a key: smaller is earlier.
fn rank(key: SortKey, value: Option<i64>) -> i128 {
    match value {
        None if key.nulls_first => i128::MIN,
        None => i128::MAX,
        Some(value) if key.descending => -i128::from(value),
        Some(value) => value.into(),
    }
}

impl Scanned {
    fn new(scan: &TableScan, position: usize) -> Option<Self> {
        let column = scan.column(position)?;
        let definition = scan.table().definition.column_by_id(column)?;
        let (class, nullable) = (definition.logical_type.class(), definition.nullable);
        let entries = match class {
            ValueClass::Bytes => {
                Some(cast(&scan.table().dictionaries.get(&column)?.newest, &DataType::BinaryView).ok()?)
            }
            _ => None,
        };
        Some(Self { column, position, class, nullable, entries })
    }

    /// Records whose value comes no later than what has this rank; `None` when these are all.
    fn up_to(&self, key: SortKey, rank: i128) -> Option<Predicate> {
        let is_null = Predicate::IsNull { column: self.column, negated: false };
        match rank {
            i128::MIN => return Some(is_null),
            i128::MAX => return None,
            _ => {}
        }
        let value = i64::try_from(if key.descending { -rank } else { rank }).ok()?;
        let datum = match (self.class, &self.entries) {
            (ValueClass::Integer, _) => Datum::Integer(value.into()),
            (ValueClass::Float, _) => Datum::Float(FloatBits::new(float(value))),
            (ValueClass::Bytes, Some(entries)) => {
                let place = usize::try_from(value).ok().filter(|place| *place < entries.len())?;
                Datum::Bytes(entries.as_binary_view().value(place).into())
            }
            (ValueClass::Bytes, None) => return None,
        };
        let (low, high) = match key.descending {
            true => (Bound::Included(datum), Bound::Unbounded),
            false => (Bound::Unbounded, Bound::Included(datum)),
        };
        let range = Predicate::Range { column: self.column, low, high };
        Some(if key.nulls_first && self.nullable { Predicate::Or(vec![is_null, range]) } else { range })
    }
}
