//! Aggregates and window functions. What depends on the order of equal rows stands in a total order only.

use super::Maker;
use super::scope::{Level, Scope};
use crate::tree::{Tree, Type, parts};

const DIRECTIONS: &[&str] = &["", "", "", " ASC", " DESC", " NULLS FIRST", " DESC NULLS LAST"];

impl Maker<'_> {
    /// The names around the innermost query, and those of its rows before they are grouped.
    fn before_grouping(scope: &Scope) -> Option<Scope> {
        let (own, outer) = scope.split_last()?;
        let inner: &Level = own.inner.as_deref()?;
        Some(outer.iter().chain([inner]).cloned().collect())
    }

    /// An aggregate of a kind over the rows of the innermost query's groups.
    pub(super) fn aggregate(&mut self, kind: Type, scope: &Scope) -> Option<Tree> {
        if kind == Type::Bytes {
            return None;
        }
        let mut inner = Self::before_grouping(scope)?;
        let keys = scope.last().map(|level| level.atoms.as_slice()).unwrap_or_default();
        if kind == Type::Integer && !keys.is_empty() && self.may("grouping", 10) {
            let key = self.random.pick(keys).tree.clone();
            return Some(Tree::value(kind, parts!["GROUPING(", key, ")"]));
        }
        // An aggregate over columns of an outer query alone is that query's.
        if !self.may("outer aggregates", 4) {
            inner.drain(..inner.len() - 1);
        }
        let call = self.without_windows(|maker| maker.aggregate_call(kind, &inner));
        Some(Tree::value(kind, call))
    }

    /// The call of an aggregate function, with its FILTER.
    fn aggregate_call(&mut self, kind: Type, scope: &Scope) -> Vec<Tree> {
        let distinct = if self.may("distinct aggregates", 12) { "DISTINCT " } else { "" };
        let size = usize::from(self.random.chance(30));
        let call = match kind {
            Type::Big => match self.below(5) {
                0 if self.features.has("whole rows") && self.random.chance(30) => match self.row_name(scope) {
                    Some(name) => {
                        self.used.insert("whole rows");
                        parts!["count(", name, ")"]
                    }
                    None => parts!["count(*)"],
                },
                0 | 1 => parts!["count(*)"],
                2 => {
                    let of = self.kind_of(scope);
                    parts!["count(", distinct, self.value(of, scope, size), ")"]
                }
                _ => parts!["sum(", distinct, self.value(Type::Integer, scope, size), ")"],
            },
            Type::Wide if self.may("sums of big integers", 40) => {
                parts!["sum(", distinct, self.value(Type::Big, scope, size), ")"]
            }
            Type::Decimal if self.may("averages", 15) => {
                parts!["avg(", distinct, self.value(kind, scope, size), ")"]
            }
            Type::Double | Type::Decimal | Type::Wide | Type::Interval if self.random.chance(50) => {
                parts!["sum(", distinct, self.value(kind, scope, size), ")"]
            }
            Type::Double if self.random.chance(50) => {
                parts!["avg(CAST(", self.value(Type::Integer, scope, size), " AS DOUBLE PRECISION))"]
            }
            Type::Boolean => {
                let function = *self.random.pick(&["bool_and(", "bool_or("]);
                parts![function, self.value(kind, scope, size), ")"]
            }
            Type::Text if self.may("aggregate order", 15) => {
                let value = self.value(kind, scope, size);
                // Shrunk on one side alone, the order of the values would no longer be known.
                parts![Tree::Solid(parts!["string_agg(", value.clone(), ", ',' ORDER BY ", value, ")"])]
            }
            _ => {
                let function = *self.random.pick(&["min(", "max("]);
                parts![function, self.value(kind, scope, size), ")"]
            }
        };
        if !self.may("filters", 12) {
            return call;
        }
        let filter = Tree::Maybe(parts![" FILTER (WHERE ", self.condition(scope, 1), ")"]);
        parts![Tree::other(call), filter]
    }

    /// A window function of a kind over the rows of the innermost query.
    pub(super) fn window(&mut self, kind: Type, scope: &Scope) -> Option<Tree> {
        let total = scope.last().map(|level| level.total.clone()).unwrap_or_default();
        let named = self.windows.clone().unwrap_or_default();
        let call = self.without_windows(|maker| {
            if !total.is_empty() && maker.may("whole windows", 35) {
                return Some(maker.ordered_window(kind, scope, total));
            }
            let call = match kind {
                Type::Integer | Type::Bytes => return None,
                Type::Big if maker.random.chance(50) => {
                    parts![*maker.random.pick(&["rank()", "dense_rank()", "count(*)"])]
                }
                _ => maker.window_call(kind, scope),
            };
            let over = maker.over(scope, &named);
            Some(Tree::value(kind, parts![Tree::other(call), " OVER ", over]))
        })?;
        // A quotient tells whether a count is an integer, a difference whether it has a sign.
        if kind != Type::Big || !self.may("arithmetic of windows", 25) {
            return Some(call);
        }
        let rest = *self.random.pick(&[" / 2)", " - 3)"]);
        Some(Tree::value(kind, parts!["(", call, rest]))
    }

    /// An aggregate function as a window function; it has no DISTINCT there.
    fn window_call(&mut self, kind: Type, scope: &Scope) -> Vec<Tree> {
        let function = match kind {
            Type::Boolean => *self.random.pick(&["bool_and(", "bool_or("]),
            Type::Big => *self.random.pick(&["sum(", "count("]),
            Type::Double | Type::Decimal | Type::Wide => *self.random.pick(&["sum(", "min(", "max("]),
            _ => *self.random.pick(&["min(", "max("]),
        };
        let of = if kind == Type::Big { Type::Integer } else { kind };
        let call = parts![function, self.value(of, scope, 1), ")"];
        if !self.may("filters", 10) {
            return call;
        }
        // PostgreSQL takes no aggregates in the FILTER of a window function.
        let mut plain = scope.clone();
        if let Some(own) = plain.last_mut() {
            own.inner = None;
        }
        let filter = Tree::Maybe(parts![" FILTER (WHERE ", self.condition(&plain, 1), ")"]);
        parts![Tree::other(call), filter]
    }

    /// What follows OVER: rows that are equal in the order share an answer.
    fn over(&mut self, scope: &Scope, named: &[(String, bool)]) -> Tree {
        if !named.is_empty() && self.may("named windows", 60) {
            let (name, ordered) = self.random.pick(named).clone();
            if ordered || self.random.chance(40) {
                return Tree::from(name);
            }
            let order = self.window_order(scope);
            return Tree::other(parts!["(", name, Tree::Maybe(order), ")"]);
        }
        let partition = self.partition(scope);
        if let Some(order) = self.framed_order(scope) {
            return Tree::other(parts!["(", Tree::Maybe(partition), Tree::Maybe(vec![order]), ")"]);
        }
        let order = self.window_order(scope);
        let order = if self.random.chance(70) { Tree::Maybe(order) } else { Tree::nothing() };
        Tree::other(parts!["(", Tree::Maybe(partition), order, ")"])
    }

    /// ` ORDER BY …` with a frame by distance, or by groups of equal rows: which rows are in it depends on no order of equal ones.
    fn framed_order(&mut self, scope: &Scope) -> Option<Tree> {
        if self.may("groups frames", 10) {
            let order = self.window_order(scope);
            let frame = *self.random.pick(&[
                " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
                " GROUPS BETWEEN CURRENT ROW AND 2 FOLLOWING",
                " GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
                " GROUPS 1 PRECEDING",
            ]);
            return Some(Tree::Solid(parts![Tree::other(order), frame, self.exclusion()]));
        }
        if !self.may("range frames", 12) {
            return None;
        }
        let far = |kind: Type| match kind {
            Type::Integer | Type::Big => Some("1"),
            Type::Decimal | Type::Wide => Some("0.5"),
            Type::Double => Some("CAST(1.5 AS DOUBLE PRECISION)"),
            Type::Date | Type::Timestamp | Type::Interval => Some("INTERVAL '1 day'"),
            _ => None,
        };
        let kind = self.kind_of(scope);
        let (key, far) = (self.atom(kind, scope)?, far(kind)?);
        let frame = match self.below(5) {
            0 => format!("BETWEEN {far} PRECEDING AND {far} FOLLOWING"),
            1 => format!("BETWEEN UNBOUNDED PRECEDING AND {far} PRECEDING"),
            2 => format!("BETWEEN {far} FOLLOWING AND UNBOUNDED FOLLOWING"),
            3 => "BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING".to_owned(),
            _ => format!("{far} PRECEDING"),
        };
        let exclusion = self.exclusion();
        Some(Tree::Solid(parts![" ORDER BY ", key, self.direction(), format!(" RANGE {frame}{exclusion}")]))
    }

    /// `PARTITION BY …`.
    pub(super) fn partition(&mut self, scope: &Scope) -> Vec<Tree> {
        let items = (0..self.random.between(1, 2)).map(|_| self.key(scope)).collect();
        parts!["PARTITION BY ", Tree::list(", ", items)]
    }

    /// ` ORDER BY …`, of which rows may be equal.
    pub(super) fn window_order(&mut self, scope: &Scope) -> Vec<Tree> {
        let key = self.key(scope);
        parts![" ORDER BY ", key, self.direction()]
    }

    /// A value that is no literal, which would mean a column's number.
    pub(super) fn key(&mut self, scope: &Scope) -> Tree {
        for _ in 0..4 {
            let kind = self.kind_of(scope);
            let size = usize::from(self.random.chance(20));
            let value = self.value(kind, scope, size);
            let text = value.to_string();
            let name = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '(' || c == '"') && text != "NULL";
            if name {
                return value;
            }
        }
        Tree::value(Type::Integer, parts!["(1 + 0)"])
    }

    /// How a term of ORDER BY is ordered.
    pub(super) fn direction(&mut self) -> &'static str {
        let direction: &&str = self.random.pick(DIRECTIONS);
        direction
    }

    /// A window function that tells all rows apart.
    fn ordered_window(&mut self, kind: Type, scope: &Scope, total: Vec<Tree>) -> Tree {
        let terms: Vec<Tree> = total.into_iter().map(|term| Tree::other(parts![term, self.direction()])).collect();
        let order = Tree::Solid(parts![" ORDER BY ", Tree::row(terms)]);
        let call = match kind {
            Type::Big if self.random.chance(50) => parts![*self.random.pick(&["row_number()", "ntile(2)"])],
            Type::Big => parts!["sum(", self.value(Type::Integer, scope, 1), ")"],
            Type::Boolean => parts!["bool_or(", self.value(kind, scope, 1), ")"],
            _ => {
                let function = *self.random.pick(&["lag(", "lead(", "first_value(", "last_value("]);
                parts![function, "CAST(", self.value(kind, scope, 1), format!(" AS {}))", kind.sql())]
            }
        };
        let frame = match self.below(4) {
            0 => " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
            1 => " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
            _ => "",
        };
        let exclusion = if frame.is_empty() { "" } else { self.exclusion() };
        let partition = if self.random.chance(40) { self.partition(scope) } else { Vec::new() };
        Tree::value(
            kind,
            parts![
                Tree::other(call),
                " OVER (",
                Tree::Maybe(partition),
                order,
                Tree::Maybe(parts![frame, exclusion]),
                ")"
            ],
        )
    }
}
