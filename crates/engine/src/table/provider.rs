//! A table of a snapshot as a DataFusion table.

use super::filter::{all_of, predicate};
use super::scan_exec::ScanExec;
use super::statistics::statistics;
use crate::session::Settings;
use crate::{Error, Result};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Constraint, Constraints, Statistics};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use gingham_storage::catalog::TableSnapshot;
use gingham_storage::{ColumnId, TableDefinition};
use std::sync::Arc;

/// A table of a snapshot.
#[derive(Debug)]
pub(crate) struct GinghamTable {
    /// The table's state.
    pub(crate) table: Arc<TableSnapshot>,
    schema: SchemaRef,
    constraints: Constraints,
}

impl GinghamTable {
    /// The table as DataFusion sees it.
    pub(crate) fn new(table: Arc<TableSnapshot>) -> Result<Self> {
        let schema = table.definition.arrow_schema();
        let constraints = constraints(&table.definition)?;
        Ok(Self { table, schema, constraints })
    }

    fn columns(&self) -> Vec<ColumnId> {
        self.table.definition.columns.iter().map(|column| column.id).collect()
    }
}

/// The keys of a table, by positions of columns.
fn constraints(definition: &TableDefinition) -> Result<Constraints> {
    let mut constraints = Vec::with_capacity(definition.keys.len());
    for key in &definition.keys {
        let position = |id: &ColumnId| definition.columns.iter().position(|column| column.id == *id);
        let columns: Option<Vec<usize>> = key.columns.iter().map(position).collect();
        let columns = columns.ok_or_else(|| {
            Error::Internal(format!("key '{}' of table '{}' names a column that is gone", key.name, definition.name))
        })?;
        constraints.push(if key.primary { Constraint::PrimaryKey(columns) } else { Constraint::Unique(columns) });
    }
    Ok(Constraints::new_unverified(constraints))
}

#[async_trait]
impl TableProvider for GinghamTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let mut predicates = Vec::with_capacity(filters.len());
        for filter in filters {
            let translated = predicate(filter, &self.table.definition);
            predicates
                .push(translated.ok_or_else(|| Error::Internal(format!("filter {filter} is not one of a scan")))?);
        }
        let columns = self.columns();
        let projection = match projection {
            Some(positions) => positions.iter().filter_map(|position| columns.get(*position).copied()).collect(),
            None => columns,
        };
        let settings = Settings::of(state.config_options());
        let scan = ScanExec::new(
            Arc::clone(&self.table),
            projection,
            all_of(predicates),
            filters.iter().map(ToString::to_string).collect::<Vec<_>>().join(" AND "),
            settings.effective_isa(),
            state.config().batch_size(),
            state.config().target_partitions(),
            limit,
        )?;
        Ok(Arc::new(scan))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match predicate(filter, &self.table.definition) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(statistics(&self.table, &self.columns()))
    }
}
