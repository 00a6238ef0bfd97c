//! Arrays from text and as text, in PostgreSQL's form: `{1,NULL,"a b"}`, `{{1,2},{3,4}}`.

use crate::casts::convert::{Failing, TIMES, convert};
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewArray, StringViewBuilder, new_null_array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use datafusion::error::Result;
use gingham_storage::{Problem, SqlState};
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

/// What a text has: elements as text, or arrays.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Element {
    Null,
    Text(String),
    Array(Vec<Element>),
}

/// The elements that a text has.
///
/// # Errors
///
/// It is no array.
pub(crate) fn elements_of(text: &str) -> std::result::Result<Vec<Element>, Problem> {
    let wrong = |why: &str| {
        let text = format!("'{text}' is no array: {why}; write {{1,2}}, {{\"a b\",NULL}} or {{}}");
        Problem::new(SqlState::InvalidTextRepresentation, text)
    };
    let trimmed = text.trim();
    if trimmed.starts_with('[') {
        return Err(wrong("arrays begin at 1, without bounds before them"));
    }
    let mut letters = trimmed.chars().peekable();
    if letters.next() != Some('{') {
        return Err(wrong("it begins with {"));
    }
    let elements = array(&mut letters, 1).map_err(wrong)?;
    if letters.next().is_some() {
        return Err(wrong("something stands behind its last }"));
    }
    same_lengths(&elements).map_err(wrong)?;
    Ok(elements)
}

/// Arrays within arrays, at most: as many as PostgreSQL has dimensions.
const MOST_DIMENSIONS: usize = 6;

/// The elements behind a `{`, up to its `}`.
fn array(letters: &mut Peekable<Chars<'_>>, depth: usize) -> std::result::Result<Vec<Element>, &'static str> {
    if depth > MOST_DIMENSIONS {
        return Err("it has more than 6 dimensions");
    }
    let mut elements = Vec::new();
    skip_blanks(letters);
    if letters.next_if_eq(&'}').is_some() {
        return Ok(elements);
    }
    loop {
        skip_blanks(letters);
        elements.push(match letters.peek() {
            None => return Err("a } is missing"),
            Some('{') => {
                letters.next();
                Element::Array(array(letters, depth + 1)?)
            }
            Some('"') => {
                letters.next();
                Element::Text(quoted(letters)?)
            }
            Some(',' | '}') => return Err("an element is missing"),
            Some(_) => bare(letters)?,
        });
        skip_blanks(letters);
        match letters.next() {
            Some(',') => {}
            Some('}') => return Ok(elements),
            None => return Err("a } is missing"),
            Some(_) => return Err("a comma is missing behind an element"),
        }
    }
}

fn skip_blanks(letters: &mut Peekable<Chars<'_>>) {
    while letters.next_if(char::is_ascii_whitespace).is_some() {}
}

fn quoted(letters: &mut Peekable<Chars<'_>>) -> std::result::Result<String, &'static str> {
    let mut text = String::new();
    loop {
        match letters.next() {
            Some('"') => return Ok(text),
            Some('\\') => text.push(letters.next().ok_or("it ends behind a backslash")?),
            Some(letter) => text.push(letter),
            None => return Err("a quote is not closed"),
        }
    }
}

fn bare(letters: &mut Peekable<Chars<'_>>) -> std::result::Result<Element, &'static str> {
    let (mut text, mut kept, mut is_escaped) = (String::new(), 0, false);
    loop {
        match letters.peek() {
            None | Some(',' | '}') => break,
            Some('{') => return Err("a { stands within an element"),
            Some('"') => return Err("a quote stands within an element"),
            Some('\\') => {
                letters.next();
                text.push(letters.next().ok_or("it ends behind a backslash")?);
                (kept, is_escaped) = (text.len(), true);
            }
            Some(letter) => {
                text.push(*letter);
                if !letter.is_ascii_whitespace() {
                    kept = text.len();
                }
                letters.next();
            }
        }
    }
    text.truncate(kept);
    Ok(if !is_escaped && text.eq_ignore_ascii_case("null") { Element::Null } else { Element::Text(text) })
}

/// Arrays beside each other have the same lengths, and stand beside no elements.
fn same_lengths(elements: &[Element]) -> std::result::Result<Vec<usize>, &'static str> {
    let mut inner: Option<Vec<usize>> = None;
    for element in elements {
        let own = match element {
            Element::Array(elements) => Some(same_lengths(elements)?),
            _ => None,
        };
        let own = own.unwrap_or_default();
        if *inner.get_or_insert_with(|| own.clone()) != own {
            return Err("its arrays have different lengths");
        }
    }
    let mut lengths = vec![elements.len()];
    lengths.extend(inner.unwrap_or_default());
    Ok(lengths)
}

/// How deep the arrays of a text are; 1 where it has none, or is no array.
pub(crate) fn depth_of(text: &str) -> usize {
    text.chars()
        .take_while(|letter| *letter == '{' || letter.is_ascii_whitespace())
        .filter(|l| *l == '{')
        .count()
        .max(1)
}

/// Arrays that texts write.
pub(super) fn read(texts: &StringViewArray, to: &DataType, failing: Failing) -> Result<ArrayRef> {
    let mut rows = Vec::with_capacity(texts.len());
    for text in texts {
        let elements = match text {
            None => None,
            Some(text) => failing.or(elements_of(text))?,
        };
        rows.push(elements);
    }
    let lists = of_rows(rows, &as_plain_list(to), failing)?;
    if lists.data_type() == to { Ok(lists) } else { Ok(cast(&lists, to)?) }
}

/// A type of arrays with lists of one kind.
fn as_plain_list(data_type: &DataType) -> DataType {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            DataType::new_list(as_plain_list(field.data_type()), true)
        }
        other => other.clone(),
    }
}

