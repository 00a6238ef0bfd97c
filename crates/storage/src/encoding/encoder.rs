//! A column that is being encoded: what was chosen for it, its codes zone by zone, and its statistics at the end.

use crate::SqlState;
use crate::encoding::bounds::{integer_limits, lower_bound, upper_bound};
use crate::encoding::floats::FloatCoding;
use crate::encoding::meta::{ColumnStatistics, Encoding};
use crate::encoding::sketch::{Sketch, hash_bytes, hash_float, hash_integer};
use crate::encoding::strings::{DictionaryCodes, EntryLimit};
use crate::encoding::{floats, integers, strings};
use crate::model::design::{ColumnChoice, EncodingChoice, plain_bits};
use crate::model::view::{float_from_order, real_from_order};
use crate::{Datum, Error, FloatBits, LogicalType, Result, ValueClass};
use arrow::array::{Array, ArrayRef, BooleanBufferBuilder};
use gingham_kernels::bitpack::bits_for;
use gingham_kernels::{Isa, minmax};
use std::ops::Range;

/// Codes of at most so many bits are marked off in a bitmap and reach the sketch once each.
const MARKED_BITS: u32 = 16;

/// One column of one segment, encoded as its zones are asked for, in order.
pub(crate) struct ColumnEncoder {
    chunks: Vec<ArrayRef>,
    rows: usize,
    kind: EncoderKind,
    min: Datum,
    max: Datum,
    exact: bool,
    nulls: u64,
    /// Bits of the largest code (of an offset, for plain byte strings).
    code_bits: u32,
    sketch: Option<Sketch>,
    /// Codes seen, when they are few enough to mark.
    marked: Vec<bool>,
    real: bool,
}

enum EncoderKind {
    Integers { base: i128 },
    Wide { filler: i128 },
    Floats(FloatCoding),
    Dictionary(DictionaryCodes),
    Strings { min: Option<Vec<u8>>, max: Option<Vec<u8>> },
}

/// What a zone's codes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZoneKind {
    /// Unsigned codes.
    Codes,
    /// 128-bit values.
    Wide,
    /// Byte strings: `codes` has their lengths.
    Bytes,
}

/// One zone of a column, native; reused from zone to zone.
#[derive(Debug, Default)]
pub(crate) struct ZoneValues {
    /// Bits set where a value is present; empty when no value is NULL.
    pub validity: Vec<u8>,
    /// NULLs.
    pub nulls: usize,
    /// Codes, or lengths of byte strings. A NULL has the smallest code of the zone.
    pub codes: Vec<u64>,
    /// 128-bit values.
    pub wide: Vec<i128>,
    /// Byte strings one after the other.
    pub bytes: Vec<u8>,
    /// Smallest code of a value that is not NULL; 0 when all are.
    pub min: u64,
    /// Largest.
    pub max: u64,
}

impl ColumnEncoder {
    /// Chooses the encoding of a column from its values and what `choice` asks for. Without `rich`, byte strings stay
    /// plain unless it asks for a dictionary, and no sketch is made. Errors name the column.
    pub fn new(
        name: &str,
        logical_type: &LogicalType,
        chunks: Vec<ArrayRef>,
        rich: bool,
        choice: ColumnChoice,
    ) -> Result<Self> {
        let expected = logical_type.to_arrow();
        if let Some(chunk) = chunks.iter().find(|chunk| *chunk.data_type() != expected) {
            let found = chunk.data_type();
            return Err(Error::invalid(
                SqlState::DatatypeMismatch,
                format!("column '{name}' is stored from {expected}, not from {found}"),
            ));
        }
        let rows = chunks.iter().map(|chunk| chunk.len()).sum();
        let mut encoder = Self {
            chunks,
            rows,
            kind: EncoderKind::Strings { min: None, max: None },
            min: Datum::Null,
            max: Datum::Null,
            exact: true,
            nulls: 0,
            code_bits: 0,
            sketch: rich.then(Sketch::new),
            marked: Vec::new(),
            real: *logical_type == LogicalType::Float32,
        };
        match logical_type.class() {
            ValueClass::Integer => encoder.choose_integers()?,
            ValueClass::Float => encoder.choose_floats(),
            ValueClass::Bytes if rich || choice.encoding == EncodingChoice::Dictionary => match choice.encoding {
                EncodingChoice::Plain => {}
                EncodingChoice::Dictionary => encoder.choose_dictionary(EntryLimit::Any),
                _ if choice.by_name => encoder.choose_dictionary(EntryLimit::Any),
                _ => encoder.choose_dictionary(EntryLimit::Few),
            },
            ValueClass::Bytes => {}
        }
        if choice.encoding == EncodingChoice::Plain {
            encoder.widen(logical_type);
        }
        if encoder.sketch.is_some()
            && encoder.code_bits <= MARKED_BITS
            && matches!(encoder.kind, EncoderKind::Integers { .. } | EncoderKind::Floats(_))
        {
            encoder.marked = vec![false; 1 << encoder.code_bits];
        }
        Ok(encoder)
    }

