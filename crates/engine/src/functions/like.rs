//! Patterns of LIKE: those that end in an escape that escapes nothing, where DataFusion takes the backslash for itself; those
//! with another escape than the backslash; and lists of them, of `LIKE ANY (list)`.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Scalar, StringViewArray};
use arrow::compute::kernels::comparison::{ilike, like};
use arrow::compute::{cast, not};
use arrow::datatypes::{DataType, Field};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The function that gives a pattern of LIKE the backslash as its escape.
pub(crate) const LIKE_ESCAPE: &str = "like_escape";
/// The function that LIKE ANY of a list is.
pub(crate) const LIKE_EACH: &str = "like_each";

/// Whether a pattern's last backslash escapes nothing.
pub(crate) fn ends_in_escape(pattern: &str) -> bool {
    pattern.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// `like_pattern(pattern, text)`: the pattern, if it is one or there is no text.
pub(crate) fn like_pattern() -> Arc<ScalarUDF> {
    let compute = |arguments: &[ArrayRef], _: &DataType| {
        let patterns = cast(&arguments[0], &DataType::Utf8View)?;
        let wrong = patterns.as_string_view().iter().enumerate();
        let mut wrong = wrong.filter_map(|(row, pattern)| Some((row, pattern.filter(|text| ends_in_escape(text))?)));
        match wrong.find(|(row, _)| !arguments[1].is_null(*row) && !arguments[1].data_type().is_null()) {
            Some((_, pattern)) => invalid!(
                InvalidEscapeSequence,
                "LIKE '{pattern}': the backslash at its end escapes nothing; two of them are one backslash"
            ),
            None => Ok(patterns),
        }
    };
    let types = |types: &[DataType]| match types {
        [pattern, _] if !pattern.is_string() && !pattern.is_null() => {
            invalid!(UndefinedFunction, "a pattern of LIKE is a text, not {}", type_name(pattern))
        }
        [_, text] => Ok(vec![DataType::Utf8View, text.clone()]),
        _ => invalid!(UndefinedFunction, "LIKE takes a text and a pattern"),
    };
    PureFunction::new("like_pattern", types, |_| Ok(DataType::Utf8View), compute).with_nulls().build()
}

/// A pattern whose escape is the backslash, which means what another means with its own escape, or with none.
pub(crate) fn escaped(pattern: &str, escape: Option<char>) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if Some(letter) == escape => {
                written.push('\\');
                written.extend(letters.next());
            }
            '\\' => written.push_str("\\\\"),
            letter => written.push(letter),
        }
    }
    written
}

/// `like_escape(pattern, escape)`: [`escaped`].
pub(super) fn like_escape() -> Arc<ScalarUDF> {
    let compute = |arguments: &[ArrayRef], _: &DataType| {
        let [patterns, escapes] = [&arguments[0], &arguments[1]].map(|texts| cast(texts, &DataType::Utf8View));
        let (patterns, escapes) = (patterns?, escapes?);
        let pairs = patterns.as_string_view().iter().zip(escapes.as_string_view());
        let written = pairs.map(|(pattern, escape)| {
            let Some((pattern, escape)) = pattern.zip(escape) else { return Ok(None) };
            let mut letters = escape.chars();
            let (escape, more) = (letters.next(), letters.next());
            if more.is_some() {
                return invalid!(InvalidEscapeSequence, "LIKE '{pattern}': the escape must be one character, or none");
            }
            Ok(Some(escaped(pattern, escape)))
        });
        Ok(Arc::new(written.collect::<Result<StringViewArray>>()?) as ArrayRef)
    };
    let types = |types: &[DataType]| match types.iter().find(|own| !own.is_string() && !own.is_null()) {
        Some(other) => invalid!(UndefinedFunction, "a pattern of LIKE is a text, not {}", type_name(other)),
        None => Ok(vec![DataType::Utf8View; types.len()]),
    };
    PureFunction::new(LIKE_ESCAPE, types, |_| Ok(DataType::Utf8View), compute).build()
}

/// `like_each(text, patterns, how)`: whether a text is like any or all of a list's patterns; `how` is `NOT ILIKE ALL` and the like.
pub(super) fn like_each() -> Arc<ScalarUDF> {
    let types = |types: &[DataType]| match types {
        [text, _, _] if !text.is_string() && !text.is_null() => {
            invalid!(UndefinedFunction, "LIKE compares a text, not {}", type_name(text))
        }
        [_, DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _), _]
            if of.data_type().is_string() || of.data_type().is_null() =>
        {
            let list = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true)));
            Ok(vec![DataType::Utf8View, list, DataType::Utf8View])
        }
        [_, DataType::Null, _] => {
            let list = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true)));
            Ok(vec![DataType::Utf8View, list, DataType::Utf8View])
        }
        [_, other, _] => {
            invalid!(UndefinedFunction, "LIKE ANY and ALL take a list of texts or a query, not {}", type_name(other))
        }
        _ => invalid!(UndefinedFunction, "LIKE ANY takes a text and a list"),
    };
    PureFunction::new(LIKE_EACH, types, |_| Ok(DataType::Boolean), each).build()
}

fn each(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let (texts, lists, how) = (&arguments[0], arguments[1].as_list::<i32>(), arguments[2].as_string_view());
    let mut results = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        if lists.is_null(row) || how.is_null(row) {
            results.push(None);
            continue;
        }
        let (patterns, how) = (lists.value(row), how.value(row));
        let text = Scalar::new(texts.slice(row, 1));
        let wrong = patterns.as_string_view().iter().flatten().find(|pattern| ends_in_escape(pattern));
        if let Some(pattern) = wrong.filter(|_| texts.is_valid(row)) {
            return invalid!(InvalidEscapeSequence, "LIKE '{pattern}': the backslash at its end escapes nothing");
        }
        let compared = if how.contains("ILIKE") { ilike(&text, &patterns)? } else { like(&text, &patterns)? };
        let compared = if how.starts_with("NOT") { not(&compared)? } else { compared };
        results.push(decided(&compared, how.ends_with("ALL")));
    }
    Ok(Arc::new(BooleanArray::from(results)))
}

/// Whether any or all are true, as far as that is known.
fn decided(truths: &BooleanArray, is_all: bool) -> Option<bool> {
    if truths.iter().flatten().any(|truth| truth != is_all) {
        return Some(!is_all);
    }
    (truths.null_count() == 0).then_some(is_all)
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn escapes_become_backslashes() {
        for (pattern, escape, expected) in [
            ("a#%", Some('#'), "a\\%"),
            ("a\\b", Some('#'), "a\\\\b"),
            ("a\\%", None, "a\\\\%"),
            ("##", Some('#'), "\\#"),
            ("a#", Some('#'), "a\\"),
            ("a%b", Some('%'), "a\\b"),
        ] {
            assert_eq!(escaped(pattern, escape), expected, "{pattern}");
        }
    }
}
