//! Schemas, tables and views of the pinned snapshots, as DataFusion looks them up by name.

use crate::bind::{FoundView, KnownRelation, Looked, Lookup};
use crate::files::{FileCall, find};
use crate::session::information_schema::InformationSchema;
use crate::session::pg_catalog::Seen;
use crate::session::state::{BARE_NAMES, CATALOG};
use crate::session::{ReadSet, Session, StatementTables, did_you_mean, information_schema};
use crate::session::{external_files, pg_catalog, sequences, system_tables};
use crate::settings::{ClientSettings, ColumnNames, Settings};
use crate::sql::literals::make_plannable;
use crate::statements::{limit_depth, query_of_view};
use crate::table::GinghamTable;
use crate::{Error, bind};
use async_trait::async_trait;
use datafusion::catalog::view::ViewTable;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::common::{Result, TableReference};
use datafusion::logical_expr::TableType;
use datafusion::prelude::SessionConfig;
use datafusion::sql::sqlparser::ast::Query;
use gingham_storage::model::ViewDefinition;
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{DEFAULT_SCHEMA, SqlState, TableName};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// The catalog and the schema of names that do not say theirs.
    default: (String, String),
    /// The schemas in which those names are looked for, where a setting says so.
    path: Option<Vec<String>>,
    /// Where it is noted what of the database is looked up.
    reads: Option<Arc<ReadSet>>,
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
pub(super) struct SessionOnly {
    pub(super) temp: Option<Arc<Snapshot>>,
    /// The tables that came with the statement.
    pub(super) tables: StatementTables,
}

impl SessionOnly {
    fn without_tables(&self) -> Self {
        Self { tables: StatementTables::new(), ..self.clone() }
    }
}

impl Catalogs {
    /// The catalog of a statement.
    pub(super) fn of_statement(
        session: Arc<Session>,
        snapshot: Arc<Snapshot>,
        own: SessionOnly,
        listing: Arc<AtomicBool>,
        planning: Vec<Planned>,
        config: &SessionConfig,
    ) -> NewCatalogs {
        let session_only = Some(own);
        let settings = config.options();
        let default = (settings.catalog.default_catalog.clone(), settings.catalog.default_schema.clone());
        let path = ClientSettings::of(config).search_path().map(<[String]>::to_vec);
        NewCatalogs(Visible { session, snapshot, session_only, planning, listing, default, path, reads: None })
    }

    /// What the statement can see.
    pub(super) fn visible(&self) -> &Arc<Visible> {
        &self.visible
    }
}

/// The catalog of a statement before anybody has looked something up.
pub(super) struct NewCatalogs(Visible);

impl NewCatalogs {
    /// Notes in `reads` what is looked up.
    pub(super) fn noting(self, reads: Option<Arc<ReadSet>>) -> Arc<Catalogs> {
        Arc::new(Catalogs { visible: Arc::new(Visible { reads, ..self.0 }) })
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
        if name == pg_catalog::NAME {
            return Some(Arc::new(Schema { visible: Arc::clone(&self.visible), name: name.to_string() }));
        }
        if name == information_schema::NAME {
            let visible = Arc::clone(&self.visible);
            let catalogs = Arc::new(Catalogs { visible: Arc::clone(&visible) });
            return Some(Arc::new(InformationSchema::new(visible, catalogs)));
        }
        let known = [DEFAULT_SCHEMA, BARE_NAMES].contains(&name)
            || self.visible.snapshot.schemas.iter().any(|schema| schema == name);
        known.then(|| Arc::new(Schema { visible: Arc::clone(&self.visible), name: name.to_string() }) as _)
    }
}

