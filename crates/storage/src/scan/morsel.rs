//! A morsel for an executor that reads codes itself: which records qualify, the views of the projected columns, and
//! their integers at records, whatever the layout.

use crate::decode::access::{misfit, with_code, with_codes};
use crate::decode::arrays::Selection;
use crate::decode::gather::{from_chunks, from_packed, packed};
use crate::encoding::floats::unscale;
use crate::encoding::meta::Encoding;
use crate::model::dictionary::DictionaryVersion;
use crate::model::view::{CodeMeaning, ColumnView, PhysicalLayout, code_bytes, float_integer, real_from_order};
use crate::pages::attribute::{Attribute, AttributeForm};
use crate::scan::prune::Verdict;
use crate::scan::reads::MorselMemory;
use crate::scan::{Morsel, TableScan};
use crate::segment::memo::ZoneMemo;
use crate::snapshot::heap::zones::RECORD_IDS;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::{ColumnId, Datum, LogicalType, Result, ValueClass};
use gingham_kernels::{Code, Isa, bits, decode, lookup};

/// The records of a morsel that qualify, at least one.
#[derive(Debug)]
pub struct OpenMorsel {
    /// Records in the zone, deleted ones too.
    pub rows: usize,
    /// The qualifying ones, ascending, when they are not all.
    pub tids: Option<Vec<u32>>,
    /// Views of the projected columns, in their order. What they have at other records than the qualifying ones means nothing.
    pub views: Vec<ColumnView>,
    /// Memory that is accounted for the views while they are read past the cache.
    pub(crate) memory: Option<MorselMemory>,
}

impl OpenMorsel {
    /// A morsel of records that lie elsewhere, for whose columns nothing is accounted.
    pub fn new(rows: usize, tids: Option<Vec<u32>>, views: Vec<ColumnView>) -> Self {
        Self { rows, tids, views, memory: None }
    }

    /// Records that qualify.
    pub fn qualifying(&self) -> usize {
        self.tids.as_ref().map_or(self.rows, Vec::len)
    }
}

impl TableScan {
    /// Evaluates the predicate on a morsel and opens the projected columns; `None` when no record qualifies.
    pub fn open(&self, number: usize) -> Result<Option<OpenMorsel>> {
        let morsel = self.morsel(number)?;
        let memo = self.memo(number);
        let tids = match morsel.verdict {
            Verdict::None => return Ok(None),
            Verdict::All => self.live_tids(morsel),
            Verdict::Some => {
                let qualifying = self.qualifying(morsel, &memo)?;
                let rows = bits::count(self.isa, &qualifying);
                if rows == 0 {
                    self.segments[morsel.segment].0.end_zone(morsel.zone);
                    return Ok(None);
                }
                (rows < morsel.rows).then(|| self.tids(&qualifying, rows))
            }
        };
        self.opened(morsel, tids, &memo).map(Some)
    }

    /// The records of a morsel that are not deleted; `None` when none is.
    fn live_tids(&self, morsel: &Morsel) -> Option<Vec<u32>> {
        Some(self.tids(&self.deleted(morsel)?.live(morsel.rows), self.live(morsel)))
    }

    /// The records whose bits are set, so many.
    fn tids(&self, found: &[u64], rows: usize) -> Vec<u32> {
        let mut tids = Vec::with_capacity(rows);
        bits::to_tids(self.isa, found, 0, &mut tids);
        tids
    }

    /// Opens the projected columns of a morsel with all records that are not deleted, for an executor that evaluates the predicate itself;
    /// `None` when zone maps say that no record qualifies.
    pub fn open_all(&self, number: usize) -> Result<Option<OpenMorsel>> {
        let (morsel, memo) = (self.morsel(number)?, self.memo(number));
        if morsel.verdict == Verdict::None {
            return Ok(None);
        }
        let tids = self.live_tids(morsel);
        self.opened(morsel, tids, &memo).map(Some)
    }

