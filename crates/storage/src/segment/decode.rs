//! A block's bytes back to native codes, with every length, width and bound checked: what passes here can be read by
//! kernels that check nothing.

use crate::model::view::PhysicalLayout;
use crate::segment::format::{BlockEntry, BlockHeader, Packing};
use crate::segment::region::{PADDING, as_codes};
use arrow::buffer::{BooleanBuffer, Buffer};
use gingham_kernels::bitpack::{packed_bytes, unpack};
use gingham_kernels::{Code, Isa, minmax};

/// What a block must be, by its column and zone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    /// Records of the zone.
    pub rows: usize,
    /// What the region holds.
    pub native: Native,
    /// The directory's entry.
    pub entry: BlockEntry,
}

/// How a column lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Native {
    /// Codes of 1, 2, 4 or 8 bytes.
    Codes {
        /// Bytes of a code.
        width: u8,
    },
    /// 128-bit values.
    Wide,
    /// `u32` offsets and bytes.
    Bytes {
        /// Every value must be UTF-8.
        text: bool,
    },
}

impl Native {
    /// Bytes that `rows` records take, string bytes left out.
    pub fn length(self, rows: usize) -> usize {
        match self {
            Self::Codes { width } => rows * usize::from(width),
            Self::Wide => rows * 16,
            Self::Bytes { .. } => (rows + 1) * 4,
        }
    }

    /// The shape of a zone.
    pub fn shape(self, codes: Buffer, bytes: Buffer) -> PhysicalLayout {
        match self {
            Self::Codes { width } => PhysicalLayout::Contiguous { codes, width },
            Self::Wide => PhysicalLayout::Wide { values: codes },
            Self::Bytes { .. } => PhysicalLayout::Bytes { offsets: codes, bytes },
        }
    }
}

/// Writes a block's codes (or offsets) and string bytes in native form; returns the validity bits, when the zone has
/// NULLs, or what is wrong with the block.
pub(crate) fn decode(
    block: &[u8],
    expected: &Expected,
    codes: &mut [u8],
    bytes: &mut [u8],
) -> Result<Option<BooleanBuffer>, String> {
    let (header, payload) = BlockHeader::parse(block, expected.entry.checksum)?;
    if header.rows as usize != expected.rows {
        return Err(format!("{} records where {} are expected", header.rows, expected.rows));
    }
    let (validity, payload) = split_validity(&header, payload, expected)?;
    let Some((packed, rest)) = payload.split_at_checked(header.codes_length as usize) else {
        return Err("packed codes go past the end of the block".into());
    };
    let length = packed_bytes(expected.rows, header.width.into());
    let mut expanded = Vec::new();
    let packed = if header.codes_compressed {
        expanded.resize(length, 0);
        expand(packed, &mut expanded)?;
        &expanded
    } else {
        packed
    };
    if packed.len() != length {
        return Err(format!("{} bytes of packed codes where {length} are expected", packed.len()));
    }
    match (expected.native, header.packing) {
        (Native::Codes { width }, Packing::BitPacked | Packing::Delta) if rest.is_empty() => match width {
            1 => decode_codes::<u8>(&header, packed, &expected.entry, as_codes(codes))?,
            2 => decode_codes::<u16>(&header, packed, &expected.entry, as_codes(codes))?,
            4 => decode_codes::<u32>(&header, packed, &expected.entry, as_codes(codes))?,
            _ => decode_codes::<u64>(&header, packed, &expected.entry, as_codes(codes))?,
        },
        (Native::Wide, Packing::Wide) if header.width == 128 && rest.is_empty() => codes.copy_from_slice(packed),
        (Native::Bytes { text }, Packing::Bytes) if header.width <= 64 => {
            if header.bytes_compressed {
                expand(rest, bytes)?;
            } else if rest.len() == bytes.len() {
                bytes.copy_from_slice(rest);
            } else {
                return Err(format!("{} bytes of strings where {} are expected", rest.len(), bytes.len()));
            }
            decode_offsets(&header, packed, codes, bytes, text)?;
        }
        (native, packing) => return Err(format!("{packing:?} codes of {} bits can't be {native:?}", header.width)),
    }
    Ok(validity)
}

