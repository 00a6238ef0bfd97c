//! A statement's query, from looking its tables up to its plan, and the names of its columns, which lie outside the plan.

use crate::Result;
use crate::arithmetic::IntegerColumns;
use crate::bind::binder::{Beside, Binder, Instead, QueryContext, TablesOf};
use crate::bind::fixed::FixedLengths;
use crate::bind::mentioned::Mentioned;
use crate::bind::names::TakenNames;
use crate::bind::tables::{Lookup, Tables};
use crate::bind::told::ToldTypes;
use crate::postgres::TYPE_KEY;
use crate::settings::Settings;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::execution::{SendableRecordBatchStream, SessionState};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::sqlparser::ast::Query;
use futures::StreamExt;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A query's plan, not yet optimised, and what its columns are called.
#[derive(Debug, Clone)]
pub(crate) struct BoundQuery {
    pub(crate) plan: LogicalPlan,
    pub(crate) columns: OutputColumns,
    /// The tables beside the first one of FROM, for statements that change records.
    pub(crate) beside: Vec<Beside>,
}

impl BoundQuery {
    /// The plan with columns of the names that the user knows, which must be different.
    pub(crate) fn with_names(self) -> Result<LogicalPlan> {
        let columns = self.plan.schema().columns().into_iter().zip(&self.columns.names);
        let columns: Vec<Expr> = columns
            .map(|(column, name)| {
                if column.name == *name && column.relation.is_none() {
                    Expr::Column(column)
                } else {
                    Expr::Column(column).alias(name)
                }
            })
            .collect();
        Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(self.plan))?))
    }
}

/// Binds a statement's query. `instead` stands for the first tables of its FROM, which the statement `verb` changes.
pub(crate) async fn bind(
    state: &SessionState,
    query: &mut Query,
    lookup: Arc<dyn Lookup>,
    instead: Vec<Instead>,
    verb: &'static str,
) -> Result<BoundQuery> {
    let tables = Tables::of(query, lookup).await?;
    let (mut binder, place) = begun(state, query, tables, instead, verb)?;
    let bound = binder.query(query, &place)?;
    let told = bound.columns.iter().map(|own| binder.told.of_column(&own.column)).collect();
    let names = bound.columns.into_iter().map(|own| own.name).collect();
    Ok(BoundQuery { plan: bound.plan, columns: OutputColumns { names, told }, beside: binder.beside })
}

/// A binder of `query`, and the place where that stands.
pub(super) fn begun<'a>(
    state: &'a SessionState,
    query: &mut Query,
    tables: Tables,
    instead: Vec<Instead>,
    verb: &'static str,
) -> Result<(Binder<'a>, QueryContext)> {
    let mentioned = Rc::new(Mentioned::of(query)?);
    let binder = Binder {
        state,
        names: TakenNames::default(),
        mentioned,
        samples: HashMap::new(),
        beside: Vec::new(),
        calls: Vec::new(),
        with_named: 0,
        column_names: Settings::of(state.config_options()).column_names,
        fixed: FixedLengths::default(),
        integers: IntegerColumns::default(),
        told: ToldTypes::default(),
    };
    let place = QueryContext {
        tables: TablesOf::Statement(Rc::new(tables)),
        outer: None,
        with: None,
        is_top: true,
        instead: Rc::from(instead),
        verb,
    };
    Ok((binder, place))
}

/// What the columns of a result are called, as they were written, and perhaps several alike; and what clients are told besides.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutputColumns {
    pub(crate) names: Vec<String>,
    /// The number of the type of PostgreSQL that a column has for clients, where it is not that of its values.
    told: Vec<Option<i64>>,
}

impl OutputColumns {
    /// Columns of these names.
    pub(crate) fn called(names: Vec<String>) -> Self {
        Self { told: vec![None; names.len()], names }
    }

    /// A schema under these names, where there is one for each of its columns.
    pub(crate) fn rename(&self, schema: &Schema) -> Schema {
        if self.names.len() != schema.fields().len() {
            return schema.clone();
        }
        let own = |(field, (name, told)): (&Arc<Field>, (&String, &Option<i64>))| {
            let told = told.map(|oid| oid.to_string());
            let is_told = told.is_none() || field.metadata().get(TYPE_KEY) == told.as_ref();
            if field.name() == name && is_told {
                return Arc::clone(field);
            }
            let mut metadata = field.metadata().clone();
            metadata.extend(told.map(|oid| (TYPE_KEY.to_owned(), oid)));
            Arc::new(field.as_ref().clone().with_name(name).with_metadata(metadata))
        };
        let columns = self.names.iter().zip(&self.told);
        let fields: Vec<Arc<Field>> = schema.fields().iter().zip(columns).map(own).collect();
        Schema::new_with_metadata(fields, schema.metadata().clone())
    }

    /// Rows under these names.
    pub(crate) fn give(&self, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
        give_as(&Arc::new(self.rename(&rows.schema())), rows)
    }
}

/// Rows with the names of `schema`.
pub(crate) fn give_as(schema: &SchemaRef, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
    if *schema == rows.schema() {
        return rows;
    }
    let renamed = Arc::clone(schema);
    let batches = rows.map(move |batch| {
        let batch = batch?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&renamed), batch.columns().to_vec(), &options)?)
    });
    Box::pin(RecordBatchStreamAdapter::new(Arc::clone(schema), batches))
}
