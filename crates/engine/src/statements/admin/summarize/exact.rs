//! What SUMMARIZE tells exactly, by a query in SQL: rows, values that are not NULL, extremes, means and deviations.

use crate::session::StatementContext;
use crate::sql::derived::over;
use crate::statements::admin::summarize::range::Range;
use crate::statements::admin::summarize::row::only_row;
use crate::{Error, Result};
use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, Schema};
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::Query;
use gingham_storage::encoding::integers_of_array;
use gingham_storage::{LogicalType, SqlState};

/// What is known exactly of a query's rows.
#[derive(Debug)]
pub(super) struct Exact {
    /// How many there are.
    pub(super) rows: u64,
    /// What is known of each column.
    pub(super) columns: Vec<ExactColumn>,
}

/// What is known exactly of a column. Arrays have one value each, and are missing where SQL has no such figure of the type.
#[derive(Debug, Default)]
pub(super) struct ExactColumn {
    /// Values that are not NULL.
    pub(super) present: u64,
    pub(super) extremes: Option<[ArrayRef; 2]>,
    pub(super) mean: Option<ArrayRef>,
    pub(super) deviation: Option<ArrayRef>,
    /// The range of what has one: numbers, dates and times.
    pub(super) range: Option<Range>,
}

/// A figure of a column, by the aggregate that gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExactFigure {
    Present,
    Least,
    Greatest,
    Mean,
    Deviation,
    /// The extremes without infinities and NaN.
    LeastFinite,
    GreatestFinite,
}

/// Computes all of them for the columns of `query`, whose schema is given.
pub(super) async fn figures(
    context: &StatementContext,
    query: &Query,
    schema: &Schema,
    parameters: Option<ParamValues>,
) -> Result<Exact> {
    let figures = schema.fields().iter().enumerate().flat_map(|(column, field)| {
        let own = figures_of(field.data_type());
        own.iter().map(move |figure| (column, *figure))
    });
    let figures: Vec<(usize, ExactFigure)> = figures.collect();
    let computed = compute(context, query, schema, &figures, parameters.clone()).await?;
    let mut exact = Exact {
        rows: count_of(computed.column(0)),
        columns: schema.fields().iter().map(|_| ExactColumn::default()).collect(),
    };
    for ((column, figure), value) in figures.iter().zip(&computed.columns()[1..]) {
        exact.columns[*column].note(*figure, value);
    }
    let mut unbounded = Vec::new();
    for (number, column) in exact.columns.iter_mut().enumerate() {
        match column.extremes.as_ref().map(range_of).transpose()?.unwrap_or(Bounds::None) {
            Bounds::Finite(range) => column.range = Some(range),
            Bounds::Infinite => {
                unbounded.extend([ExactFigure::LeastFinite, ExactFigure::GreatestFinite].map(|own| (number, own)))
            }
            Bounds::None => {}
        }
    }
    if unbounded.is_empty() {
        return Ok(exact);
    }
    let computed = compute(context, query, schema, &unbounded, parameters).await?;
    for (pair, values) in unbounded.chunks_exact(2).zip(computed.columns()[1..].chunks_exact(2)) {
        let extremes = [values[0].clone(), values[1].clone()];
        if let Bounds::Finite(range) = range_of(&extremes)? {
            exact.columns[pair[0].0].range = Some(range);
        }
    }
    Ok(exact)
}

impl ExactColumn {
    fn note(&mut self, figure: ExactFigure, value: &ArrayRef) {
        let value = value.clone();
        match figure {
            ExactFigure::Present => self.present = count_of(&value),
            ExactFigure::Least => self.extremes = Some([value.clone(), value]),
            ExactFigure::Greatest => {
                if let Some(extremes) = &mut self.extremes {
                    extremes[1] = value;
                }
            }
            ExactFigure::Mean => self.mean = Some(value),
            ExactFigure::Deviation => self.deviation = Some(value),
            ExactFigure::LeastFinite | ExactFigure::GreatestFinite => {}
        }
    }
}

/// The figures that SQL has of a type.
fn figures_of(data_type: &DataType) -> &'static [ExactFigure] {
    use ExactFigure::{Deviation, Greatest, Least, Mean, Present};
    match data_type {
        DataType::Null => &[],
        DataType::Decimal256(..) => &[Present],
        other if other.is_numeric() => &[Present, Least, Greatest, Mean, Deviation],
        DataType::Interval(_) => &[Present, Least, Greatest, Mean],
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => &[Present, Least, Greatest],
        other if LogicalType::from_arrow("", other).is_ok() => &[Present, Least, Greatest],
        _ => &[Present],
    }
}

