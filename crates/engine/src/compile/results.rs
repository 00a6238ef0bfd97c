//! A query's rows as Arrow arrays: integers by their types or dictionaries, strings fetched by the numbers of their records.

use super::groups::{How, Shown};
use super::translate::Records;
use crate::{Error, Result};
use arrow::array::{
    Array, ArrayRef, BinaryViewBuilder, Float32Array, Float64Array, RecordBatch, RecordBatchOptions, UInt32Array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::compute::kernels::rank::rank;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::row::{RowConverter, SortField};
use gingham_execution::{Column, Rows, Strings, Values, float};
use gingham_kernels::Isa;
use gingham_storage::LogicalType;
use gingham_storage::scan::{array_of_integers, fetch};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// All rows as one batch.
pub(super) fn batch(
    rows: &Rows,
    outputs: &[Shown],
    schema: &SchemaRef,
    strings: &Strings,
    isa: Isa,
) -> Result<RecordBatch> {
    let columns = outputs.iter().map(|output| array(output, rows, strings, isa)).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// True when no two records that tell groups apart by a column have the same string there.
pub(super) fn are_distinct(rows: &Rows, output: &Shown, isa: Isa) -> Result<bool> {
    let (How::Column(number), Some(Records { table, column: strings })) = (output.how, &output.trace.records) else {
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
pub(super) fn array(output: &Shown, rows: &Rows, strings: &Strings, isa: Isa) -> Result<ArrayRef> {
    let values = match output.how {
        How::Column(number) => column(rows, number)?,
        How::Mean { sum, count, floats } => {
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
    if let Some(Records { table, column }) = &output.trace.records {
        let numbers: Vec<_> = (0..rows.rows).map(|row| values.get(row).map(|number| number as u64)).collect();
        return Ok(fetch(table, *column, &numbers, isa)?);
    }
    let nulls = values.valid.clone().map(NullBuffer::new).filter(|nulls| nulls.null_count() > 0);
    let integers = match &values.values {
        Values::Short(values) => values.iter().map(|value| i128::from(*value)).collect(),
        Values::Wide(values) => values.clone(),
    };
    Ok(array_of_integers(&LogicalType::from_arrow("", &output.data_type)?, integers, nulls)?)
}

/// Strings by their numbers.
fn texts(values: &Column, rows: usize, strings: &Strings, data_type: &DataType) -> Result<ArrayRef> {
    let (reader, mut all) = (strings.read(), BinaryViewBuilder::with_capacity(rows));
    for row in 0..rows {
        let number = values.get(row).map(|number| number as u32);
        let string = number.map(|number| {
            reader.get(number).ok_or_else(|| Error::Internal(format!("no string has the number {number}")))
        });
        all.append_option(string.transpose()?);
    }
    let all: ArrayRef = Arc::new(all.finish());
    Ok(cast(&all, data_type)?)
}

/// The rows with ranks in the place of strings that the query numbered, as chance would have it; and behind the other
/// columns those of the outputs `texts`: several of these may be the same integers, as strings of one record are.
pub(super) fn ranked<'r>(
    rows: &'r Rows,
    outputs: &[Shown],
    texts: &[usize],
    strings: &Strings,
    isa: Isa,
) -> Result<Cow<'r, Rows>> {
    let ranks = |output: &Shown| -> Result<Values> {
        let texts = cast(&array(output, rows, strings, isa)?, &DataType::LargeBinary)?;
        Ok(Values::Short(rank(&texts, None)?.into_iter().map(i64::from).collect()))
    };
    let mut ranked = Cow::Borrowed(rows);
    for output in outputs {
        if let (How::Column(number), true) = (output.how, output.trace.numbered) {
            ranked.to_mut().columns[number].values = ranks(output)?;
        }
    }
    for output in texts {
        let How::Column(number) = outputs[*output].how else {
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
