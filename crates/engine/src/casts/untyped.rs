//! Texts without a type. A literal in quotes takes the type of what it stands beside, where values of several expressions have one
//! type together: the results of CASE, COALESCE and its like, the elements of an array, the columns of VALUES and UNION.
//! DataFusion makes texts of all others there, or refuses them.

use crate::casts::convert::{Failing, convert};
use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Case, WindowFunction};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::{Expr as Planned, ExprSchemable, LogicalPlan, Projection};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use std::sync::Arc;

/// Gives operands their types before other planners look at these.
#[derive(Debug)]
pub(crate) struct UntypedTexts;

impl ExprPlanner for UntypedTexts {
    fn plan_binary_op(&self, binary: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = binary;
        // The operands of an operator within have theirs: a long chain of operators is not walked again for each.
        let typed = |operand: Planned| match operand {
            Planned::ScalarFunction(_) | Planned::Case(_) => with_typed_texts(operand, schema),
            other => Ok(other),
        };
        let (mut left, mut right) = (typed(left)?, typed(right)?);
        if !matches!(op, BinaryOperator::StringConcat) {
            as_array(&mut left, &right, schema)?;
            as_array(&mut right, &left, schema)?;
        }
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

/// Makes a text beside an array the array that it writes.
fn as_array(text: &mut Planned, beside: &Planned, schema: &DFSchema) -> Result<()> {
    if text_of(text).is_some()
        && let Ok(data_type @ DataType::List(_)) = beside.get_type(schema)
        && let Some(own) = text_of(text)
    {
        *text = Planned::Literal(value_of_text(own, &data_type)?, None);
    }
    Ok(())
}

/// An expression in which the texts without a type have the one that their place gives them.
pub(crate) fn with_typed_texts(planned: Planned, schema: &DFSchema) -> Result<Planned> {
    let typed = planned.transform_up(|part| {
        Ok(match part {
            Planned::Case(mut case) => {
                let changed = in_case(&mut case, schema)?;
                Transformed::new_transformed(Planned::Case(case), changed)
            }
            Planned::ScalarFunction(mut call) => {
                let together = match call.func.name() {
                    "coalesce" | "greatest" | "least" | "nullif" | "nvl" | "make_array" => 0,
                    "nvl2" => 1,
                    _ => return Ok(Transformed::no(Planned::ScalarFunction(call))),
                };
                let changed = align(call.args.iter_mut().skip(together).collect(), schema)?;
                Transformed::new_transformed(Planned::ScalarFunction(call), changed)
            }
            Planned::WindowFunction(mut call) => {
                let changed = in_window(&mut call, schema)?;
                Transformed::new_transformed(Planned::WindowFunction(call), changed)
            }
            other => Transformed::no(other),
        })
    })?;
    Ok(typed.data)
}

/// Gives the texts among the rows of VALUES the types of their columns.
pub(crate) fn align_rows(rows: &mut [Vec<Planned>]) -> Result<()> {
    let none = DFSchema::empty();
    for column in 0..rows.first().map_or(0, Vec::len) {
        align(rows.iter_mut().map(|row| &mut row[column]).collect(), &none)?;
    }
    Ok(())
}

/// Gives the texts among two queries' columns the types of those of the other query.
pub(crate) fn align_queries(left: LogicalPlan, right: LogicalPlan) -> Result<(LogicalPlan, LogicalPlan)> {
    let types = |plan: &LogicalPlan| -> Vec<DataType> {
        plan.schema().fields().iter().map(|field| field.data_type().clone()).collect()
    };
    let (own, others) = (types(&left), types(&right));
    Ok((with_types(left, &others)?, with_types(right, &own)?))
}

/// A query whose columns that are texts without a type have these types.
fn with_types(plan: LogicalPlan, types: &[DataType]) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(mut projection) = plan else { return Ok(plan) };
    let mut changed = false;
    for (item, data_type) in projection.expr.iter_mut().zip(types) {
        let Some(text) = text_of(item) else { continue };
        if let Some(value) = typed(text, data_type)? {
            let name = item.qualified_name();
            *item = Planned::Literal(value, None).alias_qualified(name.0, name.1);
            changed = true;
        }
    }
    if !changed {
        return Ok(LogicalPlan::Projection(projection));
    }
    Ok(LogicalPlan::Projection(Projection::try_new(std::mem::take(&mut projection.expr), projection.input)?))
}

fn in_case(case: &mut Case, schema: &DFSchema) -> Result<bool> {
    let results = case.when_then_expr.iter_mut().map(|(_, then)| &mut **then);
    let mut changed = align(results.chain(case.else_expr.as_deref_mut()).collect(), schema)?;
    if let Some(base) = &case.expr
        && let Ok(data_type) = base.get_type(schema)
    {
        for (when, _) in &mut case.when_then_expr {
            changed |= give(when, &data_type)?;
        }
    }
    Ok(changed)
}

/// `lag(value, 1, 'text')`.
fn in_window(call: &mut WindowFunction, schema: &DFSchema) -> Result<bool> {
    match (call.fun.name(), &mut call.params.args[..]) {
        ("lag" | "lead", [value, _, other]) => match value.get_type(schema) {
            Ok(data_type) => give(other, &data_type),
            Err(_) => Ok(false),
        },
        _ => Ok(false),
    }
}

/// Gives the texts without a type among `values` the type of the others. False where there is nothing to give.
fn align(values: Vec<&mut Planned>, schema: &DFSchema) -> Result<bool> {
    if !values.iter().any(|value| text_of(value).is_some()) {
        return Ok(false);
    }
    let others = values.iter().filter(|value| text_of(value).is_none());
    // What has no type yet is a parameter's value.
    let Ok(types) = others.map(|value| value.get_type(schema)).collect::<Result<Vec<_>>>() else {
        return Ok(false);
    };
    let types: Vec<DataType> = types.into_iter().filter(|data_type| !data_type.is_null()).collect();
    let Some(data_type) = (!types.is_empty()).then(|| type_union_resolution(&types)).flatten() else {
        return Ok(false);
    };
    let mut changed = false;
    for value in values {
        changed |= give(value, &data_type)?;
    }
    Ok(changed)
}

/// Makes a text without a type a value of this type.
fn give(value: &mut Planned, data_type: &DataType) -> Result<bool> {
    let Some(text) = text_of(value) else { return Ok(false) };
    match typed(text, data_type)? {
        Some(given) => {
            *value = Planned::Literal(given, None);
            Ok(true)
        }
        None => Ok(false),
    }
}

/// A literal in quotes that no cast gives a type.
fn text_of(expression: &Planned) -> Option<&str> {
    match expression {
        Planned::Literal(value, _) => value.try_as_str().flatten(),
        Planned::Alias(alias) => text_of(&alias.expr),
        _ => None,
    }
}

/// A text as a value of a type; `None` where it stays a text.
///
/// # Errors
///
/// The text means none of that type.
fn typed(text: &str, data_type: &DataType) -> Result<Option<ScalarValue>> {
    let wanted = match data_type {
        // All digits that are written count, as in a literal without quotes.
        DataType::Decimal128(..) => match number(text.trim()) {
            Some(value) if value.data_type().is_decimal() || value.data_type().is_integer() => return Ok(Some(value)),
            _ => data_type.clone(),
        },
        DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, zone) => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        DataType::List(_) | DataType::Boolean => data_type.clone(),
        other if other.is_numeric() || other.is_temporal() || other.is_binary() => other.clone(),
        _ => return Ok(None),
    };
    Ok(Some(value_of_text(text, &wanted)?))
}

