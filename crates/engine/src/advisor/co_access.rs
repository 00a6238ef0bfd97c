//! Columns that are used together, found by joining the two most alike groups again and again (hierarchical clustering).
//!
//! Two groups are alike as far as statements that use one use the other, weighed by the bytes that they read.

use crate::advisor::facts::TableFacts;
use crate::advisor::usage::TableUse;
use gingham_storage::ColumnId;
use std::collections::BTreeSet;

/// Partitions at most.
const PARTITIONS: usize = 6;
/// Likenesses down to which groups are joined, one for each partition.
const LEVELS: [f64; PARTITIONS] = [0.99, 0.8, 0.6, 0.4, 0.2, 0.05];

/// Groups of two or more columns, from the most alike to the least; no two partitions are the same.
pub(super) fn groupings(facts: &TableFacts, uses: &[(f64, &TableUse)]) -> Vec<Vec<Vec<ColumnId>>> {
    let sets: Vec<(f64, BTreeSet<ColumnId>)> = uses
        .iter()
        .map(|(weight, of_table)| {
            let filters = of_table.filters.iter().map(|filter| filter.column);
            let used: BTreeSet<ColumnId> = of_table.columns.iter().copied().chain(filters).collect();
            let bytes: f64 =
                facts.columns.iter().filter(|own| used.contains(&own.column)).map(|own| own.native_bytes()).sum();
            (weight * bytes, used)
        })
        .collect();
    let mut groups: Vec<Vec<ColumnId>> = facts.columns.iter().map(|own| vec![own.column]).collect();
    let mut found: Vec<Vec<Vec<ColumnId>>> = Vec::new();
    for level in LEVELS {
        while let Some((a, b)) = most_alike(&groups, &sets, level) {
            let joined = groups.swap_remove(b.max(a));
            groups[a.min(b)].extend(joined);
        }
        let mut several: Vec<Vec<ColumnId>> = groups.iter().filter(|group| group.len() > 1).cloned().collect();
        several.iter_mut().for_each(|group| group.sort_unstable());
        several.sort();
        if !several.is_empty() && !found.contains(&several) {
            found.push(several);
        }
    }
    found
}

/// The two groups that are most alike, when they are so to that degree.
fn most_alike(groups: &[Vec<ColumnId>], sets: &[(f64, BTreeSet<ColumnId>)], level: f64) -> Option<(usize, usize)> {
    let mut best: Option<(f64, usize, usize)> = None;
    for a in 0..groups.len() {
        for b in a + 1..groups.len() {
            let likeness = likeness(&groups[a], &groups[b], sets);
            if likeness >= level && best.is_none_or(|(known, ..)| likeness > known) {
                best = Some((likeness, a, b));
            }
        }
    }
    best.map(|(_, a, b)| (a, b))
}

/// The bytes of statements that use all columns of both, among those that use any.
fn likeness(a: &[ColumnId], b: &[ColumnId], sets: &[(f64, BTreeSet<ColumnId>)]) -> f64 {
    let (mut both, mut either) = (0.0, 0.0);
    for (bytes, used) in sets {
        let members = || a.iter().chain(b);
        if members().any(|column| used.contains(column)) {
            either += bytes;
            both += if members().all(|column| used.contains(column)) { *bytes } else { 0.0 };
        }
    }
    if either > 0.0 { both / either } else { 0.0 }
}
