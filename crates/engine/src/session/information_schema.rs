//! information_schema: views, columns and constraints from the catalog's own definitions, since DataFusion's tables of
//! these names know neither types as SQL writes them nor defaults, keys and queries. The others are DataFusion's.

use crate::session::catalog::Visible;
use crate::session::pg_catalog;
use crate::session::state::{BARE_NAMES, CATALOG};
use crate::session::system_columns::SystemColumns;
use crate::type_name::type_name;
use arrow::array::RecordBatch;
use arrow::datatypes::Field;
use async_trait::async_trait;
use datafusion::catalog::information_schema::InformationSchemaProvider;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, MemTable, SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::empty::EmptyTable;
use datafusion::logical_expr::TableType;
use gingham_storage::model::ViewDefinition;
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{
    ColumnDefinition, ColumnId, DEFAULT_SCHEMA, Generation, LogicalType, SequenceDefinition, TableDefinition,
    TableName, Unit,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The schema's name.
pub(super) const NAME: &str = "information_schema";
/// DataFusion's tables that are given as they are.
const THEIRS: [&str; 4] = ["tables", "schemata", "df_settings", "parameters"];
const OURS: [&str; 6] = ["columns", "views", "table_constraints", "key_column_usage", "routines", "sequences"];

/// The names of its tables.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    THEIRS.iter().chain(&OURS).copied()
}

/// The schema as one statement sees it.
#[derive(Debug)]
pub(super) struct InformationSchema {
    visible: Arc<Visible>,
    theirs: InformationSchemaProvider,
}

impl InformationSchema {
    pub(super) fn new(visible: Arc<Visible>, catalogs: Arc<dyn CatalogProviderList>) -> Self {
        Self { visible, theirs: InformationSchemaProvider::new(catalogs) }
    }

    /// Definitions of tables by name, those of TEMP tables first.
    fn tables(&self) -> BTreeMap<&TableName, &TableDefinition> {
        let snapshots = self.visible.snapshots().into_iter().rev();
        let tables = snapshots.flat_map(|snapshot| snapshot.definitions());
        tables.map(|(name, definition)| (name, definition.as_ref())).collect()
    }

    fn views(&self) -> BTreeMap<&TableName, &ViewDefinition> {
        let snapshots = self.visible.snapshots().into_iter().rev();
        snapshots.flat_map(|snapshot| snapshot.views.iter()).map(|(name, view)| (name, view.as_ref())).collect()
    }

    async fn columns(&self) -> Result<RecordBatch> {
        let tables = self.tables();
        let mut rows = Vec::new();
        for (name, provider) in self.visible.providers().await {
            let definition = tables.get(&name).filter(|_| provider.table_type() == TableType::Base);
            for (position, field) in (1..).zip(provider.schema().fields()) {
                let kept = definition.and_then(|table| table.column(field.name()));
                let known = match kept {
                    Some(column) => Some(column.logical_type.clone()),
                    None => LogicalType::from_arrow(field.name(), field.data_type()).ok(),
                };
                rows.push((name.clone(), position, Arc::clone(field), known, kept.cloned()));
            }
        }
        let known = |measure: fn(&LogicalType) -> Option<u64>| {
            rows.iter().map(move |(_, _, _, known, _)| known.as_ref().and_then(measure))
        };
        let mut columns = SystemColumns::default();
        columns.table(rows.iter().map(|(name, ..)| name));
        columns.text("column_name", rows.iter().map(|(_, _, field, ..)| Some(field.name().into())));
        columns.number("ordinal_position", rows.iter().map(|(_, position, ..)| Some(*position)));
        let defaults = rows.iter().map(|(.., kept)| kept.as_ref().and_then(|column| column.default.as_deref()));
        columns.text("column_default", defaults.map(|default| default.map(Into::into)));
        let nullable = |field: &Field| Some(if field.is_nullable() { "YES" } else { "NO" }.into());
        columns.text("is_nullable", rows.iter().map(|(_, _, field, ..)| nullable(field)));
        columns.text(
            "data_type",
            rows.iter().map(|(_, _, field, known, _)| match known {
                Some(known) => Some(known.to_string().into()),
                None => Some(type_name(field.data_type()).into()),
            }),
        );
        columns.number("character_maximum_length", known(characters));
        columns.number("numeric_precision", known(precision));
        columns.number("numeric_precision_radix", known(radix));
        columns.number("numeric_scale", known(scale));
        columns.number("datetime_precision", known(fraction));
        columns.generation(rows.iter().map(|(.., kept)| kept.as_ref()), &self.visible.snapshots());
        Ok(columns.batch()?)
    }

