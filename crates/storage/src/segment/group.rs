//! How the column groups of a segment lie in memory: a column on its own, native or packed, or several columns in
//! chunks of k records (runtime-fragility paper, section 2).
//!
//! On disk every column of these has its blocks, whatever the group; the bytes are laid out when a zone is loaded
//! (docs/decisions/0012-groups-are-laid-out-when-loaded.md). The columns of dense pages lie together on disk, and in memory each
//! on its own, native.

use crate::model::design::{Layout, Packing, packing_name, packing_text};
use crate::model::view::{AttributeAddress, Format, PhysicalLayout};
use crate::segment::decode::Native;
use crate::segment::dense::form::{DenseMeta, PageForm};
use crate::segment::region::PADDING;
use crate::segment::scratch::ScratchColumn;
use arrow::buffer::Buffer;
use gingham_kernels::{Isa, Value, chunks, packing};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of the offset and the length of a byte string.
const STRING_SLOT: usize = 8;
/// Records that short chunks are written together for: at 60 bytes each they fill half of the first cache.
const TOGETHER: usize = 256;

/// A column group of a segment, as its directory describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMeta {
    /// Places of its columns among the segment's.
    pub columns: Vec<usize>,
    /// `column` for one column, a layout in chunks for several, or one of dense pages.
    pub layout: Layout,
    /// Packing of one column.
    #[serde(with = "packing_name")]
    pub packing: Packing,
    /// Records of a segment of a vertical packing.
    pub segment_bits: u16,
    /// The group's pages, when it lies in dense ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dense: Option<DenseMeta>,
}

impl GroupMeta {
    /// One column, native.
    pub(crate) fn alone(place: usize) -> Self {
        let segment_bits = crate::model::design::SEGMENT_BITS;
        Self { columns: vec![place], layout: Layout::Column, packing: Packing::Native, segment_bits, dense: None }
    }
}

/// As a layout is written: `row`, `mempax(64)`, `byteslice`, `column`.
impl fmt::Display for GroupMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packing {
            Packing::Native => write!(f, "{}", self.layout),
            packing => f.write_str(&packing_text(packing, self.segment_bits)),
        }
    }
}

/// How a group lies in memory.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// A native column: contiguous.
    Alone(Native),
    /// A packed column, each zone on its own.
    Packed(Format),
    /// Columns in chunks.
    Chunks(ChunkForm),
    /// Columns of dense pages: each is contiguous in memory of its own.
    Dense(PageForm),
}

/// Where columns lie in chunks. Within a chunk they follow each other by descending width and a chunk is a multiple of
/// the widest, so that every attribute is aligned to its width, for any k.
#[derive(Debug, Clone)]
pub(crate) struct ChunkForm {
    records: usize,
    natives: Vec<Native>,
    /// For each column the bytes that wider columns take of a record.
    before: Vec<usize>,
    record: usize,
    widest: usize,
}

impl Form {
    /// The form of a group whose columns lie so in memory, in the group's order, and have codes of so many bits; or why there is
    /// none.
    pub fn new(meta: &GroupMeta, columns: &[(Native, u8)]) -> Result<Self, String> {
        if let Some(dense) = &meta.dense {
            if !meta.layout.is_dense() || meta.packing != Packing::Native {
                return Err(format!("dense pages in layout {} and packing {}", meta.layout, meta.packing));
            }
            return PageForm::new(dense.page_size, &dense.fields, columns).map(Self::Dense);
        }
        let natives: Vec<Native> = columns.iter().map(|(native, _)| *native).collect();
        let code_bits = columns.first().map_or(0, |(_, code_bits)| *code_bits);
        let records = match meta.layout {
            Layout::Row => 1,
            Layout::MemPax(k) => k as usize,
            Layout::Column => usize::MAX,
            Layout::SuperTuple | Layout::DenseColumn => return Err("dense pages that are not described".into()),
        };
        match (natives.as_slice(), meta.packing) {
            ([], _) => Err("a group without columns".into()),
            ([native], Packing::Native) => Ok(Self::Alone(*native)),
            ([Native::Codes { .. }], packing) => {
                let format = Format::new(packing, code_bits.max(1));
                let format = format.and_then(|format| format.with_segment_bits(meta.segment_bits));
                format.map(Self::Packed).map_err(|error| error.to_string())
            }
            ([_], packing) => Err(format!("packing {packing} of a column without codes")),
            (_, Packing::Native) if (1..=crate::model::design::SEGMENT_ROWS).contains(&records) => {
                Ok(Self::Chunks(ChunkForm::new(records, natives)))
            }
            (_, packing) => Err(format!("{} columns in layout {} and packing {packing}", natives.len(), meta.layout)),
        }
    }

