//! An expression that is evaluated anew, with care, when evaluating it at once fails.

use crate::guards::careful::{careful, filtered, held};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What an expression is evaluated for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    /// Its value, for all rows.
    Value,
    /// Whether it holds, as a condition of WHERE or ON: NULL is as good as false.
    Condition,
    /// Its value where the FILTER of an aggregate holds: of the other rows it may be anything.
    Filtered(Arc<dyn PhysicalExpr>),
}

/// The expression, and what it is wanted for.
#[derive(Debug, Eq)]
pub(super) struct Guarded {
    inner: Arc<dyn PhysicalExpr>,
    wanted: Wanted,
}

// What the compiler would derive moves out of a reference.
impl PartialEq for Guarded {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner) && self.wanted.eq(&other.wanted)
    }
}

impl Guarded {
    pub(super) fn new(inner: Arc<dyn PhysicalExpr>, wanted: Wanted) -> Self {
        Self { inner, wanted }
    }
}

impl Hash for Guarded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
        self.wanted.hash(state);
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
        let values = match &self.wanted {
            Wanted::Value => careful(&self.inner, batch)?,
            Wanted::Condition => held(&self.inner, batch)?,
            Wanted::Filtered(filter) => filtered(&self.inner, filter, batch)?,
        };
        Ok(ColumnarValue::Array(values))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        match &self.wanted {
            Wanted::Value | Wanted::Condition => vec![&self.inner],
            Wanted::Filtered(filter) => vec![&self.inner, filter],
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        let mut children = children.into_iter();
        let Some(inner) = children.next() else { return internal_err!("a guarded expression without one") };
        let wanted = match children.next() {
            Some(filter) => Wanted::Filtered(filter),
            None => self.wanted.clone(),
        };
        Ok(Arc::new(Self::new(inner, wanted)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}
