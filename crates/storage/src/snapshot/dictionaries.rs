//! Dictionary versions as catalog values: a hash to find equal ones, then the entries, compressed when that helps.

use crate::SqlState;
use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::records::{dictionary_key, pair_key, pair_of_key};
use crate::lmdb::values;
use crate::{ColumnId, Error, LogicalType, Result, TableId};
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, StringViewArray};
use arrow::buffer::{Buffer, ScalarBuffer};
use arrow::datatypes::DataType;
use heed::{RoTxn, RwTxn};
use std::sync::Arc;

/// Hash of the entries, number of entries, length of their bytes, compression.
const HEADER: usize = 8 + 4 + 8 + 1;
/// Level of zstd: dictionaries are small beside their columns, and read at every open.
const LEVEL: i32 = 3;
/// Values below this many bytes are not worth compressing.
const WORTH_COMPRESSING: usize = 4096;

/// A hash of the entries: two independent checksums, so that unequal dictionaries seldom have to be compared.
pub(crate) fn content_hash(entries: &ArrayRef) -> Result<u64> {
    let (mut bytes, mut lengths) = (0u32, 0u32);
    for index in 0..entries.len() {
        let entry = entry(entries, index)?;
        bytes = crc32c::crc32c_append(bytes, entry);
        lengths = crc32c::crc32c_append(lengths, &(entry.len() as u64).to_le_bytes());
    }
    Ok(u64::from(bytes) << 32 | u64::from(lengths ^ entries.len() as u32))
}

/// Entry `index` of a Utf8View or BinaryView array.
fn entry(entries: &ArrayRef, index: usize) -> Result<&[u8]> {
    match entries.data_type() {
        DataType::Utf8View => Ok(entries.as_string_view().value(index).as_bytes()),
        DataType::BinaryView => Ok(entries.as_binary_view().value(index)),
        other => Err(Error::Internal(format!("a dictionary of type {other} can't be stored"))),
    }
}

/// Entries as bytes: [`HEADER`], then lengths (`u32` each) and bytes of the entries, compressed as a whole or not.
fn encode(entries: &ArrayRef, hash: u64) -> Result<Vec<u8>> {
    let mut body = Vec::with_capacity(entries.len() * 12);
    let count = u32::try_from(entries.len()).map_err(|_| {
        Error::invalid(SqlState::ProgramLimitExceeded, "a dictionary has more than 2^32 entries".to_owned())
    })?;
    for index in 0..entries.len() {
        let length = u32::try_from(entry(entries, index)?.len()).map_err(|_| {
            Error::invalid(SqlState::ProgramLimitExceeded, "a dictionary entry is longer than 4 GiB".to_owned())
        })?;
        body.extend_from_slice(&length.to_le_bytes());
    }
    for index in 0..entries.len() {
        body.extend_from_slice(entry(entries, index)?);
    }
    let compressed = if body.len() >= WORTH_COMPRESSING {
        zstd::bulk::compress(&body, LEVEL).ok().filter(|compressed| compressed.len() < body.len() / 8 * 7)
    } else {
        None
    };
    let mut payload = Vec::with_capacity(HEADER + body.len());
    payload.extend_from_slice(&hash.to_le_bytes());
    payload.extend_from_slice(&count.to_le_bytes());
    payload.extend_from_slice(&(body.len() as u64).to_le_bytes());
    payload.push(u8::from(compressed.is_some()));
    payload.extend_from_slice(compressed.as_deref().unwrap_or(&body));
    Ok(payload)
}

/// Takes apart what [`encode`] made; the checksum was verified, so what fails here was written wrong.
fn decode(payload: &[u8], logical_type: &LogicalType) -> Result<ArrayRef, String> {
    let (header, rest) = payload.split_first_chunk::<HEADER>().ok_or("too short for a dictionary")?;
    let count = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
    let length = u64::from_le_bytes(*header[12..].first_chunk::<8>().ok_or("too short for a dictionary")?);
    let length = usize::try_from(length).map_err(|_| "too long for this machine")?;
    let body = match header[HEADER - 1] {
        0 => rest.to_vec(),
        1 => zstd::bulk::decompress(rest, length).map_err(|error| format!("decompressing: {error}"))?,
        other => return Err(format!("compression {other} is unknown")),
    };
    if body.len() != length || body.len() / 4 < count {
        return Err(format!("{} bytes do not hold {count} entries", body.len()));
    }
    let (lengths, bytes) = body.split_at(count * 4);
    let mut views = Vec::with_capacity(count);
    let mut start = 0usize;
    for length in lengths.as_chunks::<4>().0 {
        let end = start + u32::from_le_bytes(*length) as usize;
        let entry = bytes.get(start..end).ok_or_else(|| format!("an entry ends at byte {end} of {}", bytes.len()))?;
        let offset = u32::try_from(start).map_err(|_| "entries take more than 4 GiB")?;
        views.push(arrow::array::make_view(entry, 0, offset));
        start = end;
    }
    if start != bytes.len() {
        return Err(format!("{} bytes are left over", bytes.len() - start));
    }
    let (views, buffers) = (ScalarBuffer::from(views), vec![Buffer::from_slice_ref(bytes)]);
    let array: ArrayRef = match logical_type {
        LogicalType::Binary => {
            Arc::new(BinaryViewArray::try_new(views, buffers, None).map_err(|error| error.to_string())?)
        }
        _ => Arc::new(StringViewArray::try_new(views, buffers, None).map_err(|error| error.to_string())?),
    };
    for index in 1..array.len() {
        let ascending = match logical_type {
            LogicalType::Binary => array.as_binary_view().value(index - 1) < array.as_binary_view().value(index),
            _ => array.as_string_view().value(index - 1) < array.as_string_view().value(index),
        };
        if !ascending {
            return Err(format!("entry {index} does not follow entry {}", index - 1));
        }
    }
    Ok(array)
}

