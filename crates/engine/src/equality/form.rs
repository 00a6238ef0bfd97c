//! Expressions that have one form for equal values: columns of tables, which are stored so, and what is made of such
//! values without arithmetic.

use crate::casts::CAST;
use crate::equality::key::is_key;
use crate::table::is_stored;
use arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, ExprSchemable, JoinType, LogicalPlan, WindowFunctionDefinition,
};

/// Whether equal values of the expression over these inputs have equal bits.
pub(super) fn has_one_form(expression: &Expr, inputs: &[&LogicalPlan]) -> bool {
    let all = |parts: &[&Expr]| parts.iter().all(|part| has_one_form(part, inputs));
    match expression {
        Expr::Column(column) => inputs.iter().any(|input| column_has_one_form(column, input)),
        Expr::Alias(alias) => has_one_form(&alias.expr, inputs),
        Expr::Literal(value, _) => literal_has_one_form(value),
        Expr::Cast(cast) => match type_of(&cast.expr, inputs) {
            Some(data_type) if data_type.is_floating() => has_one_form(&cast.expr, inputs),
            Some(data_type) => data_type.is_numeric(),
            None => false,
        },
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
            all(&results.chain(case.else_expr.as_deref()).collect::<Vec<_>>())
        }
        // A decimal is one float.
        Expr::ScalarFunction(call)
            if call.name() == CAST
                && call.args.iter().any(|own| type_of(own, inputs).is_some_and(|own| own.is_decimal())) =>
        {
            true
        }
        Expr::ScalarFunction(call) => {
            let keeps = matches!(call.name(), "coalesce" | "nullif" | "greatest" | "least" | "abs");
            is_key(expression) || (keeps && all(&call.args.iter().collect::<Vec<_>>()))
        }
        // Exact sums know one zero and one NaN.
        Expr::AggregateFunction(call) => match call.func.name() {
            "min" | "max" | "first_value" | "last_value" | "any_value" | "sum" | "avg" | "stddev" | "var" => {
                call.params.args.iter().all(|argument| {
                    let is_float = type_of(argument, inputs).is_some_and(|data_type| data_type.is_floating());
                    !is_float || has_one_form(argument, inputs)
                })
            }
            _ => false,
        },
        Expr::WindowFunction(call) => {
            let name = match &call.fun {
                WindowFunctionDefinition::AggregateUDF(function) => function.name(),
                WindowFunctionDefinition::WindowUDF(function) => function.name(),
            };
            let keeps = matches!(name, "min" | "max" | "first_value" | "last_value" | "nth_value" | "lag" | "lead");
            keeps && call.params.args.iter().all(|argument| has_one_form(argument, inputs))
        }
        _ => false,
    }
}

fn type_of(expression: &Expr, inputs: &[&LogicalPlan]) -> Option<DataType> {
    inputs.iter().find_map(|input| expression.get_type(input.schema().as_ref()).ok())
}

fn literal_has_one_form(value: &ScalarValue) -> bool {
    let is_one = |value: f64| !(value.is_nan() || value == 0.0) || value.is_sign_positive();
    match value {
        ScalarValue::Float32(Some(value)) => is_one((*value).into()),
        ScalarValue::Float64(Some(value)) => is_one(*value),
        other => other.is_null(),
    }
}

fn column_has_one_form(column: &Column, plan: &LogicalPlan) -> bool {
    match plan.schema().maybe_index_of_column(column) {
        Some(index) => output_has_one_form(index, plan),
        None => false,
    }
}

/// Whether equal values of an output column of a plan have equal bits.
fn output_has_one_form(index: usize, plan: &LogicalPlan) -> bool {
    let width = |schema: &DFSchema| schema.fields().len();
    match plan {
        LogicalPlan::TableScan(scan) => is_stored(scan),
        LogicalPlan::Projection(projection) => has_one_form(&projection.expr[index], &[&projection.input]),
        LogicalPlan::Filter(filter) => output_has_one_form(index, &filter.input),
        LogicalPlan::Sort(sort) => output_has_one_form(index, &sort.input),
        LogicalPlan::Limit(limit) => output_has_one_form(index, &limit.input),
        LogicalPlan::SubqueryAlias(alias) => output_has_one_form(index, &alias.input),
        LogicalPlan::Distinct(Distinct::All(input)) => output_has_one_form(index, input),
        LogicalPlan::Repartition(repartition) => output_has_one_form(index, &repartition.input),
        LogicalPlan::Union(union) => union.inputs.iter().all(|input| output_has_one_form(index, input)),
        LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Values(values) => values.values.iter().all(|row| has_one_form(&row[index], &[])),
        LogicalPlan::Join(join) => {
            let left = width(join.left.schema());
            match join.join_type {
                JoinType::RightSemi | JoinType::RightAnti => output_has_one_form(index, &join.right),
                _ if index < left => output_has_one_form(index, &join.left),
                _ if index < left + width(join.right.schema()) => output_has_one_form(index - left, &join.right),
                _ => true,
            }
        }
        LogicalPlan::Window(window) => match index.checked_sub(width(window.input.schema())) {
            None => output_has_one_form(index, &window.input),
            Some(own) => has_one_form(&window.window_expr[own], &[&window.input]),
        },
        LogicalPlan::Aggregate(aggregate) => of_aggregate(index, aggregate),
        _ => false,
    }
}

fn of_aggregate(index: usize, aggregate: &Aggregate) -> bool {
    let own = aggregate.schema.fields().len() - aggregate.aggr_expr.len();
    match index.checked_sub(own) {
        // Groups are those of keys.
        None => true,
        Some(own) => has_one_form(&aggregate.aggr_expr[own], &[&aggregate.input]),
    }
}
