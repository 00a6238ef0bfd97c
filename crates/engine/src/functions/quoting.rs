//! Names and texts as SQL writes them: quote_ident, quote_literal, quote_nullable and format, as PostgreSQL has them.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::fmt::Write;
use std::sync::Arc;

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let text = |_: &[DataType]| Ok(DataType::Utf8View);
    vec![
        PureFunction::new("quote_ident", one_text, text, |own, _| Ok(of_each(&own[0], |text| text.map(quoted))))
            .build(),
        PureFunction::new("quote_literal", one_text, text, |own, _| Ok(of_each(&own[0], |text| text.map(literal))))
            .build(),
        PureFunction::new("quote_nullable", one_text, text, |own, _| {
            Ok(of_each(&own[0], |text| Some(text.map_or_else(|| "NULL".to_owned(), literal))))
        })
        .with_nulls()
        .always()
        .build(),
        PureFunction::new("format", texts, text, |own, _| formatted(own)).with_nulls().build(),
    ]
}

/// Words that stand for a name in quotes alone.
const KEYWORDS: &str = "\
    all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both \
    case cast char character check coalesce collate collation column concurrently constraint create cross \
    current_catalog current_date current_role current_schema current_time current_timestamp current_user dec \
    decimal default deferrable desc distinct do else end except exists extract false fetch float for foreign \
    freeze from full grant greatest group grouping having ilike in initially inner inout int integer \
    intersect interval into is isnull join lateral leading least left like limit localtime localtimestamp \
    national natural nchar none normalize not notnull null nullif numeric offset on only or order out outer \
    overlaps overlay placing position precision primary real references returning right row select \
    session_user setof similar smallint some substring symmetric table tablesample then time timestamp to \
    trailing treat trim true union unique user using values varchar variadic verbose when where window with \
    xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize \
    xmltable";

/// A name as SQL writes it, in quotes where it needs them.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '$')
        && !KEYWORDS.split_whitespace().any(|word| word == name);
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A text as a literal of SQL.
fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

fn one_text(types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [_] => texts(types),
        _ => invalid!(UndefinedFunction, "it takes one value, not {}", types.len()),
    }
}

fn texts(types: &[DataType]) -> Result<Vec<DataType>> {
    match types.iter().find(|own| matches!(own, DataType::Struct(_) | DataType::Map(..))) {
        Some(other) => invalid!(UndefinedFunction, "{} has no text to be quoted; name its fields", type_name(other)),
        None => Ok(vec![DataType::Utf8View; types.len()]),
    }
}

fn of_each(texts: &ArrayRef, written: impl Fn(Option<&str>) -> Option<String>) -> ArrayRef {
    Arc::new(texts.as_string_view().iter().map(written).collect::<StringViewArray>())
}

/// `format('%s is %L', name, value)` for each row.
fn formatted(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let columns: Vec<&StringViewArray> = arguments.iter().map(|own| own.as_string_view()).collect();
    let Some((forms, values)) = columns.split_first() else {
        return invalid!(UndefinedFunction, "format takes a text with places such as %s, and the values for them");
    };
    let of_row = |row: usize| {
        let own: Vec<Option<&str>> =
            values.iter().map(|column| column.is_valid(row).then(|| column.value(row))).collect();
        forms.is_valid(row).then(|| of_form(forms.value(row), &own)).transpose()
    };
    Ok(Arc::new((0..forms.len()).map(of_row).collect::<Result<StringViewArray>>()?))
}

/// A place in a form: `%2$-10s`.
#[derive(Debug, Default)]
struct FormatPlace {
    position: Option<usize>,
    is_left: bool,
    width: FieldWidth,
}

#[derive(Debug, Default)]
enum FieldWidth {
    #[default]
    None,
    Given(i64),
    /// The next argument's, or that of a position.
    Argument(Option<usize>),
}

