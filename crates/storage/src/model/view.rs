//! The column view: how a reader reaches the values of one column over one zone, whatever the layout.
//!
//! Layouts fit a handful of shapes (DESIGN: "how a segment is read"); this file names them. A view is cheap: it holds
//! counted references to cached blocks. Kernels see contiguous runs only. Everything above (scan, lookup, decode, the
//! code generator's accessor) works on views, so a new layout or packing adds a [`PhysicalLayout`] and no reader changes.

use crate::model::dictionary::DictionaryVersion;
use crate::{Datum, LogicalType};
use arrow::buffer::{BooleanBuffer, Buffer};
pub use gingham_kernels::chunks::AttributeAddress;
pub use gingham_kernels::packing::Format;
use std::sync::Arc;

/// One column over one zone of a segment.
#[derive(Debug, Clone)]
pub struct ColumnView {
    /// Records in the zone.
    pub rows: usize,
    /// Type of the values.
    pub logical_type: LogicalType,
    /// Set where a value is present; `None` when no value of the zone is NULL. A NULL keeps its slot; its code is
    /// arbitrary but valid for the encoding.
    pub validity: Option<BooleanBuffer>,
    /// Where the codes or values lie.
    pub shape: PhysicalLayout,
    /// What a code means.
    pub meaning: CodeMeaning,
}

impl ColumnView {
    /// True when no record has a value: the column was added without one after the segment was written.
    pub fn is_null(&self) -> bool {
        matches!(self.shape, PhysicalLayout::Constant(Datum::Null))
    }
}

/// Where the codes or values of a view lie. Every buffer may be read 64 bytes past its last value.
#[derive(Debug, Clone)]
pub enum PhysicalLayout {
    /// No bytes at all: every record has the same value (a column added after the segment was written).
    Constant(Datum),
    /// Code of record t at `base + t * width`, little-endian, of `width` bytes: 1, 2, 4 or 8.
    Contiguous {
        /// At least `rows * width` bytes, aligned to the width.
        codes: Buffer,
        /// Bytes a code takes.
        width: u8,
    },
    /// 128-bit values of record t at `base + t * 16`: columns whose range exceeds 64 bits.
    Wide {
        /// At least `rows * 16` bytes, little-endian, aligned to 16.
        values: Buffer,
    },
    /// Byte string of record t from `offsets[t]` to `offsets[t + 1]` of `bytes`.
    Bytes {
        /// `rows + 1` little-endian `u32`.
        offsets: Buffer,
        /// The bytes of the zone's strings, at most 2 GiB, so that an Arrow view can address them.
        bytes: Buffer,
    },
    /// Code of record t at its [`AttributeAddress`] in chunks of k records, beside the other columns of its group: the row layout
    /// (k = 1) and memPAX-k.
    Chunked {
        /// The chunks of the zone.
        bytes: Buffer,
        /// Where the column lies in them.
        place: AttributeAddress,
        /// Bytes a code takes: 1, 2, 4 or 8; or 16, for 128-bit values as in `Wide`.
        width: u8,
    },
    /// Byte string of record t, whose place in chunks has two little-endian `u32`: offset into `bytes`, then length.
    ChunkedBytes {
        /// The chunks of the zone.
        slots: Buffer,
        /// Where the column lies in them: 8 bytes a record.
        place: AttributeAddress,
        /// The bytes of the strings of all the group's columns, at most 2 GiB.
        bytes: Buffer,
    },
    /// Codes in a packing, one after the other as it says.
    Packed {
        /// At least `format.bytes(rows)` bytes.
        bytes: Buffer,
        /// Packing and width.
        format: Format,
    },
}

/// What a code of a view stands for.
#[derive(Debug, Clone)]
pub enum CodeMeaning {
    /// The value itself: wide values, byte strings, constants.
    Value,
    /// Integer class: value = base + code.
    FrameOfReference {
        /// Smallest value of the segment.
        base: i128,
    },
    /// Float class, few decimals: value = (base + code) / 10^digits, exactly as division rounds.
    ScaledFloat {
        /// Smallest scaled value of the segment.
        base: i64,
        /// Decimal digits behind the point.
        digits: u8,
    },
    /// Float class: base + code is [`float_order`] of the value (of its REAL bits for REAL).
    FloatOrder {
        /// Smallest ordered pattern of the segment.
        base: u64,
    },
    /// Bytes class: the code is an index into the sorted entries of a dictionary version.
    Dictionary(Arc<DictionaryVersion>),
}

/// The bits of a DOUBLE as an unsigned integer that orders as IEEE 754's total order.
pub fn float_order(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

/// Inverse of [`float_order`].
pub fn float_from_order(order: u64) -> f64 {
    f64::from_bits(if order >> 63 == 1 { order & !(1 << 63) } else { !order })
}

/// The integer that orders as a DOUBLE does, in IEEE 754's total order: 0 is 0.0.
pub fn float_integer(value: f64) -> i64 {
    (float_order(value) ^ 1 << 63) as i64
}

/// Inverse of [`float_integer`].
pub fn float_of_integer(integer: i64) -> f64 {
    float_from_order(integer as u64 ^ 1 << 63)
}

/// The bits of a REAL as an unsigned integer that orders as IEEE 754's total order.
pub fn real_order(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | (1 << 31) }
}

/// Inverse of [`real_order`].
pub fn real_from_order(order: u32) -> f32 {
    f32::from_bits(if order >> 31 == 1 { order & !(1 << 31) } else { !order })
}

/// Bytes of a native code.
pub(crate) fn code_bytes(bits: u8) -> u8 {
    match bits {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        _ => 8,
    }
}
