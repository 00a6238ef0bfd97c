//! The loops of an aggregation's stages. All have one form: words of the frame, then a loop whose test is at its end,
//! entered only with records.

use super::code::OVERFLOW;
use super::frame::{FIRST, PASSED, PLACES, ROWS, SPARE, TIDS, WORDS};
use super::steps::{Steps, element, resized, trusted};
use super::{Variant, defect};
use crate::Result;
use crate::aggregate::{Plan, Slot, SlotKind};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Type, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};

/// One stage, all fused: filter, group number, update.
pub(super) fn whole(builder: &mut FunctionBuilder<'_>, pointer: Type, plan: &Plan, variant: &Variant) -> Result<()> {
    let mut stage = Stage::begin(builder, pointer, plan, variant);
    let totals = if plan.groups == 1 { stage.load_totals(builder) } else { Vec::new() };
    stage.enter(builder);
    let position = stage.position(builder);
    stage.record(builder, position)?;
    stage.filter(builder)?;
    let number = stage.group(builder)?;
    if plan.groups == 1 {
        stage.add_to_totals(builder, &totals)?;
    } else {
        // A number that the metadata does not allow must not lead outside of the states.
        let spare = stage.word(SPARE);
        let place = builder.ins().umin(number, spare);
        stage.update_state(builder, place)?;
    }
    stage.next(builder)?;
    if plan.groups == 1 {
        stage.store_totals(builder, &totals);
    }
    stage.finish(builder, None);
    Ok(())
}

/// The stage before a hash table: filter and group number, into the staging vectors.
pub(super) fn number(builder: &mut FunctionBuilder<'_>, pointer: Type, plan: &Plan, variant: &Variant) -> Result<()> {
    let mut stage = Stage::begin(builder, pointer, plan, variant);
    let count = builder.declare_var(types::I64);
    let zero = builder.ins().iconst(types::I64, 0);
    builder.def_var(count, zero);
    stage.enter(builder);
    let position = stage.position(builder);
    stage.record(builder, position)?;
    stage.filter(builder)?;
    let number = stage.group(builder)?;
    let written = builder.use_var(count);
    let (numbers, passed) = (stage.word(PLACES), stage.word(PASSED));
    let place = scaled(builder, numbers, written, 8);
    builder.ins().store(trusted(), number, place, 0);
    let place = scaled(builder, passed, written, 4);
    builder.ins().istore32(trusted(), position, place, 0);
    let more = builder.ins().iadd_imm_s(written, 1);
    builder.def_var(count, more);
    stage.next(builder)?;
    stage.finish(builder, Some(count));
    Ok(())
}

/// The stage behind a hash table: updates at the places that it gave.
pub(super) fn update(builder: &mut FunctionBuilder<'_>, pointer: Type, plan: &Plan, variant: &Variant) -> Result<()> {
    let mut stage = Stage::begin(builder, pointer, plan, variant);
    stage.enter(builder);
    let index = stage.position(builder);
    let (places, passed) = (stage.word(PLACES), stage.word(PASSED));
    let position = element(builder, passed, index, 4)?;
    stage.record(builder, position)?;
    let place = element(builder, places, index, 8)?;
    stage.update_state(builder, place)?;
    stage.next(builder)?;
    stage.finish(builder, None);
    Ok(())
}

/// A loop under construction.
struct Stage<'p> {
    plan: &'p Plan,
    variant: &'p Variant,
    steps: Steps<'p>,
    /// The frame's words that any loop may need, read before it.
    words: [Value; PASSED + 1],
    index: Variable,
    body: Block,
    /// The end of the body, where the next record begins.
    advance: Block,
    end: Block,
}

impl<'p> Stage<'p> {
    /// Reads the frame.
    fn begin(builder: &mut FunctionBuilder<'_>, pointer: Type, plan: &'p Plan, variant: &'p Variant) -> Self {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let frame = builder.block_params(entry)[0];
        let words = std::array::from_fn(|word| builder.ins().load(pointer, trusted(), frame, word as i32 * 8));
        let steps = Steps::new(builder, frame, &plan.program, variant);
        let index = builder.declare_var(types::I64);
        let zero = builder.ins().iconst(types::I64, 0);
        builder.def_var(index, zero);
        let [body, advance, end] = std::array::from_fn(|_| builder.create_block());
        Self { plan, variant, steps, words, index, body, advance, end }
    }

    fn word(&self, word: usize) -> Value {
        self.words[word]
    }

    /// Begins the loop's body. There is at least one record.
    fn enter(&mut self, builder: &mut FunctionBuilder<'_>) {
        builder.ins().jump(self.body, &[] as &[BlockArg]);
        builder.switch_to_block(self.body);
    }

    /// The loop's index.
    fn position(&self, builder: &mut FunctionBuilder<'_>) -> Value {
        builder.use_var(self.index)
    }

    /// The steps from here on are of the record at a position of the vector.
    fn record(&mut self, builder: &mut FunctionBuilder<'_>, position: Value) -> Result<()> {
        let tid = if self.variant.tids {
            element(builder, self.words[TIDS], position, 4)?
        } else {
            builder.ins().iadd(self.words[FIRST], position)
        };
        self.steps.at(position, tid);
        Ok(())
    }

