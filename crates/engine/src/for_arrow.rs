//! Rows for other programs that read Arrow: what the engine has and Arrow has not.

use crate::temporal::{integers, kind, text_of};
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::max;
use arrow::datatypes::{DataType, TimeUnit};
use gingham_storage::SqlState;

/// Refuses a batch that has the time 24:00, which SQL has and Arrow has not: those who read it would have midnight, or NULL, in its
/// place, and not say so.
///
/// # Errors
///
/// A column has that time.
///
/// ```
/// let connection = gingham::Database::in_memory()?.connect();
/// let batches = connection.query("SELECT TIME '24:00' AS closing")?.collect_batches()?;
/// let error = gingham::require_arrow_times(&batches[0]).unwrap_err();
/// assert!(error.to_string().starts_with("column 'closing' has the time 24:00:00"));
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn require_arrow_times(batch: &RecordBatch) -> Result<()> {
    let schema = batch.schema();
    batch.columns().iter().zip(schema.fields()).try_for_each(|(values, field)| require(values, field.name()))
}

fn require(values: &ArrayRef, column: &str) -> Result<()> {
    match values.data_type() {
        DataType::Time32(unit) | DataType::Time64(unit) => {
            match max(&integers(values)?).filter(|most| *most >= day(*unit)) {
                None => Ok(()),
                Some(most) => {
                    let mut text = String::new();
                    text_of(most, kind(values.data_type())?, &mut text);
                    Err(Error::invalid(
                        SqlState::DatetimeFieldOverflow,
                        format!(
                            "column '{column}' has the time {text}, which Arrow has no value for; CAST it to VARCHAR"
                        ),
                    ))
                }
            }
        }
        DataType::List(_) => require(values.as_list::<i32>().values(), column),
        DataType::LargeList(_) => require(values.as_list::<i64>().values(), column),
        DataType::FixedSizeList(..) => require(values.as_fixed_size_list().values(), column),
        DataType::Struct(_) => values.as_struct().columns().iter().try_for_each(|own| require(own, column)),
        _ => Ok(()),
    }
}

/// Units of a day.
fn day(unit: TimeUnit) -> i64 {
    86_400
        * match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        }
}
