//! Who is right. PostgreSQL is given the statements of a file again, in a database of its own, and asked about each record
//! at which Gingham did not do what the file says.

use crate::child::{FileRun, Outcome};
use crate::differ::compare;
use crate::kinds::general;
use crate::order::{demands, words};
use crate::reader::{Accepts, Record, What};
use crate::server::{Server, is_helped};
use crate::wire::{Reply, Wire};
use std::collections::{HashMap, HashSet};

/// What a record comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// As the file says.
    Right,
    /// PostgreSQL answers other rows.
    Wrong,
    /// PostgreSQL accepts what Gingham refuses.
    RefusedWrongly,
    /// PostgreSQL refuses, as the file does, what Gingham accepts.
    AcceptedWrongly,
    /// PostgreSQL refuses as well, or answers as Gingham does.
    Dialect,
    /// Nobody can say: PostgreSQL was not asked or took too long, an earlier statement failed, or both answers may be right.
    Undecided,
    /// Not run: its file took too long.
    NotRun,
}

/// All verdicts, in the order of the report.
pub const VERDICTS: [Verdict; 7] = [
    Verdict::Right,
    Verdict::Wrong,
    Verdict::RefusedWrongly,
    Verdict::AcceptedWrongly,
    Verdict::Dialect,
    Verdict::Undecided,
    Verdict::NotRun,
];

/// Codes for words that PostgreSQL does not know: no such syntax, function, table or type. What it refuses with one of them
/// it does not refuse for the reason that the file has.
const OF_WORDS: &[&str] = &["42601", "42883", "42P01", "42704", "0A000", "3F000"];

/// A verdict on one record.
#[derive(Debug, Clone)]
pub struct Finding {
    pub record: usize,
    pub verdict: Verdict,
    /// What it has in common with others.
    pub kind: String,
    /// What both answered.
    pub detail: String,
}

/// Judges every record of a file.
pub fn judge(records: &[Record], run: &FileRun, server: Option<&Server>) -> Result<Vec<Finding>, String> {
    let asked = records.iter().zip(&run.outcomes).rposition(|(record, outcome)| is_open(record, outcome));
    let mut findings = Vec::new();
    let mut replay = match (asked, server) {
        (Some(_), Some(server)) => Some(Replay::new(server)?),
        _ => None,
    };
    for (number, (record, outcome)) in records.iter().zip(&run.outcomes).enumerate() {
        let fits = asked.is_some_and(|last| number <= last);
        let (verdict, kind, detail) = match (&mut replay, is_open(record, outcome)) {
            (Some(replay), open) if fits => replay.record(record, outcome, open)?,
            (_, true) => undecided("PostgreSQL was not asked"),
            (_, false) => simply(outcome),
        };
        if !matches!(record.what, What::Fresh) {
            findings.push(Finding { record: number, verdict, kind, detail });
        }
    }
    Ok(findings)
}

/// A verdict, its kind, and the answers.
pub type Judged = (Verdict, String, String);

pub fn judged(verdict: Verdict) -> Judged {
    (verdict, String::new(), String::new())
}

pub fn undecided(why: &str) -> Judged {
    (Verdict::Undecided, why.to_owned(), String::new())
}

fn dialect(outcome: &Outcome, theirs: &str) -> Judged {
    let (kind, ours) = match outcome {
        Outcome::Refused { message } => ("refused by both", message.as_str()),
        Outcome::Different(_) => ("refused by PostgreSQL only", "another answer than the file's"),
        _ => ("accepted by both", "accepted"),
    };
    (Verdict::Dialect, kind.to_owned(), format!("Gingham: {ours}\nPostgreSQL: {theirs}"))
}

/// Whether PostgreSQL is to be asked about a record.
fn is_open(record: &Record, outcome: &Outcome) -> bool {
    match (&record.what, outcome) {
        (What::Fresh, _) | (_, Outcome::NotRun | Outcome::Right | Outcome::Unclear) => false,
        (What::Statement(Accepts::No), Outcome::Done(_)) => true,
        (_, Outcome::Done(_)) => false,
        _ => true,
    }
}

fn simply(outcome: &Outcome) -> Judged {
    match outcome {
        Outcome::NotRun => judged(Verdict::NotRun),
        Outcome::Unclear => undecided("the file gives a pattern, or another file"),
        _ => judged(Verdict::Right),
    }
}

/// The statements of one file on PostgreSQL.
struct Replay<'a> {
    server: &'a Server,
    database: String,
    connections: HashMap<String, Wire>,
    /// Names of what is not the same on both sides, since only one of them took a statement about it.
    apart: HashSet<String>,
    /// The same of everything, after a BEGIN or a COMMIT that only one of them took.
    all_apart: bool,
}

impl<'a> Replay<'a> {
    fn new(server: &'a Server) -> Result<Self, String> {
        let (connections, apart) = (HashMap::new(), HashSet::new());
        Ok(Self { server, database: server.database()?, connections, apart, all_apart: false })
    }