    /// Regions of memory that the group takes of the cache: one, or for dense pages one for each column.
    pub fn regions(&self) -> usize {
        match self {
            Self::Dense(form) => form.fields.len(),
            _ => 1,
        }
    }

    /// Bytes of the codes of a zone of `rows` records in one of the regions.
    pub fn length(&self, region: usize, rows: usize) -> usize {
        match self {
            Self::Alone(native) => native.length(rows),
            Self::Packed(format) => format.bytes(rows).next_multiple_of(PADDING),
            Self::Chunks(form) => form.length(rows).next_multiple_of(PADDING),
            Self::Dense(form) => form.fields[region].native.length(rows),
        }
    }

    /// Bytes of the codes that one column, by its place in the group, takes of `rows` records.
    pub fn share(&self, member: usize, rows: usize) -> usize {
        match self {
            Self::Chunks(form) => slot(form.natives[member]) * rows,
            Self::Packed(format) => format.bytes(rows),
            Self::Alone(native) => native.length(rows),
            Self::Dense(form) => form.fields[member].native.length(rows),
        }
    }

    /// The shape of one column of a zone.
    pub fn shape(&self, member: usize, rows: usize, codes: Buffer, bytes: Buffer) -> PhysicalLayout {
        match self {
            Self::Alone(native) => native.shape(codes, bytes),
            Self::Dense(form) => form.fields[member].native.shape(codes, bytes),
            Self::Packed(format) => PhysicalLayout::Packed { bytes: codes, format: *format },
            Self::Chunks(form) => {
                let place = form.place(member, rows);
                match form.natives[member] {
                    Native::Codes { width } => PhysicalLayout::Chunked { bytes: codes, place, width },
                    Native::Wide => PhysicalLayout::Chunked { bytes: codes, place, width: 16 },
                    Native::Bytes { .. } => PhysicalLayout::ChunkedBytes { slots: codes, place, bytes },
                }
            }
        }
    }

    /// Lays out a zone of `rows` records, whose columns are given native: codes (or values, or offsets) and string
    /// bytes of each.
    pub fn lay_out(&self, rows: usize, columns: &[ScratchColumn<'_>], codes: &mut [u8], bytes: &mut [u8]) {
        match self {
            Self::Alone(_) | Self::Dense(_) => {
                codes.copy_from_slice(columns[0].0);
                bytes.copy_from_slice(columns[0].1);
            }
            Self::Packed(format) => pack(*format, rows, columns[0].0, codes),
            Self::Chunks(form) => form.lay_out(rows, columns, codes, bytes),
        }
    }
}

/// Packs the native codes of a zone.
fn pack(format: Format, rows: usize, native: &[u8], out: &mut [u8]) {
    let mut packed = Vec::with_capacity(out.len());
    match format.width() {
        0..=8 => packing::pack(Isa::best(), format, typed::<u8>(native, rows), &mut packed),
        9..=16 => packing::pack(Isa::best(), format, typed::<u16>(native, rows), &mut packed),
        17..=32 => packing::pack(Isa::best(), format, typed::<u32>(native, rows), &mut packed),
        _ => packing::pack(Isa::best(), format, typed::<u64>(native, rows), &mut packed),
    }
    out[..packed.len()].copy_from_slice(&packed);
}

/// The integers of a native column, whose memory is aligned and as long as its records ask for.
fn typed<T: Value>(bytes: &[u8], length: usize) -> &[T] {
    gingham_kernels::integers(bytes, length).expect("a column's memory holds its records")
}

/// Bytes of a column in a record.
fn slot(native: Native) -> usize {
    match native {
        Native::Codes { width } => width.into(),
        Native::Wide => 16,
        Native::Bytes { .. } => STRING_SLOT,
    }
}

impl ChunkForm {
    fn new(records: usize, natives: Vec<Native>) -> Self {
        let mut order: Vec<usize> = (0..natives.len()).collect();
        order.sort_by_key(|member| std::cmp::Reverse(slot(natives[*member])));
        let (mut before, mut record) = (vec![0; natives.len()], 0);
        for member in order {
            before[member] = record;
            record += slot(natives[member]);
        }
        let widest = natives.iter().map(|native| slot(*native)).max().unwrap_or(1);
        Self { records, natives, before, record, widest }
    }

