//! UPDATE and DELETE, of tables in heap pages.
//!
//! What is to be changed is found by a query: `UPDATE t SET a = x WHERE c` reads `SELECT x FROM t WHERE c`, in whose plan the
//! table gives the ids of its records too. So conditions are those of every query, subqueries and all, and the records are
//! known before the first one is written. They are written in one transaction, unless somebody has changed the table since
//! it was read; then it is read anew.

use super::ingest::Converter;
use super::{Statement, fold, parse_single, point, unsupported, writable, write};
use crate::session::{Outcome, StatementContext, Target};
use crate::table::GinghamTable;
use crate::{Error, Result};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use datafusion::common::ParamValues;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, Projection, SubqueryAlias};
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr as SqlExpr, FromTable, Ident, ObjectName, SelectItem, SetExpr,
    Statement as Sql, TableFactor, TableWithJoins, Update,
};
use futures::StreamExt;
use gingham_storage::heap::RecordId;
use gingham_storage::{ColumnId, TableDefinition};
use std::any::Any;
use std::sync::Arc;

/// Records that are deleted before someone looks whether the statement is still wanted.
const TOGETHER: usize = 8192;

/// How often a statement reads its table anew because another one has changed it.
const ATTEMPTS: usize = 32;

/// What becomes of the records that a condition holds for.
struct Change {
    /// UPDATE or DELETE.
    verb: &'static str,
    /// The table's name, and the table as the condition knows it.
    table: ObjectName,
    from: TableWithJoins,
    /// UPDATE: columns and their new values; none for DELETE.
    assignments: Vec<(String, SqlExpr)>,
    condition: Option<SqlExpr>,
}

/// The records of a table that are to be changed.
struct Found {
    ids: Vec<RecordId>,
    /// UPDATE: the new values of `columns`, in the order of the ids.
    batches: Vec<RecordBatch>,
    columns: Vec<ColumnId>,
    /// Their bytes of the memory limit.
    _held: MemoryReservation,
}

/// Runs UPDATE.
pub(super) async fn update(
    context: &StatementContext,
    statement: Update,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let Update {
        update_token: _,
        optimizer_hints,
        table,
        assignments,
        from,
        selection: condition,
        returning,
        output,
        or,
        order_by,
        limit,
    } = statement;
    refuse(
        "UPDATE",
        &[
            (!optimizer_hints.is_empty(), "optimizer hints"),
            (from.is_some(), "FROM (use a subquery)"),
            (returning.is_some(), "RETURNING"),
            (output.is_some(), "OUTPUT"),
            (or.is_some(), "OR …"),
            (!order_by.is_empty(), "ORDER BY"),
            (limit.is_some(), "LIMIT"),
        ],
    )?;
    let name = plain_table("UPDATE", &table)?;
    let assignments = assignments.into_iter().map(assignment).collect::<Result<Vec<_>>>()?;
    run(context, Change { verb: "UPDATE", table: name, from: table, assignments, condition }, parameters).await
}

/// Runs DELETE.
pub(super) async fn delete(
    context: &StatementContext,
    statement: Delete,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let Delete {
        delete_token: _,
        optimizer_hints,
        tables,
        from,
        using,
        selection: condition,
        returning,
        output,
        order_by,
        limit,
    } = statement;
    let (FromTable::WithFromKeyword(mut from) | FromTable::WithoutKeyword(mut from)) = from;
    refuse(
        "DELETE",
        &[
            (!optimizer_hints.is_empty(), "optimizer hints"),
            (!tables.is_empty() || from.len() != 1, "several tables"),
            (using.is_some(), "USING (use a subquery)"),
            (returning.is_some(), "RETURNING"),
            (output.is_some(), "OUTPUT"),
            (!order_by.is_empty(), "ORDER BY"),
            (limit.is_some(), "LIMIT"),
        ],
    )?;
    let from = from.swap_remove(0);
    let name = plain_table("DELETE", &from)?;
    run(context, Change { verb: "DELETE", table: name, from, assignments: Vec::new(), condition }, parameters).await
}

fn refuse(verb: &str, clauses: &[(bool, &str)]) -> Result<()> {
    match clauses.iter().find(|(given, _)| *given) {
        Some((_, clause)) => Err(unsupported(format!("{verb} with {clause}"))),
        None => Ok(()),
    }
}

/// The name of the one table that a statement changes.
fn plain_table(verb: &str, table: &TableWithJoins) -> Result<ObjectName> {
    match &table.relation {
        TableFactor::Table { name, args: None, with_hints, version: None, partitions, sample: None, .. }
            if table.joins.is_empty() && with_hints.is_empty() && partitions.is_empty() =>
        {
            Ok(name.clone())
        }
        _ => Err(unsupported(format!("{verb} of anything but one table"))),
    }
}

/// Column and value of `a = x`.
fn assignment(assignment: Assignment) -> Result<(String, SqlExpr)> {
    let Assignment { target, value } = assignment;
    let ident = match &target {
        AssignmentTarget::ColumnName(name) => match name.0.as_slice() {
            [part] => part.as_ident(),
            _ => None,
        },
        AssignmentTarget::Tuple(_) => None,
    };
    match ident {
        Some(ident) => Ok((fold(ident), value)),
        None => Err(unsupported(format!("UPDATE … SET {target} = …, where the name of a column is expected,"))),
    }
}

