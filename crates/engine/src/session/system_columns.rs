//! Columns of system tables as they are filled.

use crate::Result;
use crate::temporal::zones::ZONE;
use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray};
use std::sync::Arc;

/// Columns of a system table as they are filled.
#[derive(Default)]
pub(crate) struct SystemColumns(Vec<(&'static str, ArrayRef, bool)>);

impl SystemColumns {
    pub(crate) fn text<'a>(
        &mut self,
        name: &'static str,
        values: impl Iterator<Item = Option<std::borrow::Cow<'a, str>>>,
    ) {
        self.0.push((name, Arc::new(values.collect::<StringViewArray>()), true));
    }

    pub(crate) fn number(&mut self, name: &'static str, values: impl Iterator<Item = Option<u64>>) {
        let values = values.map(|value| value.and_then(|value| i64::try_from(value).ok()));
        self.0.push((name, Arc::new(values.collect::<Int64Array>()), true));
    }

    pub(crate) fn integer(&mut self, name: &'static str, values: impl Iterator<Item = Option<i64>>) {
        self.0.push((name, Arc::new(values.collect::<Int64Array>()), true));
    }

    pub(crate) fn flag(&mut self, name: &'static str, values: impl Iterator<Item = Option<bool>>) {
        self.0.push((name, Arc::new(values.collect::<BooleanArray>()), true));
    }

    /// Moments in microseconds since 1970.
    pub(crate) fn moment(&mut self, name: &'static str, values: impl Iterator<Item = Option<i64>>) {
        let values = values.collect::<TimestampMicrosecondArray>().with_timezone(ZONE);
        self.0.push((name, Arc::new(values), true));
    }

    pub(crate) fn batch(self) -> Result<RecordBatch> {
        Ok(RecordBatch::try_from_iter_with_nullable(self.0)?)
    }
}