fn of_form(form: &str, values: &[Option<&str>]) -> Result<String> {
    let mut text = String::new();
    let mut letters = form.chars().peekable();
    let mut next = 0;
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        if letters.next_if_eq(&'%').is_some() {
            text.push('%');
            continue;
        }
        let place = place(&mut letters)?;
        let mut take = |position: Option<usize>| -> Result<Option<&str>> {
            let at = match position {
                Some(0) => return invalid!(InvalidParameterValue, "format counts its arguments from 1, not 0"),
                Some(position) => position - 1,
                None => next,
            };
            next = at + 1;
            match values.get(at) {
                Some(value) => Ok(*value),
                None => invalid!(InvalidParameterValue, "format has too few arguments: '{form}' needs one more"),
            }
        };
        let width = match place.width {
            FieldWidth::None => 0,
            FieldWidth::Given(width) => width,
            FieldWidth::Argument(position) => match take(position)? {
                None => 0,
                Some(own) => match own.trim().parse::<i64>() {
                    Ok(width) => width,
                    Err(_) => return invalid!(InvalidParameterValue, "'{own}' is no width of a place in format"),
                },
            },
        };
        let kind = letters.next();
        let value = take(place.position)?;
        let written = match (kind, value) {
            (Some('s'), value) => value.unwrap_or_default().to_owned(),
            (Some('L'), value) => value.map_or_else(|| "NULL".to_owned(), literal),
            (Some('I'), Some(value)) => quoted(value),
            (Some('I'), None) => return invalid!(NullValueNotAllowed, "NULL is no name, for %I in format"),
            (Some(other), _) => {
                return invalid!(InvalidParameterValue, "format knows no %{other}; %s, %I, %L and %% are its places");
            }
            (None, _) => return invalid!(InvalidParameterValue, "'{form}' ends within a place; write %% for a %"),
        };
        pad(&mut text, &written, width, place.is_left);
    }
    Ok(text)
}

/// What stands between `%` and the letter.
fn place(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<FormatPlace> {
    let mut place = FormatPlace::default();
    let first = number(letters)?;
    if first.is_some() && letters.next_if_eq(&'$').is_some() {
        place.position = first.and_then(|first| usize::try_from(first).ok());
    } else if let Some(width) = first {
        place.width = FieldWidth::Given(width);
        return Ok(place);
    }
    while letters.next_if_eq(&'-').is_some() {
        place.is_left = true;
    }
    if letters.next_if_eq(&'*').is_some() {
        let position = number(letters)?;
        if position.is_some() && letters.next_if_eq(&'$').is_none() {
            return invalid!(InvalidParameterValue, "a width by position is written *2$ in format");
        }
        place.width = FieldWidth::Argument(position.and_then(|position| usize::try_from(position).ok()));
    } else if let Some(width) = number(letters)? {
        place.width = FieldWidth::Given(width);
    }
    Ok(place)
}

fn number(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Option<i64>> {
    let mut digits = String::new();
    while let Some(digit) = letters.next_if(char::is_ascii_digit) {
        digits.push(digit);
    }
    match digits.parse::<i32>() {
        _ if digits.is_empty() => Ok(None),
        Ok(number) => Ok(Some(number.into())),
        Err(_) => invalid!(NumericValueOutOfRange, "{digits} is too large in format"),
    }
}

/// The longest text that blanks are added to.
const WIDEST: i64 = 1 << 20;

fn pad(text: &mut String, written: &str, width: i64, is_left: bool) {
    let length = written.chars().count();
    let blanks =
        usize::try_from(width.unsigned_abs().min(WIDEST.unsigned_abs())).unwrap_or_default().saturating_sub(length);
    // A text takes whatever is written to it.
    let _ = if is_left || width < 0 {
        write!(text, "{written}{:blanks$}", "")
    } else {
        write!(text, "{:blanks$}{written}", "")
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_filled_as_postgresql_does() {
        let values = [Some("a b"), Some("it's"), None, Some("5")];
        let cases = [
            ("%s|%I|%L", "a b|\"it's\"|NULL"),
            ("%%|%1$I|%2$L|%3$s", "%|\"a b\"|'it''s'|"),
            ("[%10s]", "[       a b]"),
            ("[%-10s]", "[a b       ]"),
            ("[%4$s %s]", ""),
            ("[%1$*4$s]", "[  a b]"),
        ];
        for (form, expected) in cases {
            assert_eq!(of_form(form, &values).unwrap_or_default(), expected, "{form}");
        }
        assert!(of_form("%x", &values).is_err() && of_form("%", &values).is_err() && of_form("%3$I", &values).is_err());
    }

    #[test]
    fn names_and_literals_are_quoted_where_they_must_be() {
        let cases = [("a", "a"), ("A", "\"A\""), ("user", "\"user\""), ("a\"b", "\"a\"\"b\""), ("name", "name")];
        cases.iter().for_each(|(name, expected)| assert_eq!(quoted(name), *expected));
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\b"), "E'a\\\\b'");
    }
}
