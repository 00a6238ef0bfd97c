//! Exact sums of floats, and of their products, whatever their sizes. A sum is an integer in units so small that every
//! float, and every product of two, is a whole number of them. Of its 4,300 bits only those are kept where numbers have come: a
//! window of 64-bit digits, the same for all sums of a list, which widens when a number lies outside of it. Most columns
//! need three or four digits.
//!
//! What is exact does not depend on the order in which numbers come, or sums are put together: any number of threads gives
//! the same.

use std::iter::repeat_n;

/// The lowest digit's unit is two to the power of this: no product of two floats has bits below it.
const UNIT: i32 = -34 * DIGIT;
/// Bits of a digit.
const DIGIT: i32 = 64;

/// A list of sums, each in two's complement.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Sums.
    length: usize,
    /// The number of the lowest digit that is kept.
    low: usize,
    /// Digits that are kept. The highest has no number's bits but only what is carried into it, one a number, so that it
    /// never runs over.
    width: usize,
    /// The digits of each sum, the lowest first.
    digits: Vec<u64>,
}

/// A number with its sign aside.
#[derive(Debug, Clone)]
pub(super) struct Exact {
    negative: bool,
    /// The number of its lowest digit, counted from that of 1.
    low: i32,
    /// The lowest first.
    digits: Vec<u64>,
}

/// A float as a whole number times two to a power; `None` when it is none.
pub(super) fn parts(value: f64) -> Option<(bool, u64, i32)> {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let mantissa = (bits & ((1 << 52) - 1)) | u64::from(exponent != 0) << 52;
    value.is_finite().then_some((bits >> 63 == 1, mantissa, exponent.max(1) - 1075))
}

impl Sums {
    /// Has room for so many sums.
    pub(super) fn resize(&mut self, length: usize) {
        self.length = length;
        self.digits.resize(length * self.width, 0);
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.digits.capacity() * size_of::<u64>()
    }

    /// Adds a number times two to a power to a sum.
    pub(super) fn add(&mut self, sum: usize, negative: bool, number: u128, exponent: i32) {
        let at = (exponent - UNIT) as usize;
        let (digit, shift) = (at / DIGIT as usize, at % DIGIT as usize);
        // Up to 106 bits, shifted by fewer than 64.
        let (low, high) = (number << shift, (number >> 1) >> (127 - shift));
        let digits = [low as u64, (low >> 64) as u64, high as u64];
        let set = |digit: &u64| *digit != 0;
        let (Some(first), Some(last)) = (digits.iter().position(set), digits.iter().rposition(set)) else { return };
        self.reach(digit + first, digit + last + 2);
        let start = digit + first - self.low;
        let own = &mut self.digits[sum * self.width..][..self.width][start..];
        if negative { subtract(own, &digits[first..=last]) } else { add(own, &digits[first..=last]) }
    }

    /// Adds a sum of others to a sum.
    pub(super) fn merge(&mut self, sum: usize, others: &Self, other: usize) {
        if others.width == 0 {
            return;
        }
        self.reach(others.low, others.low + others.width);
        let from = others.of(other);
        let start = others.low - self.low;
        let own = &mut self.digits[sum * self.width..][..self.width][start..];
        let above = own.len() - from.len();
        let sign = if is_negative(from) { u64::MAX } else { 0 };
        let digits: Vec<u64> = from.iter().copied().chain(repeat_n(sign, above)).collect();
        add(own, &digits);
    }

    /// A sum as a number.
    pub(super) fn get(&self, sum: usize) -> Exact {
        let (mut digits, low) = (self.of(sum).to_vec(), self.low as i32 + UNIT / DIGIT);
        let negative = is_negative(&digits);
        if negative {
            digits.iter_mut().for_each(|digit| *digit = !*digit);
            add(&mut digits, &[1]);
        }
        Exact { negative, low, digits }.trimmed()
    }

    fn of(&self, sum: usize) -> &[u64] {
        &self.digits[sum * self.width..][..self.width]
    }

