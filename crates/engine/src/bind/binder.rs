//! The state of binding one statement, and the place in it where a query stands.

use crate::Result;
use crate::arithmetic::IntegerColumns;
use crate::bind::fixed::FixedLengths;
use crate::bind::mentioned::Mentioned;
use crate::bind::names::TakenNames;
use crate::bind::outer::OuterCall;
use crate::bind::scope::{FromRelation, Level, Named};
use crate::bind::tables::Tables;
use crate::bind::told::ToldTypes;
use crate::settings::ColumnNames;
use crate::shared::SharedRows;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, DFSchema};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, Projection, TryCast};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::sqlparser::ast::Query;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// What is put in the place of the first tables of a statement's FROM, for statements that change records.
#[derive(Debug, Clone)]
pub(crate) enum Instead {
    /// A state of the table that has its records' ids as a column.
    Table(Arc<gingham_storage::snapshot::TableSnapshot>),
    /// Rows that no table has yet.
    Rows(Arc<dyn TableProvider>),
    /// Rows of the first table with the columns of others behind its own.
    Joined(Arc<dyn TableProvider>, Vec<Beside>),
    /// Rows of MERGE's target with the columns of its source behind their own; a `*` means those of the source first.
    Merged(Arc<dyn TableProvider>, Vec<Beside>),
}

/// What MERGE's RETURNING calls, among the tables, what was done with each row; `*` does not mean it.
pub(crate) const MERGE_ACTION: (&str, &str) = ("merge action", "merge_action");

/// A table beside the first one of a statement's FROM.
#[derive(Debug, Clone)]
pub(crate) struct Beside {
    pub(super) relation: FromRelation,
    pub(super) fields: Vec<FieldRef>,
}

impl Beside {
    /// What MERGE has done with each row.
    pub(crate) fn merge_action() -> Self {
        let (table, name) = MERGE_ACTION;
        let columns = vec![Named { name: name.to_owned(), other: None, column: Column::new_unqualified(name) }];
        let relation = FromRelation { name: Some(table.to_owned()), columns, ..FromRelation::default() };
        Self { relation, fields: vec![Arc::new(Field::new(name, DataType::Utf8, true))] }
    }

    /// How many columns it has.
    pub(super) fn width(&self) -> usize {
        self.fields.len()
    }

    /// Its columns.
    pub(crate) fn fields(&self) -> impl Iterator<Item = FieldRef> {
        self.fields.iter().cloned()
    }
}

/// Binds the queries of one statement.
pub(super) struct Binder<'a> {
    pub(super) state: &'a SessionState,
    pub(super) names: TakenNames,
    pub(super) mentioned: Rc<Mentioned>,
    /// Samples of tables, which all places that name a table share.
    pub(super) samples: HashMap<usize, crate::table::Samples>,
    /// The tables beside the first one of the statement's FROM, for statements that change records.
    pub(super) beside: Vec<Beside>,
    /// Aggregates that the query that is being bound computes for those within it.
    pub(super) calls: Vec<OuterCall>,
    /// How often a query of WITH was named so far.
    pub(super) with_named: usize,
    /// What columns are called that no AS names.
    pub(super) column_names: ColumnNames,
    /// Columns that are CHARs.
    pub(super) fixed: FixedLengths,
    /// Columns that are INTEGERs, also where they are planned as BIGINTs.
    pub(super) integers: IntegerColumns,
    /// Columns that clients are told another type of than that of their values.
    pub(super) told: ToldTypes,
}

/// Where a query stands.
#[derive(Debug, Clone)]
pub(super) struct QueryContext {
    /// The tables that names stand for: the statement's, or those of a view.
    pub(super) tables: TablesOf,
    /// The queries around this one.
    pub(super) outer: Option<Rc<Level>>,
    /// The queries of WITH that can be named here, the innermost first.
    pub(super) with: Option<Rc<With>>,
    /// Whether the query's columns are those of the statement: they are called as they were written.
    pub(super) is_top: bool,
    /// Stands for the first tables of FROM.
    pub(super) instead: Rc<[Instead]>,
    /// The statement that changes records, for whose tables others stand in.
    pub(super) verb: &'static str,
}

/// The statement's tables, or a view's.
#[derive(Debug, Clone)]
pub(super) enum TablesOf {
    Statement(Rc<Tables>),
    View(Arc<crate::bind::tables::View>),
}

impl TablesOf {
    pub(super) fn get(&self) -> &Tables {
        match self {
            Self::Statement(tables) => tables,
            Self::View(view) => &view.tables,
        }
    }
}

/// One query of a WITH, and those that it can name.
#[derive(Debug)]
pub(super) struct With {
    pub(super) name: String,
    pub(super) source: WithSource,
    /// Whether it was named: one that is not is bound for its errors alone.
    pub(super) is_named: Cell<bool>,
    pub(super) next: Option<Rc<With>>,
}

/// What a name of WITH stands for.
#[derive(Debug)]
pub(super) enum WithSource {
    /// A query, bound anew wherever it is named, or once where its rows are shared.
    Query {
        query: Box<Query>,
        columns: Vec<String>,
        place: QueryContext,
        is_recursive: bool,
        /// AS MATERIALIZED, or NOT.
        materialized: Option<bool>,
        /// Its rows, once it is known that all who name it read the same.
        shared: RefCell<Option<(Arc<SharedRows>, Vec<Named>)>>,
    },
    /// Within a query of WITH RECURSIVE, where it may not name itself.
    Itself,
    /// Within the second part of a recursive query: the rows of the round before.
    Rounds { table: Arc<CteWorkTable>, columns: Vec<String>, was_read: Cell<bool> },
}

