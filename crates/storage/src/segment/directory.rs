//! A segment's directory: what its columns are and where their blocks lie.
//!
//! Column descriptions are JSON, so that later versions can add fields; the block table and the sketches behind it are
//! binary, so that opening a segment is cheap.

use crate::encoding::bounds::integer_limits;
use crate::encoding::floats::MAX_DIGITS;
use crate::encoding::meta::Encoding;
use crate::model::view::code_bytes;
use crate::segment::decode::Native;
use crate::segment::dense::form::{DenseMeta, PAGE_ENTRY, PageEntry};
use crate::segment::filter::FilterMeta;
use crate::segment::format::{BlockEntry, ENTRY, HEADER};
use crate::segment::group::{Form, GroupMeta};
use crate::segment::meta::ColumnMeta;
use crate::{LogicalType, ValueClass};
use gingham_kernels::bitpack::bits_for;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Most records of a segment, and of a zone.
const MAX_ROWS: u64 = 1 << 31;
const MAX_ZONE_ROWS: u64 = 1 << 20;
/// Most bytes of strings in a zone: what an Arrow view can address.
pub(crate) const MAX_STRING_BYTES: usize = i32::MAX as usize;

/// The directory.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    /// Records.
    pub rows: usize,
    /// Records of a zone; the last one may have fewer.
    pub zone_rows: usize,
    /// The columns.
    pub columns: Vec<ColumnMeta>,
    /// The column groups, in the order of their blocks in the file.
    pub groups: Vec<GroupMeta>,
    /// By column, then zone.
    pub blocks: Vec<BlockEntry>,
    /// Filters of keys, in their order in the file, behind the blocks.
    pub filters: Vec<FilterMeta>,
}

/// The JSON part.
#[derive(Serialize, Deserialize)]
struct Description<C, G, F> {
    rows: u64,
    zone_rows: u64,
    columns: C,
    /// None when every column lies on its own, native, in order.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    groups: Option<G>,
    /// None when there are no filters.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    filters: Option<F>,
}

fn none<T>() -> Option<T> {
    None
}

/// Every column on its own.
fn alone(columns: usize) -> Vec<GroupMeta> {
    (0..columns).map(GroupMeta::alone).collect()
}

impl Directory {
    /// Zones of a segment of so many records.
    pub fn zone_count(rows: usize, zone_rows: usize) -> usize {
        rows.div_ceil(zone_rows)
    }

    /// Zones.
    pub fn zones(&self) -> usize {
        Self::zone_count(self.rows, self.zone_rows)
    }

    /// Records of a zone.
    pub fn zone(&self, zone: usize) -> Range<usize> {
        (zone * self.zone_rows).min(self.rows)..((zone + 1) * self.zone_rows).min(self.rows)
    }

    /// The block of a column, by its place, in a zone.
    pub fn block(&self, column: usize, zone: usize) -> &BlockEntry {
        &self.blocks[column * self.zones() + zone]
    }

    /// How the groups lie in memory, or what is wrong with them: each column is in exactly one.
    pub fn forms(&self) -> Result<Vec<Form>, String> {
        let mut grouped = vec![false; self.columns.len()];
        let mut forms = Vec::with_capacity(self.groups.len());
        for (number, group) in self.groups.iter().enumerate() {
            let failed = |detail: String| format!("directory: group {number}: {detail}");
            for place in &group.columns {
                match grouped.get_mut(*place) {
                    Some(seen) if !*seen => *seen = true,
                    _ => return Err(failed(format!("column {place} is not there, or grouped already"))),
                }
            }
            let columns = group.columns.iter().map(|place| &self.columns[*place]);
            let columns: Vec<_> = columns.map(|column| (column.native(), column.code_bits)).collect();
            forms.push(Form::new(group, &columns).map_err(failed)?);
        }
        if grouped.contains(&false) {
            return Err("directory: a column is in no group".into());
        }
        Ok(forms)
    }
}

impl ColumnMeta {
    /// How the column lies in memory on its own.
    pub(crate) fn native(&self) -> Native {
        match (&self.encoding, self.logical_type.class()) {
            (Encoding::Plain, ValueClass::Bytes) => Native::Bytes { text: self.logical_type != LogicalType::Binary },
            (Encoding::Plain, _) => Native::Wide,
            _ => Native::Codes { width: code_bytes(self.code_bits) },
        }
    }
}

