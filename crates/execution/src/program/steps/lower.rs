//! Expressions to steps. A NULL becomes a truth beside its value, so that the steps themselves know none.

use crate::data::limits::Limits;
use crate::data::lookup_table::{Cells, LookupTable};
use crate::program::expression::{Arithmetic, Comparison, Expression, FloatArithmetic};
use crate::program::float;
use crate::program::steps::range::{TRUTH, arithmetic, decided, division, floats};
use crate::program::steps::{Operation, Program, ProgramStep, StepId};
use crate::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// A value and where it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nullable {
    /// The value; any integer where there is none.
    pub value: StepId,
    /// A truth: 1 where it is a value. `None` when it always is.
    pub valid: Option<StepId>,
}

/// What is known of a source's column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberedBounds {
    /// Its integers.
    pub range: Limits,
    /// Some records may have none.
    pub nullable: bool,
}

/// Makes a program.
#[derive(Debug)]
pub struct Builder {
    columns: Vec<NumberedBounds>,
    program: Program,
    known: HashMap<Operation, StepId>,
}

impl Builder {
    /// For expressions over these columns: the range of each one's integers, and whether it may be NULL.
    pub fn new(columns: impl IntoIterator<Item = (Limits, bool)>) -> Self {
        let columns = columns.into_iter().map(|(range, nullable)| NumberedBounds { range, nullable }).collect();
        Self { columns, program: Program::default(), known: HashMap::new() }
    }

    /// The program.
    pub fn finish(self) -> Program {
        self.program
    }

    /// Steps so far.
    pub fn steps(&self) -> usize {
        self.program.steps.len()
    }

    /// Where a step's results lie.
    pub fn range(&self, step: StepId) -> Limits {
        self.program.steps[step].range
    }

    /// Adds the steps of an expression. Fails when a result may need more than 128 bits, or for an unknown column.
    pub fn lower(&mut self, expression: &Expression) -> Result<Nullable> {
        match expression {
            Expression::Column(column) => self.column(*column),
            Expression::Constant(Some(value)) => Ok(self.plain(Operation::Constant(*value), point(*value))),
            Expression::Constant(None) => {
                let zero = self.constant(0);
                Ok(Nullable { value: zero, valid: Some(zero) })
            }
            // Before a run any value does: what it is then is planned with.
            Expression::Parameter { .. } => Ok(self.plain(Operation::Constant(0), point(0))),
            Expression::Arithmetic { operator, left, right, limits } => {
                let (left, right) = (self.lower(left)?, self.lower(right)?);
                self.arithmetic(*operator, left, right, *limits)
            }
            Expression::Division { remainder, left, right, limits } => {
                let (left, right) = (self.lower(left)?, self.lower(right)?);
                self.division(*remainder, left, right, *limits)
            }
            Expression::Float { operator, left, right } => {
                let (left, right) = (self.lower(left)?, self.lower(right)?);
                let value = self.floats(*operator, left.value, right.value);
                Ok(Nullable { value, valid: self.both(left.valid, right.valid) })
            }
            Expression::ToFloat { argument, digits } => {
                let argument = self.lower(argument)?;
                Ok(Nullable { value: self.double(argument.value, *digits)?, ..argument })
            }
            Expression::Compare { operator, left, right } => {
                let (left, right) = (self.lower(left)?, self.lower(right)?);
                let value = self.compare(*operator, left.value, right.value);
                Ok(Nullable { value, valid: self.both(left.valid, right.valid) })
            }
            Expression::And(left, right) => {
                let (left, right) = (self.lower(left)?, self.lower(right)?);
                Ok(self.logical(left, right, false))
            }
            Expression::Or(left, right) => {
                let (left, right) = (self.lower(left)?, self.lower(right)?);
                Ok(self.logical(left, right, true))
            }
            Expression::Not(inner) => {
                let inner = self.lower(inner)?;
                Ok(Nullable { value: self.not(inner.value), ..inner })
            }
            Expression::IsNull(inner) => {
                let valid = self.lower(inner)?.valid;
                let value = match valid {
                    Some(valid) => self.not(valid),
                    None => self.constant(0),
                };
                Ok(Nullable { value, valid: None })
            }
            Expression::Case { branches, otherwise } => {
                let mut result = self.lower(otherwise)?;
                for (condition, value) in branches.iter().rev() {
                    let condition = self.lower(condition)?;
                    let holds = self.holds(condition);
                    let value = self.lower(value)?;
                    result = self.choose_nullable(holds, value, result);
                }
                Ok(result)
            }
            Expression::Map { map, argument } => {
                let argument = self.lower(argument)?;
                self.map(map, argument)
            }
        }
    }

