//! The answers at scale factor 1 that the specification publishes with its validation parameters, printed with few
//! digits behind the point. They say that generator, queries and engine together do what TPC-H means.

use super::answers::QueryAnswer;
use tpchgen::q_and_a::answers_sf1;

/// How far query 17 may be off: 348406.02 is published where exact sums give 348406.05.
const QUERY_17_TOLERANCE: f64 = 2e-7;

/// Checks `actual`, the result of query `number` at scale factor 1, against the published answer: numbers must round to
/// the printed digits, text must be equal but for blanks at the end.
pub fn check(number: usize, actual: &QueryAnswer) -> Result<(), String> {
    let text =
        answers_sf1::answer(number as i32).ok_or_else(|| format!("no answer is published for query {number}"))?;
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.split('|').collect::<Vec<_>>());
    let header = lines.next().unwrap_or_default();
    let rows: Vec<_> = lines.collect();
    if rows.len() != actual.rows().len() {
        return Err(format!("expected {} rows, found {}", rows.len(), actual.rows().len()));
    }
    for (row, (expected, found)) in rows.iter().zip(actual.rows()).enumerate() {
        for (column, (expected, found)) in expected.iter().zip(found).enumerate() {
            let found = found.as_deref().unwrap_or("NULL");
            let right = match (number, column) {
                // The keys are printed in a column of 6, of which the crate's copy keeps 4.
                (11, 0) => format!("{found:>6}").get(..4) == expected.get(..4),
                (17, _) => within(QUERY_17_TOLERANCE, expected.trim(), found),
                _ => agrees(expected.trim(), found.trim()),
            };
            if !right {
                let name = header.get(column).map_or("", |name| name.trim());
                let (row, expected) = (row + 1, expected.trim());
                return Err(format!("row {row}, column {name}: expected '{expected}', found '{found}'"));
            }
        }
    }
    Ok(())
}

/// Whether `found` is `expected`, or a number that rounds to it. Half a unit of the last printed digit, and a little for
/// the arithmetic of this comparison.
fn agrees(expected: &str, found: &str) -> bool {
    if expected == found {
        return true;
    }
    let (Ok(a), Ok(b)) = (expected.parse::<f64>(), found.parse::<f64>()) else {
        return false;
    };
    let digits = expected.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    (a - b).abs() <= 0.500_001 * 10f64.powi(-(digits as i32))
}

/// Whether two numbers differ by at most `tolerance` of the expected one.
fn within(tolerance: f64, expected: &str, found: &str) -> bool {
    match (expected.parse::<f64>(), found.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= tolerance * a.abs(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_to_the_printed_digits() {
        assert!(agrees("25.52", "25.522006"));
        assert!(agrees("0.03", "0.0344"));
        assert!(!agrees("0.03", "0.0361"));
        assert!(agrees("1478493", "1478493"));
        assert!(!agrees("1478493", "1478494"));
        assert!(!agrees("FRANCE", "GERMANY"));
        assert!(within(QUERY_17_TOLERANCE, "348406.02", "348406.054286"));
        assert!(!within(QUERY_17_TOLERANCE, "348406.02", "348407"));
    }
}
