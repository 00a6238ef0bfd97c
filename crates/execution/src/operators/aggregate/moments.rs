//! How floats spread, and how two of them do together: from exact sums of them, of their squares and of their products, and
//! rounded at the end. So neither a large mean nor the order of records takes digits away, as they do from sums of squares
//! that are rounded, and any number of threads gives the same (docs/decisions/0025-floats-in-pipelines.md).

use crate::operators::aggregate::exact::{Exact, Sums, parts, shifted};
use crate::program::float::float;

/// What is made of sums of one or two floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The sum of the first.
    Sum,
    /// The variance of the first, or its root.
    Spread {
        /// Whether it is of a sample, which needs two numbers, rather than of a population.
        sample: bool,
        /// The standard deviation.
        root: bool,
    },
    /// The covariance of both.
    Covariance {
        /// Whether it is of a sample rather than of a population.
        sample: bool,
    },
    /// Their correlation (Pearson's).
    Correlation,
}

/// Sums of all groups.
#[derive(Debug)]
pub(super) struct Floats {
    counts: Vec<u64>,
    /// Which of the numbers that are not finite came: bits, two arguments' in a byte.
    others: Vec<u8>,
    sums: [Sums; 2],
    squares: Option<[Sums; 2]>,
    products: Sums,
    arguments: usize,
}

const NAN: u8 = 1;
const POSITIVE: u8 = 2;
const NEGATIVE: u8 = 4;
/// Bits of an argument.
const BITS: usize = 3;

impl Floats {
    pub(super) fn new(arguments: usize, squares: bool) -> Self {
        let (counts, others, products) = (Vec::new(), Vec::new(), Sums::default());
        let squares = squares.then(Default::default);
        Self { counts, others, sums: Default::default(), squares, products, arguments }
    }

    pub(super) fn resize(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
        self.others.resize(groups, 0);
        self.lists_mut().for_each(|sums| sums.resize(groups));
    }

    fn lists(&self) -> impl Iterator<Item = &Sums> {
        let arguments = self.arguments;
        let squares = self.squares.iter().flat_map(move |squares| &squares[..arguments]);
        let products = (arguments > 1).then_some(&self.products);
        self.sums[..arguments].iter().chain(squares).chain(products)
    }

    fn lists_mut(&mut self) -> impl Iterator<Item = &mut Sums> {
        let arguments = self.arguments;
        let squares = self.squares.iter_mut().flat_map(move |squares| &mut squares[..arguments]);
        let products = (arguments > 1).then_some(&mut self.products);
        self.sums[..arguments].iter_mut().chain(squares).chain(products)
    }

    pub(super) fn bytes(&self) -> usize {
        let sums = self.lists().map(Sums::bytes).sum::<usize>();
        sums + self.counts.capacity() * size_of::<u64>() + self.others.capacity()
    }

    /// Adds records whose groups have these places, those that count.
    pub(super) fn add(
        &mut self,
        places: &[u64],
        counts: impl Iterator<Item = bool>,
        first: &[i64],
        second: Option<&[i64]>,
    ) {
        let records = places.iter().zip(counts).enumerate().filter(|(_, (_, counts))| *counts);
        for (at, (place, _)) in records {
            let place = *place as usize;
            self.count(place);
            let mut both = [None; 2];
            for (number, argument) in [Some(first), second].into_iter().flatten().enumerate() {
                both[number] = self.add_one(place, number, float(argument[at]));
            }
            if let [Some((one, a, power)), Some((other, b, others))] = both {
                self.products.add(place, one != other, u128::from(a) * u128::from(b), power + others);
            }
        }
    }

    /// A group has one more, of which nothing is summed.
    pub(super) fn count(&mut self, place: usize) {
        self.counts[place] += 1;
    }

    /// A group has one more, the only argument.
    pub(super) fn add_value(&mut self, place: usize, ordered: i64) {
        self.count(place);
        self.add_one(place, 0, float(ordered));
    }

    /// How many a group has.
    pub(super) fn counted(&self, place: usize) -> u64 {
        self.counts[place]
    }

