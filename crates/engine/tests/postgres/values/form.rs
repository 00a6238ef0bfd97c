//! Statements in which an expression stands.

use super::expression::Maker;
use super::kind::Kind;
use crate::generator::Generator;

/// A statement, and whether it orders all of its rows.
pub struct Asked {
    pub sql: String,
    pub is_ordered: bool,
}

/// A random statement.
pub fn statement(random: &mut Generator, off: &[Kind]) -> Asked {
    let has_columns = random.chance(80);
    let depth = random.between(1, 3) as usize;
    let mut maker = Maker { random, has_columns, off };
    let kind = maker.kind();
    let value = maker.of(kind, depth);
    if !has_columns {
        return Asked { sql: format!("SELECT {value}"), is_ordered: true };
    }
    let of = |sql: String, is_ordered: bool| Asked { sql, is_ordered };
    match maker.random.between(0, 8) {
        0..=2 => of(format!("SELECT id, {value} FROM t ORDER BY id"), true),
        3 => {
            let condition = maker.of(Kind::Boolean, depth);
            of(format!("SELECT id FROM t WHERE {condition} ORDER BY id"), true)
        }
        4 => of(format!("SELECT {value} AS v, count(*) FROM t GROUP BY {value}"), false),
        5 => of(format!("SELECT DISTINCT {value} FROM t"), false),
        6 => {
            of(format!("SELECT id, rank() OVER (ORDER BY {value}), count(*) OVER (PARTITION BY {value}) FROM t"), false)
        }
        7 => {
            let aggregate = aggregate(&mut maker, kind, &value);
            match maker.random.chance(40) {
                true => of(format!("SELECT f, {aggregate} FROM t GROUP BY f"), false),
                false => of(format!("SELECT {aggregate} FROM t"), true),
            }
        }
        _ => of(format!("SELECT id FROM t ORDER BY {value} DESC NULLS LAST, id"), true),
    }
}

fn aggregate(maker: &mut Maker<'_>, kind: Kind, value: &str) -> String {
    let filter = match maker.random.chance(25) {
        true => format!(" FILTER (WHERE {})", maker.of(Kind::Boolean, 1)),
        false => String::new(),
    };
    let random = &mut *maker.random;
    let name = match kind {
        // PostgreSQL adds REALs as REALs, which loses digits.
        Kind::Real => *random.pick(&["avg", "min", "max", "stddev", "var_pop"]),
        kind if kind.is_float() => *random.pick(&["sum", "avg", "min", "max", "stddev", "var_pop"]),
        kind if kind.is_number() => *random.pick(&["sum", "avg", "min", "max"]),
        Kind::Interval => *random.pick(&["sum", "avg", "min", "max"]),
        // PostgreSQL 15 has no least bytes.
        Kind::Bytes => return format!("count({value}){filter}"),
        Kind::Boolean => *random.pick(&["bool_and", "bool_or"]),
        Kind::Text => return format!("string_agg({value}, ',' ORDER BY {value}){filter}"),
        _ => *random.pick(&["min", "max"]),
    };
    match random.chance(20) {
        true => format!("count(DISTINCT {value}){filter}"),
        false => format!("{name}({value}){filter}"),
    }
}
