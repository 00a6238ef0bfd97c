//! Regular expressions as PostgreSQL reads them: a `.` is any character, a line's end among them, `^` and `$` are the ends of
//! the text, and the flags are PostgreSQL's. `regexp_replace` is whole ours, for what its replacement means.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, StringViewArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{Operator, ScalarUDF};
use regex::{CaptureLocations, Captures, Regex};
use std::borrow::Cow;
use std::sync::Arc;

/// `regular_expression(pattern, flags)`: what the expressions of DataFusion's functions are to be; [`written`].
pub(crate) fn regular_expression() -> Arc<ScalarUDF> {
    let compute = |arguments: &[ArrayRef], _: &DataType| each(arguments, written);
    PureFunction::new("regular_expression", patterns, |_| Ok(DataType::Utf8View), compute).build()
}

/// `regular_test(pattern, flags)`: an expression that texts are only tested by; [`written_test`].
pub(crate) fn regular_test() -> Arc<ScalarUDF> {
    let compute = |arguments: &[ArrayRef], _: &DataType| each(arguments, written_test);
    PureFunction::new("regular_test", patterns, |_| Ok(DataType::Utf8View), compute).build()
}

fn patterns(types: &[DataType]) -> Result<Vec<DataType>> {
    match types.iter().find(|data_type| !data_type.is_string() && !data_type.is_null()) {
        Some(other) => invalid!(UndefinedFunction, "a regular expression is a text, not {}", type_name(other)),
        None => Ok(vec![DataType::Utf8View; types.len()]),
    }
}

fn each(arguments: &[ArrayRef], write: fn(&str, &str) -> Result<String>) -> Result<ArrayRef> {
    let [patterns, flags] = [&arguments[0], &arguments[1]].map(|texts| cast(texts, &DataType::Utf8View));
    let (patterns, flags) = (patterns?, flags?);
    let pairs = patterns.as_string_view().iter().zip(flags.as_string_view());
    let written = pairs.map(|(pattern, flags)| pattern.zip(flags).map(|(p, f)| write(p, f)).transpose());
    Ok(Arc::new(written.collect::<Result<StringViewArray>>()?))
}

/// An expression as [`written`] has it, and as a group where it may look for a backslash: DataFusion makes a LIKE of an expression that is a text
/// alone, and does not escape what escapes there.
pub(crate) fn written_test(pattern: &str, flags: &str) -> Result<String> {
    let has_backslash = ["\\\\", "\\x", "\\u", "\\U"].iter().any(|escape| pattern.contains(escape));
    if !has_backslash {
        return written(pattern, flags);
    }
    // Where blanks don't count there may be a comment, which the line's end ends.
    let end = if flags.contains('x') { "\n" } else { "" };
    written(&format!("({pattern}{end})"), flags)
}

/// A regular expression with flags of PostgreSQL's, as Rust's library takes it. The flag `g` is no matter of the expression.
pub(crate) fn written(pattern: &str, flags: &str) -> Result<String> {
    let (mut newlines, mut lines, mut extended, mut ignores_case) = (true, false, false, false);
    for flag in flags.chars() {
        match flag {
            'g' => {}
            'i' => ignores_case = true,
            'c' => ignores_case = false,
            's' => (newlines, lines) = (true, false),
            'n' | 'm' => (newlines, lines) = (false, true),
            'p' => (newlines, lines) = (false, false),
            'w' => (newlines, lines) = (true, true),
            'x' => extended = true,
            't' => extended = false,
            other => {
                return invalid!(
                    InvalidParameterValue,
                    "'{other}' is no flag of a regular expression; c, g, i, m, n, p, s, t, w and x are"
                );
            }
        }
    }
    let all = [(newlines, 's'), (lines, 'm'), (ignores_case, 'i'), (extended, 'x')];
    let set: String = all.iter().filter_map(|(is_set, letter)| is_set.then_some(*letter)).collect();
    Ok(if set.is_empty() { pattern.to_owned() } else { format!("(?{set}){pattern}") })
}