    /// Records of a chunk in a zone of `rows`: a zone of one chunk is no longer than its records.
    fn records(&self, rows: usize) -> usize {
        self.records.min(rows).max(1)
    }

    fn chunk(&self, rows: usize) -> usize {
        (self.records(rows) * self.record).next_multiple_of(self.widest)
    }

    fn length(&self, rows: usize) -> usize {
        rows.div_ceil(self.records(rows)) * self.chunk(rows)
    }

    fn place(&self, member: usize, rows: usize) -> AttributeAddress {
        let records = self.records(rows);
        AttributeAddress::new(records as u32, self.chunk(rows), records * self.before[member])
    }

    fn lay_out(&self, rows: usize, columns: &[ScratchColumn<'_>], codes: &mut [u8], bytes: &mut [u8]) {
        let slots = self.string_slots(rows, columns, bytes);
        // Short chunks are written a few at a time, all columns of them, so that each cache line is written while it is
        // in the first cache and not once per column. In long chunks a column's records lie beside each other.
        let records = self.records(rows);
        let step = if records < TOGETHER { TOGETHER / records * records } else { rows.max(1) };
        for first in (0..rows).step_by(step) {
            let part = first..rows.min(first + step);
            let out = &mut codes[first / records * self.chunk(rows)..];
            for (member, (native, (buffer, _))) in self.natives.iter().zip(columns).enumerate() {
                let (place, part) = (self.place(member, rows), part.clone());
                match native {
                    Native::Codes { width: 1 } => chunks::scatter(&typed::<u8>(buffer, rows)[part], place, out),
                    Native::Codes { width: 2 } => chunks::scatter(&typed::<u16>(buffer, rows)[part], place, out),
                    Native::Codes { width: 4 } => chunks::scatter(&typed::<u32>(buffer, rows)[part], place, out),
                    Native::Codes { .. } => chunks::scatter(&typed::<u64>(buffer, rows)[part], place, out),
                    Native::Wide => chunks::scatter(&typed::<i128>(buffer, rows)[part], place, out),
                    Native::Bytes { .. } => chunks::scatter(&slots[member][part], place, out),
                }
            }
        }
    }

    /// Copies the strings chunk by chunk, so that those of a chunk lie together; returns for each column of strings
    /// their offsets and lengths.
    fn string_slots(&self, rows: usize, columns: &[ScratchColumn<'_>], out: &mut [u8]) -> Vec<Vec<u64>> {
        let mut slots = vec![Vec::new(); columns.len()];
        let strings: Vec<usize> =
            (0..columns.len()).filter(|member| matches!(self.natives[*member], Native::Bytes { .. })).collect();
        if strings.is_empty() {
            return slots;
        }
        let (records, mut end) = (self.records(rows), 0);
        for first in (0..rows).step_by(records) {
            for &member in &strings {
                let (offsets, bytes) = &columns[member];
                let offsets = &typed::<u32>(offsets, rows + 1)[first..=rows.min(first + records)];
                let (from, to) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
                out[end..end + to - from].copy_from_slice(&bytes[from..to]);
                slots[member].extend(offsets.windows(2).map(|pair| {
                    let offset = end + pair[0] as usize - from;
                    offset as u64 | u64::from(pair[1] - pair[0]) << 32
                }));
                end += to - from;
            }
        }
        slots
    }
}