    /// A morsel with the views of its columns.
    fn opened<'a>(&'a self, morsel: &Morsel, tids: Option<Vec<u32>>, memo: &ZoneMemo<'a>) -> Result<OpenMorsel> {
        let memory = self.charge(morsel);
        let views = self.views(morsel, tids.as_deref(), memo)?;
        Ok(OpenMorsel { rows: morsel.rows, tids, views, memory })
    }

    /// Views of the projected columns, of which the values at `tids` are wanted, or all.
    fn views<'a>(&'a self, morsel: &Morsel, tids: Option<&[u32]>, memo: &ZoneMemo<'a>) -> Result<Vec<ColumnView>> {
        let segment = &self.segments[morsel.segment].0;
        let views = self.projection.iter().map(|column| segment.view_at(column, morsel.zone, tids, memo)).collect();
        segment.end_zone(morsel.zone);
        views
    }

    /// The table that is scanned.
    pub fn table(&self) -> &TableSnapshot {
        &self.table
    }

    /// Number of the `position`th projected column.
    pub fn column(&self, position: usize) -> Option<ColumnId> {
        self.projection.get(position).map(|column| column.id)
    }

    /// Records of a morsel, deleted ones too.
    pub fn records(&self, morsel: usize) -> usize {
        self.morsels.get(morsel).map_or(0, |morsel| morsel.rows)
    }

    /// Smallest and largest value of the `position`th projected column in a morsel, as its metadata has them. `None` for what
    /// is no integer, and where some are NULL.
    pub fn range(&self, morsel: usize, position: usize) -> Option<(i64, i64)> {
        let (morsel, column) = (self.morsels.get(morsel)?, self.projection.get(position)?);
        let segment = &self.segments[morsel.segment].0;
        let map = segment.zone_map(column.id, morsel.zone).filter(|map| map.nulls == 0)?;
        let base = segment.integer_base(column.id)?;
        let value = |code: u64| i64::try_from(base.checked_add(code.into())?).ok();
        Some((value(map.min)?, value(map.max)?))
    }

    /// The instruction set that the scan uses.
    pub fn isa(&self) -> Isa {
        self.isa
    }
}

/// Smallest and largest integer that [`integers`] gives for a column, over base and delta: its values when it is of the
/// integer class, their [`float_integer`]s (a REAL's widened) when it is of the float class, the newest codes when all of it
/// has a dictionary. `None` when it is none of these, or has values past 64 bits. A column without values has the bounds 0
/// and 0.
pub fn integer_bounds(table: &TableSnapshot, column: ColumnId) -> Option<(i64, i64)> {
    let definition = table.definition.column_by_id(column)?;
    if column == RECORD_IDS && table.heap.is_none() {
        return Some((0, table.numbers().saturating_sub(1) as i64));
    }
    // Pages have byte strings as they are, and 128 bits for a type that may need them, whatever its values.
    if table.heap.is_some() && !matches!(Attribute::new(definition).kind, AttributeForm::Fixed(..=8)) {
        return None;
    }
    match definition.logical_type.class() {
        ValueClass::Float => {
            let summary = table.summary(column)?;
            match (summary.min, summary.max) {
                (Datum::Float(min), Datum::Float(max)) => Some((float_integer(min.get()), float_integer(max.get()))),
                (Datum::Null, Datum::Null) => Some((0, 0)),
                _ => None,
            }
        }
        ValueClass::Integer => {
            let summary = table.summary(column)?;
            match (summary.min, summary.max) {
                (Datum::Integer(min), Datum::Integer(max)) => Some((min.try_into().ok()?, max.try_into().ok()?)),
                (Datum::Null, Datum::Null) => Some((0, 0)),
                _ => None,
            }
        }
        ValueClass::Bytes => {
            let coded = |encoding: &Encoding| matches!(encoding, Encoding::Dictionary);
            let delta = table.coded_delta();
            let mut segments = table.segments.iter().chain(&delta);
            let all = segments.all(|segment| match segment.column(column) {
                Some(meta) => coded(&meta.encoding),
                None => definition.initial.is_null(),
            });
            let entries = table.dictionaries.get(&column).map_or(0, |dictionary| dictionary.distinct());
            all.then(|| (0, entries.saturating_sub(1) as i64))
        }
    }
}

