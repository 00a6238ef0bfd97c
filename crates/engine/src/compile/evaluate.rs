//! What pipelines can't compute is a column that DataFusion computes, for thousands of records at once, before a pipeline's
//! first stage. Behind filters and probes, that is the first stage of a further pipeline over the rows that are left: so it
//! looks at no more records than DataFusion would, but for those that a join's or filter's own order would have left out.
//! Where it fails, what was replaced runs.
//!
//! A string that has no codes, or codes that are not those of another column, becomes a number of the query's own the same
//! way: the function that does nothing.

use crate::compile::draft::{PipelineBuilder, QueryBuilder};
use crate::compile::functions::{CompiledFunction, limits};
use crate::compile::groups::{OutputColumn, OutputSource};
use crate::compile::lookup_table::needs_only_arguments;
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::translate::{Trace, Typed};
use arrow::datatypes::{Field as ArrowField, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::Volatility;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::utils::collect_columns;
use gingham_execution::{Computed, Expression, Field, Limits, Source};
use gingham_storage::{LogicalType, ValueClass};
use std::sync::Arc;

impl QueryBuilder {
    /// Makes columns of those expressions over an operator's input that pipelines can't compute and DataFusion can. They
    /// are there for later translations of the same expressions.
    pub(super) fn evaluate<'e>(
        &mut self,
        open: &mut PipelineBuilder,
        expressions: impl IntoIterator<Item = &'e Arc<dyn PhysicalExpr>>,
        schema: &Schema,
    ) {
        let expressions = expressions.into_iter();
        let left = expressions.filter(|expression| !expression.is::<Column>() && is_known(expression));
        let left: Vec<_> = left.filter(|left| open.scope.translate(left, schema).is_err()).cloned().collect();
        let before = (open.clone(), self.functions.len());
        if self.compute(open, &left, schema).is_err() {
            self.functions.truncate(before.1);
            *open = before.0;
        }
    }

    /// Makes columns of these expressions, all of them or none.
    pub(super) fn compute(
        &mut self,
        open: &mut PipelineBuilder,
        expressions: &[Arc<dyn PhysicalExpr>],
        schema: &Schema,
    ) -> Compiled<()> {
        if expressions.is_empty() {
            return Ok(());
        }
        let is_at_hand = |open: &PipelineBuilder| {
            let columns = expressions.iter().flat_map(collect_columns);
            open.steps.is_empty() && { columns }.all(|column| place_of(open, column.index()).is_some())
        };
        if !is_at_hand(open) {
            self.settle(open)?;
        }
        let mut floats = false;
        for expression in expressions {
            let unknown = || NotCompiled::expression(expression);
            let data_type = expression.data_type(schema).map_err(|_| unknown())?;
            let limits = limits(&data_type).ok_or_else(unknown)?;
            let class = LogicalType::from_arrow("", &data_type).map_err(|_| unknown())?.class();
            let (function, arguments) = function(open, expression, schema).ok_or_else(unknown)?;
            self.functions.push(function);
            let mut typed = Typed::new(self.add_computed(open, arguments, limits), data_type);
            typed.trace = Trace { numbered: class == ValueClass::Bytes, ..Trace::default() };
            if let Some(column) = expression.downcast_ref::<Column>() {
                typed.trace.origin = open.scope.column(column.index()).and_then(|column| column.trace.origin);
            }
            floats |= class == ValueClass::Float;
            open.scope.know(Arc::clone(expression), typed);
        }
        // Sums of floats need to know where these lie, which is known of rows that are there.
        if floats { self.settle(open) } else { Ok(()) }
    }

    /// Adds a column that the last function computes.
    fn add_computed(&mut self, open: &mut PipelineBuilder, arguments: Vec<usize>, limits: Limits) -> Expression {
        let column = open.source_columns + open.computed.len();
        open.computed.push(Computed { function: self.functions.len() - 1, arguments, limits });
        open.fields.push(Field { input: 0, column });
        open.scope.add_facts(&[(limits, true)]);
        Expression::Column(open.fields.len() - 1)
    }

    /// Ends a pipeline in rows, of which a new one begins.
    fn settle(&mut self, open: &mut PipelineBuilder) -> Compiled<()> {
        let mut whole = open.clone();
        let (width, known) = (whole.scope.columns().len(), whole.scope.known().to_vec());
        let all = whole.scope.columns().iter().cloned().chain(known.iter().map(|(_, typed)| Some(typed.clone())));
        // What has more than 64 bits can't be carried, and need not be wanted.
        let short =
            |typed: &Typed| typed.expression.facts(whole.scope.facts()).is_ok_and(|(limits, _)| limits.is_short());
        let all = all.map(|column| column.filter(short)).collect();
        whole.scope.set_columns(all);
        let (pipeline, mut columns) = self.end_in_rows(whole)?;
        let kept = columns.split_off(width);
        *open = self.over(Source::Rows(pipeline), pipeline, columns);
        for ((expression, _), typed) in known.into_iter().zip(kept) {
            let typed = typed.ok_or_else(NotCompiled::too_wide)?;
            open.scope.know(expression, typed);
        }
        Ok(())
    }
}

