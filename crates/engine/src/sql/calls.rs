//! Functions and operators of PostgreSQL that are calls of others: `|/ x` is sqrt, regexp_split_to_table gives the elements of
//! regexp_split_to_array as rows, date_trunc in a zone truncates the local time there.

use crate::functions::{BITS_INVERTED, EACH_MATCH, EXPANDED, KEYWORDS, SUBSCRIPTS};
use crate::sql::hypothetical;
use crate::sql::operators::{call, cast, number, take};
use crate::sql::postgres::of_text;
use crate::temporal::{AT_TIME_ZONE, TIME_OF};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart,
    TimezoneInfo, UnaryOperator,
};
use gingham_storage::SqlState;

/// Functions whose values are rows, and those that give the same values as a list.
const IN_ROWS: [(&str, &str); 6] = [
    ("generate_subscripts", SUBSCRIPTS),
    ("_pg_expandarray", EXPANDED),
    ("pg_get_keywords", KEYWORDS),
    ("regexp_split_to_table", "regexp_split_to_array"),
    ("string_to_table", "string_to_array"),
    ("regexp_matches", EACH_MATCH),
];

/// The function that gives as a list what `name` gives in rows.
pub(crate) fn list_of(name: &str) -> Option<&'static str> {
    IN_ROWS.iter().find(|(own, _)| *own == name).map(|(_, list)| *list)
}

/// Types whose names are functions that cast to them.
const CASTS: [&str; 8] = ["bool", "float4", "float8", "int2", "int4", "int8", "text", "timestamptz"];

/// What the arguments of make_interval are called.
const PARTS_OF_INTERVAL: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];

/// After the parts of an expression: the call that it stands for.
pub(crate) fn mend(expression: &mut Expr) -> Result<()> {
    match expression {
        Expr::UnaryOp { op, expr } => {
            let function = match op {
                UnaryOperator::PGSquareRoot => "sqrt",
                UnaryOperator::PGCubeRoot => "cbrt",
                UnaryOperator::PGAbs => "abs",
                UnaryOperator::BitwiseNot => BITS_INVERTED,
                _ => return Ok(()),
            };
            *expression = call(function, vec![take(expr)]);
        }
        Expr::BinaryOp { left, op: BinaryOperator::PGStartsWith, right } => {
            *expression = call("starts_with", vec![take(left), take(right)]);
        }
        Expr::Function(function) => {
            if let Some(own) = hypothetical::counted(function)? {
                *expression = own;
            } else if let Some(own) = of_function(function)? {
                *expression = own;
            }
        }
        _ => {}
    }
    Ok(())
}

fn of_function(function: &mut Function) -> Result<Option<Expr>> {
    let [ObjectNamePart::Identifier(ident)] = function.name.0.as_slice() else { return Ok(None) };
    let name = ident.value.to_ascii_lowercase();
    if name == "make_interval" {
        name_none(function)?;
        return Ok(None);
    }
    if CASTS.contains(&name.as_str())
        && let FunctionArguments::List(list) = &function.args
        && list.args.len() == 1
        && let Some(data_type) = of_text(&name, &[])
    {
        let value = unnamed(function).and_then(|mut own| own.pop());
        return Ok(value.map(|value| cast(value, data_type)));
    }
    if let Some(list) = list_of(&name) {
        let arguments = unnamed(function);
        return Ok(arguments.map(|arguments| call("unnest", vec![call(list, arguments)])));
    }
    if ["statement_timestamp", "transaction_timestamp"].contains(&name.as_str()) {
        return Ok(unnamed(function).map(|arguments| call("now", arguments)));
    }
    // The parser reads them without brackets.
    if matches!(function.args, FunctionArguments::None) {
        let now = || call("now", Vec::new());
        return Ok(match name.as_str() {
            // A cast to TIME is a call as well, which has been made for others by now.
            "localtime" => Some(call(TIME_OF, vec![now()])),
            "localtimestamp" => Some(cast(now(), DataType::Timestamp(Some(6), TimezoneInfo::None))),
            _ => None,
        });
    }
    if name == "timezone"
        && let FunctionArguments::List(list) = &function.args
        && list.args.len() == 2
    {
        let pair = unnamed(function).and_then(|arguments| <[Expr; 2]>::try_from(arguments).ok());
        return Ok(pair.map(|[zone, time]| call(AT_TIME_ZONE, vec![time, zone])));
    }
    if name == "age"
        && let FunctionArguments::List(list) = &function.args
        && list.args.len() == 1
    {
        let today = cast(call("current_date", Vec::new()), DataType::Timestamp(Some(6), TimezoneInfo::None));
        let time = unnamed(function).and_then(|mut own| own.pop());
        return Ok(time.map(|time| call("age", vec![today, time])));
    }
    if name == "date_trunc"
        && let FunctionArguments::List(list) = &function.args
        && list.args.len() == 3
    {
        let Some([unit, time, zone]) = unnamed(function).and_then(|arguments| <[Expr; 3]>::try_from(arguments).ok())
        else {
            return Ok(None);
        };
        let instant = cast(time, DataType::Timestamp(Some(6), TimezoneInfo::Tz));
        let local = call(AT_TIME_ZONE, vec![instant, zone.clone()]);
        return Ok(Some(call(AT_TIME_ZONE, vec![call("date_trunc", vec![unit, local]), zone])));
    }
    Ok(None)
}

/// The arguments of a call, where all of them are values without names.
fn unnamed(function: &mut Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let arguments = list.args.iter_mut().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(own)) => Some(own),
        _ => None,
    });
    let arguments = arguments.collect::<Option<Vec<&mut Expr>>>()?;
    Some(arguments.into_iter().map(take).collect())
}

/// Puts the arguments of make_interval in their order, with zeros for those that are missing.
fn name_none(function: &mut Function) -> Result<()> {
    let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
    let mut parts: Vec<Option<Expr>> = vec![None; PARTS_OF_INTERVAL.len()];
    for (at, argument) in list.args.iter_mut().enumerate() {
        let (at, own) = match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(own)) => (Some(at), own),
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(own), .. } => {
                (PARTS_OF_INTERVAL.iter().position(|part| name.value.eq_ignore_ascii_case(part)), own)
            }
            _ => return Ok(()),
        };
        match at.and_then(|at| parts.get_mut(at)) {
            Some(part) => *part = Some(take(own)),
            None => {
                return Err(Error::invalid(
                    SqlState::UndefinedFunction,
                    format!("make_interval takes {}, in this order or by name", PARTS_OF_INTERVAL.join(", ")),
                ));
            }
        }
    }
    let argument =
        |part: Option<Expr>| FunctionArg::Unnamed(FunctionArgExpr::Expr(part.unwrap_or_else(|| number("0"))));
    list.args = parts.into_iter().map(argument).collect();
    Ok(())
}
