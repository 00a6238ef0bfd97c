//! A program: expressions as a list of steps over integers that are never NULL, each step's range known.
//!
//! | file | what |
//! |---|---|
//! | `lower` | expressions -> steps; three-valued logic becomes plain logic |
//! | `range` | the range of a step's result, from its operands' |
//!
//! Interpreter and code generator both run these steps, so that there is one place where SQL's meaning is decided. A
//! step whose range is proved to fit 64 bits is computed in 64, else in 128; what can leave the limits of its type is
//! checked. Equal steps are one.

mod lower;
mod range;

use crate::data::limits::Limits;
use crate::data::lookup_table::Cells;
use crate::program::expression::{Arithmetic, Comparison, FloatArithmetic};
pub use crate::program::steps::lower::{Builder, Nullable};
use std::ops::Range;
use std::sync::Arc;

/// Number of a step in its program.
pub type StepId = usize;

/// What a step computes. Truth is 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The integer of a column; where it is NULL, any.
    Column(usize),
    /// 1 where a column has a value, 0 where it is NULL.
    Valid(usize),
    /// A constant.
    Constant(i128),
    /// Two integers combined, modulo 64 or 128 bits.
    Arithmetic(Arithmetic, StepId, StepId),
    /// The quotient of two integers of 64 bits, or the remainder when true, modulo 64 bits; 0 by zero.
    Division(bool, StepId, StepId),
    /// Two floats combined.
    Float(FloatArithmetic, StepId, StepId),
    /// An integer of 64 bits as a float; it has so many digits behind the point.
    ToFloat(StepId, u32),
    /// A float as so many times two to the power of a unit; an overflow where that is no integer.
    Units(StepId, i32),
    /// A comparison.
    Compare(Comparison, StepId, StepId),
    /// Both truths.
    And(StepId, StepId),
    /// Either truth.
    Or(StepId, StepId),
    /// The other truth.
    Not(StepId),
    /// The second where the first is 1, else the third.
    Choose(StepId, StepId, StepId),
    /// The cell for the step's result, of the cells with this number.
    Map(usize, StepId),
    /// The first itself; where the second is 1, it is an overflow if it lies outside the limits.
    Check(StepId, StepId, Limits),
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramStep {
    /// What it computes.
    pub operation: Operation,
    /// Where its result lies, for records whose operands are values.
    pub range: Limits,
}

impl ProgramStep {
    /// True when 64 bits are enough.
    pub fn is_short(&self) -> bool {
        self.range.is_short()
    }
}

/// Steps in an order in which each comes after its operands.
#[derive(Debug, Clone, Default)]
pub struct Program {
    steps: Vec<ProgramStep>,
    cells: Vec<Arc<Cells>>,
}

impl Program {
    /// The steps.
    pub fn steps(&self) -> &[ProgramStep] {
        &self.steps
    }

    /// A step.
    ///
    /// # Panics
    /// For a number that is none of the program's.
    pub fn step(&self, step: StepId) -> &ProgramStep {
        &self.steps[step]
    }

    /// What its lookup tables read.
    pub(crate) fn cells(&self) -> &[Arc<Cells>] {
        &self.cells
    }

    /// Those of `steps` that may find an overflow, but for those of sums. They run whether or not a result needs them: SQL's operators fail on
    /// a value that is then compared, counted or not chosen. (Where an operator of SQL would not have looked at
    /// the value, an overflow found here costs time, since another operator then decides.)
    pub fn checks(&self, steps: Range<StepId>) -> impl Iterator<Item = StepId> {
        steps.filter(|step| matches!(self.steps[*step].operation, Operation::Check(..)))
    }

    /// The steps that `results` need, themselves among them, in order.
    pub fn needed(&self, results: impl IntoIterator<Item = StepId>) -> Vec<StepId> {
        let mut needed = vec![false; self.steps.len()];
        for result in results {
            needed[result] = true;
        }
        // Each step comes after its operands.
        for step in (0..self.steps.len()).rev() {
            if needed[step] {
                self.steps[step].operation.operands().for_each(|operand| needed[operand] = true);
            }
        }
        (0..self.steps.len()).filter(|step| needed[*step]).collect()
    }
}

impl Operation {
    /// The steps that it reads.
    pub fn operands(self) -> impl Iterator<Item = StepId> {
        let operands = match self {
            Self::Column(_) | Self::Valid(_) | Self::Constant(_) => [None; 3],
            Self::Not(a) | Self::Map(_, a) | Self::ToFloat(a, _) | Self::Units(a, _) => [Some(a), None, None],
            Self::Arithmetic(_, a, b)
            | Self::Division(_, a, b)
            | Self::Float(_, a, b)
            | Self::Compare(_, a, b)
            | Self::And(a, b)
            | Self::Or(a, b)
            | Self::Check(a, b, _) => [Some(a), Some(b), None],
            Self::Choose(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        operands.into_iter().flatten()
    }
}
