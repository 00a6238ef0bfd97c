//! The run: what the workload costs as the database is, then one table after the other, each within its share of the time.

use super::advice::{Advice, MeasuredDesign, StatementFacts, TableAdvice};
use super::looks::{Told, measure};
use super::scratch::{Built, Sample, Scratch, folder_bytes, reference};
use super::stop::Stop;
use super::trial::{Part, TrialBench, run};
use crate::words::counted;
use gingham::advisor::{Candidate, StatementUse, TableFacts, Workload, WorkloadStatement, model, propose, rank};
use gingham::storage::TableName;
use gingham::storage::snapshot::TableSnapshot;
use gingham::{Connection, Database, Error, Result, SqlState, lab};
use gingham_kernels::Isa;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The statements.
    pub workload: Workload,
    /// Tables that may change; all that the workload names when there are none.
    pub tables: Vec<TableName>,
    /// How long it may take.
    pub budget: Duration,
    /// Bytes of scratch tables, in times of the database's; `None` for twice, or a gigabyte where that is more.
    pub disk: Option<f64>,
    /// Determines the order of measurements.
    pub seed: u64,
}

/// Told how a run goes on.
pub trait Watch: Sync {
    /// What is done now, and the share of the time that is gone.
    fn note(&self, what: &str, spent: f64);
}

impl Watch for () {
    fn note(&self, _what: &str, _spent: f64) {}
}

/// A statement that takes more than this share of the time is left out.
const LONGEST_STATEMENT: f64 = 0.2;
/// The share of the time for building designs.
const BUILDING: f64 = 1.0 / 3.0;
/// Designs of a table that are measured, at most.
const MOST_DESIGNS: usize = 64;
/// Designs that are confirmed on a whole table, at most, the present one among them.
const MOST_CONFIRMED: usize = 4;
/// Rounds that there should be time for.
const WANTED_ROUNDS: f64 = 15.0;
/// The share of what time is left for giving a table its proposed design before the next is measured.
const ADOPTING: f64 = 0.15;
/// A table that costs less of the workload is passed over, and one that would get less time: nothing could be told of it.
const LEAST_SHARE: f64 = 0.02;
const LEAST_TIME: Duration = Duration::from_secs(4);
/// Bytes of scratch tables where nobody says: in times of the database's, and at least.
const USUAL_DISK: f64 = 2.0;
const LEAST_DISK: f64 = 1e9;
/// The share of the memory limit that designs may take: they are measured warm.
const MEMORY: f64 = 0.5;

/// Finds designs for the tables of a database. Nothing is written but scratch tables in a folder of the database, which are gone
/// at the end.
///
/// # Errors
/// Those of statements that can't be bound or run, with their file and line; when there is no room for scratch tables, or no
/// memory; [`Error::Cancelled`] when it was stopped.
pub fn advise(database: &Database, request: &Request, watch: &dyn Watch, stop: &Stop) -> Result<Advice> {
    let begun = Instant::now();
    let connection = database.connect();
    let uses = uses(&connection, &request.workload)?;
    let named =
        request.tables.iter().map(|name| connection.table(&reference(name)).map(|table| table.definition.name.clone()));
    let named = named.collect::<Result<Vec<_>>>()?;
    let bytes = folder_bytes(database.path(), std::fs::Metadata::len) as f64;
    let limit = request.disk.map_or(bytes * USUAL_DISK, |times| bytes * times);
    let scratch = Scratch::of(database, if request.disk.is_some() { limit } else { limit.max(LEAST_DISK) } as u64)?;
    let mut session = AdviceRun {
        request,
        watch,
        stop,
        begun,
        scratch,
        built: Vec::new(),
        memory: lab::memory_limit(database) as f64,
    };
    let statements = session.statements(uses)?;
    let (order, passed_over) = session.order(&statements, &named)?;
    let mut tables = Vec::new();
    let mut cost: f64 = order.iter().map(|(_, share)| share).sum();
    for (table, share) in order {
        let left = request.budget.saturating_sub(begun.elapsed());
        let time = left.mul_f64((share / cost).min(1.0));
        cost -= share;
        let advice = session.table(&table, &statements, share, time)?;
        session.adopt(&advice)?;
        tables.push(advice);
    }
    let origin = request.workload.origin.clone();
    Ok(Advice { origin, statements, tables, passed_over, elapsed: begun.elapsed(), budget: request.budget })
}

