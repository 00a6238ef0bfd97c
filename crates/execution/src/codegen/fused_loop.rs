//! A pipeline without boundaries as one loop: each record goes through all filters and probes, and into the sink, before the
//! next one begins (relaxed operator fusion paper, section 2.1: what it starts from, and measures against). A probe that
//! gives several matches is a loop within the loop. Behind a boundary the same is made of the part that is left.
//!
//! Blocks: where a record fails, control goes to the innermost loop's next match, else to the next record. What comes
//! behind a probe is written once, in blocks that the probe's own dominate, so that rows and values stay in registers.

use crate::codegen::fused::Chain;
use crate::codegen::stage::{Form, checked, filtered, scaled};
use crate::codegen::steps::{Steps, trusted};
use crate::codegen::table::TableAccess;
use crate::codegen::{Variant, defect};
use crate::plan::pipeline_plan::{LevelKind, PipelineEnd, ProbeStage};
use crate::program::stage::Stage;
use crate::{JoinKind, Result};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Type, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use gingham_kernels::key_table::{LIST, NONE};

const NO_ARGUMENTS: &[BlockArg] = &[];

/// The loop of a chain. It gives the number of rows that it wrote, where it ends in rows.
pub(super) fn fused(
    builder: &mut FunctionBuilder<'_>,
    pointer: Type,
    chain: &Chain<'_>,
    variant: &Variant,
) -> Result<()> {
    let stage = chain.last_stage()?;
    let mut form = Form::begin(builder, pointer, stage, variant);
    let mut probes = Vec::with_capacity(chain.levels.len());
    for (number, level) in chain.levels.iter().enumerate() {
        probes.push(ProbeLoop::begin(builder, &form, chain, (number, level))?);
    }
    let sink = LoopSink::begin(builder, &form, chain);
    form.enter(builder);
    let position = form.position(builder);
    let mut weave =
        FusedLoop { position, rows: vec![None; variant.inputs.len()], matches: Vec::new(), failed: form.advance };
    for probe in &mut probes {
        weave.probe(builder, probe)?;
    }
    sink.take(builder, &mut form, &weave, chain)?;
    builder.ins().jump(weave.failed, NO_ARGUMENTS);
    for matches in weave.matches.into_iter().rev() {
        matches.close(builder);
    }
    form.turn(builder);
    let written = sink.end(builder, &form, chain);
    form.finish(builder, written);
    builder.seal_all_blocks();
    Ok(())
}

/// A probe under construction.
struct ProbeLoop<'p> {
    level: &'p ProbeStage,
    /// The input that it adds.
    input: usize,
    number: Steps<'p>,
    condition: Option<Steps<'p>>,
    table: TableAccess,
    /// No key has several rows.
    unique: bool,
}

