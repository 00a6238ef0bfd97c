//! The interpreter: each step of a program as a loop over a vector. It is the oracle of the code generator, and what runs
//! where generated code would not pay.

use crate::Result;
use crate::data::limits::Limits;
use crate::data::source::{Records, Vector, VectorInput};
use crate::error::Error;
use crate::operators::aggregate::{Plan, SlotKind, States, add_wide};
use crate::operators::keys::interleave;
use crate::program::expression::{Arithmetic, Comparison};
use crate::program::float;
use crate::program::stage::Stage;
use crate::program::steps::{Operation, StepId};

/// The results of the steps over one vector; memory that is used again for the next.
#[derive(Debug)]
pub(crate) struct Interpreter {
    /// By step; empty where the step is one of 128 bits.
    short: Vec<Vec<i64>>,
    /// By step; empty where the step is one of 64 bits.
    wide: Vec<Vec<i128>>,
    /// Positions of the records that pass the filter.
    passed: Vec<u32>,
    /// Their rows, by input.
    rows: Vec<Vec<u32>>,
    /// The words of the records' keys, and the places of their groups.
    words: Vec<u64>,
    places: Vec<u64>,
}

impl Interpreter {
    /// Memory for the steps of a stage.
    pub(crate) fn new(stage: &Stage) -> Self {
        let steps = stage.program.steps().len();
        let (short, wide) = (vec![Vec::new(); steps], vec![Vec::new(); steps]);
        Self { short, wide, passed: Vec::new(), rows: Vec::new(), words: Vec::new(), places: Vec::new() }
    }

    /// Adds the records of a vector to the states of their groups.
    pub(crate) fn aggregate(&mut self, plan: &Plan, vector: &Vector<'_>, states: &mut States) -> Result<()> {
        let rows = self.records(&plan.stage, vector)?;
        if rows == 0 { Ok(()) } else { self.update(plan, rows, states) }
    }

    /// Puts the outputs of the records that pass into `outputs`, and their positions into `passed`, in place of what they
    /// had.
    pub(crate) fn emit(
        &mut self,
        stage: &Stage,
        vector: &Vector<'_>,
        passed: &mut Vec<u32>,
        outputs: &mut [Vec<i64>],
    ) -> Result<()> {
        let rows = self.records(stage, vector)?;
        passed.clear();
        match stage.filter {
            Some(_) => passed.extend_from_slice(&self.passed),
            None => passed.extend(0..rows as u32),
        }
        for (output, step) in outputs.iter_mut().zip(&stage.outputs) {
            output.clear();
            if rows > 0 {
                output.extend_from_slice(&self.short[*step]);
            }
        }
        Ok(())
    }

    /// Computes all that is wanted of the records that pass, and gives their number.
    fn records(&mut self, stage: &Stage, vector: &Vector<'_>) -> Result<usize> {
        self.compute(stage, vector, &stage.filter_steps)?;
        let Some(truth) = stage.filter else {
            if vector.len() > 0 {
                self.compute(stage, vector, &stage.record_steps)?;
            }
            return Ok(vector.len());
        };
        let (mut passed, mut rows) = (std::mem::take(&mut self.passed), std::mem::take(&mut self.rows));
        passed.clear();
        passed.extend((0..vector.len() as u32).filter(|at| self.short[truth][*at as usize] != 0));
        rows.resize_with(vector.inputs.len(), Vec::new);
        for (rows, input) in rows.iter_mut().zip(vector.inputs) {
            rows.clear();
            input.records.select(vector.isa, &passed, rows);
        }
        let mut inputs = Vec::with_capacity(rows.len());
        for (input, rows) in vector.inputs.iter().zip(&rows) {
            inputs.push(VectorInput { views: input.views, records: Records::Tids(rows) });
        }
        let result = if passed.is_empty() {
            Ok(0)
        } else {
            let vector = Vector { inputs: &inputs, isa: vector.isa };
            self.compute(stage, &vector, &stage.record_steps).map(|()| passed.len())
        };
        (self.passed, self.rows) = (passed, rows);
        result
    }

