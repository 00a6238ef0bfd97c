//! What the files of a crate import from one another.
//!
//! A path is followed to the file that defines its last name, through `pub use`, so that a facade hides nothing. This is
//! no parser: it knows definitions by their keywords, and leaves out the unit tests at a file's end.

use super::{File, lexer};
use std::collections::{BTreeMap, BTreeSet};

/// An import: the file `from` names something of the file `to` at `line`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// Path of the file that imports.
    pub from: String,
    /// Line from 1.
    pub line: usize,
    /// Path of the file that defines what is imported.
    pub to: String,
}

/// A path of the code, such as `crate::model::Datum`.
#[derive(Debug)]
struct Reference {
    line: usize,
    path: Vec<String>,
    /// The name that a `use` gives it.
    alias: String,
    is_use: bool,
}

/// A file as a module of its crate.
#[derive(Debug)]
struct Module<'f> {
    file: &'f str,
    definitions: BTreeSet<String>,
    references: Vec<Reference>,
}

/// Modules of a crate by their paths; the crate's root has an empty one.
type Modules<'f> = BTreeMap<Vec<String>, Module<'f>>;

/// The imports between the files below `folder`, tests left out.
pub fn imports(files: &[File], folder: &str) -> Vec<Import> {
    let mut modules = Modules::new();
    for file in files {
        let Some(path) = file.path.strip_prefix(folder).and_then(|path| path.strip_suffix(".rs")) else { continue };
        let mut path: Vec<String> = path.split('/').map(str::to_owned).collect();
        if path.last().is_some_and(|name| name == "mod") || path == ["lib"] {
            path.pop();
        }
        if !path.iter().any(|name| name == "tests" || name == "bin" || name == "main") {
            modules.insert(path, module(file));
        }
    }
    let mut all = BTreeSet::new();
    for (own, module) in &modules {
        for reference in &module.references {
            let found = absolute(&modules, own, &reference.path).map(|path| follow(&modules, path, 0));
            if let Some(to) = found.and_then(|path| modules.get(&path)).filter(|to| to.file != module.file) {
                all.insert(Import { from: module.file.to_owned(), line: reference.line, to: to.file.to_owned() });
            }
        }
    }
    all.into_iter().collect()
}

/// A path from the crate's root; `None` for one that leads out of the crate.
fn absolute(modules: &Modules<'_>, own: &[String], path: &[String]) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([own, &path[1..]].concat()),
        "super" => Some([own.get(..own.len().checked_sub(ups)?)?, &path[ups..]].concat()),
        first => {
            let child = [own, &[first.to_owned()]].concat();
            modules.contains_key(&child).then(|| [own, path].concat())
        }
    }
}

/// The module that defines what a path from the root names.
fn follow(modules: &Modules<'_>, path: Vec<String>, depth: usize) -> Vec<String> {
    let at = (0..=path.len()).rev().find(|at| modules.contains_key(&path[..*at])).unwrap_or(0);
    let (own, rest) = path.split_at(at);
    let (Some(module), Some(name)) = (modules.get(own), rest.first()) else { return own.to_vec() };
    // Facades of facades end somewhere; a circle of them does not compile.
    if module.definitions.contains(name) || depth > 8 {
        return own.to_vec();
    }
    let given = module.references.iter().find(|reference| reference.is_use && reference.alias == *name);
    match given.and_then(|given| absolute(modules, own, &given.path)) {
        Some(target) => follow(modules, [target, rest[1..].to_vec()].concat(), depth + 1),
        None => own.to_vec(),
    }
}

