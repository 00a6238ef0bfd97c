//! The fixed parts of a segment file, byte for byte: header, block header, block table entry, trailer. All integers are
//! little-endian. docs/formats/segment.md is the map.

use crate::TableId;
use crate::segment::meta::SegmentId;

/// First eight bytes of a segment.
pub(crate) const MAGIC: [u8; 8] = *b"GNGMSEG\0";
/// Last eight bytes of a segment.
pub(crate) const END_MAGIC: [u8; 8] = *b"GNGMEND\0";
/// The latest format version that this build writes and reads: of segments with dense pages.
pub(crate) const VERSION: u32 = 4;
/// Format version of segments with filters of keys.
pub(crate) const WITH_FILTERS: u32 = 3;
/// Format version of those without, which is written for tables without keys, and for delta images. Version 1 is read too, in
/// which every column lies on its own.
pub(crate) const WITHOUT_FILTERS: u32 = 2;
/// Bytes of the header.
pub(crate) const HEADER: usize = 40;
/// Bytes of a block's header.
pub(crate) const BLOCK_HEADER: usize = 32;
/// Bytes of an entry of the block table.
pub(crate) const ENTRY: usize = 40;
/// Bytes of the trailer.
pub(crate) const TRAILER: usize = 32;

/// Start of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Its format version.
    pub version: u32,
    /// A delta image.
    pub delta: bool,
    /// Its number.
    pub segment: SegmentId,
    /// Its table.
    pub table: TableId,
}

impl Header {
    /// The bytes.
    pub fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&u32::from(self.delta).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.segment.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.table.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..32]);
        bytes[32..36].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The header, or what is wrong with it. A version is named before the checksum is looked at.
    pub fn parse(bytes: &[u8; HEADER]) -> Result<Self, String> {
        if bytes[0..8] != MAGIC {
            return Err("this is not a segment: it does not start with the magic number".into());
        }
        let version = u32_at(bytes, 8);
        if u32_at(bytes, 32) != crc32c::crc32c(&bytes[..32]) {
            return Err(format!("header: checksum does not match (version {version} is named)"));
        }
        if !(1..=VERSION).contains(&version) {
            return Err(format!("segment format version {version}; this build reads versions 1 to {VERSION}"));
        }
        let flags = u32_at(bytes, 12);
        if flags > 1 || u32_at(bytes, 36) != 0 {
            return Err(format!("header: unknown flags {flags:#x}"));
        }
        Ok(Self { version, delta: flags == 1, segment: u64_at(bytes, 16), table: u64_at(bytes, 24) })
    }
}

/// End of a segment: where the directory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// Offset of the directory in the file.
    pub offset: u64,
    /// Its length.
    pub length: u32,
    /// Its CRC-32C.
    pub checksum: u32,
}

impl Trailer {
    /// The bytes.
    pub fn to_bytes(self) -> [u8; TRAILER] {
        let mut bytes = [0; TRAILER];
        bytes[0..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.length.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.checksum.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..16]);
        bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
        bytes[24..32].copy_from_slice(&END_MAGIC);
        bytes
    }

    /// The trailer, or what is wrong with it.
    pub fn parse(bytes: &[u8; TRAILER]) -> Result<Self, String> {
        if bytes[24..32] != END_MAGIC || u32_at(bytes, 20) != 0 {
            return Err("the segment does not end as one: it is cut off or overwritten".into());
        }
        if u32_at(bytes, 16) != crc32c::crc32c(&bytes[..16]) {
            return Err("trailer: checksum does not match".into());
        }
        Ok(Self { offset: u64_at(bytes, 0), length: u32_at(bytes, 8), checksum: u32_at(bytes, 12) })
    }
}

/// How a block's codes lie in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// code = base + packed.
    BitPacked,
    /// code = code before + step + packed, the first one's predecessor being base.
    Delta,
    /// 128-bit values as they are.
    Wide,
    /// Lengths of byte strings, as BitPacked, then the strings' bytes.
    Bytes,
}

