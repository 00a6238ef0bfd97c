//! Axes: where they begin and end, their ticks, and the words at these.

use crate::words::grouped;

/// Labels at most on an axis that lies level: more would run into each other on a phone.
const MOST_LABELS: usize = 6;
/// An axis of ratios shows at least so much on either side of 1, so that noise does not look large.
const LEAST_RATIO: f64 = 1.05;
/// An interval is drawn no further than so many times its value.
const FARTHEST: f64 = 4.0;

/// The unit that an axis counts in: its numbers stay short.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Multiple {
    /// What one of it is.
    pub size: f64,
    word: &'static str,
}

impl Multiple {
    /// The one that suits values up to `largest`.
    pub fn of(largest: f64) -> Self {
        let (size, word) = match largest {
            largest if largest >= 1e9 => (1e9, "billions of "),
            largest if largest >= 1e6 => (1e6, "millions of "),
            _ => (1.0, ""),
        };
        Self { size, word }
    }

    /// The name of an axis whose numbers it counts.
    pub fn name(self, axis: &str) -> String {
        format!("{}{axis}", self.word)
    }
}

/// The end of an interval as far as it is drawn.
pub(super) fn drawn(value: f64, (low, high): (f64, f64)) -> (f64, f64) {
    (low.max(0.0), high.min(FARTHEST * value))
}

/// Bounds and ticks of an axis from 0.
pub(super) fn even(high: f64) -> ((f64, f64), Vec<f64>) {
    let step = round_step(high / 5.0);
    // A whisker that rises over the last line by a hair needs no other line.
    let count = (high / step - 0.02).ceil().max(1.0) as u32;
    ((0.0, f64::from(count) * step), (0..=count).map(|tick| f64::from(tick) * step).collect())
}

/// Bounds and ticks of a logarithmic axis.
pub(super) fn decades(low: f64, high: f64) -> ((f64, f64), Vec<f64>) {
    let low = low.max(high * 1e-9);
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let last = last.max(first + 1);
    let ticks = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
    let bounds = (10_f64.powi(first), 10_f64.powi(last));
    // Two or three decades have room for the digits between.
    let all: Vec<f64> = ticks.filter(|tick| (bounds.0..=bounds.1 * 1.001).contains(tick)).collect();
    let shown = if all.len() > 10 { all.into_iter().step_by(3).collect() } else { all };
    (bounds, shown)
}

/// Ticks of a level axis within the marks' range.
pub(super) fn level((low, high): (f64, f64)) -> Vec<f64> {
    if high <= low {
        return vec![low];
    }
    // Widths are multiples of 4 more often than of 5.
    let step = match (high - low) / 8.0 {
        step if (2.0..=4.0).contains(&step) => 4.0,
        step => round_step(step),
    };
    let first = (low / step).ceil() as i64;
    let all: Vec<f64> = (first..).map(|tick| tick as f64 * step).take_while(|tick| *tick <= high * 1.000_001).collect();
    let letters: usize = all.iter().map(|tick| label(*tick).len() + 2).sum();
    all.into_iter().step_by(letters.div_ceil(40).max(1)).collect()
}

/// Bounds and ticks of a logarithmic axis of ratios, with the words at the ticks; 1 is among them.
pub(super) fn ratios(low: f64, high: f64) -> ((f64, f64), Vec<(f64, String)>) {
    let (least, most) = (low.min(1.0), high.max(1.0));
    let (low, high) = (least.min(1.0 / LEAST_RATIO), most.max(LEAST_RATIO));
    if high / low > 3.0 {
        let (low, high) = (least, most);
        let (first, last) = (low.log2().floor() as i32, high.log2().ceil() as i32);
        let every = ((last - first) as usize + 1).div_ceil(MOST_LABELS) as i32;
        let power = |power: i32| {
            let words = if power < 0 { format!("1/{}", label(2_f64.powi(-power))) } else { label(2_f64.powi(power)) };
            (2_f64.powi(power), words)
        };
        let ticks = (first..=last).filter(|tick| tick % every == 0).map(power).collect();
        return ((2_f64.powi(first), 2_f64.powi(last)), ticks);
    }
    let step = round_step((high - low) / 4.0);
    // The line of 1 is a multiple of every step that is used.
    let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    let ticks = (first..=last).map(|tick| tick as f64 * step).filter(|tick| *tick > 0.0);
    let bounds = (if first > 0 { first as f64 * step } else { low }, last as f64 * step);
    (bounds, ticks.filter(|tick| *tick >= bounds.0 * 0.999).map(|tick| (tick, label(tick))).collect())
}

