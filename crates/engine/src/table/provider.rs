//! A table of a snapshot as a DataFusion table.

use crate::settings::Settings;
use crate::table::filter::{all_of, predicate};
use crate::table::join_keys::can_be_gathered;
use crate::table::scan_exec::ScanExec;
use crate::table::statistics::{selectivity, statistics};
use crate::{Error, Result};
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Constraint, Constraints, Statistics};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr_rewriter::unnormalize_cols;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use gingham_kernels::Isa;
use gingham_storage::scan::{TableScan, integer_bounds};
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{ColumnId, Datum, Predicate, TableDefinition, TableId, ValueClass};
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A table of a snapshot.
#[derive(Debug)]
pub(crate) struct GinghamTable {
    /// The table's state.
    pub(crate) table: Arc<TableSnapshot>,
    /// Positions of the columns that are shown.
    shown: Vec<usize>,
    /// The columns that are shown under other names than the table's: these names, and the positions of the columns.
    renamed: HashMap<String, usize>,
    schema: SchemaRef,
    constraints: Constraints,
    samples: Samples,
}

/// Whether a scan reads a table of the database, whose values are kept in one form.
pub(crate) fn is_stored(scan: &datafusion::logical_expr::TableScan) -> bool {
    datafusion::datasource::source_as_provider(&scan.source)
        .is_ok_and(|provider| provider.downcast_ref::<GinghamTable>().is_some())
}

/// What the order of joins was chosen by, for the scan that follows and for when it is asked again. All places of a
/// statement that name a table share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Arc<Mutex<Vec<PreparedScan>>>);

/// What is known of the values of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValuesOf {
    /// Distinct ones, about.
    pub(crate) distinct: f64,
    /// Records of the table.
    pub(crate) records: f64,
    /// A scan can look for a join's keys among them.
    pub(crate) gathered: bool,
    /// The table's number and the column's.
    pub(crate) column: (TableId, ColumnId),
    /// The column that it REFERENCES.
    pub(crate) refers_to: Option<(TableId, ColumnId)>,
    /// Where its integers lie, when it has such.
    pub(crate) range: Option<(i64, i64)>,
}

/// A scan by some filters, and the records that it will give, about.
#[derive(Debug)]
struct PreparedScan {
    filters: Vec<Expr>,
    scan: Arc<TableScan>,
    rows: f64,
}

impl GinghamTable {
    /// The table as DataFusion sees it.
    pub(crate) fn new(table: Arc<TableSnapshot>) -> Result<Self> {
        Self::showing(table, |_| true, str::to_owned, Samples::default())
    }

    /// The table with those of its columns whose names are `wanted`, and one in any case, each under the name that `named`
    /// gives it.
    pub(crate) fn showing(
        table: Arc<TableSnapshot>,
        wanted: impl Fn(&str) -> bool,
        mut named: impl FnMut(&str) -> String,
        samples: Samples,
    ) -> Result<Self> {
        let columns = &table.definition.columns;
        let mut shown: Vec<usize> = (0..columns.len()).filter(|position| wanted(&columns[*position].name)).collect();
        if shown.is_empty() {
            shown.extend((!columns.is_empty()).then_some(0));
        }
        let mut schema = table.definition.arrow_schema();
        let mut constraints = constraints(&table.definition)?;
        if shown.len() < columns.len() {
            schema = Arc::new(schema.project(&shown)?);
            constraints = constraints.project(&shown).unwrap_or_default();
        }
        let (mut renamed, mut fields) = (HashMap::new(), schema.fields().to_vec());
        for (field, position) in fields.iter_mut().zip(&shown) {
            let name = named(field.name());
            if name != *field.name() {
                *field = Arc::new(field.as_ref().clone().with_name(&name));
                renamed.insert(name, *position);
            }
        }
        if !renamed.is_empty() {
            schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        }
        Ok(Self { table, shown, renamed, schema, constraints, samples })
    }

