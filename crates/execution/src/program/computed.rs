//! Columns that are computed before a pipeline's first stage by someone who knows more than integers: any function of a
//! record's columns, over thousands of records at once. It is a stage of its own with a boundary behind it, as the paper has
//! them for what is not compiled (relaxed operator fusion paper, section 4.1): the stages behind read its results as they
//! read a source's columns.

use crate::data::relation::ColumnBounds;
use crate::data::rows::{Column, Values};
use crate::data::source::{Field, Records, Vector, VectorInput};
use crate::{Error, Limits, Memory, Result};
use arrow::array::{BinaryViewArray, BooleanBufferBuilder};
use arrow::buffer::{BooleanBuffer, Buffer};
use gingham_kernels::Isa;
use gingham_storage::LogicalType;
use gingham_storage::model::{CodeMeaning, ColumnView, PhysicalLayout};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records that a function is given at once: as many as DataFusion's operators take, so that a query is stopped soon.
const AT_ONCE: usize = 8192;

/// Bytes behind the last code that kernels may read.
const PADDING: usize = 64;

/// A function of columns.
pub trait Compute: fmt::Debug + Send + Sync {
    /// Its results for `rows` records, of which `arguments` has a column each. An [`Error::Unsupported`] says that another
    /// operator must find out what is wrong. Asks `memory` for what it keeps.
    fn compute(&self, arguments: &[Column], rows: usize, memory: &dyn Memory) -> Result<Column>;

    /// Its results as strings, for functions that give strings.
    fn texts(&self, arguments: &[Column], rows: usize) -> Result<BinaryViewArray>;

    /// Numbers by which results have these strings.
    fn numbers(&self, texts: &[Option<&[u8]>], memory: &dyn Memory) -> Result<Vec<Option<u32>>>;
}

/// A column that is computed of a source's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Computed {
    /// By which function, by its number among those that the query is run with.
    pub function: usize,
    /// Columns of the source.
    pub arguments: Vec<usize>,
    /// Where its integers lie: one outside is left to another operator.
    pub limits: Limits,
}

/// What is computed of the records of a pipeline.
#[derive(Debug, Default)]
pub(crate) struct Computing {
    pub(crate) columns: Vec<(Computed, Arc<dyn Compute>)>,
}

impl Computed {
    /// What is known of it.
    pub(crate) fn facts(&self) -> ColumnBounds {
        (self.limits, true)
    }
}

impl Computing {
    /// Fails for a function that is not there.
    pub(crate) fn new(columns: &[Computed], functions: &[Arc<dyn Compute>]) -> Result<Self> {
        let with = |column: &Computed| {
            let function = functions.get(column.function).cloned();
            let none = || Error::Internal(format!("a query without function {}", column.function));
            Ok((column.clone(), function.ok_or_else(none)?))
        };
        Ok(Self { columns: columns.iter().map(with).collect::<Result<_>>()? })
    }

    /// Nothing is.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Adds a view of each column to those of a morsel, computed for the records `tids`, or all of its `rows`.
    pub(crate) fn add(
        &self,
        views: &mut Vec<ColumnView>,
        rows: usize,
        tids: Option<&[u32]>,
        isa: Isa,
        (memory, stopped): (&dyn Memory, &AtomicBool),
    ) -> Result<()> {
        let mut added: Vec<Codes> = self.columns.iter().map(|(column, _)| Codes::new(column.limits, rows)).collect();
        let records = tids.map_or(rows, <[u32]>::len);
        for first in (0..records).step_by(AT_ONCE) {
            if stopped.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            let length = AT_ONCE.min(records - first);
            let chosen = match tids {
                Some(tids) => Records::Tids(&tids[first..first + length]),
                None => Records::Run { first, length },
            };
            let inputs = [VectorInput { views, records: chosen }];
            let vector = Vector { inputs: &inputs, isa };
            for ((column, function), codes) in self.columns.iter().zip(&mut added) {
                let arguments = column.arguments.iter().map(|column| argument(&vector, *column));
                let results = function.compute(&arguments.collect::<Result<Vec<_>>>()?, length, memory)?;
                codes.set(chosen, &results)?;
            }
        }
        views.extend(added.into_iter().map(Codes::view));
        Ok(())
    }
}

/// A column of the records at work.
fn argument(vector: &Vector<'_>, column: usize) -> Result<Column> {
    let field = Field { input: 0, column };
    let mut values = Vec::new();
    vector.integers(field, &mut values)?;
    let (view, records) = vector.column(field)?;
    let valid = match &view.validity {
        _ if view.is_null() => Some(BooleanBuffer::new_unset(records.len())),
        None => None,
        Some(validity) => {
            Some(BooleanBuffer::collect_bool(records.len(), |record| validity.value(records.tid(record))))
        }
    };
    Ok(Column { values: Values::Short(values), valid })
}

/// The codes of a column of a morsel while they come in.
struct Codes {
    limits: Limits,
    codes: Vec<i64>,
    valid: BooleanBufferBuilder,
}

