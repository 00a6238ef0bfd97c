//! Clauses and forms of PostgreSQL's that have another spelling than what most statements use: ESCAPE, LIKE ANY, BETWEEN SYMMETRIC,
//! rows as values, OVERLAPS, frames that leave rows out, FETCH, WITH ORDINALITY, ROWS FROM.

use super::Maker;
use super::scope::Scope;
use crate::tree::{Tree, Type, parts};

impl Maker<'_> {
    /// A test of a text by a pattern.
    pub(super) fn pattern_test(&mut self, scope: &Scope, size: usize) -> Vec<Tree> {
        let value = self.value(Type::Text, scope, size);
        let not = *self.random.pick(&["", "NOT "]);
        if self.may("escapes", 25) {
            let test = *self.random.pick(&[
                "LIKE '%#%%' ESCAPE '#'",
                "LIKE 'x!%%' ESCAPE '!'",
                "LIKE '_' ESCAPE ''",
                "LIKE '\\%' ESCAPE ''",
                "LIKE '%%y' ESCAPE '%'",
                "LIKE 'x%' ESCAPE NULL",
                "SIMILAR TO '(x|y)#_%' ESCAPE '#'",
                "SIMILAR TO '(x|y)%' ESCAPE ''",
            ]);
            return parts!["(", value, " ", not, test, ")"];
        }
        if self.may("like any", 25) {
            let each = *self.random.pick(&["LIKE ANY ", "LIKE ALL ", "LIKE SOME "]);
            // An aggregate of no column would be one of the query's rows.
            let is_grouped = scope.last().is_some_and(|level| level.inner.is_some());
            if self.depth > 0 && !is_grouped && self.random.chance(40) && self.burn(2) {
                return parts!["(", value, " ", not, each, "(", self.rows_of(scope, &[Type::Text]), "))"];
            }
            let patterns = *self.random.pick(&[
                "['x%', '%y']",
                "['_', NULL]",
                "['%']",
                "['x%', 'y%', '_z%']",
                "[NULL]::VARCHAR[]",
            ]);
            return parts!["(", value, " ", not, each, "(ARRAY", patterns, "))"];
        }
        let pattern = *self.random.pick(&["'x%'", "'%y'", "'_'", "'%'"]);
        parts!["(", value, " ", not, "LIKE ", pattern, ")"]
    }

    /// BETWEEN, with its ends in any order now and then.
    pub(super) fn between(&mut self, scope: &Scope, kind: Type, own: Tree, other: Tree) -> Vec<Tree> {
        let last = self.value(kind, scope, 0);
        let not = *self.random.pick(&["", "NOT "]);
        let symmetric = if self.may("symmetric", 30) { "SYMMETRIC " } else { "" };
        parts!["(", own, " ", not, "BETWEEN ", symmetric, other, " AND ", last, ")"]
    }

    /// `(a, b) IS NULL`, `(a, b) BETWEEN …`, `(a, b) IN (…)`, `(a, b) OVERLAPS (c, d)`; `None` where none of these is wanted.
    pub(super) fn row_test(&mut self, scope: &Scope) -> Option<Vec<Tree>> {
        if self.may("overlaps", 2) {
            let kind = *self.random.pick(&[Type::Date, Type::Timestamp]);
            if self.features.types(false).contains(&kind) {
                let mut moment = || Tree::other(parts!["CAST(", self.value(kind, scope, 0), " AS TIMESTAMP)"]);
                let (a, b, c, d) = (moment(), moment(), moment(), moment());
                return Some(parts!["((", a, ", ", b, ") OVERLAPS (", c, ", ", d, "))"]);
            }
        }
        if !self.may("rows as values", 4) {
            return None;
        }
        let kinds = [self.kind_of(scope), self.kind_of(scope)];
        let row = |maker: &mut Self| {
            let values = kinds.iter().map(|kind| maker.value(*kind, scope, 0)).collect();
            Tree::other(parts!["ROW(", Tree::row(values), ")"])
        };
        let first = row(self);
        Some(match self.below(4) {
            0 => parts!["(", first, *self.random.pick(&[" IS NULL)", " IS NOT NULL)"])],
            1 => {
                let (least, most) = (row(self), row(self));
                parts!["(", first, " BETWEEN ", least, " AND ", most, ")"]
            }
            2 => {
                let (one, two) = (row(self), row(self));
                let not = *self.random.pick(&["", "NOT "]);
                parts!["(", first, " ", not, "IN (", one, ", ", two, "))"]
            }
            _ => {
                let is = *self.random.pick(&[" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "]);
                parts!["(", first, is, row(self), ")"]
            }
        })
    }

    /// A member of FROM whose row can be named: no column has its name.
    pub(super) fn row_name(&mut self, scope: &Scope) -> Option<String> {
        let own = scope.last()?;
        let is_column = |name: &String| scope.iter().any(|level| level.names.contains(name));
        let is_once = |name: &&String| own.aliases.iter().filter(|other| other == name).count() == 1;
        let names: Vec<&String> = own.aliases.iter().filter(is_once).filter(|name| !is_column(name)).collect();
        if names.is_empty() || own.inner.is_some() { None } else { Some((*self.random.pick(&names)).clone()) }
    }

    /// What a frame leaves out.
    pub(super) fn exclusion(&mut self) -> &'static str {
        if !self.may("excluded rows", 30) {
            return "";
        }
        let kinds = [" EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS"];
        let kind: &&'static str = self.random.pick(&kinds);
        kind
    }

    /// ` LIMIT …`, or the standard's words for it.
    pub(super) fn limit(&mut self, limit: i64, offset: bool) -> Vec<Tree> {
        if self.may("fetch", 30) {
            let offset = if offset { " OFFSET 1 ROWS" } else { "" };
            let ties = if self.may("ties", 40) { "WITH TIES" } else { "ONLY" };
            return parts![offset, format!(" FETCH FIRST {limit} ROWS {ties}")];
        }
        let offset = if offset { " OFFSET 1" } else { "" };
        parts![format!(" LIMIT {limit}"), Tree::Maybe(parts![offset])]
    }

    /// Functions of FROM with numbers of their rows, or side by side, and how many columns they have.
    pub(super) fn functions_in_from(&mut self, last: Tree) -> (Tree, Vec<Type>) {
        let series = parts!["generate_series(1, CAST(", last, " AS INTEGER))"];
        if self.may("ordinality", 25) {
            return (Tree::other(parts![Tree::other(series), " WITH ORDINALITY"]), vec![Type::Integer, Type::Big]);
        }
        if self.may("rows from", 25) {
            let other = *self.random.pick(&["generate_series(5, 6)", "generate_series(2, 1)", "abs(-3)"]);
            let tree = parts!["ROWS FROM (", Tree::other(series), ", ", other, ")"];
            return (Tree::other(tree), vec![Type::Integer, Type::Integer]);
        }
        (Tree::other(series), vec![Type::Integer])
    }
}
