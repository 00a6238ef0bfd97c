//! Checks of any text file: blanks at line ends, paths of one machine, package indexes of one place.

use super::{File, Finding};

/// Folders of one machine; a path that starts there works nowhere else.
const MACHINE_PATHS: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/tmp", "/w/"),
    concat!("C:", "\\Users\\"),
];

/// Settings that send a package manager to an index other than its own.
const INDEX_SETTINGS: &[&str] = &[
    concat!("[sou", "rce."),
    concat!("[regi", "stries"),
    concat!("replace-", "with"),
    concat!("index-", "url"),
    concat!("registry = \"", "http"),
];

/// Bytes that fuzzing begins with: messages of a protocol, whatever they look like as texts.
const SEEDS: &str = "fuzz/seeds/";

/// Cargo's own package index, as Cargo.lock names it: a fork of a crate or another index is not it.
const PUBLIC_INDEX: &str = "registry+https://github.com/rust-lang/";

/// All findings in a text file.
pub fn check(file: &File) -> Vec<Finding> {
    let is_data = [".csv", ".tbl", ".golden", ".out"].iter().any(|ending| file.path.ends_with(ending))
        || file.path.starts_with(SEEDS);
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let mut find = |message: String| findings.push(Finding::new(&file.path, index + 1, message));
        if !is_data && line.ends_with([' ', '\t', '\r']) {
            find("blanks at the end of the line: take them out".to_owned());
        }
        if let Some(path) = MACHINE_PATHS.iter().find(|path| has_absolute(line, path)) {
            find(format!(
                "a path of one machine ({path}...): write it relative to the checkout, or take it as an option"
            ));
        }
        if let Some(setting) = INDEX_SETTINGS.iter().find(|setting| line.contains(*setting)) {
            find(format!("{setting}: a package index of one place; leave the package manager its own"));
        }
        let source = line.strip_prefix("source = \"");
        if file.path.ends_with("Cargo.lock") && source.is_some_and(|source| !source.starts_with(PUBLIC_INDEX)) {
            find("a crate from elsewhere than cargo's own index: a newcomer may not reach it".to_owned());
        }
    }
    if !is_data && !file.text.is_empty() && !file.text.ends_with('\n') {
        findings.push(Finding::new(&file.path, file.text.lines().count(), "end the last line"));
    }
    findings
}

/// True where `path` stands in `line` and begins there: not in the middle of a longer path or an address.
fn has_absolute(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/*}".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&sample(path, text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn good_text_passes() {
        assert_eq!(lines("a.md", "a\nsee https://example.org/home/x and lib/work/y\n"), [0; 0]);
        assert_eq!(lines("a.csv", "a,b \r\n1,2"), [0; 0]);
        assert_eq!(lines("fuzz/seeds/frames/a", "a \0"), [0; 0]);
    }

    #[test]
    fn blanks_at_line_ends_are_found() {
        assert_eq!(lines("a.rs", "a\nb \nc\t\n"), [2, 3]);
        assert_eq!(lines("a.rs", "a\nb"), [2]);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for path in MACHINE_PATHS {
            assert_eq!(lines("a.rs", &format!("x\nopen(\"{path}x\")\n")), [2], "{path}");
        }
    }

    #[test]
    fn package_indexes_are_found() {
        for setting in INDEX_SETTINGS {
            assert_eq!(lines(".cargo/config.toml", &format!("x\n{setting}\n")), [2], "{setting}");
        }
        let lock = format!("source = \"{PUBLIC_INDEX}\"\nsource = \"registry+https://example.org/index\"\n");
        assert_eq!(lines("Cargo.lock", &lock), [2]);
        assert_eq!(lines("Cargo.lock", "source = \"git+https://example.org/x\"\n"), [1]);
    }
}
