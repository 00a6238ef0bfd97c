//! Expressions of a type, of what both sides have.

use super::kind::Kind;
use crate::generator::Generator;

/// Makes expressions.
pub struct Maker<'r> {
    pub random: &'r mut Generator,
    /// Leaves are columns, or else constants alone.
    pub has_columns: bool,
    /// Types that are left out.
    pub off: &'r [Kind],
}

impl Maker<'_> {
    fn any(&mut self, kinds: &[Kind]) -> Kind {
        let on: Vec<Kind> = kinds.iter().copied().filter(|kind| !self.off.contains(kind)).collect();
        *self.random.pick(&on)
    }

    /// A type that a column has, or INTERVAL.
    pub fn kind(&mut self) -> Kind {
        if self.random.chance(8) { Kind::Interval } else { self.any(&Kind::STORED) }
    }

    /// A value, of which an infinite one is NULL: PostgreSQL has parts of it, or makes some up.
    fn finite(&mut self, kind: Kind, depth: usize) -> String {
        let value = self.of(kind, depth);
        match kind {
            Kind::Date | Kind::Timestamp | Kind::Instant => {
                let sql = kind.sql();
                format!("nullif(nullif({value}, CAST('infinity' AS {sql})), CAST('-infinity' AS {sql}))")
            }
            _ => value,
        }
    }

    fn number(&mut self) -> Kind {
        match self.random.between(0, 9) {
            0..=3 => self.any(&Kind::WHOLE),
            4..=7 => self.any(&Kind::DECIMALS),
            _ => self.any(&Kind::FLOATS),
        }
    }

    fn leaf(&mut self, kind: Kind) -> String {
        if self.has_columns && kind != Kind::Interval && self.random.chance(75) {
            return kind.column().to_owned();
        }
        kind.constant(self.random)
    }

    /// An expression of this type, or of one that prints alike: an operator of two DECIMALs has digits of its own.
    pub fn of(&mut self, kind: Kind, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(kind);
        }
        let below = depth - 1;
        if self.random.chance(12) {
            return self.general(kind, below);
        }
        match kind {
            kind if kind.is_whole() => self.whole(kind, below),
            kind if kind.is_decimal() => self.decimal(kind, below),
            kind if kind.is_float() => self.float(kind, below),
            Kind::Boolean => self.truth(below),
            Kind::Text => self.text(below),
            Kind::Char => format!("CAST({} AS CHAR(4))", self.of(Kind::Text, below)),
            Kind::Bytes => format!("({} || {})", self.of(kind, below), self.of(kind, below)),
            Kind::Date => self.date(below),
            Kind::Time => self.time(below),
            Kind::Timestamp | Kind::Instant => self.timestamp(kind, below),
            _ => self.interval(below),
        }
    }

    /// Expressions that there are of every type.
    fn general(&mut self, kind: Kind, depth: usize) -> String {
        let a = self.of(kind, depth);
        // A text without a type takes that of what it stands beside.
        let b = if self.random.chance(25) { kind.quoted(self.random) } else { self.of(kind, depth) };
        match self.random.between(0, 6) {
            0 => format!("coalesce({a}, {b})"),
            1 => format!("nullif({a}, {b})"),
            2 => format!("greatest({a}, {b})"),
            3 => format!("least({a}, {b})"),
            4 => format!("CASE WHEN {} THEN {a} ELSE {b} END", self.of(Kind::Boolean, depth)),
            5 => format!("CASE {a} WHEN {b} THEN {a} ELSE {b} END"),
            _ => format!("CASE WHEN {} THEN {a} END", self.of(Kind::Boolean, depth)),
        }
    }

    fn whole(&mut self, kind: Kind, depth: usize) -> String {
        match self.random.between(0, 12) {
            0..=3 => {
                let operator = *self.random.pick(&["+", "-", "*"]);
                format!("({} {operator} {})", self.of(kind, depth), self.of(kind, depth))
            }
            4 => format!("({} / {})", self.of(kind, depth), self.of(kind, depth)),
            5 => format!("({} % {})", self.of(kind, depth), self.of(kind, depth)),
            6 => format!("(- {})", self.of(kind, depth)),
            7 => format!("abs({})", self.of(kind, depth)),
            8 => {
                let from = self.number();
                format!("CAST({} AS {})", self.of(from, depth), kind.sql())
            }
            9 if kind == Kind::Big => format!("({} - {})", self.of(Kind::Date, depth), self.of(Kind::Date, depth)),
            10 => format!("length({})", self.of(Kind::Text, depth)),
            11 => {
                let field =
                    *self.random.pick(&["year", "month", "day", "dow", "doy", "quarter", "week", "isoyear", "century"]);
                let from = self.any(&[Kind::Date, Kind::Timestamp, Kind::Instant]);
                // PostgreSQL's is a decimal, ours an integer, which a division tells apart.
                format!("CAST(extract({field} FROM {}) AS INTEGER)", self.finite(from, depth))
            }
            _ => self.leaf(kind),
        }
    }

    fn decimal(&mut self, kind: Kind, depth: usize) -> String {
        let other = if self.random.chance(60) { self.any(&Kind::DECIMALS) } else { self.any(&Kind::WHOLE) };
        match self.random.between(0, 12) {
            0..=2 => {
                let operator = *self.random.pick(&["+", "-", "*"]);
                let depth = if operator == "*" { 0 } else { depth };
                format!("({} {operator} {})", self.of(kind, depth), self.of(other, depth))
            }
            // What is made of a quotient has what it lost behind its last digit, many times over in a product.
            3 => {
                // Many digits leave a quotient room for few behind the point, where PostgreSQL has sixteen.
                let short = |kind: Kind| if [Kind::Long, Kind::Wide].contains(&kind) { Kind::Money } else { kind };
                format!("({} / {})", self.leaf(short(kind)), self.leaf(short(other)))
            }
            4 => {
                // Of decimals that leave a quotient room for 16 digits.
                let short = [Kind::Short, Kind::Money, Kind::Fine];
                let (first, second) = (self.any(&short), self.any(&short));
                let (first, second, third) = (self.leaf(first), self.leaf(second), self.leaf(Kind::Money));
                format!("(({first} / {second}) / {third})")
            }
            // A quotient of fewer digits leaves another rest.
            5 => format!("({} % {})", self.of(kind, depth), self.leaf(other)),
            6 => {
                let digits = self.random.between(-2, 5);
                let name = *self.random.pick(&["round", "trunc"]);
                format!("{name}({}, {digits})", self.of(kind, depth))
            }
            7 => {
                let name = *self.random.pick(&["round", "trunc", "ceil", "floor", "abs", "sign"]);
                format!("{name}({})", self.of(kind, depth))
            }
            8 => format!("(- {})", self.of(kind, depth)),
            11 => {
                let field = *self.random.pick(&["year", "month", "day", "dow", "doy", "quarter", "week", "century"]);
                let from = self.any(&[Kind::Date, Kind::Timestamp, Kind::Instant]);
                format!("extract({field} FROM {})", self.finite(from, depth))
            }
            9 | 10 => {
                let from = self.number();
                format!("CAST({} AS {})", self.of(from, depth), kind.sql())
            }
            _ => {
                let field = *self.random.pick(&["epoch", "second", "milliseconds"]);
                let from = self.any(&[Kind::Timestamp, Kind::Interval, Kind::Time]);
                format!("extract({field} FROM {})", self.finite(from, depth))
            }
        }
    }

    fn float(&mut self, kind: Kind, depth: usize) -> String {
        match self.random.between(0, 9) {
            0..=3 => {
                let operator = *self.random.pick(&["+", "-", "*", "/"]);
                let (own, other) = (self.any(&Kind::FLOATS), self.number());
                format!("({} {operator} {})", self.of(own, depth), self.of(other, depth))
            }
            4 => {
                let name = *self.random.pick(&["round", "trunc", "ceil", "floor", "abs", "sign"]);
                format!("{name}({})", self.of(Kind::Double, depth))
            }
            5 => format!("sqrt(abs({}))", self.of(Kind::Double, depth)),
            6 => format!("({} ^ 2)", self.of(Kind::Double, depth)),
            7 => format!("(- {})", self.of(kind, depth)),
            _ => {
                let from = self.number();
                format!("CAST({} AS {})", self.of(from, depth), kind.sql())
            }
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        let kind = self.kind();
        let (a, b) = (self.of(kind, depth), self.of(kind, depth));
        match self.random.between(0, 11) {
            0..=2 => {
                let operator = *self.random.pick(&["=", "<>", "<", "<=", ">", ">="]);
                format!("({a} {operator} {b})")
            }
            3 => {
                let other = self.number();
                let operator = *self.random.pick(&["=", "<", ">="]);
                let own = self.number();
                format!("({} {operator} {})", self.of(own, depth), self.of(other, depth))
            }
            4 => format!("({a} IS NOT DISTINCT FROM {b})"),
            5 => format!("({a} BETWEEN {b} AND {})", self.of(kind, depth)),
            6 => format!("({a} IN ({b}, {}))", self.of(kind, depth)),
            7 => format!("({a} IS NULL)"),
            8 => format!("(NOT {})", self.of(Kind::Boolean, depth)),
            9 => {
                let operator = *self.random.pick(&["AND", "OR"]);
                format!("({} {operator} {})", self.of(Kind::Boolean, depth), self.of(Kind::Boolean, depth))
            }
            10 => self.guarded(depth),
            // A text beside a value is read as its type.
            _ => {
                let kind = self.any(&Kind::STORED);
                format!("({} = {})", self.of(kind, depth), kind.quoted(self.random))
            }
        }
    }

    /// An expression that would fail without its guard.
    fn guarded(&mut self, depth: usize) -> String {
        let kind = if self.random.chance(50) { self.any(&Kind::WHOLE) } else { self.any(&Kind::DECIMALS) };
        let (divisor, dividend) = (self.leaf(kind), self.of(kind, depth));
        match self.random.between(0, 2) {
            0 => format!("(CASE WHEN {divisor} <> 0 THEN {dividend} / {divisor} > 1 ELSE false END)"),
            1 => format!("({divisor} <> 0 AND {dividend} / {divisor} > 1)"),
            _ => format!("({divisor} = 0 OR {dividend} / {divisor} > 1)"),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        match self.random.between(0, 8) {
            0..=3 => {
                let kind = self.kind();
                let depth = if kind.is_decimal() { 0 } else { depth };
                format!("CAST({} AS TEXT)", self.of(kind, depth))
            }
            4 => format!("({} || {})", self.of(Kind::Text, depth), self.of(Kind::Text, depth)),
            5 => {
                // Quotients of decimals have other digits, which a text shows.
                let kind = self.any(&[Kind::Integer, Kind::Date, Kind::Timestamp, Kind::Double]);
                format!("({} || {})", self.of(Kind::Text, depth), self.of(kind, depth))
            }
            6 => {
                let template =
                    *self.random.pick(&["YYYY-MM-DD HH24:MI:SS", "DD Mon YY", "FMDay DDD WW", "Q HH12:MI AM", "MS US"]);
                let kind = self.any(&[Kind::Timestamp, Kind::Date]);
                format!("to_char({}, '{template}')", self.of(kind, depth))
            }
            7 => {
                let template = *self.random.pick(&["999990.99", "FM999.99", "000", "9,999,999", "S99999.9", "FM0.999"]);
                let kind = self.any(&[Kind::Money, Kind::Integer, Kind::Fine]);
                format!("to_char({}, '{template}')", self.of(kind, depth))
            }
            _ => {
                let name = *self.random.pick(&["upper", "lower", "trim", "reverse"]);
                format!("{name}({})", self.of(Kind::Text, depth))
            }
        }
    }

    fn date(&mut self, depth: usize) -> String {
        match self.random.between(0, 4) {
            0 => format!("({} + {})", self.of(Kind::Date, depth), self.random.between(-400, 400)),
            1 => format!("({} - {})", self.of(Kind::Date, depth), self.random.between(-400, 400)),
            2 => {
                let from = self.any(&[Kind::Timestamp, Kind::Instant]);
                format!("CAST({} AS DATE)", self.of(from, depth))
            }
            3 => format!("CAST(CAST({} AS TEXT) AS DATE)", self.of(Kind::Date, depth)),
            _ => self.leaf(Kind::Date),
        }
    }

    fn time(&mut self, depth: usize) -> String {
        match self.random.between(0, 3) {
            0 => {
                let operator = *self.random.pick(&["+", "-"]);
                format!("({} {operator} {})", self.of(Kind::Time, depth), self.of(Kind::Interval, depth))
            }
            1 => format!("CAST({} AS TIME)", self.of(Kind::Timestamp, depth)),
            2 => format!("CAST(CAST({} AS TEXT) AS TIME)", self.of(Kind::Time, depth)),
            _ => self.leaf(Kind::Time),
        }
    }

    fn timestamp(&mut self, kind: Kind, depth: usize) -> String {
        match self.random.between(0, 6) {
            0 | 1 => {
                let operator = *self.random.pick(&["+", "-"]);
                format!("({} {operator} {})", self.of(kind, depth), self.of(Kind::Interval, depth))
            }
            2 if kind == Kind::Timestamp => {
                format!("({} + {})", self.of(Kind::Date, depth), self.of(Kind::Interval, depth))
            }
            3 if kind == Kind::Timestamp => {
                format!("({} + {})", self.of(Kind::Date, depth), self.of(Kind::Time, depth))
            }
            4 => {
                let part = *self.random.pick(&["hour", "day", "week", "month", "quarter", "year", "decade", "century"]);
                format!("date_trunc('{part}', {})", self.of(kind, depth))
            }
            5 => {
                let from = if kind == Kind::Timestamp { Kind::Instant } else { Kind::Timestamp };
                let zone = *self.random.pick(&["UTC", "Europe/Berlin", "America/New_York", "+05:30"]);
                format!("({} AT TIME ZONE '{zone}')", self.of(from, depth))
            }
            _ => {
                let from = self.any(&[Kind::Date, Kind::Timestamp]);
                format!("CAST({} AS {})", self.of(from, depth), kind.sql())
            }
        }
    }

    fn interval(&mut self, depth: usize) -> String {
        match self.random.between(0, 7) {
            0 => {
                let kind = self.any(&[Kind::Timestamp, Kind::Time, Kind::Instant]);
                format!("({} - {})", self.of(kind, depth), self.of(kind, depth))
            }
            1 => {
                let operator = *self.random.pick(&["+", "-"]);
                format!("({} {operator} {})", self.of(Kind::Interval, depth), self.of(Kind::Interval, depth))
            }
            2 => format!(
                "({} * {})",
                self.of(Kind::Interval, depth),
                self.random.pick(&["2", "-1", "0.5", "1.5", "100"])
            ),
            3 => format!("({} / {})", self.of(Kind::Interval, depth), self.random.pick(&["2", "-1", "0.5", "4", "7"])),
            4 => format!("(- {})", self.of(Kind::Interval, depth)),
            5 => format!("age({}, {})", self.finite(Kind::Timestamp, depth), self.finite(Kind::Timestamp, depth)),
            6 => {
                let name = *self.random.pick(&["justify_hours", "justify_days", "justify_interval"]);
                format!("{name}({})", self.of(Kind::Interval, depth))
            }
            _ => self.leaf(Kind::Interval),
        }
    }
}
