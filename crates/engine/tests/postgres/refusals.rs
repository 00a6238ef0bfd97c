//! The kinds of errors for which Gingham refuses what PostgreSQL answers: a list that may only get shorter.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The file of the list, a kind a line.
pub fn file() -> PathBuf {
    crate::replay::folder().join("refused.list")
}

/// The kinds of the list.
pub fn known() -> BTreeSet<String> {
    let file = file();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}
