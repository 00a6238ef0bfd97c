//! Floats win also where rows meet: in the columns of a UNION or of VALUES, in the keys of a join by column names (which
//! INTERSECT and EXCEPT are, too), and between a value and the rows of a subquery.

use crate::arithmetic::approximate::{align_typed, mixes};
use crate::arithmetic::reals::{make_float, meet_integers};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ExprSchema};
use datafusion::error::Result;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::expr_rewriter::coerce_plan_expr_for_schema;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::{Expr, ExprSchemable, Join, LogicalPlan, Union, Values, cast};
use std::sync::Arc;

/// Aligns the columns of a plan in which rows of several sources meet.
pub(super) fn align(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Union(union) => align_union(union),
        LogicalPlan::Values(values) => align_values(values),
        LogicalPlan::Join(join) => align_join(join),
        other => Ok(Transformed::no(other)),
    }
}

fn align_union(union: Union) -> Result<Transformed<LogicalPlan>> {
    let meet = |column: &usize| {
        let types = union.inputs.iter().filter_map(|input| input.schema().fields().get(*column));
        mixes(&types.map(|field| field.data_type().clone()).collect::<Vec<_>>())
    };
    let floats: Vec<usize> = (0..union.schema.fields().len()).filter(meet).collect();
    let types = |schema: &DFSchema| schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
    let is_stale = union.inputs.first().is_some_and(|first| types(first.schema()) != types(&union.schema));
    if floats.is_empty() && !is_stale {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let input = |input: Arc<LogicalPlan>| Ok(Arc::new(with_floats(Arc::unwrap_or_clone(input), &floats)?));
    let inputs = union.inputs.into_iter().map(input).collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?)))
}

/// VALUES, whose rows DataFusion has cast to one type while it read them.
fn align_values(mut values: Values) -> Result<Transformed<LogicalPlan>> {
    let none = DFSchema::empty();
    let mut floats = Vec::new();
    for (column, field) in values.schema.fields().iter().enumerate() {
        if !field.data_type().is_decimal() {
            continue;
        }
        let types = values.values.iter().map(|row| uncast(&row[column]).get_type(&none)).collect::<Result<Vec<_>>>()?;
        if mixes(&types) {
            floats.push(column);
        }
    }
    if floats.is_empty() {
        return align_changed(values);
    }
    for row in &mut values.values {
        for column in &floats {
            let mut own = uncast(&row[*column]).clone();
            make_float(&mut own, false);
            row[*column] = own;
        }
    }
    values.schema = Arc::new(schema_with_floats(&values.schema, &floats)?);
    Ok(Transformed::yes(LogicalPlan::Values(values)))
}

/// VALUES with expressions, quotients of decimals say, whose types are no longer those that DataFusion has read.
fn align_changed(mut values: Values) -> Result<Transformed<LogicalPlan>> {
    let none = DFSchema::empty();
    let mut types: Vec<DataType> = values.schema.fields().iter().map(|field| field.data_type().clone()).collect();
    let mut changed = false;
    for (column, data_type) in types.iter_mut().enumerate() {
        let own = values.values.iter().map(|row| row[column].get_type(&none)).collect::<Result<Vec<_>>>()?;
        if own.iter().all(|own| own == data_type || own.is_null()) {
            continue;
        }
        *data_type = type_union_resolution(&own).unwrap_or_else(|| data_type.clone());
        for (row, own) in values.values.iter_mut().zip(own) {
            if own != *data_type {
                row[column] = cast(std::mem::take(&mut row[column]), data_type.clone());
            }
        }
        changed = true;
    }
    if changed {
        let fields = values.schema.iter().zip(types).map(|((qualifier, field), data_type)| {
            (qualifier.cloned(), Arc::new(field.as_ref().clone().with_data_type(data_type)))
        });
        let fields = fields.collect();
        values.schema = Arc::new(DFSchema::new_with_metadata(fields, values.schema.as_ref().metadata().clone())?);
    }
    Ok(Transformed::new_transformed(LogicalPlan::Values(values), changed))
}

/// A value as it was written.
fn uncast(expression: &Expr) -> &Expr {
    match expression {
        Expr::Cast(Cast { expr, .. }) => expr,
        other => other,
    }
}

fn align_join(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    for (left, right) in &mut join.on {
        let types = vec![left.get_type(join.left.schema())?, right.get_type(join.right.schema())?];
        changed |= align_typed(vec![left, right], types, true);
    }
    let join = LogicalPlan::Join(join);
    Ok(if changed { Transformed::yes(join) } else { Transformed::no(join) })
}

/// Aligns a value with the rows of a subquery that it is compared with.
pub(super) fn align_subquery(value: &mut Expr, subquery: &mut Subquery, schema: &dyn ExprSchema) -> Result<bool> {
    let (Ok(own), Some(field)) = (value.get_type(schema), subquery.subquery.schema().fields().first()) else {
        return Ok(false);
    };
    let types = [own.clone(), field.data_type().clone()];
    if meet_integers(&types) {
        make_float(value, false);
        subquery.subquery = Arc::new(with_floats(LogicalPlan::clone(&subquery.subquery), &[0])?);
        return Ok(true);
    }
    if !mixes(&types) {
        return Ok(false);
    }
    if own.is_decimal() {
        make_float(value, false);
    } else {
        subquery.subquery = Arc::new(with_floats(LogicalPlan::clone(&subquery.subquery), &[0])?);
    }
    Ok(true)
}

/// The plan with DOUBLEs in the place of other numbers in some of its columns.
fn with_floats(plan: LogicalPlan, columns: &[usize]) -> Result<LogicalPlan> {
    let schema = schema_with_floats(plan.schema(), columns)?;
    coerce_plan_expr_for_schema(plan, &schema)
}

fn schema_with_floats(schema: &DFSchema, columns: &[usize]) -> Result<DFSchema> {
    let field = |(position, (qualifier, field)): (usize, (Option<&_>, &Arc<Field>))| {
        let field = if columns.contains(&position) && field.data_type().is_numeric() {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Float64))
        } else {
            Arc::clone(field)
        };
        (qualifier.cloned(), field)
    };
    DFSchema::new_with_metadata(schema.iter().enumerate().map(field).collect(), schema.metadata().clone())
}
