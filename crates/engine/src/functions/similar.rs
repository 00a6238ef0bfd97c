//! SIMILAR TO: the pattern of the SQL standard as a regular expression that a whole text must match.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use arrow::array::{ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The function that makes a regular expression of a pattern of SIMILAR TO.
pub(crate) const SIMILAR_PATTERN: &str = "similar_pattern";

/// `similar_pattern(pattern, escape)`: the regular expression. An empty escape means that there is none.
pub(super) fn similar_pattern() -> Arc<ScalarUDF> {
    PureFunction::new(SIMILAR_PATTERN, texts, |_| Ok(DataType::Utf8), patterns).build()
}

fn texts(types: &[DataType]) -> Result<Vec<DataType>> {
    match types.len() {
        2 => Ok(vec![DataType::Utf8; 2]),
        count => invalid!(UndefinedFunction, "SIMILAR TO takes a pattern and an escape character, not {count} values"),
    }
}

fn patterns(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let [patterns, escapes] = [&arguments[0], &arguments[1]].map(|texts| cast(texts, &DataType::Utf8));
    let (patterns, escapes) = (patterns?, escapes?);
    let pairs = patterns.as_string::<i32>().iter().zip(escapes.as_string::<i32>());
    let expressions = pairs.map(|(pattern, escape)| pattern.zip(escape).map(|(p, e)| expression(p, e)).transpose());
    Ok(Arc::new(expressions.collect::<Result<StringArray>>()?))
}

/// The regular expression of one pattern.
fn expression(pattern: &str, escape: &str) -> Result<String> {
    let mut letters = escape.chars();
    let (escape, more) = (letters.next(), letters.next());
    if more.is_some() {
        return invalid!(InvalidEscapeSequence, "SIMILAR TO '{pattern}': the escape must be one character or none");
    }
    Ok(format!("(?s)^(?:{})$", part(pattern, escape, pattern, PatternPart::Whole)?))
}

/// How much a part of a pattern takes where it may take more or less.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum PatternPart {
    Whole,
    /// As little as it can.
    Shortest,
}

/// The regular expression of a part of `pattern`.
pub(super) fn part(text: &str, escape: Option<char>, pattern: &str, kind: PatternPart) -> Result<String> {
    let mut written = String::new();
    let mut letters = text.chars();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        if Some(letter) == escape {
            let Some(meant) = letters.next() else {
                return invalid!(
                    InvalidEscapeSequence,
                    "SIMILAR TO '{pattern}': the escape character at its end escapes nothing"
                );
            };
            literal(meant, &mut written);
            continue;
        }
        match letter {
            ']' if in_class => {
                in_class = false;
                written.push(']');
            }
            '\\' => written.push_str("\\\\"),
            // A class in a class means something else to a regular expression.
            '[' | '&' | '~' if in_class => literal(letter, &mut written),
            letter if in_class => written.push(letter),
            '[' => {
                in_class = true;
                written.push('[');
            }
            '%' => written.push_str(".*"),
            '_' => written.push('.'),
            '(' => written.push_str("(?:"),
            '.' | '^' | '$' => literal(letter, &mut written),
            letter => written.push(letter),
        }
        if kind == PatternPart::Shortest && !in_class && matches!(letter, '%' | '*' | '+' | '?' | '}') {
            written.push('?');
        }
    }
    Ok(written)
}

fn literal(letter: char, written: &mut String) {
    if !letter.is_alphanumeric() && letter.is_ascii() {
        written.push('\\');
    }
    written.push(letter);
}

#[cfg(test)]
mod tests {
    use super::expression;

    #[test]
    fn patterns_are_whole_and_escaped() {
        for (pattern, escape, expected) in [
            ("b", "\\", "(?s)^(?:b)$"),
            ("%(b|d)_", "\\", "(?s)^(?:.*(?:b|d).)$"),
            ("a.b", "\\", "(?s)^(?:a\\.b)$"),
            ("50\\%", "\\", "(?s)^(?:50\\%)$"),
            ("50#%", "#", "(?s)^(?:50\\%)$"),
            ("[a-c%]+", "\\", "(?s)^(?:[a-c%]+)$"),
            ("[^x]{2}", "\\", "(?s)^(?:[^x]{2})$"),
        ] {
            assert_eq!(expression(pattern, escape).unwrap(), expected, "{pattern}");
        }
        assert!(expression("a\\", "\\").is_err());
        assert!(expression("a", "xy").is_err());
    }
}