    /// Gives numbers codes of their type's full width: encoding plain.
    fn widen(&mut self, logical_type: &LogicalType) {
        let (class, bits) = (logical_type.class(), plain_bits(logical_type));
        match (&self.kind, class, bits) {
            (EncoderKind::Integers { .. }, ValueClass::Integer, Some(bits)) => {
                let base = match logical_type {
                    LogicalType::Decimal { precision, .. } => 1 - 10_i128.pow(u32::from(*precision)),
                    other => integer_limits(other).0,
                };
                // Values past what a DECIMAL's digits allow keep the base that suits them.
                let fits = |value: &Datum| match value {
                    Datum::Integer(value) => *value >= base && (*value - base) >> bits == 0,
                    _ => true,
                };
                if fits(&self.min) && fits(&self.max) {
                    (self.kind, self.code_bits) = (EncoderKind::Integers { base }, bits.into());
                }
            }
            (EncoderKind::Integers { .. }, ValueClass::Integer, None) => {
                let filler = if let Datum::Integer(min) = self.min { min } else { 0 };
                (self.kind, self.code_bits) = (EncoderKind::Wide { filler }, 128);
            }
            (EncoderKind::Floats(_), _, Some(bits)) => {
                let max = u64::MAX >> (64 - bits);
                (self.kind, self.code_bits) = (EncoderKind::Floats(FloatCoding::Ordered { min: 0, max }), bits.into());
            }
            _ => {}
        }
    }

    fn choose_integers(&mut self) -> Result<()> {
        let Some((min, max)) = integers::range(&self.chunks)? else {
            self.kind = EncoderKind::Integers { base: 0 };
            return Ok(());
        };
        (self.min, self.max) = (Datum::Integer(min), Datum::Integer(max));
        (self.kind, self.code_bits) = match max.checked_sub(min).and_then(|range| u64::try_from(range).ok()) {
            Some(range) => (EncoderKind::Integers { base: min }, bits_for(range)),
            None => (EncoderKind::Wide { filler: min }, 128),
        };
        Ok(())
    }

    fn choose_floats(&mut self) {
        let Some(coding) = floats::choose(&self.chunks) else {
            self.kind = EncoderKind::Floats(FloatCoding::Ordered { min: 0, max: 0 });
            return;
        };
        let range;
        (range, self.min, self.max) = match coding {
            FloatCoding::Scaled { digits, min, max } => {
                let value = |scaled| Datum::Float(FloatBits::new(floats::unscale(scaled, digits)));
                (max.abs_diff(min), value(min), value(max))
            }
            FloatCoding::Ordered { min, max } => {
                let value = |order| Datum::Float(FloatBits::new(unordered(order, self.real)));
                (max - min, value(min), value(max))
            }
        };
        self.code_bits = bits_for(range);
        self.kind = EncoderKind::Floats(coding);
    }

    fn choose_dictionary(&mut self, entries: EntryLimit) {
        let Some(coded) = strings::try_dictionary(&self.chunks, entries) else { return };
        let mut sketch = Sketch::new();
        let mut bounds: Option<(Vec<u8>, Vec<u8>)> = None;
        // A dictionary of NULLs alone has an entry that no value stands for.
        let some = self.chunks.iter().any(|chunk| chunk.null_count() < chunk.len());
        strings::for_each(&coded.entries, |entry| {
            let entry = entry.map_or(&[][..], |(_, entry)| entry);
            if !some {
                return false;
            }
            sketch.insert(hash_bytes(entry));
            match &mut bounds {
                None => bounds = Some((entry.to_vec(), entry.to_vec())),
                Some((_, max)) => {
                    max.clear();
                    max.extend_from_slice(entry);
                }
            }
            true
        });
        if let Some((min, max)) = bounds {
            self.set_bounds(&min, &max);
        }
        self.sketch = Some(sketch);
        self.code_bits = bits_for(coded.entries.len().saturating_sub(1) as u64);
        self.chunks = Vec::new();
        self.kind = EncoderKind::Dictionary(coded);
    }