/// One schema. A name that stands alone is first looked for among the tables that came with the statement, then TEMP tables,
/// then external tables, then the database's own of the default schema; `public.t` is no TEMP table and none of the statement's.
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

    /// The table of that name which came with the statement.
    fn given(&self, table: &str) -> Option<Arc<dyn TableProvider>> {
        self.visible.session_only.as_ref().filter(|_| self.name == BARE_NAMES)?.tables.get(table)
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
            .flat_map(|snapshot| snapshot.definitions().map(|(name, _)| name).chain(snapshot.views.keys()))
            .filter(|name| name.schema == self.kept())
            .map(|name| name.table.clone())
            .collect();
        names.extend(self.externals().into_iter().flat_map(|externals| externals.table_names()));
        names.sort();
        names.dedup();
        names
    }

    async fn table(&self, table: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(match self.look_up(table).await? {
            None => None,
            Some(Looked::Known(KnownRelation::Table { table, .. })) => Some(Arc::new(GinghamTable::new(table)?)),
            Some(Looked::Known(KnownRelation::Other(provider))) => Some(provider),
            Some(Looked::Known(KnownRelation::View(_))) => None,
            Some(Looked::View(view)) => match self.visible.view_table(*view).await {
                Err(_) if self.visible.listing.load(Ordering::Relaxed) => None,
                view => Some(view?),
            },
        })
    }

    async fn table_type(&self, table: &str) -> Result<Option<TableType>> {
        let name = self.full_name(table);
        if self.given(table).is_some() {
            return Ok(Some(TableType::Base));
        }
        let mut snapshots = self.temp().into_iter().chain([&self.visible.snapshot]);
        // Without planning the view, which may not work any more.
        if snapshots.any(|snapshot| snapshot.views.contains_key(&name) && !snapshot.has_table(&name)) {
            return Ok(Some(TableType::View));
        }
        Ok(self.table_exist(table).then_some(TableType::Base))
    }

    fn table_exist(&self, table: &str) -> bool {
        let name = self.full_name(table);
        let in_snapshot = |snapshot: &Arc<Snapshot>| snapshot.has_table(&name) || snapshot.views.contains_key(&name);
        self.given(table).is_some()
            || self.temp().is_some_and(in_snapshot)
            || self.externals().is_some_and(|externals| externals.table_exist(table))
            || in_snapshot(&self.visible.snapshot)
            || system_tables::NAMES.contains(&table)
            || ([BARE_NAMES, pg_catalog::NAME].contains(&self.name.as_str()) && pg_catalog::has(table))
    }
}

impl Visible {
    /// What PostgreSQL's catalog is made of.
    pub(super) fn seen(self: &Arc<Self>) -> Seen {
        Seen {
            session: Arc::clone(&self.session),
            database: Arc::clone(&self.snapshot),
            temporary: self.session_only.as_ref().and_then(|own| own.temp.clone()),
            sees_externals: self.session_only.is_some(),
            search_path: self.search_path(),
            standard: (information_schema::NAME, information_schema::names().collect()),
            catalog: Arc::new(self.catalog()),
        }
    }

    /// The catalog of what is visible.
    pub(super) fn catalog(self: &Arc<Self>) -> impl CatalogProvider + use<> {
        Catalog { visible: Arc::clone(self) }
    }

    /// The schemas that there are among those in which names without one are looked for.
    pub(super) fn search_path(&self) -> Vec<String> {
        let known = |schema: &&String| *schema == DEFAULT_SCHEMA || self.snapshot.schemas.contains(*schema);
        match &self.path {
            Some(path) => path.iter().filter(known).cloned().collect(),
            None => vec![DEFAULT_SCHEMA.to_owned()],
        }
    }

    /// TEMP tables' snapshot where they are seen, then the database's.
    pub(super) fn snapshots(&self) -> Vec<&Snapshot> {
        let temporary = self.session_only.as_ref().and_then(|own| own.temp.as_deref());
        temporary.into_iter().chain([self.snapshot.as_ref()]).collect()
    }

    /// The table or view of that name in `snapshot`, which is that of the TEMP tables when `is_temporary`. Fails for a table that
    /// can't be read.
    fn kept(
        self: &Arc<Self>,
        snapshot: &Arc<Snapshot>,
        name: &TableName,
        is_temporary: bool,
    ) -> crate::Result<Option<Looked>> {
        if let Some(table) = snapshot.table(name)? {
            return Ok(Some(Looked::Known(KnownRelation::Table { table: Arc::clone(table), is_temporary })));
        }
        if let Some(view) = snapshot.views.get(name) {
            return Ok(Some(Looked::View(Box::new(self.found_view(view, is_temporary)?))));
        }
        let Some(sequence) = snapshot.sequences.get(name) else { return Ok(None) };
        let temp = self.session.existing_temp_store().filter(|_| is_temporary);
        let provider = sequences::table(sequence, temp.unwrap_or(&self.session.engine.store))?;
        Ok(Some(Looked::Known(KnownRelation::Other(provider))))
    }

