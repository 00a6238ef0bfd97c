//! The range that the bars of a column lie in, and the bar of a value: equal in width between the smallest value and the largest.

use gingham_storage::model::{float_integer, float_of_integer};

/// Most bars of a column.
pub(super) const BARS: usize = 10;

/// The smallest and the largest value of a column that are numbers or moments, and no infinities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Range {
    /// Integers, decimals' digits, dates' days, times' and timestamps' units.
    Whole { low: i128, high: i128 },
    /// Floats, as integers in their order.
    Real { low: i64, high: i64 },
}

impl Range {
    /// The range of floats.
    pub(super) fn of_floats(low: f64, high: f64) -> Self {
        Self::Real { low: float_integer(low), high: float_integer(high) }
    }

    /// How many bars there are: one for each value where there can be few.
    pub(super) fn bars(self) -> usize {
        match self {
            Self::Whole { low, high } => {
                let more = low.abs_diff(high);
                if more < BARS as u128 { more as usize + 1 } else { BARS }
            }
            Self::Real { low, high } if low == high => 1,
            Self::Real { .. } => BARS,
        }
    }

    /// The bar of a whole value; `None` outside.
    pub(super) fn bar_of_whole(self, value: i128) -> Option<usize> {
        let Self::Whole { low, high } = self else { return None };
        if value < low || value > high {
            return None;
        }
        let (at, width) = (low.abs_diff(value), low.abs_diff(high));
        if width < BARS as u128 {
            return Some(at as usize);
        }
        let bar = match (u64::try_from(at), u64::try_from(width)) {
            (Ok(at), Ok(width)) if at <= u64::MAX / BARS as u64 => (at * BARS as u64 / width) as usize,
            _ => {
                // Of the widest decimals ten times the distance has no room in 128 bits.
                let (tenth, rest) = (width / BARS as u128, width % BARS as u128);
                let begins = |bar: u128| bar * tenth + (bar * rest).div_ceil(BARS as u128);
                (1..BARS).filter(|bar| at >= begins(*bar as u128)).count()
            }
        };
        Some(bar.min(BARS - 1))
    }

    /// The bar of a float; `None` outside, as NaN is.
    pub(super) fn bar_of_real(self, value: f64) -> Option<usize> {
        let Self::Real { low, high } = self else { return None };
        let (low, high) = (float_of_integer(low), float_of_integer(high));
        if !(low <= value && value <= high) {
            return None;
        }
        // Halves, since the distance of the largest numbers is none.
        let part = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        Some(if part.is_nan() { 0 } else { ((part * BARS as f64) as usize).min(self.bars() - 1) })
    }
}

/// A bar for each count, as high as its part of the largest; the lowest is that of none.
pub(super) fn drawn(counts: &[u64]) -> String {
    const NONE: char = '▁';
    const SOME: [char; 7] = ['▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = u128::from(counts.iter().copied().max().unwrap_or(0));
    let bar = |count: &u64| match u128::from(*count) {
        0 => NONE,
        count => SOME[(count * SOME.len() as u128).div_ceil(most) as usize - 1],
    };
    counts.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_bar() {
        let few = Range::Whole { low: -2, high: 4 };
        assert_eq!((few.bars(), few.bar_of_whole(-2), few.bar_of_whole(4)), (7, Some(0), Some(6)));
        let hundred = Range::Whole { low: 0, high: 100 };
        let bars: Vec<_> = [0, 9, 10, 30, 60, 70, 99, 100, 101].map(|value| hundred.bar_of_whole(value)).into();
        assert_eq!(bars, [0, 0, 1, 3, 6, 7, 9, 9].map(Some).into_iter().chain([None]).collect::<Vec<_>>());
        let narrow = Range::Whole { low: i128::from(i64::MAX) - 20, high: i64::MAX.into() };
        assert_eq!(narrow.bar_of_whole(i128::from(i64::MAX) - 17), Some(1));
        let widest = Range::Whole { low: -i128::MAX, high: i128::MAX };
        assert_eq!([-i128::MAX, 1, i128::MAX].map(|value| widest.bar_of_whole(value)), [Some(0), Some(5), Some(9)]);
        let floats = Range::of_floats(-f64::MAX, f64::MAX);
        let bars = [-f64::MAX, 0.0, f64::MAX, f64::NAN, f64::INFINITY].map(|value| floats.bar_of_real(value));
        assert_eq!(bars, [Some(0), Some(5), Some(9), None, None]);
        let one = Range::of_floats(2.5, 2.5);
        assert_eq!((one.bars(), one.bar_of_real(2.5)), (1, Some(0)));
    }

    #[test]
    fn bars_are_parts_of_the_largest() {
        assert_eq!(drawn(&[0, 1, 50, 100]), "▁▂▅█");
        assert_eq!(drawn(&[7]), "█");
        assert_eq!(drawn(&[u64::MAX, 1]), "█▂");
    }
}
