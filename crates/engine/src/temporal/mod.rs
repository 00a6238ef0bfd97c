//! Dates, times, timestamps and intervals with PostgreSQL's meaning: DataFusion adds an interval to a DATE and gives a DATE,
//! subtracts timestamps to durations, and compares intervals field by field.
//!
//! | file | what |
//! |---|---|
//! | `text/` | reading and writing them |
//! | `format/` | to_char, to_date, to_timestamp |
//! | `operators` | which function an operator is |
//! | `functions` | these functions, age and justify_… |
//! | `rewrite` | what calls and windows are of intervals |
//! | `dates` | comparisons of a DATE with a constant TIMESTAMP |
//! | `parts` | EXTRACT, date_part, date_trunc |
//! | `zones` | AT TIME ZONE |
//! | `made` | make_timestamp, make_interval, isfinite |
//! | `overlaps`, `series` | OVERLAPS, generate_series |
//! | `calls` | names of functions that statements are rewritten to call |
//! | `aggregates` | sums, means, minima and maxima of intervals |
//! | `column` | columns as integers, days and times |
//! | `value` | single values: read, written, changed to another type |
//! | `interval`, `moment`, `civil` | arithmetic of single values |

mod aggregates;
mod calls;
mod civil;
mod column;
mod dates;
mod format;
mod functions;
mod interval;
mod made;
mod moment;
mod operators;
mod overlaps;
mod parts;
mod rewrite;
mod series;
mod text;
mod value;
pub(crate) mod zones;

pub(crate) use calls::{AT_TIME_ZONE, TIME_OF, TO_INTERVAL};
pub(crate) use civil::{Civil, days_of};
pub(crate) use column::{as_type, integers, kind};
pub(crate) use dates::CompareDays;
pub(crate) use functions::{INTERVAL_KEY, interval_key, interval_keys};
pub(crate) use interval::{between as interval_between, length as interval_length};
pub(crate) use operators::TemporalOperators;
pub(crate) use overlaps::OVERLAPS;
pub(crate) use rewrite::{of_intervals, range_of_numbers};
pub(crate) use series::SERIES;

pub(crate) use value::{At, at_of, changed, interval_of, interval_text, nanoseconds_of, text_of, time_of_interval};

use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// Functions that statements call.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let mut all = functions::called();
    all.extend([zones::at_time_zone(), overlaps::overlaps(), series::generate_series()]);
    all.extend(parts::functions());
    all.extend(made::all());
    all.extend(format::functions());
    all
}