fn of_rows(rows: Vec<Option<Vec<Element>>>, to: &DataType, failing: Failing) -> Result<ArrayRef> {
    let DataType::List(field) = to else { return Ok(new_null_array(to, rows.len())) };
    let lengths = OffsetBuffer::from_lengths(rows.iter().map(|row| row.as_ref().map_or(0, Vec::len)));
    let nulls: NullBuffer = rows.iter().map(Option::is_some).collect::<Vec<bool>>().into();
    let elements = rows.into_iter().flatten().flatten();
    let inner = match field.data_type() {
        own @ DataType::List(_) => {
            let mut arrays = Vec::new();
            for element in elements {
                arrays.push(match element {
                    Element::Null => None,
                    Element::Array(elements) => Some(elements),
                    Element::Text(text) => {
                        let problem = format!("'{text}' stands where an array of {} is to be", type_name(own));
                        failing.or::<()>(Err(Problem::new(SqlState::InvalidTextRepresentation, problem)))?;
                        None
                    }
                });
            }
            of_rows(arrays, own, failing)?
        }
        own => {
            let mut texts = StringViewBuilder::new();
            for element in elements {
                match element {
                    Element::Null => texts.append_null(),
                    Element::Text(text) => texts.append_value(text),
                    Element::Array(_) => {
                        let problem = format!(
                            "an array stands where a {} is to be; cast the text to an array of arrays, {}[][]",
                            type_name(own),
                            type_name(own)
                        );
                        failing.or::<()>(Err(Problem::new(SqlState::InvalidTextRepresentation, problem)))?;
                        texts.append_null();
                    }
                }
            }
            let texts: ArrayRef = Arc::new(texts.finish());
            convert(&texts, own, failing)?
        }
    };
    let field = Arc::new(Field::new(field.name(), inner.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, lengths, inner, Some(nulls))?))
}