    /// The truth that a nullable truth is 1.
    pub fn holds(&mut self, truth: Nullable) -> StepId {
        match truth.valid {
            Some(valid) => self.and(valid, truth.value),
            None => truth.value,
        }
    }

    /// A constant.
    pub fn constant(&mut self, value: i128) -> StepId {
        self.push(Operation::Constant(value), point(value))
    }

    /// `then` where `condition` is 1, else `otherwise`.
    pub fn choose(&mut self, condition: StepId, then: StepId, otherwise: StepId) -> StepId {
        match self.known_truth(condition) {
            Some(true) => then,
            Some(false) => otherwise,
            None if then == otherwise => then,
            None => {
                let range = self.range(then).union(self.range(otherwise));
                self.push(Operation::Choose(condition, then, otherwise), range)
            }
        }
    }

    /// Two steps combined, without a check. Fails when the result may need more than 128 bits.
    pub fn combine(&mut self, operator: Arithmetic, left: StepId, right: StepId) -> Result<StepId> {
        let range = arithmetic(operator, self.range(left), self.range(right));
        let range = range.ok_or_else(|| Error::Unsupported("an expression may need more than 128 bits".to_owned()))?;
        if range.min == range.max {
            return Ok(self.constant(range.min));
        }
        Ok(self.push(Operation::Arithmetic(operator, left, right), range))
    }

    /// A number with one more digit, its lowest, of which there are `size` values.
    pub(crate) fn with_digit(&mut self, number: StepId, digit: StepId, size: i128) -> Result<StepId> {
        let size = self.constant(size);
        let higher = self.combine(Arithmetic::Multiply, number, size)?;
        self.combine(Arithmetic::Add, higher, digit)
    }

    /// A step whose result lies within `limits` wherever it is used; elsewhere it may become any.
    pub(crate) fn assumed(&mut self, value: StepId, limits: Limits) -> StepId {
        let known = self.range(value);
        if limits.covers(known) {
            return value;
        }
        let range = Limits { min: known.min.max(limits.min), max: known.max.min(limits.max) };
        let range = if range.min > range.max { limits } else { range };
        // It is never looked at, so it never fails.
        let never = self.constant(0);
        self.push(Operation::Check(value, never, limits), range)
    }

    /// Both truths.
    pub fn and(&mut self, left: StepId, right: StepId) -> StepId {
        match (self.known_truth(left), self.known_truth(right)) {
            (Some(true), _) => right,
            (_, Some(true)) => left,
            (Some(false), _) | (_, Some(false)) => self.constant(0),
            _ if left == right => left,
            _ => self.push(Operation::And(left, right), TRUTH),
        }
    }

    fn or(&mut self, left: StepId, right: StepId) -> StepId {
        match (self.known_truth(left), self.known_truth(right)) {
            (Some(false), _) => right,
            (_, Some(false)) => left,
            (Some(true), _) | (_, Some(true)) => self.constant(1),
            _ if left == right => left,
            _ => self.push(Operation::Or(left, right), TRUTH),
        }
    }

    fn not(&mut self, truth: StepId) -> StepId {
        match self.known_truth(truth) {
            Some(truth) => self.constant((!truth).into()),
            None => self.push(Operation::Not(truth), TRUTH),
        }
    }

