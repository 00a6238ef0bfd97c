//! Checks of the documents: links and file names that lead nowhere, formats that no old file proves.

use super::{File, Finding, lexer};
use std::collections::{BTreeMap, BTreeSet};

/// Folders whose paths, written in backticks, must exist.
const NAMED_FOLDERS: &[&str] = &["crates/", "apps/", "docs/", "tests/", "xtask/", "benchmarks/", ".ci/"];

/// All findings in the Markdown files among `files`; `paths` has every tracked path.
pub fn check(files: &[File], paths: &BTreeSet<String>) -> Vec<Finding> {
    let pages: Vec<&File> = files.iter().filter(|file| file.path.ends_with(".md")).collect();
    let headings: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), anchors(&page.text))).collect();
    let mut findings = Vec::new();
    for page in pages {
        for (line, text) in prose(&page.text) {
            for target in link_targets(text) {
                findings.extend(dead_link(page, line, target, paths, &headings));
            }
            // A decision is a record of its day: what it names may have moved since.
            if !page.path.starts_with("docs/decisions/") && page.path != "CHANGELOG.md" {
                findings.extend(names(text).filter(|name| !exists(name, paths)).map(|name| {
                    Finding::new(&page.path, line, format!("`{name}` does not exist: name what took its place"))
                }));
            }
        }
        findings.extend(unproved_format(page, paths));
    }
    findings.extend(files.iter().filter(|file| file.path.ends_with(".rs")).flat_map(|file| pages_named(file, paths)));
    findings
}

/// Pages that comments of a Rust file send their reader to, and that do not exist.
fn pages_named(file: &File, paths: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in lexer::lines(&file.text).iter().enumerate() {
        let words = line.comment.split(|c: char| !(c.is_alphanumeric() || "/._-".contains(c)));
        let pages = words.map(|word| word.trim_end_matches('.')).filter(|word| word.starts_with("docs/"));
        findings.extend(pages.filter(|page| page.ends_with(".md") && !exists(page, paths)).map(|page| {
            Finding::new(&file.path, index + 1, format!("{page} does not exist: write it, or name what took its place"))
        }));
    }
    findings
}

/// Lines outside fenced code, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// Targets of `[text](target)`.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

fn dead_link(
    page: &File,
    line: usize,
    target: &str,
    paths: &BTreeSet<String>,
    headings: &BTreeMap<&str, BTreeSet<String>>,
) -> Option<Finding> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { page.path.clone() } else { resolve(&page.path, path) };
    if !exists(&path, paths) {
        return Some(Finding::new(&page.path, line, format!("dead link {target}: {path} does not exist")));
    }
    let known = headings.get(path.as_str())?;
    let anchor = anchor.filter(|anchor| !known.contains(*anchor))?;
    Some(Finding::new(&page.path, line, format!("dead link {target}: {path} has no heading #{anchor}")))
}

/// `target` as seen from the page `from`.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// True for a tracked file, or a folder that holds one.
fn exists(path: &str, paths: &BTreeSet<String>) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    path.is_empty()
        || paths.contains(path)
        || paths.range(folder.clone()..).next().is_some_and(|p| p.starts_with(&folder))
}

/// Paths of the checkout in backticks; patterns with `*`, `<` or `{` are none.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|name| {
        NAMED_FOLDERS.iter().any(|folder| name.starts_with(folder)) && !name.contains(['*', '<', '{', ' ', '…'])
    })
}

/// Anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let titles =
        prose(text).filter_map(|(_, line)| line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()));
    titles
        .map(|title| {
            let kept =
                title.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
            kept.replace(' ', "-")
        })
        .collect()
}

/// A page of docs/formats/ that names no file in tests/compat/.
fn unproved_format(page: &File, paths: &BTreeSet<String>) -> Option<Finding> {
    let name = page.path.strip_prefix("docs/formats/").filter(|name| *name != "README.md")?;
    let mentioned = page.text.split(['`', '(', ')', ' ', '\n']).filter(|word| word.contains("tests/compat/"));
    let proved = mentioned.map(|word| word.trim_start_matches("../")).any(|word| exists(word, paths));
    (!proved).then(|| {
        let message = format!(
            "{name} names no file of tests/compat/: commit one written in this format, with a test that reads it, and name it here"
        );
        Finding::new(&page.path, 1, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    fn found(pages: &[(&str, &str)], paths: &[&str]) -> Vec<String> {
        let files: Vec<File> = pages.iter().map(|(path, text)| sample(path, text)).collect();
        let mut all: BTreeSet<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        all.extend(files.iter().map(|file| file.path.clone()));
        check(&files, &all).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn live_links_and_names_pass() {
        let page = "# A b\n[x](docs/b.md) [y](docs/b.md#c-d) [z](#a-b) [w](https://example.org) `crates/kernels/` `docs/*.md`\n";
        assert_eq!(
            found(&[("a.md", page), ("docs/b.md", "## C, d\n[up](../a.md)\n")], &["crates/kernels/a.rs"]),
            [""; 0]
        );
        assert_eq!(found(&[("a.md", "```\n[x](nowhere)\n```\n")], &[]), [""; 0]);
    }

    #[test]
    fn dead_links_are_found() {
        let found = found(&[("docs/a.md", "# T\n[x](b.md)\n[y](#u)\n[z](../docs/a.md#t)\n")], &[]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("docs/a.md:2: dead link b.md: docs/b.md does not exist"), "{found:?}");
        assert!(found[1].starts_with("docs/a.md:3: dead link #u: docs/a.md has no heading #u"), "{found:?}");
    }

    #[test]
    fn names_of_missing_files_are_found() {
        let found = found(&[("a.md", "see `crates/x.rs`\n"), ("docs/decisions/1.md", "`crates/x.rs`\n")], &[]);
        assert_eq!(found, ["a.md:1: `crates/x.rs` does not exist: name what took its place"]);
    }

    #[test]
    fn missing_pages_named_in_comments_are_found() {
        let text = "//! See docs/b.md and docs/c.md.\nconst PAGE: &str = \"docs/d.md\";\n";
        let found = found(&[("docs/b.md", "# B\n"), ("a.rs", text)], &[]);
        assert_eq!(found, ["a.rs:1: docs/c.md does not exist: write it, or name what took its place"]);
    }

    #[test]
    fn a_format_without_a_compat_file_is_found() {
        let page = "# Segment\nAn old file: `tests/compat/v1.gingham/x.seg`.\n";
        let good = found(&[("docs/formats/segment.md", page)], &["tests/compat/v1.gingham/x.seg"]);
        assert_eq!(good, [""; 0]);
        let bad = found(&[("docs/formats/segment.md", "# Segment\n")], &[]);
        assert!(bad.len() == 1 && bad[0].starts_with("docs/formats/segment.md:1: segment.md names no file"), "{bad:?}");
        assert_eq!(found(&[("docs/formats/README.md", "# Formats\n")], &[]), [""; 0]);
    }
}
