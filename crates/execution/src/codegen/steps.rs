//! Steps as instructions, for one record of a loop.

use crate::Result;
use crate::codegen::frame::{column_word, input_word};
use crate::codegen::{Access, Validity, Variant, defect, floats};
use crate::data::limits::Limits;
use crate::data::lookup_table::Cells;
use crate::program::expression::{Arithmetic, Comparison};
use crate::program::float;
use crate::program::stage::Stage;
use crate::program::steps::{Operation, Program, StepId};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};

/// What is read of a column's words before the loop.
#[derive(Debug, Clone, Copy)]
struct ColumnValues {
    integers: Value,
    base: Value,
    bits: Value,
    first_bit: Value,
}

/// Writes steps into a loop.
pub(super) struct Steps<'p> {
    stage: &'p Stage,
    program: &'p Program,
    variant: &'p Variant,
    /// The first row of each input, or the address of its rows.
    inputs: Vec<Value>,
    columns: Vec<ColumnValues>,
    /// Results of the steps written so far, of the loop's current record: integers, and floats that were computed.
    known: Vec<Option<Value>>,
    /// 1 once a value left its limits.
    pub(super) overflow: Variable,
    /// The record: its position in the vector, and its row of each input, once it was read.
    position: Option<Value>,
    rows: Vec<Option<Value>>,
}

/// Flags of a load from memory that is there and aligned.
pub(super) fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

impl<'p> Steps<'p> {
    /// Reads the columns' words from the frame.
    pub(super) fn new(builder: &mut FunctionBuilder<'_>, frame: Value, stage: &'p Stage, variant: &'p Variant) -> Self {
        let program = &stage.program;
        let mut word = |number: usize| builder.ins().load(types::I64, trusted(), frame, number as i32 * 8);
        let inputs = (0..variant.inputs.len()).map(|input| word(input_word(input))).collect();
        let columns = (0..variant.columns.len()).map(|column| {
            let place = column_word(variant, column);
            ColumnValues {
                integers: word(place),
                base: word(place + 1),
                bits: word(place + 2),
                first_bit: word(place + 3),
            }
        });
        let columns = columns.collect();
        let overflow = builder.declare_var(types::I64);
        let zero = builder.ins().iconst(types::I64, 0);
        builder.def_var(overflow, zero);
        Self {
            stage,
            program,
            variant,
            inputs,
            columns,
            known: vec![None; program.steps().len()],
            overflow,
            position: None,
            rows: vec![None; variant.inputs.len()],
        }
    }

    /// These steps, which tell of overflows in the place where other steps of its loop do.
    pub(super) fn with_overflow(self, overflow: Variable) -> Self {
        Self { overflow, ..self }
    }

    /// The record's rows of some inputs are these.
    pub(super) fn set_rows(&mut self, rows: &[Option<Value>]) {
        for (own, row) in self.rows.iter_mut().zip(rows) {
            *own = own.or(*row);
        }
    }

    /// The steps from here on are of the record at a position of the vector.
    pub(super) fn at(&mut self, position: Value) {
        self.position = Some(position);
        self.rows.fill(None);
        self.known.fill(None);
    }

    /// The record's row of the input that a column is of.
    fn row(&mut self, builder: &mut FunctionBuilder<'_>, column: usize) -> Result<Value> {
        let Some(position) = self.position else { return Err(defect("no record")) };
        let input = self.stage.fields[column].input;
        if let Some(row) = self.rows[input] {
            return Ok(row);
        }
        if input >= self.variant.own {
            return Err(defect(format!("column {column} of an input that no probe has added")));
        }
        let row = if self.variant.inputs[input] {
            element(builder, self.inputs[input], position, 4)?
        } else {
            builder.ins().iadd(self.inputs[input], position)
        };
        self.rows[input] = Some(row);
        Ok(row)
    }

