//! Codes <-> packed bits of a block on disk: code i takes bits `i * width` to `(i + 1) * width`, least significant
//! first.

/// Bytes that `rows` codes of `width` bits take.
pub(crate) fn packed_length(rows: usize, width: u32) -> usize {
    (rows as u128 * u128::from(width)).div_ceil(8) as usize
}

/// Bits that `value` needs.
pub(crate) fn bits_for(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// The low `width` bits set.
pub(crate) fn mask(width: u32) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (u64::BITS - width) }
}

/// Appends `codes` to `out`, each below 2^width, except that bits above are ignored.
pub(crate) fn pack(codes: impl ExactSizeIterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let end = out.len() + packed_length(codes.len(), width);
    out.reserve(packed_length(codes.len(), width) + 8);
    let mask = mask(width);
    let (mut word, mut filled) = (0u64, 0u32);
    for code in codes {
        let code = code & mask;
        word |= code << filled;
        filled += width;
        if filled >= u64::BITS {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= u64::BITS;
            word = if filled == 0 { 0 } else { code >> (width - filled) };
        }
    }
    out.extend_from_slice(&word.to_le_bytes());
    out.truncate(end);
}

/// Inverse of [`pack`]: fills `codes` from `packed`, which has at least `packed_length(codes.len(), width)` bytes.
pub(crate) fn unpack(packed: &[u8], width: u32, codes: &mut [u64]) {
    match width {
        0 => codes.fill(0),
        1..=57 => {
            let mask = mask(width);
            let width = width as usize;
            // Codes whose eight bytes all lie within the packed bits.
            let whole = (packed.len().saturating_sub(7) * 8).div_ceil(width).min(codes.len());
            let (whole, rest) = codes.split_at_mut(whole);
            for (index, code) in whole.iter_mut().enumerate() {
                let bit = index * width;
                *code = load(&packed[bit / 8..bit / 8 + 8]) >> (bit % 8) & mask;
            }
            for (index, code) in rest.iter_mut().enumerate() {
                *code = load_at(packed, (whole.len() + index) * width) as u64 & mask;
            }
        }
        _ => {
            let mask = mask(width);
            for (index, code) in codes.iter_mut().enumerate() {
                *code = load_at(packed, index * width as usize) as u64 & mask;
            }
        }
    }
}

/// Eight bytes as a word.
fn load(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// At least 64 bits from bit `bit` on, zeros behind the end.
fn load_at(packed: &[u8], bit: usize) -> u128 {
    let rest = packed.get(bit / 8..).unwrap_or_default();
    let mut bytes = [0; 16];
    let length = rest.len().min(16);
    bytes[..length].copy_from_slice(&rest[..length]);
    u128::from_le_bytes(bytes) >> (bit % 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packed_codes_come_back(width in 0u32..=64, codes in prop::collection::vec(any::<u64>(), 0..300)) {
            let codes: Vec<u64> = codes.into_iter().map(|code| code & mask(width)).collect();
            let mut packed = Vec::new();
            pack(codes.iter().copied(), width, &mut packed);
            prop_assert_eq!(packed.len(), packed_length(codes.len(), width));
            let mut back = vec![1; codes.len()];
            unpack(&packed, width, &mut back);
            prop_assert_eq!(back, codes);
        }
    }

    #[test]
    fn bit_order_is_little_endian() {
        let mut packed = Vec::new();
        pack([1, 2, 3, 4].into_iter(), 3, &mut packed);
        assert_eq!(packed, [0b11_010_001, 0b0000_1000]);
    }
}
