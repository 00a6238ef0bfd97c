//! Rows of a pipeline as the input of later ones: columns of narrow codes, so that a table's columns and these are read by
//! the same loops. Behind the last row lies one more in which all is NULL: an outer join's records without a match have
//! it, so that no loop needs to know of them.

use crate::data::rows::{Column, Rows, Values};
use crate::{Error, Limits, Result};
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::datatypes::ArrowNativeType;
use gingham_kernels::Isa;
use gingham_kernels::key_table::MAX_ROWS;
use gingham_storage::decode::Selection;
use gingham_storage::model::{CodeMeaning, ColumnView, PhysicalLayout};
use gingham_storage::{IntegerSet, LogicalType};

/// Bytes behind the last code that kernels may read.
const PADDING: usize = 64;

/// Where the integers of a column lie, and whether some are NULL.
pub(crate) type ColumnBounds = (Limits, bool);

/// A column that is to be one of a relation.
pub(crate) struct Parts<'p> {
    /// Its integers, one piece behind the other.
    pub(crate) pieces: Vec<&'p [i64]>,
    /// Set where there is a value; `None` when there always is.
    pub(crate) valid: Option<BooleanBuffer>,
}

/// Rows that were materialised.
#[derive(Debug)]
pub struct Relation {
    /// The row of NULLs aside.
    pub(crate) rows: usize,
    pub(crate) views: Vec<ColumnView>,
    pub(crate) facts: Vec<ColumnBounds>,
}

impl Relation {
    /// Rows as a relation. Fails for integers of more than 64 bits, and for more rows than key tables can hold.
    pub fn new(rows: &Rows) -> Result<Self> {
        fn parts(column: &Column) -> Result<Parts<'_>> {
            Ok(Parts { pieces: vec![column.short()?], valid: column.valid.clone() })
        }
        let columns = rows.columns.iter().map(parts).collect::<Result<Vec<_>>>()?;
        Self::of(rows.rows, columns.into_iter())
    }

    /// So many rows, by column. Fails for more than key tables can hold.
    fn of<'p>(rows: usize, columns: impl Iterator<Item = Parts<'p>>) -> Result<Self> {
        let present = present(rows)?;
        Ok(Self::of_views(rows, columns.map(|column| view(&column, rows, &present)).collect()))
    }

    /// So many rows of columns that were put together one by one.
    pub(crate) fn of_views(rows: usize, columns: Vec<(ColumnView, ColumnBounds)>) -> Self {
        let (views, facts) = columns.into_iter().unzip();
        Self { rows, views, facts }
    }

    /// What a mark join adds: whether a record has a match, 0 or 1, which is also the row to read it from. In the places of
    /// the build side's columns, which are not read, stands the same.
    pub(crate) fn marks(columns: usize) -> Result<Vec<ColumnView>> {
        let values = Values::Short(vec![0, 1]);
        let marks = Self::new(&Rows { rows: 2, columns: vec![Column { values, valid: None }] })?;
        Ok(vec![marks.views[0].clone(); columns + 1])
    }

    /// Views of some rows, which count from 0 there.
    pub(crate) fn part(&self, start: usize, rows: usize) -> Vec<ColumnView> {
        let part = |view: &ColumnView| {
            let shape = match &view.shape {
                PhysicalLayout::Contiguous { codes, width } => {
                    let codes = codes.slice(start * usize::from(*width));
                    PhysicalLayout::Contiguous { codes, width: *width }
                }
                other => other.clone(),
            };
            let validity = view.validity.as_ref().map(|validity| validity.slice(start, rows));
            ColumnView { rows, validity, shape, ..view.clone() }
        };
        self.views.iter().map(part).collect()
    }

    /// The integers of a column that are not NULL.
    pub(crate) fn integers(&self, column: usize, isa: Isa) -> Result<Vec<i64>> {
        let view = &self.views[column];
        let mut integers = Vec::new();
        if let (Some(validity), true) = (&view.validity, self.facts[column].1) {
            let rows: Vec<u32> = validity.set_indices().map(|row| row as u32).collect();
            gingham_storage::scan::integers(view, &Selection::Tids(&rows), isa, &mut integers)?;
        } else {
            gingham_storage::scan::integers(view, &Selection::Run(0..self.rows), isa, &mut integers)?;
        }
        Ok(integers)
    }

    /// The integers of a column as a set; `None` when they lie too far apart.
    pub(crate) fn set(&self, column: usize) -> Option<IntegerSet> {
        let (view, (limits, nullable)) = (&self.views[column], self.facts[column]);
        let PhysicalLayout::Contiguous { codes, width } = &view.shape else { return None };
        let valid = view.validity.as_ref().filter(|_| nullable);
        match width {
            1 => set(&codes.typed_data::<u8>()[..self.rows], valid, limits),
            2 => set(&codes.typed_data::<u16>()[..self.rows], valid, limits),
            4 => set(&codes.typed_data::<u32>()[..self.rows], valid, limits),
            _ => set(&codes.typed_data::<u64>()[..self.rows], valid, limits),
        }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let bytes = |view: &ColumnView| match &view.shape {
            PhysicalLayout::Contiguous { codes, .. } => codes.len() + self.rows / 8,
            _ => 0,
        };
        self.views.iter().map(bytes).sum()
    }
}

