//! The engine `kernels`: the packings' kernels alone on columns of lineitem, without any of a database: what the SQL
//! engine adds to them is the difference to `gingham`.
//!
//! Codes are those of a table in ByteSlice: values less the column's smallest, in just enough bits, packed by zones of
//! 65,536 records. Requests carry conditions beside the text of the query, as `[column, low, high]` with bounds of the
//! unscaled values (days for dates, cents for prices); they are evaluated column-first in the order in which they are given.

use super::{QueryAnswer, Result, file};
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Decimal128Type, Field, Int64Type, Schema};
use gingham_kernels::packing::{Connective, Format, Packed, Packing, Predicate, Test, Way, evaluate, pack};
use gingham_kernels::{Isa, bitpack, bits};
use gingham_lab::tpch::TpchTable;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Instant;

/// Records of a zone, as the storage has them.
const ZONE_ROWS: usize = 1 << 16;

/// A packed column.
struct Column {
    /// The value of code 0.
    base: i64,
    format: Format,
    /// Records and bytes of each zone.
    zones: Vec<(usize, Vec<u8>)>,
}

/// A condition on codes.
type Condition<'a> = (&'a Column, Test);

pub(super) struct Kernels {
    files: PathBuf,
    threads: usize,
    columns: BTreeMap<String, Column>,
}

impl Kernels {
    pub(super) fn new(files: PathBuf, threads: usize) -> Self {
        Self { files, threads, columns: BTreeMap::new() }
    }

    /// Reads and packs the columns of the conditions that are not there yet.
    pub(super) fn prepare(&mut self, conditions: &Value) -> Result<()> {
        for condition in conditions.as_array().into_iter().flatten() {
            let name = condition[0].as_str().ok_or("a condition is [column, low, high]")?;
            if !self.columns.contains_key(name) {
                let column = Column::read(&self.files, name)?;
                self.columns.insert(name.to_owned(), column);
            }
        }
        Ok(())
    }

    /// The records that fulfil all conditions, and the seconds from the first thread's start to the last one's end.
    pub(super) fn count(&self, conditions: &Value) -> Result<(usize, f64)> {
        let conditions: Vec<Condition<'_>> = conditions
            .as_array()
            .into_iter()
            .flatten()
            .map(|condition| self.condition(condition))
            .collect::<Result<_>>()?;
        let zones = conditions.first().map_or(0, |(column, _)| column.zones.len());
        let (next, start) = (AtomicUsize::new(0), Barrier::new(self.threads));
        let parts: Vec<(usize, Instant, Instant)> = std::thread::scope(|scope| {
            let work = || {
                start.wait();
                let began = Instant::now();
                let mut records = 0;
                loop {
                    let zone = next.fetch_add(1, Ordering::Relaxed);
                    if zone >= zones {
                        return (records, began, Instant::now());
                    }
                    records += count_zone(&conditions, zone);
                }
            };
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a scan does not panic")).collect()
        });
        let records = parts.iter().map(|part| part.0).sum();
        let (began, ended) = (parts.iter().map(|part| part.1).min(), parts.iter().map(|part| part.2).max());
        let seconds = began.zip(ended).map_or(0.0, |(began, ended)| ended.duration_since(began).as_secs_f64());
        Ok((records, seconds))
    }

    pub(super) fn answer(&self, conditions: &Value) -> Result<QueryAnswer> {
        let (records, _) = self.count(conditions)?;
        let schema = Arc::new(Schema::new(vec![Field::new("records", DataType::Int64, false)]));
        let column: ArrayRef = Arc::new(Int64Array::from(vec![records as i64]));
        Ok(QueryAnswer::new(&schema, &[RecordBatch::try_new(Arc::clone(&schema), vec![column])?])?)
    }

    fn condition(&self, condition: &Value) -> Result<Condition<'_>> {
        let (Some(name), Some(low), Some(high)) = (condition[0].as_str(), condition[1].as_i64(), condition[2].as_i64())
        else {
            return Err("a condition is [column, low, high]".into());
        };
        let column = self.columns.get(name).ok_or("a column that was not prepared")?;
        if high < column.base {
            return Ok((column, Test::Between(1, 0)));
        }
        Ok((column, Test::Between((low - column.base).max(0) as u64, (high - column.base) as u64)))
    }
}

fn count_zone(conditions: &[Condition<'_>], zone: usize) -> usize {
    let rows = conditions[0].0.zones[zone].0;
    let predicates: Vec<Predicate<'_>> = conditions
        .iter()
        .map(|(column, test)| {
            let packed = Packed::new(column.format, rows, &column.zones[zone].1).expect("a zone has its bytes");
            Predicate { column: packed, test: *test, validity: None }
        })
        .collect();
    let isa = Isa::best();
    let mut out = vec![0; bits::words(rows)];
    evaluate(isa, rows, &predicates, Connective::And, Way::ColumnFirst, true, &mut out);
    bits::count(isa, &out)
}

impl Column {
    fn read(files: &Path, name: &str) -> Result<Self> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(file(files, TpchTable::LineItem))?)?;
        let columns = ProjectionMask::columns(builder.parquet_schema(), [name]);
        let mut values: Vec<i64> = Vec::new();
        for batch in builder.with_projection(columns).build()? {
            let batch = batch?;
            let column = batch.column(0);
            match column.data_type() {
                DataType::Decimal128(..) => {
                    values.extend(column.as_primitive::<Decimal128Type>().values().iter().map(|value| *value as i64));
                }
                _ => {
                    let days = arrow::compute::cast(column, &DataType::Int32)?;
                    let integers = arrow::compute::cast(&days, &DataType::Int64)?;
                    values.extend(integers.as_primitive::<Int64Type>().values());
                }
            }
        }
        let (base, max) = (values.iter().copied().min().unwrap_or(0), values.iter().copied().max().unwrap_or(0));
        let codes: Vec<u64> = values.iter().map(|value| (value - base) as u64).collect();
        let format = Format::new(Packing::ByteSlice, bitpack::bits_for((max - base) as u64).max(1) as u8)?;
        let zones = codes.chunks(ZONE_ROWS).map(|codes| {
            let mut bytes = Vec::new();
            pack(Isa::best(), format, codes, &mut bytes);
            (codes.len(), bytes)
        });
        Ok(Self { base, format, zones: zones.collect() })
    }
}
