//! Ranks that a row would have: `rank(3) WITHIN GROUP (ORDER BY x)` and its kin, which are counts of the rows before it.

use crate::sql::operators::{call, cast, number, take};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, DuplicateTreatment, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, ObjectNamePart, OrderByExpr,
};
use gingham_storage::SqlState;

/// The counts that a call of such a function stands for.
pub(super) fn counted(function: &mut Function) -> Result<Option<Expr>> {
    let [ObjectNamePart::Identifier(ident)] = function.name.0.as_slice() else { return Ok(None) };
    let name = ident.value.to_ascii_lowercase();
    let is_rank = ["rank", "dense_rank", "percent_rank", "cume_dist"].contains(&name.as_str());
    if !is_rank || function.within_group.is_empty() {
        return Ok(None);
    }
    let keys = std::mem::take(&mut function.within_group);
    let FunctionArguments::List(list) = &mut function.args else { return Ok(None) };
    let values = list.args.iter_mut().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok(take(value)),
        other => Err(Error::invalid(SqlState::UndefinedFunction, format!("{name} does not take {other}"))),
    });
    let values = values.collect::<Result<Vec<_>>>()?;
    if values.len() != keys.len() {
        return Err(Error::invalid(
            SqlState::UndefinedFunction,
            format!("{name} WITHIN GROUP takes a value for each key: {} for {}", values.len(), keys.len()),
        ));
    }
    let counting = Counting { filter: function.filter.take().map(|filter| *filter) };
    let before = before(&keys, &values, 0);
    let more = |count: Expr| nested(binary(count, BinaryOperator::Plus, number("1")));
    Ok(Some(match name.as_str() {
        "rank" => more(counting.rows(Some(before))),
        "dense_rank" => match keys.as_slice() {
            [key] => more(counting.count(vec![key.expr.clone()], Some(before), true)),
            _ => {
                return Err(Error::Unsupported(
                    "dense_rank WITHIN GROUP of several keys is not supported; give it one, or count DISTINCT rows"
                        .to_owned(),
                ));
            }
        },
        "percent_rank" => {
            let zero = number("0");
            let all = call("nullif", vec![counting.rows(None), zero.clone()]);
            call("coalesce", vec![binary(double(counting.rows(Some(before))), BinaryOperator::Divide, all), zero])
        }
        _ => {
            let same = keys.iter().zip(&values).map(|(key, value)| same(key, value));
            let same = same.reduce(|all, own| binary(all, BinaryOperator::And, own));
            let reached =
                same.into_iter().fold(before, |all, own| binary(nested(all), BinaryOperator::Or, nested(own)));
            let quotient =
                binary(double(more(counting.rows(Some(reached)))), BinaryOperator::Divide, more(counting.rows(None)));
            nested(quotient)
        }
    }))
}

fn nested(inner: Expr) -> Expr {
    Expr::Nested(Box::new(inner))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

fn double(expr: Expr) -> Expr {
    cast(expr, DataType::Double(ExactNumberInfo::None))
}

fn same(key: &OrderByExpr, value: &Expr) -> Expr {
    Expr::IsNotDistinctFrom(Box::new(nested(key.expr.clone())), Box::new(nested(value.clone())))
}

/// Whether a row comes before one of such values, from key `at` on.
fn before(keys: &[OrderByExpr], values: &[Expr], at: usize) -> Expr {
    let (key, value) = (nested(keys[at].expr.clone()), nested(values[at].clone()));
    let ascending = keys[at].options.asc.unwrap_or(true);
    let operator = if ascending { BinaryOperator::Lt } else { BinaryOperator::Gt };
    let is_null = |of: &Expr| Expr::IsNull(Box::new(of.clone()));
    let is_value = |of: &Expr| Expr::IsNotNull(Box::new(of.clone()));
    let by_null = match keys[at].options.nulls_first.unwrap_or(!ascending) {
        true => binary(is_null(&key), BinaryOperator::And, is_value(&value)),
        false => binary(is_value(&key), BinaryOperator::And, is_null(&value)),
    };
    let own = nested(binary(nested(binary(key, operator, value)), BinaryOperator::Or, nested(by_null)));
    if at + 1 == keys.len() {
        return own;
    }
    let rest = binary(same(&keys[at], &values[at]), BinaryOperator::And, before(keys, values, at + 1));
    nested(binary(own, BinaryOperator::Or, nested(rest)))
}

/// Counts of the rows of a call.
struct Counting {
    filter: Option<Expr>,
}

impl Counting {
    fn rows(&self, condition: Option<Expr>) -> Expr {
        let mut count = self.count(Vec::new(), condition, false);
        if let Expr::Function(function) = &mut count
            && let FunctionArguments::List(list) = &mut function.args
        {
            list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
        }
        count
    }

    fn count(&self, arguments: Vec<Expr>, condition: Option<Expr>, distinct: bool) -> Expr {
        let mut count = call("count", arguments);
        if let Expr::Function(function) = &mut count {
            let both = self.filter.clone().into_iter().chain(condition);
            function.filter = both.map(nested).reduce(|all, own| binary(all, BinaryOperator::And, own)).map(Box::new);
            if let FunctionArguments::List(list) = &mut function.args {
                list.duplicate_treatment = distinct.then_some(DuplicateTreatment::Distinct);
            }
        }
        count
    }
}