impl<'p> ProbeLoop<'p> {
    /// Reads the frame.
    fn begin(
        builder: &mut FunctionBuilder<'_>,
        form: &Form<'p>,
        chain: &Chain<'p>,
        (number, level): (usize, &'p ProbeStage),
    ) -> Result<Self> {
        let build = chain.given.builds.get(level.probe).ok_or_else(|| defect("a probe without a build side"))?;
        let variant = form.variant;
        let steps = |builder: &mut FunctionBuilder<'_>, stage: &'p Stage| {
            Steps::new(builder, form.frame, stage, variant).with_overflow(form.steps.overflow)
        };
        let table = TableAccess::begin(builder, form.frame, (variant, chain.outputs()), number, build.table);
        let condition = level.condition.as_ref().map(|condition| steps(builder, condition));
        let number = steps(builder, &level.number);
        Ok(Self { level, input: level.probe + 1, number, condition, table, unique: build.most_matches <= 1 })
    }
}

/// The way of a record so far.
struct FusedLoop {
    position: Value,
    /// Its row of each input, of those that probes have added.
    rows: Vec<Option<Value>>,
    /// Loops over matches that are open.
    matches: Vec<Matches>,
    /// Where control goes when the record fails.
    failed: Block,
}

/// A loop over the matches of a record.
struct Matches {
    /// Given the row of a match.
    candidate: Block,
    /// The next match.
    again: Block,
    /// Addresses of the match at work and behind the last one; both 0 where there is one match only.
    next: Variable,
    end: Variable,
    unique: bool,
    /// Where control goes behind the last match.
    outside: Block,
    /// For an outer join with a condition: whether some match fulfilled it, where the row of NULLs goes if none did, and that
    /// row.
    unmatched: Option<(Variable, Block, Value)>,
}

impl FusedLoop {
    /// A probe; what is written next is of a record that goes on behind it.
    fn probe(&mut self, builder: &mut FunctionBuilder<'_>, probe: &mut ProbeLoop<'_>) -> Result<()> {
        let stage = &probe.level.number;
        probe.number.at(self.position);
        probe.number.set_rows(&self.rows);
        filtered(builder, stage, &mut probe.number, self.failed)?;
        checked(builder, stage, &mut probe.number)?;
        let output = stage.outputs.first().ok_or_else(|| defect("a probe without a number"))?;
        let key = probe.number.emit(builder, *output)?;
        let link = probe.table.find(builder, key)?;
        let none = builder.ins().icmp_imm_u(IntCC::Equal, link, i64::from(NONE));
        match (probe.level.kind, &probe.condition) {
            (LevelKind::Filter, _) => Err(defect("a filter in the place of a probe")),
            (LevelKind::Join(JoinKind::Mark), _) => {
                let none = builder.ins().uextend(types::I64, none);
                self.rows[probe.input] = Some(builder.ins().bxor_imm_u(none, 1));
                Ok(())
            }
            (LevelKind::Join(JoinKind::Semi | JoinKind::Anti), Some(_)) => self.decide(builder, probe, link, none),
            (LevelKind::Join(kind @ (JoinKind::Semi | JoinKind::Anti | JoinKind::NotIn)), _) => {
                let body = builder.create_block();
                let (missing, found) = if kind == JoinKind::Semi { (self.failed, body) } else { (body, self.failed) };
                builder.ins().brif(none, missing, NO_ARGUMENTS, found, NO_ARGUMENTS);
                builder.switch_to_block(body);
                Ok(())
            }
            (LevelKind::Join(JoinKind::Inner | JoinKind::Left | JoinKind::Full) | LevelKind::Marks, _) => {
                self.each(builder, probe, link, none)
            }
        }
    }

    /// The record goes on with each match.
    fn each(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        probe: &mut ProbeLoop<'_>,
        link: Value,
        none: Value,
    ) -> Result<()> {
        let left = matches!(probe.level.kind, LevelKind::Join(JoinKind::Left | JoinKind::Full));
        let mut matches = Matches::new(builder, probe, self.failed);
        let mut row = builder.append_block_param(matches.candidate, types::I64);
        let body = if left && (probe.condition.is_some() || probe.level.marks()) {
            let body = builder.create_block();
            let matched = builder.declare_var(types::I64);
            let missing = builder.ins().uextend(types::I64, none);
            builder.def_var(matched, missing);
            matches.unmatched = Some((matched, body, probe.table.nulls));
            Some((builder.append_block_param(body, types::I64), body, matched))
        } else {
            None
        };
        let found = builder.create_block();
        let nulls = [BlockArg::Value(probe.table.nulls)];
        match body {
            Some((_, body, _)) => builder.ins().brif(none, body, &nulls, found, NO_ARGUMENTS),
            None if left => builder.ins().brif(none, matches.candidate, &nulls, found, NO_ARGUMENTS),
            None => builder.ins().brif(none, self.failed, NO_ARGUMENTS, found, NO_ARGUMENTS),
        };
        builder.switch_to_block(found);
        matches.open(builder, probe.table.lists, link)?;
        if probe.condition.is_some() {
            self.fulfilled(builder, probe, row, matches.again)?;
        }
        if probe.level.marks() {
            probe.table.mark(builder, row);
        }
        if let Some((any, body, matched)) = body {
            let one = builder.ins().iconst(types::I64, 1);
            builder.def_var(matched, one);
            builder.ins().jump(body, &[BlockArg::Value(row)]);
            builder.switch_to_block(body);
            row = any;
        }
        self.rows[probe.input] = Some(row);
        self.failed = matches.again;
        self.matches.push(matches);
        Ok(())
    }

