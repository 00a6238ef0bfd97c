//! `cargo xtask corpora`: other projects' SQL tests on Gingham. The work is done by an example of crate `gingham`, so that
//! this program, which CI builds first, need not wait for the engine.

use crate::process;
use std::path::Path;

/// The page has these words before the commit.
const COMMIT: &str = "Gingham was at commit `";

/// Builds the example in release and runs it; it writes the page on SQL conformance among the documents.
pub fn run(root: &Path, dir: &str, options: &[&str]) -> Result<(), String> {
    // The example is started in the checkout, from where a relative path would lead elsewhere.
    let dir = std::path::absolute(dir).map_err(|error| format!("'{dir}': {error}"))?;
    let dir = dir.to_string_lossy();
    let page = root.join("docs/sql-conformance.md");
    let page = page.to_string_lossy();
    let commit = process::output(root, "git", &["rev-parse", "--short=12", "HEAD"])?;
    // No package is named: the example shares the builds of the default members.
    let mut all: Vec<&str> = vec!["run", "--release", "--locked", "--example", "corpora", "--", &*dir];
    all.extend(options);
    all.extend(["--page", &page, "--commit", commit.trim()]);
    process::run(root, "cargo", &all, &[])
}

/// Says how many commits there are since the page was made.
pub fn tell_age(root: &Path) -> Result<(), String> {
    let page = root.join("docs/sql-conformance.md");
    let text = std::fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let commit = text.split_once(COMMIT).and_then(|(_, rest)| rest.split_once('`'));
    let (commit, _) = commit.ok_or_else(|| format!("{} names no commit", page.display()))?;
    let since = process::output(root, "git", &["rev-list", "--count", &format!("{commit}..HEAD")])?;
    println!("docs/sql-conformance.md was made at {commit}, {} commits ago", since.trim());
    Ok(())
}