/// The validity bits at the start of the payload, and the rest.
fn split_validity<'a>(
    header: &BlockHeader,
    payload: &'a [u8],
    expected: &Expected,
) -> Result<(Option<BooleanBuffer>, &'a [u8]), String> {
    let nulls = expected.entry.nulls as usize;
    if !header.validity {
        return if nulls == 0 { Ok((None, payload)) } else { Err(format!("no validity bits for {nulls} NULLs")) };
    }
    let Some((bits, rest)) = payload.split_at_checked(expected.rows.div_ceil(8)) else {
        return Err("validity bits go past the end of the block".into());
    };
    // Padded like every buffer of a view.
    let mut padded = Vec::with_capacity(bits.len() + PADDING);
    padded.extend_from_slice(bits);
    let validity = BooleanBuffer::new(Buffer::from_vec(padded), 0, expected.rows);
    let found = expected.rows - validity.count_set_bits();
    if found != nulls {
        return Err(format!("{found} NULLs where {nulls} are expected"));
    }
    Ok((Some(validity), rest))
}

/// Decompresses into `out`, which must be filled exactly.
fn expand(compressed: &[u8], out: &mut [u8]) -> Result<(), String> {
    match zstd::bulk::decompress_to_buffer(compressed, out) {
        Ok(length) if length == out.len() => Ok(()),
        Ok(length) => Err(format!("{length} bytes after decompression where {} are expected", out.len())),
        Err(error) => Err(format!("decompression: {error}")),
    }
}

/// Codes in native width; all lie within the zone's range, which the directory holds to fit the width.
fn decode_codes<C: Code>(
    header: &BlockHeader,
    packed: &[u8],
    entry: &BlockEntry,
    codes: &mut [C],
) -> Result<(), String> {
    if u32::from(header.width) > C::BITS {
        return Err(format!("packed codes of {} bits where {} are the most", header.width, C::BITS));
    }
    if header.packing == Packing::Delta {
        unpack(Isa::best(), packed, header.width.into(), C::truncate(header.step), codes);
        let mut code = C::truncate(header.base);
        for step in codes.iter_mut() {
            code = code.wrapping_add(*step);
            *step = code;
        }
    } else {
        unpack(Isa::best(), packed, header.width.into(), C::truncate(header.base), codes);
    }
    check_range(entry, codes)
}

/// Codes of a zone must lie in the range that its entry says.
pub(super) fn check_range<C: Code>(entry: &BlockEntry, codes: &[C]) -> Result<(), String> {
    match minmax::min_max(Isa::best(), codes) {
        Some((min, max)) if min.to_u64() < entry.min || max.to_u64() > entry.max => Err(format!(
            "codes from {} to {} where {} to {} are expected",
            min.to_u64(),
            max.to_u64(),
            entry.min,
            entry.max
        )),
        _ => Ok(()),
    }
}

/// Offsets from packed lengths.
fn decode_offsets(header: &BlockHeader, packed: &[u8], out: &mut [u8], bytes: &[u8], text: bool) -> Result<(), String> {
    let mut lengths = vec![0u64; header.rows as usize];
    unpack(Isa::best(), packed, header.width.into(), header.base, &mut lengths);
    write_offsets(&lengths, out, bytes, text)
}

/// Offsets from lengths of strings; they end with the bytes, and cut text between characters.
pub(super) fn write_offsets(lengths: &[u64], out: &mut [u8], bytes: &[u8], text: bool) -> Result<(), String> {
    let mut offset = 0u64;
    let out = out.as_chunks_mut::<4>().0;
    for (out, length) in out.iter_mut().zip(lengths) {
        *out = (offset as u32).to_le_bytes();
        offset = offset.saturating_add(*length);
        if offset > bytes.len() as u64 {
            return Err(format!("lengths of strings exceed their {} bytes", bytes.len()));
        }
    }
    if offset != bytes.len() as u64 {
        return Err(format!("lengths of strings add up to {offset} of {} bytes", bytes.len()));
    }
    if let Some(last) = out.last_mut() {
        *last = (offset as u32).to_le_bytes();
    }
    if text && !bytes.is_ascii() {
        let whole = std::str::from_utf8(bytes).map_err(|error| format!("text: {error}"))?;
        if let Some(cut) = out.iter().find(|offset| !whole.is_char_boundary(u32::from_le_bytes(**offset) as usize)) {
            return Err(format!("text: byte {} is inside a character", u32::from_le_bytes(*cut)));
        }
    }
    Ok(())
}