    /// The record goes on, once, when some match fulfils the condition, or when none does.
    fn decide(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        probe: &mut ProbeLoop<'_>,
        link: Value,
        none: Value,
    ) -> Result<()> {
        let (body, found) = (builder.create_block(), builder.create_block());
        let semi = probe.level.kind == LevelKind::Join(JoinKind::Semi);
        let (hit, miss) = if semi { (body, self.failed) } else { (self.failed, body) };
        let mut matches = Matches::new(builder, probe, miss);
        let row = builder.append_block_param(matches.candidate, types::I64);
        builder.ins().brif(none, miss, NO_ARGUMENTS, found, NO_ARGUMENTS);
        builder.switch_to_block(found);
        matches.open(builder, probe.table.lists, link)?;
        self.fulfilled(builder, probe, row, matches.again)?;
        builder.ins().jump(hit, NO_ARGUMENTS);
        matches.close(builder);
        builder.switch_to_block(body);
        Ok(())
    }

    /// Goes to `again` unless a match fulfils the probe's condition.
    fn fulfilled(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        probe: &mut ProbeLoop<'_>,
        row: Value,
        again: Block,
    ) -> Result<()> {
        let (Some(steps), Some(condition)) = (&mut probe.condition, &probe.level.condition) else {
            return Err(defect("no condition"));
        };
        let mut rows = self.rows.clone();
        rows[probe.input] = Some(row);
        steps.at(self.position);
        steps.set_rows(&rows);
        filtered(builder, condition, steps, again)
    }
}

impl Matches {
    /// One match, until it is known that there are more.
    fn new(builder: &mut FunctionBuilder<'_>, probe: &ProbeLoop<'_>, outside: Block) -> Self {
        let zero = builder.ins().iconst(types::I64, 0);
        let [next, end] = std::array::from_fn(|_| {
            let variable = builder.declare_var(types::I64);
            builder.def_var(variable, zero);
            variable
        });
        let [candidate, again] = std::array::from_fn(|_| builder.create_block());
        Self { candidate, again, next, end, unique: probe.unique, outside, unmatched: None }
    }

    /// Goes to the first match of a link that is not [`NONE`].
    fn open(&mut self, builder: &mut FunctionBuilder<'_>, lists: Value, link: Value) -> Result<()> {
        if self.unique {
            builder.ins().jump(self.candidate, &[BlockArg::Value(link)]);
        } else {
            let list = builder.create_block();
            let is_list = builder.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, link, i64::from(LIST));
            builder.ins().brif(is_list, list, NO_ARGUMENTS, self.candidate, &[BlockArg::Value(link)]);
            builder.switch_to_block(list);
            let place = builder.ins().band_imm_u(link, i64::from(!LIST));
            let place = scaled(builder, lists, place, 4);
            let count = builder.ins().uload32(trusted(), place, 0);
            let first = builder.ins().iadd_imm_s(place, 4);
            let end = scaled(builder, first, count, 4);
            builder.def_var(self.next, first);
            builder.def_var(self.end, end);
            let row = builder.ins().uload32(trusted(), first, 0);
            builder.ins().jump(self.candidate, &[BlockArg::Value(row)]);
        }
        builder.switch_to_block(self.candidate);
        Ok(())
    }