/// The least of 1, 2, 5 times a power of ten that is not below `least`.
pub(super) fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least).unwrap_or(10.0);
    factor * power
}

/// A tick's number without needless digits, and with all that it needs.
pub(super) fn label(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude > 0.0 && magnitude < 1e-5 {
        return format!("{value:e}");
    }
    let places = if magnitude < 1.0 { 7 } else { 3 };
    let text = format!("{magnitude:.places$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, part) = text.split_once('.').map_or((text, None), |(whole, part)| (whole, Some(part)));
    let sign = if value < 0.0 { "-" } else { "" };
    let whole = grouped(whole);
    part.map_or(format!("{sign}{whole}"), |part| format!("{sign}{whole}.{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(0.3), 0.5);
        assert_eq!(round_step(1.0), 1.0);
        assert_eq!(round_step(11.0), 20.0);
        assert_eq!(round_step(60.0), 100.0);
    }

    #[test]
    fn labels_are_short_and_whole() {
        for (value, expected) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (0.00025, "0.00025"),
            (20.0, "20"),
            (1500.0, "1 500"),
            (1_000_000.0, "1 000 000"),
            (-2500.5, "-2 500.5"),
            (2e-7, "2e-7"),
        ] {
            assert_eq!(label(value), expected);
        }
    }

    #[test]
    fn large_axes_count_in_millions() {
        assert_eq!(Multiple::of(103_418_902.0).name("cycles"), "millions of cycles");
        assert_eq!(Multiple::of(2e9).size, 1e9);
        assert_eq!((Multiple::of(999_999.0).name("bytes").as_str(), Multiple::of(5.0).size), ("bytes", 1.0));
    }

    #[test]
    fn axes_reach_over_what_is_drawn() {
        assert_eq!(even(1.1).0, (0.0, 1.5));
        assert_eq!(decades(10.0, 1100.0).0, (10.0, 10_000.0));
        assert_eq!(decades(10.0, 10.0).0, (10.0, 100.0));
        assert_eq!(level((4.0, 32.0)), [4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0]);
        assert_eq!(level((0.0, 2.0)), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(level((3.0, 3.0)), [3.0]);
        assert!(level((0.0, 8_000_000.0)).len() < 6, "long labels are fewer");
        assert_eq!(drawn(10.0, (-3.0, f64::INFINITY)), (0.0, 40.0));
    }

    #[test]
    fn ratios_have_a_tick_at_one() {
        for (low, high) in [(0.99, 1.02), (0.4, 1.1), (0.45, 1.3), (1.0, 13.0), (0.01, 2000.0), (1.2, 1.4), (0.8, 2.3)]
        {
            let ((first, last), ticks) = ratios(low, high);
            assert!(first <= low && first > 0.0 && last >= high, "{low} to {high}: {first} to {last}");
            assert!(ticks.iter().any(|(tick, label)| (tick - 1.0).abs() < 1e-9 && label == "1"), "{ticks:?}");
            assert!((2..=8).contains(&ticks.len()), "{ticks:?}");
            assert!(ticks.iter().all(|(tick, _)| (first * 0.999..=last * 1.001).contains(tick)), "{ticks:?}");
        }
        assert_eq!(
            ratios(0.3, 5.0).1.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>(),
            ["1/4", "1/2", "1", "2", "4", "8"]
        );
    }
}
