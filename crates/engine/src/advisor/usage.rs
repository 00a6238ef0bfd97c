//! The demands of a statement on tables: the columns that it reads, the conditions on them and how much these leave, and what it
//! writes. Taken from its optimised plan, in which conditions lie with the scans that evaluate them.

use crate::advisor::comparison::{Comparison, comparison};
use crate::table::GinghamTable;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, TableScan, Volatility};
use gingham_storage::{ColumnId, TableName};
use std::collections::{BTreeMap, BTreeSet};

/// The demands of one statement.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// assert_eq!((uses[0].1.tables.len(), uses[0].1.volatile), (1, false));
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct StatementUse {
    /// Scans, in the plan's order; a table that is read twice is there twice.
    pub tables: Vec<TableUse>,
    /// Its write, when it writes.
    pub write: Option<WriteUse>,
    /// Its answer is another one each time: it asks for the time, or for random numbers.
    pub volatile: bool,
    /// How far two answers of it have to be the same.
    pub comparison: Comparison,
}

/// One scan of a table.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// assert_eq!(uses[0].1.tables[0].rows, 100.0);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TableUse {
    /// The table.
    pub table: TableName,
    /// Columns whose values are needed behind the scan.
    pub columns: Vec<ColumnId>,
    /// Conditions that the scan evaluates, one for each column that they name.
    pub filters: Vec<FilterUse>,
    /// Records that fulfil all conditions, about.
    pub rows: f64,
}

/// A condition on a column.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// assert_eq!(uses[0].1.tables[0].filters[0].share, 0.1);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterUse {
    /// The column.
    pub column: ColumnId,
    /// How it is compared.
    pub kind: FilterKind,
    /// The share of records that fulfil the condition, about.
    pub share: f64,
}

/// How a column is compared.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// assert_eq!(uses[0].1.tables[0].filters[0].kind, FilterKind::Equal);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterKind {
    /// With one value.
    Equal,
    /// With bounds.
    Range,
    /// In another way: lists, LIKE, functions.
    Other,
}

/// A write.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// let write = Workload::parse("DELETE FROM t WHERE b = 3", "w.sql")?;
/// let uses = connection.workload_use(&write.statements[0], "w.sql")?;
/// assert_eq!(uses.write.expect("a write").rows, 100.0);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WriteUse {
    /// The table.
    pub table: TableName,
    /// The kind of write.
    pub kind: WriteKind,
    /// Records that it writes, about.
    pub rows: f64,
}

/// The kinds of writes.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// let write = Workload::parse("DELETE FROM t WHERE b = 3", "w.sql")?;
/// let uses = connection.workload_use(&write.statements[0], "w.sql")?;
/// assert_eq!(uses.write.expect("a write").kind, WriteKind::Delete);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteKind {
    /// New records.
    Insert,
    /// New values of these columns.
    Update(Vec<ColumnId>),
    /// Records go.
    Delete,
}

/// What a query asks of the database's tables: its plan as it was bound tells what its answer depends on, since now() is a constant
/// afterwards, and the optimised one has each condition with its scan.
pub(crate) fn table_uses(
    bound: &LogicalPlan,
    optimized: &LogicalPlan,
    options: &ConfigOptions,
) -> Result<StatementUse> {
    let mut uses = StatementUse { comparison: comparison(bound)?, ..StatementUse::default() };
    bound
        .apply_with_subqueries(|node| node.apply_expressions(|expression| expression.apply(|part| uses.note(part))))?;
    optimized.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            uses.tables.extend(of_scan(scan, options)?);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(uses)
}

impl StatementUse {
    /// Notes what a part of an expression makes the answer depend on.
    fn note(&mut self, part: &Expr) -> Result<TreeNodeRecursion> {
        if let Expr::ScalarFunction(call) = part {
            self.volatile |= call.func.signature().volatility != Volatility::Immutable;
        }
        Ok(TreeNodeRecursion::Continue)
    }
}

/// One scan; `None` when it is not of a table of ours.
fn of_scan(scan: &TableScan, options: &ConfigOptions) -> Result<Option<TableUse>> {
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = provider.downcast_ref::<GinghamTable>() else { return Ok(None) };
    let shown = table.shown_columns();
    let columns = match &scan.projection {
        Some(places) => places.iter().filter_map(|place| shown.get(*place).map(|(_, id)| *id)).collect(),
        None => shown.iter().map(|(_, id)| *id).collect(),
    };
    let id_of = |name: &str| shown.iter().find(|(shown, _)| *shown == name).map(|(_, id)| *id);
    let all = table.rows().max(1) as f64;
    // Bounds on one column are one condition: each alone may leave much, and both hardly anything.
    let mut by_column: BTreeMap<ColumnId, Vec<&Expr>> = BTreeMap::new();
    for filter in &scan.filters {
        let names: BTreeSet<&str> = filter.column_refs().into_iter().map(|column| column.name.as_str()).collect();
        for column in names.into_iter().filter_map(id_of) {
            by_column.entry(column).or_default().push(filter);
        }
    }
    let condition = |(column, own): (ColumnId, Vec<&Expr>)| {
        let filters: Vec<Expr> = own.iter().map(|filter| (*filter).clone()).collect();
        let share = (table.rows_of(&filters, options) / all).clamp(0.0, 1.0);
        let kinds = own.into_iter().map(kind_of);
        let kind = kinds.min_by_key(|kind| match kind {
            FilterKind::Equal => 0,
            FilterKind::Range => 1,
            FilterKind::Other => 2,
        });
        FilterUse { column, kind: kind.unwrap_or(FilterKind::Other), share }
    };
    let filters = by_column.into_iter().map(condition).collect();
    let rows = table.rows_of(&scan.filters, options).min(all);
    Ok(Some(TableUse { table: table.table.definition.name.clone(), columns, filters, rows }))
}

fn kind_of(filter: &Expr) -> FilterKind {
    match filter {
        Expr::BinaryExpr(comparison) => match comparison.op {
            Operator::Eq => FilterKind::Equal,
            Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => FilterKind::Range,
            _ => FilterKind::Other,
        },
        Expr::Between(_) => FilterKind::Range,
        _ => FilterKind::Other,
    }
}
