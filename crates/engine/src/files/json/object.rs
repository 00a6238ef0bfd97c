//! The fields of one JSON object.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The fields of an object, and their values as they are written. Of fields of one name the last counts.
pub(super) struct JsonFields<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for JsonFields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = JsonFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    fields.push((name, map.next_value()?));
                }
                Ok(JsonFields(fields))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A text that is borrowed where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Letters;
        impl<'de> Visitor<'de> for Letters {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Letters)
    }
}

/// A kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonKind {
    Null,
    Text,
    /// A number or a truth.
    Word,
    /// A list or an object.
    Nested,
}

/// The kind of a value, by its first byte.
pub(super) fn kind(value: &RawValue) -> JsonKind {
    match value.get().as_bytes().first() {
        Some(b'n') | None => JsonKind::Null,
        Some(b'"') => JsonKind::Text,
        Some(b'{' | b'[') => JsonKind::Nested,
        Some(_) => JsonKind::Word,
    }
}

/// A value as text: what a text says, and another value as it is written. `None` for NULL.
///
/// # Errors
///
/// The escapes of a text are no characters: half of a pair that UTF-16 has for one.
pub(super) fn text(value: &RawValue) -> Result<Option<Cow<'_, str>>, serde_json::Error> {
    Ok(match kind(value) {
        JsonKind::Null => None,
        JsonKind::Text => {
            let Name(text) = serde_json::from_str(value.get())?;
            Some(text)
        }
        JsonKind::Word | JsonKind::Nested => Some(Cow::Borrowed(value.get())),
    })
}
