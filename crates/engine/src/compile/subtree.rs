//! A part of a physical plan that one pipeline can do: an aggregation, in one step or two, over filters and projections
//! over the scan of a table.

use super::results::{Finish, Output};
use super::translate::{Scope, Typed};
use crate::table::{CountExec, ScanExec};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use gingham_execution::{Aggregate, Aggregation, Expression, Function, Plan};
use std::collections::HashSet;
use std::sync::Arc;

/// Integers up to here are exact as DOUBLE, and so are their sums.
const EXACT_IN_DOUBLE: u128 = 1 << 53;

/// What was found.
#[derive(Debug)]
pub(super) struct Subtree {
    /// The same in DataFusion's operators, in one partition, over [`Subtree::scan`].
    pub(super) replaced: Arc<dyn ExecutionPlan>,
    /// The leaf: a [`ScanExec`].
    pub(super) scan: Arc<dyn ExecutionPlan>,
    pub(super) plan: Plan,
    /// Records of the table.
    pub(super) rows: u64,
    /// How each column of the result is made of the groups.
    pub(super) outputs: Vec<Output>,
    /// Columns of the result that are columns of the scan: filters on them may go down to it.
    pub(super) passed: HashSet<usize>,
}

impl Subtree {
    /// The subtree that ends in `plan`; `None` when a pipeline can't do all of it.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(last) = plan.downcast_ref::<AggregateExec>() else { return Ok(None) };
        let first = match last.mode() {
            AggregateMode::Single | AggregateMode::SinglePartitioned => last,
            AggregateMode::Final | AggregateMode::FinalPartitioned => {
                match last.input().downcast_ref::<AggregateExec>() {
                    Some(first) if *first.mode() == AggregateMode::Partial => first,
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let limited = first.limit_options().is_some() || last.limit_options().is_some();
        if limited || first.group_expr().has_grouping_set() {
            return Ok(None);
        }
        // Counting needs no integers at all.
        if CountExec::instead_of(first).is_some() {
            return Ok(None);
        }
        let Some((scope, scan)) = Scope::of(first.input()) else { return Ok(None) };
        let Some((aggregation, outputs)) = aggregation(first, &scope) else { return Ok(None) };
        let rows = scope.rows();
        let Ok(plan) = Plan::new(&aggregation, scope.facts(), rows) else { return Ok(None) };
        let input = Arc::new(CoalescePartitionsExec::new(Arc::clone(first.input())));
        let replaced = AggregateExec::try_new(
            AggregateMode::Single,
            first.group_expr().clone(),
            first.aggr_expr().to_vec(),
            first.filter_expr().to_vec(),
            input,
            first.input_schema(),
        )?;
        if replaced.schema() != last.schema() {
            return Ok(None);
        }
        let passed = passed(first, &scan);
        Ok(Some(Self { replaced: Arc::new(replaced), scan, plan, rows, outputs, passed }))
    }
}

/// The result's columns that are columns of the scan under the same name, which is how a filter finds them.
fn passed(aggregate: &AggregateExec, scan: &Arc<dyn ExecutionPlan>) -> HashSet<usize> {
    let schema = scan.schema();
    let is_passed = |(_, (key, name)): &(usize, &(Arc<dyn PhysicalExpr>, String))| {
        let column = key.downcast_ref::<Column>();
        let below = aggregate.input().is::<ScanExec>();
        below
            && column.is_some_and(|column| column.name() == name && schema.index_of(name).ok() == Some(column.index()))
    };
    aggregate.group_expr().expr().iter().enumerate().filter(is_passed).map(|(position, _)| position).collect()
}

/// The aggregation over the scope's columns, and how its groups become the result's columns.
fn aggregation(aggregate: &AggregateExec, scope: &Scope) -> Option<(Aggregation, Vec<Output>)> {
    let schema = aggregate.input_schema();
    let mut outputs = Vec::new();
    let mut keys = Vec::new();
    for (key, _) in aggregate.group_expr().expr() {
        let key = scope.translate(key, &schema)?;
        outputs.push(Output {
            data_type: key.data_type.clone(),
            finish: Finish::Key(keys.len()),
            entries: key.entries,
        });
        keys.push(key.expression);
    }
    let mut aggregates = Vec::new();
    for (function, filter) in aggregate.aggr_expr().iter().zip(aggregate.filter_expr()) {
        let filter = match filter {
            Some(filter) => Some(scope.translate(filter, &schema)?.truth()?),
            None => None,
        };
        let mut add = |function, argument: Option<Expression>| {
            aggregates.push(Aggregate { function, argument, filter: filter.clone() });
            aggregates.len() - 1
        };
        outputs.push(output_of(function, scope, &schema, &mut add)?);
    }
    Some((Aggregation { filter: scope.filter(), keys, aggregates }, outputs))
}

/// Adds what a function needs, and says how its result is made.
fn output_of(
    function: &AggregateFunctionExpr,
    scope: &Scope,
    schema: &arrow::datatypes::SchemaRef,
    add: &mut impl FnMut(Function, Option<Expression>) -> usize,
) -> Option<Output> {
    let data_type = function.field().data_type().clone();
    let plain = !function.is_distinct() && function.order_bys().is_empty() && !function.ignore_nulls();
    let arguments = function.expressions();
    let [argument] = arguments.as_slice() else { return None };
    if !plain {
        return None;
    }
    let output = |finish, entries| Some(Output { data_type: data_type.clone(), finish, entries });
    match function.fun().name() {
        "count" => {
            let argument = scope.translate(argument, schema)?;
            output(Finish::Value(add(Function::Count, Some(argument.expression))), None)
        }
        "sum" => {
            let argument = scope.translate(argument, schema)?.number()?;
            output(Finish::Sum(add(Function::Sum, Some(argument.expression))), None)
        }
        name @ ("min" | "max") => {
            let argument = scope.translate(argument, schema)?;
            let function = if name == "min" { Function::Min } else { Function::Max };
            (argument.data_type == data_type)
                .then(|| output(Finish::Value(add(function, Some(argument.expression))), argument.entries))?
        }
        "avg" => average(argument, scope, schema, &data_type, add),
        _ => None,
    }
}

/// The mean of decimals, which is exact, or of integers as DOUBLE, while their sum is exact in it too.
fn average(
    argument: &Arc<dyn PhysicalExpr>,
    scope: &Scope,
    schema: &arrow::datatypes::SchemaRef,
    data_type: &arrow::datatypes::DataType,
    add: &mut impl FnMut(Function, Option<Expression>) -> usize,
) -> Option<Output> {
    use arrow::datatypes::DataType;
    let (inner, scale) = match (argument.downcast_ref::<CastExpr>(), data_type) {
        (Some(cast), DataType::Float64) if *cast.cast_type() == DataType::Float64 => {
            let inner: Typed = scope.translate(cast.expr(), schema)?;
            let largest = scope.range(&inner.expression)?.magnitude().checked_mul(scope.rows().into())?;
            (inner.data_type.is_integer() && largest < EXACT_IN_DOUBLE).then_some((inner, None))?
        }
        (_, DataType::Decimal128(precision, scale)) => {
            let inner = scope.translate(argument, schema)?;
            let DataType::Decimal128(_, own) = inner.data_type else { return None };
            let digits = u32::try_from(i32::from(*scale) - i32::from(own)).ok()?;
            (inner, Some((*precision, digits)))
        }
        _ => return None,
    };
    let sum = add(Function::Sum, Some(inner.expression.clone()));
    let count = add(Function::Count, Some(inner.expression));
    Some(Output { data_type: data_type.clone(), finish: Finish::Average { sum, count, scale }, entries: None })
}

impl Scope {
    /// What `plan` gives as expressions over a scan's columns, and the scan.
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<(Self, Arc<dyn ExecutionPlan>)> {
        if let Some(scan) = plan.downcast_ref::<ScanExec>() {
            return scan.is_plain().then(|| (Self::of_scan(scan), Arc::clone(plan)));
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let (below, scan) = Self::of(projection.input())?;
            let schema = projection.input().schema();
            let columns = projection.expr().iter().map(|column| below.translate(&column.expr, &schema)).collect();
            return Some((below.with_columns(columns), scan));
        }
        let filter = plan.downcast_ref::<FilterExec>().filter(|filter| filter.fetch().is_none())?;
        let (below, scan) = Self::of(filter.input())?;
        let condition = below.translate(filter.predicate(), &filter.input().schema())?.truth()?;
        Some((below.filtered(condition, filter.projection().as_deref()), scan))
    }
}
