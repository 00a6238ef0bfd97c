//! Scans as variants of experiments: a sample is one query of a set, another in each round, and all scanners get the same.

use super::queries::{Positions, QueryKind, QuerySet, queries_of_a_point};
use super::scan::buffer::Dropped;
use super::scan::paced::SlowDisk;
use super::scan::plan::{ScanCost, scan};
use super::stored::{Stored, StoredFile, StoredTable};
use super::tables::PaperTable;
use crate::experiment::{Bench, Error, Laps, Levels, Subject, Trial, Variant};
use crate::machine::Clock;
use std::cell::OnceCell;
use std::rc::Rc;

/// The rate of the paper's disk, in bytes a second.
pub const PAPER_RATE: f64 = 70e6;
/// Rounds of throttled runs, which only confirm what is derived.
const THROTTLED_ROUNDS: usize = 5;

/// A table that the trials of an experiment share: loaded when the first of them is set up.
#[derive(Clone)]
pub struct SharedTable {
    table: PaperTable,
    ways: &'static [Stored],
    loaded: Rc<OnceCell<Rc<StoredTable>>>,
    positions: Rc<Positions>,
}

/// A point of a figure: one way to store the table, one kind of query.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanPoint {
    /// Where the records lie.
    pub stored: Stored,
    /// The queries.
    pub kind: QueryKind,
    /// The point's levels.
    pub levels: Levels,
}

impl SharedTable {
    /// A table, to be stored in these ways.
    pub fn new(table: PaperTable, ways: &'static [Stored]) -> Self {
        Self { table, ways, loaded: Rc::default(), positions: Rc::default() }
    }

    /// The table, loaded.
    pub fn get(&self, bench: &Bench) -> Result<Rc<StoredTable>, Error> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(Rc::clone(loaded));
        }
        let made = Rc::new(StoredTable::new(bench, self.table, self.ways)?);
        Ok(Rc::clone(self.loaded.get_or_init(|| made)))
    }

    /// A trial of points, at the full rate of the disk; and one of some of them at the paper's.
    pub fn trials(&self, bench: &Bench, points: Vec<ScanPoint>, throttled: Vec<ScanPoint>) -> Vec<Trial> {
        let name = self.table.name();
        let rounds = queries_of_a_point(bench);
        vec![
            self.trial(name.to_owned(), rounds, points, false),
            self.trial(format!("{name}, throttled"), THROTTLED_ROUNDS.min(rounds), throttled, true),
        ]
    }

    fn trial(&self, name: String, rounds: usize, points: Vec<ScanPoint>, is_throttled: bool) -> Trial {
        let own = self.clone();
        let setup = move |bench: &Bench| {
            let table = own.get(bench)?;
            // Scanners are compared by the same queries.
            let mut sets: Vec<(QueryKind, Rc<QuerySet>)> = Vec::new();
            let variant = |point: ScanPoint| {
                let known = sets.iter().find(|(kind, _)| *kind == point.kind).map(|(_, set)| Rc::clone(set));
                let queries = known.unwrap_or_else(|| {
                    let set = Rc::new(QuerySet::new(bench, &table, point.kind, &own.positions));
                    sets.push((point.kind, Rc::clone(&set)));
                    set
                });
                variant(bench, &table, queries, point, rounds, is_throttled)
            };
            points.into_iter().map(variant).collect()
        };
        Trial { name, setup: Box::new(setup) }
    }
}

fn variant(
    bench: &Bench,
    table: &Rc<StoredTable>,
    queries: Rc<QuerySet>,
    point: ScanPoint,
    rounds: usize,
    is_throttled: bool,
) -> Result<Variant, Error> {
    let files = table.files(point.stored)?;
    let records = table.values.records as f64;
    let mut levels = point.levels;
    levels.push(("disk", disk(is_throttled).to_owned()));
    let facts =
        vec![("records", records), ("table_bytes", files.iter().map(|file| file.pages.bytes()).sum::<u64>() as f64)];
    let query = queries.len() - 1;
    let found = Err("it has not run".to_owned());
    let subject = Scan { files, queries, query, rounds, clock: bench.clock, records, is_throttled, found };
    Ok(Variant { levels, units: (records, "record"), facts, subject: Box::new(subject) })
}

/// The level of the factor `disk`.
pub fn disk(is_throttled: bool) -> &'static str {
    if is_throttled { "held to 70 MB/s" } else { "full rate" }
}

/// Scans of a file set, query by query.
struct Scan {
    files: Rc<Vec<StoredFile>>,
    queries: Rc<QuerySet>,
    /// The query of the last run.
    query: usize,
    rounds: usize,
    clock: Clock,
    records: f64,
    is_throttled: bool,
    found: Result<(ScanFound, Option<ScanFound>), String>,
}

/// The answer of a scan, and its cost.
type ScanFound = (Dropped, ScanCost);

impl Scan {
    fn scan(&self, disk: Option<&SlowDisk>) -> Result<ScanFound, String> {
        let mut answer = Dropped::default();
        let cost = scan(&self.files, self.queries.query(self.query), disk, &mut answer);
        Ok((answer, cost.map_err(|error| error.to_string())?))
    }
}

/// Seconds that a scan takes on the paper's disk: the longer of computing and reading, which overlap.
fn at_paper_rate(cost: &ScanCost) -> f64 {
    cost.computed.as_secs_f64().max(cost.bytes as f64 / PAPER_RATE)
}

impl Subject for Scan {
    fn prepare(&mut self) {
        self.query = (self.query + 1) % self.queries.len();
        self.found = Err("it has not run".to_owned());
    }

    fn run(&mut self, _: &mut Laps) {
        let found = self.scan(None);
        let slow = self.is_throttled.then(|| self.scan(Some(&SlowDisk::new(PAPER_RATE))));
        self.found = found.and_then(|found| Ok((found, slow.transpose()?)));
    }

    fn check(&mut self) -> Result<(), String> {
        let expected = self.queries.answer(self.query);
        let ((answer, _), slow) = self.found.clone()?;
        for found in [Some(answer), slow.map(|(answer, _)| answer)].into_iter().flatten() {
            if found != expected {
                return Err(format!("query {}: {found:?}, {expected:?} expected", self.query));
            }
        }
        Ok(())
    }

    fn values(&self) -> Vec<(&'static str, f64)> {
        let Ok(((_, cost), slow)) = &self.found else { return Vec::new() };
        let cycles = |seconds: f64| seconds * self.clock.per_second() / self.records;
        let slow = match slow {
            Some((_, slow)) => ("found_ratio", slow.elapsed.as_secs_f64() / at_paper_rate(cost)),
            None => ("slow", cycles(at_paper_rate(cost))),
        };
        vec![slow, ("cpu", cycles(cost.computed.as_secs_f64())), ("found_bytes", cost.bytes as f64 / self.records)]
    }

    fn runs(&self) -> Option<usize> {
        Some(self.rounds)
    }
}
