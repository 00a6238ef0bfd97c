//! Transposition of 64 bytes to 8 words of 64 bits, and back: how 8 bits of 64 codes become words of VBP. Plain shifts
//! and masks over arrays, which the compiler turns into vector code for the instruction set of the caller.

/// Word b of the result has bit b of each byte, that of byte i in bit i.
#[inline(always)]
pub(super) fn words_of(bytes: &[u8; 64]) -> [u64; 8] {
    let mut rows = [0; 8];
    for (row, bytes) in rows.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *row = transpose_bits(u64::from_le_bytes(*bytes));
    }
    transpose_bytes(&mut rows);
    rows
}

/// The inverse of [`words_of`].
#[inline(always)]
pub(super) fn bytes_of(mut words: [u64; 8]) -> [u8; 64] {
    transpose_bytes(&mut words);
    let mut bytes = [0; 64];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = transpose_bits(word).to_le_bytes();
    }
    bytes
}

/// Exchanges bit b of byte i with bit i of byte b, in three rounds of exchanges between ever larger squares.
#[inline(always)]
fn transpose_bits(mut square: u64) -> u64 {
    for (distance, mask) in [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)] {
        let changed = (square ^ (square >> distance)) & mask;
        square ^= changed ^ (changed << distance);
    }
    square
}

/// Exchanges byte b of word i with byte i of word b.
#[inline(always)]
fn transpose_bytes(words: &mut [u64; 8]) {
    for (distance, mask) in [(4, 0x0000_0000_ffff_ffff), (2, 0x0000_ffff_0000_ffff), (1, 0x00ff_00ff_00ff_00ff)] {
        let shift = 8 * distance;
        for i in (0..8).filter(|i| i & distance == 0) {
            let changed = ((words[i] >> shift) ^ words[i + distance]) & mask;
            words[i + distance] ^= changed;
            words[i] ^= changed << shift;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes_of, words_of};

    #[test]
    fn every_bit_moves_to_its_place() {
        for byte in 0..64 {
            for bit in 0..8 {
                let mut bytes = [0; 64];
                bytes[byte] = 1 << bit;
                let mut words = [0; 8];
                words[bit] = 1 << byte;
                assert_eq!(words_of(&bytes), words);
                assert_eq!(bytes_of(words), bytes);
            }
        }
    }
}
