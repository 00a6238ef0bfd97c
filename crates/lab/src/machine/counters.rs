//! The processor's counters of instructions and cache misses, through Linux's perf events. Virtual machines and strict
//! kernels refuse them: then there are none, never zeros.

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Instructions that this thread retired in user mode.
    pub instructions: u64,
    /// Its misses of the last cache.
    pub cache_misses: u64,
}

#[cfg(target_os = "linux")]
mod perf {
    use super::Counts;
    use perf_event::events::Hardware;
    use perf_event::{Builder, Counter, Group};

    /// Counters of the calling thread.
    pub struct Counters {
        group: Group,
        instructions: Counter,
        misses: Counter,
    }

    impl Counters {
        /// The counters, where the system grants them.
        pub fn open() -> Option<Self> {
            let mut group = Group::new().ok()?;
            let instructions = Builder::new().group(&mut group).kind(Hardware::INSTRUCTIONS).build().ok()?;
            let misses = Builder::new().group(&mut group).kind(Hardware::CACHE_MISSES).build().ok()?;
            let mut counters = Self { group, instructions, misses };
            // Some hypervisors grant counters that never count.
            let counts = counters.around(|| std::hint::black_box((0..1000_u32).sum::<u32>()));
            counts.filter(|counts| counts.instructions > 0).map(|_| counters)
        }

        /// What was counted while `work` ran; `None` when the counters could not be read.
        pub fn around<T>(&mut self, work: impl FnOnce() -> T) -> Option<Counts> {
            self.group.reset().ok()?;
            self.group.enable().ok()?;
            work();
            self.group.disable().ok()?;
            let counts = self.group.read().ok()?;
            Some(Counts { instructions: counts[&self.instructions], cache_misses: counts[&self.misses] })
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod perf {
    use super::Counts;

    /// Counters of the calling thread: none on this system.
    pub struct Counters {}

    impl Counters {
        /// None here.
        pub fn open() -> Option<Self> {
            None
        }

        /// Nothing is counted here.
        pub fn around<T>(&mut self, work: impl FnOnce() -> T) -> Option<Counts> {
            work();
            None
        }
    }
}

pub use perf::Counters;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_work_is_more_instructions() {
        // Nothing to test where the machine grants no counters.
        let Some(mut counters) = Counters::open() else { return };
        let mut work = |n: u64| {
            let counts = counters.around(|| (0..n).fold(1_u64, |a, b| std::hint::black_box(a.wrapping_mul(b | 1))));
            counts.map_or(0, |counts| counts.instructions)
        };
        let (little, much) = (work(1000), work(100_000));
        assert!(little > 0 && much > 10 * little, "{little} and {much}");
    }
}
