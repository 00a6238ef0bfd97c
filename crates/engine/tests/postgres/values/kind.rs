//! Types, the columns that have them, and values at which types end or round.

use crate::generate::Features;
use crate::generator::Generator;
use crate::world::{Storage, Way};

/// A type of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Small,
    Integer,
    Big,
    Real,
    Double,
    /// DECIMAL(4,1), DECIMAL(10,2), DECIMAL(18,6) and DECIMAL(30,10).
    Short,
    Money,
    Fine,
    Long,
    /// DECIMAL(38,0).
    Wide,
    Boolean,
    Text,
    /// CHAR(4).
    Char,
    Bytes,
    Date,
    Time,
    Timestamp,
    Instant,
    /// No column has it.
    Interval,
}

impl Kind {
    /// The types of columns, in the table's order.
    pub const STORED: [Self; 18] = [
        Self::Small,
        Self::Integer,
        Self::Big,
        Self::Real,
        Self::Double,
        Self::Short,
        Self::Money,
        Self::Fine,
        Self::Long,
        Self::Wide,
        Self::Boolean,
        Self::Text,
        Self::Char,
        Self::Bytes,
        Self::Date,
        Self::Time,
        Self::Timestamp,
        Self::Instant,
    ];
    pub const WHOLE: [Self; 3] = [Self::Small, Self::Integer, Self::Big];
    pub const DECIMALS: [Self; 5] = [Self::Short, Self::Money, Self::Fine, Self::Long, Self::Wide];
    pub const FLOATS: [Self; 2] = [Self::Real, Self::Double];

    /// The types that are features, and are off.
    pub fn off(features: &Features) -> Vec<Self> {
        let named = [
            ("chars", Self::Char),
            ("bytes", Self::Bytes),
            ("wide decimals", Self::Wide),
            ("intervals", Self::Interval),
        ];
        named.into_iter().filter(|(feature, _)| !features.has(feature)).map(|(_, kind)| kind).collect()
    }

