//! Giving tables the designs that were advised, and making sure: the same answers, and not slower. The database after the change is
//! compared with a copy from before, statement by statement; both are the files as they are, by links.

use super::advice::{Advice, TableAdvice};
use super::advise::Watch;
use super::looks::{Gain, measure};
use super::scratch::{Scratch, reference};
use super::stop::Stop;
use super::trial::{Part, TrialBench};
use gingham::storage::model::Arrangement;
use gingham::storage::store::WriteOptions;
use gingham::storage::{TableDefinition, TableName};
use gingham::{Database, Error, Result, lab};
use std::time::Duration;

/// How long a change waits for others that write.
const PATIENCE: Duration = Duration::from_secs(60);
/// The share of the advice's time for which each table is measured again.
const MEASURED_AGAIN: f64 = 0.25;
/// The measured time where nothing takes long.
const LEAST_TIME: Duration = Duration::from_secs(1);

/// What became of one table.
#[derive(Debug)]
pub struct Applied {
    /// The table.
    pub table: TableName,
    /// How many times as fast its statements are; `None` when nothing can be told.
    pub gain: Option<Gain>,
    /// Why the change was undone again.
    pub undone: Option<String>,
    /// What is known of the answers: "all answers are the same", or how many of them and what the others were compared by.
    pub compared: String,
}

/// Gives each table the design that is proposed for it, one after the other. One that answers otherwise or is told apart as slower
/// gets its old design back.
///
/// # Errors
/// When a table was altered since it was looked at, when it can't be rewritten, and when it was stopped: the table that was being
/// changed has its old design or the new one then, never another.
pub fn apply(
    database: &Database,
    advice: &Advice,
    threads: usize,
    watch: &dyn Watch,
    stop: &Stop,
) -> Result<Vec<Applied>> {
    let changed = advice.tables.iter().filter(|table| table.proposed != 0);
    changed.map(|table| Change { database, advice, table, threads, watch, stop }.make()).collect()
}

/// One table's change.
struct Change<'a> {
    database: &'a Database,
    advice: &'a Advice,
    table: &'a TableAdvice,
    threads: usize,
    watch: &'a dyn Watch,
    stop: &'a Stop,
}

impl Change<'_> {
    fn make(&self) -> Result<Applied> {
        let name = &self.table.definition.name;
        self.require_unaltered()?;
        self.watch.note(&format!("{name}: keeping a copy of the old design"), 0.0);
        let before = Scratch::of(self.database, u64::MAX)?;
        let proposed = &self.table.designs[self.table.proposed].candidate;
        self.arrange(&proposed.arrangement(&self.table.definition), self.stop)?;
        let (gain, compared, undone) = match self.compared(&before) {
            Ok((gain, compared)) => {
                let slower = gain.filter(|gain| gain.interval.high < 1.0);
                (gain, compared, slower.map(|gain| format!("it is {:.2} times as fast", gain.times)))
            }
            Err(Error::Internal(wrong)) => (None, String::new(), Some(wrong)),
            Err(other) => {
                self.give_back()?;
                return Err(other);
            }
        };
        if undone.is_some() {
            self.watch.note(&format!("{name}: giving the old design back"), 1.0);
            self.give_back()?;
        }
        Ok(Applied { table: name.clone(), gain, undone, compared })
    }

    fn require_unaltered(&self) -> Result<()> {
        let name = &self.table.definition.name;
        let now: TableDefinition = (*self.database.connect().table(&reference(name))?.definition).clone();
        if now == *self.table.definition {
            return Ok(());
        }
        Err(Error::Conflict(format!("table '{name}' was altered since it was looked at: ask for advice again")))
    }

    /// Gives the table its old design, whoever says stop meanwhile: the new one has not proved itself.
    fn give_back(&self) -> Result<()> {
        self.arrange(&Arrangement::present(&self.table.definition), &Stop::default())
    }

    fn arrange(&self, arrangement: &Arrangement, stop: &Stop) -> Result<()> {
        let name = &self.table.definition.name;
        let mut watch = |done: u64, all: u64| {
            self.watch.note(&format!("{name}: rewriting"), done as f64 / all.max(1) as f64);
            if stop.is_stopped() { Err(gingham::storage::Error::Cancelled) } else { Ok(()) }
        };
        let options = WriteOptions { lock_timeout: Some(PATIENCE), ..WriteOptions::default() };
        lab::store(self.database).set_arrangement(name, arrangement, self.threads, &mut watch, &options)?;
        Ok(())
    }

    /// Compares all answers, and the times, with those of the old design.
    fn compared(&self, before: &Scratch) -> Result<(Option<Gain>, String)> {
        let name = &self.table.definition.name;
        self.watch.note(&format!("{name}: comparing with the old design"), 0.0);
        let after = Scratch::of(self.database, u64::MAX)?;
        let part = |place: &usize| {
            let facts = &self.advice.statements[*place];
            Part { statement: &facts.statement, uses: &facts.uses }
        };
        let parts: Vec<Part<'_>> = self.table.statements.iter().map(part).collect();
        let mut bench = TrialBench::new(&parts, self.stop);
        bench.add(before.connect(), self.advice.budget)?;
        bench.add(after.connect(), self.advice.budget)?;
        bench.start(self.advice.budget.mul_f64(MEASURED_AGAIN).max(LEAST_TIME));
        let gain = measure(&mut bench, 2, 1)?.gain(1);
        Ok((gain, bench.compared_so_far()))
    }
}
