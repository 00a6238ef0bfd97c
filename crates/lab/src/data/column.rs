//! A column in one packing, in memory of its own with huge pages.

use super::Codes;
use crate::with_codes;
use gingham::storage::huge_buffer;
use gingham_kernels::Isa;
use gingham_kernels::packing::{Format, Packed, pack};

/// A packed column that owns its bytes.
#[derive(Debug)]
pub struct PackedColumn {
    format: Format,
    rows: usize,
    /// Padding, then the packed codes.
    buffer: Vec<u8>,
    padding: usize,
}

/// What the first code's address is a multiple of: a line of the cache and the widest vector, as a segment's memory is.
const ALIGNMENT: usize = 64;

impl PackedColumn {
    /// Packs `codes`.
    ///
    /// # Panics
    /// When the codes are wider than the format.
    pub fn new(isa: Isa, format: Format, codes: &Codes) -> Self {
        let rows = codes.rows();
        let mut buffer = huge_buffer(format.bytes(rows) + ALIGNMENT);
        let padding = buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        buffer.resize(padding, 0);
        with_codes!(codes, codes => pack(isa, format, codes, &mut buffer));
        Self { format, rows, buffer, padding }
    }

    /// The column, to scan and to look up.
    pub fn packed(&self) -> Packed<'_> {
        Packed::new(self.format, self.rows, &self.buffer[self.padding..])
            .expect("packing gave the bytes that its format needs")
    }

    /// Bytes of the packed codes.
    pub fn bytes(&self) -> usize {
        self.buffer.len() - self.padding
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }
}
