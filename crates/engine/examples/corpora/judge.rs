//! Who is right. PostgreSQL is given the statements of a file again, in a database of its own, and asked about each record
//! at which Gingham did not do what the file says.

use crate::beside;
use crate::child::{FileRun, Outcome};
use crate::differ::compare;
use crate::kinds::general;
use crate::order::{demands, words};
use crate::reader::{Accepts, Record, What};
use crate::server::{Server, is_helped, settle};
use crate::subject::{Subject, ends_transaction, only_reads, same_count, subject};
use crate::wire::{Reply, Wire};
use std::collections::HashMap;

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

/// Codes for words that PostgreSQL does not know: no such syntax, function, table or type, or no right to it. What it refuses with one of them
/// it does not refuse for the reason that the file has.
const OF_WORDS: &[&str] = &["42601", "42883", "42P01", "42704", "0A000", "3F000", "42501"];

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
        if !matches!(record.what, What::Fresh | What::Setup) {
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
        Outcome::Refused { message, .. } => ("refused by both", message.as_str()),
        Outcome::Different(_) => ("refused by PostgreSQL only", "another answer than the file's"),
        _ => ("accepted by both", "accepted"),
    };
    (Verdict::Dialect, kind.to_owned(), format!("Gingham: {ours}\nPostgreSQL: {theirs}"))
}

