//! One column over one zone as bytes: packed and compressed.

use crate::encoding::encoder::{ZoneKind, ZoneValues};
use crate::segment::format::{BLOCK_HEADER, BlockHeader, Packing};
use gingham_kernels::bitpack::{bits_for, pack};
use gingham_kernels::{Isa, minmax};

/// zstd's level: the fastest that still halves text.
const LEVEL: i32 = 1;
/// Bytes below which compressing is not tried.
const MIN_COMPRESSED: usize = 256;

/// Codes whose steps tell that those of most columns are too wide.
const FEW_STEPS: usize = 64;

/// Turns zones into blocks.
pub(crate) struct BlockWriter {
    compressor: Option<zstd::bulk::Compressor<'static>>,
    payload: Vec<u8>,
    /// Steps from code to code.
    steps: Vec<u64>,
    packed: Vec<u8>,
    compressed: Vec<u8>,
}

impl BlockWriter {
    /// A writer for any number of columns. Without `compress` blocks are packed only.
    pub fn new(compress: bool) -> std::io::Result<Self> {
        Ok(Self {
            compressor: if compress { Some(zstd::bulk::Compressor::new(LEVEL)?) } else { None },
            payload: Vec::new(),
            steps: Vec::new(),
            packed: Vec::new(),
            compressed: Vec::new(),
        })
    }

    /// The block of a zone: its header, which holds the checksum, and its payload. `codes_pay` is true for the first
    /// zone of a column, then what the zone before made of it: whether compressing codes paid when it was tried.
    pub fn block(
        &mut self,
        kind: ZoneKind,
        zone: &ZoneValues,
        codes_pay: &mut bool,
    ) -> std::io::Result<([u8; BLOCK_HEADER], &[u8])> {
        self.payload.clear();
        self.payload.extend_from_slice(&zone.validity);
        self.packed.clear();
        let mut header = match kind {
            ZoneKind::Wide => self.pack_wide(&zone.wide),
            ZoneKind::Codes => self.pack_codes(&zone.codes),
            ZoneKind::Bytes => {
                let header = header(Packing::Bytes, &zone.codes);
                pack(&zone.codes, header.base, header.width.into(), &mut self.packed);
                header
            }
        };
        if kind != ZoneKind::Bytes {
            *codes_pay = *codes_pay && self.compress_codes(&zone.codes, &mut header)?;
        }
        header.validity = zone.nulls > 0;
        header.codes_length = self.packed.len() as u32;
        self.payload.extend_from_slice(&self.packed);
        if kind == ZoneKind::Bytes {
            let limit = zone.bytes.len() / 10 * 9;
            header.bytes_compressed = zone.bytes.len() >= MIN_COMPRESSED
                && compress(&mut self.compressor, &zone.bytes, limit, &mut self.compressed)?;
            self.payload.extend_from_slice(if header.bytes_compressed { &self.compressed } else { &zone.bytes });
        }
        Ok((header.to_bytes(&self.payload), &self.payload))
    }

    fn pack_wide(&mut self, values: &[i128]) -> BlockHeader {
        self.packed.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        BlockHeader { rows: values.len() as u32, width: 128, ..header(Packing::Wide, &[]) }
    }

    /// Packs codes less their minimum, or the steps from code to code when those are clearly narrower.
    fn pack_codes(&mut self, codes: &[u64]) -> BlockHeader {
        let header = header(Packing::BitPacked, codes);
        let narrower = |(_, width): &(u64, u32)| header.width >= 4 && width * 4 <= u32::from(header.width) * 3;
        // Steps of a part are no wider than those of the whole.
        let few = &codes[..codes.len().min(FEW_STEPS)];
        let steps_of_all = steps(few).filter(narrower).and_then(|_| steps(codes)).filter(narrower);
        if let Some((step, width)) = steps_of_all {
            let base = codes[0].wrapping_sub(step);
            self.steps.clear();
            let before = std::iter::once(&base).chain(codes);
            self.steps.extend(codes.iter().zip(before).map(|(code, before)| code.wrapping_sub(*before)));
            pack(&self.steps, step, width, &mut self.packed);
            return BlockHeader { packing: Packing::Delta, width: width as u8, base, step, ..header };
        }
        pack(codes, header.base, header.width.into(), &mut self.packed);
        header
    }

    /// Replaces the packed codes by compressed ones when that takes at most seven tenths. zstd finds patterns in bytes,
    /// so codes are given whole ones first. Returns whether that paid, or was not tried.
    fn compress_codes(&mut self, codes: &[u64], header: &mut BlockHeader) -> std::io::Result<bool> {
        if self.compressor.is_none() || self.packed.len() < MIN_COMPRESSED {
            return Ok(true);
        }
        let limit = self.packed.len() / 10 * 7;
        let whole = header.width.next_multiple_of(8);
        let mut aligned = Vec::new();
        let source = if whole == header.width {
            &self.packed
        } else {
            let (values, base) = match header.packing {
                Packing::Delta => (self.steps.as_slice(), header.step),
                _ => (codes, header.base),
            };
            pack(values, base, whole.into(), &mut aligned);
            &aligned
        };
        let pays = compress(&mut self.compressor, source, limit, &mut self.compressed)?;
        if pays {
            std::mem::swap(&mut self.packed, &mut self.compressed);
            header.width = whole;
            header.codes_compressed = true;
        }
        Ok(pays)
    }
}

/// A block header with the base and width of `codes`; flags and length are set later.
fn header(packing: Packing, codes: &[u64]) -> BlockHeader {
    let (min, max) = minmax::min_max(Isa::best(), codes).unwrap_or_default();
    BlockHeader {
        packing,
        width: bits_for(max - min) as u8,
        validity: false,
        codes_compressed: false,
        bytes_compressed: false,
        rows: codes.len() as u32,
        codes_length: 0,
        base: min,
        step: 0,
    }
}

/// Smallest step from code to code, and bits of the largest step above it.
fn steps(codes: &[u64]) -> Option<(u64, u32)> {
    let steps = codes.iter().zip(codes.get(1..)?).map(|(before, code)| code.wrapping_sub(*before) as i64);
    let (min, max) = steps.fold((i64::MAX, i64::MIN), |(min, max), step| (min.min(step), max.max(step)));
    (min <= max).then(|| (min as u64, bits_for(max.wrapping_sub(min) as u64)))
}

/// Compresses `bytes` into `out`; false when there is no compressor, or the result takes more than `limit` bytes.
fn compress(
    compressor: &mut Option<zstd::bulk::Compressor<'static>>,
    bytes: &[u8],
    limit: usize,
    out: &mut Vec<u8>,
) -> std::io::Result<bool> {
    let Some(compressor) = compressor else { return Ok(false) };
    out.resize(zstd::zstd_safe::compress_bound(bytes.len()), 0);
    let length = compressor.compress_to_buffer(bytes, out.as_mut_slice())?;
    out.truncate(length);
    Ok(length <= limit)
}
