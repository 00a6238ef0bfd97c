//! Asks new statements of both sides, when `GINGHAM_POSTGRES` says how many.

use crate::generate::{Features, Maker, Statement};
use crate::generator::Generator;
use crate::judge::{Bench, Verdict};
use crate::refusals;
use crate::replay;
use crate::report::{self, Report, example};
use crate::server::Server;
use crate::stored::{self, Entry, Section};
use crate::world::World;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Statements about one schema.
const PER_WORLD: usize = 40;

/// Statements in one stored file.
const PER_FILE: usize = 500;

/// Schemas with a large table, which take most of the replay's time, of those that are stored.
const MOST_LARGE: usize = 2;

/// What the script of such a schema has.
const SERIES: &str = "FROM generate_series(1, 70000)";

/// An answer of more text is not stored.
const MOST_STORED: usize = 1200;

pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: a whole number is wanted")))
}

/// What a verdict must be like when a statement is made small.
type Same = dyn Fn(&Verdict) -> bool;

fn is_refused(verdict: &Verdict, kind: &str) -> bool {
    matches!(verdict, Verdict::Refused(_, text) if report::kind(text) == kind)
}

fn is_accepted(verdict: &Verdict, kind: &str) -> bool {
    matches!(verdict, Verdict::Accepted(text, _) if report::kind(text) == kind)
}

fn is_broken(verdict: &Verdict, kind: &str) -> bool {
    matches!(verdict, Verdict::Broken(_, text) if report::kind(text) == kind)
}

/// A run over new statements.
struct Run {
    server: Server,
    features: Features,
    report: Report,
    seed: u64,
    /// Wrong answers that may still be made small.
    shrinks: u64,
    /// Others that may still be made small: the first of each kind is.
    others: u64,
    /// What is stored in the end, if anything.
    bless: bool,
    sections: Vec<Section>,
}

impl Run {
    /// Asks `count` statements about the world of a seed.
    fn world(&mut self, seed: u64, count: usize) {
        let mut random = Generator::new(seed);
        let world = World::random(&mut random, &self.features);
        let (report, of_seed) = (&mut self.report, self.seed);
        let hear = |sql: &str, error: String| {
            if report.count_view(&error) {
                println!("==== view refused (GINGHAM_SEED={of_seed})\n{sql};\n{error}\n");
            }
        };
        let mut bench = match Bench::new(&mut self.server, world, hear) {
            Ok(bench) => bench,
            Err(error) => return self.tell_refused_tables(seed, &error),
        };
        let world = bench.world.clone();
        let mut section = Section { script: world.script(), entries: Vec::new() };
        let is_traced = std::env::var_os("GINGHAM_POSTGRES_TRACE").is_some();
        section.script.iter().filter(|_| is_traced).for_each(|line| eprintln!("{line};"));
        let mut told = Vec::new();
        for _ in 0..count {
            let statement = Maker::new(random.bits(), &world, &self.features).statement();
            if is_traced {
                eprintln!("{};", statement.tree);
            }
            let verdict = bench.judge(&statement);
            section.entries.extend(entry(&statement, &verdict));
            told.push((statement, verdict));
        }
        drop(bench);
        for (statement, verdict) in told {
            self.tell(&statement, &verdict, &world);
        }
        let large = |section: &Section| section.script.iter().any(|line| line.contains(SERIES));
        let is_kept = !large(&section) || self.sections.iter().filter(|section| large(section)).count() < MOST_LARGE;
        if self.bless && is_kept {
            self.sections.push(section);
        }
    }

    /// Counts tables that can't be made.
    fn tell_refused_tables(&mut self, seed: u64, error: &str) {
        if self.report.count_view(error) {
            println!("==== the tables of seed {seed} can't be made (GINGHAM_SEED={})\n{error}\n", self.seed);
        }
    }

