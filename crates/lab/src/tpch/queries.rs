//! The 22 query texts, from benchmarks/definitions/tpch, and what their ORDER BY says about the order of rows.

/// CREATE TABLE statements without keys: what the demo and the benchmark load into.
pub const SCHEMA: &str = include_str!("../../../../benchmarks/definitions/tpch/schema.sql");

/// CREATE TABLE statements with primary keys and references.
pub const SCHEMA_WITH_KEYS: &str = include_str!("../../../../benchmarks/definitions/tpch/schema-keys.sql");

/// Numbers of the queries.
pub const NUMBERS: std::ops::RangeInclusive<usize> = 1..=22;

/// Query 11's fraction as it stands in its file, right at scale factor 1.
const FRACTION: &str = "0.0001000000";

macro_rules! texts {
    ($($number:literal)*) => {
        [$(include_str!(concat!("../../../../benchmarks/definitions/tpch/q", $number, ".sql"))),*]
    };
}

const TEXTS: [&str; 22] = texts!("01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15" "16" "17"
    "18" "19" "20" "21" "22");

/// The text of query `number` (1 to 22) for data of `scale`. Query 11's fraction is 0.0001 / scale, as the
/// specification wants.
///
/// # Panics
/// When there is no such query.
pub fn text(number: usize, scale: f64) -> String {
    let text = TEXTS[number - 1];
    if number == 11 { text.replace(FRACTION, &format!("{:.10}", 0.0001 / scale)) } else { text.to_string() }
}

/// What query `number` asks for, in a few words.
///
/// # Panics
/// When there is no such query.
pub fn title(number: usize) -> &'static str {
    // The first line is "-- TPC-H Q1, validation parameters. Title: …".
    let line = TEXTS[number - 1].lines().next().unwrap_or_default();
    let title = line.split_once(". ").map_or(line, |(_, title)| title);
    title.split(':').next().unwrap_or(title)
}

/// The columns that query `number` sorts by, in the order of its ORDER BY, when rows may be equal in all of them (then
/// two right answers may differ in the order of such rows); None when the ORDER BY leaves no choice.
pub fn tied_by(number: usize) -> Option<&'static [usize]> {
    match number {
        3 => Some(&[1, 2]),
        5 => Some(&[1]),
        10 => Some(&[2]),
        11 => Some(&[1]),
        18 => Some(&[4, 3]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_come_from_the_first_lines() {
        assert_eq!(title(1), "Pricing summary report");
        for number in NUMBERS {
            assert!((8..50).contains(&title(number).len()) && !title(number).contains("--"), "{}", title(number));
        }
    }

    #[test]
    fn query_11_follows_the_scale() {
        assert!(TEXTS[10].lines().filter(|line| !line.starts_with("--")).any(|line| line.contains(FRACTION)));
        assert!(text(11, 1.0).contains("* 0.0001000000\n"));
        assert!(text(11, 0.01).contains("* 0.0100000000\n"));
    }
}
