//! Where a packing puts each bit of a code: for pictures, and for those who want to read a packed column by hand.
//!
//! The arithmetic is that of docs/formats/packings.md, written down once more beside the packings' own, which is made
//! for whole registers; `tests/packings.rs` holds it against what they write.

use super::{Format, Packing};

/// The place of a bit in a packed column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// Byte, from the column's first.
    pub byte: usize,
    /// Bit of the byte, from its least significant.
    pub bit: u8,
}

impl Address {
    /// Bit number `bit` from a byte on.
    const fn new(byte: usize, bit: usize) -> Self {
        Self { byte: byte + bit / 8, bit: (bit % 8) as u8 }
    }

    /// The bit in `bytes`.
    ///
    /// # Panics
    /// When the byte is not there.
    pub const fn read(self, bytes: &[u8]) -> bool {
        bytes[self.byte] >> self.bit & 1 == 1
    }
}

impl Format {
    /// Where bit `bit` (0 is the least significant) of the code of `row` lies in a column of `rows` codes.
    ///
    /// # Panics
    /// When the row is not below `rows`, or the bit not below the width.
    pub fn address(self, rows: usize, row: usize, bit: u8) -> Address {
        assert!(row < rows && bit < self.width(), "bit {bit} of row {row}: {rows} codes of {} bits", self.width());
        let (width, at) = (usize::from(self.width()), usize::from(bit));
        match self.packing() {
            Packing::Native => Address::new(row * width.div_ceil(8).next_power_of_two(), at),
            Packing::BitPacked => Address::new(0, row * width + at),
            Packing::ByteSlice => slice(8, rows, row, width, at),
            Packing::ByteSlice16 => slice(16, rows, row, width, at),
            Packing::Vbp => {
                let size = usize::from(self.segment_bits());
                let (group, within) = ((width - 1 - at) / 4, (width - 1 - at) % 4);
                let bits = (width - 4 * group).min(4);
                let word = 4 * group * rows.div_ceil(size) + row / size * bits + within;
                Address::new(word * size / 8, row % size)
            }
            Packing::Hbp => {
                let (bank, slot) = hbp(width, row);
                Address::new(bank, slot + at)
            }
        }
    }

    /// Where the bit before the code lies that HBP keeps free for the carry: its delimiter. None elsewhere, and none at
    /// 64 bits.
    pub fn delimiter(self, row: usize) -> Option<Address> {
        let width = usize::from(self.width());
        if self.packing() != Packing::Hbp || width == 64 {
            return None;
        }
        let (bank, slot) = hbp(width, row);
        Some(Address::new(bank, slot + 64 / (64 / (width + 1)) - 1))
    }
}

/// Units of `unit` bits, the most significant of all codes first.
fn slice(unit: usize, rows: usize, row: usize, width: usize, bit: usize) -> Address {
    let slices = width.div_ceil(unit);
    let shifted = bit + unit * slices - width;
    let before = (slices - 1 - shifted / unit) * rows.next_multiple_of(64) + row;
    Address::new(before * unit / 8, shifted % unit)
}

/// The first byte of the bank of HBP that a row's code lies in, and the bit of the bank that its slot starts at.
fn hbp(width: usize, row: usize) -> (usize, usize) {
    let slots = if width == 64 { 1 } else { 64 / (width + 1) };
    let field = 64 / slots;
    let (segment, code) = (row / (slots * field), row % (slots * field));
    let bank = segment / 8 * field + code % field;
    ((bank * 8 + segment % 8) * 8, code / field * field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;
    use crate::packing::pack;
    use std::collections::HashSet;

    /// Well-mixed bits of a number.
    fn mixed(number: u64) -> u64 {
        let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    #[test]
    fn codes_are_rebuilt_from_the_bits_at_their_addresses() {
        for packing in Packing::ALL {
            for width in 1..=64 {
                for (segment_bits, rows) in [(256, 1), (512, 65), (256, 700), (512, 1100)] {
                    let format = Format::new(packing, width).unwrap().with_segment_bits(segment_bits).unwrap();
                    let codes: Vec<u64> = (0..rows as u64).map(|row| mixed(row) & format.max_code()).collect();
                    let mut bytes = Vec::new();
                    pack(Isa::best(), format, &codes, &mut bytes);
                    let mut taken = HashSet::new();
                    for (row, code) in codes.iter().enumerate() {
                        let mut found = 0;
                        for bit in 0..width {
                            let address = format.address(rows, row, bit);
                            found |= u64::from(address.read(&bytes)) << bit;
                            assert!(taken.insert((address.byte, address.bit)), "{format:?}: {address:?} twice");
                        }
                        assert_eq!(found, *code, "{format:?}, row {row} of {rows}");
                        if let Some(delimiter) = format.delimiter(row) {
                            assert!(!delimiter.read(&bytes) && taken.insert((delimiter.byte, delimiter.bit)));
                        }
                    }
                }
            }
        }
    }
}
