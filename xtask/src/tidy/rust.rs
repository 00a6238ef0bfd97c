//! Checks of Rust files: header, length, what was left open, `unsafe`, and the examples of the public API.

use super::lexer::{self, Line};
use super::{File, Finding};

/// Lines of a file at most: past this, nobody knows their way about in it.
const MAX_LINES: usize = 600;

/// Where `unsafe` may stand: kernels, the storage crate's mapping and reading of files, calls of generated code, and the test
/// that stands between the program and libc.
const UNSAFE_PLACES: &[&str] = &[
    "crates/kernels/",
    "crates/storage/src/io/",
    "crates/storage/src/segment/region.rs",
    "crates/execution/src/codegen/",
    "crates/engine/tests/durability/hooks.rs",
];

/// The crate that users call: every public item of it shows how, in an example that is tested.
const PUBLIC_API: &str = "crates/engine/src/";

/// What begins a public item that needs an example.
const PUBLIC_ITEMS: &[&str] = &["pub fn ", "pub async fn ", "pub struct ", "pub enum ", "pub trait ", "pub type "];

/// Lines above an unsafe block in which its `// SAFETY:` may begin.
const SAFETY_REACH: usize = 12;

/// Code that says "not finished", each with what to do.
const LEFT_IN_CODE: &[(&str, &str)] = &[
    ("todo!", "write it, or take the item out"),
    ("unimplemented!", "write it, or refuse it with an error that says so"),
    ("dbg!", "take it out"),
    ("#[ignore", "make the test quick, or widen it under GINGHAM_NIGHTLY; an ignored test checks nothing"),
];

/// All findings in a Rust file.
pub fn check(file: &File) -> Vec<Finding> {
    let lines = lexer::lines(&file.text);
    let mut findings: Vec<_> = header(file).into_iter().collect();
    findings.extend(length(file));
    for (index, line) in lines.iter().enumerate() {
        findings.extend(left_open(file, index + 1, line));
        if has_word(&line.code, "unsafe") {
            findings.extend(unsafe_code(file, &lines, index));
        }
        findings.extend(example(file, &lines, index));
    }
    findings
}

/// A public item of the API without an example in its documentation.
fn example(file: &File, lines: &[Line], index: usize) -> Option<Finding> {
    let code = lines[index].code.trim_start();
    if !file.path.starts_with(PUBLIC_API) || !PUBLIC_ITEMS.iter().any(|item| code.starts_with(item)) {
        return None;
    }
    let documentation = lines[..index]
        .iter()
        .rev()
        .take_while(|line| line.comment.starts_with("///") || line.code.trim_start().starts_with("#["));
    let shown = documentation.into_iter().any(|line| line.comment.contains("```"));
    let message = "give the public item an example in its documentation; `cargo test --doc` runs it";
    (!shown).then(|| Finding::new(&file.path, index + 1, message))
}

fn header(file: &File) -> Option<Finding> {
    (!file.text.starts_with("//! "))
        .then(|| Finding::new(&file.path, 1, "open the file with `//!`: what it is, and why"))
}

fn length(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    (lines > MAX_LINES).then(|| {
        Finding::new(
            &file.path,
            MAX_LINES,
            format!("{lines} lines, {MAX_LINES} at most: split the file by what it does"),
        )
    })
}

fn left_open(file: &File, number: usize, line: &Line) -> Vec<Finding> {
    let in_code = LEFT_IN_CODE.iter().filter(|(word, _)| contains_macro(&line.code, word));
    let mut findings: Vec<_> = in_code
        .map(|(word, advice)| Finding::new(&file.path, number, format!("{word} is left here: {advice}")))
        .collect();
    for word in [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")] {
        if has_word(&line.comment, word) {
            let message = format!("{word} is left here: do it, or say in docs what is missing");
            findings.push(Finding::new(&file.path, number, message));
        }
    }
    findings
}

