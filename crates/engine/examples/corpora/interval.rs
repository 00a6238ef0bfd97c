//! Intervals as Arrow and PostgreSQL write them, in seconds, so that `24 mons` and `2 years` are the same.

const DAY: f64 = 86_400.0;
/// As PostgreSQL compares intervals.
const MONTH: f64 = 30.0 * DAY;

/// `1 year 2 mons -3 days 04:05:06.7`, `3 hours 4 mins 5.5 secs`, or `-PT2526646S`.
pub fn seconds(text: &str) -> Option<f64> {
    if let Some(rest) = text.strip_prefix('-').and_then(|rest| rest.strip_prefix('P')) {
        return duration(rest).map(|seconds| -seconds);
    }
    if let Some(rest) = text.strip_prefix('P') {
        return duration(rest);
    }
    let mut total = 0.0;
    let mut words = text.split_whitespace();
    let mut any = false;
    while let Some(word) = words.next() {
        any = true;
        total += match word.contains(':') {
            true => clock(word)?,
            false => word.parse::<f64>().ok()? * unit(words.next()?)?,
        };
    }
    any.then_some(total)
}

/// What follows the P: `1DT2H3M4.5S`.
fn duration(text: &str) -> Option<f64> {
    let (mut total, mut digits, mut of_time) = (0.0, String::new(), false);
    for c in text.chars() {
        let unit = match c {
            'T' => {
                of_time = true;
                continue;
            }
            'D' => DAY,
            'H' => 3_600.0,
            'M' if of_time => 60.0,
            'S' => 1.0,
            _ => {
                digits.push(c);
                continue;
            }
        };
        total += std::mem::take(&mut digits).parse::<f64>().ok()? * unit;
    }
    digits.is_empty().then_some(total)
}

/// `-04:05:06.7`
fn clock(word: &str) -> Option<f64> {
    let (sign, word) = word.strip_prefix('-').map_or((1.0, word), |word| (-1.0, word));
    let parts: Option<Vec<f64>> = word.split(':').map(|part| part.parse().ok()).collect();
    parts.map(|parts| sign * parts.iter().fold(0.0, |total, part| total * 60.0 + part))
}

fn unit(word: &str) -> Option<f64> {
    Some(match word {
        "year" | "years" => 12.0 * MONTH,
        "mon" | "mons" => MONTH,
        "day" | "days" => DAY,
        "hour" | "hours" => 3_600.0,
        "min" | "mins" => 60.0,
        "sec" | "secs" => 1.0,
        _ => return None,
    })
}
