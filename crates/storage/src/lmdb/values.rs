//! The envelope of every catalog value: a version, a checksum over database, key and payload, then the payload.
//!
//! The checksum covers the key and the database's name, so that a value that turns up under another key is found too.
//! docs/formats/catalog.md is the byte map.

use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_keys as keys;
use crate::{Error, Result};
use heed::{RoTxn, RwTxn};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Version of the envelope and of the payloads in it that this build writes. It reads all earlier ones; docs/formats/catalog.md says
/// by what they differ.
pub(crate) const VALUE_VERSION: u8 = 10;
/// Version, three zero bytes, checksum.
pub(crate) const ENVELOPE: usize = 8;

/// A key with its database, for error messages.
pub(crate) fn place(environment: &Environment, name: Name, key: &[u8]) -> String {
    format!("{}, {}", environment.folder().join("data.mdb").display(), describe_key(name, key))
}

/// A key as people read it: its numbers, or its text.
pub(crate) fn describe_key(name: Name, key: &[u8]) -> String {
    let readable = if name == Name::Meta {
        String::from_utf8_lossy(key).into_owned()
    } else if let Some((table, attribute, number)) = keys::parse(key).filter(|_| name == Name::Heap) {
        format!("{table}/{attribute}/{number}")
    } else {
        let (numbers, rest) = key.split_at(key.len() - key.len() % 8);
        let mut parts: Vec<String> =
            numbers.as_chunks::<8>().0.iter().map(|chunk| u64::from_be_bytes(*chunk).to_string()).collect();
        parts.extend(rest.iter().map(u8::to_string));
        parts.join("/")
    };
    format!("{} value {readable}", name.text())
}

fn checksum(version: u8, name: Name, key: &[u8], payload: &[u8]) -> u32 {
    let mut sum = crc32c::crc32c(name.text().as_bytes());
    sum = crc32c::crc32c_append(sum, &[version, 0, 0, 0]);
    sum = crc32c::crc32c_append(sum, key);
    crc32c::crc32c_append(sum, payload)
}

/// Wraps `payload`.
pub(crate) fn seal(name: Name, key: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(ENVELOPE + payload.len());
    value.extend_from_slice(&[VALUE_VERSION, 0, 0, 0]);
    value.extend_from_slice(&checksum(VALUE_VERSION, name, key, payload).to_le_bytes());
    value.extend_from_slice(payload);
    value
}

/// The payload of `value`, verified. `place` names the value in errors.
pub(crate) fn unseal<'v>(name: Name, key: &[u8], value: &'v [u8], place: impl Fn() -> String) -> Result<&'v [u8]> {
    let Some((envelope, payload)) = value.split_first_chunk::<ENVELOPE>() else {
        return Err(Error::corrupt(place(), format!("{} bytes are too few for a value", value.len())));
    };
    let [version, zero @ .., a, b, c, d] = *envelope;
    if version > VALUE_VERSION && zero == [0; 3] {
        return Err(Error::Unsupported(format!(
            "{}: value version {version} was written by a newer Gingham; this one reads up to {VALUE_VERSION}",
            place()
        )));
    }
    let (stored, found) = (u32::from_le_bytes([a, b, c, d]), checksum(version, name, key, payload));
    if version == 0 || zero != [0; 3] || stored != found {
        return Err(Error::corrupt(place(), format!("checksum is {found:08x}, {stored:08x} was stored")));
    }
    Ok(payload)
}

/// The payload stored under `key`.
pub(crate) fn get<'t>(
    environment: &Environment,
    transaction: &'t RoTxn<'_>,
    name: Name,
    key: &[u8],
) -> Result<Option<&'t [u8]>> {
    let found = get_raw(environment, transaction, name, key)?;
    found.map(|value| unseal(name, key, value, || place(environment, name, key))).transpose()
}

/// [`get`] without opening the envelope: heap pages have none.
pub(crate) fn get_raw<'t>(
    environment: &Environment,
    transaction: &'t RoTxn<'_>,
    name: Name,
    key: &[u8],
) -> Result<Option<&'t [u8]>> {
    environment.values(name)?.get(transaction, key).map_err(environment.failed("reading"))
}

/// The JSON value stored under `key`.
pub(crate) fn get_json<T: DeserializeOwned>(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    name: Name,
    key: &[u8],
) -> Result<Option<T>> {
    let Some(payload) = get(environment, transaction, name, key)? else { return Ok(None) };
    parse(payload, || place(environment, name, key)).map(Some)
}

