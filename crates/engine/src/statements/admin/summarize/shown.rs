//! The figures of columns as rows: each value as SQL writes it, in columns whose types are the same for every table.

use crate::statements::admin::summarize::exact::{Exact, ExactColumn};
use crate::statements::admin::summarize::range::drawn;
use crate::statements::admin::summarize::sketch::Estimate;
use crate::text::as_text;
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Schema, SchemaRef};
use gingham_storage::LogicalType;
use gingham_storage::decode::array_of_integers;
use gingham_storage::model::float_of_integer;
use std::sync::Arc;

const PERCENTAGE: DataType = DataType::Decimal128(5, 2);

/// The columns of SUMMARIZE, of whatever it is.
pub(crate) fn schema() -> SchemaRef {
    let text = |name| Field::new(name, DataType::Utf8View, true);
    Arc::new(Schema::new(vec![
        text("column_name"),
        text("column_type"),
        text("min"),
        text("max"),
        Field::new("approx_unique", DataType::Int64, true),
        text("avg"),
        text("std"),
        text("q25"),
        text("q50"),
        text("q75"),
        Field::new("count", DataType::Int64, true),
        Field::new("null_percentage", PERCENTAGE, true),
        text("histogram"),
    ]))
}

/// A row of a column, but for its names and its numbers.
#[derive(Default)]
struct Texts {
    extremes: [Option<String>; 2],
    mean: Option<String>,
    deviation: Option<String>,
    quartiles: [Option<String>; 3],
    histogram: Option<String>,
}

/// A row for each column of `described`.
pub(super) fn rows(described: &Schema, types: &[String], exact: &Exact, estimates: &[Estimate]) -> Result<RecordBatch> {
    let columns = exact.columns.iter().zip(estimates).zip(described.fields());
    let texts = columns.map(|((known, estimate), field)| texts_of(known, estimate, field.data_type()));
    let texts: Vec<Texts> = texts.collect::<Result<_>>()?;
    let column = |text: &dyn Fn(&Texts) -> &Option<String>| -> ArrayRef {
        Arc::new(texts.iter().map(|own| text(own).as_deref()).collect::<StringViewArray>())
    };
    let distinct = exact.columns.iter().zip(estimates).map(|(known, estimate)| {
        // No more than there are values, and one at least.
        estimate.distinct.max(u64::from(known.present > 0)).min(known.present) as i64
    });
    let nulls = exact.columns.iter().map(|known| percentage(exact.rows - known.present.min(exact.rows), exact.rows));
    let nulls = nulls.collect::<Decimal128Array>().with_data_type(PERCENTAGE);
    let names: StringViewArray = described.fields().iter().map(|field| Some(field.name())).collect();
    let types: StringViewArray = types.iter().map(Some).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(names),
        Arc::new(types),
        column(&|own| &own.extremes[0]),
        column(&|own| &own.extremes[1]),
        Arc::new(distinct.collect::<Int64Array>()),
        column(&|own| &own.mean),
        column(&|own| &own.deviation),
        column(&|own| &own.quartiles[0]),
        column(&|own| &own.quartiles[1]),
        column(&|own| &own.quartiles[2]),
        Arc::new(Int64Array::from(vec![exact.rows as i64; exact.columns.len()])),
        Arc::new(nulls),
        column(&|own| &own.histogram),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}

/// Hundredths of a percent; none of no rows.
fn percentage(part: u64, all: u64) -> Option<i128> {
    (all > 0).then(|| (i128::from(part) * 10_000 + i128::from(all) / 2) / i128::from(all))
}

fn texts_of(known: &ExactColumn, estimate: &Estimate, data_type: &DataType) -> Result<Texts> {
    let mut texts = Texts::default();
    if let Some([low, high]) = &known.extremes {
        texts.extremes = [text(low)?, text(high)?];
    }
    texts.mean = known.mean.as_ref().map(text).transpose()?.flatten();
    texts.deviation = known.deviation.as_ref().map(rounded).transpose()?.as_ref().map(text).transpose()?.flatten();
    if let Some(quartiles) = estimate.quartiles {
        let values = values_of(&quartiles, data_type)?;
        texts.quartiles = [text(&values.slice(0, 1))?, text(&values.slice(1, 1))?, text(&values.slice(2, 1))?];
    }
    texts.histogram = known.range.map(|_| drawn(&estimate.counts));
    Ok(texts)
}

/// Floats of twelve digits: of a deviation, more depend on the order in which values were added.
fn rounded(values: &ArrayRef) -> Result<ArrayRef> {
    let values = cast(values, &DataType::Float64)?;
    let twelve = |value: f64| format!("{value:.11e}").parse().unwrap_or(value);
    Ok(Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(twelve)))
}

/// Values of a type from the integers that stand for them in order.
fn values_of(integers: &[i128], data_type: &DataType) -> Result<ArrayRef> {
    if data_type.is_floating() {
        let floats = integers.iter().map(|integer| float_of_integer(*integer as i64));
        let floats: ArrayRef = Arc::new(floats.collect::<Float64Array>());
        return Ok(cast(&floats, data_type)?);
    }
    Ok(array_of_integers(&LogicalType::from_arrow("", data_type)?, integers, None)?)
}

/// An array's first value as SQL writes it; none of NULL, and of a type that has no text.
fn text(value: &ArrayRef) -> Result<Option<String>> {
    if value.is_empty() || value.is_null(0) {
        return Ok(None);
    }
    match as_text(value) {
        Ok(text) => Ok(Some(text.as_string_view().value(0).to_owned())),
        Err(Error::Unsupported(_) | Error::InvalidInput(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