    /// Counts a verdict, and shows an example when it is wrong or the first of its kind.
    fn tell(&mut self, statement: &Statement, verdict: &Verdict, world: &World) {
        let first = self.report.count(statement, verdict);
        let (title, same): (&str, Box<Same>) = match (verdict, first) {
            (Verdict::Wrong(..), _) if self.shrinks > 0 => {
                self.shrinks -= 1;
                ("WRONG", Box::new(|verdict| matches!(verdict, Verdict::Wrong(..))))
            }
            (Verdict::Refused(..), Some(kind)) if self.others > 0 => {
                self.others -= 1;
                ("refused", Box::new(move |verdict| is_refused(verdict, &kind)))
            }
            (Verdict::Broken(..), Some(kind)) if self.others > 0 => {
                self.others -= 1;
                ("broken", Box::new(move |verdict| is_broken(verdict, &kind)))
            }
            (Verdict::Accepted(..), Some(kind)) if self.others > 0 => {
                self.others -= 1;
                ("accepted", Box::new(move |verdict| is_accepted(verdict, &kind)))
            }
            _ => return,
        };
        let bench = match Bench::new(&mut self.server, world.clone(), |_, _| {}) {
            Ok(bench) => bench,
            Err(error) => panic!("the tables can't be made again: {error}"),
        };
        let (small, small_world, small_verdict) = bench.shrunk(statement, &*same);
        if title != "WRONG" || self.report.count_shape(&small) {
            println!("{}", example(title, self.seed, &small, &small_world, &small_verdict));
        }
    }

    /// Writes the stored files anew.
    fn store(&self, version: &str) {
        let own = |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("generated"));
        for file in replay::files().into_iter().filter(own) {
            std::fs::remove_file(file).expect("an old file can be removed");
        }
        for (number, sections) in self.sections.chunks(PER_FILE / PER_WORLD).enumerate() {
            let head = format!(
                "# Random statements with the answers of PostgreSQL {version}; crates/engine/tests/postgres/ wrote them, of \
                 seed {}.\n",
                self.seed
            );
            let file = replay::folder().join(format!("generated-{:02}.txt", number + 1));
            std::fs::write(file, head + &stored::text(sections)).expect("the file can be written");
        }
    }
}

/// What is stored of a statement that PostgreSQL answered: its answer, right or wrong as Gingham's may be.
fn entry(statement: &Statement, verdict: &Verdict) -> Option<Entry> {
    let (answer, refused) = match verdict {
        Verdict::Right(answer) | Verdict::Wrong(answer, _) => (answer, None),
        Verdict::Refused(answer, error) => (answer, Some(error.clone())),
        Verdict::Accepted(..) | Verdict::Skipped(_) | Verdict::Broken(..) => return None,
    };
    let width = answer.rows.first().map_or(0, Vec::len);
    let sql = statement.tree.to_string();
    let short = stored::answer(answer).len() + sql.len() <= MOST_STORED;
    short.then(|| Entry {
        sql,
        changes: statement.changes.clone(),
        ordered: statement.orders_all(width),
        refused,
        answer: answer.clone(),
    })
}

#[test]
fn new() {
    let Some(count) = number("GINGHAM_POSTGRES") else { return };
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let seed = number("GINGHAM_SEED").unwrap_or_else(clock);
    let mut server = Server::start();
    let version = server.first.version();
    println!("PostgreSQL {version}, GINGHAM_SEED={seed}");
    let shrinks = number("GINGHAM_POSTGRES_SHRINK").unwrap_or(20);
    let mut run = Run {
        server,
        features: Features::asked(),
        report: Report::default(),
        seed,
        shrinks,
        others: if shrinks > 0 { 60 } else { 0 },
        bless: std::env::var_os("GINGHAM_POSTGRES_BLESS").is_some(),
        sections: Vec::new(),
    };
    let mut seeds = Generator::new(seed);
    let mut left = count as usize;
    while left > 0 {
        let now = left.min(PER_WORLD);
        run.world(seeds.bits(), now);
        left -= now;
    }
    if run.bless {
        run.store(&version);
    }
    println!("{}", run.report.text());
    let again = format!("GINGHAM_POSTGRES={count} GINGHAM_SEED={seed} repeats them");
    assert_eq!(run.report.wrong(), 0, "wrong answers; {again}");
    assert_eq!(run.report.faults(), 0, "panics or internal errors; {again}");
    let known = refusals::known();
    let new: Vec<&str> = run.report.refusals().into_iter().filter(|kind| !known.contains(*kind)).collect();
    assert!(new.is_empty(), "refused for reasons that {} does not have: {new:#?}; {again}", refusals::file().display());
}
