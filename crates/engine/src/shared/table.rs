//! Shared rows as a table, and the places that read it.

use crate::settings::Settings;
use crate::shared::exec::{SharedExec, SharedSource};
use arrow::datatypes::{Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Column, TableReference, internal_datafusion_err};
use datafusion::datasource::{TableType, provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::logical_plan::{TableScan, TableScanBuilder};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::physical_plan::{ExecutionPlan, displayable};
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;

/// The plan of rows that several places of a statement read.
pub(crate) struct SharedRows {
    /// One made later may read those made before.
    pub(super) number: u64,
    /// Its name in plans.
    pub(super) name: String,
    pub(super) plan: LogicalPlan,
    /// Whether the rows are kept even if one place alone reads them.
    pub(super) is_kept: bool,
    /// The columns of the plan that are read, once they are known: the plan is optimised then.
    pub(super) read: Option<Vec<usize>>,
    schema: SchemaRef,
    /// What runs the plan, while readers of it are planned.
    source: Mutex<Weak<SharedSource>>,
}

impl fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRows").field("name", &self.name).field("plan", &self.plan).finish_non_exhaustive()
    }
}

static MADE: AtomicU64 = AtomicU64::new(1);

impl SharedRows {
    /// The rows of a plan.
    pub(crate) fn new(plan: LogicalPlan, is_kept: bool) -> Arc<Self> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let mut names = HashSet::new();
        let named = |field: &Arc<Field>| {
            let mut name = field.name().clone();
            while !names.insert(name.clone()) {
                name = format!("{name}_{}", names.len());
            }
            field.as_ref().clone().with_name(name)
        };
        let schema = Schema::new(plan.schema().fields().iter().map(named).collect::<Vec<_>>());
        let (schema, source) = (Arc::new(schema), Mutex::default());
        Arc::new(Self { number, name: format!("shared_{number}"), plan, is_kept, read: None, schema, source })
    }

    /// The plan of the rows.
    pub(crate) fn plan(&self) -> &LogicalPlan {
        &self.plan
    }

    /// These rows under a name, by a plan that is settled.
    pub(super) fn settled(&self, name: String, plan: LogicalPlan) -> Self {
        let (schema, source) = (Arc::clone(&self.schema), Mutex::default());
        Self { number: self.number, name, plan, is_kept: self.is_kept, read: None, schema, source }
    }

    /// These rows by an optimised plan of some of the columns.
    pub(super) fn planned(&self, read: Vec<usize>, plan: LogicalPlan) -> Self {
        let (schema, source) = (Arc::clone(&self.schema), Mutex::default());
        Self {
            number: self.number,
            name: self.name.clone(),
            plan,
            is_kept: self.is_kept,
            read: Some(read),
            schema,
            source,
        }
    }

    /// A scan under the columns' own names.
    pub(super) fn scan(self: &Arc<Self>, projection: Option<Vec<usize>>) -> Result<TableScan> {
        let source = provider_as_source(Arc::clone(self) as _);
        TableScanBuilder::new(TableReference::bare(self.name.as_str()), source).with_projection(projection).build()
    }

    /// What runs the plan: the same for all readers that are planned together.
    async fn source(&self, state: &SessionState) -> Result<Arc<SharedSource>> {
        let mut known = self.source.lock().await;
        if let Some(source) = known.upgrade() {
            return Ok(source);
        }
        let plan = state.query_planner().create_physical_plan(&self.plan, state).await?;
        if let Some(notes) = Settings::of(state.config_options()).notes {
            notes.shared(&self.name, &displayable(plan.as_ref()).indent(false).to_string());
        }
        let source = Arc::new(SharedSource::new(self.name.clone(), plan));
        *known = Arc::downgrade(&source);
        Ok(source)
    }
}

#[async_trait]
impl TableProvider for SharedRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = state.as_any().downcast_ref::<SessionState>();
        let state = state.ok_or_else(|| internal_datafusion_err!("shared rows are planned by a session"))?;
        let source = self.source(state).await?;
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let wanted = projection.unwrap_or(&all);
        let place = |column: &usize| match &self.read {
            None => Ok(*column),
            Some(read) => read
                .iter()
                .position(|own| own == column)
                .ok_or_else(|| internal_datafusion_err!("column {column} of {} is not computed", self.name)),
        };
        let columns = wanted.iter().map(place).collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(self.schema.project(wanted)?);
        Ok(Arc::new(SharedExec::new(source, columns, schema)))
    }
}

/// A place that reads shared rows, under the names of their plan's columns.
pub(crate) fn reader(shared: &Arc<SharedRows>) -> Result<LogicalPlan> {
    let scan = LogicalPlan::TableScan(shared.scan(None)?);
    let names = shared.plan.schema().columns();
    let columns = scan.schema().columns().into_iter().zip(names);
    let columns = columns.map(|(own, Column { relation, name, .. })| Expr::Column(own).alias_qualified(relation, name));
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(scan))?))
}

/// The shared rows that a scan reads.
pub(crate) fn shared_by(scan: &TableScan) -> Option<Arc<SharedRows>> {
    let provider: Arc<dyn TableProvider> = source_as_provider(&scan.source).ok()?;
    let provider: Arc<dyn std::any::Any + Send + Sync> = provider;
    provider.downcast::<SharedRows>().ok()
}
