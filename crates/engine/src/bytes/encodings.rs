//! encode and decode: bytes as text in hexadecimal, in base 64 and with escapes, and back.

use crate::bytes::arguments::bytes;
use crate::casts::{hex, unescaped, unhexed};
use crate::error::invalid;
use crate::functions::PureFunction;
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder, StringViewArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use gingham_storage::{Problem, SqlState};
use std::fmt::Write;
use std::sync::Arc;

/// Bytes in one line of base 64, which has 76 characters.
const LINE: usize = 57;

/// Bits that the last character has too many are not looked at, as PostgreSQL does not.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let (encoded, decoded) = (
        PureFunction::new("encode", |types| typed("encode", types), |_| Ok(DataType::Utf8View), encode),
        PureFunction::new("decode", |types| typed("decode", types), |_| Ok(DataType::BinaryView), decode),
    );
    vec![encoded.build(), decoded.build()]
}

fn typed(name: &str, types: &[DataType]) -> Result<Vec<DataType>> {
    let known = |data_type: &DataType| data_type.is_string() || data_type.is_null();
    let [value, encoding] = types else {
        return invalid!(UndefinedFunction, "{name} takes a value and an encoding, not {} values", types.len());
    };
    if !(known(value) || name == "encode" && value.is_binary()) || !known(encoding) {
        return invalid!(UndefinedFunction, "{name} does not take {value} and {encoding}; cast them");
    }
    let own = if name == "encode" { DataType::BinaryView } else { DataType::Utf8View };
    Ok(vec![own, DataType::Utf8View])
}

/// A form of bytes as text.
#[derive(Clone, Copy)]
enum Encoding {
    Hex,
    Base64,
    Escape,
}

impl Encoding {
    fn called(name: &str) -> Result<Self> {
        Ok(match name {
            name if name.eq_ignore_ascii_case("hex") => Self::Hex,
            name if name.eq_ignore_ascii_case("base64") => Self::Base64,
            name if name.eq_ignore_ascii_case("escape") => Self::Escape,
            other => {
                return invalid!(InvalidParameterValue, "'{other}' is no encoding: there are hex, base64 and escape");
            }
        })
    }

    fn write(self, bytes: &[u8], text: &mut String) {
        match self {
            Self::Hex => hex(bytes, text),
            Self::Base64 => {
                for line in bytes.chunks(LINE) {
                    BASE64.encode_string(line, text);
                    if line.len() == LINE {
                        text.push('\n');
                    }
                }
            }
            Self::Escape => {
                for byte in bytes {
                    // A text takes whatever is written to it.
                    let _ = match byte {
                        0 | 0x80.. => write!(text, "\\{byte:03o}"),
                        b'\\' => write!(text, "\\\\"),
                        byte => write!(text, "{}", char::from(*byte)),
                    };
                }
            }
        }
    }

    fn read(self, text: &str) -> std::result::Result<Vec<u8>, Problem> {
        let (state, name, read) = match self {
            Self::Hex => (SqlState::InvalidParameterValue, "hex", unhexed(text)),
            Self::Base64 => {
                let blank = |byte: &u8| !matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
                let letters: Vec<u8> = text.bytes().filter(blank).collect();
                (SqlState::InvalidParameterValue, "base64", BASE64.decode(letters).map_err(|error| error.to_string()))
            }
            Self::Escape => (SqlState::InvalidTextRepresentation, "escape", unescaped(text)),
        };
        read.map_err(|why| Problem::new(state, format!("decode: '{text}' is no {name}: {why}")))
    }
}

/// The encodings of rows: most often one for all of them.
fn encodings(array: &ArrayRef) -> Result<StringViewArray> {
    Ok(cast(array, &DataType::Utf8View)?.as_string_view().clone())
}

fn encode(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let (values, names) = (bytes(&arguments[0])?, encodings(&arguments[1])?);
    let mut texts = StringViewBuilder::with_capacity(values.len());
    let mut text = String::new();
    for (value, name) in values.iter().zip(&names) {
        let Some((value, name)) = value.zip(name) else {
            texts.append_null();
            continue;
        };
        text.clear();
        Encoding::called(name)?.write(value, &mut text);
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

fn decode(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let (values, names) = (encodings(&arguments[0])?, encodings(&arguments[1])?);
    let mut all = BinaryViewBuilder::with_capacity(values.len());
    for (value, name) in values.iter().zip(&names) {
        match value.zip(name) {
            Some((value, name)) => {
                let read = Encoding::called(name)?.read(value);
                all.append_value(read.map_err(crate::Error::InvalidInput)?);
            }
            None => all.append_null(),
        }
    }
    Ok(Arc::new(all.finish()))
}

#[cfg(test)]
mod tests {
    use super::Encoding;

    #[test]
    fn encodings_come_back() {
        let bytes: Vec<u8> = (0..=255).cycle().take(600).collect();
        for encoding in [Encoding::Hex, Encoding::Base64, Encoding::Escape] {
            for length in (0..130).chain([600]) {
                let mut text = String::new();
                encoding.write(&bytes[..length], &mut text);
                assert_eq!(encoding.read(&text).unwrap(), &bytes[..length]);
            }
        }
    }

    #[test]
    fn lines_of_base_64_are_postgresqls() {
        let written = |length: usize| {
            let mut text = String::new();
            Encoding::Base64.write(&vec![b'a'; length], &mut text);
            text
        };
        assert_eq!(written(2), "YWE=");
        assert_eq!(written(57).len(), 77);
        assert_eq!(written(58), written(57) + "YQ==");
        for wrong in ["!!", "YQ", "Y", "YQ=", "="] {
            assert!(Encoding::Base64.read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Encoding::Base64.read("YR = =").unwrap(), b"a");
    }
}
