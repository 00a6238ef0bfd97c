//! The bits of a segment's first record: for each column where its code lies, the code's bits, and the value.

use crate::failure::Failure;
use crate::layout::value::cut;
use crate::output::grid;
use arrow::array::Array;
use arrow::util::display::array_value_to_string;
use gingham::storage::TableDefinition;
use gingham::storage::scan::decode;
use gingham::storage::segment::Segment;
use gingham::storage::view::{ColumnView, Meaning, Shape};
use gingham_kernels::Isa;

/// Bytes of a byte string whose bits are drawn.
const DRAWN_BYTES: usize = 4;
/// Characters of a value that are shown.
const VALUE_WIDTH: usize = 40;

/// The picture of record 0.
pub fn first_record(definition: &TableDefinition, segment: &Segment) -> Result<Vec<String>, Failure> {
    let place = if segment.is_delta() { "delta block" } else { "segment" };
    let mut lines = vec![format!(
        "the first record: {place} {}, zone 0 of {}, record 0 ('·' pads a code to its native width)",
        segment.id(),
        segment.zones()
    )];
    let mut rows = Vec::new();
    for column in &definition.columns {
        let view = segment.view(column, 0).map_err(gingham::Error::from)?;
        let code_bits = segment.column(column.id).map_or(0, |meta| meta.code_bits);
        let value = decode(&view, 0..1, Isa::best()).map_err(gingham::Error::from)?;
        let text = match value.is_null(0) {
            true => "NULL".to_owned(),
            false => cut(&array_value_to_string(&value, 0)?, VALUE_WIDTH),
        };
        let (place, bits) = drawn(&view, code_bits);
        rows.push(vec![column.name.clone(), place, bits, meaning(&view), text]);
    }
    lines.extend(grid(&["column", "bytes", "bits", "stands for", "value"], &[false; 5], &rows));
    Ok(lines)
}

/// Where record 0 lies in its column's block, and its bits.
fn drawn(view: &ColumnView, code_bits: u8) -> (String, String) {
    match &view.shape {
        Shape::Constant(_) => ("none".to_owned(), "the same for all records".to_owned()),
        Shape::Contiguous { codes, width } => {
            let mut bytes = [0_u8; 8];
            let width = usize::from(*width);
            bytes[..width].copy_from_slice(&codes.as_slice()[..width]);
            (place(0, width), code(u64::from_le_bytes(bytes), width * 8, code_bits.into()))
        }
        Shape::Chunked { bytes, place: in_chunks, width } => {
            let mut value = [0_u8; 16];
            let (start, width) = (in_chunks.address(0, (*width).into()), usize::from(*width));
            value[..width].copy_from_slice(&bytes.as_slice()[start..start + width]);
            let bits = match width {
                16 => format!("0x{:032x}", u128::from_le_bytes(value)),
                _ => code(u128::from_le_bytes(value) as u64, width * 8, code_bits.into()),
            };
            (place(start, width), bits)
        }
        Shape::ChunkedBytes { place: in_chunks, .. } => {
            (place(in_chunks.address(0, 8), 8), "offset and length of a string".to_owned())
        }
        Shape::Packed { format, .. } => ("spread".to_owned(), format!("packed as {}", format.packing())),
        Shape::Wide { values } => {
            let bits = values.as_slice()[..16].iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
            (place(0, 16), format!("0x{bits}"))
        }
        Shape::Bytes { offsets, bytes } => {
            let offset = |at: usize| offsets.typed_data::<u32>()[at] as usize;
            let (start, end) = (offset(0), offset(1));
            let drawn = start..end.min(start + DRAWN_BYTES);
            let bits: Vec<String> = bytes.as_slice()[drawn.clone()].iter().map(|byte| format!("{byte:08b}")).collect();
            let more = if drawn.end < end { " …" } else { "" };
            (place(start, end - start), format!("{}{more}", bits.join(" ")))
        }
    }
}

/// `0`, `0-1`: the bytes of a block.
fn place(start: usize, length: usize) -> String {
    match length {
        0 => "none".to_owned(),
        1 => start.to_string(),
        _ => format!("{start}-{}", start + length - 1),
    }
}

/// A code's bits, the highest first, in groups of eight; `·` where the native width is more than the code needs.
fn code(code: u64, width: usize, code_bits: usize) -> String {
    let mut text = String::new();
    for bit in (0..width).rev() {
        text.push(match (bit < code_bits, code >> bit & 1) {
            (false, _) => '·',
            (true, 0) => '0',
            (true, _) => '1',
        });
        if bit % 8 == 0 && bit > 0 {
            text.push(' ');
        }
    }
    text
}

fn meaning(view: &ColumnView) -> String {
    match &view.meaning {
        Meaning::Value => "the value itself".to_owned(),
        Meaning::FrameOfReference { base: 0 } => "the code".to_owned(),
        Meaning::FrameOfReference { base } => format!("{base} + code"),
        Meaning::ScaledFloat { base, digits } => format!("({base} + code) / 10^{digits}"),
        Meaning::FloatOrder { base } => format!("float of order {base} + code"),
        Meaning::Dictionary(version) => {
            format!("entry of {} in dictionary {}", version.entries.len(), version.version)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::buffer::Buffer;
    use gingham::storage::LogicalType;

    #[test]
    fn a_code_is_drawn_from_its_highest_bit() {
        assert_eq!(code(0b101, 8, 3), "·····101");
        assert_eq!(code(0x0180, 16, 9), "·······1 10000000");
        assert_eq!(code(0, 8, 0), "········");
    }

    #[test]
    fn strings_show_their_first_bytes() {
        let view = ColumnView {
            rows: 1,
            logical_type: LogicalType::Varchar(None),
            validity: None,
            shape: Shape::Bytes { offsets: Buffer::from_slice_ref([2_u32, 8]), bytes: Buffer::from(b"..AAAAAA") },
            meaning: Meaning::Value,
        };
        let (place, bits) = drawn(&view, 32);
        assert_eq!(place, "2-7");
        assert_eq!(bits, "01000001 01000001 01000001 01000001 …");
    }
}