    /// The result of a step, written with all that it needs unless it was before.
    pub(super) fn emit(&mut self, builder: &mut FunctionBuilder<'_>, step: StepId) -> Result<Value> {
        for step in self.program.needed([step]) {
            if self.known[step].is_none() {
                let value = self.write(builder, step)?;
                self.known[step] = Some(value);
            }
        }
        let value = self.known[step].ok_or_else(|| defect("a step without a result"))?;
        Ok(integer(builder, value))
    }

    fn write(&mut self, builder: &mut FunctionBuilder<'_>, id: StepId) -> Result<Value> {
        let step = *self.program.step(id);
        let result = if step.is_short() { types::I64 } else { types::I128 };
        Ok(match step.operation {
            Operation::Column(column) => self.integer(builder, column)?,
            Operation::Valid(column) => self.valid(builder, column)?,
            Operation::Constant(value) => constant(builder, result, value),
            Operation::Arithmetic(operator, a, b) => {
                let inner = self.widest(&[a, b, id]);
                let (a, b) = (self.operand(builder, a, inner)?, self.operand(builder, b, inner)?);
                let value = match operator {
                    Arithmetic::Add => builder.ins().iadd(a, b),
                    Arithmetic::Subtract => builder.ins().isub(a, b),
                    Arithmetic::Multiply => builder.ins().imul(a, b),
                };
                resized(builder, value, result)
            }
            Operation::Division(remainder, a, b) => {
                let divisor = *self.program.step(b);
                let (a, b) = (self.operand(builder, a, types::I64)?, self.operand(builder, b, types::I64)?);
                division(builder, remainder, a, b, divisor.operation)
            }
            Operation::Float(operator, a, b) => {
                let (a, b) = (self.float(builder, a)?, self.float(builder, b)?);
                floats::combine(builder, operator, a, b)
            }
            Operation::ToFloat(a, digits) => {
                let a = self.operand(builder, a, types::I64)?;
                floats::of_scaled(builder, a, digits)
            }
            Operation::Units(a, unit) => {
                let size = float::size(self.program.step(a).range);
                let a = self.float(builder, a)?;
                let (units, inexact) = floats::units(builder, a, unit, size);
                self.fail_where(builder, inexact);
                units
            }
            Operation::Compare(operator, a, b) => {
                let inner = self.widest(&[a, b]);
                let (a, b) = (self.operand(builder, a, inner)?, self.operand(builder, b, inner)?);
                let holds = builder.ins().icmp(condition(operator), a, b);
                builder.ins().uextend(types::I64, holds)
            }
            Operation::And(a, b) => {
                let (a, b) = (self.operand(builder, a, types::I64)?, self.operand(builder, b, types::I64)?);
                builder.ins().band(a, b)
            }
            Operation::Or(a, b) => {
                let (a, b) = (self.operand(builder, a, types::I64)?, self.operand(builder, b, types::I64)?);
                builder.ins().bor(a, b)
            }
            Operation::Not(a) => {
                let a = self.operand(builder, a, types::I64)?;
                builder.ins().bxor_imm_u(a, 1)
            }
            Operation::Choose(condition, then, otherwise) => {
                let condition = self.operand(builder, condition, types::I64)?;
                let (then, otherwise) =
                    (self.operand(builder, then, result)?, self.operand(builder, otherwise, result)?);
                builder.ins().select(condition, then, otherwise)
            }
            Operation::Map(cells, argument) => {
                let argument = self.operand(builder, argument, types::I64)?;
                cell(builder, &self.program.cells()[cells], argument)?
            }
            Operation::Check(value, checked, limits) => {
                let inner = self.widest(&[value]);
                let value = self.operand(builder, value, inner)?;
                let checked = self.operand(builder, checked, types::I64)?;
                self.check(builder, value, checked, limits);
                resized(builder, value, result)
            }
        })
    }

    /// The type in which operands of these steps are combined.
    fn widest(&self, steps: &[StepId]) -> Type {
        let short = steps.iter().all(|step| self.program.step(*step).is_short());
        if short { types::I64 } else { types::I128 }
    }

