//! The processor's time stamp counter: the cheapest clock there is, and the unit in which papers count cycles.
//!
//! On every processor of the last decade it runs at a constant rate, whatever the core's clock does; so its ticks are
//! cycles of a nominal clock and not of the core's. Whoever reports them says so.

/// Ticks since some moment in the past; `None` where the processor has no counter that plain programs may read.
#[inline(always)]
pub fn ticks() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has RDTSC; it reads a counter and touches no memory.
        Some(unsafe { std::arch::x86_64::_rdtsc() })
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_go_forward() {
        let Some(first) = ticks() else { return };
        std::thread::sleep(std::time::Duration::from_millis(2));
        // Two milliseconds of the slowest clock that such a counter has had.
        assert!(ticks().is_some_and(|then| then - first > 1_000_000));
    }
}
