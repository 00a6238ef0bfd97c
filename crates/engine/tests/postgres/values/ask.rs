//! Asks both sides, when `GINGHAM_POSTGRES` says how many statements.

use super::form::{Asked, statement};
use super::kind::{Kind, script};
use crate::answer::{Answer, Outcome};
use crate::engine::Engine;
use crate::generate::Features;
use crate::generator::Generator;
use crate::judge::is_fault;
use crate::new::number;
use crate::report::kind;
use crate::server::Server;
use crate::stored::{self, Entry, Section};
use crate::world::World;
use crate::{refusals, replay};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Statements about one table.
const PER_TABLE: usize = 100;

/// Statements that are shown of a kind.
const SHOWN: usize = 40;

/// The outcome of the statements.
#[derive(Default)]
struct Found {
    asked: usize,
    right: usize,
    wrong: Vec<String>,
    /// Panics and internal errors.
    faults: Vec<String>,
    /// Errors of Gingham's where PostgreSQL answers, with an example each.
    refused: BTreeMap<String, (usize, String)>,
    /// Answers of Gingham's where PostgreSQL has an error.
    accepted: BTreeMap<String, (usize, String)>,
}

fn count(found: &mut BTreeMap<String, (usize, String)>, error: &str, sql: &str) {
    let entry = found.entry(kind(error)).or_insert_with(|| (0, format!("{sql}\n    {error}")));
    entry.0 += 1;
}

/// Asks one statement of both sides; what is stored of it.
fn ask(server: &mut Server, engine: &Engine, asked: &Asked, found: &mut Found) -> Option<Entry> {
    found.asked += 1;
    let sql = &asked.sql;
    let expected = match server.first.answer(sql, None) {
        Outcome::Answer(answer) => answer,
        Outcome::Error(_, error) => {
            match engine.answer(sql, None) {
                Outcome::Answer(typed) => {
                    let rows = stored::answer(&typed.answer).replace('\n', " / ");
                    count(&mut found.accepted, &error, &format!("{sql}\n    {rows}"));
                }
                Outcome::Error(_, error) => {
                    found.faults.extend(is_fault(&error).then(|| format!("{sql}\n    {error}")))
                }
            }
            return None;
        }
    };
    let mut refused = None;
    match engine.answer(sql, None) {
        Outcome::Answer(typed) if typed.agrees(&expected, asked.is_ordered) => found.right += 1,
        Outcome::Answer(typed) => found.wrong.push(difference(sql, &expected, &typed.answer)),
        Outcome::Error(_, error) => {
            found.faults.extend(is_fault(&error).then(|| format!("{sql}\n    {error}")));
            count(&mut found.refused, &error, sql);
            refused = Some(error);
        }
    }
    let (sql, ordered) = (sql.clone(), asked.is_ordered);
    Some(Entry { sql, changes: None, ordered, refused, answer: expected })
}

/// The rows in which two answers differ.
fn difference(sql: &str, expected: &Answer, found: &Answer) -> String {
    let rows = |answer: &Answer, other: &Answer| {
        let own = answer.rows.iter().filter(|row| !other.rows.contains(row));
        own.map(|row| crate::answer::written(row)).collect::<Vec<_>>().join(" / ")
    };
    format!("{sql}\n    PostgreSQL: {}\n    Gingham:    {}", rows(expected, found), rows(found, expected))
}

impl Found {
    fn tell(&self) {
        self.wrong.iter().take(SHOWN).for_each(|wrong| println!("WRONG {wrong}\n"));
        for (title, found) in [("refused", &self.refused), ("accepted", &self.accepted)] {
            let mut all: Vec<_> = found.values().collect();
            all.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
            all.iter().take(SHOWN).for_each(|(count, example)| println!("{title} {count}: {example}\n"));
        }
        let refused: usize = self.refused.values().map(|(count, _)| count).sum();
        let accepted: usize = self.accepted.values().map(|(count, _)| count).sum();
        println!(
            "{} asked: {} right, {} wrong, {refused} refused, {accepted} errors of PostgreSQL answered",
            self.asked,
            self.right,
            self.wrong.len()
        );
    }
}

#[test]
fn values() {
    let Some(statements) = number("GINGHAM_POSTGRES") else { return };
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let seed = number("GINGHAM_SEED").unwrap_or_else(clock);
    let mut server = Server::start();
    let version = server.first.version();
    server.first.run(&["SET timezone = 'UTC'".to_owned()]).expect("a time zone");
    println!("PostgreSQL {version}, GINGHAM_SEED={seed}");
    let features = Features::asked();
    let off = Kind::off(&features);
    let (mut found, mut sections) = (Found::default(), Vec::new());
    let mut seeds = Generator::new(seed);
    while found.asked < statements as usize {
        let mut random = Generator::new(seeds.bits());
        let script = script(&mut random, &features);
        server.first.run(&World::before()).expect("an empty database");
        server.first.run(&script).unwrap_or_else(|error| panic!("{error}"));
        let engine = Engine::with(&script).unwrap_or_else(|error| panic!("{error}"));
        let mut section = Section { script, entries: Vec::new() };
        for _ in 0..PER_TABLE.min(statements as usize - found.asked) {
            section.entries.extend(ask(&mut server, &engine, &statement(&mut random, &off), &mut found));
        }
        sections.push(section);
    }
    if std::env::var_os("GINGHAM_POSTGRES_BLESS").is_some() {
        let head = format!("# Random values with the answers of PostgreSQL {version}, of seed {seed}.\n");
        let file = replay::folder().join("values.txt");
        std::fs::write(file, head + &stored::text(&sections)).expect("the file can be written");
    }
    found.tell();
    let again = format!("GINGHAM_POSTGRES={statements} GINGHAM_SEED={seed} repeats them");
    assert!(found.wrong.is_empty(), "wrong answers; {again}");
    assert!(found.faults.is_empty(), "panics or internal errors; {again}:\n{}", found.faults.join("\n"));
    let known = refusals::known();
    let new: Vec<&String> = found.refused.keys().filter(|kind| !known.contains(*kind)).collect();
    assert!(new.is_empty(), "refused for reasons that {} does not have: {new:#?}; {again}", refusals::file().display());
}