/// Stores `payload` under `key`.
pub(crate) fn put(
    environment: &Environment,
    transaction: &mut RwTxn<'_>,
    name: Name,
    key: &[u8],
    payload: &[u8],
) -> Result<()> {
    let value = seal(name, key, payload);
    environment.values(name)?.put(transaction, key, &value).map_err(environment.failed("writing"))
}

/// Stores a JSON value under `key`.
pub(crate) fn put_json<T: Serialize>(
    environment: &Environment,
    transaction: &mut RwTxn<'_>,
    name: Name,
    key: &[u8],
    value: &T,
) -> Result<()> {
    put(environment, transaction, name, key, &json(name, key, value)?)
}

/// [`put_json`] unless the same is stored there, so that its page stays as it is.
pub(crate) fn put_changed_json<T: Serialize>(
    environment: &Environment,
    transaction: &mut RwTxn<'_>,
    name: Name,
    key: &[u8],
    value: &T,
) -> Result<()> {
    let payload = json(name, key, value)?;
    if get_raw(environment, transaction, name, key)? == Some(&seal(name, key, &payload)) {
        return Ok(());
    }
    put(environment, transaction, name, key, &payload)
}

fn json<T: Serialize>(name: Name, key: &[u8], value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(value)
        .map_err(|error| Error::Internal(format!("{} can't be written: {error}", describe_key(name, key))))
}

/// Removes `key`.
pub(crate) fn delete(environment: &Environment, transaction: &mut RwTxn<'_>, name: Name, key: &[u8]) -> Result<()> {
    environment.values(name)?.delete(transaction, key).map(drop).map_err(environment.failed("writing"))
}

/// Calls `visit` with each key that begins with `prefix` and its payload, in key order.
pub(crate) fn each(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    name: Name,
    prefix: &[u8],
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    each_raw(environment, transaction, name, prefix, |key, value| {
        visit(key, unseal(name, key, value, || place(environment, name, key))?)
    })
}

/// [`each`] without opening the envelope.
pub(crate) fn each_raw(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    name: Name,
    prefix: &[u8],
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    if !environment.has(name) {
        return Ok(());
    }
    let values = environment.values(name)?;
    let failed = environment.failed("reading");
    if prefix.is_empty() {
        for entry in values.iter(transaction).map_err(&failed)? {
            let (key, value) = entry.map_err(&failed)?;
            visit(key, value)?;
        }
    } else {
        for entry in values.prefix_iter(transaction, prefix).map_err(&failed)? {
            let (key, value) = entry.map_err(&failed)?;
            visit(key, value)?;
        }
    }
    Ok(())
}

/// A JSON payload as a value.
pub(crate) fn parse<T: DeserializeOwned>(payload: &[u8], place: impl Fn() -> String) -> Result<T> {
    serde_json::from_slice(payload).map_err(|error| Error::corrupt(place(), format!("not the JSON expected: {error}")))
}

/// A verified JSON payload handed over by [`each`].
pub(crate) fn parse_at<T: DeserializeOwned>(
    environment: &Environment,
    name: Name,
    key: &[u8],
    payload: &[u8],
) -> Result<T> {
    parse(payload, || place(environment, name, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_byte_of_a_value_is_found() {
        let key = 7u64.to_be_bytes();
        let value = seal(Name::Tables, &key, b"{\"some\":\"payload\"}");
        assert_eq!(unseal(Name::Tables, &key, &value, String::new).unwrap(), b"{\"some\":\"payload\"}");
        for at in 0..value.len() {
            for flip in [1, 0x80, 0xff] {
                let mut damaged = value.clone();
                damaged[at] ^= flip;
                assert!(unseal(Name::Tables, &key, &damaged, String::new).is_err(), "byte {at} ^ {flip}");
            }
        }
    }

    #[test]
    fn a_value_under_another_key_or_database_is_found() {
        let value = seal(Name::Tables, &7u64.to_be_bytes(), b"x");
        assert!(unseal(Name::Tables, &8u64.to_be_bytes(), &value, String::new).is_err());
        assert!(unseal(Name::Views, &7u64.to_be_bytes(), &value, String::new).is_err());
    }

    #[test]
    fn a_newer_version_is_refused_by_version() {
        let mut value = seal(Name::Tables, b"k", b"x");
        value[0] = VALUE_VERSION + 1;
        let error = unseal(Name::Tables, b"k", &value, String::new).unwrap_err();
        let newer = format!("value version {}", VALUE_VERSION + 1);
        assert!(matches!(&error, Error::Unsupported(text) if text.contains(&newer)), "{error}");
    }
}