    /// Its name in both dialects.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Small => "SMALLINT",
            Self::Integer => "INTEGER",
            Self::Big => "BIGINT",
            Self::Real => "REAL",
            Self::Double => "DOUBLE PRECISION",
            Self::Short => "DECIMAL(4,1)",
            Self::Money => "DECIMAL(10,2)",
            Self::Fine => "DECIMAL(18,6)",
            Self::Long => "DECIMAL(30,10)",
            Self::Wide => "DECIMAL(38,0)",
            Self::Boolean => "BOOLEAN",
            Self::Text => "TEXT",
            Self::Char => "CHAR(4)",
            Self::Bytes => "BYTEA",
            Self::Date => "DATE",
            Self::Time => "TIME",
            Self::Timestamp => "TIMESTAMP",
            Self::Instant => "TIMESTAMP WITH TIME ZONE",
            Self::Interval => "INTERVAL",
        }
    }

    /// The column that has it.
    pub fn column(self) -> &'static str {
        match self {
            Self::Small => "s",
            Self::Integer => "i",
            Self::Big => "b",
            Self::Real => "r",
            Self::Double => "x",
            Self::Short => "d1",
            Self::Money => "d2",
            Self::Fine => "d6",
            Self::Long => "d10",
            Self::Wide => "d38",
            Self::Boolean => "f",
            Self::Text => "c",
            Self::Char => "ch",
            Self::Bytes => "by",
            Self::Date => "dt",
            Self::Time => "tm",
            Self::Timestamp => "ts",
            Self::Instant | Self::Interval => "tz",
        }
    }

    pub fn is_whole(self) -> bool {
        Self::WHOLE.contains(&self)
    }

    pub fn is_decimal(self) -> bool {
        Self::DECIMALS.contains(&self)
    }

    pub fn is_float(self) -> bool {
        Self::FLOATS.contains(&self)
    }

    pub fn is_number(self) -> bool {
        self.is_whole() || self.is_decimal() || self.is_float()
    }

    /// Texts of values that are read as this type.
    fn values(self) -> &'static [&'static str] {
        match self {
            Self::Small => &["0", "1", "-1", "7", "-3", "100", "32767", "-32768"],
            Self::Integer => &["0", "1", "-1", "2", "5", "-7", "100", "12345", "2147483647", "-2147483648"],
            Self::Big => &["0", "1", "-1", "3", "-10", "1000000", "123456789012"],
            Self::Real => &["0", "-0", "1", "0.5", "-2.5", "0.1", "1e10", "NaN", "Infinity", "3.25"],
            Self::Double => {
                &["0", "-0", "1", "0.5", "-2.5", "0.1", "1e15", "1e-7", "NaN", "Infinity", "-Infinity", "2.5"]
            }
            Self::Short => &["0", "1", "-1", "0.5", "-0.5", "2.5", "999.9", "-12.3"],
            Self::Money => &["0", "1.00", "-1", "0.05", "2.50", "-2.5", "99999999.99", "1234.56", "0.33"],
            Self::Fine => &["0", "1", "-0.000001", "0.333333", "2.5", "123456.654321", "-7.000005"],
            Self::Long => &["0", "1", "-1.5", "0.3333333333", "1234567.0123456789", "-77.7"],
            Self::Wide => &[
                "0",
                "1",
                "-3",
                "99999999999999999999999999999999999999",
                "-12345678901234567890123456789012345678",
                "10000000000000000000",
            ],
            Self::Boolean => &["true", "false"],
            Self::Char => &["", "a", "B  ", "12", "abcd", " x", "é"],
            Self::Bytes => &["\\x", "\\x61", "\\x00ff", "\\x6162", "\\xff"],
            Self::Text => &["", "a", "B", "12", "007", "1.5", "true", "2024-02-29", "é", "10:30", "x y"],
            Self::Date => &[
                "1970-01-01",
                "2024-02-29",
                "2024-01-31",
                "1969-12-31",
                "1999-12-31",
                "0001-01-01",
                "2262-04-12",
                "0044-03-15 BC",
                "infinity",
                "-infinity",
            ],
            Self::Time => &["00:00", "10:20:30", "23:59:59.999999", "12:00", "04:05:06.5"],
            Self::Timestamp | Self::Instant => &[
                "1970-01-01 00:00:00",
                "2024-02-29 23:59:59.999999",
                "2024-01-31 10:20:30",
                "1969-12-31 12:00:00.5",
                "2000-02-29 00:00:01",
                "1900-03-01 05:06:07",
                "0044-03-15 12:00:00 BC",
                "infinity",
            ],
            Self::Interval => &[
                "1 day",
                "1 month",
                "30 days",
                "24 hours",
                "-1 day 02:03:04",
                "1 year 2 months 3 days",
                "00:00:00.5",
                "0",
            ],
        }
    }

    /// A value, between quotes.
    pub fn quoted(self, random: &mut Generator) -> String {
        format!("'{}'", random.pick(self.values()))
    }

    /// A constant of this type.
    pub fn constant(self, random: &mut Generator) -> String {
        let plain = self.is_whole() || matches!(self, Self::Money | Self::Short);
        match self {
            _ if random.chance(6) => format!("CAST(NULL AS {})", self.sql()),
            Self::Text => self.quoted(random),
            Self::Interval => format!("INTERVAL {}", self.quoted(random)),
            _ if plain && random.chance(40) => {
                let value = random.pick(self.values());
                if value.starts_with('-') { format!("({value})") } else { (*value).to_owned() }
            }
            _ => format!("CAST({} AS {})", self.quoted(random), self.sql()),
        }
    }
}

/// The statements that make the table and fill it, with its records in one of the places where they can be.
pub fn script(random: &mut Generator, features: &Features) -> Vec<String> {
    let storage = Storage::random(random, features);
    let columns: Vec<String> = Kind::STORED.iter().map(|kind| format!("{} {}", kind.column(), kind.sql())).collect();
    let mut script = Way::random(random, &features.without("memory limits")).script();
    script.push(format!("SET gingham.layout = '{}'", storage.layout(random)));
    let is_flushed = [Storage::Segments, Storage::Changed].contains(&storage);
    script.push(format!("SET gingham.lab_delta_rows = '{}'", if is_flushed { "0" } else { "default" }));
    script.push(format!("CREATE TABLE t (id INTEGER, {})", columns.join(", ")));
    let mut rows: Vec<String> = (0..8).map(|id| row(random, id)).collect();
    if storage == Storage::Changed {
        let gone: Vec<String> = (8..12).map(|id| row(random, id)).collect();
        script.push(format!("INSERT INTO t VALUES {}", gone.join(", ")));
        let late = rows.split_off(5);
        script.push(format!("INSERT INTO t VALUES {}", rows.join(", ")));
        script.push("DELETE FROM t WHERE id > 7".to_owned());
        script.push("SET gingham.lab_delta_rows = 'default'".to_owned());
        rows = late;
    }
    script.push(format!("INSERT INTO t VALUES {}", rows.join(", ")));
    script
}

fn row(random: &mut Generator, id: i64) -> String {
    // Columns keep one zero, and casts to text would show it.
    let value = |kind: &Kind| match kind.quoted(random) {
        _ if random.chance(15) => "NULL".to_owned(),
        value if value == "'-0'" => "'0'".to_owned(),
        value => value,
    };
    let values: Vec<String> = Kind::STORED.iter().map(value).collect();
    format!("({id}, {})", values.join(", "))
}
