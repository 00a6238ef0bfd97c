//! The examples of docs/values.md, which a reader takes for the truth: each expression that the page gives an answer for has it.

use crate::{connect, rows};
use gingham::{Connection, QueryResult};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/values.md");
/// Examples that the page has at least: a page that is written in another way would leave the test without any.
const ANSWERS: usize = 130;
const ERRORS: usize = 12;

/// An expression or a query, and the answer that the page gives; `None` where it says that it is an error.
struct Example {
    asked: String,
    answer: Option<String>,
}

/// The examples that the page writes as "`asked` is `answer`", "`asked` gives `answer`" and "`asked` is an error".
fn examples(page: &str) -> Vec<Example> {
    let page: Vec<&str> = page.lines().map(str::trim).collect();
    let page = page.join(" ");
    // Every second part stands between two backticks.
    let parts: Vec<&str> = page.split('`').collect();
    assert_eq!(parts.len() % 2, 1, "a backtick has no partner");
    let (mut found, mut at) = (Vec::new(), 1);
    while at < parts.len() {
        let (asked, after) = (parts[at].to_owned(), parts[at + 1]);
        if matches!(after.trim(), "is" | "gives") && at + 2 < parts.len() {
            found.push(Example { asked, answer: Some(parts[at + 2].to_owned()) });
            at += 2;
        } else if after.starts_with(" is an error") {
            found.push(Example { asked, answer: None });
        }
        at += 2;
    }
    found
}

impl Example {
    fn statement(&self) -> String {
        if ["SELECT ", "WITH "].iter().any(|word| self.asked.starts_with(word)) {
            return self.asked.clone();
        }
        format!("SELECT coalesce(CAST(({}) AS VARCHAR), 'NULL')", self.asked)
    }

    /// The example's fault, if it has one.
    fn wrong(&self, connection: &Connection) -> Option<String> {
        let sql = self.statement();
        let failed = connection.query(&sql).and_then(QueryResult::collect_batches).err();
        match (&self.answer, failed) {
            (None, Some(_)) => None,
            (None, None) => Some(format!("{}: no error, but {:?}", self.asked, rows(connection, &sql))),
            (Some(answer), Some(error)) => Some(format!("{}: {error}, not {answer}", self.asked)),
            (Some(answer), None) => {
                let found = rows(connection, &sql);
                (found != [answer.as_str()]).then(|| format!("{}: {found:?}, not {answer}", self.asked))
            }
        }
    }
}

#[test]
fn the_page_gives_the_right_answers() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let examples = examples(&page);
    let answers = examples.iter().filter(|example| example.answer.is_some()).count();
    let errors = examples.len() - answers;
    assert!(answers >= ANSWERS && errors >= ERRORS, "the page has {answers} answers and {errors} errors");
    let connection = connect();
    let wrong: Vec<String> = examples.iter().filter_map(|example| example.wrong(&connection)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrong_example_is_found() {
    let connection = connect();
    let page = "- `1 + 1` is\n  `3`, `1 / 0` gives `0`, `2` is `2`, `7` is an error, and `1 / 0` is an error.";
    let wrong: Vec<_> = examples(page).iter().map(|example| example.wrong(&connection).is_some()).collect();
    assert_eq!(wrong, [true, true, false, true, false]);
}
