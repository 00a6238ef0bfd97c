//! What a database answered, and when two answers are the same.

use std::fmt::{self, Display, Formatter};

/// A cell as text; `None` for NULL.
pub type Cell = Option<String>;

/// What a statement gave: its rows, and for one that changes a table all rows of that table afterwards.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub rows: Vec<Vec<Cell>>,
    pub after: Option<Vec<Vec<Cell>>>,
}

/// How the cells of a column are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Numbers, of which doubles may differ in the last digits, and decimals in zeros at their end.
    Number,
    /// Decimals, which are the same when the one with more digits behind the point is the other but for its last digit.
    Decimal,
    /// Numbers of which quotients of decimals are a part: PostgreSQL chooses their digits value by value, ours end at the sixteenth
    /// behind the point.
    Quotient,
    /// Intervals, of which equal ones look different and a group shows any.
    Interval,
    /// Texts, letter for letter.
    Text,
}

/// An answer with what its columns are.
#[derive(Debug, Clone, Default)]
pub struct Typed {
    pub answer: Answer,
    pub kinds: Vec<Kind>,
    pub kinds_after: Vec<Kind>,
}

/// What came of a statement.
#[derive(Debug, Clone)]
pub enum Outcome<A> {
    Answer(A),
    /// The error's code, and what it says.
    Error(String, String),
}

impl Typed {
    /// True when this is what PostgreSQL answered. Rows are compared one by one when the statement orders all of them.
    pub fn agrees(&self, expected: &Answer, ordered: bool) -> bool {
        let after = match (&self.answer.after, &expected.after) {
            (Some(own), Some(other)) => same_bag(own, other, &self.kinds_after),
            (None, None) => true,
            _ => false,
        };
        after
            && if ordered {
                same_list(&self.answer.rows, &expected.rows, &self.kinds)
            } else {
                same_bag(&self.answer.rows, &expected.rows, &self.kinds)
            }
    }
}

fn same_list(own: &[Vec<Cell>], other: &[Vec<Cell>], kinds: &[Kind]) -> bool {
    own.len() == other.len() && own.iter().zip(other).all(|(own, other)| same_row(own, other, kinds))
}

fn same_bag(own: &[Vec<Cell>], other: &[Vec<Cell>], kinds: &[Kind]) -> bool {
    let mut left: Vec<&Vec<Cell>> = other.iter().collect();
    own.len() == other.len()
        && own.iter().all(|row| {
            let found = left.iter().position(|other| same_row(row, other, kinds));
            found.map(|found| left.swap_remove(found)).is_some()
        })
}

fn same_row(own: &[Cell], other: &[Cell], kinds: &[Kind]) -> bool {
    let same = |(number, (own, other)): (usize, (&Cell, &Cell))| match (own, other) {
        (Some(own), Some(other)) => {
            own == other
                || match kinds.get(number) {
                    Some(Kind::Number) => close(own, other),
                    Some(Kind::Decimal) => nearly(own, other),
                    Some(Kind::Quotient) => nearly(own, other) || close(own, other) || beside(own, other),
                    Some(Kind::Interval) => interval(own).is_some() && interval(own) == interval(other),
                    _ => false,
                }
        }
        (own, other) => own == other,
    };
    own.len() == other.len() && own.iter().zip(other).enumerate().all(same)
}

/// True for two texts of whole numbers that are the same, or of others that are the same to twelve digits.
fn close(own: &str, other: &str) -> bool {
    if let (Ok(own), Ok(other)) = (own.parse::<i128>(), other.parse::<i128>()) {
        return own == other;
    }
    let (Ok(own), Ok(other)) = (own.parse::<f64>(), other.parse::<f64>()) else { return false };
    let (distance, largest) = ((own - other).abs(), own.abs().max(other.abs()));
    own == other || own.is_nan() && other.is_nan() || largest.is_finite() && distance <= 1e-12 * largest
}

/// True for numbers that differ behind the twelfth digit behind the point alone.
fn beside(own: &str, other: &str) -> bool {
    let (Ok(own), Ok(other)) = (own.parse::<f64>(), other.parse::<f64>()) else { return false };
    (own - other).abs() <= 1e-12
}

