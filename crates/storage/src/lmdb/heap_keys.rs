//! Keys of the database `heap`: table, attribute, number, all big-endian, so that a table's values lie together and DSM's
//! key order is its tree of record ids.

/// In the place of an attribute: the pages of NSM and PAX, by number.
pub(crate) use crate::pages::page::PAGES;

use crate::TableId;

/// The number that the free space of the chunks of a table's pages goes by.
pub(crate) const CHUNKS: u64 = u64::MAX;
/// In the place of an attribute: the map of free space, by chunk.
pub(crate) const SPACE: u32 = u32::MAX - 1;
/// In the map of free space, in the place of what is free: there is no page of that number.
pub(crate) const GONE: u8 = u8::MAX;
/// In the place of an attribute: values too long for a page.
pub(crate) const OVERFLOW: u32 = u32::MAX;

/// A key's bytes.
pub(crate) type Key = [u8; 20];

/// The key of a page (attribute 0, or DSM's column and first record id), of a chunk of the map or of a long value.
pub(crate) fn key(table: TableId, attribute: u32, number: u64) -> Key {
    let mut key = [0; 20];
    key[..8].copy_from_slice(&table.to_be_bytes());
    key[8..12].copy_from_slice(&attribute.to_be_bytes());
    key[12..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Table, attribute and number of a key.
pub(crate) fn parse(key: &[u8]) -> Option<(TableId, u32, u64)> {
    let (table, rest) = key.split_first_chunk::<8>()?;
    let (attribute, number) = rest.split_first_chunk::<4>()?;
    let number = u64::from_be_bytes(number.try_into().ok()?);
    Some((u64::from_be_bytes(*table), u32::from_be_bytes(*attribute), number))
}

/// True of keys whose values are pages; the others are sealed like the catalog's other values.
pub(crate) fn is_page(attribute: u32) -> bool {
    attribute < SPACE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_their_numbers_do() {
        assert!(key(1, 2, u64::MAX) < key(1, 3, 0));
        assert!(key(1, OVERFLOW, u64::MAX) < key(2, PAGES, 0));
        assert!(key(1, 2, 255) < key(1, 2, 256));
        assert_eq!(parse(&key(1, 2, 3)), Some((1, 2, 3)));
        assert_eq!(parse(&[0; 19]), None);
    }
}
