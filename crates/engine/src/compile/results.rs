//! A query's rows as Arrow arrays: integers by their types or dictionaries, strings fetched by the numbers of their records.

use crate::compile::functions::is_string;
use crate::compile::groups::{OutputColumn, OutputSource};
use crate::compile::translate::RecordColumn;
use crate::compile::wanted::RowPositions;
use crate::{Error, Result};
use arrow::array::{
    Array, ArrayRef, BinaryViewBuilder, Float32Array, Float64Array, RecordBatch, RecordBatchOptions, UInt32Array,
    new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::compute::kernels::rank::rank;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::row::{RowConverter, SortField};
use gingham_execution::{Column, InternedStrings, Pool, Rows, Values, float};
use gingham_kernels::Isa;
use gingham_storage::LogicalType;
use gingham_storage::decode::array_of_integers;
use gingham_storage::scan::{fetch, fetch_all};
use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Rows of a batch: what is fetched by records' numbers is fetched for as many at once, zone by zone.
const AT_ONCE: usize = 1 << 15;

/// Batches of which there are so many left are made by several threads, one each.
const SEVERAL: usize = 4;

/// The rows that are wanted, batch by batch: made when they are asked for, as many at once as threads do.
pub(super) struct ResultBatches {
    wanted: Arc<WantedRows>,
    pool: Arc<Pool>,
    workers: usize,
    made: VecDeque<Result<RecordBatch>>,
    /// The first row of which nothing was made.
    next: usize,
}

/// Rows and what they are to become.
pub(super) struct WantedRows {
    pub(super) rows: Arc<Rows>,
    pub(super) places: RowPositions,
    pub(super) outputs: Vec<OutputColumn>,
    pub(super) schema: SchemaRef,
    /// Those that the query has numbered.
    pub(super) strings: Arc<InternedStrings>,
    pub(super) isa: Isa,
}

impl ResultBatches {
    /// By as many as `workers` threads of a pool.
    pub(super) fn new(wanted: WantedRows, pool: Arc<Pool>, workers: usize) -> Self {
        Self { wanted: Arc::new(wanted), pool, workers, made: VecDeque::new(), next: 0 }
    }

    /// Makes the next batches.
    fn make(&mut self) -> Result<()> {
        let (wanted, start) = (Arc::clone(&self.wanted), self.next);
        let left = (wanted.places.len() - start).div_ceil(AT_ONCE);
        let batches = if left < SEVERAL { left.min(1) } else { self.workers.clamp(1, left) };
        self.next = (start + batches * AT_ONCE).min(wanted.places.len());
        let made = self.pool.each(batches, self.workers, move |batch| wanted.batch(start + batch * AT_ONCE))?;
        self.made.extend(made);
        Ok(())
    }
}

impl WantedRows {
    /// Rows from `start` on.
    fn batch(&self, start: usize) -> Result<RecordBatch> {
        let rows = &self.places.part(&self.rows, start..self.places.len().min(start + AT_ONCE));
        // What rows are ordered by comes behind the columns.
        let outputs = self.outputs.iter().take(self.schema.fields().len());
        let mut columns = outputs.clone().map(|_| None).collect::<Vec<Option<ArrayRef>>>();
        for (number, output) in outputs.clone().enumerate() {
            let (OutputSource::Column(own), Some(RecordColumn { table, .. }), None) =
                (output.how, &output.trace.records, &columns[number])
            else {
                continue;
            };
            // All that is fetched of the same records.
            let alike = |other: &&OutputColumn| match (other.how, &other.trace.records) {
                (OutputSource::Column(column), Some(records)) => column == own && Arc::ptr_eq(&records.table, table),
                _ => false,
            };
            let ids = { outputs.clone() }.filter(alike).filter_map(|other| Some(other.trace.records.as_ref()?.column));
            let fetched = fetch_all(table, &ids.collect::<Vec<_>>(), &numbers(rows, own)?, self.isa)?;
            let places = { outputs.clone() }.enumerate().filter(|(_, other)| alike(other)).map(|(place, _)| place);
            places.zip(fetched).for_each(|(place, array)| columns[place] = Some(array));
        }
        let columns = columns.into_iter().zip(outputs).map(|(fetched, output)| match fetched {
            Some(fetched) => Ok(fetched),
            None => array(output, rows, &self.strings, self.isa),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows.rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

impl Iterator for ResultBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.made.is_empty()
            && let Err(error) = self.make()
        {
            return Some(Err(error));
        }
        self.made.pop_front()
    }
}

/// Numbers of records.
fn numbers(rows: &Rows, number: usize) -> Result<Vec<Option<u64>>> {
    let values = column(rows, number)?;
    Ok((0..rows.rows).map(|row| values.get(row).map(|number| number as u64)).collect())
}

/// True when no two records that tell groups apart by a column have the same string there.
pub(super) fn are_distinct(rows: &Rows, output: &OutputColumn, isa: Isa) -> Result<bool> {
    let (OutputSource::Column(number), Some(RecordColumn { table, column: strings })) =
        (output.how, &output.trace.records)
    else {
        return Err(Error::Internal("strings that are no column's".to_owned()));
    };
    let values = column(rows, number)?;
    let mut records: Vec<_> = (0..rows.rows).filter_map(|row| values.get(row).map(|record| record as u64)).collect();
    records.sort_unstable();
    records.dedup();
    let records: Vec<_> = records.into_iter().map(Some).collect();
    let strings = fetch(table, *strings, &records, isa)?;
    let rows = RowConverter::new(vec![SortField::new(strings.data_type().clone())])?.convert_columns(&[strings])?;
    let mut known = HashSet::with_capacity(records.len());
    Ok(rows.iter().all(|row| known.insert(row)))
}

fn column(rows: &Rows, number: usize) -> Result<&Column> {
    rows.columns.get(number).ok_or_else(|| Error::Internal(format!("rows without column {number}")))
}

/// What an output is in some rows. Numbers of strings are those in `strings`.
pub(super) fn array(output: &OutputColumn, rows: &Rows, strings: &InternedStrings, isa: Isa) -> Result<ArrayRef> {
    let values = match output.how {
        OutputSource::Column(number) => match &output.trace.records {
            Some(RecordColumn { table, column }) => return Ok(fetch(table, *column, &numbers(rows, number)?, isa)?),
            None => column(rows, number)?,
        },
        OutputSource::Mean { sum, count, floats } => {
            let (sums, counts) = (column(rows, sum)?, column(rows, count)?);
            let sum = |sum: i128| if floats { float(sum as i64) } else { sum as f64 };
            let mean = |row| Some(sum(sums.get(row)?) / counts.get(row)? as f64);
            return Ok(Arc::new((0..rows.rows).map(mean).collect::<Float64Array>()));
        }
    };
    let floats = || (0..rows.rows).map(|row| values.get(row).map(|value| float(value as i64)));
    match output.data_type {
        DataType::Float64 => return Ok(Arc::new(floats().collect::<Float64Array>())),
        DataType::Float32 => {
            return Ok(Arc::new(floats().map(|value| value.map(|value| value as f32)).collect::<Float32Array>()));
        }
        _ => {}
    }
    if let Some(entries) = &output.entries {
        let codes: UInt32Array = (0..rows.rows).map(|row| values.get(row).map(|code| code as u32)).collect();
        return Ok(arrow::compute::take(entries, &codes, None)?);
    }
    if output.trace.numbered {
        return texts(values, rows.rows, strings, &output.data_type);
    }
    if is_string(&output.data_type) && (0..rows.rows).all(|row| values.get(row).is_none()) {
        return Ok(new_null_array(&output.data_type, rows.rows)); // as of CAST(NULL AS VARCHAR), which has no codes
    }
    let nulls = values.valid.clone().map(NullBuffer::new).filter(|nulls| nulls.null_count() > 0);
    let logical_type = LogicalType::from_arrow("", &output.data_type)?;
    Ok(match &values.values {
        Values::Short(values) => array_of_integers(&logical_type, values, nulls)?,
        Values::Wide(values) => array_of_integers(&logical_type, values, nulls)?,
    })
}

/// Strings by their numbers.
fn texts(values: &Column, rows: usize, strings: &InternedStrings, data_type: &DataType) -> Result<ArrayRef> {
    /// Strings whose memory is asked for at once.
    const BLOCK: usize = 128;
    let (reader, mut all) = (strings.read(), BinaryViewBuilder::with_capacity(rows));
    for start in (0..rows).step_by(BLOCK) {
        let numbers = (start..rows.min(start + BLOCK)).map(|row| values.get(row).map(|number| number as u32));
        reader.ask_ahead(numbers.clone().flatten());
        for number in numbers {
            let string = number.map(|number| {
                reader.get(number).ok_or_else(|| Error::Internal(format!("no string has the number {number}")))
            });
            all.append_option(string.transpose()?);
        }
    }
    let all: ArrayRef = Arc::new(all.finish());
    Ok(cast(&all, data_type)?)
}

/// The rows with ranks in the place of strings that the query numbered, as chance would have it; and behind the other
/// columns those of the outputs `texts`: several of these may be the same integers, as strings of one record are.
pub(super) fn ranked<'r>(
    rows: &'r Rows,
    outputs: &[OutputColumn],
    texts: &[usize],
    strings: &InternedStrings,
    isa: Isa,
) -> Result<Cow<'r, Rows>> {
    let ranks = |output: &OutputColumn| -> Result<Values> {
        let texts = cast(&array(output, rows, strings, isa)?, &DataType::LargeBinary)?;
        Ok(Values::Short(rank(&texts, None)?.into_iter().map(i64::from).collect()))
    };
    let mut ranked = Cow::Borrowed(rows);
    for output in outputs {
        if let (OutputSource::Column(number), true) = (output.how, output.trace.numbered) {
            ranked.to_mut().columns[number].values = ranks(output)?;
        }
    }
    for output in texts {
        let OutputSource::Column(number) = outputs[*output].how else {
            return Err(Error::Internal("an order of strings that are no column's".to_owned()));
        };
        let column = match outputs[*output].trace.numbered {
            true => ranked.columns[number].clone(),
            false => Column { values: ranks(&outputs[*output])?, valid: rows.columns[number].valid.clone() },
        };
        ranked.to_mut().columns.push(column);
    }
    Ok(ranked)
}
