//! Values as statements and rows write them: few of each type, so that rows meet, and some at which types end or differ.

use crate::generate::Features;
use crate::generator::Generator;
use crate::tree::Type;

/// A value of a type, of few so that rows meet.
pub fn literal(random: &mut Generator, features: &Features, kind: Type) -> String {
    match kind {
        Type::Integer | Type::Big => whole(random, features),
        Type::Double if features.has("special floats") && random.chance(12) => {
            let text = *random.pick(&["-0", "NaN", "Infinity", "-Infinity"]);
            format!("CAST('{text}' AS DOUBLE PRECISION)")
        }
        Type::Double => random.pick(&["-1.5", "0.0", "0.25", "1.0", "2.0", "2.5", "4.0"]).to_string(),
        Type::Text => format!("'{}'", random.pick(&["", "x", "y", "xy", "Y", "1", "é"])),
        Type::Boolean => random.pick(&["TRUE", "FALSE"]).to_string(),
        Type::Date if features.has("odd dates") && random.chance(12) => {
            let text = *random.pick(&["0044-03-15 BC", "infinity", "-infinity", "0001-01-01", "9999-12-31"]);
            format!("DATE '{text}'")
        }
        Type::Date => format!("DATE '2024-0{}-0{}'", random.between(1, 2), random.between(1, 3)),
        Type::Decimal => random.pick(&["-0.50", "0.00", "0.25", "1.00", "1.50", "2.00", "10.10"]).to_string(),
        Type::Char => format!("CAST('{}' AS CHAR(3))", random.pick(&["", "x", "y ", "xy", "Y", " x", "éxy"])),
        Type::Bytes => {
            format!("CAST('{}' AS BYTEA)", random.pick(&["\\x", "\\x78", "\\x00ff", "\\x7800", "\\xff"]))
        }
        Type::Wide => {
            let text = *random.pick(&[
                "0",
                "1",
                "-1.5",
                "2.000001",
                "12345678901234567890.5",
                "-99999999999999999999999999.25",
                "170141183460469231731.75",
            ]);
            format!("CAST({text} AS {})", kind.sql())
        }
        Type::Timestamp if features.has("odd dates") && random.chance(12) => {
            let text = *random.pick(&["0044-03-15 12:00:00 BC", "infinity", "-infinity", "1969-12-31 23:59:59.5"]);
            format!("TIMESTAMP '{text}'")
        }
        Type::Timestamp => {
            let (day, hour) = (random.between(1, 3), random.pick(&["00", "10", "23"]));
            format!("TIMESTAMP '2024-01-0{day} {hour}:00:00'")
        }
        Type::Interval => {
            let text =
                *random.pick(&["1 day", "24 hours", "1 month", "30 days", "-1 day 02:03:04", "0 days", "36 hours"]);
            format!("INTERVAL '{text}'")
        }
    }
}

fn whole(random: &mut Generator, features: &Features) -> String {
    if features.has("gaps") && random.chance(8) {
        return random.pick(&["-1", "7", "1000", "2000", "65536", "1000000"]).to_string();
    }
    random.between(0, 4).to_string()
}
