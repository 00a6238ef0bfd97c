//! Subqueries: of one value, and of rows that are asked about.

use super::Maker;
use super::query::Wish;
use super::scope::Scope;
use crate::tree::{Sort, Tree, Type, parts};

impl Maker<'_> {
    /// A subquery as a value: of one row at most, nearly always.
    pub(super) fn scalar(&mut self, kind: Type, scope: &Scope) -> Tree {
        self.used.insert("scalar subqueries");
        let query = self.deeper(|maker| match maker.below(10) {
            0..6 => {
                let wish = Wish { kinds: Some(&[kind]), one: true, ..Wish::default() };
                maker.query(scope, &wish).tree
            }
            6 if maker.features.has("no from") => {
                maker.used.insert("no from");
                let value = maker.value(kind, scope, 1);
                let items = Tree::Node(Sort::Items, vec![Tree::list(", ", vec![value])]);
                Tree::Node(Sort::Query(1), vec![Tree::Node(Sort::Body(1), parts!["SELECT ", items])])
            }
            _ => {
                let wish = Wish { kinds: Some(&[kind]), limit: Some(1), ..Wish::default() };
                maker.query(scope, &wish).tree
            }
        });
        Tree::value(kind, parts!["(", query, ")"])
    }

    /// A subquery with columns of these kinds and any number of rows.
    pub(super) fn rows_of(&mut self, scope: &Scope, kinds: &[Type]) -> Tree {
        self.deeper(|maker| {
            let limit = maker.may("limit", 8).then(|| maker.random.between(0, 3));
            maker.query(scope, &Wish { kinds: Some(kinds), limit, ..Wish::default() }).tree
        })
    }

    /// A subquery of which only whether it has rows is asked.
    pub(super) fn rows_of_any(&mut self, scope: &Scope) -> Tree {
        self.deeper(|maker| maker.query(scope, &Wish::default()).tree)
    }
}