    fn column(&mut self, column: usize) -> Result<Nullable> {
        let facts = self.columns.get(column).copied();
        let facts = facts.ok_or_else(|| Error::Internal(format!("column {column} of a pipeline's source")))?;
        let value = self.push(Operation::Column(column), facts.range);
        let valid = facts.nullable.then(|| self.push(Operation::Valid(column), TRUTH));
        Ok(Nullable { value, valid })
    }

    fn arithmetic(
        &mut self,
        operator: Arithmetic,
        left: Nullable,
        right: Nullable,
        limits: Limits,
    ) -> Result<Nullable> {
        let value = self.combine(operator, left.value, right.value)?;
        let valid = self.both(left.valid, right.valid);
        self.within(Nullable { value, valid }, limits)
    }

    /// A value of a type; outside of what that can hold, it is an overflow.
    fn within(&mut self, Nullable { mut value, valid }: Nullable, limits: Limits) -> Result<Nullable> {
        let range = self.range(value);
        if !limits.covers(range) {
            let checked = match valid {
                Some(valid) => valid,
                None => self.constant(1),
            };
            let range = Limits { min: range.min.max(limits.min), max: range.max.min(limits.max) };
            if range.min > range.max {
                return Err(Error::Unsupported("an expression that always overflows".to_owned()));
            }
            value = self.push(Operation::Check(value, checked, limits), range);
        }
        Ok(Nullable { value, valid })
    }

    fn division(&mut self, remainder: bool, left: Nullable, right: Nullable, limits: Limits) -> Result<Nullable> {
        let (dividend, divisor) = (self.range(left.value), self.range(right.value));
        // The one quotient that does not fit is that of the smallest integer by -1.
        if !dividend.is_short() || !divisor.is_short() || dividend.min == i64::MIN.into() {
            return Err(Error::Unsupported("a division of more than 64 bits".to_owned()));
        }
        let valid = self.both(left.valid, right.valid);
        let checked = match valid {
            Some(valid) => valid,
            None => self.constant(1),
        };
        let zero = self.constant(0);
        let defined = self.compare(Comparison::NotEqual, right.value, zero);
        match self.known_truth(defined) {
            Some(true) => {}
            Some(false) => return Err(Error::Unsupported("a division that is always by zero".to_owned())),
            None => {
                self.push(Operation::Check(defined, checked, point(1)), point(1));
            }
        }
        let range = division(remainder, dividend, divisor);
        let value = self.push(Operation::Division(remainder, left.value, right.value), range);
        self.within(Nullable { value, valid }, limits)
    }

    /// Two floats combined.
    fn floats(&mut self, operator: FloatArithmetic, left: StepId, right: StepId) -> StepId {
        let range = floats(operator, self.range(left), self.range(right));
        self.push(Operation::Float(operator, left, right), range)
    }

    fn double(&mut self, value: StepId, digits: u32) -> Result<StepId> {
        let Limits { min, max } = self.range(value);
        if !self.range(value).is_short() {
            return Err(Error::Unsupported("an integer of more than 64 bits as a float".to_owned()));
        }
        // A quotient of two numbers that floats have exactly is rounded once.
        if digits > 0 && (self.range(value).magnitude() > 1 << 53 || digits > float::EXACT_POWERS) {
            return Err(Error::Unsupported("a decimal of more digits than a float has".to_owned()));
        }
        let end = |end: i128| float::of_scaled(end as i64, digits);
        Ok(self.push(Operation::ToFloat(value, digits), Limits::new(end(min), end(max))))
    }

    /// A float as a multiple of a unit in which `rows` of them can be summed, and the unit. Fails where some may not be
    /// finite.
    pub(crate) fn units(&mut self, value: StepId, rows: u64) -> Result<(StepId, i32)> {
        let range = self.range(value);
        let unit = float::unit(range, rows);
        let unit = unit.ok_or_else(|| Error::Unsupported("a sum of floats that may not be finite".to_owned()))?;
        let largest = 1i128 << 126;
        Ok((self.push(Operation::Units(value, unit), Limits::new(-largest, largest)), unit))
    }