/// `regexp_replace(text, pattern, replacement [, flags])`.
pub(super) fn regexp_replace() -> Arc<ScalarUDF> {
    let texts = |types: &[DataType]| {
        // A number behind the replacement is where the search begins.
        let from_start = types.get(3).is_some_and(DataType::is_integer);
        if types.len() < 3 || types.len() > if from_start { 6 } else { 4 } {
            return invalid!(
                UndefinedFunction,
                "regexp_replace takes a text, a pattern, a replacement, and either flags or a start, the number of a match \
                 and flags; not {} values",
                types.len()
            );
        }
        if from_start && types.get(4).is_none_or(|own| own.is_integer() || own.is_null()) {
            let mut all = vec![DataType::Utf8View; 3];
            all.extend([DataType::Int64, DataType::Int64, DataType::Utf8View]);
            let is_flag = |own: &DataType| own.is_string() || own.is_null();
            if types[..3].iter().chain(types.get(5)).all(is_flag) {
                all.truncate(types.len());
                return Ok(all);
            }
        }
        match types.iter().find(|data_type| !data_type.is_string() && !data_type.is_null()) {
            Some(other) => {
                let given = type_name(other);
                invalid!(UndefinedFunction, "regexp_replace takes texts, not {given}; cast it to VARCHAR")
            }
            None => Ok(vec![DataType::Utf8View; types.len()]),
        }
    };
    PureFunction::new("regexp_replace", texts, |_| Ok(DataType::Utf8View), replaced).build()
}

fn replaced(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    if arguments.get(3).is_some_and(|own| own.data_type().is_integer()) {
        return replaced_from(arguments);
    }
    let views = arguments.iter().map(|texts| cast(texts, &DataType::Utf8View)).collect::<Result<Vec<_>, _>>()?;
    let [texts, patterns, replacements] = [0, 1, 2].map(|at| views[at].as_string_view());
    let flags = views.get(3).map(|flags| flags.as_string_view());
    let mut kept: Option<(String, String, String, Replacement)> = None;
    let mut results = StringViewBuilder::with_capacity(texts.len());
    for row in 0..texts.len() {
        if views.iter().any(|argument| argument.is_null(row)) {
            results.append_null();
            continue;
        }
        let (pattern, replacement) = (patterns.value(row), replacements.value(row));
        let flags = flags.map_or("", |flags| flags.value(row));
        if !kept.as_ref().is_some_and(|(p, r, f, _)| p == pattern && r == replacement && f == flags) {
            let replacing = Replacement::new(pattern, replacement, flags)?;
            kept = Some((pattern.to_owned(), replacement.to_owned(), flags.to_owned(), replacing));
        }
        match &mut kept {
            Some((.., replacing)) => results.append_value(replacing.replace(texts.value(row))),
            None => results.append_null(),
        }
    }
    Ok(Arc::new(results.finish()))
}

/// `regexp_replace(text, pattern, replacement, start, occurrence, flags)`, of which 0 is every occurrence.
fn replaced_from(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = |at: usize| arguments.get(at).map(|own| cast(own, &DataType::Utf8View)).transpose();
    let (values, patterns, replacements, flags) = (texts(0)?, texts(1)?, texts(2)?, texts(5)?);
    let number = |at: usize, row: usize, least: i64, usual: i64| -> Result<usize> {
        let own = arguments.get(at).map_or(usual, |own| own.as_primitive::<Int64Type>().value(row));
        match usize::try_from(own) {
            Ok(number) if own >= least => Ok(number),
            _ => invalid!(InvalidParameterValue, "regexp_replace: {own} is less than {least}"),
        }
    };
    let (Some(values), Some(patterns), Some(replacements)) = (values, patterns, replacements) else {
        return datafusion::common::internal_err!("regexp_replace of fewer than three texts");
    };
    let mut kept = KeptExpression::default();
    let mut results = StringViewBuilder::with_capacity(values.len());
    for row in 0..values.len() {
        if arguments.iter().any(|own| own.is_null(row)) {
            results.append_null();
            continue;
        }
        let flags = flags.as_ref().map_or("", |own| own.as_string_view().value(row));
        let expression = kept.of(patterns.as_string_view().value(row), flags)?;
        let parts = parts(replacements.as_string_view().value(row));
        let text = values.as_string_view().value(row);
        let wanted = number(4, row, 0, 1)?;
        let from = place_of(text, number(3, row, 1, 1)? - 1);
        let (mut new, mut behind) = (String::new(), 0);
        for (at, found) in Matches::new(expression, text, from).enumerate() {
            let Some(whole) = found.get(0).filter(|_| wanted == 0 || at + 1 == wanted) else { continue };
            new.push_str(&text[behind..whole.start()]);
            parts.iter().for_each(|part| part.write(&found, &mut new));
            behind = whole.end();
        }
        new.push_str(&text[behind..]);
        results.append_value(new);
    }
    Ok(Arc::new(results.finish()))
}

