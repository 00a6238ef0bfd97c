//! Numbers and nouns as people read them: one piece for the command, its pages and the lab's verdicts.

/// What stands between thousands.
const GROUP: char = ' ';

/// A whole number with a space between its thousands.
pub fn thousands(number: u64) -> String {
    grouped(&number.to_string())
}

/// Digits with a space between their thousands.
pub(crate) fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(GROUP);
        }
        text.push(digit);
    }
    text
}

/// A number to four digits; whole ones from a thousand on, with a space between their thousands.
pub fn number(value: f64) -> String {
    match value.abs() {
        magnitude if !magnitude.is_finite() => format!("{value:.0}"),
        magnitude if magnitude >= 999.95 => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", grouped(&format!("{magnitude:.0}")))
        }
        magnitude if magnitude >= 99.995 => format!("{value:.1}"),
        magnitude if magnitude >= 9.9995 => format!("{value:.2}"),
        magnitude if magnitude >= 0.99995 || magnitude == 0.0 => format!("{value:.3}"),
        magnitude if magnitude >= 0.099995 => format!("{value:.4}"),
        magnitude if magnitude >= 0.000_999_95 => format!("{value:.5}"),
        _ => format!("{value:.2e}"),
    }
}

/// A text as it is, but a whole number of five digits or more with a space between its thousands.
pub fn readable(text: &str) -> String {
    let whole = text.len() >= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole { grouped(text) } else { text.to_owned() }
}

/// Bytes in the decimal unit that suits them, to three digits.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["kB", "MB", "GB"] {
        // 999.5 would be printed as 1000.
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1000.0, larger);
    }
    match value {
        value if value >= 999.5 => format!("{} {unit}", thousands(value.round() as u64)),
        value if unit == "B" || value >= 99.95 => format!("{value:.0} {unit}"),
        value => format!("{value:.1} {unit}"),
    }
}

/// A regular noun for so many: `row`, `rows`.
pub fn plural(count: u64, what: &str) -> String {
    format!("{what}{}", if count == 1 { "" } else { "s" })
}

/// So many of a regular noun: `1 row`, `2 rows`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {}", plural(count, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1000), "1 000");
        assert_eq!(thousands(12_345_678), "12 345 678");
        assert_eq!(number(103_418_902.4), "103 418 902");
        assert_eq!(number(-12_402_213.0), "-12 402 213");
        assert_eq!(number(999.96), "1 000");
        assert_eq!(number(-0.25), "-0.2500");
        assert_eq!(number(f64::INFINITY), "inf");
        assert_eq!(readable("4194304"), "4 194 304");
        for as_it_is in ["4096", "gcc -O3", "-12345", "2026-11-28", ""] {
            assert_eq!(readable(as_it_is), as_it_is);
        }
    }

    #[test]
    fn bytes_have_their_unit() {
        assert_eq!(bytes(17), "17 B");
        assert_eq!(bytes(1500), "1.5 kB");
        assert_eq!(bytes(999_960), "1.0 MB");
        assert_eq!(bytes(234_000_000), "234 MB");
        assert_eq!(bytes(5_000_000_000_000), "5 000 GB");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(0, "claim"), "0 claims");
        assert_eq!(counted(1, "claim"), "1 claim");
        assert_eq!(counted(20_000, "row"), "20000 rows");
    }
}
