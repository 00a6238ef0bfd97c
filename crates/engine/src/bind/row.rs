//! Comparisons of rows: `(a, b) = (c, d)`, `(a, b) < (c, d)`, `(a, b) IN ((1, 2), …)`. They are written out value by value,
//! which gives them SQL's three truth values. One with a query's rows becomes a query that compares: of `(a, b) IN (q)` it is
//! `TRUE IN (SELECT (a, b) = (x, y) FROM (q) AS rows (x, y))`.

use crate::bind::error;
use crate::sql::dialect::Gingham;
use crate::sql::forms::like_of;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Select, SelectItem, SetExpr,
    Spanned, Statement, TableFactor, UnaryOperator, Value,
};
use datafusion::sql::sqlparser::parser::Parser;
use gingham_storage::SqlState;
use std::borrow::Cow;

/// A comparison of rows as one of their values; `None` for any other expression.
pub(super) fn written_out(expression: &Expr) -> Result<Option<Expr>> {
    match expression {
        Expr::BinaryOp { left, op, right } => match (values(left), values(right)) {
            (Some(own), Some(others)) => {
                same_length(&own, &others, expression)?;
                Ok(compared(&own, op, &others))
            }
            _ => Ok(None),
        },
        Expr::InList { expr, list, negated } => {
            let Some(own) = values(expr) else { return Ok(None) };
            let mut equal = Vec::with_capacity(list.len());
            for other in list {
                let Some(others) = values(other) else { return Ok(None) };
                same_length(&own, &others, expression)?;
                equal.extend(compared(&own, &BinaryOperator::Eq, &others));
            }
            let any = combined(equal, &BinaryOperator::Or);
            Ok(any.map(|any| if *negated { not(any) } else { any }))
        }
        Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
            let Some(own) = row(inner) else { return Ok(None) };
            let is_null = matches!(expression, Expr::IsNull(_));
            let test = |value: &Expr| match is_null {
                true => Expr::IsNull(Box::new(value.clone())),
                false => Expr::IsNotNull(Box::new(value.clone())),
            };
            Ok(combined(own.iter().map(test).collect(), &BinaryOperator::And))
        }
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
            let (Some(own), Some(others)) = (values(left), values(right)) else { return Ok(None) };
            same_length(&own, &others, expression)?;
            let differ = matches!(expression, Expr::IsDistinctFrom(..));
            let test = |(left, right): (&Expr, &Expr)| {
                let (left, right) = (Box::new(left.clone()), Box::new(right.clone()));
                Expr::Nested(Box::new(if differ {
                    Expr::IsDistinctFrom(left, right)
                } else {
                    Expr::IsNotDistinctFrom(left, right)
                }))
            };
            let operator = if differ { BinaryOperator::Or } else { BinaryOperator::And };
            Ok(combined(own.iter().zip(others.iter()).map(test).collect(), &operator))
        }
        Expr::Between { expr, negated, low, high } => {
            let (Some(own), Some(least), Some(most)) = (values(expr), values(low), values(high)) else {
                return Ok(None);
            };
            same_length(&own, &least, expression)?;
            same_length(&own, &most, expression)?;
            let bounds =
                compared(&own, &BinaryOperator::GtEq, &least).zip(compared(&own, &BinaryOperator::LtEq, &most));
            let within = bounds.map(|(least, most)| binary(least, BinaryOperator::And, most));
            Ok(within.map(|within| if *negated { not(within) } else { within }))
        }
        _ => Ok(None),
    }
}

/// What the rows of a query are called that a row is compared with: no user's name.
pub(super) const ROWS: &str = "(rows)";

/// A comparison of a row with a query's rows, as a query of truths.
pub(super) fn of_query(expression: &Expr) -> Result<Option<Expr>> {
    let truth = || Box::new(Expr::value(Value::Boolean(true)));
    let within = |query: Query| Box::new(Expr::Subquery(Box::new(query)));
    Ok(match expression {
        Expr::InSubquery { expr, subquery, negated } => match values(expr) {
            None => None,
            Some(own) => {
                let subquery = Box::new(truths(&own, &BinaryOperator::Eq, subquery, false)?);
                Some(Expr::InSubquery { expr: truth(), subquery, negated: *negated })
            }
        },
        Expr::AnyOp { left, compare_op: BinaryOperator::Custom(like), right, is_some } => match query_of(right) {
            None => None,
            Some(query) => {
                let operator = BinaryOperator::Custom(like.clone());
                let right = within(truths(std::slice::from_ref(left), &operator, query, false)?);
                Some(Expr::AnyOp { left: truth(), compare_op: BinaryOperator::Eq, right, is_some: *is_some })
            }
        },
        Expr::AllOp { left, compare_op: BinaryOperator::Custom(like), right } => match query_of(right) {
            None => None,
            Some(query) => {
                let operator = BinaryOperator::Custom(like.clone());
                let right = within(truths(std::slice::from_ref(left), &operator, query, false)?);
                Some(Expr::AllOp { left: truth(), compare_op: BinaryOperator::Eq, right })
            }
        },
        Expr::AnyOp { left, compare_op, right, is_some } => match (values(left), query_of(right)) {
            (Some(own), Some(query)) => {
                let right = within(truths(&own, compare_op, query, false)?);
                let compare_op = BinaryOperator::Eq;
                Some(Expr::AnyOp { left: truth(), compare_op, right, is_some: *is_some })
            }
            _ => None,
        },
        Expr::AllOp { left, compare_op, right } => match (values(left), query_of(right)) {
            (Some(own), Some(query)) => {
                let right = within(truths(&own, compare_op, query, false)?);
                Some(Expr::AllOp { left: truth(), compare_op: BinaryOperator::Eq, right })
            }
            _ => None,
        },
        Expr::BinaryOp { left, op, right } => match (values(left), query_of(right), query_of(left), values(right)) {
            (Some(own), Some(query), ..) => Some(Expr::Subquery(Box::new(truths(&own, op, query, false)?))),
            (_, _, Some(query), Some(own)) => Some(Expr::Subquery(Box::new(truths(&own, op, query, true)?))),
            _ => None,
        },
        _ => None,
    })
}