/// Reads the entries of one version.
pub(crate) fn load(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    table: TableId,
    column: ColumnId,
    version: u32,
    logical_type: &LogicalType,
) -> Result<ArrayRef> {
    let place = || format!("{}, {}", environment.folder().join("data.mdb").display(), name(table, column, version));
    let payload =
        values::get(environment, transaction, Name::Dictionaries, &dictionary_key(table, column, version))?
            .ok_or_else(|| Error::corrupt(place(), "a segment names this dictionary version, but it is missing"))?;
    decode(payload, logical_type).map_err(|detail| Error::corrupt(place(), detail))
}

fn name(table: TableId, column: ColumnId, version: u32) -> String {
    format!("dictionary version {version} of column {column} of table {table}")
}

/// Finds a version of the column with the same entries, or stores them as version `next`. Returns the version.
pub(crate) fn find_or_store(
    environment: &Environment,
    transaction: &mut RwTxn<'_>,
    table: TableId,
    column: ColumnId,
    entries: &ArrayRef,
    next: u32,
) -> Result<u32> {
    let hash = content_hash(entries)?;
    let logical_type =
        if *entries.data_type() == DataType::BinaryView { LogicalType::Binary } else { LogicalType::Varchar(None) };
    let mut candidates = Vec::new();
    for version in versions(environment, transaction, table, Some(column))? {
        let key = dictionary_key(table, column, version.1);
        if let Some(payload) = values::get(environment, transaction, Name::Dictionaries, &key)?
            && payload.starts_with(&hash.to_le_bytes())
        {
            candidates.push(version.1);
        }
    }
    for version in candidates {
        let stored = load(environment, transaction, table, column, version, &logical_type)?;
        if same(&stored, entries)? {
            return Ok(version);
        }
    }
    let payload = encode(entries, hash)?;
    values::put(environment, transaction, Name::Dictionaries, &dictionary_key(table, column, next), &payload)?;
    Ok(next)
}

fn same(left: &ArrayRef, right: &ArrayRef) -> Result<bool> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for index in 0..left.len() {
        if entry(left, index)? != entry(right, index)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Column and version of each dictionary stored for a table, or for one of its columns.
pub(crate) fn versions(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    table: TableId,
    column: Option<ColumnId>,
) -> Result<Vec<(ColumnId, u32)>> {
    let whole = pair_key(table, 0);
    let with_column = dictionary_key(table, column.unwrap_or(0), 0);
    let prefix = if column.is_some() { &with_column[..12] } else { &whole[..8] };
    let mut found = Vec::new();
    values::each_raw(environment, transaction, Name::Dictionaries, prefix, |key, _| {
        if let Some((_, second)) = pair_of_key(key) {
            found.push(((second >> 32) as ColumnId, second as u32));
        }
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(entries: &[&str]) -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(entries))
    }

    #[test]
    fn entries_survive_a_round_trip() {
        let long = "x".repeat(5000);
        for entries in [&[][..], &["", "a", "longer than twelve bytes", &long]] {
            let array = text(entries);
            let payload = encode(&array, content_hash(&array).unwrap()).unwrap();
            let back = decode(&payload, &LogicalType::Varchar(None)).unwrap();
            assert_eq!(back.as_string_view(), array.as_string_view());
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_for_text_columns() {
        let array: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([&[0xff_u8, 0xfe][..]]));
        let payload = encode(&array, 0).unwrap();
        assert!(decode(&payload, &LogicalType::Varchar(None)).is_err());
        assert_eq!(decode(&payload, &LogicalType::Binary).unwrap().len(), 1);
    }

    #[test]
    fn entries_out_of_order_are_refused() {
        let payload = encode(&text(&["b", "a"]), 0).unwrap();
        assert!(decode(&payload, &LogicalType::Varchar(None)).unwrap_err().contains("follow"));
    }

    #[test]
    fn truncated_payloads_are_refused() {
        let payload = encode(&text(&["aa", "bb", "cc"]), 0).unwrap();
        for length in 0..payload.len() {
            assert!(decode(&payload[..length], &LogicalType::Varchar(None)).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn the_hash_tells_moved_boundaries_apart() {
        let (a, b) = (text(&["ab", "c"]), text(&["a", "bc"]));
        assert_ne!(content_hash(&a).unwrap(), content_hash(&b).unwrap());
    }
}