/// True where `code` holds `pattern` and no longer name that ends in it.
fn contains_macro(code: &str, pattern: &str) -> bool {
    code.match_indices(pattern).any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn unsafe_code(file: &File, lines: &[Line], index: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !UNSAFE_PLACES.iter().any(|place| file.path.starts_with(place)) {
        let message = format!("unsafe outside its places ({}): do it in safe code, or there", UNSAFE_PLACES.join(", "));
        findings.push(Finding::new(&file.path, index + 1, message));
    }
    let code = &lines[index].code;
    let above = &lines[index.saturating_sub(SAFETY_REACH)..=index];
    let declares = ["unsafe fn", "unsafe extern", "unsafe trait"].iter().any(|start| code.contains(start));
    if declares {
        // A declaration states what its callers owe, in its docs; a pointer's type (`unsafe fn(`) owes nothing.
        let is_type = code.contains("unsafe fn(") || code.contains("unsafe extern \"C\" fn(");
        let from = index.saturating_sub(4 * SAFETY_REACH);
        let public = code.trim_start().starts_with("pub");
        let said = lines[from..index].iter().any(|line| line.comment.contains("# Safety"));
        if public && !is_type && !said {
            findings.push(Finding::new(&file.path, index + 1, "say under `# Safety` what a caller must hold"));
        }
    } else if !above.iter().any(|line| line.comment.contains("SAFETY:")) {
        findings.push(Finding::new(&file.path, index + 1, "give the block a `// SAFETY:` that says why it is sound"));
    }
    findings
}

/// True where `text` has `word` as a whole word.
pub fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&sample(path, text)).iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn finds(path: &str, text: &str, expected: &str) {
        let found = messages(path, text);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{expected} among {found:?}");
    }

    const SAFE: &str = "crates/engine/src/a.rs";
    const KERNEL: &str = "crates/kernels/src/a.rs";

    #[test]
    fn good_files_pass() {
        assert_eq!(messages(SAFE, "//! A file.\nfn f() {}\n"), [""; 0]);
        let kernel = "//! A file.\nfn f(p: *const u8) -> u8 {\n    // SAFETY: p is valid.\n    unsafe { *p }\n}\n";
        assert_eq!(messages(KERNEL, kernel), [""; 0]);
        let words = "//! todo! and unsafe in a comment.\nconst X: &str = \"unsafe todo!()\";\n";
        assert_eq!(messages(SAFE, words), [""; 0]);
    }

    #[test]
    fn a_missing_header_is_found() {
        finds(SAFE, "use std::fmt;\n", "crates/engine/src/a.rs:1: open the file with `//!`");
    }

    #[test]
    fn a_long_file_is_found() {
        finds(SAFE, &format!("//! A file.\n{}", "x();\n".repeat(600)), "crates/engine/src/a.rs:600: 601 lines");
    }

    #[test]
    fn what_is_left_open_is_found() {
        finds(SAFE, "//! A.\nfn f() { todo!() }\n", "crates/engine/src/a.rs:2: todo! is left");
        finds(SAFE, "//! A.\nfn f() { unimplemented!() }\n", "crates/engine/src/a.rs:2: unimplemented! is left");
        finds(SAFE, "//! A.\nfn f() { dbg!(1); }\n", "crates/engine/src/a.rs:2: dbg! is left");
        finds(SAFE, "//! A.\n#[ignore = \"slow\"]\n", "crates/engine/src/a.rs:2: #[ignore is left");
        let comment = format!("//! A.\n// {}: later\n", concat!("FIX", "ME"));
        finds(SAFE, &comment, "crates/engine/src/a.rs:2: FIX");
    }

    #[test]
    fn a_public_item_without_an_example_is_found() {
        let shown = "//! A.\n/// Does.\n/// ```\n/// f();\n/// ```\n#[must_use]\npub fn f() {}\npub(crate) fn g() {}\n";
        assert_eq!(messages(SAFE, shown), [""; 0]);
        let bare = "//! A.\n/// ```\n/// ```\npub fn f() {}\n/// Does.\npub struct S;\n";
        finds(SAFE, bare, "crates/engine/src/a.rs:6: give the public item an example");
        assert_eq!(messages(KERNEL, bare), [""; 0]);
    }

    #[test]
    fn unsafe_outside_its_places_is_found() {
        let text = "//! A.\n// SAFETY: fine.\nfn f() { unsafe { g() } }\n";
        finds(SAFE, text, "crates/engine/src/a.rs:3: unsafe outside");
        assert_eq!(messages("crates/storage/src/io/map.rs", text), [""; 0]);
    }

    #[test]
    fn unsafe_without_an_argument_is_found() {
        finds(KERNEL, "//! A.\nfn f() { unsafe { g() } }\n", "crates/kernels/src/a.rs:2: give the block");
        finds(KERNEL, "//! A.\n/// Does.\npub unsafe fn f() {}\n", "crates/kernels/src/a.rs:3: say under `# Safety`");
        assert_eq!(messages(KERNEL, "//! A.\n/// # Safety\n/// x\npub unsafe fn f() {}\n"), [""; 0]);
    }
}
