//! What the generator can write, by name. `GINGHAM_POSTGRES_WITHOUT=windows,merge` leaves some out, and
//! `GINGHAM_POSTGRES_ONLY=lateral` all but those that are named.

use crate::tree::Type;
use std::collections::BTreeSet;

/// All names.
pub const FEATURES: &[&str] = &[
    "aggregate order",
    "alias lists",
    "aliases of columns' names",
    "alter",
    "altered tables",
    "ambiguous names",
    "arithmetic of windows",
    "averages",
    "bare functions",
    "between",
    "bytes",
    "casts of join keys",
    "changes in with",
    "chars",
    "comma lists",
    "cross joins",
    "ctes",
    "ctes in subqueries",
    "ctes of tables' names",
    "default values",
    "delete",
    "delete using",
    "derived tables",
    "distinct",
    "distinct aggregates",
    "distinct on",
    "equal items",
    "escapes",
    "except",
    "excluded rows",
    "executions",
    "exists",
    "expressions in group by",
    "expressions in order by",
    "extract",
    "fetch",
    "filters",
    "full joins",
    "gaps",
    "group by",
    "group by aliases",
    "group by ordinals",
    "grouping",
    "grouping sets",
    "groups frames",
    "having",
    "in lists",
    "in subqueries",
    "insert",
    "intersect",
    "intervals",
    "join aliases",
    "lateral",
    "left joins",
    "like any",
    "limit",
    "materialized",
    "memory limits",
    "merge",
    "named windows",
    "natural joins",
    "nested grouping sets",
    "nested joins",
    "no from",
    "odd dates",
    "on conflict",
    "order by names",
    "ordinality",
    "outer aggregates",
    "overlaps",
    "qualified stars",
    "quantified",
    "quoted names",
    "quotients",
    "range frames",
    "recursion",
    "returning",
    "right joins",
    "row values",
    "rows as values",
    "rows from",
    "scalar subqueries",
    "schemas",
    "series",
    "rows of fewer values",
    "set of lists",
    "special floats",
    "stars",
    "subqueries in from's conditions",
    "subqueries in values",
    "sums of big integers",
    "symmetric",
    "tables in deltas",
    "tables in heap pages",
    "tables in segments",
    "tables of two zones",
    "tables with deleted records",
    "ties",
    "timestamps",
    "union",
    "update",
    "update from",
    "using",
    "values",
    "views",
    "whole rows",
    "whole windows",
    "wide decimals",
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

    /// These but for one.
    pub fn without(&self, feature: &str) -> Self {
        Self(self.0.iter().copied().filter(|name| *name != feature).collect())
    }

    pub fn has(&self, feature: &str) -> bool {
        debug_assert!(FEATURES.contains(&feature), "feature '{feature}' is not in the list");
        self.0.contains(feature)
    }

    /// The types that values have; of columns alone when `stored` says so.
    pub fn types(&self, stored: bool) -> Vec<Type> {
        let more = TYPES.iter().filter(|(feature, _)| self.has(feature)).map(|(_, kind)| *kind);
        Type::PLAIN.into_iter().chain(more).filter(|kind| !stored || *kind != Type::Interval).collect()
    }

    /// The feature that a type is.
    pub fn of_type(kind: Type) -> Option<&'static str> {
        TYPES.iter().find(|(_, own)| *own == kind).map(|(feature, _)| *feature)
    }
}

/// Types that are features of their own.
const TYPES: [(&str, Type); 5] = [
    ("chars", Type::Char),
    ("bytes", Type::Bytes),
    ("wide decimals", Type::Wide),
    ("timestamps", Type::Timestamp),
    ("intervals", Type::Interval),
];

/// The features that a variable lists.
fn names(variable: &str) -> Option<Vec<&'static str>> {
    let text = std::env::var(variable).ok()?;
    let known = |name: &str| {
        let found = FEATURES.iter().copied().find(|known| *known == name);
        found.unwrap_or_else(|| panic!("{variable}: there is no feature '{name}'; there are {}", FEATURES.join(", ")))
    };
    Some(text.split(',').map(|name| known(name.trim())).collect())
}
