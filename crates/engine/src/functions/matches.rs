//! Functions that give what regular expressions find, as lists: regexp_split_to_array, and the groups of each match, which regexp_matches gives in
//! rows; and regexp_substr, regexp_instr and regexp_count.

use crate::error::invalid;
use crate::functions::function::{Compute, PureFunction};
use crate::functions::regular::{KeptExpression, Matches, place_of};
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListBuilder, StringViewArray, StringViewBuilder};
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
        regexp_substr(),
        regexp_instr(),
        regexp_count(),
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
    let mut kept = KeptExpression::default();
    for row in 0..views[0].len() {
        if columns.iter().any(|own| own.is_null(row)) {
            found(None)?;
            continue;
        }
        let (text, pattern) = (columns[0].value(row), columns[1].value(row));
        let flags = columns.get(2).map_or("", |flags| flags.value(row));
        found(Some((text, kept.of(pattern, flags)?, flags.contains('g'))))?;
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
        for found in Matches::new(expression, text, Some(0)).filter_map(|found| found.get(0)) {
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
        for groups in Matches::new(expression, text, Some(0)).take(if is_global { usize::MAX } else { 1 }) {
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

/// The types of arguments: a text, a pattern, and what `behind` says, as far as it is given.
fn search_types(name: &str, types: &[DataType], behind: &[DataType]) -> Result<Vec<DataType>> {
    let all = [&[DataType::Utf8View, DataType::Utf8View], behind].concat();
    if types.len() < 2 || types.len() > all.len() {
        return invalid!(
            UndefinedFunction,
            "{name} takes a text, a pattern, and up to {} values more, not {} values",
            behind.len(),
            types.len()
        );
    }
    for (own, wanted) in types.iter().zip(&all) {
        if !(is_text(own) || wanted.is_integer() && own.is_integer()) {
            return invalid!(UndefinedFunction, "{name} does not take {} there; cast it", type_name(own));
        }
    }
    Ok(all[..types.len()].to_vec())
}

/// The arguments of a search beside its text and pattern: the place of each, where there is one.
#[derive(Debug, Clone, Copy, Default)]
struct RegularArguments {
    name: &'static str,
    start: Option<usize>,
    occurrence: Option<usize>,
    end: Option<usize>,
    flags: Option<usize>,
    group: Option<usize>,
}

/// A search in one row.
struct RegularSearch<'a> {
    text: &'a str,
    /// Where it begins; `None` behind the end.
    from: Option<usize>,
    /// The match that is asked for, from 0.
    occurrence: usize,
    /// The place behind the match is asked for.
    at_end: bool,
    group: usize,
}

impl RegularArguments {
    /// The results of `of` for the rows without NULLs.
    fn each<T>(
        self,
        arguments: &[ArrayRef],
        mut of: impl FnMut(&Regex, &RegularSearch<'_>) -> Option<T>,
    ) -> Result<Vec<Option<T>>> {
        let mut views = Vec::with_capacity(arguments.len());
        for own in arguments {
            let wanted = if own.data_type().is_integer() { DataType::Int64 } else { DataType::Utf8View };
            views.push(cast(own, &wanted)?);
        }
        let number = |at: Option<usize>, row: usize, least: i64, most: i64, usual: i64, what: &str| -> Result<usize> {
            let given = at.and_then(|at| views.get(at)).map(|own| own.as_primitive::<Int64Type>().value(row));
            match given.unwrap_or(usual) {
                own if (least..=most).contains(&own) => Ok(usize::try_from(own).unwrap_or(usize::MAX)),
                own => invalid!(InvalidParameterValue, "{}: {own} is no {what}", self.name),
            }
        };
        let mut kept = KeptExpression::default();
        let mut results = Vec::with_capacity(views[0].len());
        for row in 0..views[0].len() {
            if views.iter().any(|own| own.is_null(row)) {
                results.push(None);
                continue;
            }
            let text = views[0].as_string_view().value(row);
            let pattern = views[1].as_string_view().value(row);
            let flags = self.flags.and_then(|at| views.get(at)).map_or("", |own| own.as_string_view().value(row));
            if flags.contains('g') {
                return invalid!(InvalidParameterValue, "{} does not take the flag g", self.name);
            }
            let skipped = number(self.start, row, 1, i64::MAX, 1, "number of a character")? - 1;
            let search = RegularSearch {
                text,
                from: place_of(text, skipped),
                occurrence: number(self.occurrence, row, 1, i64::MAX, 1, "number of a match")? - 1,
                at_end: number(
                    self.end,
                    row,
                    0,
                    1,
                    0,
                    "end: it is 0 for the first place of a match, 1 for the one behind it",
                )? == 1,
                group: number(self.group, row, 0, i64::MAX, 0, "number of a group")?,
            };
            results.push(of(kept.of(pattern, flags)?, &search));
        }
        Ok(results)
    }
}

/// `regexp_substr(text, pattern, start, occurrence, flags, group)`.
fn regexp_substr() -> Arc<ScalarUDF> {
    const ARGUMENTS: RegularArguments = RegularArguments {
        name: "regexp_substr",
        start: Some(2),
        occurrence: Some(3),
        end: None,
        flags: Some(4),
        group: Some(5),
    };
    let types = |types: &[DataType]| {
        search_types(ARGUMENTS.name, types, &[DataType::Int64, DataType::Int64, DataType::Utf8View, DataType::Int64])
    };
    let parts: Compute = |own, _| {
        let parts = ARGUMENTS.each(own, |expression, search| {
            let found = Matches::new(expression, search.text, search.from).nth(search.occurrence)?;
            found.get(search.group).map(|group| group.as_str().to_owned())
        });
        Ok(Arc::new(parts?.into_iter().collect::<StringViewArray>()))
    };
    PureFunction::new(ARGUMENTS.name, types, |_| Ok(DataType::Utf8View), parts).may_be_null().build()
}

/// `regexp_instr(text, pattern, start, occurrence, end, flags, group)`; DataFusion's form has no `end`.
fn regexp_instr() -> Arc<ScalarUDF> {
    const ARGUMENTS: RegularArguments = RegularArguments {
        name: "regexp_instr",
        start: Some(2),
        occurrence: Some(3),
        end: Some(4),
        flags: Some(5),
        group: Some(6),
    };
    let types = |types: &[DataType]| {
        let mut behind = vec![DataType::Int64; 3];
        if types.get(4).is_some_and(is_text) {
            behind.pop();
        }
        behind.extend([DataType::Utf8View, DataType::Int64]);
        search_types(ARGUMENTS.name, types, &behind)
    };
    let places: Compute = |own, _| {
        let without_end = RegularArguments { end: None, flags: Some(4), group: Some(5), ..ARGUMENTS };
        let has_end = own.get(4).is_none_or(|own| own.data_type().is_integer());
        let arguments = if has_end { ARGUMENTS } else { without_end };
        let places = arguments.each(own, |expression, search| {
            let found = Matches::new(expression, search.text, search.from).nth(search.occurrence);
            let place = found.and_then(|found| {
                found.get(search.group).map(|group| if search.at_end { group.end() } else { group.start() })
            });
            Some(place.map_or(0, |place| search.text[..place].chars().count() as i64 + 1))
        });
        Ok(Arc::new(places?.into_iter().collect::<Int64Array>()))
    };
    PureFunction::new(ARGUMENTS.name, types, |_| Ok(DataType::Int64), places).build()
}

/// `regexp_count(text, pattern, start, flags)`.
fn regexp_count() -> Arc<ScalarUDF> {
    const ARGUMENTS: RegularArguments = RegularArguments {
        name: "regexp_count",
        start: Some(2),
        occurrence: None,
        end: None,
        flags: Some(3),
        group: None,
    };
    let types = |types: &[DataType]| search_types(ARGUMENTS.name, types, &[DataType::Int64, DataType::Utf8View]);
    let counts: Compute = |own, _| {
        let counts = ARGUMENTS
            .each(own, |expression, search| Some(Matches::new(expression, search.text, search.from).count() as i64));
        Ok(Arc::new(counts?.into_iter().collect::<Int64Array>()))
    };
    PureFunction::new(ARGUMENTS.name, types, |_| Ok(DataType::Int64), counts).build()
}
