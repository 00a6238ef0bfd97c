//! The verdict on a statement of PostgreSQL's own tests: what it answers is what is right, and what Gingham answers is
//! held against it.

use crate::child::Outcome;
use crate::differ::compare;
use crate::judge::{Judged, Verdict, judged, undecided};
use crate::kinds::general;
use crate::order::{demands, words};
use crate::subject::same_count;
use crate::wire::Reply;

/// Words of statements about what PostgreSQL alone has: its own types and languages, inheritance, triggers, rules, roles.
const OWN: &[&str] = &[
    "aggregate",
    "box",
    "circle",
    "collation",
    "cstring",
    "domain",
    "enum",
    "execute_function",
    "explain",
    "function",
    "grant",
    "inet",
    "inherit",
    "inherits",
    "int4range",
    "int8range",
    "language",
    "line",
    "lseg",
    "macaddr",
    "money",
    "multirange",
    "nummultirange",
    "numrange",
    "operator",
    "partition_of",
    "path",
    "pg_lsn",
    "plpgsql",
    "point",
    "polygon",
    "procedure",
    "publication",
    "regproc",
    "revoke",
    "role",
    "rule",
    "statistics",
    "trigger",
    "tsquery",
    "tsrange",
    "tsvector",
    "txid_current",
    "xml",
    "booland_statefunc",
    "boolor_statefunc",
    "float4send",
    "float8_accum",
    "float8_combine",
    "float8_regr_accum",
    "float8_regr_combine",
    "float8send",
];

/// First words, two at most, of the same.
const OWN_STARTS: &[&str] = &["create type", "create user", "drop type", "drop user", "alter type", "do"];

/// Holds Gingham's outcome against PostgreSQL's reply.
pub fn judge(sql: &str, outcome: &Outcome, reply: &Reply) -> Judged {
    let is_explain = words(sql).next().is_some_and(|first| first == "explain");
    match (reply, outcome) {
        (_, Outcome::NotRun) => judged(Verdict::NotRun),
        (Reply::Rows { .. }, Outcome::Different(_) | Outcome::Big) if is_explain => {
            (Verdict::Dialect, "EXPLAIN, whose text is each program's own".to_owned(), String::new())
        }
        (Reply::Refused { code, message, .. }, Outcome::Refused { message: ours, code: of_ours }) => {
            // The first two characters are the class of a code: what is wrong, not where.
            if code.get(..2) == of_ours.get(..2) {
                return judged(Verdict::Right);
            }
            let detail = format!("Gingham: {of_ours} {ours}\nPostgreSQL: {code} {message}");
            (Verdict::Dialect, format!("refused by both, with {of_ours} for {code}: {}", general(ours)), detail)
        }
        (Reply::Refused { code, message, .. }, _) => {
            let detail = format!("Gingham: accepted\nPostgreSQL: {code} {message}");
            match code.as_str() {
                // What PostgreSQL has not is no fault of who has it.
                "0A000" => (Verdict::Dialect, "accepted, where PostgreSQL does not support it".to_owned(), detail),
                _ if of_its_own(sql) => (Verdict::Dialect, "about what PostgreSQL alone has".to_owned(), detail),
                _ => (Verdict::AcceptedWrongly, general(message), detail),
            }
        }
        (Reply::Rows { .. }, Outcome::Refused { message, code }) => {
            let detail = format!("Gingham: {code} {message}");
            let verdict = if of_its_own(sql) { Verdict::Dialect } else { Verdict::RefusedWrongly };
            (verdict, general(message), detail)
        }
        (Reply::Rows { table, .. }, Outcome::Different(ours)) => rows(sql, compare(sql, ours, table)),
        (Reply::Rows { table, .. }, Outcome::Done(_)) if !table.kinds.is_empty() && !demands(sql).about_program => {
            let detail = format!("Gingham: no rows at all\nPostgreSQL: {} rows", table.rows.len());
            (Verdict::Wrong, "a query without columns".to_owned(), detail)
        }
        (Reply::Rows { tag, .. }, _) if !same_count(tag, outcome) => {
            (Verdict::Wrong, "another number of records".to_owned(), format!("Gingham: {outcome:?}\nPostgreSQL: {tag}"))
        }
        (Reply::Rows { .. }, Outcome::Big) => undecided("too many rows"),
        (Reply::Rows { .. }, _) => judged(Verdict::Right),
    }
}

/// The verdict on two answers: the same one is right, not merely no fault.
fn rows(sql: &str, (verdict, kind, detail): Judged) -> Judged {
    match verdict {
        Verdict::Dialect => judged(Verdict::Right),
        Verdict::Wrong if of_its_own(sql) => (Verdict::Dialect, kind, detail),
        Verdict::Wrong if depends_on_peers(sql) && kind.starts_with("another value") => {
            undecided("rows of equal keys stand in any order within a window")
        }
        _ => (verdict, kind, detail),
    }
}

/// Whether a query has windows whose values hang on the order of rows with equal keys.
fn depends_on_peers(sql: &str) -> bool {
    const OF_ORDER: [&str; 8] =
        ["first_value", "last_value", "nth_value", "lag", "lead", "row_number", "ntile", "rows"];
    let words: Vec<String> = words(sql).collect();
    words.iter().any(|word| word == "over") && words.iter().any(|word| OF_ORDER.contains(&word.as_str()))
}

/// Whether a statement is about what PostgreSQL alone has.
pub fn of_its_own(sql: &str) -> bool {
    let words: Vec<String> = words(sql).collect();
    let start = words.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(" ");
    let begins = |own: &str| start == own || start.split(" ").next() == Some(own);
    let two = |a: &str, b: &str| words.windows(2).any(|two| two == [a, b]);
    OWN_STARTS.iter().any(|own| begins(own))
        || words.iter().any(|word| OWN.contains(&word.as_str()) || word.starts_with("pg_"))
        || two("partition", "of")
        || two("attach", "partition")
        || two("detach", "partition")
        || (words.first().is_some_and(|first| first == "create") && two("partition", "by"))
}
