//! Names of types: within a crate one name means one type.
//!
//! Files that do one thing for several instruction sets, `avx2.rs` beside `avx512.rs` and `scalar.rs`, may name their types
//! alike, and so may test modules. A type that is declared twice in one file under opposite `cfg`s is one type.

use super::{File, Finding, lexer};
use std::collections::BTreeMap;

/// Files of an instruction set.
const INSTRUCTION_SETS: &[&str] = &["avx2.rs", "avx512.rs", "scalar.rs"];

/// Words before a type's name.
const DECLARING: &[&str] = &["struct ", "enum ", "union ", "trait ", "type "];

/// Types of one name in one crate.
pub fn check(files: &[File]) -> Vec<Finding> {
    let mut known: BTreeMap<(&str, String), &str> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in files {
        let Some(krate) = crate_of(&file.path) else { continue };
        for (line, name) in declared(&file.text) {
            match known.get(&(krate, name.clone())) {
                Some(other) if !may_share(other, &file.path) => {
                    let message = format!("{name} is declared in {other} too: two things, two names");
                    findings.push(Finding::new(&file.path, line, message));
                }
                Some(_) => {}
                None => {
                    known.insert((krate, name), &file.path);
                }
            }
        }
    }
    findings
}

/// The crate's sources that a file is in; `None` for tests.
fn crate_of(path: &str) -> Option<&str> {
    let (krate, rest) = path.split_once("/src/").filter(|(krate, _)| krate.starts_with("crates/"))?;
    let is_test = rest.split('/').any(|part| part == "tests" || part == "tests.rs");
    (path.ends_with(".rs") && !is_test).then_some(krate)
}

fn may_share(one: &str, other: &str) -> bool {
    let set = |path: &str| path.rsplit('/').next().is_some_and(|name| INSTRUCTION_SETS.contains(&name));
    one == other || set(one) && set(other)
}

/// Types that a file declares before its test module, with their lines.
fn declared(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in lexer::lines(text).iter().enumerate() {
        if line.code.starts_with("#[cfg(test)]") {
            break;
        }
        found.extend(declared_name(&line.code).map(|name| (index + 1, name.to_owned())));
    }
    found
}

fn declared_name(code: &str) -> Option<&str> {
    let mut rest = code.trim_start();
    let is_nested = rest.len() < code.len();
    if let Some(public) = rest.strip_prefix("pub") {
        rest = public.trim_start();
        rest = rest
            .strip_prefix('(')
            .and_then(|inner| inner.split_once(')'))
            .map_or(rest, |(_, after)| after.trim_start());
    }
    rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let word = DECLARING.iter().find(|word| rest.starts_with(**word))?;
    // A type within a trait or its implementation is no type of the crate's.
    if is_nested && *word == "type " {
        return None;
    }
    let name = &rest[word.len()..];
    Some(&name[..name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files.iter().map(|(path, text)| sample(path, text)).collect();
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_second_type_of_one_name_is_found() {
        let (one, other) = ("crates/a/src/x.rs", "crates/a/src/y.rs");
        let expected = "crates/a/src/y.rs:2: Part is declared in crates/a/src/x.rs too: two things, two names";
        assert_eq!(found(&[(one, "pub(super) struct Part;\n"), (other, "\nenum Part<'a> {}\n")]), [expected]);
        assert_eq!(found(&[(one, "struct Part;\n"), ("crates/b/src/y.rs", "struct Part;\n")]), [""; 0]);
        assert_eq!(found(&[(one, "    type Item = u8;\n"), (other, "    type Item = u8;\n")]), [""; 0]);
    }

    #[test]
    fn instruction_sets_and_tests_may_share_names() {
        let files = [("crates/a/src/avx2.rs", "struct Bytes;\n"), ("crates/a/src/avx512.rs", "struct Bytes;\n")];
        assert_eq!(found(&files), [""; 0]);
        let files = [("crates/a/src/x.rs", "struct T;\n"), ("crates/a/src/tests/y.rs", "struct T;\n")];
        assert_eq!(found(&files), [""; 0]);
        let files =
            [("crates/a/src/x.rs", "struct T;\n"), ("crates/a/src/y.rs", "#[cfg(test)]\nmod tests {\nstruct T;\n}\n")];
        assert_eq!(found(&files), [""; 0]);
    }
}
