//! Expressions that a table keeps as text, DEFAULT and CHECK: planned when the table is made, so that a wrong one is
//! refused then, and planned again by each statement that writes.

use crate::guards::guarded_alone;
use crate::session::make_plannable;
use crate::sql::depth;
use crate::sql::dialect::Gingham;
use crate::statements::ddl::alter::uses_column;
use crate::statements::dml::ingest;
use crate::type_name::type_name;
use crate::{Error, Result};
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::builder::LogicalTableSource;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Volatility};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::sql::parser::DFParserBuilder;
use gingham_storage::{ColumnDefinition, Datum, Generation, SqlState, TableDefinition};
use std::sync::Arc;

/// A condition over a table's columns: BOOLEAN, of one row, and the same each time it is asked.
pub(crate) fn check(
    state: &SessionState,
    name: &str,
    schema: &SchemaRef,
    condition: &str,
) -> Result<Arc<dyn PhysicalExpr>> {
    let what = format!("CHECK constraint '{name}' ({condition})");
    let (expression, schema) = analyze(state, schema, condition, &what)?;
    let data_type = expression.get_type(&schema)?;
    if !matches!(data_type, DataType::Boolean | DataType::Null) {
        return Err(Error::invalid(
            SqlState::DatatypeMismatch,
            format!("{what} is of type {}, not BOOLEAN", type_name(&data_type)),
        ));
    }
    if let Some(function) = volatile(&expression)? {
        return Err(Error::invalid(
            SqlState::InvalidObjectDefinition,
            format!("{what} calls {function}, whose result changes from call to call"),
        ));
    }
    physical(state, expression, schema)
}

/// The values of a generated column: over the other columns of its table, of one row, and the same each time they are asked.
pub(crate) fn generated(
    state: &SessionState,
    definition: &TableDefinition,
    column: &str,
    text: &str,
) -> Result<Arc<dyn PhysicalExpr>> {
    let what = format!("the expression ({text}) of the generated column '{column}'");
    let (expression, schema) = analyze(state, &definition.arrow_schema(), text, &what)?;
    let invalid = |why: String| Error::invalid(SqlState::InvalidObjectDefinition, format!("{what} {why}"));
    if let Some(function) = volatile(&expression)? {
        return Err(invalid(format!("calls {function}, whose result changes from call to call")));
    }
    for other in &definition.columns {
        if matches!(other.generation, Some(Generation::Stored(_))) && uses_column(text, &other.name)? {
            return Err(invalid(format!("uses '{}', which is generated itself", other.name)));
        }
    }
    let own = definition.column(column);
    let data_type = expression.get_type(&schema)?;
    if let Some(own) = own.filter(|own| !ingest::assignable(&data_type, &own.logical_type)) {
        return Err(Error::invalid(
            SqlState::DatatypeMismatch,
            format!("{what} is of type {}, which does not convert to {}", type_name(&data_type), own.logical_type),
        ));
    }
    physical(state, expression, schema)
}

/// The expression that gives a column its values where a statement gives none: DEFAULT, or the next value of an identity column's
/// sequence.
pub(crate) fn default_text(column: &ColumnDefinition) -> Option<String> {
    match &column.generation {
        Some(Generation::Identity { sequence, .. }) => Some(format!("nextval({sequence})")),
        _ => column.default.clone(),
    }
}

/// The value of a column that a statement leaves out: no columns in it.
pub(crate) fn default(state: &SessionState, column: &str, text: &str) -> Result<Arc<dyn PhysicalExpr>> {
    let what = format!("DEFAULT {text} of column '{column}'");
    let (expression, schema) = analyze(state, &Arc::new(Schema::empty()), text, &what)?;
    physical(state, expression, schema)
}

