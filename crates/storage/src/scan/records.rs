//! Row ids: how an executor that works on integers carries a column of byte strings along. A record's number is its
//! place among all of the table's, segment after segment, then the delta, deleted ones counted too; what it stands for is fetched at the end, of the
//! records that are left.

use crate::SqlState;
use crate::decode::arrays::{Selection, values};
use crate::model::design::ZONE_ROWS;
use crate::model::view::{CodeMeaning, ColumnView, PhysicalLayout};
use crate::scan::morsel::OpenMorsel;
use crate::scan::source::MorselSource;
use crate::scan::{Morsel, TableScan};
use crate::segment::memo::ZoneMemo;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::{ColumnDefinition, ColumnId, Error, LogicalType, Result};
use arrow::array::{Array, ArrayRef, UInt64Array, new_null_array};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::compute::{concat, take};
use gingham_kernels::Isa;
use std::sync::OnceLock;

impl TableScan {
    /// Adds one more view to those of an open morsel's columns: the numbers of its records, or NULL where the column `of` is.
    pub fn number(&self, morsel: usize, open: &mut OpenMorsel, of: Option<ColumnId>) -> Result<()> {
        let morsel = self.morsel(morsel)?;
        let mut all = numbers(self.first_record(morsel), open.rows);
        if let Some(definition) = of.and_then(|column| self.table.definition.column_by_id(column)) {
            let view = self.segments[morsel.segment].0.view(definition, morsel.zone)?;
            all.validity = if view.is_null() { Some(BooleanBuffer::new_unset(open.rows)) } else { view.validity };
        }
        open.views.push(all);
        Ok(())
    }

    fn first_record(&self, morsel: &Morsel) -> u64 {
        let source = &self.segments[morsel.segment].0;
        source.first() + source.zone_rows(morsel.zone).start as u64
    }
}

/// A column of `rows` numbers from `first` on. Its codes are the same whatever the first: one buffer does for all zones.
pub(super) fn numbers(first: u64, rows: usize) -> ColumnView {
    static SHORT: OnceLock<Buffer> = OnceLock::new();
    let all = |rows: usize| rows + 64;
    let (codes, width) = if rows <= ZONE_ROWS {
        let codes = SHORT.get_or_init(|| Buffer::from_vec((0..all(ZONE_ROWS)).map(|row| row as u16).collect()));
        (codes.clone(), 2)
    } else {
        (Buffer::from_vec((0..all(rows) as u32).collect()), 4)
    };
    ColumnView {
        rows,
        logical_type: LogicalType::Int(64),
        validity: None,
        shape: PhysicalLayout::Contiguous { codes, width },
        meaning: CodeMeaning::FrameOfReference { base: first.into() },
    }
}

/// Values of a column at records of these numbers, in their order; `None` gives NULL. Fails for a number past the last.
pub fn fetch(table: &TableSnapshot, column: ColumnId, records: &[Option<u64>], isa: Isa) -> Result<ArrayRef> {
    let mut all = fetch_all(table, &[column], records, isa)?;
    all.pop().ok_or_else(|| Error::Internal("no column was fetched".to_owned()))
}

/// Fetches several columns at row ids.
pub fn fetch_all(
    table: &TableSnapshot,
    columns: &[ColumnId],
    records: &[Option<u64>],
    isa: Isa,
) -> Result<Vec<ArrayRef>> {
    if records.iter().all(Option::is_some) && records.is_sorted_by(|a, b| a < b) {
        let wanted: Vec<u64> = records.iter().copied().flatten().collect();
        return fetch_sorted(table, columns, &wanted, isa);
    }
    let mut order: Vec<u32> = (0..records.len() as u32).filter(|place| records[*place as usize].is_some()).collect();
    order.sort_unstable_by_key(|place| records[*place as usize]);
    let (mut wanted, mut places) = (Vec::with_capacity(order.len()), vec![None; records.len()]);
    for place in order {
        let place = place as usize;
        if wanted.last() != records[place].as_ref() {
            wanted.extend(records[place]);
        }
        places[place] = Some(wanted.len() as u64 - 1);
    }
    let places = UInt64Array::from(places);
    let placed = |all: ArrayRef| {
        // Of nothing there is nothing to take, not even for NULLs.
        Ok(if wanted.is_empty() { new_null_array(all.data_type(), places.len()) } else { take(&all, &places, None)? })
    };
    fetch_sorted(table, columns, &wanted, isa)?.into_iter().map(placed).collect()
}

/// Values of columns at records whose numbers ascend.
fn fetch_sorted(table: &TableSnapshot, columns: &[ColumnId], wanted: &[u64], isa: Isa) -> Result<Vec<ArrayRef>> {
    let name = &table.definition.name;
    let definition = |column: &ColumnId| {
        let definition = table.definition.column_by_id(*column);
        definition.ok_or_else(|| {
            Error::invalid(SqlState::UndefinedColumn, format!("table {name} has no column of number {column}"))
        })
    };
    let definitions = columns.iter().map(definition).collect::<Result<Vec<_>>>()?;
    let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); columns.len()];
    let sources = MorselSource::all(table)?;
    let mut rest = wanted;
    for source in &sources {
        let own = rest.partition_point(|record| *record < source.first() + source.rows() as u64);
        zones(source, &definitions, &rest[..own], isa, &mut parts)?;
        rest = &rest[own..];
    }
    if let Some(record) = rest.first() {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("record {record} of table {name}, which has {}", table.numbers()),
        ));
    }
    let joined = |(definition, parts): (&&ColumnDefinition, Vec<ArrayRef>)| {
        if parts.is_empty() {
            return Ok(new_null_array(&definition.logical_type.to_arrow(), 0));
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        Ok(concat(&parts)?)
    };
    definitions.iter().zip(parts).map(joined).collect()
}

/// Values of a source's records, whose numbers ascend: a part for each column and zone that has some.
fn zones(
    source: &MorselSource,
    columns: &[&ColumnDefinition],
    records: &[u64],
    isa: Isa,
    parts: &mut [Vec<ArrayRef>],
) -> Result<()> {
    let (mut rest, first) = (records, source.first());
    for zone in 0..source.zones() {
        let rows = source.zone_rows(zone);
        let own = rest.partition_point(|record| *record < first + rows.end as u64);
        if own > 0 {
            let start = first + rows.start as u64;
            let tids: Vec<u32> = rest[..own].iter().map(|record| (record - start) as u32).collect();
            let memo = ZoneMemo::default();
            for (column, parts) in columns.iter().zip(&mut *parts) {
                parts.push(values(&source.view_with(column, zone, &memo)?, &Selection::Tids(&tids), isa)?);
            }
        }
        rest = &rest[own..];
    }
    Ok(())
}
