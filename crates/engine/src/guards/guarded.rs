//! An expression that is evaluated anew, with care, when evaluating it at once fails.

use crate::guards::careful::{careful, where_true};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The expression, and for the argument of an aggregate the FILTER that says which rows it is asked of: of the others it
/// may be anything.
#[derive(Debug, Eq)]
pub(super) struct Guarded {
    inner: Arc<dyn PhysicalExpr>,
    filter: Option<Arc<dyn PhysicalExpr>>,
}

// What the compiler would derive moves out of a reference.
impl PartialEq for Guarded {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner) && self.filter.eq(&other.filter)
    }
}

impl Guarded {
    pub(super) fn new(inner: Arc<dyn PhysicalExpr>, filter: Option<Arc<dyn PhysicalExpr>>) -> Self {
        Self { inner, filter }
    }
}

impl Hash for Guarded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
        self.filter.hash(state);
    }
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PhysicalExpr for Guarded {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.inner.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.inner.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let at_once = self.inner.evaluate(batch);
        if at_once.is_ok() {
            return at_once;
        }
        let values = match &self.filter {
            Some(filter) => where_true(&careful(filter, batch)?, batch, |rows| careful(&self.inner, rows))?,
            None => careful(&self.inner, batch)?,
        };
        Ok(ColumnarValue::Array(values))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        std::iter::once(&self.inner).chain(&self.filter).collect()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        let mut children = children.into_iter();
        let Some(inner) = children.next() else { return internal_err!("a guarded expression without one") };
        Ok(Arc::new(Self::new(inner, children.next())))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}