/// Computes the number of rows and some figures. A mean that has more digits than a decimal has is one of floats.
async fn compute(
    context: &StatementContext,
    query: &Query,
    schema: &Schema,
    figures: &[(usize, ExactFigure)],
    parameters: Option<ParamValues>,
) -> Result<RecordBatch> {
    let decimals = |column: usize| matches!(schema.field(column).data_type(), DataType::Decimal128(..));
    let has_decimal_mean = figures.iter().any(|(column, figure)| *figure == ExactFigure::Mean && decimals(*column));
    let mut in_floats = false;
    loop {
        let items = figures.iter().map(|(column, figure)| {
            let type_of_column = schema.field(*column).data_type();
            call(*figure, &name(*column), type_of_column, in_floats && decimals(*column))
        });
        let items: Vec<String> = std::iter::once("count(*)".to_owned()).chain(items).collect();
        let names: Vec<String> = (0..schema.fields().len()).map(name).collect();
        let outer = over(&items, &names, query.clone())?;
        let bound = context.bind(outer, parameters.clone()).await?;
        match only_row(context, bound.plan).await {
            Err(error) if !in_floats && has_decimal_mean && is_too_wide(&error) => in_floats = true,
            other => return other,
        }
    }
}

fn is_too_wide(error: &Error) -> bool {
    matches!(error, Error::InvalidInput(problem) if problem.state == SqlState::NumericValueOutOfRange)
}

fn name(column: usize) -> String {
    format!("c{column}")
}

/// The aggregate that gives a figure of a column.
fn call(figure: ExactFigure, column: &str, data_type: &DataType, in_floats: bool) -> String {
    let finite = || {
        let to = if data_type.is_floating() { "::DOUBLE" } else { "" };
        format!("FILTER (WHERE {column} > '-infinity'{to} AND {column} < 'infinity'{to})")
    };
    match figure {
        ExactFigure::Present => format!("count({column})"),
        ExactFigure::Least => format!("min({column})"),
        ExactFigure::Greatest => format!("max({column})"),
        ExactFigure::Mean if in_floats => format!("avg({column}::DOUBLE)"),
        ExactFigure::Mean => format!("avg({column})"),
        ExactFigure::Deviation => format!("stddev({column})"),
        ExactFigure::LeastFinite => format!("min({column}) {}", finite()),
        ExactFigure::GreatestFinite => format!("max({column}) {}", finite()),
    }
}

/// A count of an array of one.
fn count_of(value: &ArrayRef) -> u64 {
    value.as_primitive_opt::<Int64Type>().map_or(0, |counts| counts.values().first().map_or(0, |count| *count as u64))
}

/// What two extremes are to bars.
enum Bounds {
    Finite(Range),
    /// One of them is an infinity or NaN.
    Infinite,
    /// There are none, or of a type without distances.
    None,
}

fn range_of(extremes: &[ArrayRef; 2]) -> Result<Bounds> {
    let [low, high] = extremes;
    let data_type = low.data_type();
    if low.is_null(0) || high.is_null(0) {
        return Ok(Bounds::None);
    }
    if data_type.is_floating() {
        let [low, high] = [low, high].map(|value| cast(value, &DataType::Float64));
        let (low, high) = (low?.as_primitive::<Float64Type>().value(0), high?.as_primitive::<Float64Type>().value(0));
        let finite = low.is_finite() && high.is_finite();
        return Ok(if finite { Bounds::Finite(Range::of_floats(low + 0.0, high + 0.0)) } else { Bounds::Infinite });
    }
    let logical_type = match LogicalType::from_arrow("", data_type) {
        Ok(LogicalType::Boolean) | Err(_) => return Ok(Bounds::None),
        Ok(own) if own.is_string() || own == LogicalType::Binary => return Ok(Bounds::None),
        Ok(own) => own,
    };
    let [low, high] =
        [low, high].map(|value| Ok::<_, Error>(integers_of_array(&cast(value, &logical_type.to_arrow())?)?));
    let (Some(Some(low)), Some(Some(high))) = (low?.first().copied(), high?.first().copied()) else {
        return Ok(Bounds::None);
    };
    let infinite: [i128; 2] = match logical_type {
        LogicalType::Date => [i32::MIN.into(), i32::MAX.into()],
        LogicalType::Timestamp(..) => [i64::MIN.into(), i64::MAX.into()],
        _ => return Ok(Bounds::Finite(Range::Whole { low, high })),
    };
    let finite = low > infinite[0] && high < infinite[1];
    Ok(if finite { Bounds::Finite(Range::Whole { low, high }) } else { Bounds::Infinite })
}