    /// The table as it is, without its keys.
    pub(crate) fn without_keys(&self) -> Self {
        Self {
            table: Arc::clone(&self.table),
            shown: self.shown.clone(),
            renamed: self.renamed.clone(),
            schema: Arc::clone(&self.schema),
            constraints: Constraints::default(),
            samples: self.samples.clone(),
        }
    }

    /// The table's own names of the columns that are shown.
    pub(crate) fn own_names(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(|position| self.table.definition.columns[*position].name.as_str())
    }

    /// The columns that are shown: the names that they have here, and their numbers.
    pub(crate) fn shown_columns(&self) -> Vec<(&str, ColumnId)> {
        self.schema.fields().iter().map(|field| field.name().as_str()).zip(self.columns()).collect()
    }

    /// Filters with the table's own names of columns.
    fn own(&self, filters: &[Expr]) -> Vec<Expr> {
        let unqualified = unnormalize_cols(filters.iter().cloned());
        if self.renamed.is_empty() {
            return unqualified;
        }
        let own = |part: Expr| {
            Ok(match part {
                Expr::Column(column) => match self.renamed.get(&column.name) {
                    Some(position) => {
                        let name = &self.table.definition.columns[*position].name;
                        Transformed::yes(Expr::Column(Column::new_unqualified(name)))
                    }
                    None => Transformed::no(Expr::Column(column)),
                },
                other => Transformed::no(other),
            })
        };
        // Nothing in `own` fails.
        unqualified.into_iter().map(|filter| filter.clone().transform(own).map_or(filter, |own| own.data)).collect()
    }

    /// Records of the table.
    pub(crate) fn rows(&self) -> u64 {
        self.table.rows()
    }

    /// Records that fulfil all of `filters`, about: from a look at a few zones.
    pub(crate) fn rows_of(&self, filters: &[Expr], options: &ConfigOptions) -> f64 {
        if filters.is_empty() {
            return self.rows() as f64;
        }
        let filters = self.own(filters);
        let mut prepared = self.prepared();
        if let Some(known) = prepared.iter().find(|known| known.filters == filters) {
            return known.rows;
        }
        let Some(by) = self.predicate(&filters) else { return self.rows() as f64 };
        match self.sampled(by, options) {
            (rows, Some(scan)) => {
                prepared.push(PreparedScan { filters, scan: Arc::new(scan), rows });
                rows
            }
            (rows, None) => rows,
        }
    }

    /// Those of them whose integers in a column lie in this range, about.
    pub(crate) fn rows_within(
        &self,
        filters: &[Expr],
        column: ColumnId,
        (low, high): (i64, i64),
        options: &ConfigOptions,
    ) -> f64 {
        let bound = |value: i64| Bound::Included(Datum::Integer(value.into()));
        let range = Predicate::Range { column, low: bound(low), high: bound(high) };
        let filters = self.own(filters);
        match self.predicate(&filters) {
            Some(by) => self.sampled(all_of([by, range]), options).0,
            None => self.rows() as f64,
        }
    }

    fn predicate(&self, filters: &[Expr]) -> Option<Predicate> {
        let predicates = filters.iter().map(|filter| predicate(filter, &self.table.definition));
        Some(all_of(predicates.collect::<Option<Vec<_>>>()?))
    }

    /// Records under a predicate, from a look at a few zones, and the scan that looked.
    fn sampled(&self, by: Predicate, options: &ConfigOptions) -> (f64, Option<TableScan>) {
        let isa = Settings::of(options).effective_isa();
        let batch_rows = options.execution.batch_size.get();
        // What can't be read is for the statement itself to say.
        let scan = TableScan::new(Arc::clone(&self.table), Vec::new(), by.clone(), batch_rows, isa).ok();
        let sampled = scan.as_ref().and_then(|scan| scan.sampled_rows().ok());
        (sampled.unwrap_or_else(|| self.rows() as f64 * selectivity(&self.table, &by)), scan)
    }

