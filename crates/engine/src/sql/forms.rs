//! Forms of expressions that stand for others: LIKE and SIMILAR TO with an ESCAPE, LIKE ANY (array), BETWEEN SYMMETRIC, OVERLAPS,
//! substrings by patterns.

use crate::functions::{LIKE_EACH, LIKE_ESCAPE, SIMILAR_PATTERN, SUBSTRING_OF, SUBSTRING_SIMILAR, like};
use crate::sql::arrays::written_out;
use crate::sql::infix::SYMMETRIC;
use crate::sql::operators::{call, take};
use crate::temporal::OVERLAPS;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value, ValueWithSpan,
};
use gingham_storage::SqlState;

/// Writes an expression out, whose parts are written out already.
pub(super) fn write_out(expression: &mut Expr) -> Result<()> {
    match expression {
        Expr::SimilarTo { pattern, escape_char, .. } if !is_call_of(pattern, SIMILAR_PATTERN) => {
            let escape = match escape_char.take() {
                None => text("\\"),
                Some(escape) => escape_of(escape, "SIMILAR TO")?,
            };
            **pattern = call(SIMILAR_PATTERN, vec![take(pattern), escape]);
        }
        Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } => {
            if let Some(escape) = escape_char.take() {
                let escape = escape_of(escape, "LIKE")?;
                **pattern = escaped(take(pattern), escape)?;
            }
        }
        Expr::Between { expr, negated, low, high } if is_symmetric(low) => {
            let Expr::Prefixed { value: low, .. } = take(low) else { return Ok(()) };
            let between = |low: Box<Expr>, high: Box<Expr>| {
                let expr = expr.clone();
                Box::new(Expr::Between { expr, negated: false, low, high })
            };
            let (left, right) = (between(low.clone(), high.clone()), between(high.clone(), low));
            let either = Expr::Nested(Box::new(Expr::BinaryOp { left, op: BinaryOperator::Or, right }));
            *expression = if *negated { not(either) } else { either };
        }
        Expr::AnyOp { left, compare_op, right, .. } => {
            if let Some(each) = each_like(left, compare_op, right, false)? {
                *expression = each;
            }
        }
        Expr::AllOp { left, compare_op, right } => {
            if let Some(each) = each_like(left, compare_op, right, true)? {
                *expression = each;
            }
        }
        Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } => {
            let both = [("left", left), ("right", right)].map(|(side, own)| span(own, side));
            let [first, second] = both;
            *expression = call(OVERLAPS, [first?, second?].concat());
        }
        Expr::Substring { expr, substring_from: Some(from), substring_for, shorthand: false, .. } if is_text(from) => {
            *expression = match substring_for {
                None => call(SUBSTRING_OF, vec![take(expr), take(from)]),
                Some(escape) => call(SUBSTRING_SIMILAR, vec![take(expr), take(from), take(escape)]),
            };
        }
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedByteStringLiteral(bits), .. }) => {
            return Err(Error::Unsupported(format!(
                "not supported: B'{bits}', a string of bits, for which there is no type; a text '{bits}', a number or bytes (X'…') \
                 may do"
            )));
        }
        _ => {}
    }
    Ok(())
}

fn text(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

fn not(expression: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expression) }
}

fn is_call_of(expression: &Expr, name: &str) -> bool {
    matches!(expression, Expr::Function(function) if function.name.to_string() == name)
}

fn is_symmetric(low: &Expr) -> bool {
    matches!(low, Expr::Prefixed { prefix, .. } if prefix.value == SYMMETRIC && prefix.quote_style.is_none())
}

fn is_query(expression: &Expr) -> bool {
    match expression {
        Expr::Subquery(_) => true,
        Expr::Nested(inner) => is_query(inner),
        _ => false,
    }
}

/// The text that a constant is.
fn constant(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(own) => match &own.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text),
            Value::DollarQuotedString(text) => Some(&text.value),
            _ => None,
        },
        Expr::Nested(inner) => constant(inner),
        _ => None,
    }
}

fn is_text(expression: &Expr) -> bool {
    constant(expression).is_some()
}