async fn run(context: &StatementContext, change: Change, parameters: Option<ParamValues>) -> Result<Outcome> {
    let target = writable(context, &change.table, change.verb)?;
    let (from, condition) = (&change.from, change.condition.as_ref());
    let one = point::change(context, &target, from, &change.assignments, condition, parameters.as_ref()).await?;
    if let Some(records) = one {
        return Ok(Outcome::Affected(records));
    }
    // One after the other: none of them finds that another has changed what it read.
    let _turn = context.session.engine.changes.lock().await;
    context.cancel.check()?;
    for _ in 0..ATTEMPTS {
        let context = context.renewed()?;
        let target = writable(&context, &change.table, change.verb)?;
        let definition = &target.table.definition;
        if target.table.heap.is_none() {
            return Err(Error::Unsupported(format!(
                "{} is not supported yet for table '{}', whose layout is {}; it is for the layouts nsm, dsm and pax",
                change.verb,
                definition.name,
                definition.design.text(definition)
            )));
        }
        let found = find(&context, &target, &change, parameters.clone()).await?;
        if let Some(records) = apply(&context, &target, found).await? {
            return Ok(Outcome::Affected(records));
        }
    }
    Err(Error::InvalidInput(format!(
        "{} of table '{}' has read it {ATTEMPTS} times, and each time others changed it; try again",
        change.verb, change.table
    )))
}

/// Writes the changes; `None` when the table is not as it was read.
async fn apply(context: &StatementContext, target: &Target, found: Found) -> Result<Option<u64>> {
    let records = found.ids.len() as u64;
    if records == 0 {
        return Ok(Some(0));
    }
    let (table, version) = (target.table.definition.id, target.table.version);
    let cancel = context.cancel.clone();
    write(context, &target.store, move |transaction| {
        let now = transaction.base().table_by_id(table).map(|table| table.version);
        if now != Some(version) {
            return Ok(None);
        }
        if found.columns.is_empty() {
            transaction.require_unreferred(table, "deleted from")?;
        }
        transaction.heap(table, |heap| {
            if found.batches.is_empty() {
                for ids in found.ids.chunks(TOGETHER) {
                    if cancel.is_cancelled() {
                        return Err(gingham_storage::Error::Cancelled);
                    }
                    heap.delete_all(ids)?;
                }
                return Ok(());
            }
            let mut rest = &found.ids[..];
            for batch in &found.batches {
                if cancel.is_cancelled() {
                    return Err(gingham_storage::Error::Cancelled);
                }
                let (own, others) = rest.split_at(batch.num_rows());
                heap.update_all(own, &found.columns, batch)?;
                rest = others;
            }
            Ok(())
        })?;
        Ok(Some(records))
    })
    .await
}

/// Finds the records, and their new values as they are stored.
async fn find(
    context: &StatementContext,
    target: &Target,
    change: &Change,
    parameters: Option<ParamValues>,
) -> Result<Found> {
    let definition = &target.table.definition;
    let values = NewValues::new(context, definition, change)?;
    let plan = context.plan(DataFusionStatement::Statement(Box::new(query(change, &values)?)), parameters).await?;
    let plan = with_ids(plan, target, change.verb)?;
    values.accept(&plan)?;
    let mut stream = context.execute(context.physical_plan(&plan).await?)?;
    let held = MemoryConsumer::new(format!("records to {}", change.verb)).register(context.task().memory_pool());
    let mut found = Found { ids: Vec::new(), batches: Vec::new(), columns: values.columns.clone(), _held: held };
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        context.cancel.check()?;
        let (ids, new) = (batch.num_columns() - 1, values.convert(&batch)?);
        let ids = batch.column(ids).as_primitive::<Int64Type>();
        let bytes = new.as_ref().map_or(0, RecordBatch::get_array_memory_size) + size_of::<RecordId>() * ids.len();
        found._held.try_grow(bytes)?;
        found.ids.extend(ids.values().iter().map(|id| *id as RecordId));
        found.batches.extend(new.filter(|batch| batch.num_rows() > 0));
    }
    Ok(found)
}

/// The new values of an UPDATE: how they are read and what they must be.
struct NewValues {
    /// The columns that change.
    columns: Vec<ColumnId>,
    /// What the query gives: the names of columns, and their new values or themselves.
    read: Vec<(String, SqlExpr)>,
    converter: Converter,
    /// Of what is read, the places of the columns that change.
    changed: Vec<usize>,
}

