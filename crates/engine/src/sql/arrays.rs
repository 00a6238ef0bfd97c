//! Arrays as PostgreSQL reads them: `ANY` and `ALL` of arrays with SQL's three truth values, subscripts and slices that count
//! from 1, and functions that DataFusion has by another name.

use crate::casts::{Element, depth_of, elements_of};
use crate::functions::{COMPARE_ALL, COMPARE_ANY};
use crate::sql::array_queries;
use crate::sql::operators::{call, cast, number, take};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, ObjectNamePart, Subscript, UnaryOperator, Value,
};

/// Beyond the end of every array.
const END: &str = "2147483647";

/// After the parts of an expression: what it means.
pub(crate) fn mend(expression: &mut Expr) -> Result<()> {
    match expression {
        Expr::AnyOp { left, compare_op, right, .. } => {
            if let Some(own) = compared(left, compare_op, right, true)? {
                *expression = own;
            }
        }
        Expr::AllOp { left, compare_op, right } => {
            if let Some(own) = compared(left, compare_op, right, false)? {
                *expression = own;
            }
        }
        Expr::BinaryOp { left, op: BinaryOperator::PGOverlap, right } => {
            *expression = call("array_has_any", vec![take(left), take(right)]);
        }
        Expr::Cast { expr, data_type, .. } => deepen(expr, data_type),
        Expr::CompoundFieldAccess { access_chain, .. } => access_chain.iter_mut().for_each(subscript),
        Expr::Function(function) => {
            if let Some(own) = array_queries::of_function(function)? {
                *expression = own;
            } else if let Some(own) = of_function(function) {
                *expression = own;
            }
        }
        _ => {}
    }
    Ok(())
}

/// `left = ANY (array)` as a list of its elements where they are written out, or else as a call.
fn compared(left: &mut Expr, operator: &BinaryOperator, right: &mut Expr, is_any: bool) -> Result<Option<Expr>> {
    if let Some(query) = array_queries::query_within(right) {
        *right = Expr::Subquery(Box::new(query));
    }
    if is_query(right) {
        return Ok(None);
    }
    let sign = match operator {
        BinaryOperator::Eq => "=",
        BinaryOperator::NotEq => "<>",
        BinaryOperator::Lt => "<",
        BinaryOperator::LtEq => "<=",
        BinaryOperator::Gt => ">",
        BinaryOperator::GtEq => ">=",
        // LIKE and its kin.
        _ => return Ok(None),
    };
    let negated = match (operator, is_any) {
        (BinaryOperator::Eq, true) => Some(false),
        (BinaryOperator::NotEq, false) => Some(true),
        _ => None,
    };
    if let Some(negated) = negated
        && let Some(list) = written_out(right)?
    {
        return Ok(Some(Expr::InList { expr: Box::new(take(left)), list, negated }));
    }
    let function = if is_any { COMPARE_ANY } else { COMPARE_ALL };
    let sign = Expr::value(Value::SingleQuotedString(sign.to_owned()));
    Ok(Some(call(function, vec![sign, take(left), take(right)])))
}

fn is_query(expression: &Expr) -> bool {
    match expression {
        Expr::Subquery(_) => true,
        Expr::Nested(inner) => is_query(inner),
        _ => false,
    }
}