/// Whether PostgreSQL is to be asked about a record.
fn is_open(record: &Record, outcome: &Outcome) -> bool {
    match (&record.what, outcome) {
        (What::Fresh, _) | (_, Outcome::NotRun | Outcome::Right | Outcome::Unclear) => false,
        (What::Script | What::Setup, _) => true,
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
    /// Names of what is not the same on both sides, since only one of them took a statement about it; true when it took the
    /// one that makes it.
    apart: HashMap<String, bool>,
    /// Whether no answers are compared at all, after a BEGIN or a COMMIT that only one of them took.
    all_apart: bool,
    /// Names written to since the last BEGIN or COMMIT.
    written: Vec<String>,
}

impl<'a> Replay<'a> {
    fn new(server: &'a Server) -> Result<Self, String> {
        let database = server.database()?;
        Ok(Self {
            server,
            database,
            connections: HashMap::new(),
            apart: HashMap::new(),
            all_apart: false,
            written: Vec::new(),
        })
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
        // A conflict between connections may have ended Gingham's transaction, which PostgreSQL's does not know of.
        self.all_apart |= refused_rightly && self.connections.len() > 1;
        if !open && (refused_rightly || only_read) {
            return Ok(simply(outcome));
        }
        let Some(reply) = self.ask(record) else { return Ok(undecided("PostgreSQL broke off")) };
        let follows = self.all_apart || self.touches(&record.sql);
        let taken = !matches!(outcome, Outcome::Refused { .. });
        let scripted = matches!(record.what, What::Script | What::Setup);
        let clear = match (&reply, &record.what, outcome) {
            (Reply::Refused { code, .. }, _, Outcome::Refused { code: ours, .. }) if scripted && code == ours => {
                judged(Verdict::Right)
            }
            (Reply::Rows { .. }, _, Outcome::Refused { code, .. }) if scripted && code == "25P02" => {
                self.all_apart = true;
                undecided("Gingham was in a broken transaction")
            }
            (Reply::Refused { code, .. }, ..) if ["25P02", "57014", "55P03", "54001"].contains(&code.as_str()) => {
                self.all_apart |= code == "25P02";
                self.note(record, taken, &reply, outcome, follows);
                return Ok(undecided("PostgreSQL took too long, or was in a broken transaction"));
            }
            _ if !open => simply(outcome),
            _ if scripted => beside::judge(&record.sql, outcome, &reply),
            (Reply::Refused { code, message, .. }, What::Statement(Accepts::No), _)
                if !OF_WORDS.contains(&code.as_str()) && !demands(&record.sql).about_program =>
            {
                (Verdict::AcceptedWrongly, general(message), format!("PostgreSQL: {message}"))
            }
            (Reply::Refused { .. }, What::Statement(Accepts::Either), _) => judged(Verdict::Right),
            (Reply::Refused { message, .. }, ..) => dialect(outcome, message),
            (Reply::Rows { .. }, What::Statement(Accepts::No), _) => dialect(outcome, "accepted"),
            // PostgreSQL takes any setting that has a point in its name, and has catalogs that are its own.
            (Reply::Rows { .. }, _, Outcome::Refused { message, .. })
                if is_helped(&record.sql)
                    || words(&record.sql).any(|word| word == "datafusion" || word.starts_with("pg_")) =>
            {
                (Verdict::Dialect, "of others' words".to_owned(), format!("Gingham: {message}"))
            }
            (Reply::Rows { .. }, _, Outcome::Refused { message, .. }) => {
                (Verdict::RefusedWrongly, general(message), format!("Gingham: {message}"))
            }
            (Reply::Rows { table, .. }, What::Query(_), Outcome::Different(ours)) => compare(&record.sql, ours, table),
            _ => undecided("too many rows"),
        };
        self.note(record, taken, &reply, outcome, follows);
        let blamed = [Verdict::Wrong, Verdict::RefusedWrongly, Verdict::AcceptedWrongly].contains(&clear.0);
        if follows && blamed {
            return Ok(undecided("an earlier statement was taken by one of the two only"));
        }
        if blamed && self.connections.len() > 1 {
            return Ok(undecided(
                "several connections, which see and lock each other's records in each program's own way",
            ));
        }
        Ok(clear)
    }

    /// Whether `sql` names what is apart. A second attempt to make it does not count.
    fn touches(&self, sql: &str) -> bool {
        let own = match subject(sql) {
            Subject::Named { names, made: true } => names,
            _ => Vec::new(),
        };
        words(sql).any(|word| self.apart.get(&word).is_some_and(|made| !own.contains(&word) || !made))
    }

    fn ask(&mut self, record: &Record) -> Option<Reply> {
        if !self.connections.contains_key(&record.connection) {
            let wire = self.server.connect(&self.database).ok()?;
            self.connections.insert(record.connection.clone(), wire);
        }
        let wire = self.connections.get_mut(&record.connection)?;
        let reply = match record.what {
            What::Script | What::Setup => wire.ask_with_file(&record.sql),
            _ => wire.ask_with_aliases(&record.sql),
        };
        if reply.is_err() {
            self.connections.remove(&record.connection);
        }
        reply.ok()
    }

    /// Takes back the setting that a statement names, as the scripts of psql set many.
    fn reset(&mut self, record: &Record) {
        let name = words(&record.sql).find(|word| !["set", "reset", "session", "local"].contains(&word.as_str()));
        let name = match name.as_deref() {
            Some("time") => "timezone".to_owned(),
            Some(name) => name.to_owned(),
            None => return,
        };
        // In a transaction that is broken it stays as it is.
        if let Some(wire) = self.connections.get_mut(&record.connection) {
            let _ = wire.ask(&format!("RESET {name}"));
        }
    }

    /// Takes back a setting that Gingham does not have.
    fn settle(&mut self, record: &Record) {
        let wire = self.connections.get_mut(&record.connection);
        if wire.is_some_and(|wire| settle(wire).is_err()) {
            self.connections.remove(&record.connection);
        }
    }

    /// Remembers what is apart from now on, or no longer.
    fn note(&mut self, record: &Record, taken: bool, reply: &Reply, outcome: &Outcome, follows: bool) {
        if only_reads(&record.sql) {
            return;
        }
        let both = match reply {
            Reply::Refused { .. } => !taken,
            Reply::Rows { tag, .. } => taken && same_count(tag, outcome),
        };
        let about = subject(&record.sql);
        if let Subject::Named { names, .. } = &about {
            self.written.extend(names.iter().cloned());
        }
        match (both, about) {
            // What is made of something that is apart is apart.
            (true, Subject::Named { names, made }) if follows => {
                self.apart.extend(names.into_iter().map(|name| (name, made)));
            }
            (true, Subject::Named { names, made: true }) => self.apart.retain(|name, _| !names.contains(name)),
            // Gingham takes a zone, and goes on to show times in UTC.
            (true, Subject::Setting)
                if words(&record.sql).any(|word| ["timezone", "zone"].contains(&word.as_str())) =>
            {
                self.settle(record);
            }
            (false, Subject::Setting) => {
                if matches!(reply, Reply::Rows { .. }) {
                    self.reset(record);
                }
                self.settle(record);
            }
            (false, Subject::Named { names, made }) => self.apart.extend(names.into_iter().map(|name| (name, made))),
            (false, Subject::Transaction) => self.all_apart = true,
            _ => {}
        }
        if ends_transaction(&record.sql) {
            self.together(taken && matches!(reply, Reply::Rows { .. }));
        }
    }

    /// Takes both as being at one point again after the end of a transaction, but for what was written in it when they were
    /// not.
    fn together(&mut self, both: bool) {
        let written = std::mem::take(&mut self.written);
        if self.all_apart && both && self.connections.len() == 1 {
            self.apart.extend(written.into_iter().map(|name| (name, false)));
            self.all_apart = false;
        }
    }
}

impl Drop for Replay<'_> {
    fn drop(&mut self) {
        self.connections.clear();
        self.server.give_back(std::mem::take(&mut self.database));
    }
}