    /// Goes on with the next record unless this one passes.
    fn filter(&mut self, builder: &mut FunctionBuilder<'_>) -> Result<()> {
        for step in &self.plan.filter_steps {
            self.steps.emit(builder, *step)?;
        }
        let Some(filter) = self.plan.filter else { return Ok(()) };
        let passes = self.steps.emit(builder, filter)?;
        let rest = builder.create_block();
        builder.ins().brif(passes, rest, &[] as &[BlockArg], self.advance, &[] as &[BlockArg]);
        builder.seal_block(rest);
        builder.switch_to_block(rest);
        Ok(())
    }

    /// The number of the record's group, after all that must be looked at.
    fn group(&mut self, builder: &mut FunctionBuilder<'_>) -> Result<Value> {
        for step in &self.plan.group_results {
            self.steps.emit(builder, *step)?;
        }
        self.steps.emit(builder, self.plan.group)
    }

    /// Updates the words of the state at a place.
    fn update_state(&mut self, builder: &mut FunctionBuilder<'_>, place: Value) -> Result<()> {
        let state = scaled(builder, self.words[WORDS], place, self.plan.stride as i64 * 8);
        for slot in &self.plan.slots {
            let value = self.steps.emit(builder, slot.step)?;
            let word = slot.word as i32 * 8;
            let before = read(builder, slot, state, word);
            let after = combined(builder, slot.kind, before, value);
            write(builder, after, state, word);
        }
        Ok(())
    }

    /// The words of the only group, to be kept in registers.
    fn load_totals(&self, builder: &mut FunctionBuilder<'_>) -> Vec<Variable> {
        let load = |slot: &Slot| {
            let value = read(builder, slot, self.words[WORDS], slot.word as i32 * 8);
            let total = builder.declare_var(builder.func.dfg.value_type(value));
            builder.def_var(total, value);
            total
        };
        self.plan.slots.iter().map(load).collect()
    }

    fn add_to_totals(&mut self, builder: &mut FunctionBuilder<'_>, totals: &[Variable]) -> Result<()> {
        for (slot, total) in self.plan.slots.iter().zip(totals) {
            let value = self.steps.emit(builder, slot.step)?;
            let before = builder.use_var(*total);
            let after = combined(builder, slot.kind, before, value);
            builder.def_var(*total, after);
        }
        Ok(())
    }

    fn store_totals(&self, builder: &mut FunctionBuilder<'_>, totals: &[Variable]) {
        for (slot, total) in self.plan.slots.iter().zip(totals) {
            let value = builder.use_var(*total);
            write(builder, value, self.words[WORDS], slot.word as i32 * 8);
        }
    }

    /// Ends the loop's body.
    fn next(&mut self, builder: &mut FunctionBuilder<'_>) -> Result<()> {
        if builder.current_block().is_none() {
            return Err(defect("a loop without a body"));
        }
        builder.ins().jump(self.advance, &[] as &[BlockArg]);
        builder.seal_block(self.advance);
        builder.switch_to_block(self.advance);
        let index = builder.use_var(self.index);
        let index = builder.ins().iadd_imm_s(index, 1);
        builder.def_var(self.index, index);
        let more = builder.ins().icmp(IntCC::UnsignedLessThan, index, self.words[ROWS]);
        builder.ins().brif(more, self.body, &[] as &[BlockArg], self.end, &[] as &[BlockArg]);
        builder.seal_block(self.body);
        builder.seal_block(self.end);
        builder.switch_to_block(self.end);
        Ok(())
    }

    /// Gives the count, if there is one, and whether a value left its limits.
    fn finish(&self, builder: &mut FunctionBuilder<'_>, count: Option<Variable>) {
        let overflow = builder.use_var(self.steps.overflow);
        let overflow = builder.ins().ishl_imm_u(overflow, i64::from(OVERFLOW.trailing_zeros()));
        let result = match count {
            Some(count) => {
                let count = builder.use_var(count);
                builder.ins().bor(overflow, count)
            }
            None => overflow,
        };
        builder.ins().return_(&[result]);
    }
}

/// `start + index * bytes`.
fn scaled(builder: &mut FunctionBuilder<'_>, start: Value, index: Value, bytes: i64) -> Value {
    let offset = if bytes.count_ones() == 1 {
        builder.ins().ishl_imm_u(index, i64::from(bytes.trailing_zeros()))
    } else {
        builder.ins().imul_imm_s(index, bytes)
    };
    builder.ins().iadd(start, offset)
}

/// A slot's words as one value.
fn read(builder: &mut FunctionBuilder<'_>, slot: &Slot, state: Value, word: i32) -> Value {
    let low = builder.ins().load(types::I64, trusted(), state, word);
    match slot.kind {
        SlotKind::Add | SlotKind::Raise => low,
        SlotKind::AddWide => {
            let high = builder.ins().load(types::I64, trusted(), state, word + 8);
            builder.ins().iconcat(low, high)
        }
    }
}

fn write(builder: &mut FunctionBuilder<'_>, value: Value, state: Value, word: i32) {
    if builder.func.dfg.value_type(value) == types::I128 {
        let (low, high) = builder.ins().isplit(value);
        builder.ins().store(trusted(), low, state, word);
        builder.ins().store(trusted(), high, state, word + 8);
    } else {
        builder.ins().store(trusted(), value, state, word);
    }
}

fn combined(builder: &mut FunctionBuilder<'_>, kind: SlotKind, before: Value, value: Value) -> Value {
    let value = resized(builder, value, builder.func.dfg.value_type(before));
    match kind {
        SlotKind::Add | SlotKind::AddWide => builder.ins().iadd(before, value),
        SlotKind::Raise => builder.ins().umax(before, value),
    }
}
