//! INSERT, UPDATE and DELETE. Where a row could be changed by several others, those are grouped by what they are joined
//! by, so that it is clear which one changes it.

use super::Maker;
use super::from::From;
use super::query::Wish;
use super::scope::{Level, Scope, Source};
use crate::tree::{Tree, Type, parts};
use crate::world::{Columns, Table};

/// Keys from here on are in no table.
const NEW_KEYS: i64 = 100_000;

/// The table that a statement changes, under the name it has there.
pub(super) struct Target<'w> {
    pub table: &'w Table,
    pub tree: Tree,
    pub source: Source,
}

impl<'w> Maker<'w> {
    /// A statement that changes a table, and the table.
    pub(super) fn change(&mut self) -> Option<(Tree, String)> {
        let world = self.world;
        let table = self.random.pick(&world.tables);
        self.uses(table);
        if self.may("alter", 12) {
            return Some((self.alter(table), table.shown()));
        }
        let with = if self.may("with before changes", 8) { self.with(&Vec::new()) } else { Tree::nothing() };
        let tree = match self.below(10) {
            0..4 if self.may("insert", 100) => self.insert(table),
            4..7 if self.may("update", 100) => self.update(table),
            7 | 8 if self.may("delete", 100) => self.delete(table),
            9 if self.may("merge", 100) => self.merge(table),
            _ => return None,
        };
        self.ctes.clear();
        if crate::tree::length(&tree) == 0 {
            return None;
        }
        Some((Tree::other(parts![with, tree]), table.shown()))
    }

