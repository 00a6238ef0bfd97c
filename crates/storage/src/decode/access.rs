//! The slices behind a view's buffers, checked: length and alignment.

use crate::model::view::{ColumnView, PhysicalLayout};
use crate::{Error, Result};
use arrow::buffer::Buffer;
use gingham_kernels::Value;

/// Runs `$body` with `$code` as the native integer of `$width` bytes.
macro_rules! with_code {
    ($view:expr, $width:expr, $code:ident => $body:expr) => {
        match $width {
            1 => {
                type $code = u8;
                $body
            }
            2 => {
                type $code = u16;
                $body
            }
            4 => {
                type $code = u32;
                $body
            }
            8 => {
                type $code = u64;
                $body
            }
            other => Err($crate::decode::access::misfit($view, &format!("codes of {other} bytes"))),
        }
    };
}

/// The codes of a contiguous view, as a slice of the width's type, given to an expression.
macro_rules! with_codes {
    ($view:expr, $buffer:expr, $width:expr, |$codes:ident| $body:expr) => {
        $crate::decode::access::with_code!($view, $width, C => {
            let $codes: &[C] = $crate::decode::access::slice($view, $buffer, $view.rows)?;
            $body
        })
    };
}

pub(crate) use {with_code, with_codes};

/// The first `length` elements of a view's buffer.
pub(crate) fn slice<'a, T: Value>(view: &ColumnView, buffer: &'a Buffer, length: usize) -> Result<&'a [T]> {
    gingham_kernels::integers(buffer, length).ok_or_else(|| {
        let size = size_of::<T>();
        misfit(view, &format!("{} bytes at {:?} for {length} elements of {size}", buffer.len(), buffer.as_ptr()))
    })
}

/// The offsets and the bytes of a view of byte strings.
#[derive(Clone, Copy)]
pub(crate) struct Strings<'a> {
    offsets: &'a [u32],
    buffer: &'a Buffer,
    bytes: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Checks the lengths. That offsets ascend was verified when the block was loaded.
    pub(crate) fn new(view: &ColumnView, offsets: &'a Buffer, bytes: &'a Buffer) -> Result<Self> {
        let offsets: &[u32] = slice(view, offsets, view.rows + 1)?;
        let end = offsets[view.rows] as usize;
        if end > bytes.len() {
            return Err(misfit(view, &format!("offsets that end at {end} of {} bytes", bytes.len())));
        }
        Ok(Self { offsets, buffer: bytes, bytes })
    }

    pub(crate) fn get(&self, at: usize) -> &'a [u8] {
        &self.bytes[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }

    pub(crate) fn offsets(&self) -> &'a [u32] {
        self.offsets
    }

    pub(crate) fn buffer(&self) -> &'a Buffer {
        self.buffer
    }
}

/// A view that contradicts itself: a bug in a reader, or damage that no checksum saw.
pub(crate) fn misfit(view: &ColumnView, detail: &str) -> Error {
    let shape = match &view.shape {
        PhysicalLayout::Constant(_) => "constant",
        PhysicalLayout::Contiguous { .. } => "contiguous",
        PhysicalLayout::Wide { .. } => "wide",
        PhysicalLayout::Bytes { .. } => "bytes",
        PhysicalLayout::Chunked { .. } | PhysicalLayout::ChunkedBytes { .. } => "chunked",
        PhysicalLayout::Packed { .. } => "packed",
    };
    Error::corrupt(
        format!("a {shape} view of {} records of type {}", view.rows, view.logical_type),
        format!("{detail} (meaning {:?})", view.meaning),
    )
}