/// Folds constants, which `now()` and `current_date` are for one statement.
fn physical(state: &SessionState, expression: Expr, schema: DFSchema) -> Result<Arc<dyn PhysicalExpr>> {
    let schema = Arc::new(schema);
    let context = SimplifyContext::builder()
        .with_schema(Arc::clone(&schema))
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    let expression = ExprSimplifier::new(context).simplify(expression)?;
    Ok(guarded_alone(state.create_physical_expr(expression, &schema)?))
}

/// Whether a DEFAULT differs from row to row of one statement.
pub(crate) fn is_volatile(state: &SessionState, column: &str, text: &str) -> Result<bool> {
    let what = format!("DEFAULT {text} of column '{column}'");
    Ok(analyze(state, &Arc::new(Schema::empty()), text, &what)?.0.is_volatile())
}

/// Whether a DEFAULT is the same value for every row and statement.
pub(crate) fn is_constant(state: &SessionState, column: &str, text: &str) -> Result<bool> {
    let what = format!("DEFAULT {text} of column '{column}'");
    Ok(volatile(&analyze(state, &Arc::new(Schema::empty()), text, &what)?.0)?.is_none())
}

/// The value of a DEFAULT now, as the column's type.
pub(crate) fn default_value(state: &SessionState, column: &ColumnDefinition, text: &str) -> Result<Datum> {
    let planned = default(state, &column.name, text)?;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let one_row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?;
    let values = planned.evaluate(&one_row)?.into_array(1)?;
    ingest::single_value(&values, column).map_err(|error| error.about(format_args!("DEFAULT {text}")))
}

/// Plans `text` over one table and runs the analyzer over it, which brings type coercion and checked arithmetic.
fn analyze(state: &SessionState, schema: &SchemaRef, text: &str, what: &str) -> Result<(Expr, DFSchema)> {
    let in_context = |error: datafusion::error::DataFusionError| Error::from(error).about(what);
    let unqualified = DFSchema::try_from(schema.as_ref().clone())?;
    let parser = DFParserBuilder::new(text).with_dialect(&Gingham).build();
    let mut parsed = parser.and_then(|mut parser| parser.parse_into_expr()).map_err(in_context)?;
    depth::limit(&mut parsed.expr)?;
    make_plannable(&mut parsed.expr)?;
    let expression = state.create_logical_expr_from_sql_expr(parsed, &unqualified).map_err(in_context)?;
    if let Some(part) = unsuitable(&expression)? {
        return Err(Error::Unsupported(format!("{what} has {part}, which it can't have")));
    }
    let plan = if schema.fields().is_empty() {
        LogicalPlanBuilder::empty(true)
    } else {
        let source = Arc::new(LogicalTableSource::new(Arc::clone(schema)));
        LogicalPlanBuilder::scan(TableReference::bare("t"), source, None)?
    };
    let plan = plan.project([expression.alias("value")]).and_then(LogicalPlanBuilder::build).map_err(in_context)?;
    let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {}).map_err(in_context)?;
    let LogicalPlan::Projection(mut projection) = plan else {
        return Err(Error::Internal(format!("{what} was planned as {}", plan.display())));
    };
    let expression = projection.expr.pop().map(Expr::unalias).unwrap_or_default();
    Ok((expression, projection.input.schema().as_ref().clone()))
}

/// The first part of an expression that needs more than one row to evaluate, or parameters.
fn unsuitable(expression: &Expr) -> Result<Option<&'static str>> {
    let mut found = None;
    expression.apply(|part| {
        found = match part {
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) => Some("a subquery"),
            Expr::AggregateFunction(_) => Some("an aggregate function"),
            Expr::WindowFunction(_) => Some("a window function"),
            Expr::Placeholder(_) => Some("a parameter"),
            Expr::Unnest(_) => Some("unnest"),
            _ => None,
        };
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// The first function of an expression whose result depends on more than its arguments.
fn volatile(expression: &Expr) -> Result<Option<String>> {
    let mut found = None;
    expression.apply(|part| {
        if let Expr::ScalarFunction(function) = part
            && function.func.signature().volatility != Volatility::Immutable
        {
            found = Some(function.func.name().to_owned());
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}
