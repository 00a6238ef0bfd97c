//! Bytes from text and as text, as PostgreSQL has them: hexadecimal digits after `\x`, otherwise the text's own bytes with
//! `\\` for a backslash and `\nnn`, three octal digits, for any byte. Written are always hexadecimal digits.

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder, StringViewArray, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use gingham_storage::{Problem, SqlState};
use std::fmt::Write;
use std::sync::Arc;

/// Characters of a text that a message shows.
const SHOWN: usize = 60;

/// The bytes that texts mean. `or` says what becomes of a text that means none.
pub(super) fn read(
    texts: &StringViewArray,
    to: &DataType,
    or: impl Fn(std::result::Result<Vec<u8>, Problem>) -> Result<Option<Vec<u8>>>,
) -> Result<ArrayRef> {
    let mut all = BinaryViewBuilder::with_capacity(texts.len());
    for text in texts {
        match text {
            Some(text) => all.append_option(or(bytes_of(text))?),
            None => all.append_null(),
        }
    }
    Ok(arrow::compute::cast(&all.finish(), to)?)
}

/// Bytes as text.
pub(super) fn write(values: &ArrayRef) -> Result<ArrayRef> {
    let views = arrow::compute::cast(values, &DataType::BinaryView)?;
    let mut texts = StringViewBuilder::with_capacity(values.len());
    let mut text = String::new();
    for bytes in views.as_binary_view() {
        let Some(bytes) = bytes else {
            texts.append_null();
            continue;
        };
        text.clear();
        text.push_str("\\x");
        hex(bytes, &mut text);
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

/// Appends two hexadecimal digits for each byte.
pub(crate) fn hex(bytes: &[u8], text: &mut String) {
    text.reserve(2 * bytes.len());
    for byte in bytes {
        // A text takes whatever is written to it.
        let _ = write!(text, "{byte:02x}");
    }
}

/// The bytes that a text means, or what is wrong with it.
pub(crate) fn bytes_of(text: &str) -> std::result::Result<Vec<u8>, Problem> {
    let bytes = match text.strip_prefix("\\x") {
        Some(digits) => unhexed(digits).map_err(|why| (SqlState::InvalidParameterValue, why)),
        None => unescaped(text).map_err(|why| (SqlState::InvalidTextRepresentation, why)),
    };
    bytes.map_err(|(state, why)| {
        let shown = match text.char_indices().nth(SHOWN) {
            None => text.to_owned(),
            Some((end, _)) => format!("{}…", &text[..end]),
        };
        Problem::new(state, format!("value '{shown}' is not a valid BINARY: {why}"))
    })
}

/// The bytes that pairs of hexadecimal digits stand for; blanks may stand between pairs.
pub(crate) fn unhexed(digits: &str) -> std::result::Result<Vec<u8>, String> {
    let digit = |letter: char| match letter.to_digit(16) {
        Some(digit) => Ok(digit as u8),
        None => Err(format!("'{letter}' is no hexadecimal digit")),
    };
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut letters = digits.chars();
    while let Some(letter) = letters.next() {
        if matches!(letter, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(letter)?;
        let Some(letter) = letters.next() else { return Err("it has an odd number of hexadecimal digits".to_owned()) };
        bytes.push(high << 4 | digit(letter)?);
    }
    Ok(bytes)
}

/// The bytes of a text whose backslashes begin an escape.
pub(crate) fn unescaped(text: &str) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        match rest {
            [b'\\', behind @ ..] => {
                bytes.push(b'\\');
                rest = behind;
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = behind;
            }
            _ => return Err("behind a backslash stands another or three octal digits up to 377".to_owned()),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_postgresql_does() {
        for (text, bytes) in [
            ("\\x00fF", &b"\x00\xff"[..]),
            ("\\x", b""),
            ("", b""),
            ("\\xAb Cd\n01", b"\xab\xcd\x01"),
            ("é", "é".as_bytes()),
            ("x00", b"x00"),
            ("a\\\\b\\001\\377", b"a\\b\x01\xff"),
        ] {
            assert_eq!(bytes_of(text).unwrap(), bytes, "{text}");
        }
        for (text, state, why) in [
            ("\\xzz", SqlState::InvalidParameterValue, "'z' is no hexadecimal digit"),
            ("\\x0 0", SqlState::InvalidParameterValue, "' ' is no hexadecimal digit"),
            ("\\xé", SqlState::InvalidParameterValue, "'é' is no hexadecimal digit"),
            ("\\x000", SqlState::InvalidParameterValue, "an odd number"),
            ("a\\b", SqlState::InvalidTextRepresentation, "behind a backslash"),
            ("\\400", SqlState::InvalidTextRepresentation, "behind a backslash"),
            ("\\00", SqlState::InvalidTextRepresentation, "behind a backslash"),
            ("\\X00", SqlState::InvalidTextRepresentation, "behind a backslash"),
        ] {
            let problem = bytes_of(text).unwrap_err();
            assert_eq!(problem.state, state, "{text}");
            assert!(problem.text.contains(why) && problem.text.contains(text), "{}", problem.text);
        }
    }

    #[test]
    fn bytes_come_back_from_their_text() {
        let bytes: Vec<u8> = (0..=255).collect();
        let values: ArrayRef = Arc::new(arrow::array::BinaryViewArray::from(vec![Some(&bytes[..]), None, Some(b"")]));
        let texts = write(&values).unwrap();
        assert_eq!(texts.as_string_view().value(2), "\\x");
        let back = read(texts.as_string_view(), &DataType::BinaryView, |bytes| Ok(bytes.ok())).unwrap();
        assert_eq!(&back, &values);
    }
}