impl QueryContext {
    /// The context for a query within this one, which sees `outer` around it.
    pub(super) fn inner(&self, outer: Option<Rc<Level>>) -> Self {
        Self {
            tables: self.tables.clone(),
            outer,
            with: self.with.clone(),
            is_top: false,
            instead: Rc::from([]),
            verb: "",
        }
    }
}

/// A query's plan, and what its columns are called, in their order.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    pub(super) plan: LogicalPlan,
    pub(super) columns: Vec<Named>,
}

impl Bound {
    /// The plan's columns under these names.
    pub(super) fn of(plan: LogicalPlan, names: impl IntoIterator<Item = String>) -> Self {
        let columns = plan.schema().columns().into_iter().zip(names);
        let columns = columns.map(|(column, name)| Named { name, other: None, column }).collect();
        Self { plan, columns }
    }

    /// Gives the first columns other names.
    pub(super) fn rename(&mut self, names: &[String]) {
        for (own, name) in self.columns.iter_mut().zip(names) {
            own.name.clone_from(name);
            own.other = None;
        }
    }

    /// These columns with the second names of `others`.
    pub(super) fn also_called<'n>(mut self, others: impl IntoIterator<Item = &'n Named>) -> Self {
        for (own, other) in self.columns.iter_mut().zip(others) {
            own.other.clone_from(&other.other);
        }
        self
    }
}

impl Binder<'_> {
    /// Computes expressions over no columns, at the time of the statement.
    pub(super) fn simplifier(&self) -> ExprSimplifier {
        let context = SimplifyContext::builder()
            .with_config_options(Arc::clone(self.state.config_options()))
            .with_query_execution_start_time(self.state.execution_props().query_execution_start_time)
            .build();
        ExprSimplifier::new(context)
    }

    /// A plan behind the rules that set types: no rule but those of its own plan sets those of its columns.
    pub(super) fn analyzed(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        Ok(self.state.analyzer().execute_and_check(plan, self.state.config_options(), |_, _| {})?)
    }

    /// `expression` as a column of a plan: under its own name when no column has that, else under one near to `wanted`.
    pub(super) fn named(&mut self, expression: Expr, wanted: &str) -> Expr {
        if !self.has_own_name(&expression) {
            return self.renamed(expression, wanted);
        }
        self.note(&expression);
        expression
    }

    /// `expression` as a column of a plan, under a new name near to `wanted`.
    pub(super) fn renamed(&mut self, expression: Expr, wanted: &str) -> Expr {
        let renamed = expression.alias(self.names.fresh(wanted));
        self.note(&renamed);
        renamed
    }

    /// Notes of an expression's column whether it is a CHAR or an INTEGER, and what clients are told that it is.
    pub(super) fn note(&mut self, expression: &Expr) {
        let column = column_of(expression);
        self.fixed.note(&column, self.fixed.of(expression));
        self.integers.note(&column, self.integers.are(expression));
        self.told.note(&column, self.told.of(expression));
    }

    /// Takes the name that DataFusion gives an expression; false when another column has it. DataFusion leaves casts out of
    /// names, so that a column's cast is never called otherwise than the column.
    pub(super) fn has_own_name(&mut self, expression: &Expr) -> bool {
        let mut inner = expression;
        while let Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) = inner {
            inner = expr;
        }
        let has_other = match inner {
            Expr::Column(_) | Expr::OuterReferenceColumn(..) => true,
            // Rules that change a filter or an order change the name that is made of them.
            Expr::AggregateFunction(call) => call.params.filter.is_some() || !call.params.order_by.is_empty(),
            Expr::WindowFunction(call) => {
                let order = call.params.order_by.iter().map(|key| &key.expr);
                let mut keys = call.params.partition_by.iter().chain(order);
                call.params.filter.is_some() || keys.any(|key| !matches!(key, Expr::Column(_)))
            }
            other => has_query(other),
        };
        !has_other && self.names.take(&expression.schema_name().to_string())
    }

    /// `plan` with `expressions` as its columns; as it is when these are its own columns.
    pub(super) fn project(&self, plan: LogicalPlan, expressions: Vec<Expr>) -> Result<LogicalPlan> {
        let own = plan.schema().columns();
        let is_own = |(expression, own): (&Expr, &Column)| matches!(expression, Expr::Column(column) if column == own);
        if expressions.len() == own.len() && expressions.iter().zip(&own).all(is_own) {
            return Ok(plan);
        }
        Ok(LogicalPlan::Projection(Projection::try_new(expressions, Arc::new(plan))?))
    }
}

/// Whether a query is a part of an expression: rules put something of another name in its place.
fn has_query(expression: &Expr) -> bool {
    let is_query = |part: &Expr| {
        Ok(matches!(part, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_)))
    };
    expression.exists(is_query).unwrap_or(true)
}

/// The column that an expression of a projection or aggregation becomes.
pub(super) fn column_of(expression: &Expr) -> Column {
    let (qualifier, name) = expression.qualified_name();
    Column::new(qualifier, name)
}

/// A schema of fields whose names are all different.
pub(super) fn schema_of(fields: Vec<(Column, FieldRef)>) -> Result<DFSchema> {
    let fields = fields.into_iter().map(|(column, field)| {
        let field = field.as_ref().clone().with_name(column.name);
        (column.relation, Arc::new(field))
    });
    Ok(DFSchema::new_with_metadata(fields.collect(), HashMap::new())?)
}
