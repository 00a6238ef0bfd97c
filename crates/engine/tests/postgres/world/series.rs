//! Tables of two zones, whose records both sides make of numbers from 1 on.

use crate::generate::Features;
use crate::generator::Generator;
use crate::tree::Type;
use crate::world::Columns;

/// A zone has 65536 records; these are two.
const ROWS: i64 = 70_000;

/// The records of a large table.
#[derive(Debug, Clone)]
pub struct Series {
    pub rows: i64,
    /// The column that tells all records apart.
    pub id: usize,
    /// The value of each column in record `i`.
    values: Vec<String>,
    pub is_reversed: bool,
}

impl Series {
    pub fn random(random: &mut Generator, features: &Features, columns: &Columns, id: usize) -> Self {
        let mut values: Vec<String> = Vec::new();
        for (column, (_, kind)) in columns.iter().enumerate() {
            // 7919 and 70001 are primes.
            let value = match column == id {
                true => (*random.pick(&["i", "i", "(i * 7919) % 70001"])).to_owned(),
                false => {
                    let value = value(random, features, *kind);
                    nullable(random, value)
                }
            };
            values.push(format!("CAST({value} AS {})", kind.sql()));
        }
        Self { rows: ROWS, id, values, is_reversed: false }
    }

    /// The first of these records.
    pub fn with_rows(&self, rows: i64) -> Self {
        Self { rows, ..self.clone() }
    }

    /// The statement that inserts the records, of so many columns.
    pub fn insert(&self, path: &str, columns: usize) -> String {
        let order = if self.is_reversed { " ORDER BY g.i DESC" } else { "" };
        format!(
            "INSERT INTO {path} SELECT {} FROM generate_series(1, {}) AS g (i){order}",
            self.values[..columns].join(", "),
            self.rows
        )
    }
}

fn nullable(random: &mut Generator, value: String) -> String {
    match random.between(0, 5) {
        0 => format!("CASE WHEN i % 4 <> 1 THEN {value} END"),
        // All of them in the first zone, or all but a few.
        1 => format!("CASE WHEN i > 65000 THEN {value} END"),
        2 => format!("CASE WHEN i % 20000 <> 7 THEN {value} END"),
        _ => value,
    }
}

/// The value of record `i`.
fn value(random: &mut Generator, features: &Features, kind: Type) -> String {
    let pick = |random: &mut Generator, texts: &[&str]| (*random.pick(texts)).to_owned();
    match kind {
        Type::Integer | Type::Big if features.has("gaps") && random.chance(40) => pick(
            random,
            &[
                "CASE WHEN i <= 65536 THEN (i % 5) * 1000 ELSE 7 + i % 3 END",
                "CASE WHEN i % 11 = 0 THEN 1000000 + i ELSE i % 3 END",
                "CASE WHEN i % 5000 = 0 THEN 1000000 ELSE 2 END",
            ],
        ),
        Type::Integer | Type::Big => pick(random, &["i", "i % 5", "(i * 7919) % 1000", "i / 1000", "i % 97"]),
        Type::Double => {
            let base = pick(random, &["i % 9", "i % 1000", "i / 700"]);
            let value = format!("CAST({base} AS DOUBLE PRECISION) / 4");
            match features.has("special floats") && random.chance(40) {
                true => {
                    let special = pick(random, &["NaN", "Infinity", "-0"]);
                    format!("CASE WHEN i % 9000 = 3 THEN CAST('{special}' AS DOUBLE PRECISION) ELSE {value} END")
                }
                false => value,
            }
        }
        Type::Text => pick(
            random,
            &[
                "'x' || CAST(i % 50 AS VARCHAR)",
                "substr('xyY1', CAST(i % 4 + 1 AS INTEGER), 1)",
                "CAST(i AS VARCHAR)",
                "CASE i % 4 WHEN 0 THEN '' WHEN 1 THEN 'x' WHEN 2 THEN 'é' ELSE 'xy' END",
            ],
        ),
        Type::Boolean => pick(random, &["i % 3 = 0", "i > 65536", "i % 2 = 1"]),
        Type::Date => {
            format!("DATE '2024-01-01' + CAST({} AS INTEGER)", pick(random, &["i % 40", "i / 2000", "i % 3"]))
        }
        Type::Decimal => format!("{} * 0.25", pick(random, &["(i % 41)", "(i % 3 - 1)", "(i / 900)"])),
        Type::Char => pick(random, &["substr('xyY1', CAST(i % 4 + 1 AS INTEGER), 1)", "CAST(i % 1000 AS VARCHAR)"]),
        Type::Bytes => {
            "CASE i % 3 WHEN 0 THEN CAST('\\x78' AS BYTEA) WHEN 1 THEN CAST('\\x' AS BYTEA) ELSE CAST('\\x00ff' \
                        AS BYTEA) END"
                .to_owned()
        }
        Type::Wide => pick(
            random,
            &["CAST(i % 50 AS DECIMAL(38,6)) * 1234567890123456789", "i % 7", "12345678901234567890123.25 + i"],
        ),
        Type::Timestamp => "TIMESTAMP '2024-01-01 00:00:00' + (i % 60) * INTERVAL '1 hour'".to_owned(),
        Type::Interval => "(i % 3) * INTERVAL '1 day'".to_owned(),
    }
}
