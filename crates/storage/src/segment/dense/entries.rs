//! The columns of a group over a whole segment, as they are to be written into dense pages.

use crate::encoding::encoder::{ZoneKind, ZoneValues};
use crate::model::page_packing::PagePacking;
use crate::segment::decode::Native;
use gingham_kernels::bitpack::bits_for;
use hashbrown::HashMap;

/// Codes of at most so many bits are looked up in a table by code rather than by hash.
const TABLE_BITS: u8 = 20;

/// The values of one column.
#[derive(Debug, Default)]
pub(crate) struct ColumnEntries {
    /// Codes, or lengths of byte strings.
    pub codes: Vec<u64>,
    /// 128-bit values.
    pub wide: Vec<i128>,
    /// The byte strings, one after the other.
    pub bytes: Vec<u8>,
    /// Where each byte string starts, and where the last one ends.
    pub starts: Vec<usize>,
    /// For each record whether it has a value; empty while all have.
    valid: Vec<bool>,
    /// Records.
    pub rows: usize,
    /// Bytes of the longest byte string.
    longest: u64,
}

/// Facts of a column besides its values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntriesMeta {
    /// The form that codes are decoded to.
    pub native: Native,
    /// Bits of the largest code.
    pub code_bits: u8,
    /// The packing that was asked for.
    pub asked: Option<PagePacking>,
}

impl ColumnEntries {
    /// Adds a zone of `rows` records.
    pub fn add(&mut self, kind: ZoneKind, zone: &ZoneValues, rows: usize) {
        self.codes.extend_from_slice(&zone.codes);
        self.wide.extend_from_slice(&zone.wide);
        if kind == ZoneKind::Bytes {
            let mut end = self.bytes.len();
            self.bytes.extend_from_slice(&zone.bytes);
            if self.starts.is_empty() {
                self.starts.push(0);
            }
            self.starts.extend(zone.codes.iter().map(|length| {
                self.longest = self.longest.max(*length);
                end += *length as usize;
                end
            }));
        }
        if zone.nulls > 0 || !self.valid.is_empty() {
            self.valid.resize(self.rows, true);
            let valid = |row: usize| zone.nulls == 0 || zone.validity[row / 8] >> (row % 8) & 1 == 1;
            self.valid.extend((0..rows).map(valid));
        }
        self.rows += rows;
    }

    /// Whether a record has a value.
    pub fn is_valid(&self, record: usize) -> bool {
        self.valid.get(record).is_none_or(|valid| *valid)
    }

    /// True when any record is NULL.
    pub fn has_nulls(&self) -> bool {
        !self.valid.is_empty()
    }

    /// Bits of the longest byte string's length.
    pub fn length_bits(&self) -> u8 {
        bits_for(self.longest) as u8
    }

    /// For each record one more than the last record before it with the same code; 0 where there is none.
    pub fn seen_before(&self, code_bits: u8) -> Vec<u32> {
        let numbered = self.codes.iter().zip(1_u32..);
        if code_bits <= TABLE_BITS {
            let mut last = vec![0; 1 << code_bits];
            return numbered.map(|(code, next)| std::mem::replace(&mut last[*code as usize], next)).collect();
        }
        let mut last = HashMap::new();
        numbered.map(|(code, next)| last.insert(*code, next).unwrap_or(0)).collect()
    }
}