impl Directory {
    /// The bytes: length of the JSON part, the JSON part, block table, sketches each behind its length, checksums of the filters'
    /// pages, tables of dense pages.
    pub fn to_bytes(&self) -> Vec<u8> {
        let description = Description {
            rows: self.rows as u64,
            zone_rows: self.zone_rows as u64,
            columns: &self.columns,
            groups: Some(&self.groups).filter(|groups| **groups != alone(self.columns.len())),
            filters: Some(&self.filters).filter(|filters| !filters.is_empty()),
        };
        let json = serde_json::to_vec(&description).unwrap_or_default();
        let mut bytes = (json.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(&json);
        self.blocks.iter().for_each(|block| bytes.extend_from_slice(&block.to_bytes()));
        for column in &self.columns {
            bytes.extend_from_slice(&(column.statistics.sketch.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&column.statistics.sketch);
        }
        let pages = self.filters.iter().flat_map(|filter| &filter.pages);
        pages.for_each(|checksum| bytes.extend_from_slice(&checksum.to_le_bytes()));
        let pages = self.groups.iter().filter_map(|group| group.dense.as_ref()).flat_map(|dense| &dense.table);
        pages.for_each(|page| bytes.extend_from_slice(&page.to_bytes()));
        bytes
    }

    /// The directory that starts at `offset` of its file, or what is wrong with it.
    pub fn parse(bytes: &[u8], offset: u64) -> Result<Self, String> {
        let mut rest = bytes;
        let json = take_counted(&mut rest).ok_or("directory: the description goes past the end")?;
        let description: Description<Vec<ColumnMeta>, Vec<GroupMeta>, Vec<FilterMeta>> =
            serde_json::from_slice(json).map_err(|error| format!("directory: {error}"))?;
        if description.rows > MAX_ROWS || !(1..=MAX_ZONE_ROWS).contains(&description.zone_rows) {
            return Err(format!("directory: {} records by {}", description.rows, description.zone_rows));
        }
        let (rows, zone_rows) = (description.rows as usize, description.zone_rows as usize);
        let mut columns = description.columns;
        let count = columns.len().checked_mul(Self::zone_count(rows, zone_rows));
        let Some(table) = count.and_then(|count| count.checked_mul(ENTRY)).and_then(|size| rest.get(..size)) else {
            return Err("directory: the block table goes past the end".into());
        };
        rest = &rest[table.len()..];
        let blocks: Vec<BlockEntry> = table.as_chunks::<ENTRY>().0.iter().map(BlockEntry::parse).collect();
        for column in &mut columns {
            column.statistics.sketch = take_counted(&mut rest).ok_or("directory: a sketch goes past the end")?.to_vec();
        }
        let mut filters = description.filters.unwrap_or_default();
        let mut groups = description.groups.unwrap_or_else(|| alone(columns.len()));
        let dense = groups.iter().filter_map(|group| group.dense.as_ref()).map(DenseMeta::bytes);
        let lengths = blocks.iter().map(|block| u64::from(block.length)).chain(dense);
        let mut end = lengths.fold(HEADER as u64, u64::saturating_add);
        for filter in &mut filters {
            filter.verify(&columns, rows)?;
            filter.offset = end;
            end = end.saturating_add(filter.bytes());
            let pages = rest.split_off(..filter.page_count() * size_of::<u32>());
            let pages = pages.ok_or("directory: the checksums of a filter go past the end")?;
            filter.pages = pages.as_chunks::<4>().0.iter().map(|checksum| u32::from_le_bytes(*checksum)).collect();
        }
        for dense in groups.iter_mut().filter_map(|group| group.dense.as_mut()) {
            let table = (dense.pages as usize).checked_mul(PAGE_ENTRY).and_then(|size| rest.split_off(..size));
            let table = table.ok_or("directory: a table of dense pages goes past the end")?;
            dense.table = table.as_chunks::<PAGE_ENTRY>().0.iter().map(|entry| PageEntry::parse(*entry)).collect();
        }
        if !rest.is_empty() {
            return Err(format!("directory: {} bytes too many", rest.len()));
        }
        place_pages(&mut groups, &blocks, Self::zone_count(rows, zone_rows));
        let directory = Self { rows, zone_rows, columns, groups, blocks, filters };
        directory.verify(offset)?;
        Ok(directory)
    }

    /// Holds everything against the rest: blocks tile the file, codes fit their encoding and type.
    fn verify(&self, end: u64) -> Result<(), String> {
        for (place, column) in self.columns.iter().enumerate() {
            let id = column.column;
            if self.columns[..place].iter().any(|other| other.column == id) {
                return Err(format!("directory: column {id} is there twice"));
            }
            verify_meta(column)?;
        }
        self.forms()?;
        let mut offset = HEADER as u64;
        for (number, group) in self.groups.iter().enumerate() {
            self.verify_group(number, group, &mut offset)?;
        }
        let filters: u64 = self.filters.iter().map(FilterMeta::bytes).sum();
        if offset.checked_add(filters) != Some(end) {
            return Err(format!(
                "directory: blocks end at {offset}, filters take {filters} bytes, the directory starts at {end}"
            ));
        }
        Ok(())
    }

    /// Blocks of a group follow one another from `offset` on, by zone and column, and end at what it becomes. Columns of dense
    /// pages have entries for their zones, without bytes, and pages in place of blocks.
    fn verify_group(&self, number: usize, group: &GroupMeta, offset: &mut u64) -> Result<(), String> {
        for zone in 0..self.zones() {
            let mut strings = 0;
            for place in &group.columns {
                let (column, block) = (&self.columns[*place], self.block(*place, zone));
                let failed = |detail: &str| format!("directory: column {} zone {zone}: {detail}", column.column);
                if block.offset != *offset {
                    return Err(failed("it does not follow what comes before"));
                }
                if group.dense.is_some() && (block.length, block.checksum) != (0, 0) {
                    return Err(failed("a block beside dense pages"));
                }
                *offset = offset.checked_add(block.length.into()).ok_or("directory: blocks go past 2^64")?;
                verify_block(column, block, self.zone(zone).len()).map_err(|detail| failed(&detail))?;
                strings += u64::from(block.string_bytes);
            }
            if strings > MAX_STRING_BYTES as u64 {
                return Err(format!("directory: group {number} zone {zone}: {strings} bytes of strings"));
            }
        }
        let Some(dense) = &group.dense else { return Ok(()) };
        dense.verify(self.rows).map_err(|detail| format!("directory: group {number}: {detail}"))?;
        *offset = offset.checked_add(dense.bytes()).ok_or("directory: pages go past 2^64")?;
        Ok(())
    }
}

/// Tells dense groups where their pages lie: each group follows the one before.
fn place_pages(groups: &mut [GroupMeta], blocks: &[BlockEntry], zones: usize) {
    let mut offset = HEADER as u64;
    for group in groups {
        for place in &group.columns {
            let own = blocks.chunks(zones.max(1)).nth(*place).unwrap_or_default();
            offset = own.iter().fold(offset, |offset, block| offset.saturating_add(block.length.into()));
        }
        if let Some(dense) = &mut group.dense {
            dense.offset = offset;
            offset = offset.saturating_add(dense.bytes());
        }
    }
}

/// The encoding suits the type.
fn verify_meta(column: &ColumnMeta) -> Result<(), String> {
    let class = column.logical_type.class();
    let fits = match (&column.encoding, class) {
        (Encoding::FrameOfReference { base }, ValueClass::Integer) => {
            let (low, high) = integer_limits(&column.logical_type);
            *base >= low && *base <= high && column.code_bits <= 64
        }
        (Encoding::ScaledFloat { digits, .. }, ValueClass::Float) => {
            *digits <= MAX_DIGITS && column.logical_type == LogicalType::Float64 && column.code_bits <= 64
        }
        (Encoding::FloatOrder { .. }, ValueClass::Float) => column.code_bits <= 64,
        (Encoding::Dictionary, ValueClass::Bytes) => column.code_bits <= 32,
        (Encoding::Plain, ValueClass::Integer) => column.code_bits == 128,
        (Encoding::Plain, ValueClass::Bytes) => column.code_bits <= 32,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let (id, encoding, bits) = (column.column, &column.encoding, column.code_bits);
    Err(format!("directory: column {id} of type {} can't be {encoding:?} of {bits} bits", column.logical_type))
}

/// The zone map suits the encoding, so that no value that codes stand for leaves its type.
fn verify_block(column: &ColumnMeta, block: &BlockEntry, rows: usize) -> Result<(), String> {
    if block.nulls as usize > rows || block.min > block.max || block.string_bytes as usize > MAX_STRING_BYTES {
        return Err("the zone map makes no sense".into());
    }
    let coded = match &column.encoding {
        Encoding::FrameOfReference { base } => {
            let high = base.checked_add(block.max.into());
            high.is_some_and(|high| high <= integer_limits(&column.logical_type).1)
        }
        Encoding::ScaledFloat { base, .. } => base.checked_add_unsigned(block.max).is_some(),
        Encoding::FloatOrder { base } => {
            let limit = if column.logical_type == LogicalType::Float32 { u32::MAX.into() } else { u64::MAX };
            base.checked_add(block.max).is_some_and(|order| order <= limit)
        }
        Encoding::Dictionary => block.max < u64::from(u32::MAX),
        Encoding::Plain => {
            let bytes = column.logical_type.class() == ValueClass::Bytes;
            return if block.max == 0 && (bytes || block.string_bytes == 0) {
                Ok(())
            } else {
                Err("the zone map makes no sense".into())
            };
        }
    };
    if coded && block.string_bytes == 0 && bits_for(block.max) <= column.code_bits.into() {
        Ok(())
    } else {
        Err(format!("codes up to {} don't fit", block.max))
    }
}

/// Takes bytes that stand behind their `u32` length.
fn take_counted<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (taken, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(taken)
}