    /// A view as it is found: one of the database sees no tables of the session.
    fn found_view(self: &Arc<Self>, view: &ViewDefinition, temporary: bool) -> crate::Result<FoundView> {
        let planned = Planned { name: view.name.clone(), temporary };
        if self.planning.contains(&planned) {
            return Err(Error::invalid(SqlState::InvalidRecursion, format!("view '{}' refers to itself", view.name)));
        }
        let mut planning = self.planning.clone();
        planning.push(planned);
        let inside = Self {
            session: Arc::clone(&self.session),
            snapshot: Arc::clone(&self.snapshot),
            // It must mean the same to every statement, too.
            session_only: self.session_only.as_ref().filter(|_| temporary).map(SessionOnly::without_tables),
            planning,
            listing: Arc::clone(&self.listing),
            default: self.default.clone(),
            // A view means the same whatever the session has set.
            path: self.path.as_ref().filter(|_| temporary).cloned(),
            reads: self.reads.clone(),
        };
        let query = parse_view(view)?;
        let columns = view.columns.clone();
        Ok(FoundView { name: view.name.clone(), query, columns, inside: Arc::new(Arc::new(inside)) })
    }

    /// A view as a table of DataFusion's.
    async fn view_table(self: &Arc<Self>, view: FoundView) -> crate::Result<Arc<dyn TableProvider>> {
        let FoundView { name, mut query, columns, inside } = view;
        let mut state = self.session.state().0;
        let options = state.config_mut().options_mut();
        // What a view does not say itself, its columns are called as they are written.
        let settings = Settings { column_names: ColumnNames::Text, ..Settings::of(options) };
        options.extensions.insert(settings);
        let bound = bind::bind(&state, &mut query, inside, Vec::new(), "").await;
        let mut bound = bound.map_err(|error| error.about(format_args!("view '{name}'")))?;
        for (own, given) in bound.columns.names.iter_mut().zip(columns) {
            *own = given;
        }
        Ok(Arc::new(ViewTable::new(bound.with_names()?, Some(query.to_string()))))
    }
}

/// A view's query.
fn parse_view(view: &ViewDefinition) -> crate::Result<Query> {
    let parsed = query_of_view(&view.query);
    let mut query =
        parsed.map_err(|error| Error::invalid(SqlState::InvalidStatement, format!("view '{}': {error}", view.name)))?;
    limit_depth(&mut query)?;
    make_plannable(&mut query)?;
    Ok(query)
}

impl Schema {
    /// The table of PostgreSQL's catalog of that name.
    async fn of_postgresql(&self, table: &str) -> crate::Result<Option<Looked>> {
        self.visible.reads.iter().for_each(|own| own.note_everything());
        let found = pg_catalog::table(table, &self.visible.seen()).await?;
        Ok(found.map(|provider| Looked::Known(KnownRelation::Other(provider))))
    }

    /// The table or view of that name.
    async fn look_up(&self, table: &str) -> crate::Result<Option<Looked>> {
        if self.name == pg_catalog::NAME {
            return self.of_postgresql(table).await;
        }
        if let Some(found) = self.of_session(table)? {
            return Ok(Some(found));
        }
        // Its names come before those of the database where a name stands alone, as in PostgreSQL.
        if self.name == BARE_NAMES
            && table.starts_with("pg_")
            && let Some(found) = self.of_postgresql(table).await?
        {
            return Ok(Some(found));
        }
        match self.visible.path.as_ref().filter(|_| self.name == BARE_NAMES) {
            None => {
                if let Some(found) = self.of_database(table).await? {
                    return Ok(Some(found));
                }
            }
            Some(path) => {
                for name in path {
                    let schema = Self { visible: Arc::clone(&self.visible), name: name.clone() };
                    if let Some(found) = schema.of_database(table).await? {
                        return Ok(Some(found));
                    }
                }
            }
        }
        let temp = self.temp().map(AsRef::as_ref);
        let other = match system_tables::table(table, &self.visible.session, &self.visible.snapshot, temp)? {
            None => external_files::file(table, &self.visible.session).await?,
            found => {
                self.visible.reads.iter().for_each(|own| own.note_everything());
                found
            }
        };
        Ok(other.map(|provider| Looked::Known(KnownRelation::Other(provider))))
    }

    /// One that came with the statement, or a TEMP one.
    fn of_session(&self, table: &str) -> crate::Result<Option<Looked>> {
        if let Some(given) = self.given(table) {
            return Ok(Some(Looked::Known(KnownRelation::Other(given))));
        }
        match self.temp() {
            Some(temp) => self.visible.kept(temp, &self.full_name(table), true),
            None => Ok(None),
        }
    }

