//! What the advisor found, as data: reports and tests read it.

use super::looks::{Gain, Told};
use gingham::advisor::{Candidate, StatementUse, WorkloadStatement};
use gingham::storage::{TableDefinition, TableName};
use std::sync::Arc;
use std::time::Duration;

/// The answer of one run.
#[derive(Debug, Default)]
pub struct Advice {
    /// Where the workload comes from.
    pub origin: String,
    /// Its statements.
    pub statements: Vec<StatementFacts>,
    /// Tables that were looked at, those that cost the workload most first.
    pub tables: Vec<TableAdvice>,
    /// Tables that were not, with the reason.
    pub passed_over: Vec<(TableName, String)>,
    /// How long it took.
    pub elapsed: Duration,
    /// How long it might.
    pub budget: Duration,
}

/// A statement, and what is known of it before any design is measured.
#[derive(Debug)]
pub struct StatementFacts {
    /// The statement.
    pub statement: WorkloadStatement,
    /// What it asks of tables.
    pub uses: StatementUse,
    /// Its time as the database is.
    pub time: Duration,
    /// Why it is not measured.
    pub left_out: Option<String>,
}

/// What is advised for one table.
#[derive(Debug)]
pub struct TableAdvice {
    /// The table as it was.
    pub definition: Arc<TableDefinition>,
    /// Its records.
    pub rows: u64,
    /// The share of the workload's time that it costs, about.
    pub share: f64,
    /// Statements that concern it, by their places in the workload.
    pub statements: Vec<usize>,
    /// Designs that were measured, the present one first.
    pub designs: Vec<MeasuredDesign>,
    /// Designs that were not, with the reason.
    pub rejected: Vec<(Candidate, String)>,
    /// What the rounds tell of the designs.
    pub told: Told,
    /// The share of the table's records that was measured on.
    pub sample: f64,
    /// The place of the proposed design; 0 is the present one.
    pub proposed: usize,
}

/// A design that was measured.
#[derive(Debug)]
pub struct MeasuredDesign {
    /// The design.
    pub candidate: Candidate,
    /// Bytes of the whole table in it, about when only a sample was measured.
    pub bytes: f64,
    /// How long ALTER TABLE takes, about.
    pub change: Duration,
}

/// What is said of a table in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// Another design is faster.
    Change,
    /// The present design is faster than all others.
    Keep,
    /// The present design can't be told from the fastest.
    Unknown,
}

impl TableAdvice {
    /// What is said of it.
    pub fn answered(&self) -> Answered {
        match (self.proposed, self.told.class.as_slice()) {
            (0, [0]) if self.designs.len() > 1 => Answered::Keep,
            (0, _) => Answered::Unknown,
            _ => Answered::Change,
        }
    }

    /// The gain of the proposed design; `None` when nothing is proposed.
    pub fn gain(&self) -> Option<Gain> {
        if self.proposed == 0 { None } else { self.told.gain(self.proposed) }
    }

    /// The designs with their gains, the fastest first; the present one has the gain 1.
    pub fn by_gain(&self) -> Vec<(usize, Option<Gain>)> {
        let mut all: Vec<(usize, Option<Gain>)> =
            (0..self.designs.len()).map(|design| (design, self.told.gain(design))).collect();
        let times = |gain: &Option<Gain>| gain.map_or(0.0, |gain| gain.times);
        all.sort_by(|a, b| times(&b.1).total_cmp(&times(&a.1)));
        all
    }

    /// The gains of a design by statement, by their places in the workload, losses first.
    pub fn gains_of_statements(&self, design: usize) -> Vec<(usize, Gain)> {
        let gains = self.statements.iter().enumerate();
        let mut gains: Vec<(usize, Gain)> =
            gains.filter_map(|(part, statement)| Some((*statement, self.told.gain_in(design, part)?))).collect();
        gains.sort_by(|a, b| a.1.times.total_cmp(&b.1.times));
        gains
    }

    /// The statements that give the table the proposed design.
    pub fn statements_to_change(&self) -> Vec<String> {
        self.designs[self.proposed].candidate.statements(&self.definition)
    }

    /// The statements that take it away again.
    pub fn statements_to_undo(&self) -> Vec<String> {
        self.designs[self.proposed].candidate.undo(&self.definition)
    }
}