    /// The window has the digits from `low` to the one before `end`.
    fn reach(&mut self, low: usize, end: usize) {
        if self.width > 0 && low >= self.low && end <= self.low + self.width {
            return;
        }
        let (low, end) = match self.width {
            0 => (low, end),
            width => (low.min(self.low), end.max(self.low + width)),
        };
        let mut digits = Vec::with_capacity(self.length * (end - low));
        for sum in 0..self.length {
            let own = self.of(sum);
            let sign = if is_negative(own) { u64::MAX } else { 0 };
            let below = if own.is_empty() { 0 } else { self.low - low };
            digits.extend(repeat_n(0, below).chain(own.iter().copied()));
            digits.resize((sum + 1) * (end - low), sign);
        }
        (self.low, self.width, self.digits) = (low, end - low, digits);
    }
}

fn is_negative(digits: &[u64]) -> bool {
    digits.last().is_some_and(|digit| digit >> 63 == 1)
}

/// Adds a number of fewer digits.
fn add(to: &mut [u64], digits: &[u64]) {
    let mut carry = false;
    for (at, own) in to.iter_mut().enumerate() {
        let digit = match digits.get(at) {
            Some(digit) => *digit,
            None if carry => 0,
            None => return,
        };
        let (sum, first) = own.overflowing_add(digit);
        let (sum, second) = sum.overflowing_add(carry.into());
        (*own, carry) = (sum, first || second);
    }
}

/// Subtracts a number of fewer digits.
fn subtract(from: &mut [u64], digits: &[u64]) {
    let mut borrow = false;
    for (at, own) in from.iter_mut().enumerate() {
        let digit = match digits.get(at) {
            Some(digit) => *digit,
            None if borrow => 0,
            None => return,
        };
        let (rest, first) = own.overflowing_sub(digit);
        let (rest, second) = rest.overflowing_sub(borrow.into());
        (*own, borrow) = (rest, first || second);
    }
}

impl Exact {
    /// A count.
    pub(super) fn of(count: u64) -> Self {
        Self { negative: false, low: 0, digits: vec![count] }.trimmed()
    }

    /// Without zeros at its ends; of 0 nothing is left.
    fn trimmed(mut self) -> Self {
        let used = self.digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
        self.digits.truncate(used);
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
        self.low += zeros as i32;
        self
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let mut digits = vec![0; self.digits.len() + other.digits.len()];
        for (at, own) in self.digits.iter().enumerate() {
            let mut carry = 0;
            for (place, digit) in digits[at..].iter_mut().zip(other.digits.iter().copied().chain([0])) {
                let sum = u128::from(*own) * u128::from(digit) + u128::from(*place) + u128::from(carry);
                (*place, carry) = (sum as u64, (sum >> 64) as u64);
            }
        }
        Self { negative: self.negative != other.negative, low: self.low + other.low, digits }.trimmed()
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        let low = self.low.min(other.low);
        let end = |number: &Self| number.low + number.digits.len() as i32;
        let length = (end(self).max(end(other)) - low) as usize + 1;
        let mut digits = vec![0; length];
        for (number, negative) in [(self, self.negative), (other, !other.negative)] {
            let own = &mut digits[(number.low - low) as usize..];
            if negative { subtract(own, &number.digits) } else { add(own, &number.digits) }
        }
        let negative = is_negative(&digits);
        if negative {
            digits.iter_mut().for_each(|digit| *digit = !*digit);
            add(&mut digits, &[1]);
        }
        Self { negative, low, digits }.trimmed()
    }

    /// The number as a float times two to a power, rounded once.
    pub(super) fn scaled(&self) -> (f64, i32) {
        let Some(top) = self.digits.last() else { return (0.0, 0) };
        let zeros = top.leading_zeros();
        let below = self.digits.len().checked_sub(2).map_or(0, |next| self.digits[next]);
        let mut high = top << zeros | if zeros == 0 { 0 } else { below >> (64 - zeros) };
        // Bits below decide a tie.
        let rest = below << zeros != 0 || self.digits.iter().rev().skip(2).any(|digit| *digit != 0);
        high |= u64::from(rest);
        let exponent = (self.low + self.digits.len() as i32 - 1) * DIGIT - zeros as i32;
        (if self.negative { -(high as f64) } else { high as f64 }, exponent)
    }