    fn set_bounds(&mut self, min: &[u8], max: &[u8]) {
        let (min, min_exact) = lower_bound(min);
        let (max, max_exact) = upper_bound(max);
        (self.min, self.max, self.exact) = (min, max, min_exact && max_exact);
    }

    /// Bits of the largest code; of byte strings, of the largest offset in the zones so far.
    pub fn code_bits(&self) -> u8 {
        self.code_bits as u8
    }

    /// What the zones hold.
    pub fn zone_kind(&self) -> ZoneKind {
        match self.kind {
            EncoderKind::Wide { .. } => ZoneKind::Wide,
            EncoderKind::Strings { .. } => ZoneKind::Bytes,
            _ => ZoneKind::Codes,
        }
    }

    /// Smallest and largest value of a column of integers; `None` when all are NULL.
    pub fn integers(&self) -> Option<(i128, i128)> {
        match (&self.min, &self.max) {
            (Datum::Integer(min), Datum::Integer(max)) => Some((*min, *max)),
            _ => None,
        }
    }

    /// Records of the column.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The encoding chosen.
    pub fn encoding(&self) -> Encoding {
        match &self.kind {
            EncoderKind::Integers { base } => Encoding::FrameOfReference { base: *base },
            EncoderKind::Floats(FloatCoding::Scaled { digits, min, .. }) => {
                Encoding::ScaledFloat { base: *min, digits: *digits }
            }
            EncoderKind::Floats(FloatCoding::Ordered { min, .. }) => Encoding::FloatOrder { base: *min },
            EncoderKind::Dictionary(_) => Encoding::Dictionary,
            EncoderKind::Wide { .. } | EncoderKind::Strings { .. } => Encoding::Plain,
        }
    }

    /// Fills `zone` with the records `rows`.
    pub fn zone(&mut self, rows: Range<usize>, zone: &mut ZoneValues) -> Result<()> {
        zone.codes.clear();
        zone.wide.clear();
        zone.bytes.clear();
        zone.codes.reserve(rows.len());
        let mut present = BooleanBufferBuilder::new(rows.len());
        if let EncoderKind::Dictionary(coded) = &self.kind {
            for code in coded.codes(rows.clone()) {
                present.append(code.is_some());
                zone.codes.push(code.unwrap_or_default().into());
            }
        }
        for chunk in slices(&self.chunks, rows.clone()) {
            match chunk.nulls() {
                None => present.append_n(chunk.len(), true),
                Some(nulls) => present.append_buffer(nulls.inner()),
            }
            match &mut self.kind {
                EncoderKind::Integers { base } => integers::append_codes(&chunk, *base, &mut zone.codes)?,
                EncoderKind::Wide { filler } => integers::append_wide(&chunk, *filler, &mut zone.wide)?,
                EncoderKind::Floats(coding) => floats::append_codes(&chunk, *coding, &mut zone.codes),
                EncoderKind::Dictionary(_) => {}
                EncoderKind::Strings { min, max } => append_strings(&chunk, zone, min, max, self.sketch.as_mut()),
            }
        }
        let present = present.finish();
        zone.nulls = rows.len() - present.count_set_bits();
        zone.validity.clear();
        if zone.nulls > 0 {
            zone.validity.extend_from_slice(present.values());
        }
        self.nulls += zone.nulls as u64;
        self.settle(rows.len(), zone);
        Ok(())
    }

    /// Gives NULLs a code, finds the zone's range, feeds the sketch.
    fn settle(&mut self, rows: usize, zone: &mut ZoneValues) {
        (zone.min, zone.max) = (0, 0);
        match self.zone_kind() {
            ZoneKind::Bytes => self.code_bits = self.code_bits.max(bits_for(zone.bytes.len() as u64)),
            ZoneKind::Wide => {
                let Some(sketch) = &mut self.sketch else { return };
                zone.wide
                    .iter()
                    .enumerate()
                    .filter(|(row, _)| is_present(&zone.validity, *row))
                    .for_each(|(_, value)| sketch.insert(hash_integer(*value)));
            }
            ZoneKind::Codes if zone.nulls == rows => zone.codes.fill(0),
            ZoneKind::Codes => {
                if zone.nulls > 0 {
                    let present = |row: usize| is_present(&zone.validity, row);
                    let codes = zone.codes.iter().enumerate();
                    let filler = codes.filter(|(row, _)| present(*row)).map(|(_, code)| *code).min().unwrap_or(0);
                    let codes = zone.codes.iter_mut().enumerate();
                    codes.filter(|(row, _)| !present(*row)).for_each(|(_, code)| *code = filler);
                }
                (zone.min, zone.max) = minmax::min_max(Isa::best(), &zone.codes).unwrap_or_default();
                self.sketch_codes(&zone.codes);
            }
        }
    }

