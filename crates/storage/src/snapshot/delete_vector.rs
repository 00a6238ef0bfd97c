//! Which records of a segment or delta block are deleted: a bit for each, kept by zone in a database of the catalog, so that
//! deleting one record rewrites the bits of one zone. Segments themselves never change.
//!
//! A zone of few deleted records is kept as the list of them, which is shorter than its bits.

use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::records::{DeletedRecord, pair_key};
use crate::lmdb::values;
use crate::segment::SegmentId;
use crate::segment::reader::Segment;
use crate::{Error, Result, TableId};
use gingham_kernels::{Isa, bits};
use heed::RoTxn;

/// First byte of a value: deleted records as a list of u32, or as bits.
const LIST: u8 = 0;
const BITS: u8 = 1;

/// The deleted records of one segment or delta block, at least one.
#[derive(Debug)]
pub struct DeleteVector {
    number: u64,
    rows: u64,
    zones: Vec<Option<DeleteVectorZone>>,
}

/// The deleted records of one zone, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeleteVectorZone {
    /// A bit per record.
    words: Vec<u64>,
    rows: usize,
}

/// Key of the deleted records of a zone.
pub(crate) fn zone_key(table: TableId, segment: SegmentId, zone: usize) -> [u8; 24] {
    let mut key = [0; 24];
    key[..16].copy_from_slice(&pair_key(table, segment));
    key[16..].copy_from_slice(&(zone as u64).to_be_bytes());
    key
}

/// Table, segment and zone of such a key.
pub(crate) fn zone_of_key(key: &[u8]) -> Option<(TableId, SegmentId, u64)> {
    let (parts, []) = key.as_chunks::<8>() else { return None };
    let [table, segment, zone] = parts else { return None };
    Some((u64::from_be_bytes(*table), u64::from_be_bytes(*segment), u64::from_be_bytes(*zone)))
}

impl DeleteVector {
    /// Deleted records.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether a record of a zone is one of them.
    pub fn contains(&self, zone: usize, tid: usize) -> bool {
        let word = self.zone(zone).and_then(|zone| zone.words.get(tid / 64));
        word.is_some_and(|word| word >> (tid % 64) & 1 == 1)
    }

    /// Their number: other bits of the same segment have another.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Those of a zone; `None` when all of its records are there.
    pub(crate) fn zone(&self, zone: usize) -> Option<&DeleteVectorZone> {
        self.zones.get(zone)?.as_ref()
    }

    /// Reads what `record` says of `segment`.
    pub(crate) fn load(
        environment: &Environment,
        transaction: &RoTxn<'_>,
        table: TableId,
        record: &DeletedRecord,
        segment: &Segment,
    ) -> Result<Self> {
        let mut zones = vec![None; segment.zones()];
        let (mut rows, prefix) = (0, pair_key(table, segment.id()));
        values::each(environment, transaction, Name::Deleted, &prefix, |key, payload| {
            let damaged = |detail: String| Error::corrupt(values::describe_key(Name::Deleted, key), detail);
            let zone = zone_of_key(key).and_then(|(.., zone)| usize::try_from(zone).ok());
            let zone = zone.filter(|zone| *zone < zones.len());
            let zone = zone.ok_or_else(|| damaged(format!("the segment has {} zones", segment.zones())))?;
            let found = DeleteVectorZone::decode(payload, segment.zone_rows(zone).len()).map_err(damaged)?;
            rows += found.rows as u64;
            zones[zone] = Some(found);
            Ok(())
        })?;
        if rows == record.rows {
            return Ok(Self { number: record.number, rows, zones });
        }
        Err(Error::corrupt(
            format!("deleted records of segment {} of table number {table}", segment.id()),
            format!("{rows} are found, the table says {}", record.rows),
        ))
    }
}

impl DeleteVectorZone {
    /// None deleted, in a zone of `rows` records.
    pub(crate) fn none(rows: usize) -> Self {
        Self { words: vec![0; bits::words(rows)], rows: 0 }
    }

    /// Deleted records.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// A bit per record that is there.
    pub(crate) fn live(&self, rows: usize) -> Vec<u64> {
        let mut live = self.words.clone();
        bits::not(&mut live, rows);
        live
    }

