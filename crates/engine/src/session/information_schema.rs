//! information_schema: views, columns and constraints from the catalog's own definitions, since DataFusion's tables of
//! these names know neither types as SQL writes them nor defaults, keys and queries. The others are DataFusion's.

use super::catalog::Visible;
use crate::session::state::{BARE_NAMES, CATALOG};
use arrow::array::{ArrayRef, RecordBatch, StringViewArray, UInt64Array};
use async_trait::async_trait;
use datafusion::catalog::information_schema::InformationSchemaProvider;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, MemTable, SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::TableType;
use gingham_storage::catalog::ViewDefinition;
use gingham_storage::{ColumnId, DEFAULT_SCHEMA, LogicalType, TableDefinition, TableName, Unit};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The schema's name.
pub(super) const NAME: &str = "information_schema";
/// DataFusion's tables that are given as they are.
const THEIRS: [&str; 5] = ["tables", "schemata", "df_settings", "routines", "parameters"];
const OURS: [&str; 4] = ["columns", "views", "table_constraints", "key_column_usage"];

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
        let tables = snapshots.flat_map(|snapshot| snapshot.tables.iter());
        tables.map(|(name, table)| (name, table.definition.as_ref())).collect()
    }

    fn views(&self) -> BTreeMap<&TableName, &ViewDefinition> {
        let snapshots = self.visible.snapshots().into_iter().rev();
        snapshots.flat_map(|snapshot| snapshot.views.iter()).map(|(name, view)| (name, view.as_ref())).collect()
    }

    async fn columns(&self) -> Result<RecordBatch> {
        let tables = self.tables();
        let mut rows = Rows::default();
        for (name, provider) in self.visible.providers().await {
            let definition = tables.get(&name).filter(|_| provider.table_type() == TableType::Base);
            for (position, field) in provider.schema().fields().iter().enumerate() {
                let kept = definition.and_then(|table| table.column(field.name()));
                let known = match kept {
                    Some(column) => Some(column.logical_type.clone()),
                    None => LogicalType::from_arrow(field.name(), field.data_type()).ok(),
                };
                let data_type = known.as_ref().map_or_else(|| field.data_type().to_string(), ToString::to_string);
                rows.table(&name);
                rows.text("column_name", Some(field.name()));
                rows.number("ordinal_position", Some(position as u64 + 1));
                rows.text("column_default", kept.and_then(|column| column.default.as_deref()));
                rows.text("is_nullable", Some(if field.is_nullable() { "YES" } else { "NO" }));
                rows.text("data_type", Some(&data_type));
                rows.number("character_maximum_length", known.as_ref().and_then(characters));
                rows.number("numeric_precision", known.as_ref().and_then(precision));
                rows.number("numeric_precision_radix", known.as_ref().and_then(radix));
                rows.number("numeric_scale", known.as_ref().and_then(scale));
                rows.number("datetime_precision", known.as_ref().and_then(fraction));
            }
        }
        rows.batch(&COLUMNS)
    }

    fn view_rows(&self) -> Result<RecordBatch> {
        let mut rows = Rows::default();
        for (name, view) in self.views() {
            rows.table(name);
            rows.text("view_definition", Some(&view.query));
            rows.text("check_option", Some("NONE"));
            rows.text("is_updatable", Some("NO"));
        }
        rows.batch(&VIEWS)
    }

    fn constraints(&self) -> Result<RecordBatch> {
        let mut rows = Rows::default();
        for (name, table) in self.tables() {
            let keys = table.keys.iter().map(|key| (&key.name, if key.primary { "PRIMARY KEY" } else { "UNIQUE" }));
            let references = table.references.iter().map(|reference| (&reference.name, "FOREIGN KEY"));
            let checks = table.checks.iter().map(|check| (&check.name, "CHECK"));
            for (constraint, kind) in keys.chain(references).chain(checks) {
                rows.constraint(name, constraint);
                rows.text("constraint_type", Some(kind));
            }
        }
        rows.batch(&CONSTRAINTS)
    }

    fn key_columns(&self) -> Result<RecordBatch> {
        let mut rows = Rows::default();
        for (name, table) in self.tables() {
            let keys = table.keys.iter().map(|key| (&key.name, &key.columns, false));
            let references = table.references.iter().map(|reference| (&reference.name, &reference.columns, true));
            for (constraint, columns, refers) in keys.chain(references) {
                for (position, column) in (1..).zip(columns) {
                    rows.constraint(name, constraint);
                    rows.text("column_name", column_name(table, *column));
                    rows.number("ordinal_position", Some(position));
                    rows.number("position_in_unique_constraint", refers.then_some(position));
                }
            }
        }
        rows.batch(&KEY_COLUMNS)
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
    /// Every table and view by the name that information_schema gives it; without views that do not work any more.
    async fn providers(self: &Arc<Self>) -> Vec<(TableName, Arc<dyn TableProvider>)> {
        let catalog = self.catalog();
        let mut found = Vec::new();
        for shown in catalog.schema_names() {
            // Under bare names there are TEMP and external tables too.
            let looked_in = if shown == DEFAULT_SCHEMA { BARE_NAMES } else { &shown };
            let Some(schema) = catalog.schema(looked_in).filter(|_| shown != NAME) else { continue };
            for table in schema.table_names() {
                if let Ok(Some(provider)) = schema.table(&table).await {
                    found.push((TableName { schema: shown.clone(), table }, provider));
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
    match logical_type {
        LogicalType::Char(length) | LogicalType::Varchar(Some(length)) => Some((*length).into()),
        _ => None,
    }
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

/// A column of one of the tables: its name, and whether it is a number.
type Heading = (&'static str, bool);

const COLUMNS: [Heading; 13] = [
    ("table_catalog", false),
    ("table_schema", false),
    ("table_name", false),
    ("column_name", false),
    ("ordinal_position", true),
    ("column_default", false),
    ("is_nullable", false),
    ("data_type", false),
    ("character_maximum_length", true),
    ("numeric_precision", true),
    ("numeric_precision_radix", true),
    ("numeric_scale", true),
    ("datetime_precision", true),
];
const VIEWS: [Heading; 6] = [
    ("table_catalog", false),
    ("table_schema", false),
    ("table_name", false),
    ("view_definition", false),
    ("check_option", false),
    ("is_updatable", false),
];
const CONSTRAINTS: [Heading; 7] = [
    ("constraint_catalog", false),
    ("constraint_schema", false),
    ("constraint_name", false),
    ("table_catalog", false),
    ("table_schema", false),
    ("table_name", false),
    ("constraint_type", false),
];
const KEY_COLUMNS: [Heading; 9] = [
    ("constraint_catalog", false),
    ("constraint_schema", false),
    ("constraint_name", false),
    ("table_catalog", false),
    ("table_schema", false),
    ("table_name", false),
    ("column_name", false),
    ("ordinal_position", true),
    ("position_in_unique_constraint", true),
];

/// The rows of a table, column by column.
#[derive(Default)]
struct Rows {
    texts: BTreeMap<&'static str, Vec<Option<String>>>,
    numbers: BTreeMap<&'static str, Vec<Option<u64>>>,
}

impl Rows {
    fn text(&mut self, column: &'static str, value: Option<&str>) {
        self.texts.entry(column).or_default().push(value.map(str::to_owned));
    }

    fn number(&mut self, column: &'static str, value: Option<u64>) {
        self.numbers.entry(column).or_default().push(value);
    }

    /// The names that a row about a table begins with.
    fn table(&mut self, name: &TableName) {
        self.text("table_catalog", Some(CATALOG));
        self.text("table_schema", Some(&name.schema));
        self.text("table_name", Some(&name.table));
    }

    /// The names that a row about a constraint begins with.
    fn constraint(&mut self, table: &TableName, constraint: &str) {
        self.text("constraint_catalog", Some(CATALOG));
        self.text("constraint_schema", Some(&table.schema));
        self.text("constraint_name", Some(constraint));
        self.table(table);
    }

    fn batch(mut self, headings: &[Heading]) -> Result<RecordBatch> {
        let columns = headings.iter().map(|(name, is_number)| {
            let column: ArrayRef = if *is_number {
                Arc::new(self.numbers.remove(name).unwrap_or_default().into_iter().collect::<UInt64Array>())
            } else {
                Arc::new(self.texts.remove(name).unwrap_or_default().into_iter().collect::<StringViewArray>())
            };
            (*name, column, true)
        });
        Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
    }
}
