//! A stage: a part of a pipeline that is one loop (relaxed operator fusion paper, section 4.1). It looks at each record of
//! a vector, drops those that fail its filter, and computes what the next stage or the sink needs of the others.

use crate::program::steps::{Builder, Operation, Program, StepId};
use crate::{Error, Expression, Field, Result};

/// What is read of a column.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ColumnUse {
    pub(crate) integers: bool,
    pub(crate) validity: bool,
}

/// A stage ready to run.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) program: Program,
    /// Where the program's columns lie.
    pub(crate) fields: Vec<Field>,
    /// A truth: the record goes on.
    pub(crate) filter: Option<StepId>,
    /// The filter and what must be looked at beside it, with all steps that these need, in order.
    pub(crate) filter_steps: Vec<StepId>,
    /// What must be looked at of records that go on, whether or not a result needs it.
    pub(crate) checks: Vec<StepId>,
    /// What is handed on of each record.
    pub(crate) outputs: Vec<StepId>,
    /// All of that and what it needs, in order.
    pub(crate) record_steps: Vec<StepId>,
    /// For each column, whether its integers and whether its validity is read.
    pub(crate) columns: Vec<ColumnUse>,
}

/// A stage while its expressions are added.
pub(crate) struct StageBuilder {
    pub(crate) builder: Builder,
    fields: Vec<Field>,
    filter: Option<StepId>,
    filter_end: usize,
}

impl StageBuilder {
    /// A stage that begins with a filter.
    pub(crate) fn new(mut builder: Builder, fields: Vec<Field>, filter: Option<&Expression>) -> Result<Self> {
        let filter = filter.map(|filter| condition(&mut builder, filter)).transpose()?;
        let filter_end = builder.steps();
        Ok(Self { builder, fields, filter, filter_end })
    }

    /// Records for which a truth does not hold are dropped too.
    pub(crate) fn also(&mut self, truth: StepId) {
        self.filter = Some(match self.filter {
            Some(filter) => self.builder.and(filter, truth),
            None => truth,
        });
        self.filter_end = self.builder.steps();
    }

    /// The stage, which hands on `outputs` and computes `others`.
    pub(crate) fn finish(self, outputs: Vec<StepId>, others: impl Iterator<Item = StepId>) -> Stage {
        let Self { builder, fields, filter, filter_end } = self;
        let program = builder.finish();
        // A filter that always holds is none.
        let filter = filter.filter(|filter| program.step(*filter).operation != Operation::Constant(1));
        let filter_steps = program.needed(program.checks(0..filter_end).chain(filter));
        let checks: Vec<_> = program.checks(filter_end..program.steps().len()).collect();
        let record_steps = program.needed(checks.iter().chain(&outputs).copied().chain(others));
        let columns = columns_used(&program, filter_steps.iter().chain(&record_steps));
        Stage { program, fields, filter, filter_steps, checks, outputs, record_steps, columns }
    }
}

impl Stage {
    /// Fails unless all outputs are integers of 64 bits.
    pub(crate) fn checked(self) -> Result<Self> {
        let short = self.outputs.iter().all(|output| self.program.step(*output).is_short());
        if short { Ok(self) } else { Err(Error::Unsupported("a value of more than 64 bits between stages".to_owned())) }
    }
}

/// The truth that a condition holds.
pub(crate) fn condition(builder: &mut Builder, filter: &Expression) -> Result<StepId> {
    let filter = builder.lower(filter)?;
    Ok(builder.holds(filter))
}

/// What some stages over the same fields read together.
pub(crate) fn used_by<'s>(stages: impl Iterator<Item = &'s Stage>) -> Vec<ColumnUse> {
    let mut all: Vec<ColumnUse> = Vec::new();
    for stage in stages {
        all.resize(all.len().max(stage.columns.len()), ColumnUse::default());
        for (all, own) in all.iter_mut().zip(&stage.columns) {
            all.integers |= own.integers;
            all.validity |= own.validity;
        }
    }
    all
}

fn columns_used<'s>(program: &Program, steps: impl Iterator<Item = &'s StepId>) -> Vec<ColumnUse> {
    let mut columns = Vec::new();
    for step in steps {
        let operation = program.step(*step).operation;
        let (Operation::Column(column) | Operation::Valid(column)) = operation else { continue };
        if columns.len() <= column {
            columns.resize(column + 1, ColumnUse::default());
        }
        match operation {
            Operation::Column(_) => columns[column].integers = true,
            _ => columns[column].validity = true,
        }
    }
    columns
}