/// The elements of an array that is written out, at least one and none of them an array.
pub(super) fn written_out(expression: &Expr) -> Result<Option<Vec<Expr>>> {
    match expression {
        Expr::Nested(inner) => written_out(inner),
        Expr::Array(array) if !array.elem.is_empty() && !array.elem.iter().any(|own| matches!(own, Expr::Array(_))) => {
            Ok(Some(array.elem.clone()))
        }
        Expr::Value(_) => of_text(expression, None),
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } => match data_type {
            DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => match &**expr {
                Expr::Array(array) if !array.elem.is_empty() => {
                    let own = written_out(expr)?;
                    Ok(own.map(|own| own.into_iter().map(|own| cast(own, (**element).clone())).collect()))
                }
                other => of_text(other, Some(element)),
            },
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The elements of `'{a,b}'`.
fn of_text(expression: &Expr, element: Option<&DataType>) -> Result<Option<Vec<Expr>>> {
    let Some(text) = text_of(expression) else { return Ok(None) };
    let elements = elements_of(text).map_err(Error::InvalidInput)?;
    if elements.is_empty() {
        return Ok(None);
    }
    let mut list = Vec::with_capacity(elements.len());
    for own in elements {
        let value = match own {
            Element::Null => Expr::value(Value::Null),
            Element::Text(text) => Expr::value(Value::SingleQuotedString(text)),
            Element::Array(_) => return Ok(None),
        };
        list.push(match element {
            Some(data_type) => cast(value, data_type.clone()),
            None => value,
        });
    }
    Ok(Some(list))
}

fn text_of(expression: &Expr) -> Option<&str> {
    let Expr::Value(own) = expression else { return None };
    match &own.value {
        Value::SingleQuotedString(text) => Some(text),
        _ => None,
    }
}

/// PostgreSQL has one type for arrays of any depth: the type of a cast gets that of what is written out.
fn deepen(expression: &Expr, data_type: &mut DataType) {
    let DataType::Array(ArrayElemTypeDef::SquareBracket(..)) = data_type else { return };
    let wanted = match expression {
        Expr::Array(_) => depth(expression),
        other => text_of(other).map_or(1, depth_of),
    };
    let mut own = 0;
    let mut inner = &*data_type;
    while let DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) = inner {
        own += 1;
        inner = element;
    }
    for _ in own..wanted {
        *data_type = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(data_type.clone()), None));
    }
}

fn depth(expression: &Expr) -> usize {
    match expression {
        Expr::Array(array) => 1 + array.elem.first().map_or(0, depth),
        _ => 0,
    }
}

/// Subscripts count from 1, and there is nothing before: DataFusion counts negative ones from the end.
fn subscript(access: &mut AccessExpr) {
    match access {
        AccessExpr::Subscript(Subscript::Index { index }) if is_negative(index) => *index = number("0"),
        AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: None }) => {
            *lower_bound = Some(match lower_bound.take() {
                None => number("1"),
                Some(own) if is_negative(&own) => number("1"),
                Some(own) => at_least(own, "1"),
            });
            *upper_bound = Some(match upper_bound.take() {
                None => number(END),
                Some(own) => at_least(own, "0"),
            });
        }
        _ => {}
    }
}

fn at_least(value: Expr, least: &str) -> Expr {
    match &value {
        Expr::Value(own) if matches!(&own.value, Value::Number(digits, _) if digits != "0") => value,
        _ => call("greatest", vec![value, number(least)]),
    }
}

fn is_negative(expression: &Expr) -> bool {
    matches!(expression, Expr::UnaryOp { op: UnaryOperator::Minus, expr } if matches!(&**expr, Expr::Value(_)))
}

/// The call of DataFusion's that one of PostgreSQL's is; those that have but another name get that.
fn of_function(function: &mut Function) -> Option<Expr> {
    let [ObjectNamePart::Identifier(ident)] = function.name.0.as_mut_slice() else { return None };
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let argument = |own: &FunctionArg| match own {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(own)) => Some(own.clone()),
        _ => None,
    };
    match (ident.value.to_ascii_lowercase().as_str(), list.args.as_slice()) {
        // DataFusion's of these names are about the first one alone.
        ("array_remove", [_, _]) => ident.value = "array_remove_all".to_owned(),
        ("array_replace", [_, _, _]) => ident.value = "array_replace_all".to_owned(),
        ("array_fill", [value, lengths]) => {
            let (value, Expr::Array(lengths)) = (argument(value)?, argument(lengths)?) else { return None };
            let mut lengths = lengths.elem.into_iter().rev();
            let first = call("array_repeat", vec![value, lengths.next()?]);
            return Some(lengths.fold(first, |inner, length| call("array_repeat", vec![inner, length])));
        }
        ("trim_array", [array, count]) => {
            let (array, count) = (argument(array)?, argument(count)?);
            let length = call("array_length", vec![array.clone()]);
            let rest = Expr::BinaryOp {
                left: Box::new(length),
                op: BinaryOperator::Minus,
                right: Box::new(Expr::Nested(Box::new(count))),
            };
            return Some(call("array_slice", vec![array, number("1"), call("greatest", vec![rest, number("0")])]));
        }
        _ => {}
    }
    None
}
