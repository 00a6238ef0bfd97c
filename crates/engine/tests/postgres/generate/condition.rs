//! Conditions: comparisons, three-valued logic, and subqueries that answer yes or no.

use super::Maker;
use super::query::Wish;
use super::scope::Scope;
use crate::tree::{Tree, Type, parts};

const OPERATORS: &[&str] = &[" = ", " = ", " <> ", " < ", " <= ", " > ", " >= "];

impl Maker<'_> {
    /// A condition; `size` bounds how much it nests.
    pub(super) fn condition(&mut self, scope: &Scope, size: usize) -> Tree {
        // A subquery is no deeper for being the only one.
        let (most, size) = (size, size.min(self.size));
        if most > 0
            && self.depth > 0
            && self.random.chance(28)
            && self.burn(2)
            && let Some(parts) = self.subquery_condition(scope, size.saturating_sub(1))
        {
            return Tree::value(Type::Boolean, parts);
        }
        let parts = match self.below(20) {
            0..9 => self.comparison(scope, size),
            9 if self.features.has("whole rows") && self.random.chance(20) => match self.row_name(scope) {
                Some(name) => {
                    self.used.insert("whole rows");
                    parts!["(", name, *self.random.pick(&[" IS NULL)", " IS NOT NULL)"])]
                }
                None => self.comparison(scope, size),
            },
            9 | 10 => {
                let kind = self.kind_of(scope);
                let is = *self.random.pick(&[" IS NULL)", " IS NOT NULL)"]);
                parts!["(", self.value(kind, scope, size.min(1)), is]
            }
            11 => match self.atom(Type::Boolean, scope) {
                Some(atom) => return atom,
                None => self.comparison(scope, size),
            },
            12 => self.pattern_test(scope, size.min(1)),
            13 => self.listed(scope, size),
            14 if size > 0 => parts!["(NOT ", self.condition(scope, size - 1), ")"],
            15 | 16 if size > 0 => self.joined(scope, size - 1, " AND "),
            17 | 18 if size > 0 => self.joined(scope, size - 1, " OR "),
            19 if size > 0 => {
                let is = *self.random.pick(&[" IS TRUE)", " IS NOT TRUE)", " IS FALSE)", " IS NULL)"]);
                parts!["(", self.condition(scope, size - 1), is]
            }
            _ => self.comparison(scope, size),
        };
        Tree::value(Type::Boolean, parts)
    }

    fn joined(&mut self, scope: &Scope, size: usize, between: &'static str) -> Vec<Tree> {
        let items = vec![self.condition(scope, size), self.condition(scope, size)];
        parts!["(", Tree::list(between, items), ")"]
    }

    /// Two values that are compared.
    pub(super) fn comparison(&mut self, scope: &Scope, size: usize) -> Vec<Tree> {
        if let Some(test) = self.row_test(scope) {
            return test;
        }
        let kind = self.kind_of(scope);
        let (own, other) = (self.value(kind, scope, size), self.value(kind, scope, size.min(1)));
        if self.may("between", 8) {
            return self.between(scope, kind, own, other);
        }
        if self.may("row values", 4) {
            let second = self.kind_of(scope);
            let (third, fourth) = (self.value(second, scope, 0), self.value(second, scope, 0));
            if self.depth > 0 && self.may("scalar subqueries", 25) && self.burn(2) {
                let query = self.deeper(|maker| {
                    let wish = Wish { kinds: Some(&[kind, second]), limit: Some(1), ..Wish::default() };
                    maker.query(scope, &wish).tree
                });
                let operator = *self.random.pick(OPERATORS);
                return parts!["((", own, ", ", third, ")", operator, "(", query, "))"];
            }
            return parts!["((", own, ", ", third, ") = (", other, ", ", fourth, "))"];
        }
        let operator = match self.below(10) {
            0 => " IS DISTINCT FROM ",
            1 => " IS NOT DISTINCT FROM ",
            _ => *self.random.pick(OPERATORS),
        };
        parts!["(", own, operator, other, ")"]
    }

    fn listed(&mut self, scope: &Scope, size: usize) -> Vec<Tree> {
        if !self.may("in lists", 100) {
            return self.comparison(scope, size);
        }
        let kind = self.kind_of(scope);
        let value = self.value(kind, scope, size.min(1));
        let items = (0..self.random.between(1, 3)).map(|_| self.value(kind, scope, 0)).collect();
        let not = *self.random.pick(&["", "NOT "]);
        parts!["(", value, " ", not, "IN (", Tree::list(", ", items), "))"]
    }

    /// EXISTS, IN, ANY or ALL.
    fn subquery_condition(&mut self, scope: &Scope, size: usize) -> Option<Vec<Tree>> {
        let not = *self.random.pick(&["", "", "NOT "]);
        match self.below(3) {
            0 if self.may("exists", 100) => Some(parts!["(", not, "EXISTS (", self.rows_of_any(scope), "))"]),
            1 if self.may("in subqueries", 100) => {
                let kind = self.kind_of(scope);
                let value = self.value(kind, scope, size.min(1));
                if self.may("row values", 10) {
                    let second = self.kind_of(scope);
                    let other = self.value(second, scope, 0);
                    let query = self.rows_of(scope, &[kind, second]);
                    return Some(parts!["((", value, ", ", other, ") ", not, "IN (", query, "))"]);
                }
                Some(parts!["(", value, " ", not, "IN (", self.rows_of(scope, &[kind]), "))"])
            }
            2 if self.may("quantified", 100) => {
                let kind = self.kind_of(scope);
                let value = self.value(kind, scope, size.min(1));
                let (operator, all) = (*self.random.pick(OPERATORS), *self.random.pick(&["ANY (", "ALL (", "SOME ("]));
                Some(parts!["(", value, operator, all, self.rows_of(scope, &[kind]), "))"])
            }
            _ => None,
        }
    }
}
