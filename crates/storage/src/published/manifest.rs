//! The manifest of a published database: one state of it, by the names, lengths and checksums of the objects that it consists of.
//! docs/formats/manifest.md is the byte map.

use crate::lmdb::folder;
use crate::segment::SegmentId;
use crate::{Error, Result, TableId};
use std::fmt;
use std::time::{Duration, SystemTime};

/// First eight bytes.
const MAGIC: [u8; 8] = *b"GNGMPUB\0";
/// Version of the format that this build writes and reads.
const VERSION: u32 = 1;
/// Bytes before the entries.
const HEAD: usize = 72;
/// Bytes of an entry.
const ENTRY: usize = 32;
/// Bytes of the checksum at the end.
const CHECKSUM: usize = 4;

/// The random number by which a database is told from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DatabaseId(pub [u8; 16]);

impl fmt::Display for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A segment file of a published database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublishedSegment {
    /// Its table.
    pub table: TableId,
    /// Its number.
    pub segment: SegmentId,
    /// Its length in bytes.
    pub length: u64,
    /// The CRC-32C of all of it.
    pub checksum: u32,
    /// The CRC-32C of its directory, which the catalog has, too.
    pub directory_checksum: u32,
}

impl PublishedSegment {
    /// The name of its object. A number is given again after a commit that was undone, so that it does not suffice.
    pub fn name(&self) -> String {
        format!("segments/{}/{}-{:08x}", self.table, self.segment, self.checksum)
    }
}

/// One state of a published database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Version of the database's own format.
    pub format: u32,
    /// Whose state it is.
    pub database: DatabaseId,
    /// Its number: one more than the one before.
    pub number: u64,
    /// The number of the database's commit.
    pub commit: u64,
    /// When the publication began.
    pub time: SystemTime,
    /// Bytes of the catalog's file.
    pub catalog_length: u64,
    /// The CRC-32C of the catalog's file.
    pub catalog_checksum: u32,
    /// The segment files, in the order of tables and numbers.
    pub segments: Vec<PublishedSegment>,
}

/// The name of the manifest of a number.
pub fn manifest_name(number: u64) -> String {
    format!("manifests/{number:020}")
}

impl Manifest {
    /// The name of the catalog's object.
    pub fn catalog_name(&self) -> String {
        format!("catalogs/{:020}-{:08x}", self.number, self.catalog_checksum)
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let micros = self.time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        let mut bytes = Vec::with_capacity(HEAD + ENTRY * self.segments.len() + CHECKSUM);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.format.to_le_bytes());
        bytes.extend_from_slice(&self.database.0);
        for number in [self.number, self.commit, micros, self.catalog_length] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.catalog_checksum.to_le_bytes());
        bytes.extend_from_slice(&(self.segments.len() as u32).to_le_bytes());
        for segment in &self.segments {
            for number in [segment.table, segment.segment, segment.length] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            bytes.extend_from_slice(&segment.checksum.to_le_bytes());
            bytes.extend_from_slice(&segment.directory_checksum.to_le_bytes());
        }
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// The manifest that lies at `place`, whole and of a format that this build reads.
    pub fn parse(bytes: &[u8], place: &str) -> Result<Self> {
        let corrupt = |detail: String| Error::corrupt(place, detail);
        if bytes.len() < HEAD + CHECKSUM || bytes[..8] != MAGIC {
            return Err(corrupt("this is no manifest of a published Gingham database".into()));
        }
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..].first_chunk().copied().unwrap_or_default());
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..].first_chunk().copied().unwrap_or_default());
        let version = u32_at(8);
        if version != VERSION {
            return Err(Error::Unsupported(format!(
                "{place}: manifest version {version}; this Gingham reads version {VERSION}"
            )));
        }
        let end = bytes.len() - CHECKSUM;
        let (found, stored) = (crc32c::crc32c(&bytes[..end]), u32_at(end));
        if found != stored {
            return Err(corrupt(format!("checksum is {found:08x} where {stored:08x} was written")));
        }
        let count = u32_at(68) as usize;
        if end - HEAD != count.saturating_mul(ENTRY) {
            return Err(corrupt(format!("{} bytes for {count} segment files", bytes.len())));
        }
        folder::require_known_format(u32_at(12), place)?;
        let entry = |at: usize| PublishedSegment {
            table: u64_at(at),
            segment: u64_at(at + 8),
            length: u64_at(at + 16),
            checksum: u32_at(at + 24),
            directory_checksum: u32_at(at + 28),
        };
        Ok(Self {
            format: u32_at(12),
            database: DatabaseId(bytes[16..].first_chunk().copied().unwrap_or_default()),
            number: u64_at(32),
            commit: u64_at(40),
            time: SystemTime::UNIX_EPOCH + Duration::from_micros(u64_at(48)),
            catalog_length: u64_at(56),
            catalog_checksum: u32_at(64),
            segments: (HEAD..end).step_by(ENTRY).map(entry).collect(),
        })
    }

    /// The names of all objects that it needs.
    pub fn objects(&self) -> impl Iterator<Item = String> {
        std::iter::once(self.catalog_name()).chain(self.segments.iter().map(PublishedSegment::name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let segment = |segment| PublishedSegment {
            table: 3,
            segment,
            length: 1000 + segment,
            checksum: 0xdead_beef,
            directory_checksum: 17,
        };
        Manifest {
            format: folder::FORMAT_VERSION,
            database: DatabaseId([7; 16]),
            number: 12,
            commit: 34,
            time: SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_001),
            catalog_length: 40_960,
            catalog_checksum: 0x0102_0304,
            segments: vec![segment(5), segment(9)],
        }
    }

    #[test]
    fn a_manifest_is_read_whole_or_not_at_all() {
        let written = manifest();
        let bytes = written.to_bytes();
        assert_eq!(Manifest::parse(&bytes, "here").unwrap(), written);
        assert_eq!(written.catalog_name(), "catalogs/00000000000000000012-01020304");
        assert_eq!(written.segments[0].name(), "segments/3/5-deadbeef");
        for length in 0..bytes.len() {
            assert!(Manifest::parse(&bytes[..length], "here").is_err(), "{length}");
        }
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 0x40;
            let error = Manifest::parse(&changed, "here").unwrap_err().to_string();
            assert!(error.contains("here"), "{place}: {error}");
        }
    }

    #[test]
    fn a_database_of_a_later_format_is_refused() {
        let later = Manifest { format: folder::FORMAT_VERSION + 1, ..manifest() };
        let error = Manifest::parse(&later.to_bytes(), "here").unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
    }
}
