//! The loops of an aggregation's stages. All have one form: words of the frame, then a loop whose test is at its end,
//! entered only with records.

use crate::Result;
use crate::codegen::code::OVERFLOW;
use crate::codegen::frame::{FIRST, PASSED, PLACES, ROWS, SPARE, WORDS, output_word};
use crate::codegen::steps::{Steps, element, resized, trusted};
use crate::codegen::{Variant, defect};
use crate::operators::aggregate::{Plan, Slot, SlotKind};
use crate::program::stage::Stage;
use crate::program::steps::{Operation, StepId};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Type, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};

/// A stage that ends in an aggregation into an array, all fused: filter, group number, update.
pub(super) fn whole(builder: &mut FunctionBuilder<'_>, pointer: Type, plan: &Plan, variant: &Variant) -> Result<()> {
    let mut form = Form::begin(builder, pointer, &plan.stage, variant);
    let totals = if plan.groups == 1 { form.load_totals(builder, plan) } else { Vec::new() };
    form.enter(builder);
    let position = form.position(builder);
    form.steps.at(position);
    form.filter(builder)?;
    let number = form.output(builder, 0)?;
    if plan.groups == 1 {
        form.add_to_totals(builder, plan, &totals)?;
    } else {
        form.update_array(builder, plan, number)?;
    }
    form.next(builder)?;
    if plan.groups == 1 {
        form.store_totals(builder, plan, &totals);
    }
    form.finish(builder, None);
    Ok(())
}

/// A stage that ends in staging vectors: of each record that passes the filter, its position and the outputs.
pub(super) fn emit(builder: &mut FunctionBuilder<'_>, pointer: Type, stage: &Stage, variant: &Variant) -> Result<()> {
    let mut form = Form::begin(builder, pointer, stage, variant);
    let outputs: Vec<Value> = (0..stage.outputs.len()).map(|output| form.output_vector(builder, output)).collect();
    let count = builder.declare_var(types::I64);
    let zero = builder.ins().iconst(types::I64, 0);
    builder.def_var(count, zero);
    form.enter(builder);
    let position = form.position(builder);
    form.steps.at(position);
    // Written where the last record that passed ends, which is never behind this one's place, and kept if it passes.
    let passes = match stage.filter.filter(|_| is_cheap(stage)) {
        Some(filter) => Some(form.steps.emit(builder, filter)?),
        None => {
            form.filter(builder)?;
            None
        }
    };
    let written = builder.use_var(count);
    for (output, vector) in outputs.into_iter().enumerate() {
        let value = form.output(builder, output)?;
        let place = scaled(builder, vector, written, 8);
        builder.ins().store(trusted(), value, place, 0);
    }
    let place = scaled(builder, form.words[PASSED], written, 4);
    builder.ins().istore32(trusted(), position, place, 0);
    let more = match passes {
        Some(passes) => builder.ins().iadd(written, passes),
        None => builder.ins().iadd_imm_s(written, 1),
    };
    builder.def_var(count, more);
    form.next(builder)?;
    form.finish(builder, Some(count));
    Ok(())
}

/// Steps and columns beside those of the filter that cost less, of a record that fails, than a branch that is hard to
/// foretell: a misprediction takes 15 to 20 cycles.
const FEW_STEPS: usize = 16;
const FEW_COLUMNS: usize = 2;

/// Whether what a stage hands on may be computed of records that fail too: nothing is to be looked at that could fail,
/// and it is little. Then no branch depends on the filter.
fn is_cheap(stage: &Stage) -> bool {
    let beside = || stage.record_steps.iter().filter(|step| !stage.filter_steps.contains(step));
    let operation = |step: &StepId| stage.program.step(*step).operation;
    let all_steps = stage.filter_steps.iter().chain(beside());
    let checked =
        all_steps.map(operation).any(|operation| matches!(operation, Operation::Check(..) | Operation::Units(..)));
    let dear =
        beside().map(operation).any(|operation| matches!(operation, Operation::Division(..) | Operation::Map(..)));
    let columns = beside().filter(|step| matches!(operation(step), Operation::Column(_))).count();
    !checked && !dear && columns <= FEW_COLUMNS && beside().count() <= FEW_STEPS
}

/// The stage behind a hash table of groups: updates at the places that it gave.
pub(super) fn update(builder: &mut FunctionBuilder<'_>, pointer: Type, plan: &Plan, variant: &Variant) -> Result<()> {
    let mut form = Form::begin(builder, pointer, &plan.stage, variant);
    form.enter(builder);
    let index = form.position(builder);
    let position = element(builder, form.words[PASSED], index, 4)?;
    form.steps.at(position);
    let place = element(builder, form.words[PLACES], index, 8)?;
    form.update_state(builder, plan, place)?;
    form.next(builder)?;
    form.finish(builder, None);
    Ok(())
}

/// A loop under construction.
pub(super) struct Form<'p> {
    pub(super) stage: &'p Stage,
    pub(super) variant: &'p Variant,
    pub(super) frame: Value,
    pub(super) steps: Steps<'p>,
    /// The frame's words that any loop may need, read before it.
    words: [Value; PASSED + 1],
    index: Variable,
    body: Block,
    /// The end of the body, where the next record begins.
    pub(super) advance: Block,
    end: Block,
}