/// The value of a type that a text means.
///
/// # Errors
///
/// The text means none.
pub(crate) fn value_of_text(text: &str, data_type: &DataType) -> Result<ScalarValue> {
    let values: ArrayRef = Arc::new(StringArray::from(vec![text]));
    ScalarValue::try_from_array(&convert(&values, data_type, Failing::Error)?, 0)
}

/// A number: an integer, a DOUBLE when it has an exponent, else an exact decimal; `None` leaves it to DataFusion.
pub(crate) fn number(digits: &str) -> Option<ScalarValue> {
    if let Ok(value) = digits.parse::<i64>() {
        return Some(ScalarValue::Int64(Some(value)));
    }
    if digits.contains(['e', 'E']) {
        // What is too large for a DOUBLE is left to DataFusion, which says so.
        let value = digits.parse::<f64>().ok().filter(|value| value.is_finite());
        return value.map(|value| ScalarValue::Float64(Some(value)));
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let unscaled: i128 = format!("{whole}{fraction}").parse().ok()?;
    let figures = unscaled.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1);
    let precision = u8::try_from(figures.max(fraction.len()).max(1)).ok().filter(|precision| *precision <= 38)?;
    Some(ScalarValue::Decimal128(Some(unscaled), precision, i8::try_from(fraction.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(number("12"), Some(ScalarValue::Int64(Some(12))));
        assert_eq!(number("-9223372036854775808"), Some(ScalarValue::Int64(Some(i64::MIN))));
        assert_eq!(number("9223372036854775808"), Some(ScalarValue::Decimal128(Some(1 << 63), 19, 0)));
        assert_eq!(number("18446744073709551616"), Some(ScalarValue::Decimal128(Some(1 << 64), 20, 0)));
        assert_eq!(number("1.50"), Some(ScalarValue::Decimal128(Some(150), 3, 2)));
        assert_eq!(number("-.05"), Some(ScalarValue::Decimal128(Some(-5), 2, 2)));
        assert_eq!(number("0.0"), Some(ScalarValue::Decimal128(Some(0), 1, 1)));
        assert_eq!(number("1e3"), Some(ScalarValue::Float64(Some(1000.0))));
        assert_eq!(number("1_000"), None);
        assert_eq!(number(&"9".repeat(39)), None);
    }
}
