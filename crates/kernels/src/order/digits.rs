//! Digits of codes, how often each occurs, and where codes go by them: what partitioning and sorting are made of.

/// Values of a digit: it has eight bits.
pub const DIGITS: usize = 256;

/// Codes of each digit.
pub(crate) type Histogram = [u32; DIGITS];

/// Where the codes of each digit lie after partitioning: those of digit d from row `bounds[d]` up to `bounds[d + 1]`.
pub type Bounds = [u32; DIGITS + 1];

/// Rows up to which comparing is cheaper than counting: clearing and adding up the counts of 256 digits costs about as
/// much as sorting so many pairs.
pub(crate) const SMALL: usize = 64;

/// How codes of a width are cut into digits: shifted left until they fill whole bytes, the most significant byte first.
/// Those are the bytes of byte slices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digits {
    count: usize,
    padding: u32,
}

impl Digits {
    /// The digits of codes of `width` bits.
    pub(crate) fn of(width: u8) -> Self {
        let count = usize::from(width).div_ceil(8);
        Self { count, padding: (count * 8) as u32 - u32::from(width) }
    }

    /// How many there are.
    pub(crate) fn count(self) -> usize {
        self.count
    }

    /// A digit of a code.
    #[inline(always)]
    pub(crate) fn get(self, code: u64, digit: usize) -> u8 {
        (code << self.padding >> ((self.count - 1 - digit) * 8)) as u8
    }
}

/// Counts the digits of items. Four counts each, since a count that was just written can't be read again at once.
#[inline(always)]
pub(crate) fn histogram<T: Copy>(items: &[T], digit: impl Fn(T) -> u8) -> Histogram {
    let mut counts = [[0_u32; DIGITS]; 4];
    let fours = items.chunks_exact(4);
    for item in fours.remainder() {
        counts[0][usize::from(digit(*item))] += 1;
    }
    for four in fours {
        for (counts, item) in counts.iter_mut().zip(four) {
            counts[usize::from(digit(*item))] += 1;
        }
    }
    std::array::from_fn(|digit| counts.iter().map(|counts| counts[digit]).sum())
}

/// Whether all of `rows` codes have the same digit.
pub(crate) fn is_single(counts: &Histogram, rows: usize) -> bool {
    counts.iter().any(|count| *count as usize == rows)
}

/// The first row of each digit.
pub(crate) fn starts(counts: &Histogram) -> Histogram {
    let mut next = 0;
    counts.map(|count| {
        next += count;
        next - count
    })
}

/// Where the codes of each digit will lie.
pub(crate) fn bounds(counts: &Histogram) -> Bounds {
    let mut bounds = [0; DIGITS + 1];
    bounds[..DIGITS].copy_from_slice(&starts(counts));
    bounds[DIGITS] = bounds[DIGITS - 1] + counts[DIGITS - 1];
    bounds
}

/// The row that the next code of each digit goes to.
pub(crate) struct DigitOffsets(Histogram);

impl DigitOffsets {
    pub(crate) fn new(counts: &Histogram) -> Self {
        Self(starts(counts))
    }

    /// The row of a code with that digit.
    #[inline(always)]
    pub(crate) fn take(&mut self, digit: u8) -> usize {
        let next = &mut self.0[usize::from(digit)];
        let place = *next;
        *next = place.wrapping_add(1);
        place as usize
    }
}