impl Codes {
    /// All NULL.
    fn new(limits: Limits, rows: usize) -> Self {
        let mut valid = BooleanBufferBuilder::new(rows);
        valid.append_n(rows, false);
        Self { limits, codes: vec![0; rows], valid }
    }

    /// Sets those of some records.
    fn set(&mut self, records: Records<'_>, results: &Column) -> Result<()> {
        let outside = || Error::Unsupported("a computed value that its column can't hold".to_owned());
        let Values::Short(values) = &results.values else { return Err(outside()) };
        if values.len() != records.len() {
            let (found, wanted) = (values.len(), records.len());
            return Err(Error::Internal(format!("{found} results of a function of {wanted} records")));
        }
        for (at, value) in values.iter().enumerate() {
            if results.valid.as_ref().is_some_and(|valid| !valid.value(at)) {
                continue;
            }
            if i128::from(*value) < self.limits.min || i128::from(*value) > self.limits.max {
                return Err(outside());
            }
            let tid = records.tid(at);
            self.codes[tid] = value.wrapping_sub(self.limits.min as i64);
            self.valid.set_bit(tid, true);
        }
        Ok(())
    }

    fn view(mut self) -> ColumnView {
        let rows = self.codes.len();
        let is_narrow = self.limits.max - self.limits.min <= i128::from(u32::MAX);
        let (codes, width) = if is_narrow {
            let mut codes: Vec<u32> = self.codes.iter().map(|code| *code as u32).collect();
            codes.resize(rows + PADDING / 4, 0);
            (Buffer::from_vec(codes), 4)
        } else {
            self.codes.resize(rows + PADDING / 8, 0);
            (Buffer::from_vec(self.codes), 8)
        };
        ColumnView {
            rows,
            logical_type: LogicalType::Int(64),
            validity: Some(self.valid.finish()),
            shape: PhysicalLayout::Contiguous { codes, width },
            meaning: CodeMeaning::FrameOfReference { base: self.limits.min },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rows;
    use crate::data::relation::Relation;

    /// Adds its arguments; NULL where one is.
    #[derive(Debug)]
    struct Sum;

    impl Compute for Sum {
        fn compute(&self, arguments: &[Column], rows: usize, _: &dyn Memory) -> Result<Column> {
            let sum = |row| arguments.iter().map(|column| column.get(row)).sum::<Option<i128>>();
            Ok(crate::data::rows::collected((0..rows).map(sum)))
        }

        fn texts(&self, _: &[Column], _: usize) -> Result<BinaryViewArray> {
            Err(Error::Internal("a sum is no string".to_owned()))
        }

        fn numbers(&self, _: &[Option<&[u8]>], _: &dyn Memory) -> Result<Vec<Option<u32>>> {
            Err(Error::Internal("a sum is no string".to_owned()))
        }
    }

    struct Endless;

    impl Memory for Endless {
        fn grow(&self, _: usize) -> Result<()> {
            Ok(())
        }
    }

    fn computed(limits: Limits, tids: Option<&[u32]>) -> Result<(Vec<i64>, Vec<bool>)> {
        let values: Vec<Option<i128>> = (0..20_000).map(|row| (row % 7 > 0).then_some(row - 50)).collect();
        let rows = Rows { rows: values.len(), columns: vec![crate::data::rows::collected(values.into_iter())] };
        let relation = Relation::new(&rows)?;
        let column = Computed { function: 0, arguments: vec![0, 0], limits };
        let computing = Computing::new(&[column], &[Arc::new(Sum)])?;
        let mut views = relation.part(0, rows.rows);
        let stopped = AtomicBool::new(false);
        computing.add(&mut views, rows.rows, tids, Isa::best(), (&Endless, &stopped))?;
        let records = tids.map_or(Records::Run { first: 0, length: rows.rows }, Records::Tids);
        let inputs = [VectorInput { views: &views, records }];
        let vector = Vector { inputs: &inputs, isa: Isa::best() };
        let found = argument(&vector, 1)?;
        let Values::Short(values) = found.values else { return Err(Error::Overflow) };
        let valid = found.valid.map_or_else(Vec::new, |valid| valid.iter().collect());
        Ok((values, valid))
    }

    #[test]
    fn results_lie_where_their_records_do() {
        let (short, wide) = (Limits::new(-100, 40_000), Limits::new(i64::MIN, i64::MAX));
        let some: Vec<u32> = (0..20_000).filter(|row| row % 3 == 1 || *row > 19_000).collect();
        for limits in [short, wide] {
            for tids in [None, Some(some.as_slice()), Some(&[])] {
                let (values, valid) = computed(limits, tids).expect("values");
                let all: Vec<u32> = (0..20_000).collect();
                let records = tids.unwrap_or(&all);
                assert_eq!(values.len(), records.len());
                for ((value, valid), record) in values.iter().zip(valid).zip(records) {
                    assert_eq!(valid, record % 7 > 0, "{record}");
                    assert!(!valid || *value == 2 * (i64::from(*record) - 50), "{record}");
                }
            }
        }
    }

    #[test]
    fn values_outside_of_what_was_said_are_left() {
        assert!(matches!(computed(Limits::new(-100, 1000), None), Err(Error::Unsupported(_))));
    }
}