/// What each statement asks of tables.
fn uses(connection: &Connection, workload: &Workload) -> Result<Vec<StatementUse>> {
    workload.statements.iter().map(|statement| connection.workload_use(statement, &workload.origin)).collect()
}

/// One run.
struct AdviceRun<'r> {
    request: &'r Request,
    watch: &'r dyn Watch,
    stop: &'r Stop,
    begun: Instant,
    // Dropped in this order: what has the scratch database, then that.
    /// Tables in it that are measured.
    built: Vec<Built>,
    scratch: Scratch,
    /// The memory limit in bytes.
    memory: f64,
}

/// A table under test.
struct Table<'s> {
    name: TableName,
    snapshot: Arc<TableSnapshot>,
    parts: Vec<Part<'s>>,
    time: Duration,
    begun: Instant,
}

impl Table<'_> {
    /// What is left of its time.
    fn left(&self) -> Duration {
        self.time.saturating_sub(self.begun.elapsed())
    }
}

/// Designs that were built and measured.
struct MeasuredTable {
    designs: Vec<MeasuredDesign>,
    told: Told,
}

impl AdviceRun<'_> {
    fn note(&self, what: &str) {
        let spent = self.begun.elapsed().as_secs_f64() / self.request.budget.as_secs_f64().max(1e-9);
        self.watch.note(what, spent.min(1.0));
    }

    /// Runs every statement once on the tables as they are.
    fn statements(&self, uses: Vec<StatementUse>) -> Result<Vec<StatementFacts>> {
        let connection = self.scratch.connect();
        let (workload, longest) = (&self.request.workload, self.request.budget.mul_f64(LONGEST_STATEMENT));
        let mut facts = Vec::new();
        for (statement, uses) in workload.statements.iter().zip(uses) {
            self.note(&format!("running the statement in line {}", statement.line));
            let mut ran = self.once(&connection, statement, longest)?;
            // The first run reads from disk; where there is time, the second counts.
            if ran.is_some_and(|elapsed| elapsed < longest / 20) {
                ran = self.once(&connection, statement, longest)?;
            }
            let left_out = ran.is_none().then(|| {
                format!(
                    "it takes more than {:.1} s, a fifth of the time: give more with --budget",
                    longest.as_secs_f64()
                )
            });
            facts.push(StatementFacts { statement: statement.clone(), uses, time: ran.unwrap_or(longest), left_out });
        }
        if facts.iter().all(|statement| statement.left_out.is_some()) {
            let text = format!(
                "{}: every statement takes more than {:.1} s, a fifth of the time: give more with --budget",
                workload.origin,
                longest.as_secs_f64()
            );
            return Err(Error::invalid(SqlState::InvalidParameterValue, text));
        }
        Ok(facts)
    }

    fn once(
        &self,
        connection: &Connection,
        statement: &WorkloadStatement,
        longest: Duration,
    ) -> Result<Option<Duration>> {
        let ran = self.stop.at_most(longest, connection, || run(connection, statement));
        let origin = &self.request.workload.origin;
        let ran = ran.map_err(|error| error.about(format_args!("{origin}, statement in line {}", statement.line)))?;
        Ok(ran.map(|(.., elapsed)| elapsed))
    }

    /// Tables with the share of the workload's time that each costs, about, most first; and those that are passed over.
    #[expect(clippy::type_complexity, reason = "two lists of tables, each with what is known of them")]
    fn order(
        &self,
        statements: &[StatementFacts],
        named: &[TableName],
    ) -> Result<(Vec<(TableName, f64)>, Vec<(TableName, String)>)> {
        let connection = self.scratch.connect();
        let mut costs: BTreeMap<TableName, f64> = BTreeMap::new();
        let mut known = BTreeMap::new();
        for facts in statements.iter().filter(|facts| facts.left_out.is_none()) {
            let time = facts.statement.weight * facts.time.as_secs_f64();
            let own = modelled(&connection, &mut known, &facts.uses)?;
            let all: f64 = own.iter().map(|(_, cost)| cost).sum();
            for (table, cost) in own {
                *costs.entry(table).or_default() += time * cost / all.max(1.0);
            }
        }
        let all: f64 = costs.values().sum();
        let mut order: Vec<(TableName, f64)> =
            costs.into_iter().map(|(table, cost)| (table, cost / all.max(1e-12))).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut passed_over = Vec::new();
        for name in named.iter().filter(|name| !order.iter().any(|(table, _)| table == *name)) {
            passed_over.push((name.clone(), "no statement concerns it".to_owned()));
        }
        let mut kept = Vec::new();
        for (table, share) in order {
            let why = if !named.is_empty() && !named.contains(&table) {
                Some("it was not asked for".to_owned())
            } else if connection.table(&reference(&table))?.rows() == 0 {
                Some("it is empty".to_owned())
            } else if named.is_empty() && share < LEAST_SHARE {
                Some(format!("it costs about {:.1} % of the workload's time", share * 100.0))
            } else if named.is_empty() && !kept.is_empty() && self.request.budget.mul_f64(share) < LEAST_TIME {
                Some(format!(
                    "it costs about {:.0} % of the workload's time, and would get too little to tell anything: give more with \
                     --budget, or name it with --tables",
                    share * 100.0
                ))
            } else {
                None
            };
            match why {
                Some(why) => passed_over.push((table, why)),
                None => kept.push((table, share)),
            }
        }
        Ok((kept, passed_over))
    }

    /// Measures designs of one table.
    fn table(
        &mut self,
        name: &TableName,
        statements: &[StatementFacts],
        share: f64,
        time: Duration,
    ) -> Result<TableAdvice> {
        let snapshot = self.scratch.connect().table(&reference(name))?;
        let concerned = |facts: &StatementFacts| {
            let scanned = facts.uses.tables.iter().any(|scan| scan.table == *name);
            let written = facts.uses.write.as_ref().is_some_and(|write| write.table == *name);
            facts.left_out.is_none() && (scanned || written)
        };
        let places: Vec<usize> = (0..statements.len()).filter(|place| concerned(&statements[*place])).collect();
        let part = |place: &usize| Part { statement: &statements[*place].statement, uses: &statements[*place].uses };
        let parts: Vec<Part<'_>> = places.iter().map(part).collect();
        let table = Table { name: name.clone(), snapshot, parts, time, begun: Instant::now() };
        self.note(&format!("{name}: designs worth a try"));
        let mut candidates = self.ranked(&table, statements)?;
        let sample = Sample::of(&table.snapshot)?;
        let mut rejected = Vec::new();
        // On a sample, half of the time is kept for the whole table.
        let time = if sample.is_whole() { table.time } else { table.time / 2 };
        let mut measured = self.measured(&table, &sample, &mut candidates, &mut rejected, time)?;
        rejected.extend(
            candidates
                .into_iter()
                .map(|candidate| (candidate, "the model ranks it behind those for which there was time".to_owned())),
        );
        let mut basis = sample.share;
        if !sample.is_whole()
            && measured.told.class != [0]
            && let Some(whole) = self.confirmed(&table, &measured)?
        {
            rejected.extend(not_confirmed(&measured, &whole));
            (measured, basis) = (whole, 1.0);
        }
        let bytes: Vec<f64> = measured.designs.iter().map(|design| design.bytes).collect();
        let proposed = measured.told.proposed(&bytes);
        Ok(TableAdvice {
            definition: Arc::clone(&table.snapshot.definition),
            rows: table.snapshot.rows(),
            share,
            statements: places,
            designs: measured.designs,
            rejected,
            told: measured.told,
            sample: basis,
            proposed,
        })
    }

    /// Gives the table in the scratch database what is proposed, so that the tables after it are measured beside that, where it
    /// takes little of what time is left.
    fn adopt(&mut self, advice: &TableAdvice) -> Result<()> {
        let proposed = &advice.designs[advice.proposed];
        let left = self.request.budget.saturating_sub(self.begun.elapsed());
        let takes_little = proposed.change < left.mul_f64(ADOPTING) && proposed.bytes < self.scratch.room() as f64;
        if advice.proposed == 0 || !takes_little {
            return Ok(());
        }
        self.note(&format!("{}: giving the scratch table its design", advice.definition.name));
        self.scratch.arrange(&advice.definition, &proposed.candidate, self.stop)
    }

    /// Candidates in the order of what the model promises, the present design first.
    fn ranked(&self, table: &Table<'_>, statements: &[StatementFacts]) -> Result<Vec<Candidate>> {
        let facts = TableFacts::of(&table.snapshot);
        let uses: Vec<(f64, StatementUse)> =
            statements.iter().map(|facts| (facts.statement.weight, facts.uses.clone())).collect();
        let mut candidates = propose(&facts, &uses);
        let present = candidates.remove(0);
        let ranked = rank(&facts, candidates, &uses, Isa::best())?;
        Ok([present].into_iter().chain(ranked.into_iter().map(|(candidate, _)| candidate)).collect())
    }

    /// Builds the present design and as many others as there is time and room for, and measures them. What was taken from
    /// `candidates` is gone from them.
    fn measured(
        &mut self,
        table: &Table<'_>,
        sample: &Sample,
        candidates: &mut Vec<Candidate>,
        rejected: &mut Vec<(Candidate, String)>,
        time: Duration,
    ) -> Result<MeasuredTable> {
        let begun = Instant::now();
        let mut bench = TrialBench::new(&table.parts, self.stop);
        let mut designs = Vec::new();
        let present = candidates.remove(0);
        self.scratch.require_room(super::scratch::table_bytes(&table.snapshot) / sample.scale() as u64)?;
        let (first, pass) = self.add(table, sample, &present, &mut bench, &mut designs)?;
        let most = self.most_designs(table, sample, (first, pass), time)?;
        while designs.len() < most && begun.elapsed() + first < time.mul_f64(BUILDING) && !candidates.is_empty() {
            if self.scratch.room() < 2 * designs[0].bytes as u64 / sample.scale() as u64 {
                break;
            }
            let candidate = candidates.remove(0);
            let text = candidate.text(&table.snapshot.definition);
            self.note(&format!("{}: building {text}", table.name));
            if let Err(error) = self.add(table, sample, &candidate, &mut bench, &mut designs) {
                match error {
                    Error::Cancelled => return Err(Error::Cancelled),
                    Error::Internal(detail) => {
                        return Err(Error::Internal(format!("{} as {text}: {detail}", table.name)));
                    }
                    error => rejected.push((candidate, error.to_string())),
                }
            }
        }
        self.note(&format!("{}: measuring {}", table.name, counted(designs.len() as u64, "design")));
        bench.start(time.saturating_sub(begun.elapsed()));
        let told = measure(&mut bench, designs.len(), self.request.seed)?;
        drop(bench);
        self.built.drain(..).for_each(|built| self.scratch.remove(built));
        Ok(MeasuredTable { designs, told })
    }

    /// Builds one design and adds it to the bench. Returns how long building took, and running all statements once.
    fn add(
        &mut self,
        table: &Table<'_>,
        sample: &Sample,
        candidate: &Candidate,
        bench: &mut TrialBench<'_>,
        designs: &mut Vec<MeasuredDesign>,
    ) -> Result<(Duration, Duration)> {
        let begun = Instant::now();
        let built = self.scratch.build(&table.snapshot, sample, candidate, self.stop)?;
        let (building, bytes) = (begun.elapsed(), built.bytes as f64 * sample.scale());
        let change = building.mul_f64(sample.scale());
        match bench.add(built.connection.clone(), table.left()) {
            Ok(pass) => {
                designs.push(MeasuredDesign { candidate: candidate.clone(), bytes, change });
                self.built.push(built);
                Ok((building, pass))
            }
            Err(error) => {
                self.scratch.remove(built);
                Err(error)
            }
        }
    }

    /// How many designs there is memory and time for, given how long one takes to build and to run once.
    fn most_designs(
        &self,
        table: &Table<'_>,
        sample: &Sample,
        (first, pass): (Duration, Duration),
        time: Duration,
    ) -> Result<usize> {
        let in_memory = native_bytes(&table.snapshot) * sample.share;
        let by_memory = self.memory * MEMORY / in_memory.max(1.0);
        if by_memory < 2.0 {
            return Err(Error::OutOfMemory(format!(
                "two designs of table '{}' take {:.0} MB to be compared, and gingham.memory_limit leaves {:.0} MB: raise it",
                table.name,
                2.0 * in_memory / 1e6,
                self.memory * MEMORY / 1e6
            )));
        }
        let by_building = time.mul_f64(BUILDING).as_secs_f64() / first.as_secs_f64().max(1e-6);
        let by_rounds = time.mul_f64(1.0 - BUILDING).as_secs_f64() / (WANTED_ROUNDS * pass.as_secs_f64()).max(1e-6);
        Ok((by_memory.min(by_building).min(by_rounds) as usize).clamp(2, MOST_DESIGNS))
    }

    /// Measures the best designs on the whole table, where time and room allow.
    fn confirmed(&mut self, table: &Table<'_>, measured: &MeasuredTable) -> Result<Option<MeasuredTable>> {
        // On the whole table the first few may come in another order: the best of the sample goes with those next to it.
        let times = |design: usize| measured.told.gain(design).map_or(0.0, |gain| gain.times);
        let mut survivors: Vec<usize> = (1..measured.designs.len()).collect();
        survivors.sort_by(|a, b| times(*b).total_cmp(&times(*a)));
        survivors.truncate(MOST_CONFIRMED - 1);
        let fits = |survivors: &[usize]| {
            let all = || [0].iter().chain(survivors).map(|design| &measured.designs[*design]);
            let building: Duration = all().map(|design| design.change).sum();
            let bytes: f64 = all().map(|design| design.bytes).sum();
            let in_memory = native_bytes(&table.snapshot) * all().count() as f64;
            building <= table.left() / 2 && bytes <= self.scratch.room() as f64 && in_memory <= self.memory * MEMORY
        };
        while !survivors.is_empty() && !fits(&survivors) {
            survivors.pop();
        }
        if survivors.is_empty() {
            return Ok(None);
        }
        let kept: Vec<&MeasuredDesign> =
            [0].iter().chain(&survivors).map(|design| &measured.designs[*design]).collect();
        let whole = Sample::whole(&table.snapshot)?;
        let mut bench = TrialBench::new(&table.parts, self.stop);
        let mut designs = Vec::new();
        for design in kept {
            self.note(&format!("{}: building {} whole", table.name, design.candidate.text(&table.snapshot.definition)));
            match self.add(table, &whole, &design.candidate, &mut bench, &mut designs) {
                Ok(_) => {}
                Err(error @ (Error::Cancelled | Error::Internal(_))) => return Err(error),
                // What went well on a sample takes too much of the whole table: the sample has to do.
                Err(_) => {
                    drop(bench);
                    self.built.drain(..).for_each(|built| self.scratch.remove(built));
                    return Ok(None);
                }
            }
        }
        self.note(&format!(
            "{}: confirming {} on the whole table",
            table.name,
            counted(designs.len() as u64, "design")
        ));
        bench.start(table.left());
        let told = measure(&mut bench, designs.len(), self.request.seed)?;
        drop(bench);
        self.built.drain(..).for_each(|built| self.scratch.remove(built));
        Ok(Some(MeasuredTable { designs, told }))
    }
}

