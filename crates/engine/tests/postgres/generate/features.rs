//! What the generator can write, by name. `GINGHAM_POSTGRES_WITHOUT=windows,merge` leaves some out, and
//! `GINGHAM_POSTGRES_ONLY=lateral` all but those that are named.

use std::collections::BTreeSet;

/// All names.
pub const FEATURES: &[&str] = &[
    "aggregate order",
    "alias lists",
    "aliases of columns' names",
    "ambiguous names",
    "arithmetic of windows",
    "between",
    "comma lists",
    "cross joins",
    "ctes",
    "ctes in subqueries",
    "ctes of tables' names",
    "delete",
    "delete using",
    "derived tables",
    "distinct",
    "distinct aggregates",
    "distinct on",
    "equal items",
    "except",
    "exists",
    "expressions in group by",
    "expressions in order by",
    "filters",
    "full joins",
    "group by",
    "group by aliases",
    "group by ordinals",
    "grouping",
    "grouping sets",
    "having",
    "in lists",
    "in subqueries",
    "insert",
    "intersect",
    "join aliases",
    "lateral",
    "left joins",
    "limit",
    "materialized",
    "merge",
    "named windows",
    "natural joins",
    "nested joins",
    "no from",
    "on conflict",
    "order by names",
    "outer aggregates",
    "qualified stars",
    "quantified",
    "recursion",
    "returning",
    "right joins",
    "row values",
    "scalar subqueries",
    "schemas",
    "series",
    "set of lists",
    "stars",
    "subqueries in from's conditions",
    "subqueries in values",
    "union",
    "update",
    "update from",
    "using",
    "values",
    "views",
    "whole windows",
    "windows",
    "with before changes",
];

/// The features that are on.
#[derive(Debug, Clone)]
pub struct Features(BTreeSet<&'static str>);

impl Features {
    /// What the environment asks for.
    pub fn asked() -> Self {
        let only = names("GINGHAM_POSTGRES_ONLY");
        let without = names("GINGHAM_POSTGRES_WITHOUT").unwrap_or_default();
        let on = FEATURES.iter().copied().filter(|name| only.as_ref().is_none_or(|only| only.contains(name)));
        Self(on.filter(|name| !without.contains(name)).collect())
    }

    pub fn has(&self, feature: &str) -> bool {
        debug_assert!(FEATURES.contains(&feature), "feature '{feature}' is not in the list");
        self.0.contains(feature)
    }
}

/// The features that a variable lists.
fn names(variable: &str) -> Option<Vec<&'static str>> {
    let text = std::env::var(variable).ok()?;
    let known = |name: &str| {
        let found = FEATURES.iter().copied().find(|known| *known == name);
        found.unwrap_or_else(|| panic!("{variable}: there is no feature '{name}'; there are {}", FEATURES.join(", ")))
    };
    Some(text.split(',').map(|name| known(name.trim())).collect())
}