    /// The table with an alias, sometimes.
    pub(super) fn target(&mut self, table: &'w Table) -> Target<'w> {
        let alias = self.random.chance(40).then(|| (*self.random.pick(&["x", "y", "a", "k", "u"])).to_owned());
        let tree = match &alias {
            Some(alias) => Tree::from(format!("{} AS {alias}", table.path())),
            None => Tree::from(table.path()),
        };
        let schema = if alias.is_none() { table.schema } else { None };
        let alias = alias.unwrap_or_else(|| table.name.to_owned());
        Target { table, tree, source: Source { alias, schema, columns: table.columns.clone() } }
    }

    pub(super) fn insert(&mut self, table: &'w Table) -> Tree {
        let target = self.target(table);
        let mut columns: Vec<usize> = (0..table.columns.len()).collect();
        let listed = self.random.chance(60);
        let is_keyed = |column: &usize| table.key == Some(*column);
        if !listed && columns.len() > 1 && self.may("rows of fewer values", 15) && !columns.last().is_some_and(is_keyed)
        {
            columns.pop();
        }
        if listed {
            for at in (1..columns.len()).rev() {
                let other = self.below(at + 1);
                columns.swap(at, other);
            }
            let fewer = self.random.chance(40) && columns.len() > 1;
            columns.truncate(columns.len() - usize::from(fewer));
        }
        let kinds: Vec<Type> = columns.iter().map(|column| table.columns[*column].1).collect();
        let key = table.key.and_then(|key| columns.iter().position(|column| *column == key));
        let conflict = key.is_some() && self.may("on conflict", 65);
        let from_rows = self.random.chance(45);
        let unique = if conflict && !from_rows { key.and_then(|key| self.unique_query(&kinds, key)) } else { None };
        let by_query = unique.is_some();
        let rows = match unique {
            Some(query) => query,
            None if conflict || from_rows || key.is_some() => self.inserted_rows(&kinds, key.filter(|_| !conflict)),
            None => self.query(&Vec::new(), &Wish { kinds: Some(&kinds), ..Wish::default() }).tree,
        };
        let names: Vec<&str> = columns.iter().map(|column| table.columns[*column].0.as_str()).collect();
        let list = if listed { format!(" ({})", names.join(", ")) } else { String::new() };
        let action = if conflict { self.on_conflict(&target, by_query) } else { Tree::nothing() };
        let returning = self.returning(&Level::of(std::slice::from_ref(&target.source), &target.source.columns), true);
        Tree::other(parts!["INSERT INTO ", target.tree, list, " ", rows, action, returning])
    }

    /// `VALUES …` with keys that no row has, for a column where two must not meet.
    pub(super) fn inserted_rows(&mut self, kinds: &[Type], key: Option<usize>) -> Tree {
        let scope: Scope = vec![Level::default()];
        let mut rows = Vec::new();
        for number in 0..self.random.between(1, 3) {
            let cell = |maker: &mut Self, (column, kind): (usize, &Type)| match key {
                Some(key) if key == column => Tree::value(*kind, parts![(number + NEW_KEYS).to_string()]),
                _ if key.is_some() && maker.may("default values", 8) => Tree::from("DEFAULT"),
                _ => {
                    let size = usize::from(maker.may("subqueries in values", 15));
                    maker.value(*kind, &scope, size)
                }
            };
            let cells = kinds.iter().enumerate().map(|kind| cell(self, kind)).collect();
            rows.push(Tree::other(parts!["(", Tree::row(cells), ")"]));
        }
        Tree::other(parts!["VALUES ", Tree::list(", ", rows)])
    }

    /// A query whose rows all have another value in column `key`.
    pub(super) fn unique_query(&mut self, kinds: &[Type], key: usize) -> Option<Tree> {
        let from = self.from(&Vec::new());
        let level = Level::of(&from.sources, &from.star);
        let fits = |kind: Type| kind == kinds[key] || kind.is_whole() && kinds[key].is_whole();
        let atoms: Vec<Tree> =
            level.atoms.iter().filter(|atom| fits(atom.kind)).map(|atom| atom.tree.clone()).collect();
        if atoms.is_empty() {
            return None;
        }
        let by = self.random.pick(&atoms).clone();
        let inner: Scope = vec![level.clone()];
        let conditions = if self.random.chance(40) { self.conditions(&inner) } else { Tree::nothing() };
        let grouped: Scope = vec![Level { inner: Some(Box::new(level)), ..Level::default() }];
        let item = |maker: &mut Self, (column, kind): (usize, &Type)| {
            if column == key {
                return Tree::Solid(parts![by.clone()]);
            }
            maker.aggregate(*kind, &grouped).unwrap_or_else(|| maker.literal(*kind))
        };
        let items = kinds.iter().enumerate().map(|kind| item(self, kind)).collect();
        let group = Tree::Solid(parts![" GROUP BY ", by.clone(), " HAVING ", by.clone(), " IS NOT NULL"]);
        let from = Tree::other(parts![" FROM ", from.tree]);
        Some(Tree::other(parts!["SELECT ", Tree::row(items), from, conditions, group]))
    }

    /// ON CONFLICT. The order of a query's rows is not defined, so that then it is about the key alone.
    fn on_conflict(&mut self, target: &Target<'_>, by_query: bool) -> Tree {
        let key = target.table.key.map_or("", |key| target.table.columns[key].0.as_str());
        if self.random.chance(30) {
            let about = if by_query || self.random.chance(60) { format!(" ({key})") } else { String::new() };
            return Tree::from(format!(" ON CONFLICT{about} DO NOTHING"));
        }
        let excluded = Source { alias: "excluded".into(), schema: None, columns: target.source.columns.clone() };
        let star: Columns = target.source.columns.iter().chain(&excluded.columns).cloned().collect();
        let scope: Scope = vec![Level::of(&[target.source.clone(), excluded], &star)];
        let set = self.assignments(target.table, &scope);
        let conditions = if self.random.chance(30) { self.conditions(&scope) } else { Tree::nothing() };
        Tree::other(parts![format!(" ON CONFLICT ({key}) DO UPDATE SET "), set, conditions])
    }

    /// `a = …, b = …`.
    pub(super) fn assignments(&mut self, table: &Table, scope: &Scope) -> Tree {
        let mut columns: Vec<usize> = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            let column = self.below(table.columns.len());
            if !columns.contains(&column) && (table.key != Some(column) || self.random.chance(10)) {
                columns.push(column);
            }
        }
        if columns.is_empty() {
            columns.push((0..table.columns.len()).find(|column| table.key != Some(*column)).unwrap_or(0));
        }
        if columns.len() > 1 && self.may("set of lists", 15) {
            let kinds: Vec<Type> = columns.iter().map(|column| table.columns[*column].1).collect();
            let names: Vec<&str> = columns.iter().map(|column| table.columns[*column].0.as_str()).collect();
            let wish = Wish { kinds: Some(&kinds), one: true, ..Wish::default() };
            let query = self.deeper(|maker| maker.query(scope, &wish).tree);
            return Tree::other(parts![format!("({}) = (", names.join(", ")), query, ")"]);
        }
        let mut items = Vec::new();
        for column in columns {
            let (name, kind) = &table.columns[column];
            let value = match table.key != Some(column) && self.may("default values", 6) {
                true => Tree::from("DEFAULT"),
                false => self.value(*kind, scope, 2),
            };
            items.push(Tree::other(parts![format!("{name} = "), value]));
        }
        Tree::list(", ", items)
    }

    /// What the rows of a statement come from that are joined to its target: at most one of them has a given value in the
    /// column that is named last.
    pub(super) fn unique_source(&mut self, target: &Target<'_>) -> Option<(Tree, Source, String)> {
        let pool: Vec<&str> = ["s", "x", "b", "v"].into_iter().filter(|alias| *alias != target.source.alias).collect();
        let alias = (*self.random.pick(&pool)).to_owned();
        let world = self.world;
        let keyed: Vec<&Table> = world
            .tables
            .iter()
            .filter(|table| table.key.is_some() && (self.may_be_large || !table.is_large()))
            .collect();
        if !keyed.is_empty() && self.random.chance(40) {
            let table = *self.random.pick(&keyed);
            self.uses(table);
            let key = table.key.map(|key| table.columns[key].0.clone())?;
            let bare = table.name != target.source.alias && self.random.chance(50);
            let columns = table.columns.clone();
            return Some(if bare {
                let source = Source { alias: table.name.to_owned(), schema: table.schema, columns };
                (Tree::from(table.path()), source, key)
            } else {
                let tree = Tree::from(format!("{} AS {alias}", table.path()));
                (tree, Source { alias, schema: None, columns }, key)
            });
        }
        let kinds: Vec<Type> =
            std::iter::once(Type::Integer).chain((0..self.random.between(1, 2)).map(|_| self.random_kind())).collect();
        let query = self.deeper(|maker| maker.unique_query(&kinds, 0))?;
        let names = ["k", "a", "c"];
        let columns: Columns = names.iter().zip(&kinds).map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        let tree = Tree::other(parts!["(", query, format!(") AS {alias} ({})", names[..kinds.len()].join(", "))]);
        Some((tree, Source { alias, schema: None, columns }, "k".to_owned()))
    }