/// True for decimals that are the same once the one with more digits behind the point is rounded to those of the other,
/// which has six at least or all of them.
fn nearly(own: &str, other: &str) -> bool {
    let digits = |number: &str| number.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let (short, long) = if digits(own) < digits(other) { (own, other) } else { (other, own) };
    let unscaled = |number: &str| number.replace('.', "").parse::<i128>().ok();
    let unit = 10i128.checked_pow((digits(long) - digits(short)) as u32);
    let (Some(short_units), Some(long_units), Some(unit)) = (unscaled(short), unscaled(long), unit) else {
        return close(own, other);
    };
    let (cut, rest) = (long_units / unit, long_units % unit);
    let up = if rest != 0 && rest.abs() >= unit - rest.abs() { long_units.signum() } else { 0 };
    short_units == cut + up && (digits(short) >= 6 || rest == 0)
}

/// The microseconds of an interval as PostgreSQL writes it, with 30 days a month.
fn interval(text: &str) -> Option<i128> {
    let mut total = 0;
    let mut words = text.split(' ');
    while let Some(word) = words.next() {
        if word.contains(':') {
            total += clock(word)?;
            continue;
        }
        let number: i128 = word.parse().ok()?;
        let days = match words.next()?.trim_end_matches('s') {
            "year" => 360,
            "mon" => 30,
            "day" => 1,
            _ => return None,
        };
        total += number * days * 86_400_000_000;
    }
    Some(total)
}

/// The microseconds of `-01:02:03.5`.
fn clock(word: &str) -> Option<i128> {
    let (sign, digits) = word.strip_prefix('-').map_or((1, word.trim_start_matches('+')), |digits| (-1, digits));
    let parts: Vec<&str> = digits.split([':', '.']).collect();
    let [hours, minutes, seconds, ..] = parts[..] else { return None };
    let fraction = format!("{:0<6}", parts.get(3).copied().unwrap_or_default());
    let whole = |text: &str| text.parse::<i128>().ok();
    let seconds = (whole(hours)? * 60 + whole(minutes)?) * 60 + whole(seconds)?;
    Some(sign * (seconds * 1_000_000 + whole(&fraction)?))
}

/// The query for all that a statement has changed: its table, or a query that shows what there is of a large one.
pub fn shown(changes: &str) -> String {
    if changes.starts_with("SELECT ") { changes.to_owned() } else { format!("SELECT * FROM {changes}") }
}

/// A row as the stored files write it.
pub fn written(row: &[Cell]) -> String {
    let cell = |cell: &Cell| match cell {
        None => "NULL".to_owned(),
        Some(text) if text.is_empty() => "(empty)".to_owned(),
        Some(text) => text.clone(),
    };
    row.iter().map(cell).collect::<Vec<_>>().join(" | ")
}

/// The row that was written so.
pub fn read(line: &str) -> Vec<Cell> {
    let cell = |text: &str| match text {
        "NULL" => None,
        "(empty)" => Some(String::new()),
        text => Some(text.to_owned()),
    };
    line.split(" | ").map(cell).collect()
}

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            writeln!(f, "  {}", written(row))?;
        }
        if let Some(after) = &self.after {
            writeln!(f, "  ---- the table afterwards")?;
            for row in after {
                writeln!(f, "  {}", written(row))?;
            }
        }
        Ok(())
    }
}

#[test]
fn answers_are_compared_as_values() {
    let row = |cells: &[&str]| cells.iter().flat_map(|line| read(line)).collect::<Vec<_>>();
    let typed = |rows: &[Vec<Cell>]| Typed {
        answer: Answer { rows: rows.to_vec(), after: None },
        kinds: vec![Kind::Number, Kind::Text],
        kinds_after: Vec::new(),
    };
    let expected = Answer { rows: vec![row(&["1.50", "x"]), row(&["NULL", "(empty)"])], after: None };
    assert!(typed(&[row(&["1.5", "x"]), row(&["NULL", "(empty)"])]).agrees(&expected, true));
    assert!(typed(&[row(&["NULL", "(empty)"]), row(&["1.5000000000000002", "x"])]).agrees(&expected, false));
    for rows in [
        vec![row(&["NULL", "(empty)"]), row(&["1.5", "x"])],
        vec![row(&["1.5", "x"]), row(&["NULL", "NULL"])],
        vec![row(&["1.5", "x"])],
        vec![row(&["1.500001", "x"]), row(&["NULL", "(empty)"])],
    ] {
        assert!(!typed(&rows).agrees(&expected, true), "{rows:?}");
    }
    assert_eq!(interval("1 mon -1 days +02:03:04.5"), interval("29 days 02:03:04.5"));
    assert_ne!(interval("24:00:00"), interval("-24:00:00"));
    let twice = Answer { rows: vec![row(&["1"]), row(&["1"]), row(&["2"])], after: None };
    assert!(!typed(&[row(&["1"]), row(&["2"]), row(&["2"])]).agrees(&twice, false));
}
