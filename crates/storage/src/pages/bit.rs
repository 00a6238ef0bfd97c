//! Bits of a bitmap that lies in a page: bit t is bit t % 8 of byte t / 8.

/// Bytes of a bitmap of so many bits.
pub(crate) fn bytes(bits: usize) -> usize {
    bits.div_ceil(8)
}

/// Bit `at`.
pub(crate) fn get(bitmap: &[u8], at: usize) -> bool {
    bitmap[at / 8] >> (at % 8) & 1 == 1
}

/// Sets or clears bit `at`.
pub(crate) fn set(bitmap: &mut [u8], at: usize, value: bool) {
    let mask = 1 << (at % 8);
    if value {
        bitmap[at / 8] |= mask;
    } else {
        bitmap[at / 8] &= !mask;
    }
}

/// Set bits among the first `end`.
pub(crate) fn rank(bitmap: &[u8], end: usize) -> usize {
    let (whole, rest) = (&bitmap[..end / 8], end % 8);
    let (words, tail) = whole.as_chunks::<8>();
    let mut count: u32 = words.iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum();
    count += tail.iter().map(|byte| byte.count_ones()).sum::<u32>();
    if rest > 0 {
        count += (bitmap[end / 8] & ((1 << rest) - 1)).count_ones();
    }
    count as usize
}

/// The place of set bit number `wanted`, counted from 0, among the first `end`.
pub(crate) fn select(bitmap: &[u8], end: usize, wanted: usize) -> Option<usize> {
    let mut before = 0;
    for (at, byte) in bitmap[..bytes(end)].iter().enumerate() {
        let ones = byte.count_ones() as usize;
        if before + ones > wanted {
            let bit = (at * 8..end.min(at * 8 + 8)).filter(|bit| get(bitmap, *bit)).nth(wanted - before);
            return bit;
        }
        before += ones;
    }
    None
}

/// The first clear bit among the first `end`.
pub(crate) fn first_clear(bitmap: &[u8], end: usize) -> Option<usize> {
    let byte = bitmap[..bytes(end)].iter().position(|byte| *byte != 0xff)?;
    let at = byte * 8 + bitmap[byte].trailing_ones() as usize;
    (at < end).then_some(at)
}

/// Makes room for a bit at `at` by moving the bits `at..end` up; the bit itself is cleared.
pub(crate) fn open(bitmap: &mut [u8], at: usize, end: usize) {
    for bit in (at..end).rev() {
        let value = get(bitmap, bit);
        set(bitmap, bit + 1, value);
    }
    set(bitmap, at, false);
}

/// Takes the bit at `at` out by moving the bits `at + 1..end` down; bit `end - 1` is cleared.
pub(crate) fn close(bitmap: &mut [u8], at: usize, end: usize) {
    for bit in at + 1..end {
        let value = get(bitmap, bit);
        set(bitmap, bit - 1, value);
    }
    set(bitmap, end - 1, false);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_move_and_are_counted_as_a_list_of_them_says() {
        let mut list: Vec<bool> = Vec::new();
        let mut bitmap = [0u8; 40];
        let mut seed = 7u64;
        for step in 0..4000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = (seed >> 33) as usize;
            if list.len() < 300 && (list.is_empty() || !random.is_multiple_of(3)) {
                let at = random / 3 % (list.len() + 1);
                open(&mut bitmap, at, list.len());
                set(&mut bitmap, at, step % 2 == 0);
                list.insert(at, step % 2 == 0);
            } else {
                let at = random / 3 % list.len();
                close(&mut bitmap, at, list.len());
                list.remove(at);
            }
            assert!((0..list.len()).all(|at| get(&bitmap, at) == list[at]));
            assert!((list.len()..320).all(|at| !get(&bitmap, at)));
            let end = random % (list.len() + 1);
            let set = list[..end].iter().filter(|bit| **bit).count();
            assert_eq!(rank(&bitmap, end), set);
            assert_eq!(first_clear(&bitmap, end), list[..end].iter().position(|bit| !bit));
            let places: Vec<usize> = (0..end).filter(|at| list[*at]).collect();
            assert_eq!(select(&bitmap, end, random % 50), places.get(random % 50).copied());
        }
    }
}