/// The definitions and references of a file.
fn module(file: &File) -> Module<'_> {
    let tokens = tokens(file);
    let mut module = Module { file: &file.path, definitions: BTreeSet::new(), references: Vec::new() };
    let text = |at: usize| tokens.get(at).map_or("", |(_, text)| text.as_str());
    let mut at = 0;
    while at < tokens.len() {
        let line = tokens[at].0;
        match text(at) {
            "struct" | "enum" | "trait" | "type" | "fn" | "const" | "static" | "union" => {
                let name = if text(at + 1) == "mut" { at + 2 } else { at + 1 };
                module.definitions.insert(text(name).to_owned());
                at += 1;
            }
            "macro_rules" => {
                module.definitions.insert(text(at + 2).to_owned());
                at += 1;
            }
            "use" => {
                let end = (at..tokens.len()).find(|at| text(*at) == ";").unwrap_or(tokens.len());
                let tree: Vec<&str> = (at + 1..end).map(text).collect();
                for (path, alias) in leaves(&tree) {
                    module.references.push(Reference { line, path, alias, is_use: true });
                }
                at = end;
            }
            // `pub(in path)` says who may import, and imports nothing.
            "pub" if text(at + 1) == "(" => at += 1 + (at + 1..tokens.len()).take_while(|at| text(*at) != ")").count(),
            "crate" | "super" | "self" if text(at + 1) == "::" => {
                let mut path = vec![text(at).to_owned()];
                while text(at + 1) == "::" && text(at + 2).starts_with(|c: char| c.is_alphabetic() || c == '_') {
                    path.push(text(at + 2).to_owned());
                    at += 2;
                }
                module.references.push(Reference { line, path, alias: String::new(), is_use: false });
                at += 1;
            }
            _ => at += 1,
        }
    }
    module
}

/// The paths of a tree of `use`, each with the name that it gives.
fn leaves(tree: &[&str]) -> Vec<(Vec<String>, String)> {
    let mut prefix: Vec<String> = Vec::new();
    let mut at = 0;
    while at < tree.len() {
        match tree[at] {
            "::" => at += 1,
            "{" => {
                let mut all = Vec::new();
                for part in parts(&tree[at + 1..tree.len().saturating_sub(1)]) {
                    for (path, alias) in leaves(part) {
                        let is_self = path.len() == 1 && path[0] == "self";
                        let own = if is_self { prefix.clone() } else { [prefix.clone(), path].concat() };
                        let alias = if alias == "self" { prefix.last().cloned().unwrap_or_default() } else { alias };
                        all.push((own, alias));
                    }
                }
                return all;
            }
            "as" => return vec![(prefix, tree.get(at + 1).map_or_else(String::new, |alias| (*alias).to_owned()))],
            name => {
                prefix.push(name.to_owned());
                at += 1;
            }
        }
    }
    let alias = prefix.last().cloned().unwrap_or_default();
    if prefix.is_empty() { Vec::new() } else { vec![(prefix, alias)] }
}

/// What commas outside of inner braces divide.
fn parts<'t>(tree: &'t [&'t str]) -> Vec<&'t [&'t str]> {
    let mut depth = 0;
    tree.split(|token| {
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && *token == ","
    })
    .collect()
}

/// Names and signs of the code before the unit tests, with their lines.
fn tokens(file: &File) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let lines = lexer::lines(&file.text);
    for (index, line) in lines.iter().enumerate() {
        let is_test = line.code.starts_with("#[cfg(test)]");
        if is_test && lines.get(index + 1).is_some_and(|next| next.code.starts_with("mod ") && next.code.ends_with('{'))
        {
            break;
        }
        let mut rest = line.code.as_str();
        while let Some(first) = rest.chars().next() {
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            let length = match first {
                first if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
                _ if rest.starts_with("::") => 2,
                first => first.len_utf8(),
            };
            if !first.is_whitespace() {
                all.push((index + 1, rest[..length].to_owned()));
            }
            rest = &rest[length..];
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn imports_are_followed_to_the_file_that_defines() {
        let files = [
            sample("c/src/lib.rs", "pub mod low;\npub mod high;\npub use low::Thing;\n"),
            sample("c/src/low/mod.rs", "pub mod thing;\npub use crate::low::thing::Thing;\n"),
            sample("c/src/low/thing.rs", "pub struct Thing;\npub(in crate::low) fn own() {}\n"),
            sample(
                "c/src/high.rs",
                "use crate::{Thing, low::{self, thing as other}};\n// crate::low::no\nfn f() { super::low::g(\"crate::low\") }\n\
                 #[cfg(test)]\nmod tests {\n    use crate::low::thing;\n}\n",
            ),
        ];
        let found: Vec<(String, usize, String)> =
            imports(&files, "c/src/").into_iter().map(|import| (import.from, import.line, import.to)).collect();
        let import = |from: &str, line, to: &str| (format!("c/src/{from}"), line, format!("c/src/{to}"));
        assert_eq!(
            found,
            [
                import("high.rs", 1, "low/mod.rs"),
                import("high.rs", 1, "low/thing.rs"),
                import("high.rs", 3, "low/mod.rs"),
                import("lib.rs", 3, "low/thing.rs"),
                import("low/mod.rs", 2, "low/thing.rs"),
            ]
        );
    }
}
