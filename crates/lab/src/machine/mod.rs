//! Facts of the machine and the build that stand beside every measurement.
//!
//! | file | what |
//! |---|---|
//! | `clock` | the time stamp counter, and how fast it ticks |
//! | `bandwidth` | how fast memory can be read here |
//! | `counters` | instructions and cache misses, where the processor lets us count them |
//! | `callgrind` | the same from valgrind's simulated processor |
//! | `pages` | what part of memory has huge pages; what memory there is |

mod bandwidth;
pub mod callgrind;
mod clock;
mod counters;
mod pages;

pub use bandwidth::{Bandwidth, read_bandwidth};
pub use clock::Clock;
pub use counters::{Counters, Counts, PROCESS_EVENTS, ProcessCounters};
pub use pages::{available_memory, huge_page_share};

use gingham::storage::Caches;
use gingham_kernels::Isa;

/// Where a measurement was made.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Model name of the processor, as the system gives it.
    pub processor: String,
    /// Threads that the process may use.
    pub threads: usize,
    /// Bytes of memory; 0 where it is not known.
    pub memory: u64,
    /// Operating system, its release and the architecture.
    pub system: String,
    /// The cargo profile of this build: `release`, `dist`, `debug`.
    pub profile: &'static str,
    /// Version of Gingham.
    pub version: &'static str,
    /// The best instruction set that kernels have here.
    pub isa: Isa,
    /// Sizes of the data caches of one core.
    pub caches: Caches,
    /// Processes ready to run, averaged over the last minute, when this was asked; `None` where it is not known. What
    /// runs beside a measurement disturbs it.
    pub load: Option<f64>,
}

impl Machine {
    /// The machine that this process runs on.
    pub fn here() -> Self {
        let processor = value_of(&read("/proc/cpuinfo"), "model name").unwrap_or("unknown processor").to_string();
        let memory = kibibytes(&read("/proc/meminfo"), "MemTotal").unwrap_or(0);
        let release = read("/proc/sys/kernel/osrelease");
        Self {
            processor,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory,
            system: format!("{} {} {}", std::env::consts::OS, release.trim(), std::env::consts::ARCH),
            profile: env!("GINGHAM_PROFILE"),
            version: env!("CARGO_PKG_VERSION"),
            isa: Isa::best(),
            caches: Caches::here(),
            load: read("/proc/loadavg").split(' ').next().and_then(|text| text.parse().ok()),
        }
    }
}

/// A file of the system; empty where there is none.
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The value on the first line `key : value`.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// The bytes on the first line `key: number kB`.
fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let value = value_of(text, key)?;
    value.trim_end_matches(" kB").trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_line_of_a_key() {
        let text = "processor\t: 0\nmodel name\t: Some CPU: 3 GHz\nMemTotal:       2048 kB\n";
        assert_eq!(value_of(text, "model name"), Some("Some CPU: 3 GHz"));
        assert_eq!(value_of(text, "model"), None);
        assert_eq!(kibibytes(text, "MemTotal"), Some(2 << 20));
        assert!(["debug", "release", "dist"].contains(&Machine::here().profile));
    }
}