impl NewValues {
    fn new(context: &StatementContext, definition: &TableDefinition, change: &Change) -> Result<Self> {
        let names: Vec<String> = change.assignments.iter().map(|(name, _)| name.clone()).collect();
        super::insert::check_columns(definition, &names)?;
        refuse_keys(definition, &names)?;
        // A CHECK may look at every column.
        let all = !definition.checks.is_empty() && !names.is_empty();
        let mut own = definition.clone();
        own.columns.retain(|column| all || names.contains(&column.name));
        if !all {
            own.checks.clear();
        }
        let value = |name: &str| {
            let given = change.assignments.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            given.unwrap_or_else(|| SqlExpr::Identifier(Ident::with_quote('"', name)))
        };
        let read = own.columns.iter().map(|column| (column.name.clone(), value(&column.name))).collect();
        let changed: Vec<usize> = (0..own.columns.len()).filter(|at| names.contains(&own.columns[*at].name)).collect();
        let columns = changed.iter().map(|at| own.columns[*at].id).collect();
        Ok(Self { columns, read, converter: Converter::new(&context.state, &own, None)?, changed })
    }

    /// Refuses values whose types don't convert.
    fn accept(&self, plan: &LogicalPlan) -> Result<()> {
        if self.read.is_empty() {
            return Ok(());
        }
        let places: Vec<usize> = (0..self.read.len()).collect();
        self.converter.accept(&plan.schema().as_arrow().project(&places)?)
    }

    /// The values that change, of rows that the query gave; `None` for DELETE.
    fn convert(&self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        if self.read.is_empty() {
            return Ok(None);
        }
        let places: Vec<usize> = (0..self.read.len()).collect();
        let converted = self.converter.convert(&batch.project(&places)?)?;
        Ok(Some(converted.project(&self.changed)?))
    }
}

/// Refuses new values of columns that keys or references name: nobody would look whether they still hold.
fn refuse_keys(definition: &TableDefinition, names: &[String]) -> Result<()> {
    let keys = definition.keys.iter().map(|key| (&key.name, &key.columns));
    let references = definition.references.iter().map(|reference| (&reference.name, &reference.columns));
    for (constraint, columns) in keys.chain(references) {
        let mut columns = columns.iter().filter_map(|column| definition.column_by_id(*column));
        if let Some(column) = columns.find(|column| names.contains(&column.name)) {
            return Err(Error::Unsupported(format!(
                "UPDATE of column '{}' is not supported yet: constraint '{constraint}' is on it; DELETE and INSERT do it",
                column.name
            )));
        }
    }
    Ok(())
}

/// `SELECT x AS a, … FROM t WHERE c`.
fn query(change: &Change, values: &NewValues) -> Result<Sql> {
    let Statement::Sql(statement) = parse_single("SELECT 1")? else {
        return Err(Error::Internal("SELECT 1 is a query".into()));
    };
    let DataFusionStatement::Statement(mut statement) = *statement else {
        return Err(Error::Internal("SELECT 1 is a query".into()));
    };
    if let Sql::Query(query) = &mut *statement {
        let SetExpr::Select(select) = &mut *query.body else {
            return Err(Error::Internal("SELECT 1 is a query".into()));
        };
        if !values.read.is_empty() {
            let item = |(name, expr): &(String, SqlExpr)| SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::with_quote('"', name),
            };
            select.projection = values.read.iter().map(item).collect();
        }
        select.from = vec![change.from.clone()];
        select.selection = change.condition.clone();
        super::query::refuse_ignored(query)?;
    }
    Ok(*statement)
}

/// The plan of such a query, in which the table gives the ids of its records behind its columns, and the query behind its
/// own. Of a DELETE only the ids are left.
fn with_ids(plan: LogicalPlan, target: &Target, verb: &str) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = plan else {
        return Err(unsupported(format!("{verb} with aggregates or window functions")));
    };
    let mut name = "record id".to_owned();
    while target.table.definition.column(&name).is_some() {
        name.push('_');
    }
    let table = GinghamTable::new(Arc::new(target.table.with_record_ids(name)))?;
    let input = below(Arc::unwrap_or_clone(input), &Arc::new(table), verb)?;
    let id = input.schema().columns().pop().map(Expr::Column);
    let expr = expr.into_iter().chain(id).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(expr, Arc::new(input))?))
}

/// The same without the projection on top.
fn below(plan: LogicalPlan, table: &Arc<GinghamTable>, verb: &str) -> Result<LogicalPlan> {
    Ok(match plan {
        LogicalPlan::Filter(filter) => {
            let input = below(Arc::unwrap_or_clone(filter.input), table, verb)?;
            LogicalPlan::Filter(Filter::try_new(filter.predicate, Arc::new(input))?)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = below(Arc::unwrap_or_clone(alias.input), table, verb)?;
            LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input), alias.alias)?)
        }
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source)?;
            let found = (&*provider as &dyn Any).downcast_ref::<GinghamTable>();
            if found.is_none_or(|found| found.table.definition.id != table.table.definition.id) {
                return Err(unsupported(format!(
                    "{verb} of '{}', which is also the name of an external table",
                    scan.table_name
                )));
            }
            let source = provider_as_source(Arc::clone(table) as _);
            LogicalPlan::TableScan(TableScanBuilder::new(scan.table_name, source).build()?)
        }
        _ => return Err(unsupported(format!("{verb} with aggregates or window functions"))),
    })
}
