//! Values in another shape, laid out here by the formulas of the shapes' documentation alone.

use super::*;
use crate::model::view::{AttributeAddress, Format};
use gingham_kernels::packing::{Packing, pack};

/// The view as it is, in chunks, or packed.
pub(super) fn any(numbers: &mut Numbers, view: &ColumnView) -> ColumnView {
    let shape = match (&view.shape, numbers.below(3)) {
        (PhysicalLayout::Contiguous { codes, width }, 1) => chunked(numbers, codes, (*width).into(), view.rows),
        (PhysicalLayout::Wide { values }, 1 | 2) => chunked(numbers, values, 16, view.rows),
        (PhysicalLayout::Contiguous { codes, width }, 2) => packed(numbers, codes, (*width).into(), view.rows),
        (PhysicalLayout::Bytes { offsets, bytes }, 1 | 2) => {
            let offsets = offsets.typed_data::<u32>();
            let slots: Vec<u32> =
                offsets.windows(2).flat_map(|pair| [pair[0], pair[1] - pair[0]]).take(view.rows * 2).collect();
            match chunked(numbers, &Buffer::from_vec(slots), 8, view.rows) {
                PhysicalLayout::Chunked { bytes: slots, place, .. } => {
                    PhysicalLayout::ChunkedBytes { slots, place, bytes: bytes.clone() }
                }
                other => unreachable!("{other:?}"),
            }
        }
        (shape, _) => shape.clone(),
    };
    ColumnView { shape, ..view.clone() }
}

/// Chunks of some k in which other attributes lie around this one.
fn chunked(numbers: &mut Numbers, values: &[u8], width: usize, rows: usize) -> PhysicalLayout {
    let k = [1, 2, 3, 7, 64, 100, 1024, 1088][numbers.below(8)];
    let offset = width * numbers.below(3);
    let chunk = offset + k * width + width * numbers.below(3);
    let mut bytes: Vec<u8> = (0..rows.div_ceil(k) * chunk + 8).map(|_| numbers.next() as u8).collect();
    for row in 0..rows {
        let start = row / k * chunk + offset + row % k * width;
        bytes[start..start + width].copy_from_slice(&values[row * width..][..width]);
    }
    PhysicalLayout::Chunked {
        bytes: Buffer::from_vec(bytes),
        place: AttributeAddress::new(k as u32, chunk, offset),
        width: width as u8,
    }
}

/// Some packing, of just enough bits or more.
fn packed(numbers: &mut Numbers, values: &[u8], width: usize, rows: usize) -> PhysicalLayout {
    let codes: Vec<u64> = (0..rows)
        .map(|row| {
            let mut code = [0; 8];
            code[..width].copy_from_slice(&values[row * width..][..width]);
            u64::from_le_bytes(code)
        })
        .collect();
    let largest = codes.iter().copied().max().unwrap_or(0);
    let needed = gingham_kernels::bitpack::bits_for(largest).max(1) as usize;
    let bits = needed + numbers.below(width * 8 - needed + 1);
    let packing = Packing::ALL[numbers.below(Packing::ALL.len())];
    let segment_bits = [256, 512][numbers.below(2)];
    let format = Format::new(packing, bits as u8).and_then(|format| format.with_segment_bits(segment_bits));
    let format = format.expect("a width from 1 to 64");
    let mut bytes = Vec::new();
    pack(Isa::Scalar, format, &codes, &mut bytes);
    PhysicalLayout::Packed { bytes: Buffer::from_vec(bytes), format }
}