    fn sketch_codes(&mut self, codes: &[u64]) {
        if !self.marked.is_empty() {
            codes.iter().for_each(|code| self.marked[*code as usize] = true);
            return;
        }
        if let Some(sketch) = &mut self.sketch {
            // In sorted columns equal codes follow one another.
            let mut before = None;
            let others = codes.iter().filter(|code| before.replace(**code) != Some(**code));
            insert_codes(sketch, &self.kind, self.real, others.copied());
        }
    }

    /// Statistics of all zones, bits of a code, and the dictionary's entries.
    pub fn finish(mut self) -> (ColumnStatistics, u8, Option<ArrayRef>) {
        if let EncoderKind::Strings { min: Some(min), max: Some(max) } = &mut self.kind {
            let (min, max) = (std::mem::take(min), std::mem::take(max));
            self.set_bounds(&min, &max);
        }
        if let Some(sketch) = &mut self.sketch {
            let seen = self.marked.iter().enumerate().filter(|(_, seen)| **seen);
            insert_codes(sketch, &self.kind, self.real, seen.map(|(code, _)| code as u64));
        }
        let statistics = ColumnStatistics {
            min: self.min,
            max: self.max,
            exact: self.exact,
            nulls: self.nulls,
            sketch: self.sketch.map(|sketch| sketch.to_bytes()).unwrap_or_default(),
        };
        let entries = match self.kind {
            EncoderKind::Dictionary(coded) => Some(coded.entries),
            _ => None,
        };
        (statistics, self.code_bits as u8, entries)
    }
}

/// Adds the values that codes stand for; those of other kinds are added where they are met.
fn insert_codes(sketch: &mut Sketch, kind: &EncoderKind, real: bool, codes: impl Iterator<Item = u64>) {
    match *kind {
        EncoderKind::Integers { base } => {
            codes.for_each(|code| sketch.insert(hash_integer(base + i128::from(code))));
        }
        EncoderKind::Floats(FloatCoding::Scaled { digits, min, .. }) => {
            codes.for_each(|code| {
                sketch.insert(hash_float(floats::unscale(min.wrapping_add(code as i64), digits)));
            });
        }
        EncoderKind::Floats(FloatCoding::Ordered { min, .. }) => {
            codes.for_each(|code| sketch.insert(hash_float(unordered(min + code, real))));
        }
        EncoderKind::Wide { .. } | EncoderKind::Dictionary(_) | EncoderKind::Strings { .. } => {}
    }
}

/// The float (a REAL widened) of ordered bits.
fn unordered(order: u64, real: bool) -> f64 {
    if real { real_from_order(order as u32).into() } else { float_from_order(order) }
}

/// Whether the value of `row` is present by a zone's validity bits.
fn is_present(validity: &[u8], row: usize) -> bool {
    validity.is_empty() || validity[row / 8] >> (row % 8) & 1 == 1
}

/// Appends lengths and bytes of a chunk's values.
fn append_strings(
    chunk: &ArrayRef,
    zone: &mut ZoneValues,
    min: &mut Option<Vec<u8>>,
    max: &mut Option<Vec<u8>>,
    mut sketch: Option<&mut Sketch>,
) {
    strings::for_each(chunk, |value| {
        let Some((_, value)) = value else {
            zone.codes.push(0);
            return true;
        };
        zone.codes.push(value.len() as u64);
        zone.bytes.extend_from_slice(value);
        if min.as_deref().is_none_or(|min| value < min) {
            *min = Some(value.to_vec());
        }
        if max.as_deref().is_none_or(|max| value > max) {
            *max = Some(value.to_vec());
        }
        if let Some(sketch) = sketch.as_deref_mut() {
            sketch.insert(hash_bytes(value));
        }
        true
    });
}

/// The records `rows` of consecutive chunks.
fn slices(chunks: &[ArrayRef], rows: Range<usize>) -> impl Iterator<Item = ArrayRef> {
    let mut start = 0;
    chunks.iter().filter_map(move |chunk| {
        let end = start + chunk.len();
        let (low, high) = (rows.start.max(start), rows.end.min(end));
        let slice = (low < high).then(|| chunk.slice(low - start, high - low));
        start = end;
        slice
    })
}