/// The designs of a sample that were not measured on the whole table, with the reason.
fn not_confirmed(sample: &MeasuredTable, whole: &MeasuredTable) -> Vec<(Candidate, String)> {
    let others = sample.designs.iter().enumerate().skip(1);
    let others = others.filter(|(_, design)| !whole.designs.iter().any(|kept| kept.candidate == design.candidate));
    let why = |number: usize| match sample.told.gain(number).filter(|_| sample.told.is_slower(number)) {
        Some(gain) => format!(
            "told apart as slower than another on a sample, {:.2} times as fast as the present design there",
            gain.times
        ),
        None => "others are faster on a sample, and there was time for no more".to_owned(),
    };
    others.map(|(number, design)| (design.candidate.clone(), why(number))).collect()
}

/// What each table costs a statement by the model, as the tables are.
/// `known` has the facts of tables that were asked for before.
fn modelled(
    connection: &Connection,
    known: &mut BTreeMap<TableName, TableFacts>,
    uses: &StatementUse,
) -> Result<Vec<(TableName, f64)>> {
    let mut names: Vec<&TableName> = uses.tables.iter().map(|scan| &scan.table).collect();
    names.extend(uses.write.as_ref().map(|write| &write.table));
    names.sort();
    names.dedup();
    let weighed = [(1.0, uses.clone())];
    let mut costs = Vec::with_capacity(names.len());
    for name in names {
        if !known.contains_key(name) {
            known.insert(name.clone(), TableFacts::of(&connection.table(&reference(name))?));
        }
        let facts = &known[name];
        let present = Candidate::present(&facts.table.definition);
        costs.push((name.clone(), model(facts, &present, &weighed, Isa::best())?.nanoseconds));
    }
    Ok(costs)
}

/// Bytes of a table's records in memory, about.
fn native_bytes(table: &Arc<TableSnapshot>) -> f64 {
    let facts = TableFacts::of(table);
    facts.columns.iter().map(|column| column.native_bytes()).sum::<f64>() * facts.rows()
}
