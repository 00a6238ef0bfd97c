//! The direction of dependencies: kernels <- storage <- execution <- engine <- lab <- apps, nothing the other way.

use super::rust::has_word;
use super::{File, Finding, lexer};

/// Our crates from the ground up: folder, package, and the third-party crates that have no business in it.
const LEVELS: &[(&str, &str, &[&str])] = &[
    ("crates/kernels/", "gingham-kernels", &["arrow", "parquet", "datafusion", "heed", "tokio"]),
    ("crates/storage/", "gingham-storage", &["datafusion", "tokio"]),
    ("crates/execution/", "gingham-execution", &[]),
    ("crates/engine/", "gingham", &[]),
    ("crates/reference/", "gingham-reference", &[]),
    ("crates/lab/", "gingham-lab", &[]),
];

/// Level of the file's crate: applications are above all crates; `None` for what is no crate of the product.
fn level(path: &str) -> Option<usize> {
    if ["apps/", "python/", "adbc/", "fuzz/"].iter().any(|folder| path.starts_with(folder)) {
        return Some(LEVELS.len());
    }
    LEVELS.iter().position(|(folder, ..)| path.starts_with(folder))
}

/// Dependencies in a manifest that point up, or to what the crate must not know.
pub fn check_manifest(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_dependencies = false;
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            in_dependencies = line.ends_with("dependencies]") && !line.starts_with("[workspace");
            if let Some(name) = line.trim_matches(['[', ']']).rsplit_once("dependencies.") {
                findings.extend(forbidden(file, index + 1, name.1));
            }
            continue;
        }
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
        if in_dependencies && !name.is_empty() && !name.starts_with('#') {
            findings.extend(forbidden(file, index + 1, name));
        }
    }
    findings
}

fn forbidden(file: &File, line: usize, name: &str) -> Option<Finding> {
    let ours = LEVELS.iter().position(|(_, package, _)| *package == name);
    let Some(level) = level(&file.path) else {
        let message = format!("a tool must not depend on {name}: it would have to be built first");
        return (ours.is_some() && file.path.starts_with("xtask/")).then(|| Finding::new(&file.path, line, message));
    };
    let message = match ours {
        Some(other) if other >= level => {
            format!("{name} is not below this crate: kernels <- storage <- execution <- engine <- lab <- apps")
        }
        None if LEVELS.get(level).is_some_and(|(.., strangers)| strangers.contains(&name)) => {
            format!("{name} does not belong in this crate (ARCHITECTURE.md): do it one level up")
        }
        _ => return None,
    };
    Some(Finding::new(&file.path, line, message))
}

/// Names of crates above in the code of a file (a manifest may be right and a path dependency slipped in all the same).
pub fn check_source(file: &File) -> Vec<Finding> {
    let Some(level) = level(&file.path) else { return Vec::new() };
    let mut findings = Vec::new();
    for (index, line) in lexer::lines(&file.text).iter().enumerate() {
        for (_, package, _) in LEVELS.iter().skip(level + 1) {
            let name = package.replace('-', "_");
            let used = if name.contains('_') {
                has_word(&line.code, &name)
            } else {
                line.code.contains(&format!("use {name}::")) || line.code.contains(&format!(" {name}::"))
            };
            if used {
                let message = format!("{name} is above this crate: hand what is needed down as an argument or a trait");
                findings.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    fn manifest(path: &str, text: &str) -> Vec<usize> {
        check_manifest(&sample(path, text)).iter().map(|finding| finding.line).collect()
    }

    fn source(path: &str, text: &str) -> Vec<usize> {
        check_source(&sample(path, text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn dependencies_that_point_down_pass() {
        let text = "[package]\nname = \"gingham\"\n[dependencies]\ngingham-storage.workspace = true\narrow = \"59\"\n";
        assert_eq!(manifest("crates/engine/Cargo.toml", text), [0; 0]);
        assert_eq!(manifest("apps/cli/Cargo.toml", "[dependencies]\ngingham.workspace = true\n"), [0; 0]);
    }

    #[test]
    fn dependencies_that_point_up_are_found() {
        let text = "[dependencies]\ngingham-storage.workspace = true\n";
        assert_eq!(manifest("crates/kernels/Cargo.toml", text), [2]);
        assert_eq!(manifest("crates/storage/Cargo.toml", "[dev-dependencies]\ngingham = { path = \"x\" }\n"), [2]);
        assert_eq!(manifest("crates/storage/Cargo.toml", "[dependencies.gingham-lab]\npath = \"x\"\n"), [1]);
        assert_eq!(manifest("xtask/Cargo.toml", "[dependencies]\ngingham = { path = \"x\" }\n"), [2]);
    }

    #[test]
    fn third_party_crates_have_their_level() {
        assert_eq!(manifest("crates/kernels/Cargo.toml", "[dependencies]\narrow.workspace = true\n"), [2]);
        assert_eq!(manifest("crates/storage/Cargo.toml", "[dependencies]\ndatafusion.workspace = true\n"), [2]);
    }

    #[test]
    fn names_of_crates_above_are_found_in_code() {
        assert_eq!(source("crates/kernels/src/a.rs", "//! A.\nuse gingham_storage::Error;\n"), [2]);
        assert_eq!(source("crates/storage/src/a.rs", "//! A.\nuse gingham::Database;\n"), [2]);
        assert_eq!(source("crates/engine/src/a.rs", "//! A.\nuse gingham_storage::Error; // gingham_lab\n"), [0; 0]);
    }
}