    fn sequences(&self) -> Result<RecordBatch> {
        let snapshots = self.visible.snapshots().into_iter().rev();
        // Those of identity columns are no objects of their own, as PostgreSQL has it.
        let all: BTreeMap<&TableName, &SequenceDefinition> = snapshots
            .flat_map(|snapshot| snapshot.sequences.iter())
            .map(|(name, record)| (name, &record.definition))
            .filter(|(_, own)| !own.owner.is_some_and(|owner| owner.identity))
            .collect();
        let mut columns = SystemColumns::default();
        columns.text("sequence_catalog", all.keys().map(|_| Some(CATALOG.into())));
        columns.text("sequence_schema", all.keys().map(|name| Some(name.schema.as_str().into())));
        columns.text("sequence_name", all.keys().map(|name| Some(name.table.as_str().into())));
        let data_type = |own: &&SequenceDefinition| Some(LogicalType::Int(own.bits).to_string().into());
        columns.text("data_type", all.values().map(data_type));
        columns.number("numeric_precision", all.values().map(|own| Some(own.bits.into())));
        columns.number("numeric_precision_radix", all.values().map(|_| Some(2)));
        columns.number("numeric_scale", all.values().map(|_| Some(0)));
        columns.text("start_value", all.values().map(|own| Some(own.start.to_string().into())));
        columns.text("minimum_value", all.values().map(|own| Some(own.least.to_string().into())));
        columns.text("maximum_value", all.values().map(|own| Some(own.most.to_string().into())));
        columns.text("increment", all.values().map(|own| Some(own.increment.to_string().into())));
        let cycle = |own: &&SequenceDefinition| Some(if own.cycle { "YES" } else { "NO" }.into());
        columns.text("cycle_option", all.values().map(cycle));
        Ok(columns.batch()?)
    }

    fn view_rows(&self) -> Result<RecordBatch> {
        let views = self.views();
        let mut columns = SystemColumns::default();
        columns.table(views.keys().copied());
        columns.text("view_definition", views.values().map(|view| Some(view.query.as_str().into())));
        columns.text("check_option", views.iter().map(|_| Some("NONE".into())));
        columns.text("is_updatable", views.iter().map(|_| Some("NO".into())));
        Ok(columns.batch()?)
    }

    fn constraints(&self) -> Result<RecordBatch> {
        let mut rows = Vec::new();
        for (name, table) in self.tables() {
            let keys = table.keys.iter().filter(|key| !table.is_of_index(&key.name));
            let keys = keys.map(|key| (&key.name, if key.primary { "PRIMARY KEY" } else { "UNIQUE" }));
            let references = table.references.iter().map(|reference| (&reference.name, "FOREIGN KEY"));
            let checks = table.checks.iter().map(|check| (&check.name, "CHECK"));
            rows.extend(keys.chain(references).chain(checks).map(|(constraint, kind)| (name, constraint, kind)));
        }
        let mut columns = SystemColumns::default();
        columns.constraint(rows.iter().map(|(name, constraint, _)| (*name, constraint.as_str())));
        columns.text("constraint_type", rows.iter().map(|(.., kind)| Some((*kind).into())));
        Ok(columns.batch()?)
    }

    /// The functions that statements can call.
    fn routines(&self) -> Result<RecordBatch> {
        let functions = self.visible.seen().functions();
        let mut columns = SystemColumns::default();
        let all = |text: &'static str| functions.iter().map(move |_| Some(text.into()));
        let name = || functions.iter().map(|(name, _)| Some(name.as_str().into()));
        columns.text("specific_catalog", all(CATALOG));
        columns.text("specific_schema", all(pg_catalog::NAME));
        columns.text("specific_name", name());
        columns.text("routine_catalog", all(CATALOG));
        columns.text("routine_schema", all(pg_catalog::NAME));
        columns.text("routine_name", name());
        columns.text("routine_type", all("FUNCTION"));
        let kinds = functions.iter().map(|(_, kind)| {
            Some(match *kind {
                "a" => "AGGREGATE".into(),
                "w" => "WINDOW".into(),
                _ => "SCALAR".into(),
            })
        });
        columns.text("function_type", kinds);
        columns.text("routine_body", all("EXTERNAL"));
        columns.text("external_language", all("INTERNAL"));
        Ok(columns.batch()?)
    }

