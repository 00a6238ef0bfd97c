//! What regular expressions find, as lists: regexp_split_to_array, and the groups of each match, which regexp_matches gives in
//! rows; and regexp_substr.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::functions::regular::{compiled, written};
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, ListBuilder, StringViewArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use regex::Regex;
use std::sync::Arc;

/// The function whose elements regexp_matches gives in rows.
pub(crate) const EACH_MATCH: &str = "regexp_each_match";

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    vec![
        PureFunction::new(
            "regexp_split_to_array",
            |types| texts("regexp_split_to_array", types),
            |_| Ok(DataType::new_list(DataType::Utf8View, true)),
            |own, _| split(own),
        )
        .build(),
        PureFunction::new(
            EACH_MATCH,
            |types| texts("regexp_matches", types),
            |_| Ok(DataType::new_list(DataType::new_list(DataType::Utf8View, true), true)),
            |own, _| each_match(own),
        )
        .build(),
        PureFunction::new("regexp_substr", part_types, |_| Ok(DataType::Utf8View), |own, _| parts(own))
            .may_be_null()
            .build(),
    ]
}

fn is_text(own: &DataType) -> bool {
    own.is_string() || own.is_null()
}

fn texts(name: &str, types: &[DataType]) -> Result<Vec<DataType>> {
    if !(2..=3).contains(&types.len()) {
        return invalid!(
            UndefinedFunction,
            "{name} takes a text, a pattern, and flags if need be; not {} values",
            types.len()
        );
    }
    match types.iter().find(|own| !is_text(own)) {
        Some(other) => invalid!(UndefinedFunction, "{name} takes texts, not {}; cast it", type_name(other)),
        None => Ok(vec![DataType::Utf8View; types.len()]),
    }
}

/// Calls `found` for each row without NULLs with its text, its expression and whether all matches are asked for.
fn each_row(arguments: &[ArrayRef], mut found: impl FnMut(Option<(&str, &Regex, bool)>) -> Result<()>) -> Result<()> {
    let views = arguments.iter().map(|own| cast(own, &DataType::Utf8View)).collect::<Result<Vec<_>, _>>()?;
    let columns: Vec<&StringViewArray> = views.iter().map(|own| own.as_string_view()).collect();
    let mut kept: Option<(String, String, Regex)> = None;
    for row in 0..views[0].len() {
        if columns.iter().any(|own| own.is_null(row)) {
            found(None)?;
            continue;
        }
        let (text, pattern) = (columns[0].value(row), columns[1].value(row));
        let flags = columns.get(2).map_or("", |flags| flags.value(row));
        if !kept.as_ref().is_some_and(|(own, of, _)| own == pattern && of == flags) {
            kept = Some((pattern.to_owned(), flags.to_owned(), compiled(&written(pattern, flags)?)?));
        }
        found(kept.as_ref().map(|(.., expression)| (text, expression, flags.contains('g'))))?;
    }
    Ok(())
}

/// The texts between the matches. As PostgreSQL has it, an empty match at the start, at the end or right behind another one parts nothing.
fn split(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(StringViewBuilder::new());
    each_row(arguments, |row| {
        let Some((text, expression, is_global)) = row else {
            lists.append_null();
            return Ok(());
        };
        if is_global {
            return invalid!(
                InvalidParameterValue,
                "regexp_split_to_array splits at every match; it does not take the flag g"
            );
        }
        let mut behind = 0;
        for found in expression.find_iter(text) {
            if found.is_empty() && [behind, text.len()].contains(&found.start()) {
                continue;
            }
            lists.values().append_value(&text[behind..found.start()]);
            behind = found.end();
        }
        lists.values().append_value(&text[behind..]);
        lists.append(true);
        Ok(())
    })?;
    Ok(Arc::new(lists.finish()))
}

/// For each match the list of its groups, or of all that it matched where it has none.
fn each_match(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(ListBuilder::new(StringViewBuilder::new()));
    each_row(arguments, |row| {
        let Some((text, expression, is_global)) = row else {
            lists.append_null();
            return Ok(());
        };
        for groups in expression.captures_iter(text).take(if is_global { usize::MAX } else { 1 }) {
            let from = usize::from(groups.len() > 1);
            for group in groups.iter().skip(from) {
                lists.values().values().append_option(group.map(|group| group.as_str()));
            }
            lists.values().append(true);
        }
        lists.append(true);
        Ok(())
    })?;
    Ok(Arc::new(lists.finish()))
}

/// The types of `regexp_substr(text, pattern, start, occurrence, flags, group)`.
fn part_types(types: &[DataType]) -> Result<Vec<DataType>> {
    let all = [
        DataType::Utf8View,
        DataType::Utf8View,
        DataType::Int64,
        DataType::Int64,
        DataType::Utf8View,
        DataType::Int64,
    ];
    if !(2..=all.len()).contains(&types.len()) {
        return invalid!(
            UndefinedFunction,
            "regexp_substr takes a text, a pattern, a start, the number of a match, flags and the number of a group; not {} values",
            types.len()
        );
    }
    for (own, wanted) in types.iter().zip(&all) {
        if !is_text(own) && !(wanted.is_integer() && own.is_integer()) {
            return invalid!(UndefinedFunction, "regexp_substr does not take {} there; cast it", type_name(own));
        }
    }
    Ok(all[..types.len()].to_vec())
}

fn parts(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = |at: usize| arguments.get(at).map(|own| cast(own, &DataType::Utf8View)).transpose();
    let numbers = |at: usize| arguments.get(at).map(|own| cast(own, &DataType::Int64)).transpose();
    let (values, patterns, flags) = (texts(0)?, texts(1)?, texts(4)?);
    let (starts, occurrences, groups) = (numbers(2)?, numbers(3)?, numbers(5)?);
    let number = |column: &Option<ArrayRef>, row: usize, least: i64, what: &str| -> Result<Option<usize>> {
        let Some(column) = column else { return Ok(None) };
        let number = column.as_primitive::<Int64Type>().value(row);
        match usize::try_from(number) {
            Ok(own) if number >= least => Ok(Some(own)),
            _ => invalid!(InvalidParameterValue, "regexp_substr: {number} is no number of {what}"),
        }
    };
    let mut results = StringViewBuilder::new();
    let (Some(values), Some(patterns)) = (values, patterns) else { return Ok(Arc::new(results.finish())) };
    for row in 0..values.len() {
        if arguments.iter().any(|own| own.is_null(row)) {
            results.append_null();
            continue;
        }
        let flags = flags.as_ref().map_or("", |flags| flags.as_string_view().value(row));
        if flags.contains('g') {
            return invalid!(InvalidParameterValue, "regexp_substr finds one match; it does not take the flag g");
        }
        let expression = compiled(&written(patterns.as_string_view().value(row), flags)?)?;
        let text = values.as_string_view().value(row);
        let skipped = number(&starts, row, 1, "a character")?.map_or(0, |start| start - 1);
        let from = text.char_indices().map(|(at, _)| at).nth(skipped);
        let from = from.or((skipped == text.chars().count()).then_some(text.len()));
        let occurrence = number(&occurrences, row, 1, "a match")?.map_or(0, |number| number - 1);
        let group = number(&groups, row, 0, "a group")?.unwrap_or(0);
        let found = from.and_then(|from| expression.captures_iter(&text[from..]).nth(occurrence));
        results.append_option(found.and_then(|found| found.get(group).map(|group| group.as_str().to_owned())));
    }
    Ok(Arc::new(results.finish()))
}