/// A part of a replacement.
#[derive(Debug, PartialEq)]
enum ReplacementPart {
    Text(String),
    /// What a group of the expression matched; 0 is all that it matched.
    Group(usize),
}

impl ReplacementPart {
    /// Writes what stands for a match.
    fn write(&self, found: &Captures<'_>, new: &mut String) {
        new.push_str(match self {
            Self::Text(text) => text,
            Self::Group(number) => found.get(*number).map_or("", |group| group.as_str()),
        });
    }
}

/// What is done to each text.
#[derive(Debug)]
struct Replacement {
    expression: Regex,
    parts: Vec<ReplacementPart>,
    /// Whether every match is replaced, and not the first one alone.
    is_global: bool,
    /// Where the whole text is replaced by the first group: the expression up to its end, and where its groups are.
    ///
    /// `^https?://([^/]+)/.*$` need not walk to the end of each text.
    start: Option<(Regex, CaptureLocations)>,
}

impl Replacement {
    fn new(pattern: &str, replacement: &str, flags: &str) -> Result<Self> {
        let (parts, is_global) = (parts(replacement), flags.contains('g'));
        let start = pattern.strip_suffix(".*$").filter(|start| {
            let has_flags = start.replace("(?:", "").contains("(?");
            let is_whole = start.starts_with('^') && !start.contains('|') && !start.ends_with('\\') && !has_flags;
            is_whole && !is_global && flags.is_empty() && parts == [ReplacementPart::Group(1)]
        });
        let start = match start {
            // A class that is open takes the `.` and the `*` as they are, and the start alone is no expression then.
            Some(start) => Regex::new(&written(start, flags)?).ok().filter(|start| start.captures_len() == 2),
            None => None,
        };
        let start = start.map(|start| {
            let groups = start.capture_locations();
            (start, groups)
        });
        Ok(Self { expression: compiled(&written(pattern, flags)?)?, parts, is_global, start })
    }

    fn replace<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if let Some((start, groups)) = &mut self.start {
            return match start.captures_read(groups, text) {
                None => Cow::Borrowed(text),
                Some(_) => Cow::Borrowed(groups.get(1).map_or("", |(from, to)| &text[from..to])),
            };
        }
        let parts = &self.parts;
        let new = |found: &Captures<'_>| {
            let mut new = String::new();
            parts.iter().for_each(|part| part.write(found, &mut new));
            new
        };
        self.expression.replacen(text, usize::from(!self.is_global), new)
    }
}

/// The expression of the row before, which most rows have again.
#[derive(Debug, Default)]
pub(super) struct KeptExpression(Option<(String, String, Regex)>);

impl KeptExpression {
    /// The expression of a pattern and flags.
    pub(super) fn of(&mut self, pattern: &str, flags: &str) -> Result<&Regex> {
        if self.0.as_ref().is_none_or(|(own, of, _)| own != pattern || of != flags) {
            let expression = compiled(&written(pattern, flags)?)?;
            self.0 = Some((pattern.to_owned(), flags.to_owned(), expression));
        }
        match &self.0 {
            Some((.., expression)) => Ok(expression),
            None => datafusion::common::internal_err!("no expression is kept"),
        }
    }
}

/// The place of a character, counted from 0, or of the end; `None` behind it.
pub(super) fn place_of(text: &str, character: usize) -> Option<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(character)
}

/// The matches of an expression as PostgreSQL finds them: the next one is looked for where the last one ended, and one that is empty
/// may lie there.
pub(super) struct Matches<'r, 't> {
    expression: &'r Regex,
    text: &'t str,
    at: Option<usize>,
}

impl<'r, 't> Matches<'r, 't> {
    pub(super) fn new(expression: &'r Regex, text: &'t str, from: Option<usize>) -> Self {
        Self { expression, text, at: from }
    }
}