/// Goes to `failed` unless the record passes a stage's filter.
pub(super) fn filtered(
    builder: &mut FunctionBuilder<'_>,
    stage: &Stage,
    steps: &mut Steps<'_>,
    failed: Block,
) -> Result<()> {
    for step in &stage.filter_steps {
        steps.emit(builder, *step)?;
    }
    let Some(filter) = stage.filter else { return Ok(()) };
    let passes = steps.emit(builder, filter)?;
    let rest = builder.create_block();
    builder.ins().brif(passes, rest, &[] as &[BlockArg], failed, &[] as &[BlockArg]);
    builder.seal_block(rest);
    builder.switch_to_block(rest);
    Ok(())
}

/// Looks at what must be looked at.
pub(super) fn checked(builder: &mut FunctionBuilder<'_>, stage: &Stage, steps: &mut Steps<'_>) -> Result<()> {
    stage.checks.iter().try_for_each(|step| steps.emit(builder, *step).map(drop))
}

impl<'p> Form<'p> {
    /// Reads the frame.
    pub(super) fn begin(
        builder: &mut FunctionBuilder<'_>,
        pointer: Type,
        stage: &'p Stage,
        variant: &'p Variant,
    ) -> Self {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let frame = builder.block_params(entry)[0];
        let words = std::array::from_fn(|word| builder.ins().load(pointer, trusted(), frame, word as i32 * 8));
        let steps = Steps::new(builder, frame, stage, variant);
        let index = builder.declare_var(types::I64);
        let zero = builder.ins().iconst(types::I64, 0);
        builder.def_var(index, zero);
        let [body, advance, end] = std::array::from_fn(|_| builder.create_block());
        Self { stage, variant, frame, steps, words, index, body, advance, end }
    }

    /// The staging vector of an output.
    pub(super) fn output_vector(&self, builder: &mut FunctionBuilder<'_>, output: usize) -> Value {
        let word = output_word(self.variant, output) as i32;
        builder.ins().load(types::I64, trusted(), self.frame, word * 8)
    }

    /// Begins the loop's body. There is at least one record.
    pub(super) fn enter(&mut self, builder: &mut FunctionBuilder<'_>) {
        builder.ins().jump(self.body, &[] as &[BlockArg]);
        builder.switch_to_block(self.body);
    }

    /// The loop's index.
    pub(super) fn position(&self, builder: &mut FunctionBuilder<'_>) -> Value {
        builder.use_var(self.index)
    }

    /// Goes on with the next record unless this one passes; looks at what must be looked at.
    fn filter(&mut self, builder: &mut FunctionBuilder<'_>) -> Result<()> {
        filtered(builder, self.stage, &mut self.steps, self.advance)?;
        checked(builder, self.stage, &mut self.steps)
    }

    pub(super) fn output(&mut self, builder: &mut FunctionBuilder<'_>, output: usize) -> Result<Value> {
        let step: StepId = self.stage.outputs[output];
        self.steps.emit(builder, step)
    }

    /// Updates the state of a group that lies in an array.
    pub(super) fn update_array(&mut self, builder: &mut FunctionBuilder<'_>, plan: &Plan, number: Value) -> Result<()> {
        // A number that the metadata does not allow must not lead outside of the states.
        let place = builder.ins().isub(number, self.words[FIRST]);
        let place = builder.ins().umin(place, self.words[SPARE]);
        self.update_state(builder, plan, place)
    }

    /// Updates the words of the state at a place.
    fn update_state(&mut self, builder: &mut FunctionBuilder<'_>, plan: &Plan, place: Value) -> Result<()> {
        let state = scaled(builder, self.words[WORDS], place, plan.stride as i64 * 8);
        for slot in &plan.slots {
            let value = self.steps.emit(builder, slot.step)?;
            let word = slot.word as i32 * 8;
            let before = read(builder, slot, state, word);
            let after = combined(builder, slot.kind, before, value);
            write(builder, after, state, word);
        }
        Ok(())
    }

    /// The words of the only group, to be kept in registers.
    pub(super) fn load_totals(&self, builder: &mut FunctionBuilder<'_>, plan: &Plan) -> Vec<Variable> {
        let load = |slot: &Slot| {
            let value = read(builder, slot, self.words[WORDS], slot.word as i32 * 8);
            let total = builder.declare_var(builder.func.dfg.value_type(value));
            builder.def_var(total, value);
            total
        };
        plan.slots.iter().map(load).collect()
    }

    pub(super) fn add_to_totals(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        plan: &Plan,
        totals: &[Variable],
    ) -> Result<()> {
        for (slot, total) in plan.slots.iter().zip(totals) {
            let value = self.steps.emit(builder, slot.step)?;
            let before = builder.use_var(*total);
            let after = combined(builder, slot.kind, before, value);
            builder.def_var(*total, after);
        }
        Ok(())
    }

    pub(super) fn store_totals(&self, builder: &mut FunctionBuilder<'_>, plan: &Plan, totals: &[Variable]) {
        for (slot, total) in plan.slots.iter().zip(totals) {
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
        self.turn(builder);
        Ok(())
    }

    /// What comes between two records.
    pub(super) fn turn(&self, builder: &mut FunctionBuilder<'_>) {
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
    }

    /// Gives the count, if there is one, and whether a value left its limits.
    pub(super) fn finish(&self, builder: &mut FunctionBuilder<'_>, count: Option<Variable>) {
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
pub(super) fn scaled(builder: &mut FunctionBuilder<'_>, start: Value, index: Value, bytes: i64) -> Value {
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
        SlotKind::Add | SlotKind::Raise | SlotKind::Or | SlotKind::Xor => low,
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
        SlotKind::Or => builder.ins().bor(before, value),
        SlotKind::Xor => builder.ins().bxor(before, value),
    }
}
