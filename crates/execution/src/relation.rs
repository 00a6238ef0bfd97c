//! Rows of a pipeline as the input of later ones: columns of narrow codes, so that a table's columns and these are read by
//! the same loops. Behind the last row lies one more in which all is NULL: an outer join's records without a match have
//! it, so that no loop needs to know of them.

use crate::rows::{Column, Rows, Values};
use crate::{Error, Limits, Result};
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::datatypes::ArrowNativeType;
use gingham_kernels::Isa;
use gingham_kernels::key_table::MAX_ROWS;
use gingham_storage::LogicalType;
use gingham_storage::scan::Selection;
use gingham_storage::view::{ColumnView, Meaning, Shape};

/// Bytes behind the last code that kernels may read.
const PADDING: usize = 64;

/// Where the integers of a column lie, and whether some are NULL.
pub(crate) type Facts = (Limits, bool);

/// Rows that were materialised.
#[derive(Debug)]
pub struct Relation {
    /// The row of NULLs aside.
    pub(crate) rows: usize,
    pub(crate) views: Vec<ColumnView>,
    pub(crate) facts: Vec<Facts>,
}

impl Relation {
    /// The same rows. Fails for integers of more than 64 bits, and for more rows than key tables can hold.
    pub fn new(rows: &Rows) -> Result<Self> {
        if rows.rows > MAX_ROWS {
            return Err(Error::Unsupported(format!("{} rows between pipelines", rows.rows)));
        }
        // All rows, and not the one behind them.
        let mut present = BooleanBufferBuilder::new(rows.rows + 1);
        present.append_n(rows.rows, true);
        present.append(false);
        let present = present.finish();
        let columns = rows.columns.iter().map(|column| view(column, rows.rows, &present));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let (views, facts) = columns.into_iter().unzip();
        Ok(Self { rows: rows.rows, views, facts })
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
                Shape::Contiguous { codes, width } => {
                    let codes = codes.slice(start * usize::from(*width));
                    Shape::Contiguous { codes, width: *width }
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

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let bytes = |view: &ColumnView| match &view.shape {
            Shape::Contiguous { codes, .. } => codes.len() + self.rows / 8,
            _ => 0,
        };
        self.views.iter().map(bytes).sum()
    }
}

/// What is known of columns whose rows come from two inputs.
pub(crate) fn of_either(first: &[Facts], second: &[Facts]) -> Vec<Facts> {
    let either = |((limits, null), (other, others)): (&Facts, &Facts)| (limits.union(*other), *null || *others);
    first.iter().zip(second).map(either).collect()
}

fn view(column: &Column, rows: usize, present: &BooleanBuffer) -> Result<(ColumnView, Facts)> {
    let Values::Short(values) = &column.values else {
        return Err(Error::Unsupported("integers of more than 64 bits between pipelines".to_owned()));
    };
    let (min, max) = match &column.valid {
        None => bounds(values.iter().copied()),
        Some(valid) => bounds(valid.set_indices().map(|row| values[row])),
    };
    let width: u8 = match max.wrapping_sub(min) as u64 {
        range if range <= u8::MAX.into() => 1,
        range if range <= u16::MAX.into() => 2,
        range if range <= u32::MAX.into() => 4,
        _ => 8,
    };
    // A NULL has any code of the width.
    let distances = || values.iter().map(|value| value.wrapping_sub(min) as u64);
    let codes = match width {
        1 => buffer(distances().map(|distance| distance as u8)),
        2 => buffer(distances().map(|distance| distance as u16)),
        4 => buffer(distances().map(|distance| distance as u32)),
        _ => buffer(distances()),
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
        shape: Shape::Contiguous { codes, width },
        meaning: Meaning::FrameOfReference { base: min.into() },
    };
    Ok((view, (Limits::new(min, max), column.valid.is_some())))
}

/// Smallest and largest; 0 and 0 of nothing.
fn bounds(values: impl Iterator<Item = i64>) -> (i64, i64) {
    let (min, max) = values.fold((i64::MAX, i64::MIN), |(min, max), value| (min.min(value), max.max(value)));
    if min > max { (0, 0) } else { (min, max) }
}

/// The codes, one for the row of NULLs, and what kernels may read.
fn buffer<T: Copy + Default + ArrowNativeType>(codes: impl ExactSizeIterator<Item = T>) -> Buffer {
    let length = codes.len() + 1 + PADDING / size_of::<T>();
    let mut buffer = Vec::with_capacity(length);
    buffer.extend(codes);
    buffer.resize(length, T::default());
    Buffer::from_vec(buffer)
}