/// Whether each row of `query` compares with a row of values, which stand on the right if `mirrored`.
fn truths(own: &[Expr], operator: &BinaryOperator, query: &Query, mirrored: bool) -> Result<Query> {
    let names: Vec<Ident> = (1..=own.len()).map(|number| Ident::with_quote('"', format!("({number})"))).collect();
    let column = |name: &Ident| Expr::CompoundIdentifier(vec![Ident::with_quote('"', ROWS), name.clone()]);
    let others: Vec<Expr> = names.iter().map(column).collect();
    let compared = if mirrored { compared(&others, operator, own) } else { compared(own, operator, &others) };
    let compared =
        compared.ok_or_else(|| error::unsupported(format!("{operator} between a row and a query's rows")))?;
    let listed: Vec<String> = names.iter().map(Ident::to_string).collect();
    let form = format!("SELECT NULL FROM (SELECT NULL) AS \"{ROWS}\" ({})", listed.join(", "));
    let parsed = Parser::parse_sql(&Gingham, &form).map_err(|error| Error::Internal(error.to_string()))?;
    let Some(Statement::Query(mut outer)) = parsed.into_iter().next() else {
        return Err(Error::Internal("a query's form is no query".into()));
    };
    if let SetExpr::Select(select) = &mut *outer.body {
        let Select { projection, from, .. } = &mut **select;
        *projection = vec![SelectItem::UnnamedExpr(compared)];
        for tables in from {
            if let TableFactor::Derived { subquery, .. } = &mut tables.relation {
                **subquery = query.clone();
            }
        }
    }
    Ok(*outer)
}

/// The query that an expression is.
pub(super) fn query_of(expression: &Expr) -> Option<&Query> {
    match expression {
        Expr::Subquery(query) => Some(query),
        Expr::Nested(inner) => query_of(inner),
        _ => None,
    }
}

/// The values of a row, which may be one alone: `ROW (a)`.
fn row(expression: &Expr) -> Option<Cow<'_, [Expr]>> {
    match expression {
        Expr::Nested(inner) => row(inner),
        Expr::Function(call) if call.over.is_none() && call.name.to_string().eq_ignore_ascii_case("row") => {
            let FunctionArguments::List(list) = &call.args else { return None };
            match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] => Some(Cow::Owned(vec![value.clone()])),
                _ => values(expression),
            }
        }
        _ => values(expression),
    }
}

/// The values of a row of several.
fn values(expression: &Expr) -> Option<Cow<'_, [Expr]>> {
    match expression {
        Expr::Tuple(values) if values.len() > 1 => Some(Cow::Borrowed(values)),
        Expr::Nested(inner) => values(inner),
        // `ROW (a, b)`.
        Expr::Function(call) if call.over.is_none() && call.name.to_string().eq_ignore_ascii_case("row") => {
            let FunctionArguments::List(list) = &call.args else { return None };
            let value = |argument: &FunctionArg| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
                _ => None,
            };
            let own = list.args.iter().map(value).collect::<Option<Vec<Expr>>>()?;
            (own.len() > 1).then_some(Cow::Owned(own))
        }
        _ => None,
    }
}

fn same_length(own: &[Expr], others: &[Expr], expression: &Expr) -> Result<()> {
    if own.len() == others.len() {
        return Ok(());
    }
    let text = format!("a row of {} values is compared with one of {}", own.len(), others.len());
    Err(error::invalid(SqlState::SyntaxError, text, expression.span()))
}

fn compared(own: &[Expr], operator: &BinaryOperator, others: &[Expr]) -> Option<Expr> {
    let each = || own.iter().zip(others).map(|(left, right)| binary(left.clone(), operator.clone(), right.clone()));
    match operator {
        BinaryOperator::Eq => combined(each().collect(), &BinaryOperator::And),
        BinaryOperator::NotEq => combined(each().collect(), &BinaryOperator::Or),
        BinaryOperator::Lt | BinaryOperator::LtEq => ordered(own, &BinaryOperator::Lt, operator, others),
        BinaryOperator::Gt | BinaryOperator::GtEq => ordered(own, &BinaryOperator::Gt, operator, others),
        BinaryOperator::Custom(like) => match (own, others) {
            ([own], [other]) => like_of(like, own.clone(), other.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// `a < c OR a = c AND (b <= d)`: the first values that differ decide.
fn ordered(own: &[Expr], strict: &BinaryOperator, last: &BinaryOperator, others: &[Expr]) -> Option<Expr> {
    let mut pairs = own.iter().cloned().zip(others.iter().cloned()).rev();
    let (left, right) = pairs.next()?;
    Some(pairs.fold(binary(left, last.clone(), right), |decided, (left, right)| {
        let differ = binary(left.clone(), strict.clone(), right.clone());
        let equal = binary(left, BinaryOperator::Eq, right);
        binary(differ, BinaryOperator::Or, binary(equal, BinaryOperator::And, decided))
    }))
}

/// Conditions combined as a tree, which is shallow however many they are.
pub(super) fn combined(mut parts: Vec<Expr>, operator: &BinaryOperator) -> Option<Expr> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let right = parts.split_off(parts.len() / 2);
    Some(binary(combined(parts, operator)?, operator.clone(), combined(right, operator)?))
}

/// An operation on two expressions, in brackets.
fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }))
}

fn not(expression: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expression) }))
}
