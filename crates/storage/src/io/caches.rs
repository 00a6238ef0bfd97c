//! Sizes of the processor's caches: what a planner of stages and an experiment go by.

use std::sync::OnceLock;

/// Bytes of the data caches that one core reads through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caches {
    /// The first level.
    pub l1: usize,
    /// The second.
    pub l2: usize,
    /// The last, whichever level it is, shared or not.
    pub last: usize,
    /// False where the system does not tell, and these are guesses.
    pub known: bool,
}

impl Caches {
    /// Common sizes, for systems that do not tell theirs.
    const GUESS: Self = Self { known: false, ..Self::REFERENCE };

    /// Sizes that are the same on every machine, for plans that are to be compared.
    pub const REFERENCE: Self = Self { l1: 32 << 10, l2: 1 << 20, last: 32 << 20, known: true };

    /// Those of the first core, as Linux tells them. Asked once.
    pub fn here() -> Self {
        static HERE: OnceLock<Caches> = OnceLock::new();
        *HERE.get_or_init(Self::ask)
    }

    fn ask() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let mut levels = Vec::new();
        for index in 0.. {
            let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
            let kind = read(&format!("{folder}/type"));
            if kind.is_empty() {
                break;
            }
            let level = read(&format!("{folder}/level")).trim().parse::<u32>();
            if let (false, Ok(level), Some(bytes)) =
                (kind.trim() == "Instruction", level, size(&read(&format!("{folder}/size"))))
            {
                levels.push((level, bytes));
            }
        }
        let of_level = |wanted| levels.iter().find(|(level, _)| *level == wanted).map(|(_, bytes)| *bytes);
        match (of_level(1), levels.iter().max()) {
            (Some(l1), Some((_, last))) => Self { l1, l2: of_level(2).unwrap_or(*last), last: *last, known: true },
            _ => Self::GUESS,
        }
    }
}

/// `32K` or `8M` in bytes.
fn size(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, unit) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    digits.parse::<usize>().ok().map(|number| number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("48K\n"), Some(48 << 10));
        assert_eq!(size("32M"), Some(32 << 20));
        assert_eq!(size("many"), None);
        let caches = Caches::here();
        assert!(caches.l1 > 0 && caches.l1 <= caches.l2 && caches.l2 <= caches.last, "{caches:?}");
    }
}