    /// Takes the deleted records out of a bit vector.
    pub(crate) fn take_from(&self, found: &mut [u64]) {
        found.iter_mut().zip(&self.words).for_each(|(found, deleted)| *found &= !deleted);
    }

    /// Deletes a record; false when it was deleted before.
    pub(crate) fn add(&mut self, tid: usize) -> bool {
        let (word, bit) = (&mut self.words[tid / 64], 1 << (tid % 64));
        let new = *word & bit == 0;
        *word |= bit;
        self.rows += usize::from(new);
        new
    }

    /// The value that is kept.
    pub(crate) fn encode(&self) -> Vec<u8> {
        if 4 * self.rows < 8 * self.words.len() {
            let mut tids = Vec::with_capacity(self.rows);
            bits::to_tids(Isa::best(), &self.words, 0, &mut tids);
            let list = tids.into_iter().flat_map(u32::to_le_bytes);
            return std::iter::once(LIST).chain(list).collect();
        }
        std::iter::once(BITS).chain(self.words.iter().flat_map(|word| word.to_le_bytes())).collect()
    }

    /// From such a value, of a zone of `rows` records; else what is wrong with it.
    fn decode(payload: &[u8], rows: usize) -> std::result::Result<Self, String> {
        let mut zone = Self::none(rows);
        match payload.split_first() {
            Some((&LIST, list)) if list.len().is_multiple_of(4) => {
                let mut next = 0;
                for tid in list.as_chunks::<4>().0.iter().map(|tid| u32::from_le_bytes(*tid) as usize) {
                    if tid < next || tid >= rows {
                        return Err(format!("record {tid} behind {next}, of {rows}"));
                    }
                    next = tid + 1;
                    zone.add(tid);
                }
            }
            Some((&BITS, words)) if words.len() == 8 * zone.words.len() => {
                zone.words = words.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
                let mut inside = vec![0; zone.words.len()];
                bits::fill(&mut inside, rows);
                if zone.words.iter().zip(&inside).any(|(word, inside)| word & !inside != 0) {
                    return Err(format!("bits behind the {rows} records of the zone"));
                }
                zone.rows = bits::count(Isa::best(), &zone.words);
            }
            _ => return Err(format!("{} bytes, which are no deleted records of {rows}", payload.len())),
        }
        if zone.rows == 0 { Err("no record is deleted".to_owned()) } else { Ok(zone) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(rows: usize, deleted: impl IntoIterator<Item = usize>) -> DeleteVectorZone {
        let mut zone = DeleteVectorZone::none(rows);
        deleted.into_iter().for_each(|tid| assert!(zone.add(tid)));
        zone
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for rows in [1, 63, 64, 65, 1000, 65_535, 65_536, 70_001] {
            for step in [1, 2, 3, 64, 1000] {
                let zone = zone(rows, (0..rows).step_by(step));
                let payload = zone.encode();
                assert!(payload.len() <= 1 + 8 * bits::words(rows), "{rows}, {step}");
                assert_eq!(DeleteVectorZone::decode(&payload, rows).unwrap(), zone, "{rows}, {step}");
                let live = zone.live(rows);
                assert_eq!(bits::count(Isa::best(), &live), rows - zone.rows());
            }
        }
    }

    #[test]
    fn what_is_no_such_value_is_refused() {
        let refused = |payload: &[u8]| DeleteVectorZone::decode(payload, 100).unwrap_err();
        assert!(refused(&[]).contains("0 bytes"));
        assert!(refused(&[LIST]).contains("no record"));
        assert!(refused(&[LIST, 3]).contains("2 bytes"));
        assert!(refused(&[LIST, 100, 0, 0, 0]).contains("record 100"));
        assert!(refused(&[LIST, 5, 0, 0, 0, 5, 0, 0, 0]).contains("record 5"));
        assert!(refused(&[2, 5, 0]).contains("3 bytes"));
        let mut bits = vec![BITS];
        bits.extend([0xff; 16]);
        assert!(refused(&bits).contains("behind"));
        assert!(refused(&[&[BITS][..], &[0; 16]].concat()).contains("no record"));
    }

    #[test]
    fn keys_are_taken_apart() {
        assert_eq!(zone_of_key(&zone_key(1, 2, 3)), Some((1, 2, 3)));
        assert_eq!(zone_of_key(&pair_key(1, 2)), None);
    }
}
