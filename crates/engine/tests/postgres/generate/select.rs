//! SELECT: its items, WHERE, DISTINCT, windows by name.

use super::Maker;
use super::from::From;
use super::query::Wish;
use super::scope::{Level, Scope};
use crate::tree::{Sort, Tree, Type, parts};
use crate::world::{Columns, Table};

/// A SELECT without ORDER BY.
#[derive(Debug, Clone)]
pub(super) struct Select {
    pub tree: Tree,
    pub columns: Columns,
    /// The names that its items see.
    pub scope: Scope,
    pub distinct: bool,
    /// The values of DISTINCT ON.
    pub distinct_on: Vec<Tree>,
}

/// An item, its value and its alias.
pub(super) struct Item {
    pub tree: Tree,
    pub value: Option<Tree>,
    pub alias: Option<String>,
    columns: Columns,
}

impl Maker<'_> {
    /// A SELECT.
    pub(super) fn select(&mut self, scope: &Scope, wish: &Wish<'_>) -> Select {
        let outer_windows = self.windows.take();
        let outer_large = self.large.take();
        let from = if !wish.one && self.may("no from", 3) { None } else { Some(self.from(scope)) };
        let large = std::mem::replace(&mut self.large, outer_large);
        let level = from.as_ref().map(|from| Level::of(&from.sources, &from.star)).unwrap_or_default();
        let mut inner: Scope = scope.iter().cloned().chain([level]).collect();
        let conditions = if self.random.chance(40) { self.conditions(&inner) } else { Tree::nothing() };
        let large = large.filter(|(alias, _)| inner.last().is_some_and(|level| level.aliases.contains(alias)));
        let grouping = self.grouping(&inner, wish, large.is_some());
        let conditions = match &large {
            Some((alias, table)) if grouping.is_none() || self.random.chance(25) => {
                self.of_few(conditions, alias, table)
            }
            _ => conditions,
        };
        if let Some(grouping) = &grouping {
            let own = inner.pop().unwrap_or_default();
            inner.push(grouping.level(own));
        }
        let windows = self.window_clause(&inner);
        let items = self.items(&inner, from.as_ref().filter(|_| grouping.is_none()), wish);
        let group = grouping.map_or(Tree::nothing(), |grouping| self.group_clause(&grouping, &inner, &items));
        self.windows = None;
        let mut distinct = Tree::nothing();
        let mut distinct_on = Vec::new();
        let plain = self.may("distinct", 10);
        if plain {
            distinct = Tree::Maybe(parts!["DISTINCT "]);
        } else if !wish.one && self.distinct_on_allowed() && self.may("distinct on", 4) {
            distinct_on.push(self.key(&inner));
            distinct = Tree::Maybe(parts!["DISTINCT ON (", distinct_on[0].clone(), ") "]);
        }
        self.windows = outer_windows;
        let columns: Columns = items.iter().flat_map(|item| item.columns.iter().cloned()).collect();
        let list = Tree::list(", ", items.into_iter().map(|item| item.tree).collect());
        let from = from.map_or(Tree::nothing(), |from| Tree::Maybe(parts![" FROM ", from.tree]));
        let parts = parts!["SELECT ", distinct, Tree::Node(Sort::Items, vec![list]), from, conditions, group, windows];
        let tree = Tree::Node(Sort::Body(columns.len()), parts);
        Select { tree, columns, scope: inner, distinct: plain, distinct_on }
    }

    /// ` WHERE …`.
    pub(super) fn conditions(&mut self, scope: &Scope) -> Tree {
        let count = if self.random.chance(75) { 1 } else { 2 };
        let conditions = (0..count).map(|_| self.condition(scope, 2)).collect();
        Tree::Maybe(parts![" WHERE ", Tree::list(" AND ", conditions)])
    }

    /// Conditions with one more that few records of a table meet, for a large one.
    pub(super) fn of_few(&mut self, conditions: Tree, alias: &str, table: &Table) -> Tree {
        let Some(few) = table.few(&mut self.random, alias).filter(|_| self.random.chance(90)) else {
            return conditions;
        };
        let word = if crate::tree::length(&conditions) == 0 { " WHERE " } else { " AND " };
        Tree::other(parts![conditions, Tree::Maybe(parts![word, few])])
    }

    /// Makes windows possible, and names one.
    fn window_clause(&mut self, scope: &Scope) -> Tree {
        self.windows = None;
        let clause = if self.features.has("windows") && self.may("named windows", 6) {
            let partition = Tree::Maybe(self.partition(scope));
            let ordered = self.random.chance(40);
            let order = if ordered { Tree::other(self.window_order(scope)) } else { Tree::nothing() };
            self.windows = Some(vec![("w".to_owned(), ordered)]);
            Tree::Maybe(parts![" WINDOW w AS (", partition, order, ")"])
        } else {
            self.windows = Some(Vec::new());
            Tree::nothing()
        };
        if !self.features.has("windows") {
            self.windows = None;
        }
        clause
    }

    fn items(&mut self, scope: &Scope, from: Option<&From>, wish: &Wish<'_>) -> Vec<Item> {
        if let Some(kinds) = wish.kinds {
            return kinds.iter().map(|kind| self.item(*kind, scope, wish.named)).collect();
        }
        let mut items: Vec<Item> = Vec::new();
        let mut starred = false;
        for _ in 0..self.random.between(1, 4) {
            if let Some(from) = from.filter(|_| !starred)
                && let Some(star) = self.star(from)
            {
                items.push(star);
                starred = self.random.chance(80);
            } else if !items.is_empty() && self.may("equal items", 8) {
                let item = self.random.pick(&items);
                items.push(Item {
                    tree: item.tree.clone(),
                    value: item.value.clone(),
                    alias: item.alias.clone(),
                    columns: item.columns.clone(),
                });
            } else {
                let kind = if self.random.chance(25) { self.random_kind() } else { self.kind_of(scope) };
                items.push(self.item(kind, scope, wish.named));
            }
        }
        items
    }

    /// `*` or `t.*`, of not too many columns.
    fn star(&mut self, from: &From) -> Option<Item> {
        let item = |text: String, columns: &Columns| Item {
            tree: Tree::from(text),
            value: None,
            alias: None,
            columns: columns.clone(),
        };
        if from.star.len() <= 9 && self.may("stars", 16) {
            return Some(item("*".to_owned(), &from.star));
        }
        if !self.may("qualified stars", 10) {
            return None;
        }
        let source = self.random.pick(&from.sources);
        let same = from.sources.iter().filter(|other| other.alias == source.alias).count();
        let path = match source.schema {
            Some(schema) if same > 1 => format!("{schema}.{}", source.alias),
            None if same > 1 => return None,
            _ => source.alias.clone(),
        };
        Some(item(format!("{path}.*"), &source.columns))
    }

    /// A value, with a name when it needs one.
    pub(super) fn item(&mut self, kind: Type, scope: &Scope, named: bool) -> Item {
        let value = self.value(kind, scope, 2);
        let own = name_of(&value);
        let alias = (named && own.is_none() || self.random.chance(25)).then(|| self.column_name());
        let name = alias.clone().or(own).unwrap_or_default();
        let written = match &alias {
            Some(alias) if named => Tree::from(format!(" AS {alias}")),
            Some(alias) => Tree::Maybe(parts![format!(" AS {alias}")]),
            None => Tree::nothing(),
        };
        let tree = Tree::other(parts![value.clone(), written]);
        Item { tree, value: Some(value), alias, columns: vec![(name, kind)] }
    }
}

/// The name that a column has without an alias, for a value that is a column's name.
fn name_of(value: &Tree) -> Option<String> {
    let text = value.to_string();
    let name = |part: &str| match part.strip_prefix('"').and_then(|part| part.strip_suffix('"')) {
        Some(quoted) => !quoted.contains('"'),
        None => {
            part.starts_with(|c: char| c.is_ascii_lowercase())
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        }
    };
    text.split('.').all(name).then(|| text.rsplit('.').next().unwrap_or(&text).to_owned())
}