    /// Writes how it goes on behind a match.
    fn close(self, builder: &mut FunctionBuilder<'_>) {
        builder.switch_to_block(self.again);
        let exhausted = builder.create_block();
        if self.unique {
            builder.ins().jump(exhausted, NO_ARGUMENTS);
        } else {
            let load = builder.create_block();
            let (next, end) = (builder.use_var(self.next), builder.use_var(self.end));
            let next = builder.ins().iadd_imm_s(next, 4);
            builder.def_var(self.next, next);
            let more = builder.ins().icmp(IntCC::UnsignedLessThan, next, end);
            builder.ins().brif(more, load, NO_ARGUMENTS, exhausted, NO_ARGUMENTS);
            builder.switch_to_block(load);
            let row = builder.ins().uload32(trusted(), next, 0);
            builder.ins().jump(self.candidate, &[BlockArg::Value(row)]);
        }
        builder.switch_to_block(exhausted);
        let Some((matched, body, nulls)) = self.unmatched else {
            builder.ins().jump(self.outside, NO_ARGUMENTS);
            return;
        };
        let alone = builder.create_block();
        let before = builder.use_var(matched);
        builder.ins().brif(before, self.outside, NO_ARGUMENTS, alone, NO_ARGUMENTS);
        builder.switch_to_block(alone);
        let one = builder.ins().iconst(types::I64, 1);
        builder.def_var(matched, one);
        builder.ins().jump(body, &[BlockArg::Value(nulls)]);
    }
}

/// What a record ends in.
enum LoopSink {
    /// Staging vectors of the outputs, and how many rows were written.
    Rows(Vec<Value>, Variable),
    /// The words of the only group.
    Totals(Vec<Variable>),
    States,
    Marks,
}

impl LoopSink {
    fn begin(builder: &mut FunctionBuilder<'_>, form: &Form<'_>, chain: &Chain<'_>) -> Self {
        match chain.end {
            PipelineEnd::Rows { part, .. } => {
                let outputs = (0..part.outputs.len()).map(|output| form.output_vector(builder, output));
                let outputs = outputs.collect();
                let count = builder.declare_var(types::I64);
                let zero = builder.ins().iconst(types::I64, 0);
                builder.def_var(count, zero);
                Self::Rows(outputs, count)
            }
            PipelineEnd::Aggregate { plan, .. } if plan.groups == 1 => Self::Totals(form.load_totals(builder, plan)),
            PipelineEnd::Aggregate { .. } => Self::States,
            PipelineEnd::Marks => Self::Marks,
        }
    }

    /// Takes a record.
    fn take<'p>(
        &self,
        builder: &mut FunctionBuilder<'_>,
        form: &mut Form<'p>,
        weave: &FusedLoop,
        chain: &Chain<'p>,
    ) -> Result<()> {
        // The last probe has set them.
        if let Self::Marks = self {
            return Ok(());
        }
        form.steps.at(weave.position);
        form.steps.set_rows(&weave.rows);
        filtered(builder, form.stage, &mut form.steps, weave.failed)?;
        checked(builder, form.stage, &mut form.steps)?;
        match (self, chain.end) {
            (Self::Rows(outputs, count), _) => {
                let written = builder.use_var(*count);
                for (output, vector) in outputs.iter().enumerate() {
                    let value = form.output(builder, output)?;
                    let place = scaled(builder, *vector, written, 8);
                    builder.ins().store(trusted(), value, place, 0);
                }
                let more = builder.ins().iadd_imm_s(written, 1);
                builder.def_var(*count, more);
                Ok(())
            }
            (Self::Totals(totals), PipelineEnd::Aggregate { plan, .. }) => form.add_to_totals(builder, plan, totals),
            (_, PipelineEnd::Aggregate { plan, .. }) => {
                let number = form.output(builder, 0)?;
                form.update_array(builder, plan, number)
            }
            _ => Err(defect("a sink of another kind")),
        }
    }

    /// Behind the last record; gives the count of rows.
    fn end(&self, builder: &mut FunctionBuilder<'_>, form: &Form<'_>, chain: &Chain<'_>) -> Option<Variable> {
        match (self, chain.end) {
            (Self::Rows(_, count), _) => Some(*count),
            (Self::Totals(totals), PipelineEnd::Aggregate { plan, .. }) => {
                form.store_totals(builder, plan, totals);
                None
            }
            _ => None,
        }
    }
}
