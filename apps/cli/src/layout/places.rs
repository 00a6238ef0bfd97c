//! Where the bits of one attribute lie, by the address arithmetic that storage and kernels read them with, and their
//! picture.

use gingham::storage::model::{ColumnView, PhysicalLayout};
use gingham_kernels::packing::{Address, Format, Packing};

/// Bytes of a byte string whose bits are drawn.
const DRAWN_BYTES: usize = 4;

/// A part of an attribute: where it is, and its bits.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    /// Such as `bytes 14-15` or `slice 1, byte 65543`: of the column's zone, or of its group's.
    pub place: String,
    /// The highest first; `·` where a bit is not the code's.
    pub bits: String,
}

fn piece(place: String, bits: String) -> Vec<Piece> {
    vec![Piece { place, bits }]
}

/// The picture of the attribute of record `tid` of a zone; a code has `code_bits`.
pub fn pieces(view: &ColumnView, tid: usize, code_bits: u8) -> Vec<Piece> {
    match &view.shape {
        PhysicalLayout::Constant(_) => piece("none".to_owned(), "the same for all records".to_owned()),
        PhysicalLayout::Wide { values } => piece(range(tid * 16, 16), hexadecimal(&values[tid * 16..][..16])),
        PhysicalLayout::Chunked { bytes, place, width: 16 } => {
            let at = place.address(tid as u32, 16);
            piece(format!("{}{}", chunk(*place, tid), range(at, 16)), hexadecimal(&bytes[at..][..16]))
        }
        PhysicalLayout::Contiguous { codes, width } => native(view, codes, tid, *width, code_bits),
        PhysicalLayout::Chunked { bytes, place, width } => {
            let mut pieces = native(view, bytes, tid, *width, code_bits);
            pieces[0].place.insert_str(0, &chunk(*place, tid));
            pieces
        }
        PhysicalLayout::Bytes { offsets, bytes } => {
            let offset = |at: usize| offsets.typed_data::<u32>()[at] as usize;
            string(bytes, offset(tid), offset(tid + 1) - offset(tid))
        }
        PhysicalLayout::ChunkedBytes { slots, place, bytes } => {
            let at = place.address(tid as u32, 8);
            let number = |at: usize| slots[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
            let (offset, length) = (number(at), number(at + 4));
            let mut pieces =
                piece(format!("{}{}", chunk(*place, tid), range(at, 8)), format!("offset {offset}, length {length}"));
            pieces.extend(string(bytes, offset, length));
            pieces
        }
        PhysicalLayout::Packed { bytes, format } => packed(view, bytes, *format, tid),
    }
}

/// Where bit `bit` (0 is the least significant) of the code of record `tid` lies in the first buffer of a shape; `None`
/// for shapes without codes.
fn address(view: &ColumnView, tid: usize, bit: u8) -> Option<Address> {
    let native = |byte: usize| Address { byte: byte + usize::from(bit / 8), bit: bit % 8 };
    match &view.shape {
        PhysicalLayout::Contiguous { width, .. } => Some(native(tid * usize::from(*width))),
        PhysicalLayout::Chunked { place, width: width @ 1..=8, .. } => {
            Some(native(place.address(tid as u32, usize::from(*width))))
        }
        PhysicalLayout::Packed { format, .. } => Some(format.address(view.rows, tid, bit)),
        _ => None,
    }
}

/// Which chunk a record is in, and where that starts.
fn chunk(place: gingham::storage::model::AttributeAddress, tid: usize) -> String {
    let (records, start) = (place.records(), tid / place.records() * place.chunk());
    match records {
        1 => format!("record at {start}: "),
        _ => format!("chunk {} at {start}: ", tid / records),
    }
}

/// A code in `width` bytes of its own.
fn native(view: &ColumnView, bytes: &[u8], tid: usize, width: u8, code_bits: u8) -> Vec<Piece> {
    let digit_of = |bit| match address(view, tid, bit) {
        Some(address) if bit < code_bits => digit(address.read(bytes)),
        _ => '·',
    };
    let start = address(view, tid, 0).map_or(0, |address| address.byte);
    piece(range(start, width.into()), in_eights((0..width * 8).rev().map(digit_of)))
}

fn packed(view: &ColumnView, bytes: &[u8], format: Format, tid: usize) -> Vec<Piece> {
    let (width, rows) = (format.width(), view.rows);
    let at = |bit| format.address(rows, tid, bit);
    let drawn = |bits: std::ops::RangeInclusive<u8>| in_eights(bits.rev().map(|bit| digit(at(bit).read(bytes))));
    match format.packing() {
        Packing::Native => native(view, bytes, tid, width.div_ceil(8).next_power_of_two(), width),
        Packing::BitPacked => {
            let (first, last) = (at(0), at(width - 1));
            let start = first.byte * 8 + usize::from(first.bit);
            let place = format!(
                "bits {start}-{} in {}",
                start + usize::from(width) - 1,
                range(first.byte, last.byte - first.byte + 1)
            );
            piece(place, drawn(0..=width - 1))
        }
        Packing::ByteSlice => slices(bytes, format, rows, tid, 8),
        Packing::ByteSlice16 => slices(bytes, format, rows, tid, 16),
        Packing::Vbp => {
            let word = usize::from(format.segment_bits()) / 8;
            let group = |top: u8| {
                let bits = top.saturating_sub(3)..=top;
                let words: Vec<String> = bits.clone().rev().map(|bit| (at(bit).byte / word).to_string()).collect();
                let within = at(top).byte % word * 8 + usize::from(at(top).bit);
                let place = format!("words {} of {} bits, bit {within} of each", words.join(", "), word * 8);
                Piece { place, bits: drawn(bits) }
            };
            (0..width).rev().step_by(4).map(group).collect()
        }
        Packing::Hbp => {
            let (first, bank) = (usize::from(at(0).bit) + at(0).byte % 8 * 8, at(0).byte / 8);
            let last = first + usize::from(width) - 1;
            let place = format!("bank {bank} in {}: bits {first}-{last}", range(bank * 8, 8));
            let mut pieces = piece(place, drawn(0..=width - 1));
            pieces.extend(format.delimiter(tid).map(|delimiter| Piece {
                place: format!(
                    "bank {bank}: bit {}, the delimiter",
                    delimiter.byte % 8 * 8 + usize::from(delimiter.bit)
                ),
                bits: digit(delimiter.read(bytes)).to_string(),
            }));
            pieces
        }
    }
}

/// A code cut into slices of `unit` bits, the most significant first; the last ends with padding.
fn slices(bytes: &[u8], format: Format, rows: usize, tid: usize, unit: u8) -> Vec<Piece> {
    let width = format.width();
    let count = width.div_ceil(unit);
    let padding = count * unit - width;
    let slice = |number: u8| {
        // Bits of the code, counted with the padding below it.
        let low = (count - 1 - number) * unit;
        let bits = (low..low + unit).rev().map(|bit| match bit.checked_sub(padding) {
            Some(bit) => digit(format.address(rows, tid, bit).read(bytes)),
            None => '·',
        });
        let top = format.address(rows, tid, low + unit - 1 - padding);
        let length = usize::from(unit / 8);
        Piece { place: format!("slice {number}, {}", range(top.byte + 1 - length, length)), bits: in_eights(bits) }
    };
    (0..count).map(slice).collect()
}

fn string(bytes: &[u8], start: usize, length: usize) -> Vec<Piece> {
    let drawn = &bytes[start..start + length.min(DRAWN_BYTES)];
    let bits: Vec<String> = drawn.iter().map(|byte| format!("{byte:08b}")).collect();
    let more = if length > DRAWN_BYTES { " …" } else { "" };
    piece(format!("strings: {}", range(start, length)), format!("{}{more}", bits.join(" ")))
}

/// `byte 0`, `bytes 0-1`, `no bytes`.
fn range(start: usize, length: usize) -> String {
    match length {
        0 => "no bytes".to_owned(),
        1 => format!("byte {start}"),
        _ => format!("bytes {start}-{}", start + length - 1),
    }
}

fn hexadecimal(little_endian: &[u8]) -> String {
    format!("0x{}", little_endian.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn digit(bit: bool) -> char {
    if bit { '1' } else { '0' }
}

/// Digits of a number in groups of eight from its end.
fn in_eights(digits: impl ExactSizeIterator<Item = char>) -> String {
    let count = digits.len();
    let mut text = String::new();
    for (place, digit) in digits.enumerate() {
        if place > 0 && (count - place).is_multiple_of(8) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