impl<'t> Iterator for Matches<'_, 't> {
    type Item = Captures<'t>;

    fn next(&mut self) -> Option<Captures<'t>> {
        let found = self.expression.captures_at(self.text, self.at?);
        let whole = found.as_ref().and_then(|found| found.get(0));
        self.at = whole.and_then(|whole| match whole.is_empty() {
            true => self.text[whole.end()..].chars().next().map(|next| whole.end() + next.len_utf8()),
            false => Some(whole.end()),
        });
        found
    }
}

/// Whether an operator tests a text by a regular expression.
pub(crate) fn is_regular(operator: Operator) -> bool {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    matches!(operator, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch)
}

/// An expression that was written, ready to run.
pub(super) fn compiled(expression: &str) -> Result<Regex> {
    match Regex::new(expression) {
        Ok(expression) => Ok(expression),
        Err(error) => invalid!(InvalidRegularExpression, "{error}"),
    }
}

/// The parts of a replacement: `\1` to `\9` are groups, `\&` is all that was matched, `\\` a backslash; any other backslash is
/// itself.
fn parts(replacement: &str) -> Vec<ReplacementPart> {
    let (mut parts, mut text) = (Vec::new(), String::new());
    let mut letters = replacement.chars().peekable();
    while let Some(letter) = letters.next() {
        let group = match letters.peek() {
            Some('&') => Some(0),
            Some(digit) => digit.to_digit(10).filter(|number| *number > 0),
            None => None,
        };
        match (letter, group) {
            ('\\', Some(number)) => {
                letters.next();
                if !text.is_empty() {
                    parts.push(ReplacementPart::Text(std::mem::take(&mut text)));
                }
                parts.push(ReplacementPart::Group(number as usize));
            }
            ('\\', None) => {
                letters.next_if_eq(&'\\');
                text.push('\\');
            }
            _ => text.push(letter),
        }
    }
    if !text.is_empty() {
        parts.push(ReplacementPart::Text(text));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_matches_lie_behind_others() {
        let found = |pattern: &str, text: &str| {
            let expression = Regex::new(pattern).unwrap();
            Matches::new(&expression, text, Some(0)).map(|found| found[0].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("(?m).?$", "1\n2"), ["1", "", "2", ""]);
        assert_eq!(found("x*", "äxb"), ["", "x", "", ""]);
        assert_eq!(found("b", "abcb"), ["b", "b"]);
        assert_eq!((place_of("äb", 1), place_of("äb", 2), place_of("äb", 3)), (Some(2), Some(3), None));
    }

    #[test]
    fn replacements_are_read() {
        let text = |text: &str| ReplacementPart::Text(text.to_owned());
        for (replacement, expected) in [
            ("a", vec![text("a")]),
            ("", vec![]),
            ("[\\1\\1]\\\\", vec![text("["), ReplacementPart::Group(1), ReplacementPart::Group(1), text("]\\")]),
            ("\\&", vec![ReplacementPart::Group(0)]),
            ("\\\\1", vec![text("\\1")]),
            ("\\0\\x\\", vec![text("\\0\\x\\")]),
            ("$1", vec![text("$1")]),
        ] {
            assert_eq!(parts(replacement), expected, "{replacement}");
        }
    }

    /// The expression up to its end gives what all of it gives.
    #[test]
    fn starts_are_as_good_as_whole_expressions() {
        let patterns =
            ["^a(b*).*$", "^(a|b).*$", "^(.).*$", "^(x)?.*$", "^a[(].*$", "^(a[.*$].*$", "^(a)\\.*$", "^a(b*).*$"];
        let texts = ["", "a", "ab", "abb\nc", "ba", "xa", "a(", "a..", "\na", "äb"];
        let mut starts = 0;
        for pattern in patterns {
            let Ok(mut fast) = Replacement::new(pattern, "\\1", "") else { continue };
            let mut slow = Replacement { start: None, ..Replacement::new(pattern, "\\1", "").unwrap() };
            starts += usize::from(fast.start.is_some());
            for text in texts {
                assert_eq!(fast.replace(text), slow.replace(text), "{pattern} of {text:?}");
            }
        }
        assert!(starts >= 4, "{starts}");
    }
}
