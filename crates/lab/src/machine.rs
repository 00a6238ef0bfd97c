//! Facts of the machine and the build that stand beside every measurement.

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
}

impl Machine {
    /// The machine that this process runs on.
    pub fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let processor = value_of(&read("/proc/cpuinfo"), "model name").unwrap_or("unknown processor").to_string();
        let memory = value_of(&read("/proc/meminfo"), "MemTotal")
            .and_then(|text| text.trim_end_matches(" kB").trim().parse::<u64>().ok())
            .map_or(0, |kibibytes| kibibytes * 1024);
        let release = read("/proc/sys/kernel/osrelease");
        Self {
            processor,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory,
            system: format!("{} {} {}", std::env::consts::OS, release.trim(), std::env::consts::ARCH),
            profile: env!("GINGHAM_PROFILE"),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// The value on the first line `key : value`.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_line_of_a_key() {
        let text = "processor\t: 0\nmodel name\t: Some CPU: 3 GHz\n";
        assert_eq!(value_of(text, "model name"), Some("Some CPU: 3 GHz"));
        assert_eq!(value_of(text, "model"), None);
        assert!(["debug", "release", "dist"].contains(&Machine::here().profile));
    }
}
