//! A table of a snapshot as a DataFusion table.

use crate::Result;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use gingham_storage::catalog::TableSnapshot;
use std::sync::Arc;

/// A table of a snapshot.
#[derive(Debug)]
pub(crate) struct GinghamTable {
    /// The table's state.
    pub(crate) table: Arc<TableSnapshot>,
    schema: SchemaRef,
}

impl GinghamTable {
    /// The table as DataFusion sees it.
    pub(crate) fn new(table: Arc<TableSnapshot>) -> Result<Self> {
        let schema = table.definition.arrow_schema();
        Ok(Self { table, schema })
    }
}

#[async_trait]
impl TableProvider for GinghamTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let _ = (projection, filters, limit);
        todo!()
    }
}