    /// What is known of a column's values.
    pub(crate) fn values_of(&self, column: &str) -> Option<ValuesOf> {
        let definition = &self.table.definition;
        let column = match self.renamed.get(column) {
            Some(position) => &definition.columns[*position],
            None => definition.column(column)?,
        };
        let summary = self.table.summary(column.id)?;
        let is_key = definition.keys.iter().any(|key| key.columns == [column.id]);
        let distinct = if is_key { self.rows().saturating_sub(summary.nulls) } else { summary.distinct };
        let reference = definition.references.iter().find(|reference| reference.columns == [column.id]);
        Some(ValuesOf {
            distinct: distinct.max(1) as f64,
            records: self.rows() as f64,
            gathered: can_be_gathered(&column.logical_type.to_arrow()),
            column: (definition.id, column.id),
            refers_to: reference.and_then(|reference| Some((reference.table, *reference.referred.first()?))),
            range: integer_bounds(&self.table, column.id)
                .filter(|_| column.logical_type.class() == ValueClass::Integer),
        })
    }

    fn prepared(&self) -> MutexGuard<'_, Vec<PreparedScan>> {
        self.samples.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A scan by `filters`, the one that was looked at while the statement was planned if there is one.
    fn scan_by(
        &self,
        filters: &[Expr],
        predicate: Predicate,
        projection: Vec<ColumnId>,
        batch_rows: usize,
        isa: Isa,
    ) -> Result<TableScan> {
        let known = self.prepared().iter().find(|known| known.filters == filters).map(|known| Arc::clone(&known.scan));
        match known {
            Some(known) => Ok(known.projected(projection)?),
            None => Ok(TableScan::new(Arc::clone(&self.table), projection, predicate, batch_rows, isa)?),
        }
    }

    /// The columns that are shown.
    fn columns(&self) -> Vec<ColumnId> {
        let columns = &self.table.definition.columns;
        self.shown.iter().map(|position| columns[*position].id).collect()
    }
}

/// The keys of a table that tell its records apart, by positions of columns: of a UNIQUE column with NULLs several records
/// may have one.
fn constraints(definition: &TableDefinition) -> Result<Constraints> {
    let mut constraints = Vec::with_capacity(definition.keys.len());
    for key in &definition.keys {
        let position = |id: &ColumnId| definition.columns.iter().position(|column| column.id == *id);
        let columns: Option<Vec<usize>> = key.columns.iter().map(position).collect();
        let columns = columns.ok_or_else(|| {
            Error::Internal(format!("key '{}' of table '{}' names a column that is gone", key.name, definition.name))
        })?;
        let may_be_null = columns.iter().any(|position| definition.columns[*position].nullable);
        if key.primary {
            constraints.push(Constraint::PrimaryKey(columns));
        } else if !may_be_null {
            constraints.push(Constraint::Unique(columns));
        }
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
        let filters = self.own(filters);
        let mut predicates = Vec::with_capacity(filters.len());
        for filter in &filters {
            let translated = predicate(filter, &self.table.definition);
            predicates
                .push(translated.ok_or_else(|| Error::Internal(format!("filter {filter} is not one of a scan")))?);
        }
        let columns = self.columns();
        let schema = match projection {
            Some(positions) => Arc::new(self.schema.project(positions)?),
            None => Arc::clone(&self.schema),
        };
        let projection = match projection {
            Some(positions) => positions.iter().filter_map(|position| columns.get(*position).copied()).collect(),
            None => columns,
        };
        let settings = Settings::of(state.config_options());
        let (batch_rows, isa) = (state.config().batch_size(), settings.effective_isa());
        let predicate = all_of(predicates);
        let scan = self.scan_by(&filters, predicate.clone(), projection.clone(), batch_rows, isa)?;
        let scan = scan.with_reads(settings.read_options());
        let scan = if self.renamed.is_empty() { scan } else { scan.named(schema) };
        let scan = ScanExec::new(
            scan,
            Arc::clone(&self.table),
            projection,
            predicate,
            filters,
            isa,
            batch_rows,
            state.config().target_partitions(),
            limit,
        );
        Ok(Arc::new(scan))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        let filters: Vec<Expr> = filters.iter().map(|filter| (*filter).clone()).collect();
        let support = |filter: &Expr| match predicate(filter, &self.table.definition) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(self.own(&filters).iter().map(support).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(statistics(&self.table, &self.columns()))
    }
}
