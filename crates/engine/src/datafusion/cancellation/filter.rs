//! A condition of a join, which is evaluated for one batch of pairs after the other, and asks before each whether to go on.

use crate::datafusion::cancellation::signal::ask;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::joins::utils::JoinFilter;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The expression, which asks first.
#[derive(Debug, Eq)]
struct AskingFilter(Arc<dyn PhysicalExpr>);

// What the compiler would derive moves out of a reference.
impl PartialEq for AskingFilter {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq(&other.0)
    }
}

impl Hash for AskingFilter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// A join's condition that asks; `None` when it does already.
pub(super) fn asking(filter: &JoinFilter) -> Option<JoinFilter> {
    let expression = filter.expression();
    if expression.is::<AskingFilter>() {
        return None;
    }
    let asking = Arc::new(AskingFilter(Arc::clone(expression)));
    Some(JoinFilter::new(asking, filter.column_indices().to_vec(), Arc::clone(filter.schema())))
}

impl fmt::Display for AskingFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PhysicalExpr for AskingFilter {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.0.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.0.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.0.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        ask()?;
        self.0.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.0]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        match <[_; 1]>::try_from(children) {
            Ok([own]) => Ok(Arc::new(Self(own))),
            Err(others) => datafusion::common::internal_err!("a join's condition was given {} parts", others.len()),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}
