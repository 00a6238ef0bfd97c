//! `WITH c AS (DELETE … RETURNING …)` before a query, or before a statement that changes another table.

use super::scope::{Level, Scope};
use super::{Cte, Maker};
use crate::tree::{Tree, parts};
use crate::world::{Columns, Table};

impl<'w> Maker<'w> {
    /// A statement whose WITH changes a table, and what shows one of the tables that it changes.
    pub(super) fn changes_in_with(&mut self) -> (Tree, String) {
        let world = self.world;
        let table = self.random.pick(&world.tables);
        self.uses(table);
        let name = (*self.random.pick(&["c", "gone", "t", "q"])).to_owned();
        let (part, columns) = self.part(table);
        let with = Tree::Solid(parts!["WITH ", name.clone(), " AS (", part, ") "]);
        self.ctes.push(Cte { name, columns });
        let others: Vec<&'w Table> = world.tables.iter().filter(|other| other.path() != table.path()).collect();
        let mut shown = table.shown();
        let main = if !others.is_empty() && self.random.chance(50) {
            let other = *self.random.pick(&others);
            self.uses(other);
            if self.random.chance(50) {
                shown = other.shown();
            }
            match self.below(3) {
                0 => self.insert(other),
                1 => self.update(other),
                _ => self.delete(other),
            }
        } else {
            self.query(&Vec::new(), &super::query::Wish::default()).tree
        };
        self.ctes.clear();
        (Tree::other(parts![with, main]), shown)
    }

    /// The part within WITH, and the columns that it gives.
    fn part(&mut self, table: &'w Table) -> (Tree, Columns) {
        let target = self.target(table);
        let scope: Scope = vec![Level::of(std::slice::from_ref(&target.source), &target.source.columns)];
        let alias = target.source.alias.clone();
        let conditions = if self.random.chance(75) { self.conditions(&scope) } else { Tree::nothing() };
        let conditions = self.of_few(conditions, &alias, table);
        let changed = match self.below(3) {
            0 => {
                let kinds: Vec<_> = table.columns.iter().map(|(_, kind)| *kind).collect();
                let rows = self.inserted_rows(&kinds, table.key);
                Tree::other(parts!["INSERT INTO ", target.tree, " ", rows])
            }
            1 => {
                let set = self.assignments(table, &scope);
                Tree::other(parts!["UPDATE ", target.tree, " SET ", set, conditions])
            }
            _ => Tree::other(parts!["DELETE FROM ", target.tree, conditions]),
        };
        let mut columns: Columns = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            let column = self.random.pick(&table.columns).clone();
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        let items: Vec<String> = columns.iter().map(|(name, _)| format!("{alias}.{name}")).collect();
        (Tree::other(parts![changed, format!(" RETURNING {}", items.join(", "))]), columns)
    }
}
