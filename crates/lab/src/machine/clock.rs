//! The clock of the lab. Papers count cycles; so do we, by the time stamp counter, whose cycles are those of a nominal
//! clock and not of the core. Where there is no such counter, nanoseconds are counted.

use crate::statistics::median;
use gingham_kernels::ticks;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How time is counted here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// Ticks of the time stamp counter per nanosecond, measured; `None` where there is none and nanoseconds are counted.
    pub ticks_per_nanosecond: Option<f64>,
}

/// Times that the counter is held against the system's clock, and for how long: the error is then below a part in ten
/// thousand. The middle one counts, since a program that is interrupted between two readings of clocks sees nonsense.
const CALIBRATIONS: (usize, Duration) = (3, Duration::from_millis(20));

impl Clock {
    /// The clock, calibrated once per process.
    pub fn here() -> Self {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| {
            let rates: Vec<f64> = (0..CALIBRATIONS.0).filter_map(|_| calibrate(CALIBRATIONS.1)).collect();
            Self { ticks_per_nanosecond: (!rates.is_empty()).then(|| median(&rates)) }
        })
    }

    /// What is counted.
    pub fn unit(self) -> &'static str {
        if self.ticks_per_nanosecond.is_some() { "TSC cycles" } else { "ns" }
    }

    /// Now, in [`Clock::unit`]s since some moment in the past.
    #[inline(always)]
    pub fn now(self) -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        ticks().unwrap_or_else(|| START.get_or_init(Instant::now).elapsed().as_nanos() as u64)
    }

    /// Units in a second.
    pub fn per_second(self) -> f64 {
        self.ticks_per_nanosecond.unwrap_or(1.0) * 1e9
    }
}

/// Ticks per nanosecond, counted for `time`.
fn calibrate(time: Duration) -> Option<f64> {
    let (start, first) = (Instant::now(), ticks()?);
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
    let counted = ticks()? - first;
    Some(counted as f64 / start.elapsed().as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_seconds_agree() {
        let clock = Clock::here();
        // Each reading of the clock stands between two of the system's, so that no interruption can part them.
        let read = || (Instant::now(), clock.now(), Instant::now());
        let (before, first, after) = read();
        std::thread::sleep(Duration::from_millis(30));
        let (then_before, then, then_after) = read();
        let counted = (then - first) as f64 / clock.per_second();
        let (least, most) = ((then_before - after).as_secs_f64(), (then_after - before).as_secs_f64());
        assert!((0.98 * least..=1.02 * most).contains(&counted), "{counted} s, between {least} and {most}");
    }
}
