//! Schemas, tables and views of the pinned snapshots, as DataFusion looks them up by name.

use crate::Error;
use crate::session::Session;
use crate::session::information_schema::{self, InformationSchema};
use crate::session::named::Named;
use crate::session::planning::logical_plan;
use crate::session::state::{BARE_NAMES, CATALOG};
use crate::statements::{external, limit_depth, system};
use crate::table::GinghamTable;
use async_trait::async_trait;
use datafusion::catalog::view::ViewTable;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, TableType, col};
use gingham_storage::catalog::{Snapshot, ViewDefinition};
use gingham_storage::{DEFAULT_SCHEMA, TableName};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The list of catalogs: just ours.
#[derive(Debug)]
pub(super) struct Catalogs {
    visible: Arc<Visible>,
}

/// What one statement, or one view within it, can see.
#[derive(Debug)]
pub(super) struct Visible {
    session: Arc<Session>,
    snapshot: Arc<Snapshot>,
    /// `None` inside a view of the database, which must mean the same to every session.
    session_only: Option<SessionOnly>,
    /// Views whose definition is being planned, to refuse one that refers to itself.
    planning: Vec<Planned>,
    /// Set once the statement runs, when only information_schema still looks tables up, to list them all: a view that
    /// does not work any more is then left out instead of being an error.
    listing: Arc<AtomicBool>,
    /// While a statement is planned, the names that it mentions: columns of other names are not shown. `None` shows all.
    named: Mutex<Option<Arc<Named>>>,
}

/// A view that is being planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) name: TableName,
    /// It is the session's own.
    pub(super) temporary: bool,
}

/// Tables that only this session sees.
#[derive(Debug, Clone)]
struct SessionOnly {
    temp: Option<Arc<Snapshot>>,
}

impl Catalogs {
    /// The catalog of a statement.
    pub(super) fn new(
        session: Arc<Session>,
        snapshot: Arc<Snapshot>,
        temp: Option<Arc<Snapshot>>,
        listing: Arc<AtomicBool>,
        planning: Vec<Planned>,
    ) -> Arc<Self> {
        let session_only = Some(SessionOnly { temp });
        let named = Mutex::default();
        Arc::new(Self { visible: Arc::new(Visible { session, snapshot, session_only, planning, listing, named }) })
    }

    /// Shows the columns of these names alone, or all.
    pub(super) fn show(&self, named: Option<Arc<Named>>) {
        *self.visible.named() = named;
    }
}

impl CatalogProviderList for Catalogs {
    fn register_catalog(&self, _: String, _: Arc<dyn CatalogProvider>) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        vec![CATALOG.to_string()]
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        (name == CATALOG).then(|| Arc::new(Catalog { visible: Arc::clone(&self.visible) }) as _)
    }
}

/// The catalog `gingham`.
#[derive(Debug)]
struct Catalog {
    visible: Arc<Visible>,
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        let mut names = self.visible.snapshot.schemas.clone();
        if !names.iter().any(|name| name == DEFAULT_SCHEMA) {
            names.push(DEFAULT_SCHEMA.to_string());
        }
        names
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        if name == information_schema::NAME {
            let visible = Arc::new(self.visible.whole());
            let catalogs = Arc::new(Catalogs { visible: Arc::clone(&visible) });
            return Some(Arc::new(InformationSchema::new(visible, catalogs)));
        }
        let known = [DEFAULT_SCHEMA, BARE_NAMES].contains(&name)
            || self.visible.snapshot.schemas.iter().any(|schema| schema == name);
        known.then(|| Arc::new(Schema { visible: Arc::clone(&self.visible), name: name.to_string() }) as _)
    }
}

/// One schema. A name that stands alone is first looked for among TEMP tables, then external tables, then the database's
/// own of the default schema; `public.t` is no TEMP table.
#[derive(Debug)]
struct Schema {
    visible: Arc<Visible>,
    name: String,
}

impl Schema {
    fn temp(&self) -> Option<&Arc<Snapshot>> {
        // information_schema lists TEMP tables in the default schema.
        let seen = self.name == BARE_NAMES || self.visible.listing.load(Ordering::Relaxed);
        self.visible.session_only.as_ref().filter(|_| seen)?.temp.as_ref()
    }

    /// The schema in which the database keeps what this one shows.
    fn kept(&self) -> &str {
        if self.name == BARE_NAMES { DEFAULT_SCHEMA } else { &self.name }
    }

    /// External tables live in the default schema.
    fn externals(&self) -> Option<&Arc<datafusion::catalog::MemorySchemaProvider>> {
        (self.visible.session_only.is_some() && self.kept() == DEFAULT_SCHEMA)
            .then_some(&self.visible.session.externals)
    }

    fn full_name(&self, table: &str) -> TableName {
        TableName { schema: self.kept().to_string(), table: table.to_string() }
    }
}