    /// One of this schema that outlasts the statement: an external one, or the database's.
    async fn of_database(&self, table: &str) -> crate::Result<Option<Looked>> {
        let name = self.full_name(table);
        if let Some(externals) = self.externals()
            && let Some(found) = externals.table(table).await?
        {
            return Ok(Some(Looked::Known(KnownRelation::Other(found))));
        }
        self.visible.reads.iter().for_each(|own| own.note(&name));
        self.visible.kept(&self.visible.snapshot, &name, false)
    }
}

#[async_trait]
impl Lookup for Arc<Visible> {
    async fn look_up(&self, reference: &TableReference) -> crate::Result<Option<Looked>> {
        let resolved = reference.clone().resolve(&self.default.0, &self.default.1);
        if &*resolved.catalog != CATALOG {
            return Err(unknown_catalog(&resolved.catalog));
        }
        if &*resolved.schema == information_schema::NAME {
            self.reads.iter().for_each(|own| own.note_everything());
            let schema = self.catalog().schema(information_schema::NAME);
            let Some(schema) = schema else { return Ok(None) };
            let found = schema.table(&resolved.table).await?;
            return Ok(found.map(|provider| Looked::Known(KnownRelation::Other(provider))));
        }
        let name = &*resolved.schema;
        if ![DEFAULT_SCHEMA, BARE_NAMES, pg_catalog::NAME].contains(&name)
            && !self.snapshot.schemas.iter().any(|own| own == name)
        {
            return Ok(None);
        }
        let schema = Schema { visible: Arc::clone(self), name: name.to_owned() };
        schema.look_up(&resolved.table).await
    }

    async fn files(&self, call: FileCall) -> crate::Result<Arc<dyn TableProvider>> {
        external_files::files(call.patterns, call.options, &self.session).await
    }

    fn unknown(&self, reference: &TableReference) -> Error {
        let resolved = reference.clone().resolve(&self.default.0, &self.default.1);
        let first = self.path.as_ref().and_then(|path| path.first()).map_or(DEFAULT_SCHEMA, String::as_str);
        let schema = if &*resolved.schema == BARE_NAMES { first } else { &resolved.schema };
        self.unknown_table(&TableName { schema: schema.to_owned(), table: resolved.table.to_string() })
    }
}

/// "catalog 'x' does not exist; …"
pub(super) fn unknown_catalog(name: &str) -> Error {
    Error::invalid(
        SqlState::InvalidCatalogName,
        format!("catalog '{name}' does not exist; the only one is '{CATALOG}'"),
    )
}

impl Visible {
    /// "table 'x' does not exist; did you mean 'y'?"
    pub(super) fn unknown_table(&self, name: &TableName) -> Error {
        let snapshots = self.snapshots();
        let is_known = [DEFAULT_SCHEMA, pg_catalog::NAME].contains(&name.schema.as_str());
        if !is_known && !snapshots.iter().any(|snapshot| snapshot.schemas.contains(&name.schema)) {
            let system = [information_schema::NAME, pg_catalog::NAME];
            let schemas = self.snapshot.schemas.iter().map(String::as_str).chain(system);
            return Error::invalid(
                SqlState::UndefinedSchema,
                match find::of_name(Path::new(&format!("x.{}", name.table))) {
                    Some(_) => {
                        format!("schema '{}' does not exist; a file's name stands in quotes: '{name}'", name.schema)
                    }
                    None => {
                        format!("schema '{}' does not exist{}", name.schema, did_you_mean(&name.schema, schemas))
                    }
                },
            );
        }
        let mut names: Vec<String> = snapshots
            .iter()
            .flat_map(|snapshot| snapshot.definitions().map(|(name, _)| name).chain(snapshot.views.keys()))
            .map(ToString::to_string)
            .collect();
        if let Some(own) = &self.session_only {
            names.extend(self.session.externals.table_names());
            names.extend(own.tables.names().map(str::to_owned));
        }
        let wanted = name.to_string();
        let suggestion = match Path::new(&name.table) {
            _ if names.contains(&wanted) => {
                format!("; '{wanted}' without a schema is one that only this session has")
            }
            file if name.table.contains('/') && file.exists() => {
                "; FROM reads files that end in .parquet, .csv or .json, and folders whose name ends in /".to_owned()
            }
            _ => did_you_mean(&wanted, names.iter().map(String::as_str)),
        };
        Error::invalid(SqlState::UndefinedTable, format!("table '{wanted}' does not exist{suggestion}"))
    }
}