    fn operand(&self, builder: &mut FunctionBuilder<'_>, step: StepId, wanted: Type) -> Result<Value> {
        let value = self.known[step].ok_or_else(|| defect("a step before its operand"))?;
        let value = integer(builder, value);
        Ok(resized(builder, value, wanted))
    }

    /// An operand as a float.
    fn float(&self, builder: &mut FunctionBuilder<'_>, step: StepId) -> Result<Value> {
        let value = self.known[step].ok_or_else(|| defect("a step before its operand"))?;
        if builder.func.dfg.value_type(value) == types::F64 {
            return Ok(value);
        }
        // The bits of those that are not negative are integers that order as they do.
        let is_turned = self.program.step(step).range.min < 0;
        Ok(if is_turned {
            floats::float(builder, value)
        } else {
            builder.ins().bitcast(types::F64, MemFlagsData::new(), value)
        })
    }

    fn check(&self, builder: &mut FunctionBuilder<'_>, value: Value, checked: Value, limits: Limits) {
        let inner = builder.func.dfg.value_type(value);
        let held =
            if inner == types::I64 { Limits::new(i64::MIN, i64::MAX) } else { Limits::new(i128::MIN, i128::MAX) };
        let ends = [(limits.min, IntCC::SignedLessThan), (limits.max, IntCC::SignedGreaterThan)];
        for (end, outside) in ends.into_iter().filter(|(end, _)| held.covers(Limits::new(*end, *end))) {
            let end = constant(builder, inner, end);
            let outside = builder.ins().icmp(outside, value, end);
            let outside = builder.ins().uextend(types::I64, outside);
            let wrong = builder.ins().band(outside, checked);
            self.fail_where(builder, wrong);
        }
    }

    /// Keeps in mind that a value left its limits, where `wrong` is 1.
    fn fail_where(&self, builder: &mut FunctionBuilder<'_>, wrong: Value) {
        let before = builder.use_var(self.overflow);
        let after = builder.ins().bor(before, wrong);
        builder.def_var(self.overflow, after);
    }

    /// The integer of a column at the record.
    fn integer(&mut self, builder: &mut FunctionBuilder<'_>, column: usize) -> Result<Value> {
        let known = self.columns[column];
        Ok(match self.variant.columns[column].0 {
            Some(Access::Codes(width)) => {
                let row = self.row(builder, column)?;
                let code = element(builder, known.integers, row, width)?;
                builder.ins().iadd(code, known.base)
            }
            Some(Access::Gathered) => {
                let position = self.position.ok_or_else(|| defect("no record"))?;
                element(builder, known.integers, position, 8)?
            }
            None => return Err(defect(format!("column {column} is not read"))),
        })
    }

    /// 1 where a column has a value.
    fn valid(&mut self, builder: &mut FunctionBuilder<'_>, column: usize) -> Result<Value> {
        let known = self.columns[column];
        Ok(match self.variant.columns[column].1 {
            Some(Validity::All) => builder.ins().iconst(types::I64, 1),
            Some(Validity::None) => builder.ins().iconst(types::I64, 0),
            Some(Validity::Bits) => {
                let row = self.row(builder, column)?;
                let bit = builder.ins().iadd(row, known.first_bit);
                let byte = builder.ins().ushr_imm_u(bit, 3);
                let byte = element(builder, known.bits, byte, 1)?;
                let within = builder.ins().band_imm_u(bit, 7);
                let shifted = builder.ins().ushr(byte, within);
                builder.ins().band_imm_u(shifted, 1)
            }
            None => return Err(defect(format!("the validity of column {column} is not read"))),
        })
    }
}