    /// The nearest float.
    pub(super) fn to_float(&self) -> f64 {
        let (number, exponent) = self.scaled();
        shifted(number, exponent)
    }
}

/// A float times two to a power.
pub(super) fn shifted(value: f64, exponent: i32) -> f64 {
    // Three steps, none of which is past what a float can hold when the result is not.
    let step = exponent.clamp(-3000, 3000) / 3;
    let last = exponent.clamp(-3000, 3000) - 2 * step;
    value * 2f64.powi(step) * 2f64.powi(step) * 2f64.powi(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums(values: &[f64]) -> Sums {
        let mut sums = Sums::default();
        sums.resize(1);
        for value in values {
            let (negative, mantissa, exponent) = parts(*value).unwrap();
            sums.add(0, negative, mantissa.into(), exponent);
        }
        sums
    }

    #[test]
    fn sums_are_rounded_once() {
        let sum = |values: &[f64]| sums(values).get(0).to_float();
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[1e300, 1.0, -1e300, 1e-300]), 1.0);
        assert_eq!(sum(&[1e300, 1e-300, -1e300, -1e-300]), 0.0);
        assert_eq!(sum(&[-5e-324, -5e-324]), -1e-323);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(sum(&[9_007_199_254_740_992.0, 1.0]), 9_007_199_254_740_992.0);
        assert_eq!(sum(&[9_007_199_254_740_992.0, 1.0, 1e-200]), 9_007_199_254_740_994.0);
        assert_eq!(sum(&[]), 0.0);
    }

    #[test]
    fn products_of_the_smallest_and_largest_have_room() {
        let mut sums = Sums::default();
        sums.resize(1);
        for value in [f64::MAX, 5e-324] {
            let (_, mantissa, exponent) = parts(value).unwrap();
            sums.add(0, true, u128::from(mantissa) * u128::from(mantissa), 2 * exponent);
        }
        let largest = Exact::of(parts(f64::MAX).unwrap().1);
        let (number, exponent) = sums.get(0).minus(&largest.times(&largest)).scaled();
        assert!(number < 0.0 && exponent > 1900, "{number} {exponent}");
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        let value = (any::<i32>(), prop_oneof![Just(0), -60..60i32, -900..900i32]);
        prop::collection::vec(value.prop_map(|(value, power)| f64::from(value) * 2f64.powi(power)), 0..40)
    }

    proptest! {
        #[test]
        fn the_order_and_the_parts_do_not_matter(values in values(), cut in 0..40usize) {
            let cut = cut.min(values.len());
            let whole = sums(&values).get(0);
            let (mut first, second) = (sums(&values[cut..]), sums(&values[..cut]));
            first.merge(0, &second, 0);
            prop_assert!(first.get(0).minus(&whole).is_zero());
            // Taken away one by one, nothing is left.
            for value in &values {
                let (negative, mantissa, exponent) = parts(*value).unwrap();
                first.add(0, !negative, mantissa.into(), exponent);
            }
            prop_assert!(first.get(0).is_zero());
            let near: f64 = values.iter().sum();
            let size: f64 = values.iter().map(|value| value.abs()).sum();
            prop_assert!((whole.to_float() - near).abs() <= size * 1e-14);
        }

        #[test]
        fn numbers_multiply_as_integers_do(a in any::<i64>(), b in any::<i64>(), c in any::<i64>()) {
            let number = |value: i64| sums(&[]).get_or(value);
            let (exact, wide) = (number(a).times(&number(b)).minus(&number(c)), i128::from(a) * i128::from(b) - i128::from(c));
            prop_assert_eq!(exact.to_float(), wide as f64);
        }
    }

    impl Sums {
        /// An integer as a number.
        fn get_or(mut self, value: i64) -> Exact {
            self.add(0, value < 0, value.unsigned_abs().into(), 0);
            self.get(0)
        }
    }
}