    /// `t.a = s.k`, by which a source is joined to the target.
    pub(super) fn joining(&mut self, target: &Target<'_>, source: &Source, key: &str) -> Option<Tree> {
        let columns = &target.source.columns;
        let whole: Vec<&String> = columns.iter().filter(|(_, kind)| kind.is_whole()).map(|(name, _)| name).collect();
        if whole.is_empty() {
            return None;
        }
        let own = format!("{}.{}", target.source.alias, self.random.pick(&whole));
        let other = format!("{}.{key}", source.alias);
        let (first, second) = if self.random.chance(50) { (&own, &other) } else { (&other, &own) };
        Some(Tree::Solid(parts![format!("{first} = {second}")]))
    }

    pub(super) fn update(&mut self, table: &'w Table) -> Tree {
        let target = self.target(table);
        if self.may("update from", 30)
            && let Some((tree, source, key)) = self.unique_source(&target)
            && let Some(joining) = self.joining(&target, &source, &key)
        {
            let star: Columns = target.source.columns.iter().chain(&source.columns).cloned().collect();
            let level = Level::of(&[target.source.clone(), source], &star);
            let scope: Scope = vec![level.clone()];
            let set = self.assignments(table, &scope);
            let more = if self.random.chance(40) {
                Tree::Maybe(parts![" AND ", self.condition(&scope, 2)])
            } else {
                Tree::nothing()
            };
            let returning = self.returning(&level, true);
            return Tree::other(parts![
                "UPDATE ",
                target.tree,
                " SET ",
                set,
                " FROM ",
                tree,
                " WHERE ",
                joining,
                more,
                returning
            ]);
        }
        let level = Level::of(std::slice::from_ref(&target.source), &target.source.columns);
        let scope: Scope = vec![level.clone()];
        let set = self.assignments(table, &scope);
        let conditions = if self.random.chance(75) { self.conditions(&scope) } else { Tree::nothing() };
        let conditions = self.of_few(conditions, &target.source.alias, table);
        let returning = self.returning(&level, true);
        Tree::other(parts!["UPDATE ", target.tree, " SET ", set, conditions, returning])
    }

    pub(super) fn delete(&mut self, table: &'w Table) -> Tree {
        let target = self.target(table);
        let level = Level::of(std::slice::from_ref(&target.source), &target.source.columns);
        if !self.may("delete using", 35) {
            let scope: Scope = vec![level.clone()];
            let conditions = self.conditions(&scope);
            let conditions = self.of_few(conditions, &target.source.alias, table);
            let returning = self.returning(&level, true);
            return Tree::other(parts!["DELETE FROM ", target.tree, conditions, returning]);
        }
        let using: From = self.items_beside(&target.source.alias);
        let sources: Vec<Source> = std::iter::once(&target.source).chain(&using.sources).cloned().collect();
        let star: Columns = target.source.columns.iter().chain(&using.star).cloned().collect();
        let both = Level::of(&sources, &star);
        // Which of several joined rows is returned is not defined: the table's own columns are.
        let own = Level { atoms: own_atoms(&both, &target.source.alias), ..both.clone() };
        let conditions = self.conditions(&vec![both]);
        let returning = self.returning(&own, false);
        Tree::other(parts!["DELETE FROM ", target.tree, " USING ", using.tree, conditions, returning])
    }

    /// ` RETURNING …`.
    pub(super) fn returning(&mut self, level: &Level, star: bool) -> Tree {
        if !self.may("returning", 40) {
            return Tree::nothing();
        }
        let scope: Scope = vec![level.clone()];
        let mut items = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            if star && self.random.chance(25) {
                items.push(Tree::from("*"));
                continue;
            }
            let kind = self.kind_of(&scope);
            items.push(self.item(kind, &scope, false).tree);
        }
        Tree::Maybe(parts![" RETURNING ", Tree::list(", ", items)])
    }
}

/// The atoms that name columns of one source by its alias.
fn own_atoms(level: &Level, alias: &str) -> Vec<super::scope::Atom> {
    level.atoms.iter().filter(|atom| atom.qualifier.as_deref() == Some(alias)).cloned().collect()
}