/// The unsigned integer of `width` bytes at `start + index * width`.
pub(super) fn element(builder: &mut FunctionBuilder<'_>, start: Value, index: Value, width: u8) -> Result<Value> {
    let shift = match width {
        1 | 2 | 4 | 8 => i64::from(width.trailing_zeros()),
        other => return Err(defect(format!("codes of {other} bytes"))),
    };
    let offset = builder.ins().ishl_imm_u(index, shift);
    let address = builder.ins().iadd(start, offset);
    Ok(match width {
        1 => builder.ins().uload8(types::I64, trusted(), address, 0),
        2 => builder.ins().uload16(types::I64, trusted(), address, 0),
        4 => builder.ins().uload32(trusted(), address, 0),
        _ => builder.ins().load(types::I64, trusted(), address, 0),
    })
}

/// A quotient or a remainder; the machine's division must neither see a zero nor the one quotient that does not fit.
fn division(builder: &mut FunctionBuilder<'_>, remainder: bool, a: Value, b: Value, divisor: Operation) -> Value {
    let divided = |builder: &mut FunctionBuilder<'_>, by| {
        if remainder { builder.ins().srem(a, by) } else { builder.ins().sdiv(a, by) }
    };
    if matches!(divisor, Operation::Constant(value) if value != 0 && value != -1) {
        return divided(builder, b);
    }
    let one = builder.ins().iconst(types::I64, 1);
    let zero = builder.ins().iconst(types::I64, 0);
    let is_zero = builder.ins().icmp_imm_s(IntCC::Equal, b, 0);
    let is_minus_one = builder.ins().icmp_imm_s(IntCC::Equal, b, -1);
    let special = builder.ins().bor(is_zero, is_minus_one);
    let by = builder.ins().select(special, one, b);
    let result = divided(builder, by);
    // By -1 and by 1 nothing remains.
    let negated = if remainder { result } else { builder.ins().ineg(result) };
    let result = builder.ins().select(is_minus_one, negated, result);
    builder.ins().select(is_zero, zero, result)
}

/// The cell for an argument; the last one, wherever it lies outside.
fn cell(builder: &mut FunctionBuilder<'_>, cells: &Cells, argument: Value) -> Result<Value> {
    let (start, width, last) = cells.place();
    let index = builder.ins().iadd_imm_s(argument, cells.low.wrapping_neg());
    let last = builder.ins().iconst(types::I64, last as i64);
    let index = builder.ins().umin(index, last);
    let start = builder.ins().iconst(types::I64, start as i64);
    let distance = element(builder, start, index, width)?;
    Ok(builder.ins().iadd_imm_s(distance, cells.base()))
}

fn constant(builder: &mut FunctionBuilder<'_>, wanted: Type, value: i128) -> Value {
    let low = builder.ins().iconst(types::I64, value as i64);
    if wanted == types::I64 {
        return low;
    }
    let high = builder.ins().iconst(types::I64, (value >> 64) as i64);
    builder.ins().iconcat(low, high)
}

/// A step's result as the integer that it is elsewhere.
fn integer(builder: &mut FunctionBuilder<'_>, value: Value) -> Value {
    let is_float = builder.func.dfg.value_type(value) == types::F64;
    if is_float { floats::ordered(builder, value) } else { value }
}

/// A value in 64 or 128 bits, by its sign or its lower half.
pub(super) fn resized(builder: &mut FunctionBuilder<'_>, value: Value, wanted: Type) -> Value {
    let found = builder.func.dfg.value_type(value);
    match (found == types::I128, wanted == types::I128) {
        (false, true) => builder.ins().sextend(types::I128, value),
        (true, false) => builder.ins().ireduce(types::I64, value),
        _ => value,
    }
}

fn condition(operator: Comparison) -> IntCC {
    match operator {
        Comparison::Equal => IntCC::Equal,
        Comparison::NotEqual => IntCC::NotEqual,
        Comparison::Less => IntCC::SignedLessThan,
        Comparison::LessOrEqual => IntCC::SignedLessThanOrEqual,
        Comparison::Greater => IntCC::SignedGreaterThan,
        Comparison::GreaterOrEqual => IntCC::SignedGreaterThanOrEqual,
    }
}