    fn compute(&mut self, stage: &Stage, vector: &Vector<'_>, steps: &[StepId]) -> Result<()> {
        for step in steps {
            if stage.program.step(*step).is_short() {
                let mut out = std::mem::take(&mut self.short[*step]);
                out.clear();
                self.short_step(stage, stage.program.step(*step).operation, vector, &mut out)?;
                self.short[*step] = out;
            } else {
                let mut out = std::mem::take(&mut self.wide[*step]);
                out.clear();
                self.wide_step(stage.program.step(*step).operation, vector, &mut out)?;
                self.wide[*step] = out;
            }
        }
        Ok(())
    }

    fn short_step(&self, stage: &Stage, operation: Operation, vector: &Vector<'_>, out: &mut Vec<i64>) -> Result<()> {
        let rows = vector.len();
        match operation {
            Operation::Column(column) => vector.integers(stage.fields[column], out)?,
            Operation::Valid(column) => vector.valid(stage.fields[column], out)?,
            Operation::Constant(value) => out.resize(rows, value as i64),
            Operation::Arithmetic(operator, a, b) if self.are_short(a, b) => {
                let pairs = self.short[a].iter().zip(&self.short[b]);
                match operator {
                    Arithmetic::Add => out.extend(pairs.map(|(a, b)| a.wrapping_add(*b))),
                    Arithmetic::Subtract => out.extend(pairs.map(|(a, b)| a.wrapping_sub(*b))),
                    Arithmetic::Multiply => out.extend(pairs.map(|(a, b)| a.wrapping_mul(*b))),
                }
            }
            Operation::Arithmetic(operator, a, b) => {
                out.extend((0..rows).map(|at| wrapping(operator, self.get(a, at), self.get(b, at)) as i64));
            }
            Operation::Division(remainder, a, b) => {
                let pairs = self.short[a].iter().zip(&self.short[b]);
                out.extend(pairs.map(|(a, b)| match (*b, remainder) {
                    (0, _) => 0,
                    (b, true) => a.wrapping_rem(b),
                    (b, false) => a.wrapping_div(b),
                }));
            }
            Operation::Float(operator, a, b) => {
                let pairs = self.short[a].iter().zip(&self.short[b]);
                out.extend(pairs.map(|(a, b)| float::combine(operator, *a, *b)));
            }
            Operation::ToFloat(a, digits) => {
                out.extend(self.short[a].iter().map(|value| float::of_scaled(*value, digits)));
            }
            Operation::Compare(operator, a, b) if self.are_short(a, b) => {
                compare(operator, &self.short[a], &self.short[b], out);
            }
            Operation::Compare(operator, a, b) => {
                out.extend((0..rows).map(|at| i64::from(operator.holds(&self.get(a, at), &self.get(b, at)))));
            }
            Operation::And(a, b) => out.extend(self.short[a].iter().zip(&self.short[b]).map(|(a, b)| a & b)),
            Operation::Or(a, b) => out.extend(self.short[a].iter().zip(&self.short[b]).map(|(a, b)| a | b)),
            Operation::Not(a) => out.extend(self.short[a].iter().map(|a| a ^ 1)),
            Operation::Choose(condition, then, otherwise) if self.are_short(then, otherwise) => {
                let values = self.short[then].iter().zip(&self.short[otherwise]);
                let choices = self.short[condition].iter().zip(values);
                out.extend(
                    choices.map(|(condition, (then, otherwise))| if *condition != 0 { then } else { otherwise }),
                );
            }
            Operation::Choose(condition, then, otherwise) => {
                out.extend((0..rows).map(|at| self.choose(condition, then, otherwise, at) as i64));
            }
            Operation::Map(cells, argument) => stage.program.cells()[cells].read(&self.short[argument], out),
            Operation::Check(value, checked, limits) => {
                self.check(value, checked, limits, rows)?;
                out.extend((0..rows).map(|at| self.get(value, at) as i64));
            }
            other @ Operation::Units(..) => return Err(Error::Internal(format!("{other:?} with a result of 64 bits"))),
        }
        Ok(())
    }

