//! MERGE, from a source of which one row at most meets each row of the target.

use super::Maker;
use super::scope::{Level, Scope};
use crate::tree::{Tree, parts};
use crate::world::{Columns, Table};

impl<'w> Maker<'w> {
    /// MERGE INTO a table.
    pub(super) fn merge(&mut self, table: &'w Table) -> Tree {
        let target = self.target(table);
        let Some((tree, source, key)) = self.unique_source(&target) else { return Tree::nothing() };
        let Some(joining) = self.joining(&target, &source, &key) else { return Tree::nothing() };
        let star: Columns = target.source.columns.iter().chain(&source.columns).cloned().collect();
        let both: Scope = vec![Level::of(&[target.source.clone(), source.clone()], &star)];
        let own: Scope = vec![Level::of(std::slice::from_ref(&source), &source.columns)];
        let mut clauses = Vec::new();
        let count = self.random.between(1, 3);
        for number in 1..=count {
            // What follows a clause for all rows is never reached, which PostgreSQL refuses.
            let all = number == count && self.random.chance(60);
            let matched = self.random.chance(60);
            clauses.push(if matched { self.matched(table, &both, all) } else { self.missing(table, &own, &key, all) });
        }
        let clauses = Tree::list(" ", clauses);
        Tree::other(parts!["MERGE INTO ", target.tree, " USING ", tree, " ON ", joining, " ", clauses])
    }

    /// `WHEN MATCHED …`.
    fn matched(&mut self, table: &Table, scope: &Scope, all: bool) -> Tree {
        let condition = self.clause_condition(scope, all);
        let action = match self.below(5) {
            0 => Tree::from("DELETE"),
            1 => Tree::from("DO NOTHING"),
            _ => Tree::other(parts!["UPDATE SET ", self.assignments(table, scope)]),
        };
        Tree::other(parts!["WHEN MATCHED", condition, " THEN ", action])
    }

    /// `WHEN NOT MATCHED …`, where the source alone can be named.
    fn missing(&mut self, table: &Table, scope: &Scope, source_key: &str, all: bool) -> Tree {
        let condition = self.clause_condition(scope, all);
        if self.random.chance(10) {
            return Tree::other(parts!["WHEN NOT MATCHED", condition, " THEN DO NOTHING"]);
        }
        let mut cells = Vec::new();
        for (number, (_, kind)) in table.columns.iter().enumerate() {
            let key = table.key == Some(number);
            cells.push(if key { self.merge_key(scope, source_key) } else { self.value(*kind, scope, 1) });
        }
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
        let list = if self.random.chance(60) { format!(" ({})", names.join(", ")) } else { String::new() };
        Tree::other(parts!["WHEN NOT MATCHED", condition, " THEN INSERT", list, " VALUES (", Tree::row(cells), ")"])
    }

    /// A key that no row has: the source's own, moved.
    fn merge_key(&mut self, scope: &Scope, key: &str) -> Tree {
        let alias = scope[0].aliases[0].clone();
        let text = if self.random.chance(50) { format!("{alias}.{key}") } else { format!("({alias}.{key} + 100000)") };
        Tree::from(text)
    }

    fn clause_condition(&mut self, scope: &Scope, all: bool) -> Tree {
        if all {
            return Tree::nothing();
        }
        Tree::other(parts![" AND ", self.condition(scope, 2)])
    }
}
