//! Patterns of LIKE and regular expressions, which DataFusion reads otherwise than PostgreSQL.

use crate::functions::like::{ends_in_escape, like_pattern};
use crate::functions::regular::{is_regular, regular_expression, regular_test, written, written_test};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Like, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr as Planned, lit};

/// Functions whose second argument is a regular expression, and which argument its flags are.
const FUNCTIONS: [(&str, usize); 2] = [("regexp_like", 2), ("regexp_match", 2)];

/// A part of an expression, with its pattern as DataFusion must have it.
pub(super) fn with_pattern(part: Planned) -> Result<Transformed<Planned>> {
    match part {
        Planned::BinaryExpr(BinaryExpr { left, op, right }) if is_regular(op) => {
            let right = Box::new(expression(*right, lit(""), true)?);
            Ok(Transformed::yes(Planned::BinaryExpr(BinaryExpr { left, op, right })))
        }
        Planned::Like(Like { negated, expr, pattern, escape_char: None, case_insensitive }) => {
            let is_whole = text(&pattern).is_some_and(|text| text.is_none_or(|text| !ends_in_escape(text)));
            let pattern = if is_whole { *pattern } else { like_pattern().call(vec![*pattern, (*expr).clone()]) };
            let like = Like { negated, expr, pattern: Box::new(pattern), escape_char: None, case_insensitive };
            Ok(if is_whole { Transformed::no(Planned::Like(like)) } else { Transformed::yes(Planned::Like(like)) })
        }
        Planned::ScalarFunction(ScalarFunction { func, mut args }) => {
            let known = FUNCTIONS.iter().find(|(name, _)| *name == func.name());
            let Some((name, at)) = known.filter(|_| args.len() >= 2) else {
                return Ok(Transformed::no(Planned::ScalarFunction(ScalarFunction { func, args })));
            };
            let mut flags = lit("");
            // The flag that each match is meant by is refused by name.
            if args.len() > *at && !text(&args[*at]).flatten().is_some_and(|flags| flags.contains('g')) {
                // What stays in its place is what all expressions have.
                flags = std::mem::replace(&mut args[*at], lit("s"));
                if args.len() == at + 1 {
                    args.pop();
                }
            }
            let pattern = std::mem::replace(&mut args[1], lit(""));
            args[1] = expression(pattern, flags, *name == "regexp_like")?;
            Ok(Transformed::yes(Planned::ScalarFunction(ScalarFunction { func, args })))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// The text of a constant; `None` for what is no text, or none that is known.
fn text(expression: &Planned) -> Option<Option<&str>> {
    match expression {
        Planned::Literal(ScalarValue::Null, _) => Some(None),
        Planned::Literal(value, _) => value.try_as_str(),
        _ => None,
    }
}

/// A regular expression with its flags.
fn expression(pattern: Planned, flags: Planned, is_test: bool) -> Result<Planned> {
    Ok(match (text(&pattern), text(&flags)) {
        (Some(None), _) => pattern,
        (Some(Some(own)), Some(Some(flags))) if is_test => lit(written_test(own, flags)?),
        (Some(Some(own)), Some(Some(flags))) => lit(written(own, flags)?),
        _ if is_test => regular_test().call(vec![pattern, flags]),
        _ => regular_expression().call(vec![pattern, flags]),
    })
}