/// Where an operator's column is found before the first stage: a column of the source, or nothing but a constant.
fn place(open: &PipelineBuilder, column: &Expression) -> Option<Result<usize, Option<i64>>> {
    match column {
        Expression::Column(column) => {
            let field = open.fields.get(*column).filter(|field| field.input == 0)?;
            (field.column < open.source_columns).then_some(Ok(field.column))
        }
        Expression::Constant(value) => Some(Err(value.map(i64::try_from).transpose().ok()?)),
        _ => None,
    }
}

fn place_of(open: &PipelineBuilder, column: usize) -> Option<Result<usize, Option<i64>>> {
    place(open, &open.scope.column(column)?.expression)
}

/// An expression over columns of a pipeline's source, and which these are.
fn function(
    open: &PipelineBuilder,
    expression: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Option<(CompiledFunction, Vec<usize>)> {
    let mut used = columns_of(expression);
    // Constants come behind arguments.
    used.sort_by_key(|column| (matches!(place_of(open, *column), Some(Err(_))), *column));
    let (mut function, expressions) = of_columns(open, expression, schema, &used)?;
    let mut arguments = Vec::new();
    for expression in &expressions {
        match place(open, expression)? {
            Ok(place) => arguments.push(place),
            Err(value) => function.constants.push(value),
        }
    }
    Some((function, arguments))
}

/// An expression whose strings are looked at where a pipeline ends, and what it is of there.
pub(super) fn text_function(
    open: &PipelineBuilder,
    expression: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Option<(CompiledFunction, Vec<Expression>)> {
    if !is_known(expression) {
        return None;
    }
    let Ok(typed) = open.scope.translate(expression, schema) else {
        return of_columns(open, expression, schema, &columns_of(expression));
    };
    // It is there already.
    let Typed { expression, data_type, entries, trace } = typed;
    let schema = Arc::new(Schema::new(vec![ArrowField::new("", data_type.clone(), true)]));
    let columns = vec![OutputColumn { data_type, how: OutputSource::Column(0), entries, trace }];
    let itself: Arc<dyn PhysicalExpr> = Arc::new(Column::new("", 0));
    Some((CompiledFunction { expression: itself, schema, columns, constants: Vec::new() }, vec![expression]))
}

/// The columns that an expression is over, each once.
fn columns_of(expression: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    let mut used: Vec<usize> = collect_columns(expression).iter().map(Column::index).collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// An expression as a function of columns of an operator, which are `used` in this order, and what these are.
fn of_columns(
    open: &PipelineBuilder,
    expression: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
    used: &[usize],
) -> Option<(CompiledFunction, Vec<Expression>)> {
    let (mut columns, mut arguments, mut fields) = (Vec::new(), Vec::new(), Vec::new());
    for (number, column) in used.iter().enumerate() {
        let Typed { expression, data_type, entries, trace } = open.scope.column(*column)?;
        let field = schema.field(*column);
        if data_type != *field.data_type() {
            return None;
        }
        arguments.push(expression);
        columns.push(OutputColumn { data_type, how: OutputSource::Column(number), entries, trace });
        fields.push(ArrowField::new(field.name(), field.data_type().clone(), true));
    }
    let renumbered = Arc::clone(expression).transform(|part| {
        let Some(column) = part.downcast_ref::<Column>() else { return Ok(Transformed::no(part)) };
        let number = used.iter().position(|used| *used == column.index()).unwrap_or_default();
        let renumbered: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), number));
        Ok(Transformed::yes(renumbered))
    });
    let expression = renumbered.ok()?.data;
    let schema = Arc::new(Schema::new(fields));
    Some((CompiledFunction { expression, schema, columns, constants: Vec::new() }, arguments))
}

/// Whether an expression gives the same for the same values, and is of a kind that needs nothing but these.
fn is_known(expression: &Arc<dyn PhysicalExpr>) -> bool {
    let known = expression.is::<Column>()
        || expression.is::<ScalarSubqueryExpr>()
        || needs_only_arguments(expression, &[Volatility::Immutable, Volatility::Stable]);
    known && expression.children().into_iter().all(is_known)
}