/// The value behind ESCAPE.
fn escape_of(escape: ValueWithSpan, operator: &str) -> Result<Expr> {
    let refused = |what: String| {
        let text = format!("{operator} … ESCAPE {what}: the escape must be one character, or none");
        Err(Error::invalid(SqlState::InvalidEscapeSequence, text))
    };
    match &escape.value {
        Value::Null | Value::Placeholder(_) => Ok(Expr::Value(escape)),
        other => match constant(&Expr::Value(escape.clone())) {
            Some(letters) if letters.chars().nth(1).is_none() => Ok(text(letters)),
            _ => refused(other.to_string()),
        },
    }
}

/// A pattern whose escape is the backslash.
fn escaped(pattern: Expr, escape: Expr) -> Result<Expr> {
    Ok(match (constant(&pattern), constant(&escape)) {
        (_, Some("\\")) => pattern,
        (Some(own), Some(letter)) => text(&like::escaped(own, letter.chars().next())),
        _ => call(LIKE_ESCAPE, vec![pattern, escape]),
    })
}

/// LIKE ANY or ALL of an array; `None` for another operator, and for a query, which keeps the operator by its words.
fn each_like(left: &mut Expr, operator: &mut BinaryOperator, right: &mut Expr, is_all: bool) -> Result<Option<Expr>> {
    let words = match operator {
        BinaryOperator::Custom(words) => words.clone(),
        BinaryOperator::PGLikeMatch => "LIKE".to_owned(),
        BinaryOperator::PGILikeMatch => "ILIKE".to_owned(),
        BinaryOperator::PGNotLikeMatch => "NOT LIKE".to_owned(),
        BinaryOperator::PGNotILikeMatch => "NOT ILIKE".to_owned(),
        _ => return Ok(None),
    };
    if is_query(right) {
        *operator = BinaryOperator::Custom(words);
        return Ok(None);
    }
    let (left, patterns) = (take(left), take(right));
    let Some(patterns) = written_out(&patterns)? else {
        let how = format!("{words} {}", if is_all { "ALL" } else { "ANY" });
        return Ok(Some(call(LIKE_EACH, vec![left, patterns, text(&how)])));
    };
    let each: Vec<Expr> = patterns.into_iter().filter_map(|pattern| like_of(&words, left.clone(), pattern)).collect();
    let operator = if is_all { BinaryOperator::And } else { BinaryOperator::Or };
    Ok(combined(each, &operator))
}

/// A LIKE in brackets.
fn like(left: Expr, pattern: Expr, negated: bool, is_sensitive: bool) -> Expr {
    let (expr, pattern) = (Box::new(left), Box::new(pattern));
    Expr::Nested(Box::new(match is_sensitive {
        true => Expr::Like { negated, any: false, expr, pattern, escape_char: None },
        false => Expr::ILike { negated, any: false, expr, pattern, escape_char: None },
    }))
}

/// The LIKE that an operator before ANY and ALL is for each pattern; `None` for any other operator.
pub(crate) fn like_of(operator: &str, left: Expr, pattern: Expr) -> Option<Expr> {
    let (negated, is_sensitive) = match operator {
        "LIKE" => (false, true),
        "NOT LIKE" => (true, true),
        "ILIKE" => (false, false),
        "NOT ILIKE" => (true, false),
        _ => return None,
    };
    Some(like(left, pattern, negated, is_sensitive))
}

/// Conditions combined as a tree, which is shallow however many they are.
fn combined(mut parts: Vec<Expr>, operator: &BinaryOperator) -> Option<Expr> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let right = Box::new(combined(parts.split_off(parts.len() / 2), operator)?);
    let left = Box::new(combined(parts, operator)?);
    Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op: operator.clone(), right })))
}

/// The two values of a side of OVERLAPS.
fn span(row: &mut Expr, side: &str) -> Result<Vec<Expr>> {
    let values = match row {
        Expr::Nested(inner) => return span(inner, side),
        Expr::Tuple(values) => std::mem::take(values),
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("row") => match &mut function.args {
            FunctionArguments::List(list) => {
                let value = |argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
                    _ => None,
                };
                list.args.drain(..).filter_map(value).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    if values.len() == 2 {
        return Ok(values);
    }
    Err(Error::invalid(
        SqlState::SyntaxError,
        format!(
            "OVERLAPS has two values in brackets on each side: (start, end) OVERLAPS (start, end); the {side} side differs"
        ),
    ))
}