    fn map(&mut self, map: &LookupTable, argument: Nullable) -> Result<Nullable> {
        if !self.range(argument.value).is_short() {
            return Err(Error::Unsupported("a lookup table over more than 64 bits".to_owned()));
        }
        let value = self.cell(&map.values, argument.value);
        let valid = map.valid.as_ref().map(|valid| self.cell(valid, argument.value));
        Ok(match (argument.valid, map.null) {
            (None, _) => Nullable { value, valid },
            (given, None) => Nullable { value, valid: self.both(given, valid) },
            (Some(given), Some(null)) => {
                let null = Nullable { value: self.constant(null.into()), valid: None };
                self.choose_nullable(given, Nullable { value, valid }, null)
            }
        })
    }

    fn cell(&mut self, cells: &Arc<Cells>, argument: StepId) -> StepId {
        let range = cells.range;
        if range.min == range.max {
            return self.constant(range.min);
        }
        let known = &mut self.program.cells;
        let number = known.iter().position(|known| known == cells).unwrap_or_else(|| {
            known.push(Arc::clone(cells));
            known.len() - 1
        });
        self.push(Operation::Map(number, argument), range)
    }

    /// The truth of a comparison.
    pub(crate) fn compare(&mut self, operator: Comparison, left: StepId, right: StepId) -> StepId {
        match decided(operator, self.range(left), self.range(right)) {
            Some(answer) => self.constant(answer.into()),
            None => self.push(Operation::Compare(operator, left, right), TRUTH),
        }
    }

    /// AND, or OR when `dominant` is true: a value that is `dominant` decides, whatever the other is.
    fn logical(&mut self, left: Nullable, right: Nullable, dominant: bool) -> Nullable {
        let decides = |builder: &mut Self, truth: Nullable| {
            let value = if dominant { truth.value } else { builder.not(truth.value) };
            builder.holds(Nullable { value, valid: truth.valid })
        };
        let (by_left, by_right) = (decides(self, left), decides(self, right));
        let decided = self.or(by_left, by_right);
        let value = if dominant { decided } else { self.not(decided) };
        let valid = self.both(left.valid, right.valid).map(|both| self.or(decided, both));
        Nullable { value, valid }
    }

    fn choose_nullable(&mut self, condition: StepId, then: Nullable, otherwise: Nullable) -> Nullable {
        let value = self.choose(condition, then.value, otherwise.value);
        let valid = if then.valid.is_none() && otherwise.valid.is_none() {
            None
        } else {
            let one = self.constant(1);
            Some(self.choose(condition, then.valid.unwrap_or(one), otherwise.valid.unwrap_or(one)))
        };
        Nullable { value, valid }
    }

    fn both(&mut self, left: Option<StepId>, right: Option<StepId>) -> Option<StepId> {
        match (left, right) {
            (Some(left), Some(right)) => Some(self.and(left, right)),
            (one, None) | (None, one) => one,
        }
    }

    fn known_truth(&self, truth: StepId) -> Option<bool> {
        match self.program.steps[truth].operation {
            Operation::Constant(value) => Some(value != 0),
            _ => None,
        }
    }

    fn plain(&mut self, operation: Operation, range: Limits) -> Nullable {
        Nullable { value: self.push(operation, range), valid: None }
    }

    fn push(&mut self, operation: Operation, range: Limits) -> StepId {
        if let Some(known) = self.known.get(&operation) {
            return *known;
        }
        let step = self.program.steps.len();
        self.program.steps.push(ProgramStep { operation, range });
        self.known.insert(operation, step);
        step
    }
}

fn point(value: i128) -> Limits {
    Limits { min: value, max: value }
}
