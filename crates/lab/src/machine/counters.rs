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

/// The events that are counted of another process, by the name of their metric.
pub const PROCESS_EVENTS: [&str; 3] = ["instructions", "l1_misses", "tlb_misses"];

#[cfg(target_os = "linux")]
mod perf {
    use super::{Counts, PROCESS_EVENTS};
    use perf_event::events::{Cache, CacheOp, CacheResult, Event, Hardware, WhichCache};
    use perf_event::{Builder, Counter, Group};

    /// Counters of another process of this user.
    #[derive(Debug)]
    pub struct ProcessCounters {
        counters: Vec<(&'static str, Counter)>,
    }

    impl ProcessCounters {
        /// The counters of [`PROCESS_EVENTS`] that the system grants for a process; `None` without any.
        pub fn open(process: u32) -> Option<Self> {
            let misses = |which| Event::Cache(Cache { which, operation: CacheOp::READ, result: CacheResult::MISS });
            let events: [Event; 3] = [Hardware::INSTRUCTIONS.into(), misses(WhichCache::L1D), misses(WhichCache::DTLB)];
            let open = |(name, event): (&'static str, Event)| {
                let builder = Builder::new().observe_pid(process as i32).kind(event);
                Some((name, builder.build().ok()?))
            };
            let counters: Vec<_> = PROCESS_EVENTS.into_iter().zip(events).filter_map(open).collect();
            (!counters.is_empty()).then_some(Self { counters })
        }

        /// Events of the process while `work` ran; none of counters that could not be read or that never count.
        pub fn around<T>(&mut self, work: impl FnOnce() -> T) -> (T, Vec<(&'static str, u64)>) {
            let ready =
                self.counters.iter_mut().all(|(_, counter)| counter.reset().and_then(|()| counter.enable()).is_ok());
            let done = work();
            let read = |(name, counter): &mut (&'static str, Counter)| {
                counter.disable().ok()?;
                counter.read().ok().filter(|count| ready && *count > 0).map(|count| (*name, count))
            };
            let counted = self.counters.iter_mut().filter_map(read).collect();
            (done, counted)
        }
    }

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

    /// Counters of another process: none on this system.
    #[derive(Debug)]
    pub struct ProcessCounters {}

    impl ProcessCounters {
        /// None here.
        pub fn open(_process: u32) -> Option<Self> {
            None
        }

        /// Nothing is counted here.
        pub fn around<T>(&mut self, work: impl FnOnce() -> T) -> (T, Vec<(&'static str, u64)>) {
            (work(), Vec::new())
        }
    }

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

pub use perf::{Counters, ProcessCounters};

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
