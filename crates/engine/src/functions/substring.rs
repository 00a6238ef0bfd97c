//! `substring(text FROM pattern)`: what a regular expression finds, its first group if it has one; and
//! `substring(text SIMILAR pattern ESCAPE escape)`: what lies between the two marks of a pattern for whole texts.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::functions::regular::{compiled, written};
use crate::functions::similar::{PatternPart, part};
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use regex::Regex;
use std::sync::Arc;

/// The function that `substring(text FROM pattern)` is.
pub(crate) const SUBSTRING_OF: &str = "substring_of";
/// The function that `substring(text SIMILAR pattern ESCAPE escape)` is.
pub(crate) const SUBSTRING_SIMILAR: &str = "substring_similar";

/// `substring_of(text, pattern)`.
pub(super) fn substring_of() -> Arc<ScalarUDF> {
    let compute =
        |arguments: &[ArrayRef], _: &DataType| found(arguments, |pattern, _| compiled(&written(pattern, "")?));
    PureFunction::new(SUBSTRING_OF, texts, |_| Ok(DataType::Utf8View), compute).build()
}

/// `substring_similar(text, pattern, escape)`.
pub(super) fn substring_similar() -> Arc<ScalarUDF> {
    let compute =
        |arguments: &[ArrayRef], _: &DataType| found(arguments, |pattern, escape| compiled(&parted(pattern, escape)?));
    PureFunction::new(SUBSTRING_SIMILAR, texts, |_| Ok(DataType::Utf8View), compute).build()
}

fn texts(types: &[DataType]) -> Result<Vec<DataType>> {
    match types.iter().find(|data_type| !data_type.is_string() && !data_type.is_null()) {
        Some(other) => {
            invalid!(
                UndefinedFunction,
                "substring by a pattern takes texts, not {}; cast it to VARCHAR",
                type_name(other)
            )
        }
        None => Ok(vec![DataType::Utf8View; types.len()]),
    }
}

/// What the expressions find.
fn found(arguments: &[ArrayRef], expression: fn(&str, &str) -> Result<Regex>) -> Result<ArrayRef> {
    let views = arguments.iter().map(|texts| cast(texts, &DataType::Utf8View)).collect::<Result<Vec<_>, _>>()?;
    let (texts, patterns) = (views[0].as_string_view(), views[1].as_string_view());
    let escapes = views.get(2).map(|escapes| escapes.as_string_view());
    let mut kept: Option<(String, String, Regex)> = None;
    let mut results = StringViewBuilder::with_capacity(texts.len());
    for row in 0..texts.len() {
        if views.iter().any(|argument| argument.is_null(row)) {
            results.append_null();
            continue;
        }
        let (pattern, escape) = (patterns.value(row), escapes.map_or("", |escapes| escapes.value(row)));
        if !kept.as_ref().is_some_and(|(p, e, _)| p == pattern && e == escape) {
            kept = Some((pattern.to_owned(), escape.to_owned(), expression(pattern, escape)?));
        }
        let groups = kept.as_ref().and_then(|(.., expression)| expression.captures(texts.value(row)));
        let part = groups.as_ref().and_then(|groups| if groups.len() > 1 { groups.get(1) } else { groups.get(0) });
        results.append_option(part.map(|part| part.as_str()));
    }
    Ok(Arc::new(results.finish()))
}

/// The regular expression of a pattern whose escape before a double quote parts what is before, what is wanted and what is behind.
/// The first part is as short as can be.
fn parted(pattern: &str, escape: &str) -> Result<String> {
    let mut letters = escape.chars();
    let (letter, more) = (letters.next(), letters.next());
    if more.is_some() {
        return invalid!(InvalidEscapeSequence, "SIMILAR '{pattern}': the escape must be one character, or none");
    }
    let mut parts = vec![String::new()];
    let mut rest = pattern.chars();
    while let Some(own) = rest.next() {
        let last = parts.len() - 1;
        if Some(own) != letter {
            parts[last].push(own);
            continue;
        }
        match rest.next() {
            Some('"') => parts.push(String::new()),
            next => {
                parts[last].push(own);
                parts[last].extend(next);
            }
        }
    }
    let written = |at: usize, kind: PatternPart| part(&parts[at], letter, pattern, kind);
    match parts.len() {
        1 => Ok(format!("(?s)^(?:{})$", written(0, PatternPart::Whole)?)),
        2 => Ok(format!("(?s)^(?:{})({})$", written(0, PatternPart::Shortest)?, written(1, PatternPart::Whole)?)),
        3 => Ok(format!(
            "(?s)^(?:{})({})(?:{})$",
            written(0, PatternPart::Shortest)?,
            written(1, PatternPart::Whole)?,
            written(2, PatternPart::Whole)?
        )),
        _ => invalid!(
            InvalidUseOfEscapeCharacter,
            "SIMILAR '{pattern}': the escape before a double quote stands twice at most, around what is wanted"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::parted;
    use regex::Regex;

    #[test]
    fn the_middle_is_given() {
        for (text, pattern, expected) in [
            ("abcdefg", "a#\"(b_d)#\"%", Some("bcd")),
            ("abcdefg", "#\"(b_d)#\"%", None),
            ("abcdefg", "%#\"_#\"%", Some("a")),
            ("abcdefg", "a#\"%#\"g", Some("bcdef")),
            ("abcdefg", "a*#\"%#\"g*", Some("abcdefg")),
            ("abcdefg", "a|b#\"%#\"g", Some("bcdef")),
            ("abcdefg", "a#\"%#\"x|g", Some("bcdef")),
            ("abcdefg", "a#\"%|ab#\"g", Some("bcdef")),
        ] {
            let groups = Regex::new(&parted(pattern, "#").unwrap()).unwrap();
            let found = groups.captures(text).and_then(|groups| groups.get(1)).map(|part| part.as_str());
            assert_eq!(found, expected, "{text} {pattern}");
        }
        assert!(parted("a#\"b#\"c#\"d", "#").is_err());
        assert!(parted("a", "##").is_err());
    }
}
