//! Memory of this process: what part lies in huge pages, and how much more there is.

use super::{kibibytes, read};

/// The part of this process's anonymous memory that the system backs by huge pages, from 0 to 1; `None` where it does
/// not tell. Asking for huge pages is no proof of having them.
pub fn huge_page_share() -> Option<f64> {
    let facts = read("/proc/self/smaps_rollup");
    let anonymous = kibibytes(&facts, "Anonymous")?;
    let huge = kibibytes(&facts, "AnonHugePages")?;
    (anonymous > 0).then(|| huge as f64 / anonymous as f64)
}

/// Bytes that can be allocated without swapping; `None` where the system does not tell.
pub fn available_memory() -> Option<u64> {
    kibibytes(&read("/proc/meminfo"), "MemAvailable")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn linux_tells() {
        assert!(huge_page_share().is_some_and(|share| (0.0..=1.0).contains(&share)));
        assert!(available_memory().is_some_and(|bytes| bytes > 0));
    }
}
