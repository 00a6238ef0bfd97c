//! `unistr(text)`: a text whose escapes `\XXXX`, `\+XXXXXX`, `\uXXXX` and `\UXXXXXXXX` are characters by their numbers.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::type_name::type_name;
use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn unistr() -> Arc<ScalarUDF> {
    let compute = |own: &[ArrayRef], _: &DataType| {
        let texts = own[0].as_string_view().iter().map(|text| text.map(unescaped).transpose());
        Ok(Arc::new(texts.collect::<Result<StringViewArray>>()?) as ArrayRef)
    };
    let types = |types: &[DataType]| match types {
        [own] if own.is_string() || own.is_null() => Ok(vec![DataType::Utf8View]),
        [other] => invalid!(UndefinedFunction, "unistr takes a text, not {}; cast it", type_name(other)),
        _ => invalid!(UndefinedFunction, "unistr takes one text, not {} values", types.len()),
    };
    PureFunction::new("unistr", types, |_| Ok(DataType::Utf8View), compute).build()
}

fn unescaped(text: &str) -> Result<String> {
    let mut plain = String::new();
    let mut rest = text;
    // The first half of a character of two numbers.
    let mut high = None;
    while let Some(at) = rest.find('\\') {
        if high.is_some() && at > 0 {
            return half(text);
        }
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('\\') {
            if high.is_some() {
                return half(text);
            }
            plain.push('\\');
            rest = behind;
            continue;
        }
        let (skipped, digits) = match rest.chars().next() {
            Some('u') => (1, 4),
            Some('U') => (1, 8),
            Some('+') => (1, 6),
            _ => (0, 4),
        };
        let number = rest.get(skipped..skipped + digits).filter(|own| own.bytes().all(|own| own.is_ascii_hexdigit()));
        let Some(number) = number.and_then(|number| u32::from_str_radix(number, 16).ok()) else {
            return invalid!(
                SyntaxError,
                "unistr: a backslash stands before XXXX, +XXXXXX, uXXXX, UXXXXXXXX or another backslash"
            );
        };
        rest = &rest[skipped + digits..];
        let character = match (high.take(), number) {
            (None, 0xD800..=0xDBFF) => {
                high = Some(number);
                continue;
            }
            (Some(high), 0xDC00..=0xDFFF) => 0x10000 + ((high - 0xD800) << 10) + (number - 0xDC00),
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return half(text),
            (None, number) => number,
        };
        match char::from_u32(character).filter(|own| *own != '\0') {
            Some(character) => plain.push(character),
            None => return invalid!(InvalidParameterValue, "unistr: {character:X} is the number of no character"),
        }
    }
    if high.is_some() {
        return half(text);
    }
    plain.push_str(rest);
    Ok(plain)
}

fn half<T>(text: &str) -> Result<T> {
    invalid!(SyntaxError, "unistr: '{text}' has half of a character of two numbers")
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn escapes_are_characters() {
        let cases = [
            (r"\0064at\+0000610", "data0"),
            (r"d\u0061t\U000000610", "data0"),
            (r"a\\b", r"a\b"),
            (r"\D83D\DE00", "\u{1F600}"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(unescaped(text).ok().as_deref(), Some(expected), "{text}");
        }
        for text in [r"wrong: \db99", r"\db99\0061", r"\06", r"a\", r"\de00", r"\U002FFFFF", r"\0000"] {
            assert!(unescaped(text).is_err(), "{text}");
        }
    }
}