/// Start of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    /// How codes lie.
    pub packing: Packing,
    /// Bits of a packed code.
    pub width: u8,
    /// A validity bitmap comes first.
    pub validity: bool,
    /// The packed codes are compressed by zstd.
    pub codes_compressed: bool,
    /// The string bytes are compressed by zstd.
    pub bytes_compressed: bool,
    /// Records.
    pub rows: u32,
    /// Bytes of the packed codes as stored.
    pub codes_length: u32,
    /// See [`Packing`].
    pub base: u64,
    /// See [`Packing`].
    pub step: u64,
}

impl BlockHeader {
    /// The bytes, with the checksum of what follows them.
    pub fn to_bytes(self, payload: &[u8]) -> [u8; BLOCK_HEADER] {
        let mut bytes = [0; BLOCK_HEADER];
        bytes[4] = match self.packing {
            Packing::BitPacked => 0,
            Packing::Delta => 1,
            Packing::Wide => 2,
            Packing::Bytes => 3,
        };
        bytes[5] = self.width;
        bytes[6] =
            u8::from(self.validity) | u8::from(self.codes_compressed) << 1 | u8::from(self.bytes_compressed) << 2;
        bytes[8..12].copy_from_slice(&self.rows.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.codes_length.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.base.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.step.to_le_bytes());
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[4..]), payload);
        bytes[0..4].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Header and payload of a block, or what is wrong with it. `checksum` is the block table's.
    pub fn parse(block: &[u8], checksum: u32) -> Result<(Self, &[u8]), String> {
        let Some((bytes, payload)) = block.split_first_chunk::<BLOCK_HEADER>() else {
            return Err(format!("{} bytes are no block", block.len()));
        };
        let found = crc32c::crc32c(&block[4..]);
        if found != checksum || u32_at(bytes, 0) != checksum {
            return Err(format!("checksum is {found:08x} where {checksum:08x} was written"));
        }
        let packing = match bytes[4] {
            0 => Packing::BitPacked,
            1 => Packing::Delta,
            2 => Packing::Wide,
            3 => Packing::Bytes,
            other => return Err(format!("unknown packing {other}")),
        };
        if bytes[6] > 7 || bytes[7] != 0 {
            return Err(format!("unknown flags {:#x}", bytes[6]));
        }
        let header = Self {
            packing,
            width: bytes[5],
            validity: bytes[6] & 1 != 0,
            codes_compressed: bytes[6] & 2 != 0,
            bytes_compressed: bytes[6] & 4 != 0,
            rows: u32_at(bytes, 8),
            codes_length: u32_at(bytes, 12),
            base: u64_at(bytes, 16),
            step: u64_at(bytes, 24),
        };
        Ok((header, payload))
    }

    /// Checksum of a block made by [`Self::to_bytes`].
    pub fn checksum(bytes: &[u8; BLOCK_HEADER]) -> u32 {
        u32_at(bytes, 0)
    }
}

/// One block in the directory's block table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BlockEntry {
    /// Offset of the block in the file.
    pub offset: u64,
    /// Its length, header included.
    pub length: u32,
    /// Its checksum, as in its header.
    pub checksum: u32,
    /// Smallest code of a value that is not NULL.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// NULLs.
    pub nulls: u32,
    /// Bytes of its byte strings, not compressed.
    pub string_bytes: u32,
}

impl BlockEntry {
    /// The bytes.
    pub fn to_bytes(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[0..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.length.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.checksum.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.min.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.max.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.nulls.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.string_bytes.to_le_bytes());
        bytes
    }

    /// The entry.
    pub fn parse(bytes: &[u8; ENTRY]) -> Self {
        Self {
            offset: u64_at(bytes, 0),
            length: u32_at(bytes, 8),
            checksum: u32_at(bytes, 12),
            min: u64_at(bytes, 16),
            max: u64_at(bytes, 24),
            nulls: u32_at(bytes, 32),
            string_bytes: u32_at(bytes, 36),
        }
    }
}

/// Four bytes at `offset`, which the caller knows to be there.
fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(word)
}

/// Eight bytes at `offset`, which the caller knows to be there.
fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(word)
}