    /// Adds an argument of a record, and gives its parts.
    fn add_one(&mut self, place: usize, argument: usize, value: f64) -> Option<(bool, u64, i32)> {
        let Some((negative, number, exponent)) = parts(value) else {
            let other = if value.is_nan() {
                NAN
            } else if value > 0.0 {
                POSITIVE
            } else {
                NEGATIVE
            };
            self.others[place] |= other << (BITS * argument);
            return None;
        };
        self.sums[argument].add(place, negative, number.into(), exponent);
        if let Some(squares) = &mut self.squares {
            squares[argument].add(place, false, u128::from(number) * u128::from(number), 2 * exponent);
        }
        Some((negative, number, exponent))
    }

    /// Adds those of another thread, whose groups have these places here.
    pub(super) fn merge(&mut self, other: &Self, places: &[u64]) {
        for (from, place) in places.iter().enumerate() {
            let place = *place as usize;
            self.counts[place] += other.counts[from];
            self.others[place] |= other.others[from];
            self.lists_mut().zip(other.lists()).for_each(|(own, other)| own.merge(place, other, from));
        }
    }

    /// What is made of a group's sums; `None` is NULL.
    pub(super) fn get(&self, moment: Moment, place: usize) -> Option<f64> {
        let count = self.counts[place];
        if count == 0 {
            return None;
        }
        match moment {
            Moment::Sum => Some(self.sum_of_others(place, 0).unwrap_or_else(|| self.sums[0].get(place).to_float())),
            Moment::Spread { sample, root } => {
                let variance = self.mean_of(sample, place, || self.deviation(place, 0))?;
                Some(if root { variance.sqrt() } else { variance })
            }
            Moment::Covariance { sample } => self.mean_of(sample, place, || self.common(place)),
            Moment::Correlation => self.correlation(place),
        }
    }

    /// The sum of an argument that has numbers that are not finite.
    fn sum_of_others(&self, place: usize, argument: usize) -> Option<f64> {
        let others = self.others[place] >> (BITS * argument) & (NAN | POSITIVE | NEGATIVE);
        match others {
            0 => None,
            POSITIVE => Some(f64::INFINITY),
            NEGATIVE => Some(f64::NEG_INFINITY),
            _ => Some(f64::NAN),
        }
    }

    /// What is count times a sum of distances from means, as a mean of these.
    fn mean_of(&self, sample: bool, place: usize, distances: impl Fn() -> Exact) -> Option<f64> {
        let count = self.counts[place];
        let divisor = count - u64::from(sample);
        if divisor == 0 {
            return None;
        }
        if self.others[place] != 0 {
            return Some(f64::NAN);
        }
        let (number, exponent) = distances().scaled();
        Some(shifted(number / count as f64 / divisor as f64, exponent))
    }

    /// How many there are, times the sum of the squared distances from the mean of an argument.
    fn deviation(&self, place: usize, argument: usize) -> Exact {
        let sum = self.sums[argument].get(place);
        let squares = self.squares.as_ref().map_or_else(|| Exact::of(0), |squares| squares[argument].get(place));
        squares.times(&Exact::of(self.counts[place])).minus(&sum.times(&sum))
    }

    /// The exact sum of the products of both arguments' distances.
    fn common(&self, place: usize) -> Exact {
        let [first, second] = [0, 1].map(|argument| self.sums[argument].get(place));
        self.products.get(place).times(&Exact::of(self.counts[place])).minus(&first.times(&second))
    }

    /// NULL where one argument is the same in all records, or is no number in some while the other always is: what
    /// DataFusion says.
    fn correlation(&self, place: usize) -> Option<f64> {
        let sums = [0, 1].map(|argument| self.sum_of_others(place, argument));
        match sums.map(|sum| sum.is_some_and(f64::is_nan)) {
            [true, true] => return Some(f64::NAN),
            [false, false] if self.counts[place] >= 2 => {}
            _ => return None,
        }
        if sums.iter().any(Option::is_some) {
            return Some(f64::NAN);
        }
        let [first, second] = [0, 1].map(|argument| self.deviation(place, argument));
        if first.is_zero() || second.is_zero() {
            return None;
        }
        // Roots of powers of two: of the even part of each exponent.
        let root = |deviation: Exact| {
            let (number, exponent) = deviation.scaled();
            (shifted(number, exponent.rem_euclid(2)).sqrt(), exponent.div_euclid(2))
        };
        let ((a, power), (b, other)) = (root(first), root(second));
        let (number, exponent) = self.common(place).scaled();
        Some(shifted(number / a / b, exponent - power - other).clamp(-1.0, 1.0))
    }
}