/// Appends to `out`, for each selected record of a column that has [`integer_bounds`], its value, its [`float_integer`] or
/// its newest dictionary code; where it is NULL, any integer.
pub fn integers(view: &ColumnView, selection: &Selection<'_>, isa: Isa, out: &mut Vec<i64>) -> Result<()> {
    let start = out.len();
    match &view.shape {
        PhysicalLayout::Constant(Datum::Null) => out.resize(start + selection.len(), 0),
        PhysicalLayout::Constant(Datum::Integer(value)) => {
            let value = short(view, *value)?;
            out.resize(start + selection.len(), value);
        }
        PhysicalLayout::Constant(Datum::Float(value)) => {
            out.resize(start + selection.len(), float_integer(value.get()))
        }
        PhysicalLayout::Contiguous { codes, width } => with_codes!(view, codes, *width, |codes| {
            let base = base(view)?;
            match selection {
                Selection::Run(run) => decode::widen(isa, &codes[run.clone()], base, out),
                Selection::Tids(tids) => lookup::widen(isa, codes, tids, base, out),
            }
            Ok(())
        })?,
        PhysicalLayout::Chunked { bytes, place, width } => with_code!(view, *width, C => {
            let codes = from_chunks::<C>(view, bytes, *place, selection, isa)?;
            widen(view, &codes, isa, out)
        })?,
        PhysicalLayout::Packed { bytes, format } => with_code!(view, code_bytes(format.width()), C => {
            let codes = from_packed::<C>(packed(view, bytes, *format)?, selection, isa);
            widen(view, &codes, isa, out)
        })?,
        _ => return Err(misfit(view, "integers were asked for")),
    }
    match &view.meaning {
        CodeMeaning::Dictionary(version) => to_newest(view, version, &mut out[start..]),
        CodeMeaning::ScaledFloat { digits, .. } => {
            let floats = out[start..].iter_mut();
            floats.for_each(|value| *value = float_integer(unscale(*value, *digits)));
            Ok(())
        }
        CodeMeaning::FloatOrder { .. } if view.logical_type == LogicalType::Float32 => {
            let floats = out[start..].iter_mut();
            floats.for_each(|value| *value = float_integer(real_from_order(*value as u32).into()));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn widen<C: Code>(view: &ColumnView, codes: &[C], isa: Isa, out: &mut Vec<i64>) -> Result<()> {
    decode::widen(isa, codes, base(view)?, out);
    Ok(())
}

/// What is added to a code, modulo 64 bits, for its integer: nothing for those of a dictionary. What comes out of floats
/// other than DOUBLEs by their order is no [`float_integer`] yet.
pub fn base(view: &ColumnView) -> Result<i64> {
    match &view.meaning {
        CodeMeaning::FrameOfReference { base } => short(view, *base),
        CodeMeaning::ScaledFloat { base, .. } => Ok(*base),
        CodeMeaning::FloatOrder { base } if view.logical_type == LogicalType::Float32 => Ok(*base as i64),
        CodeMeaning::FloatOrder { base } => Ok((*base ^ 1 << 63) as i64),
        CodeMeaning::Dictionary(_) => Ok(0),
        _ => Err(misfit(view, "integers were asked for")),
    }
}

fn short(view: &ColumnView, value: i128) -> Result<i64> {
    i64::try_from(value).map_err(|_| misfit(view, &format!("{value} where 64 bits were promised")))
}

/// Codes of a version to those of the newest.
fn to_newest(view: &ColumnView, version: &DictionaryVersion, codes: &mut [i64]) -> Result<()> {
    // A column of NULLs alone has a dictionary without entries.
    if version.newest.is_empty() {
        codes.fill(0);
        return Ok(());
    }
    if let Some(max) = codes.iter().max().filter(|max| **max as usize >= version.newest.len()) {
        return Err(misfit(view, &format!("code {max} of {} entries", version.newest.len())));
    }
    if !version.is_newest() {
        for code in codes {
            *code = version.newest[*code as usize].into();
        }
    }
    Ok(())
}
