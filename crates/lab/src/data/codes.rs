//! Columns of codes in their native width, and what a selection on them gives by plain loops: the oracle of every scan
//! and lookup that the lab measures.

use crate::data::Zipf;
use crate::random::Random;
use gingham_kernels::Code;
use gingham_kernels::packing::Test;

/// Codes of a width, each in the smallest integer that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Codes {
    /// Up to 8 bits.
    U8(Vec<u8>),
    /// Up to 16.
    U16(Vec<u16>),
    /// Up to 32.
    U32(Vec<u32>),
    /// Up to 64.
    U64(Vec<u64>),
}

/// Runs an expression with the vector of codes, whatever its type.
#[macro_export]
#[doc(hidden)]
macro_rules! with_codes {
    ($codes:expr, $name:ident => $body:expr) => {
        match $codes {
            $crate::data::Codes::U8($name) => $body,
            $crate::data::Codes::U16($name) => $body,
            $crate::data::Codes::U32($name) => $body,
            $crate::data::Codes::U64($name) => $body,
        }
    };
}

impl Codes {
    /// `rows` codes of `width` bits that `next` gives. Bits above the width are cut off.
    pub fn generate(width: u8, rows: usize, mut next: impl FnMut() -> u64) -> Self {
        fn collect<C: Code>(width: u8, rows: usize, next: &mut impl FnMut() -> u64) -> Vec<C> {
            let mask = u64::MAX >> (64 - width);
            (0..rows).map(|_| C::truncate(next() & mask)).collect()
        }
        match width {
            0..=8 => Self::U8(collect(width, rows, &mut next)),
            9..=16 => Self::U16(collect(width, rows, &mut next)),
            17..=32 => Self::U32(collect(width, rows, &mut next)),
            _ => Self::U64(collect(width, rows, &mut next)),
        }
    }

    /// Codes that are evenly distributed over all of the width.
    pub fn uniform(width: u8, rows: usize, random: &mut Random) -> Self {
        Self::generate(width, rows, || random.bits() >> (64 - width))
    }

    /// Codes of which the small ones are frequent: Zipf's distribution over all of the width.
    pub fn zipf(width: u8, rows: usize, exponent: f64, random: &mut Random) -> Self {
        let zipf = Zipf::new(1 << width, exponent);
        Self::generate(width, rows, || zipf.draw(random))
    }

    /// The number of codes.
    pub fn rows(&self) -> usize {
        with_codes!(self, codes => codes.len())
    }

    /// The code of a row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn get(&self, row: usize) -> u64 {
        with_codes!(self, codes => codes[row].to_u64())
    }

    /// The rows that a test selects, as a bit vector: bit t % 64 of word t / 64 for row t.
    pub fn select(&self, test: Test) -> Vec<u64> {
        fn bits<C: Code>(codes: &[C], test: Test) -> Vec<u64> {
            let word = |codes: &[C]| {
                codes.iter().enumerate().fold(0, |word, (bit, code)| word | u64::from(test.holds(code.to_u64())) << bit)
            };
            codes.chunks(64).map(word).collect()
        }
        with_codes!(self, codes => bits(codes, test))
    }

    /// The smallest code that at least `part` of all codes lie below: the constant of `code < constant` that selects that
    /// part. `width` is that of the codes.
    pub fn quantile(&self, width: u8, part: f64) -> u64 {
        // A histogram of the leading bits is exact for narrow codes, and close enough for wide ones.
        let shift = u32::from(width.saturating_sub(16));
        let mut counts = vec![0_u64; 1 << (u32::from(width) - shift)];
        with_codes!(self, codes => codes.iter().for_each(|code| counts[(code.to_u64() >> shift) as usize] += 1));
        let wanted = part * self.rows() as f64;
        let mut below = 0;
        for (leading, count) in counts.iter().enumerate() {
            if below as f64 >= wanted {
                return (leading as u64) << shift;
            }
            below += count;
        }
        (counts.len() as u64) << shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gingham_kernels::packing::Operator;

    #[test]
    fn codes_fill_their_width_and_no_more() {
        for width in [1, 7, 8, 9, 16, 17, 31, 32, 33, 64] {
            let codes = Codes::uniform(width, 5000, &mut Random::new(1));
            assert_eq!(codes.rows(), 5000);
            let max = (0..5000).map(|row| codes.get(row)).max().unwrap();
            assert!(max <= u64::MAX >> (64 - width) && max >> (width - 1) == 1, "{max} of {width} bits");
        }
    }

    #[test]
    fn selections_count_what_they_should() {
        let codes = Codes::generate(5, 100, {
            let mut next = 0;
            move || {
                next += 1;
                next
            }
        });
        let bits = codes.select(Test::Compare(Operator::Less, 4));
        // 1, 2, 3, then 32 (cut to 0) to 35, and so on.
        assert_eq!(bits[0] & 0b1111, 0b0111);
        let expected: u32 = (1..=100).filter(|code| code % 32 < 4).count() as u32;
        assert_eq!(bits.iter().map(|word| word.count_ones()).sum::<u32>(), expected);
        assert_eq!(bits.len(), 2);
    }

    #[test]
    fn quantiles_select_their_part() {
        for width in [8, 12, 24] {
            let codes = Codes::uniform(width, 100_000, &mut Random::new(5));
            let constant = codes.quantile(width, 0.1);
            let selected: u32 =
                codes.select(Test::Compare(Operator::Less, constant)).iter().map(|word| word.count_ones()).sum();
            assert!((9_900..10_700).contains(&selected), "{selected} at {width} bits");
        }
        assert_eq!(Codes::U8(vec![3; 10]).quantile(8, 1.0), 4);
        assert_eq!(Codes::U8(vec![3; 10]).quantile(8, 0.0), 0);
    }

    #[test]
    fn skewed_codes_are_small() {
        let codes = Codes::zipf(12, 10_000, 2.0, &mut Random::new(5));
        assert!(codes.quantile(12, 0.6) <= 2, "0 alone has the weight 0.61");
    }
}