#[async_trait]
impl SchemaProvider for Schema {
    fn table_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .temp()
            .into_iter()
            .chain([&self.visible.snapshot])
            .flat_map(|snapshot| snapshot.tables.keys().chain(snapshot.views.keys()))
            .filter(|name| name.schema == self.kept())
            .map(|name| name.table.clone())
            .collect();
        names.extend(self.externals().into_iter().flat_map(|externals| externals.table_names()));
        names.sort();
        names.dedup();
        names
    }

    async fn table(&self, table: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let name = self.full_name(table);
        if let Some(temp) = self.temp()
            && let Some(found) = self.visible.look_up(temp, &name, true).await?
        {
            return Ok(Some(found));
        }
        if let Some(externals) = self.externals()
            && let Some(found) = externals.table(table).await?
        {
            return Ok(Some(found));
        }
        if let Some(found) = self.visible.look_up(&self.visible.snapshot, &name, false).await? {
            return Ok(Some(found));
        }
        if let Some(found) =
            system::table(table, &self.visible.session, &self.visible.snapshot, self.temp().map(AsRef::as_ref))?
        {
            return Ok(Some(found));
        }
        Ok(external::file(table, &self.visible.session.state().0).await?)
    }

    async fn table_type(&self, table: &str) -> Result<Option<TableType>> {
        let name = self.full_name(table);
        let mut snapshots = self.temp().into_iter().chain([&self.visible.snapshot]);
        // Without planning the view, which may not work any more.
        if snapshots.any(|snapshot| snapshot.views.contains_key(&name) && !snapshot.tables.contains_key(&name)) {
            return Ok(Some(TableType::View));
        }
        Ok(self.table_exist(table).then_some(TableType::Base))
    }

    fn table_exist(&self, table: &str) -> bool {
        let name = self.full_name(table);
        let in_snapshot =
            |snapshot: &Arc<Snapshot>| snapshot.tables.contains_key(&name) || snapshot.views.contains_key(&name);
        self.temp().is_some_and(in_snapshot)
            || self.externals().is_some_and(|externals| externals.table_exist(table))
            || in_snapshot(&self.visible.snapshot)
            || system::NAMES.contains(&table)
    }
}

impl Visible {
    fn named(&self) -> MutexGuard<'_, Option<Arc<Named>>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, all columns of it.
    fn whole(&self) -> Self {
        Self {
            session: Arc::clone(&self.session),
            snapshot: Arc::clone(&self.snapshot),
            session_only: self.session_only.clone(),
            planning: self.planning.clone(),
            listing: Arc::clone(&self.listing),
            named: Mutex::default(),
        }
    }

    /// The catalog of what is visible.
    pub(super) fn catalog(self: &Arc<Self>) -> impl CatalogProvider + use<> {
        Catalog { visible: Arc::clone(self) }
    }

    /// TEMP tables' snapshot where they are seen, then the database's.
    pub(super) fn snapshots(&self) -> Vec<&Snapshot> {
        let temporary = self.session_only.as_ref().and_then(|own| own.temp.as_deref());
        temporary.into_iter().chain([self.snapshot.as_ref()]).collect()
    }

    /// The table or view of that name in `snapshot`, which is that of the TEMP tables when `temporary`.
    async fn look_up(
        self: &Arc<Self>,
        snapshot: &Arc<Snapshot>,
        name: &TableName,
        temporary: bool,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(table) = snapshot.tables.get(name) {
            let (named, table) = (self.named().clone(), Arc::clone(table));
            let shown = |column: &str| named.as_ref().is_none_or(|named| named.has(column));
            return Ok(Some(Arc::new(GinghamTable::showing(table, shown)?)));
        }
        match snapshot.views.get(name) {
            Some(view) => {
                let plan = match self.plan_view(view, temporary).await {
                    Err(_) if self.listing.load(Ordering::Relaxed) => return Ok(None),
                    plan => plan?,
                };
                Ok(Some(Arc::new(ViewTable::new(plan, Some(view.query.clone())))))
            }
            None => Ok(None),
        }
    }

    /// Plans a view's query: a view of the database sees no tables of the session.
    async fn plan_view(self: &Arc<Self>, view: &ViewDefinition, temporary: bool) -> Result<LogicalPlan> {
        let planned = Planned { name: view.name.clone(), temporary };
        if self.planning.contains(&planned) {
            return Err(Error::InvalidInput(format!("view '{}' refers to itself", view.name)).into());
        }
        let mut planning = self.planning.clone();
        planning.push(planned);
        let session_only = self.session_only.clone().filter(|_| temporary);
        let visible = Self { session_only, planning, ..self.whole() };
        let mut state: SessionState = self.session.state().0;
        state.register_catalog_list(Arc::new(Catalogs { visible: Arc::new(visible) }));
        let in_view = |error: DataFusionError| error.context(format!("view '{}'", view.name));
        let dialect = state.config_options().sql_parser.dialect;
        let mut statement = state.sql_to_statement(&view.query, &dialect).map_err(in_view)?;
        limit_depth(&mut statement)?;
        let plan = logical_plan(&state, statement).await.map_err(in_view)?;
        rename_columns(plan, &view.columns)
    }
}

/// Gives the first columns of `plan` the names of CREATE VIEW v (a, b).
fn rename_columns(plan: LogicalPlan, names: &[String]) -> Result<LogicalPlan> {
    if names.is_empty() {
        return Ok(plan);
    }
    let columns = plan.schema().columns();
    let renamed = columns.into_iter().enumerate().map(|(position, column)| {
        let expression = col(column);
        match names.get(position) {
            Some(name) => expression.alias(name),
            None => expression,
        }
    });
    LogicalPlanBuilder::from(plan).project(renamed)?.build()
}
