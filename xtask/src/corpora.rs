//! `cargo xtask corpora`: other projects' SQL tests on Gingham. The work is done by an example of crate `gingham`, so that
//! this program, which CI builds first, need not wait for the engine.

use crate::process;
use std::path::Path;

/// Builds the example in release and runs it; it writes the page on SQL conformance among the documents.
pub fn run(root: &Path, dir: &str, options: &[&str]) -> Result<(), String> {
    // The example is started in the checkout, from where a relative path would lead elsewhere.
    let dir = std::path::absolute(dir).map_err(|error| format!("'{dir}': {error}"))?;
    let dir = dir.to_string_lossy();
    let page = root.join("docs/sql-conformance.md");
    let page = page.to_string_lossy();
    let mut all: Vec<&str> =
        vec!["run", "--release", "--locked", "--package", "gingham", "--example", "corpora", "--", &*dir];
    all.extend(options);
    all.extend(["--page", &page]);
    process::run(root, "cargo", &all, &[])
}
