//! BYTEA and its like as types of SQL: expressions have that of Arrow's types that columns have.

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::DataType as SqlType;
use std::sync::Arc;

/// Plans types of bytes; all others are DataFusion's.
#[derive(Debug)]
pub(crate) struct BytesTypes;

impl TypePlanner for BytesTypes {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        let are_bytes = matches!(
            sql_type,
            SqlType::Bytea | SqlType::Blob(_) | SqlType::Binary(_) | SqlType::Varbinary(_) | SqlType::Bytes(_)
        );
        Ok(are_bytes.then(|| Arc::new(Field::new("", DataType::BinaryView, true))))
    }
}
