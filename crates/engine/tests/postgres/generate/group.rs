//! GROUP BY in all its forms, and HAVING.

use super::Maker;
use super::query::Wish;
use super::scope::{Atom, Level, Scope};
use super::select::Item;
use crate::tree::{Tree, parts};

/// How rows are grouped.
pub(super) struct Grouping {
    /// What they are grouped by; nothing for one group of all rows.
    keys: Vec<Atom>,
    /// True for GROUPING SETS, ROLLUP and CUBE.
    sets: bool,
}

impl Grouping {
    /// The names of the grouped rows.
    pub fn level(&self, inner: Level) -> Level {
        // Rows of two grouping sets may have the same keys.
        let total = if self.sets { Vec::new() } else { self.keys.iter().map(|key| key.tree.clone()).collect() };
        let (names, aliases) = (inner.names.clone(), inner.aliases.clone());
        Level { atoms: self.keys.clone(), names, aliases, inner: Some(Box::new(inner)), total }
    }
}

impl Maker<'_> {
    /// Whether and by what the rows of `scope`'s innermost query are grouped.
    pub(super) fn grouping(&mut self, scope: &Scope, wish: &Wish<'_>, is_large: bool) -> Option<Grouping> {
        if wish.one {
            return Some(Grouping { keys: Vec::new(), sets: false });
        }
        if !self.may("group by", if is_large { 55 } else { 20 }) {
            return None;
        }
        let own = scope.last()?;
        if own.atoms.is_empty() || self.random.chance(15) {
            return Some(Grouping { keys: Vec::new(), sets: false });
        }
        let mut keys: Vec<Atom> = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            let key = if self.may("expressions in group by", 15) {
                let kind = self.random_kind();
                let tree = self.value(kind, scope, 1);
                let text = tree.to_string();
                let own = text.starts_with('(') || text.starts_with("COALESCE") || text.starts_with("upper");
                own.then_some(Atom { tree, kind, name: None, qualifier: None })
            } else {
                Some(self.random.pick(&own.atoms).clone())
            };
            let Some(key) = key else { continue };
            if keys.iter().all(|other| other.tree.to_string() != key.tree.to_string()) {
                keys.push(key);
            }
        }
        let sets = !keys.is_empty() && self.may("grouping sets", 18);
        Some(Grouping { keys, sets })
    }

    /// ` GROUP BY … HAVING …`.
    pub(super) fn group_clause(&mut self, grouping: &Grouping, scope: &Scope, items: &[Item]) -> Tree {
        let keys: Vec<Tree> = grouping.keys.iter().map(|key| self.group_key(&key.tree, scope, items)).collect();
        let by = if keys.is_empty() {
            Tree::nothing()
        } else if grouping.sets {
            Tree::other(parts![" GROUP BY ", self.grouping_sets(&grouping.keys)])
        } else {
            Tree::other(parts![" GROUP BY ", Tree::list(", ", keys)])
        };
        let having = if self.may("having", 25) {
            let condition = self.without_windows(|maker| maker.condition(scope, 2));
            Tree::Maybe(parts![" HAVING ", condition])
        } else {
            Tree::nothing()
        };
        Tree::other(parts![by, having])
    }

    /// A key as GROUP BY names it: as itself, by the number of an item, or by an item's alias.
    fn group_key(&mut self, key: &Tree, scope: &Scope, items: &[Item]) -> Tree {
        let text = key.to_string();
        let same = |item: &Item| item.value.as_ref().is_some_and(|value| value.to_string() == text);
        let Some(at) = items.iter().position(same) else { return key.clone() };
        if items[..at].iter().all(|item| item.value.is_some()) && self.may("group by ordinals", 30) {
            return Tree::from((at + 1).to_string());
        }
        let hidden = |alias: &String| scope.last().is_some_and(|level| level.names.contains(alias));
        match &items[at].alias {
            Some(alias) if !hidden(alias) && self.may("group by aliases", 40) => Tree::from(alias.as_str()),
            _ => key.clone(),
        }
    }

    fn grouping_sets(&mut self, keys: &[Atom]) -> Tree {
        let all = || Tree::row(keys.iter().map(|key| key.tree.clone()).collect());
        if self.may("nested grouping sets", 25) {
            let one = Tree::other(parts!["(", self.random.pick(keys).tree.clone(), ")"]);
            return match self.below(3) {
                0 => Tree::other(parts!["GROUPING SETS (ROLLUP (", all(), "), ", one, ", ())"]),
                1 => Tree::other(parts!["GROUPING SETS (CUBE (", all(), "), GROUPING SETS (", one, ", ()))"]),
                _ => Tree::other(parts!["DISTINCT ROLLUP (", all(), "), GROUPING SETS (", one, ", ())"]),
            };
        }
        match self.below(4) {
            0 => Tree::other(parts!["ROLLUP (", all(), ")"]),
            1 => Tree::other(parts!["CUBE (", all(), ")"]),
            2 if keys.len() > 1 => {
                let first = keys[0].tree.clone();
                let rest = Tree::row(keys[1..].iter().map(|key| key.tree.clone()).collect());
                Tree::other(parts![first, ", ROLLUP (", rest, ")"])
            }
            _ => {
                let one = Tree::other(parts!["(", self.random.pick(keys).tree.clone(), ")"]);
                let sets = vec![Tree::other(parts!["(", all(), ")"]), one, Tree::from("()")];
                Tree::other(parts!["GROUPING SETS (", Tree::list(", ", sets), ")"])
            }
        }
    }
}