/// Arrays as texts.
pub(super) fn write(values: &ArrayRef) -> Result<ArrayRef> {
    let lists = cast(values, &as_plain_list(values.data_type()))?;
    let lists = lists.as_list::<i32>();
    let inner = lists.values();
    let is_nested = matches!(inner.data_type(), DataType::List(_));
    let texts = match inner.data_type() {
        DataType::List(_) => write(inner)?,
        DataType::Boolean => {
            let truths = inner.as_boolean().iter().map(|own| own.map(|own| if own { "t" } else { "f" }));
            Arc::new(truths.collect::<StringViewArray>())
        }
        DataType::Null => new_null_array(&DataType::Utf8View, inner.len()),
        DataType::Struct(_) | DataType::Map(..) => TIMES.written(inner)?,
        _ => convert(inner, &DataType::Utf8View, Failing::Error)?,
    };
    let texts = cast(&texts, &DataType::Utf8View)?;
    let texts = texts.as_string_view();
    let of_row = |row: usize| {
        lists.is_valid(row).then(|| {
            let own = lists.offsets()[row] as usize..lists.offsets()[row + 1] as usize;
            let mut text = String::from("{");
            for (number, at) in own.enumerate() {
                text.push_str(if number == 0 { "" } else { "," });
                match texts.is_valid(at).then(|| texts.value(at)) {
                    None => text.push_str("NULL"),
                    Some(own) if is_nested => text.push_str(own),
                    Some(own) => push_element(&mut text, own),
                }
            }
            text.push('}');
            text
        })
    };
    Ok(Arc::new((0..lists.len()).map(of_row).collect::<StringViewArray>()))
}

fn push_element(text: &mut String, element: &str) {
    let needs_quotes = element.is_empty()
        || element.eq_ignore_ascii_case("null")
        || element.contains(|c: char| matches!(c, '{' | '}' | '"' | '\\' | ',') || c.is_ascii_whitespace());
    if !needs_quotes {
        text.push_str(element);
        return;
    }
    text.push('"');
    for letter in element.chars() {
        if matches!(letter, '"' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
    text.push('"');
}

/// Arrays whose elements are cast.
pub(super) fn between(values: &ArrayRef, to: &DataType, failing: Failing) -> Result<ArrayRef> {
    let lists = cast(values, &as_plain_list(values.data_type()))?;
    let lists = lists.as_list::<i32>();
    let (DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _)) = to else {
        return datafusion::common::internal_err!("{to} in the place of a list");
    };
    let inner = convert(lists.values(), field.data_type(), failing)?;
    let field = Arc::new(Field::new(field.name(), inner.data_type().clone(), true));
    let own: ArrayRef = Arc::new(ListArray::try_new(field, lists.offsets().clone(), inner, lists.nulls().cloned())?);
    if own.data_type() == to { Ok(own) } else { Ok(cast(&own, to)?) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written_as_postgresql_does() {
        let cases = [
            ("{1,2,NULL}", "{1,2,NULL}"),
            (" { a , \"b c\" , null } ", "{a,\"b c\",NULL}"),
            ("{}", "{}"),
            ("{\"\",\"NULL\",\"a\\\"b\",c\\,d}", "{\"\",\"NULL\",\"a\\\"b\",\"c,d\"}"),
            ("{a b,\\ c}", "{\"a b\",\" c\"}"),
        ];
        let to = DataType::new_list(DataType::Utf8View, true);
        for (text, expected) in cases {
            let lists = read(&StringViewArray::from(vec![text]), &to, Failing::Error).unwrap();
            let texts = write(&lists).unwrap();
            assert_eq!(texts.as_string_view().value(0), expected, "{text}");
        }
        let nested = DataType::new_list(DataType::new_list(DataType::Int32, true), true);
        let lists = read(&StringViewArray::from(vec!["{{1,2},{3,4}}"]), &nested, Failing::Error).unwrap();
        assert_eq!(write(&lists).unwrap().as_string_view().value(0), "{{1,2},{3,4}}");
        for text in [
            "",
            "1,2",
            "{1,2",
            "{1,,2}",
            "{1}2",
            "{{1},{2,3}}",
            "{1,{2}}",
            "{\"a\"b}",
            "{a\"b\"}",
            "[0:1]={1,2}",
            "{1,}",
        ] {
            assert!(elements_of(text).is_err(), "{text}");
        }
    }
}
