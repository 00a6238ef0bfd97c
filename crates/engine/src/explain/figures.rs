//! Figures of EXPLAIN as texts.

use std::time::Duration;

/// Digits in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in the unit that suits it.
pub(super) fn time(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    match milliseconds {
        999.5.. => format!("{:.2} s", milliseconds / 1e3),
        9.95.. => format!("{milliseconds:.0} ms"),
        0.0995.. => format!("{milliseconds:.1} ms"),
        _ => format!("{:.0} µs", milliseconds * 1e3),
    }
}

/// Bytes in the decimal unit that suits them.
pub(super) fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB"] {
        // 999.5 would be written as 1000.
        if value < 999.5 {
            return if unit == "B" || value >= 99.95 {
                format!("{value:.0} {unit}")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1000.0;
    }
    format!("{value:.1} GB")
}

/// The share of a time in another, in percent.
pub(super) fn share(part: Duration, all: Duration) -> f64 {
    100.0 * part.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_units() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let micros = [7, 99, 100, 9_940, 9_960, 999_400, 999_600, 61_000_000];
        let shown = micros.map(|micros| time(Duration::from_micros(micros)));
        assert_eq!(shown, ["7 µs", "99 µs", "0.1 ms", "9.9 ms", "10 ms", "999 ms", "1.00 s", "61.00 s"]);
        let sizes = [17, 999, 1500, 999_960, 234_000_000, 5_000_000_000_000].map(bytes);
        assert_eq!(sizes, ["17 B", "999 B", "1.5 kB", "1.0 MB", "234 MB", "5000.0 GB"]);
    }
}
