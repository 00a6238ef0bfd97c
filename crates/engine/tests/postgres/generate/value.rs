//! Values: columns, literals, functions and CASE.

use super::scope::{Scope, visible};
use super::{Features, Maker};
use crate::tree::{Tree, Type, parts};
use crate::world::literal;

impl Maker<'_> {
    /// A column that can be named, of a kind; mostly one of the innermost query.
    pub(super) fn atom(&mut self, kind: Type, scope: &Scope) -> Option<Tree> {
        let fits = |other: Type| {
            other == kind || kind == Type::Big && other.is_whole() || kind == Type::Text && other == Type::Char
        };
        let (own, outer) = visible(scope);
        let own: Vec<&Tree> = own.into_iter().filter(|atom| fits(atom.kind)).map(|atom| &atom.tree).collect();
        let outer: Vec<&Tree> = outer.into_iter().filter(|atom| fits(atom.kind)).map(|atom| &atom.tree).collect();
        if self.may("ambiguous names", 1)
            && let Some(level) = scope.last().filter(|level| !level.names.is_empty())
        {
            let name = self.random.pick(&level.names).clone();
            return Some(Tree::value(kind, parts![name]));
        }
        let from = if own.is_empty() || !outer.is_empty() && self.random.chance(30) { outer } else { own };
        (!from.is_empty()).then(|| (*self.random.pick(&from)).clone())
    }

    /// A literal, with a type where PostgreSQL would have to guess it.
    pub(super) fn literal(&mut self, kind: Type) -> Tree {
        let text = if self.random.chance(6) {
            format!("CAST(NULL AS {})", kind.sql())
        } else {
            let text = literal(&mut self.random, self.features, kind);
            match kind {
                Type::Double | Type::Decimal if !text.starts_with("CAST") => format!("CAST({text} AS {})", kind.sql()),
                _ => text,
            }
        };
        Tree::value(kind, parts![text])
    }

    fn leaf(&mut self, kind: Type, scope: &Scope) -> Tree {
        if self.random.chance(80)
            && let Some(atom) = self.atom(kind, scope)
        {
            return atom;
        }
        self.literal(kind)
    }

    /// A value; `size` bounds how much it nests.
    pub(super) fn value(&mut self, kind: Type, scope: &Scope, size: usize) -> Tree {
        let aggregates = scope.last().is_some_and(|level| level.inner.is_some());
        if aggregates
            && self.random.chance(45)
            && let Some(aggregate) = self.aggregate(kind, scope)
        {
            return aggregate;
        }
        if self.windows.is_some()
            && self.may("windows", 15)
            && let Some(window) = self.window(kind, scope)
        {
            return window;
        }
        let size = size.min(self.size);
        if size == 0 || self.random.chance(45) {
            return self.leaf(kind, scope);
        }
        if self.random.chance(25) && self.depth > 0 && self.features.has("scalar subqueries") && self.burn(2) {
            return self.scalar(kind, scope);
        }
        match self.below(10) {
            0 => self.case(kind, scope, size - 1),
            1 => {
                let items = vec![self.value(kind, scope, size - 1), self.value(kind, scope, 0)];
                Tree::value(kind, parts!["COALESCE(", Tree::list(", ", items), ")"])
            }
            2 => {
                let (value, other) = (self.value(kind, scope, size - 1), self.leaf(kind, scope));
                Tree::value(kind, parts!["NULLIF(", value, ", ", other, ")"])
            }
            3 if kind != Type::Boolean => {
                let items = vec![self.value(kind, scope, size - 1), self.leaf(kind, scope)];
                let function = *self.random.pick(&["GREATEST(", "LEAST("]);
                Tree::value(kind, parts![function, Tree::list(", ", items), ")"])
            }
            _ => self.computed(kind, scope, size - 1),
        }
    }

    fn case(&mut self, kind: Type, scope: &Scope, size: usize) -> Tree {
        let (then, other) = (self.value(kind, scope, size), self.leaf(kind, scope));
        let other = Tree::Maybe(parts![" ELSE ", other]);
        if self.random.chance(30) {
            let of = self.kind_of(scope);
            let (of, when) = (self.value(of, scope, size), self.leaf(of, scope));
            return Tree::value(kind, parts!["CASE ", of, " WHEN ", when, " THEN ", then, other, " END"]);
        }
        let when = self.condition(scope, size);
        Tree::value(kind, parts!["CASE WHEN ", when, " THEN ", then, other, " END"])
    }

    /// A kind of which there is a column at the place, mostly.
    pub(super) fn kind_of(&mut self, scope: &Scope) -> Type {
        let kinds: Vec<Type> = visible(scope).0.iter().map(|atom| atom.kind).collect();
        if kinds.is_empty() || self.random.chance(12) {
            return self.random_kind();
        }
        let kind = *self.random.pick(&kinds);
        self.used.extend(Features::of_type(kind));
        kind
    }

    pub(super) fn random_kind(&mut self) -> Type {
        let mostly = [Type::Integer, Type::Integer, Type::Text, Type::Big];
        let kind = if self.random.chance(60) {
            *self.random.pick(&mostly)
        } else {
            let all = self.features.types(false);
            *self.random.pick(&all)
        };
        self.used.extend(Features::of_type(kind));
        kind
    }

    /// What only values of this kind have.
    fn computed(&mut self, kind: Type, scope: &Scope, size: usize) -> Tree {
        let parts = match kind {
            Type::Integer | Type::Big => match self.below(6) {
                _ if self.may("quotients", 8) => self.quotient(kind, scope, size),
                0 if self.random.chance(20) && self.may("bytes", 100) => {
                    parts!["length(", self.value(Type::Bytes, scope, size), ")"]
                }
                0 => parts!["length(", self.value(Type::Text, scope, size), ")"],
                1 => parts!["CAST(", self.value(Type::Boolean, scope, size), " AS INTEGER)"],
                2 => parts!["abs(", self.value(kind, scope, size), ")"],
                _ => {
                    let operator = *self.random.pick(&[" + ", " - ", " * "]);
                    parts!["(", self.value(kind, scope, size), operator, self.leaf(kind, scope), ")"]
                }
            },
            Type::Double => match self.below(3) {
                _ if self.may("quotients", 8) => self.quotient(kind, scope, size),
                0 => parts!["CAST(", self.value(Type::Integer, scope, size), " AS DOUBLE PRECISION)"],
                _ => {
                    let operator = *self.random.pick(&[" + ", " - ", " * "]);
                    parts!["(", self.value(kind, scope, size), operator, self.leaf(kind, scope), ")"]
                }
            },
            Type::Decimal => match self.below(3) {
                _ if self.may("extract", 15) => self.extract(scope, size),
                _ if self.may("quotients", 12) => self.quotient(kind, scope, size),
                0 => parts!["CAST(", self.value(Type::Integer, scope, size), " AS DECIMAL(10,2))"],
                _ => {
                    let operator = *self.random.pick(&[" + ", " - "]);
                    parts!["(", self.value(kind, scope, size), operator, self.leaf(kind, scope), ")"]
                }
            },
            Type::Text => match self.below(5) {
                _ if self.may("chars", 4) => parts!["(", self.value(Type::Char, scope, size), " || 'z')"],
                0 => parts!["upper(", self.value(kind, scope, size), ")"],
                1 => parts!["substr(", self.value(kind, scope, size), ", 1, 1)"],
                2 => parts!["CAST(", self.value(Type::Integer, scope, size), " AS VARCHAR)"],
                3 => parts!["replace(", self.value(kind, scope, size), ", 'x', 'z')"],
                _ => parts!["(", self.value(kind, scope, size), " || ", self.leaf(kind, scope), ")"],
            },
            Type::Date => {
                let operator = *self.random.pick(&[" + ", " - "]);
                parts!["(", self.value(kind, scope, size), operator, self.value(Type::Integer, scope, 0), ")"]
            }
            Type::Boolean => return self.condition(scope, size + 1),
            _ => self.computed_more(kind, scope, size),
        };
        Tree::value(kind, parts)
    }

    /// What only values of the types have that are features of their own.
    fn computed_more(&mut self, kind: Type, scope: &Scope, size: usize) -> Vec<Tree> {
        let sql = kind.sql();
        match (kind, self.below(3)) {
            (Type::Char, _) => parts!["CAST(", self.value(Type::Text, scope, size), format!(" AS {sql})")],
            (Type::Bytes, _) => parts!["(", self.value(kind, scope, size), " || ", self.leaf(kind, scope), ")"],
            (Type::Wide, 0) => parts!["CAST(", self.value(Type::Decimal, scope, size), format!(" AS {sql})")],
            (Type::Wide, 1) => parts!["(- ", self.value(kind, scope, size), ")"],
            (Type::Timestamp, 0) => parts!["CAST(", self.value(Type::Date, scope, size), format!(" AS {sql})")],
            (Type::Timestamp, 1) => {
                let part = *self.random.pick(&["hour", "day", "week", "month", "year"]);
                parts![format!("date_trunc('{part}', "), self.value(kind, scope, size), ")"]
            }
            (Type::Timestamp, _) => {
                let operator = *self.random.pick(&[" + ", " - "]);
                parts!["(", self.value(kind, scope, size), operator, self.interval(scope, size), ")"]
            }
            (Type::Interval, 0) => {
                parts!["(", self.value(Type::Integer, scope, size), " * ", self.literal(kind), ")"]
            }
            (Type::Interval, 1) if self.features.has("timestamps") => {
                let (own, other) = (self.value(Type::Timestamp, scope, size), self.leaf(Type::Timestamp, scope));
                parts!["(", own, " - ", other, ")"]
            }
            _ => {
                let operator = *self.random.pick(&[" + ", " - "]);
                parts!["(", self.value(kind, scope, size), operator, self.leaf(kind, scope), ")"]
            }
        }
    }

    fn interval(&mut self, scope: &Scope, size: usize) -> Tree {
        match self.may("intervals", 60) {
            true => self.value(Type::Interval, scope, size),
            false => Tree::value(Type::Interval, parts!["INTERVAL '1 day'"]),
        }
    }

    /// A quotient, of which others can be parts; nothing is divided by zero.
    fn quotient(&mut self, kind: Type, scope: &Scope, size: usize) -> Vec<Tree> {
        let (own, other) = (self.value(kind, scope, size), self.leaf(kind, scope));
        let zero = Tree::Solid(parts!["0"]);
        parts!["(", own, " / NULLIF(", other, ", ", zero, "))"]
    }

    fn extract(&mut self, scope: &Scope, size: usize) -> Vec<Tree> {
        let of_time = self.random.chance(30) && self.may("timestamps", 100);
        let field = match of_time {
            true => *self.random.pick(&["hour", "minute", "second", "day", "epoch"]),
            false => *self.random.pick(&["year", "month", "day", "dow", "doy", "quarter", "week"]),
        };
        let from = if of_time { Type::Timestamp } else { Type::Date };
        // PostgreSQL has parts of infinite dates.
        let (sql, value) = (from.sql(), self.value(from, scope, size));
        let end = format!(", CAST('infinity' AS {sql})), CAST('-infinity' AS {sql})))");
        let finite = Tree::Solid(parts![format!("EXTRACT({field} FROM NULLIF(NULLIF("), value, end]);
        parts![finite]
    }
}
