//! Layers within a crate, and circles of its files.
//!
//! A module imports from its own layer and from lower ones. Where a crate is not there yet, the numbers below say how far
//! it is; they may only fall.

use super::imports::{Import, imports};
use super::{File, Finding};
use std::collections::{BTreeMap, BTreeSet};

/// What is asked of a crate's files.
struct Rules {
    /// The folder of its sources.
    folder: &'static str,
    /// Its top modules, lowest first; the crate's root is above them. None where the crate has no layers yet.
    layers: &'static [&'static str],
    /// Imports that point up.
    upward: usize,
    /// Files that import each other in circles.
    circles: usize,
}

const RULES: &[Rules] = &[
    Rules { folder: "crates/kernels/src/", layers: &[], upward: 0, circles: 48 },
    Rules {
        folder: "crates/storage/src/",
        layers: &[
            "sql_state",
            "panics",
            "error",
            "io",
            "model",
            "encoding",
            "decode",
            "segment",
            "pages",
            "lmdb",
            "published",
            "snapshot",
            "scan",
            "open",
            "write",
            "maintenance",
            "store",
            "rescue",
        ],
        upward: 0,
        circles: 47,
    },
    Rules {
        folder: "crates/execution/src/",
        layers: &["error", "data", "schedule", "program", "operators", "plan", "codegen", "run"],
        upward: 0,
        circles: 26,
    },
    Rules {
        folder: "crates/engine/src/",
        layers: &[
            "suggest",
            "type_name",
            "upstream_texts",
            "error",
            "published",
            "inputs",
            "postgres",
            "settings",
            "rewrite",
            "functions",
            "temporal",
            "percentiles",
            "casts",
            "bytes",
            "text",
            "wire",
            "for_arrow",
            "recording",
            "arithmetic",
            "guards",
            "windows",
            "sql",
            "shared",
            "table",
            "files",
            "equality",
            "optimizer",
            "unnest",
            "advisor",
            "bind",
            "compile",
            "datafusion",
            "session",
            "statements",
            "load",
            "connection",
            "database",
            "lab",
        ],
        upward: 3,
        circles: 96,
    },
    Rules { folder: "crates/lab/src/", layers: &[], upward: 0, circles: 27 },
];

/// Imports that point up, and numbers that are not those of the table.
pub fn check(files: &[File]) -> Vec<Finding> {
    RULES.iter().flat_map(|rules| check_crate(rules, &imports(files, rules.folder))).collect()
}

fn check_crate(rules: &Rules, imports: &[Import]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let upward: Vec<Finding> = imports.iter().filter_map(|import| points_up(rules, import)).collect();
    if upward.len() > rules.upward {
        findings.extend(upward.iter().cloned());
    }
    findings.extend(counted(rules, "imports that point up", upward.len(), rules.upward));
    findings.extend(counted(rules, "files in circles", in_circles(imports).len(), rules.circles));
    findings
}

/// Tells of a number that is not the table's.
fn counted(rules: &Rules, what: &str, found: usize, known: usize) -> Option<Finding> {
    let message = match found.cmp(&known) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Less => format!("{found} {what} where the table says {known}: write the lower number"),
        std::cmp::Ordering::Greater => format!("{found} {what}, which were {known}: import from lower files only"),
    };
    Some(Finding::new(rules.folder, 1, message))
}

fn points_up(rules: &Rules, import: &Import) -> Option<Finding> {
    let (from, to) = (layer(rules, &import.from)?, layer(rules, &import.to)?);
    (to > from).then(|| {
        let message = format!(
            "layer '{}' imports from '{}', which is above it ({}): hand down what is needed, or move it",
            rules.layers[from], rules.layers[to], import.to
        );
        Finding::new(&import.from, import.line, message)
    })
}

/// The place of a file's layer in the table; the crate's root has none.
fn layer(rules: &Rules, path: &str) -> Option<usize> {
    let module = path.strip_prefix(rules.folder)?.split('/').next()?;
    let module = module.strip_suffix(".rs").unwrap_or(module);
    rules.layers.iter().position(|layer| *layer == module)
}

/// Files from which imports lead back to themselves.
fn in_circles(imports: &[Import]) -> BTreeSet<&str> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in imports {
        next.entry(&import.from).or_default().insert(&import.to);
    }
    let leads_back = |start: &&str| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = next[*start].iter().copied().collect();
        while let Some(file) = open.pop() {
            if file == *start {
                return true;
            }
            if seen.insert(file) {
                open.extend(next.get(file).into_iter().flatten());
            }
        }
        false
    };
    next.keys().copied().filter(|start| leads_back(start)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    const SAMPLE: Rules = Rules { folder: "c/src/", layers: &["low", "high"], upward: 0, circles: 0 };

    #[test]
    fn imports_that_point_up_are_found_through_the_root() {
        let files = [
            sample("c/src/lib.rs", "pub use high::Store;\n"),
            sample("c/src/low/a.rs", "use crate::Store;\n"),
            sample("c/src/low/b.rs", "use crate::low::a;\n"),
            sample("c/src/high.rs", "use crate::low::a;\npub struct Store;\n"),
        ];
        let found = check_crate(&SAMPLE, &imports(&files, SAMPLE.folder));
        assert_eq!((found[0].path.as_str(), found[0].line), ("c/src/low/a.rs", 1));
        assert!(found[0].message.contains("'low' imports from 'high'"), "{}", found[0].message);
        assert!(found[1].message.starts_with("1 imports that point up, which were 0"), "{}", found[1].message);
        assert!(found[2].message.starts_with("2 files in circles, which were 0"), "{}", found[2].message);
    }

    #[test]
    fn a_number_that_fell_is_asked_for() {
        let rules = Rules { upward: 3, ..SAMPLE };
        let found = check_crate(&rules, &[]);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("write the lower number"), "{}", found[0].message);
    }
}