    fn key_columns(&self) -> Result<RecordBatch> {
        let mut rows = Vec::new();
        for (name, table) in self.tables() {
            let keys = table.keys.iter().filter(|key| !table.is_of_index(&key.name));
            let keys = keys.map(|key| (&key.name, &key.columns, false));
            let references = table.references.iter().map(|reference| (&reference.name, &reference.columns, true));
            for (constraint, ids, refers) in keys.chain(references) {
                let parts = (1..).zip(ids);
                rows.extend(parts.map(|(position, id)| (name, constraint, column_name(table, *id), position, refers)));
            }
        }
        let mut columns = SystemColumns::default();
        columns.constraint(rows.iter().map(|(name, constraint, ..)| (*name, constraint.as_str())));
        columns.text("column_name", rows.iter().map(|(_, _, column, ..)| column.map(Into::into)));
        columns.number("ordinal_position", rows.iter().map(|(.., position, _)| Some(*position)));
        let referred = rows.iter().map(|(.., position, refers)| refers.then_some(*position));
        columns.number("position_in_unique_constraint", referred);
        Ok(columns.batch()?)
    }
}

/// YES or NO.
fn yes_or_no(yes: bool) -> Option<std::borrow::Cow<'static, str>> {
    Some(if yes { "YES" } else { "NO" }.into())
}

impl SystemColumns {
    /// How the values of columns are made.
    fn generation<'a>(
        &mut self,
        columns: impl Iterator<Item = Option<&'a ColumnDefinition>> + Clone,
        snapshots: &[&Snapshot],
    ) {
        let of = |column: Option<&'a ColumnDefinition>| column.and_then(|column| column.generation.as_ref());
        let identity = |column| match of(column) {
            Some(Generation::Identity { always, sequence }) => Some((*always, *sequence)),
            _ => None,
        };
        let sequence = |column| {
            let (_, number) = identity(column)?;
            let mut all = snapshots.iter().flat_map(|snapshot| snapshot.sequences.values());
            all.find(|record| record.definition.number == number).map(|record| record.definition.clone())
        };
        let text = |value: i64| value.to_string().into();
        self.text("is_identity", columns.clone().map(|column| yes_or_no(identity(column).is_some())));
        let how = |(always, _): (bool, u64)| if always { "ALWAYS" } else { "BY DEFAULT" }.into();
        self.text("identity_generation", columns.clone().map(|column| identity(column).map(how)));
        self.text("identity_start", columns.clone().map(|column| sequence(column).map(|own| text(own.start))));
        self.text("identity_increment", columns.clone().map(|column| sequence(column).map(|own| text(own.increment))));
        self.text("identity_maximum", columns.clone().map(|column| sequence(column).map(|own| text(own.most))));
        self.text("identity_minimum", columns.clone().map(|column| sequence(column).map(|own| text(own.least))));
        let cycles = |column| yes_or_no(sequence(column).is_some_and(|own| own.cycle));
        self.text("identity_cycle", columns.clone().map(cycles));
        let is_stored = |column| matches!(of(column), Some(Generation::Stored(_)));
        let generated = |column| Some(if is_stored(column) { "ALWAYS" } else { "NEVER" }.into());
        self.text("is_generated", columns.clone().map(generated));
        let expression = |column| match of(column) {
            Some(Generation::Stored(text)) => Some(text.as_str().into()),
            _ => None,
        };
        self.text("generation_expression", columns.map(expression));
    }

    /// The names that a row about a table begins with.
    fn table<'a>(&mut self, names: impl Iterator<Item = &'a TableName> + Clone) {
        self.text("table_catalog", names.clone().map(|_| Some(CATALOG.into())));
        self.text("table_schema", names.clone().map(|name| Some(name.schema.as_str().into())));
        self.text("table_name", names.map(|name| Some(name.table.as_str().into())));
    }

    /// The names that a row about a constraint begins with.
    fn constraint<'a>(&mut self, names: impl Iterator<Item = (&'a TableName, &'a str)> + Clone) {
        self.text("constraint_catalog", names.clone().map(|_| Some(CATALOG.into())));
        self.text("constraint_schema", names.clone().map(|(table, _)| Some(table.schema.as_str().into())));
        self.text("constraint_name", names.clone().map(|(_, constraint)| Some(constraint.into())));
        self.table(names.map(|(table, _)| table));
    }
}