/// What is known of columns whose rows come from two inputs.
pub(crate) fn of_either(first: &[ColumnBounds], second: &[ColumnBounds]) -> Vec<ColumnBounds> {
    let either =
        |((limits, null), (other, others)): (&ColumnBounds, &ColumnBounds)| (limits.union(*other), *null || *others);
    first.iter().zip(second).map(either).collect()
}

/// What the codes stand for that are none of a NULL's, as a set. Codes count from the smallest integer.
fn set<T: Copy + Into<u64>>(codes: &[T], valid: Option<&BooleanBuffer>, limits: Limits) -> Option<IntegerSet> {
    let (low, high) = (i64::try_from(limits.min).ok()?, i64::try_from(limits.max).ok()?);
    let integer = |code: &T| low.wrapping_add((*code).into() as i64);
    match valid {
        None => IntegerSet::within(low, high, codes.iter().map(integer)),
        Some(valid) => {
            let rows = valid.set_indices().take_while(|row| *row < codes.len());
            IntegerSet::within(low, high, rows.map(|row| integer(&codes[row])))
        }
    }
}

/// A bit for each of so many rows, and none for the one behind them. Fails for more than key tables can hold.
pub(crate) fn present(rows: usize) -> Result<BooleanBuffer> {
    if rows > MAX_ROWS {
        return Err(Error::Unsupported(format!("{rows} rows between pipelines")));
    }
    let mut present = BooleanBufferBuilder::new(rows + 1);
    present.append_n(rows, true);
    present.append(false);
    Ok(present.finish())
}

/// A column of a relation.
pub(crate) fn view(column: &Parts<'_>, rows: usize, present: &BooleanBuffer) -> (ColumnView, ColumnBounds) {
    let values = || column.pieces.iter().flat_map(|piece| piece.iter().copied());
    let (min, max) = match &column.valid {
        None => column.pieces.iter().fold(NONE, |all, piece| wider(all, bounds(piece.iter().copied()))),
        Some(valid) => bounds(values().zip(valid.iter()).filter(|(_, valid)| *valid).map(|(value, _)| value)),
    };
    let (min, max) = if min > max { (0, 0) } else { (min, max) };
    let width: u8 = match max.wrapping_sub(min) as u64 {
        range if range <= u8::MAX.into() => 1,
        range if range <= u16::MAX.into() => 2,
        range if range <= u32::MAX.into() => 4,
        _ => 8,
    };
    // A NULL has any code of the width.
    let codes = match width {
        1 => buffer(&column.pieces, rows, |value| value.wrapping_sub(min) as u8),
        2 => buffer(&column.pieces, rows, |value| value.wrapping_sub(min) as u16),
        4 => buffer(&column.pieces, rows, |value| value.wrapping_sub(min) as u32),
        _ => buffer(&column.pieces, rows, |value| value.wrapping_sub(min)),
    };
    let validity = match &column.valid {
        None => present.clone(),
        Some(valid) => {
            let mut bits = BooleanBufferBuilder::new(rows + 1);
            bits.append_buffer(valid);
            bits.append(false);
            bits.finish()
        }
    };
    let view = ColumnView {
        rows: rows + 1,
        logical_type: LogicalType::Int(64),
        validity: Some(validity),
        shape: PhysicalLayout::Contiguous { codes, width },
        meaning: CodeMeaning::FrameOfReference { base: min.into() },
    };
    (view, (Limits::new(min, max), column.valid.is_some()))
}

/// Bounds of nothing.
const NONE: (i64, i64) = (i64::MAX, i64::MIN);

/// Smallest and largest.
fn bounds(values: impl Iterator<Item = i64>) -> (i64, i64) {
    values.fold(NONE, |all, value| wider(all, (value, value)))
}

fn wider(one: (i64, i64), other: (i64, i64)) -> (i64, i64) {
    (one.0.min(other.0), one.1.max(other.1))
}

/// The codes of all pieces, one for the row of NULLs, and what kernels may read.
fn buffer<T: Copy + Default + ArrowNativeType>(pieces: &[&[i64]], rows: usize, code: impl Fn(i64) -> T) -> Buffer {
    let length = rows + 1 + PADDING / size_of::<T>();
    let mut buffer = Vec::with_capacity(length);
    pieces.iter().for_each(|piece| buffer.extend(piece.iter().map(|value| code(*value))));
    buffer.resize(length, T::default());
    Buffer::from_vec(buffer)
}