    fn wide_step(&self, operation: Operation, vector: &Vector<'_>, out: &mut Vec<i128>) -> Result<()> {
        let rows = vector.len();
        match operation {
            Operation::Constant(value) => out.resize(rows, value),
            Operation::Arithmetic(operator, a, b) => {
                out.extend((0..rows).map(|at| wrapping(operator, self.get(a, at), self.get(b, at))));
            }
            Operation::Choose(condition, then, otherwise) => {
                out.extend((0..rows).map(|at| self.choose(condition, then, otherwise, at)));
            }
            Operation::Check(value, checked, limits) => {
                self.check(value, checked, limits, rows)?;
                out.extend((0..rows).map(|at| self.get(value, at)));
            }
            Operation::Units(value, unit) => {
                for value in &self.short[value] {
                    out.push(float::units(*value, unit).ok_or(Error::Overflow)?);
                }
            }
            other => return Err(Error::Internal(format!("{other:?} with a result of 128 bits"))),
        }
        Ok(())
    }

    fn are_short(&self, a: StepId, b: StepId) -> bool {
        self.wide[a].is_empty() && self.wide[b].is_empty()
    }

    fn get(&self, step: StepId, at: usize) -> i128 {
        if self.wide[step].is_empty() { self.short[step][at].into() } else { self.wide[step][at] }
    }

    fn choose(&self, condition: StepId, then: StepId, otherwise: StepId, at: usize) -> i128 {
        self.get(if self.short[condition][at] != 0 { then } else { otherwise }, at)
    }

    fn check(&self, value: StepId, checked: StepId, limits: Limits, rows: usize) -> Result<()> {
        let within = |at: usize| (limits.min..=limits.max).contains(&self.get(value, at));
        let fine = (0..rows).all(|at| self.short[checked][at] == 0 || within(at));
        if fine { Ok(()) } else { Err(Error::Overflow) }
    }

    /// Adds each record to its group's words.
    fn update(&mut self, plan: &Plan, rows: usize, states: &mut States) -> Result<()> {
        let columns = plan.stage.outputs.iter().map(|output| self.short[*output].as_slice());
        interleave(columns, rows, &mut self.words);
        states.find(&self.words, &mut self.places)?;
        let words = states.words_mut();
        for slot in &plan.slots {
            let starts = self.places.iter().map(|place| *place as usize * plan.stride + slot.word);
            match slot.kind {
                SlotKind::Add => {
                    for (start, value) in starts.zip(&self.short[slot.step]) {
                        words[start] = words[start].wrapping_add(*value as u64);
                    }
                }
                SlotKind::Raise => {
                    for (at, start) in (0..rows).zip(starts) {
                        words[start] = words[start].max(self.get(slot.step, at) as u64);
                    }
                }
                SlotKind::Or => starts.zip(&self.short[slot.step]).for_each(|(at, value)| words[at] |= *value as u64),
                SlotKind::Xor => starts.zip(&self.short[slot.step]).for_each(|(at, value)| words[at] ^= *value as u64),
                SlotKind::AddWide => {
                    for (at, start) in (0..rows).zip(starts) {
                        add_wide(&mut words[start..], self.get(slot.step, at));
                    }
                }
            }
        }
        Ok(())
    }
}

fn wrapping(operator: Arithmetic, a: i128, b: i128) -> i128 {
    match operator {
        Arithmetic::Add => a.wrapping_add(b),
        Arithmetic::Subtract => a.wrapping_sub(b),
        Arithmetic::Multiply => a.wrapping_mul(b),
    }
}

/// One loop per operator, so that each is compiled with its comparison.
fn compare(operator: Comparison, left: &[i64], right: &[i64], out: &mut Vec<i64>) {
    let pairs = left.iter().zip(right);
    match operator {
        Comparison::Equal => out.extend(pairs.map(|(a, b)| i64::from(a == b))),
        Comparison::NotEqual => out.extend(pairs.map(|(a, b)| i64::from(a != b))),
        Comparison::Less => out.extend(pairs.map(|(a, b)| i64::from(a < b))),
        Comparison::LessOrEqual => out.extend(pairs.map(|(a, b)| i64::from(a <= b))),
        Comparison::Greater => out.extend(pairs.map(|(a, b)| i64::from(a > b))),
        Comparison::GreaterOrEqual => out.extend(pairs.map(|(a, b)| i64::from(a >= b))),
    }
}