    fn record(&mut self, record: &Record, outcome: &Outcome, open: bool) -> Result<Judged, String> {
        if matches!(record.what, What::Fresh) {
            *self = Self::new(self.server)?;
            return Ok(judged(Verdict::Right));
        }
        if matches!(outcome, Outcome::NotRun) {
            return Ok(judged(Verdict::NotRun));
        }
        let refused_rightly = matches!((&record.what, outcome), (What::Statement(Accepts::No), Outcome::Right));
        let only_read = matches!(record.what, What::Query(_)) && only_reads(&record.sql);
        if !open && (refused_rightly || only_read) {
            return Ok(simply(outcome));
        }
        let Some(reply) = self.ask(record) else { return Ok(undecided("PostgreSQL broke off")) };
        let follows = self.all_apart || self.touches(&record.sql);
        let taken = !matches!(outcome, Outcome::Refused { .. });
        let clear = match (&reply, &record.what, outcome) {
            (Reply::Refused { code, .. }, ..) if ["25P02", "57014", "55P03", "54001"].contains(&code.as_str()) => {
                self.all_apart |= code == "25P02";
                return Ok(undecided("PostgreSQL took too long, or was in a broken transaction"));
            }
            _ if !open => simply(outcome),
            (Reply::Refused { code, message, .. }, What::Statement(Accepts::No), _)
                if !OF_WORDS.contains(&code.as_str()) && !demands(&record.sql).about_program =>
            {
                (Verdict::AcceptedWrongly, general(message), format!("PostgreSQL: {message}"))
            }
            (Reply::Refused { .. }, What::Statement(Accepts::Either), _) => judged(Verdict::Right),
            (Reply::Refused { message, .. }, ..) => dialect(outcome, message),
            (Reply::Rows { .. }, What::Statement(Accepts::No), _) => dialect(outcome, "accepted"),
            (Reply::Rows { .. }, _, Outcome::Refused { message }) if is_helped(&record.sql) => {
                (Verdict::Dialect, "of DuckDB's words".to_owned(), format!("Gingham: {message}"))
            }
            (Reply::Rows { .. }, _, Outcome::Refused { message }) => {
                (Verdict::RefusedWrongly, general(message), format!("Gingham: {message}"))
            }
            (Reply::Rows { table, .. }, What::Query(_), Outcome::Different(ours)) => compare(&record.sql, ours, table),
            _ => undecided("too many rows"),
        };
        self.note(record, taken, &reply, outcome);
        let blamed = [Verdict::Wrong, Verdict::RefusedWrongly, Verdict::AcceptedWrongly].contains(&clear.0);
        if follows && blamed {
            return Ok(undecided("an earlier statement was taken by one of the two only"));
        }
        Ok(clear)
    }

    /// Whether `sql` names what is apart. The name that it makes itself does not count.
    fn touches(&self, sql: &str) -> bool {
        let own = match subject(sql) {
            Subject::Named { name, made: true } => Some(name),
            _ => None,
        };
        words(sql).any(|word| own.as_ref() != Some(&word) && self.apart.contains(&word))
    }

    fn ask(&mut self, record: &Record) -> Option<Reply> {
        if !self.connections.contains_key(&record.connection) {
            let wire = self.server.connect(&self.database).ok()?;
            self.connections.insert(record.connection.clone(), wire);
        }
        let reply = self.connections.get_mut(&record.connection)?.ask_with_aliases(&record.sql);
        if reply.is_err() {
            self.connections.remove(&record.connection);
        }
        reply.ok()
    }

    /// Remembers what is apart from now on, or no longer.
    fn note(&mut self, record: &Record, taken: bool, reply: &Reply, outcome: &Outcome) {
        if only_reads(&record.sql) {
            return;
        }
        let both = match reply {
            Reply::Refused { .. } => !taken,
            Reply::Rows { tag, .. } => taken && same_count(tag, outcome),
        };
        match (both, subject(&record.sql)) {
            (true, Subject::Named { name, made: true }) => drop(self.apart.remove(&name)),
            (false, Subject::Named { name, .. }) => drop(self.apart.insert(name)),
            (false, Subject::Transaction) => self.all_apart = true,
            _ => {}
        }
    }
}

impl Drop for Replay<'_> {
    fn drop(&mut self) {
        self.connections.clear();
        self.server.give_back(std::mem::take(&mut self.database));
    }
}

fn only_reads(sql: &str) -> bool {
    words(sql)
        .next()
        .is_some_and(|word| ["select", "with", "values", "from", "explain", "show"].contains(&word.as_str()))
}

/// Whether as many records were changed: `INSERT 0 3` says three.
fn same_count(tag: &str, outcome: &Outcome) -> bool {
    let words: Vec<&str> = tag.split(' ').collect();
    match (words.as_slice(), outcome) {
        (["INSERT", _, count] | ["UPDATE" | "DELETE", count], Outcome::Done(Some(ours))) => *count == ours.to_string(),
        _ => true,
    }
}

/// What a statement that is no query is about.
enum Subject {
    Named { name: String, made: bool },
    Transaction,
    Nothing,
}

fn subject(sql: &str) -> Subject {
    const SKIPPED: &[&str] = &[
        "create",
        "or",
        "replace",
        "temp",
        "temporary",
        "unique",
        "table",
        "view",
        "index",
        "sequence",
        "schema",
        "macro",
        "function",
        "type",
        "if",
        "not",
        "exists",
        "insert",
        "into",
        "delete",
        "from",
        "update",
        "alter",
        "drop",
        "copy",
        "ignore",
        "only",
        "recursive",
        "materialized",
        "unlogged",
        "external",
        "unbounded",
        "truncate",
        "merge",
    ];
    let mut words = words(sql);
    let Some(first) = words.next() else { return Subject::Nothing };
    match first.as_str() {
        "begin" | "start" | "commit" | "rollback" | "abort" | "end" | "savepoint" | "release" => Subject::Transaction,
        "create" | "insert" | "delete" | "update" | "alter" | "drop" | "copy" | "truncate" | "merge" => {
            let name = words.find(|word| !SKIPPED.contains(&word.as_str()));
            name.map_or(Subject::Nothing, |name| Subject::Named { name, made: first == "create" })
        }
        _ => Subject::Nothing,
    }
}
