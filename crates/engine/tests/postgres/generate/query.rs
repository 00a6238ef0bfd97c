//! Queries with WITH, set operations, VALUES and ORDER BY.

use super::scope::{Scope, count};
use super::select::Select;
use super::{Cte, Maker};
use crate::tree::{Sort, Tree, Type, parts};
use crate::world::Columns;

/// What a query is to be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wish<'k> {
    /// Kinds of its columns.
    pub kinds: Option<&'k [Type]>,
    /// True when each column needs a name.
    pub named: bool,
    /// True when it gives one row at most.
    pub one: bool,
    pub limit: Option<i64>,
    /// True for the statement itself.
    pub top: bool,
}

/// A query and its columns, of which some may have no name that can be relied on: theirs is empty.
pub(super) struct Made {
    pub tree: Tree,
    pub columns: Columns,
}

/// A query without WITH and ORDER BY.
struct Body {
    tree: Tree,
    columns: Columns,
    /// What ORDER BY can name of a SELECT besides its columns.
    select: Option<Select>,
}

impl Maker<'_> {
    /// A query.
    pub(super) fn query(&mut self, scope: &Scope, wish: &Wish<'_>) -> Made {
        let outer = self.ctes.len();
        let with = if wish.top { self.may("ctes", 20) } else { self.may("ctes in subqueries", 5) };
        let with = if with && self.depth > 0 { self.with(scope) } else { Tree::nothing() };
        let body = self.body(scope, wish);
        let tail = self.tail(&body, wish);
        self.ctes.truncate(outer);
        let tree = Tree::Node(Sort::Query(body.columns.len()), parts![with, body.tree, tail]);
        Made { tree, columns: body.columns }
    }

    /// WITH and what it names, which can be named from here on.
    pub(super) fn with(&mut self, scope: &Scope) -> Tree {
        let mut names: Vec<String> = Vec::new();
        let (mut items, mut is_recursive) = (Vec::new(), false);
        for _ in 0..self.random.between(1, 2) {
            let pool: &[&str] = if self.may("ctes of tables' names", 40) { &["t", "u", "w"] } else { &["q", "r", "c"] };
            let name = (*self.random.pick(pool)).to_owned();
            if names.contains(&name) {
                continue;
            }
            if self.may("recursion", 20) {
                let (item, columns) = self.recursive(&name);
                items.push(item);
                self.ctes.push(Cte { name: name.clone(), columns });
                names.push(name);
                is_recursive = true;
                continue;
            }
            let list = self.may("alias lists", 25);
            let limit = self.may("limit", 8).then_some(2);
            let made = self.deeper(|maker| maker.query(scope, &Wish { named: !list, limit, ..Wish::default() }));
            let mut columns = made.columns;
            let mut heading = name.clone();
            if list {
                for (number, column) in columns.iter_mut().enumerate() {
                    column.0 = ["a", "k", "b", "v", "id", "c", "d"]
                        .get(number)
                        .map_or(format!("n{number}"), |name| (*name).to_owned());
                }
                let all: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                heading = format!("{name} ({})", all.join(", "));
            }
            let how = if self.may("materialized", 20) {
                *self.random.pick(&["MATERIALIZED ", "NOT MATERIALIZED "])
            } else {
                ""
            };
            items.push(Tree::other(parts![heading, " AS ", how, "(", made.tree, ")"]));
            self.ctes.push(Cte { name: name.clone(), columns });
            names.push(name);
        }
        let word = if is_recursive { "WITH RECURSIVE " } else { "WITH " };
        Tree::Maybe(parts![word, Tree::list(", ", items), " "])
    }

    fn body(&mut self, scope: &Scope, wish: &Wish<'_>) -> Body {
        let operations = ["union", "except", "intersect"];
        if !wish.one && self.random.chance(if wish.top { 14 } else { 7 }) && self.burn(1) {
            let operation = operations[[0, 0, 0, 1, 2][self.below(5)]];
            if self.may(operation, 100) {
                let kinds = match wish.kinds {
                    Some(kinds) => kinds.to_vec(),
                    None => (0..self.random.between(1, 3)).map(|_| self.random_kind()).collect(),
                };
                return self.set_operation(scope, operation, &Wish { kinds: Some(&kinds), ..*wish });
            }
        }
        if !wish.one && wish.kinds.is_some() && self.may("values", 4) {
            return self.values(scope, wish);
        }
        let select = self.select(scope, wish);
        Body { tree: select.tree.clone(), columns: select.columns.clone(), select: Some(select) }
    }

    fn set_operation(&mut self, scope: &Scope, operation: &str, wish: &Wish<'_>) -> Body {
        let left = self.operand(scope, wish);
        let right = self.operand(scope, &Wish { named: false, ..*wish });
        let all = if self.random.chance(45) { " ALL " } else { " " };
        let word = format!(" {}{all}", operation.to_uppercase());
        let tree = Tree::Node(Sort::Body(left.columns.len()), parts![left.tree, word, right.tree]);
        Body { tree, columns: left.columns, select: None }
    }

    /// A side of a set operation: a SELECT, VALUES, another set operation, or a query in parentheses.
    fn operand(&mut self, scope: &Scope, wish: &Wish<'_>) -> Body {
        let wish = Wish { top: false, limit: None, ..*wish };
        if self.random.chance(12) {
            let limit = self.may("limit", 60).then_some(2);
            let made = self.query(scope, &Wish { limit, ..wish });
            let tree = Tree::Node(Sort::Body(made.columns.len()), parts!["(", made.tree, ")"]);
            return Body { tree, columns: made.columns, select: None };
        }
        // DISTINCT ON needs an ORDER BY, which has no place here.
        let body = self.without_distinct_on(|maker| maker.body(scope, &wish));
        Body { select: None, ..body }
    }

    fn values(&mut self, scope: &Scope, wish: &Wish<'_>) -> Body {
        let kinds = wish.kinds.unwrap_or_default();
        let tree = self.value_rows(scope, kinds);
        let columns = kinds.iter().enumerate().map(|(number, kind)| (format!("column{}", number + 1), *kind)).collect();
        Body { tree, columns, select: None }
    }

    /// `VALUES …`.
    pub(super) fn value_rows(&mut self, scope: &Scope, kinds: &[Type]) -> Tree {
        // VALUES stands for a query of its own, so that what it names is around it.
        let inner: Scope = scope.iter().cloned().chain([Default::default()]).collect();
        let mut rows = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            let size = usize::from(self.may("subqueries in values", 10));
            let cells =
                self.without_windows(|maker| kinds.iter().map(|kind| maker.value(*kind, &inner, size)).collect());
            rows.push(Tree::other(parts!["(", Tree::row(cells), ")"]));
        }
        Tree::Node(Sort::Body(kinds.len()), parts!["VALUES ", Tree::list(", ", rows)])
    }

    /// ORDER BY, which orders all rows, and LIMIT.
    fn tail(&mut self, body: &Body, wish: &Wish<'_>) -> Tree {
        let on: Vec<Tree> = body.select.as_ref().map(|select| select.distinct_on.clone()).unwrap_or_default();
        let limit = wish.limit.or_else(|| (wish.top && self.may("limit", 14)).then(|| self.random.between(0, 5)));
        let wanted = if wish.top { self.random.chance(55) } else { self.random.chance(3) };
        if limit.is_none() && on.is_empty() && !wanted {
            return Tree::nothing();
        }
        let mut parts = parts![" ORDER BY "];
        for term in &on {
            parts.extend(parts![term.clone(), self.direction(), ", "]);
        }
        if self.random.chance(55) {
            for term in self.extra_terms(body) {
                parts.push(Tree::Maybe(parts![term, self.direction(), ", "]));
            }
        }
        let mut numbers: Vec<usize> = (1..=body.columns.len()).collect();
        for at in (1..numbers.len()).rev() {
            let other = self.below(at + 1);
            numbers.swap(at, other);
        }
        let terms = numbers.into_iter().map(|number| Tree::from(format!("{number}{}", self.direction()))).collect();
        parts.push(Tree::Node(Sort::Order, vec![Tree::row(terms)]));
        if let Some(limit) = limit {
            let offset = self.random.chance(20);
            parts.push(Tree::Maybe(self.limit(limit, offset)));
        }
        if on.is_empty() { Tree::Maybe(parts) } else { Tree::other(parts) }
    }

    /// What rows are ordered by before all of their columns: names of columns, and expressions where they may stand.
    fn extra_terms(&mut self, body: &Body) -> Vec<Tree> {
        let mut terms = Vec::new();
        let named = |(name, _): &&(String, Type)| !name.is_empty() && count(&body.columns, name) == 1;
        let names: Vec<String> = body.columns.iter().filter(named).map(|(name, _)| name.clone()).collect();
        if !names.is_empty() && self.may("order by names", 50) {
            terms.push(Tree::from(self.random.pick(&names).as_str()));
        }
        let Some(select) = &body.select else { return terms };
        if select.distinct || !self.may("expressions in order by", 60) {
            return terms;
        }
        terms.push(self.key(&select.scope));
        terms
    }
}