#[async_trait]
impl SchemaProvider for InformationSchema {
    fn table_names(&self) -> Vec<String> {
        THEIRS.iter().chain(&OURS).map(ToString::to_string).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let batch = match name {
            "columns" => self.columns().await?,
            "views" => self.view_rows()?,
            "table_constraints" => self.constraints()?,
            "key_column_usage" => self.key_columns()?,
            "routines" => self.routines()?,
            "sequences" => self.sequences()?,
            name if THEIRS.contains(&name) => return self.theirs.table(name).await,
            _ => return Ok(None),
        };
        Ok(Some(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?)))
    }

    fn table_exist(&self, name: &str) -> bool {
        THEIRS.iter().chain(&OURS).any(|table| *table == name)
    }
}

impl Visible {
    /// Every table and view by the name that information_schema gives it; without views that do not work any more. In the place of a
    /// table that can't be read stands one with its columns.
    async fn providers(self: &Arc<Self>) -> Vec<(TableName, Arc<dyn TableProvider>)> {
        let catalog = self.catalog();
        let mut found = Vec::new();
        for shown in catalog.schema_names() {
            // Under bare names there are TEMP and external tables too.
            let looked_in = if shown == DEFAULT_SCHEMA { BARE_NAMES } else { &shown };
            let Some(schema) = catalog.schema(looked_in).filter(|_| shown != NAME) else { continue };
            for table in schema.table_names() {
                let name = TableName { schema: shown.clone(), table };
                match schema.table(&name.table).await {
                    Ok(Some(provider)) => found.push((name, provider)),
                    Ok(None) => {}
                    Err(_) => {
                        let damaged = self.snapshots().into_iter().find_map(|snapshot| snapshot.damaged.get(&name));
                        if let Some(table) = damaged {
                            found.push((name, Arc::new(EmptyTable::new(table.definition.arrow_schema()))));
                        }
                    }
                }
            }
        }
        found
    }
}

fn column_name(table: &TableDefinition, id: ColumnId) -> Option<&str> {
    table.column_by_id(id).map(|column| column.name.as_str())
}

fn characters(logical_type: &LogicalType) -> Option<u64> {
    logical_type.character_limit().map(u64::from)
}

/// Digits of a number, in the base that [`radix`] gives.
fn precision(logical_type: &LogicalType) -> Option<u64> {
    match logical_type {
        LogicalType::Int(bits) | LogicalType::UInt(bits) => Some((*bits).into()),
        LogicalType::Decimal { precision, .. } => Some((*precision).into()),
        LogicalType::Float32 => Some(24),
        LogicalType::Float64 => Some(53),
        _ => None,
    }
}

fn radix(logical_type: &LogicalType) -> Option<u64> {
    let decimal = matches!(logical_type, LogicalType::Decimal { .. });
    precision(logical_type).map(|_| if decimal { 10 } else { 2 })
}

fn scale(logical_type: &LogicalType) -> Option<u64> {
    match logical_type {
        LogicalType::Int(_) | LogicalType::UInt(_) => Some(0),
        LogicalType::Decimal { scale, .. } => u64::try_from(*scale).ok(),
        _ => None,
    }
}

/// Digits behind the second.
fn fraction(logical_type: &LogicalType) -> Option<u64> {
    match logical_type {
        LogicalType::Date => Some(0),
        LogicalType::Time(unit) | LogicalType::Timestamp(unit, _) => Some(match unit {
            Unit::Second => 0,
            Unit::Millisecond => 3,
            Unit::Microsecond => 6,
            Unit::Nanosecond => 9,
        }),
        _ => None,
    }
}
