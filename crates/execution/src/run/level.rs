//! One level of a thread's way through a pipeline: the stage before a probe, and what is staged behind it.

use crate::codegen::{Loops, Scratch};
use crate::data::source::{Vector, VectorInput};
use crate::operators::inequality::RangeEnds;
use crate::operators::interpret::Interpreter;
use crate::operators::join::{JoinTable, Keys};
use crate::plan::pipeline_plan::{LevelKind, ProbeStage};
use crate::plan::stage_id::StageId;
use crate::program::stage::Stage;
use crate::run::worker::PipelineContext;
use crate::{Error, JoinKind, Result, codegen};
use gingham_kernels::key_table::{Pairs, Resume};
use std::ops::Range;
use std::sync::Arc;

/// Runs one stage: interpreted, or by the loops for the morsel at work.
#[derive(Debug)]
pub(crate) struct Runner {
    pub(crate) interpreter: Interpreter,
    pub(crate) loops: Option<Arc<Loops>>,
}

/// A level's memory.
#[derive(Debug)]
pub(crate) struct LevelState {
    pub(crate) number: Runner,
    pub(crate) condition: Option<Runner>,
    /// Positions in the vector at work of the records that go on, and their numbers.
    pub(crate) passed: Vec<u32>,
    pub(crate) numbers: Vec<Vec<i64>>,
    pub(crate) keys: Keys,
    pub(crate) links: Vec<u32>,
    /// The rows of each number's range, where matches have one.
    pub(crate) range: Option<RangeEnds>,
    pub(crate) spans: Vec<Range<u32>>,
    pub(crate) pairs: Pairs,
    /// Positions, in the vector at work, of the records that are paired.
    pub(crate) paired: Vec<u32>,
    /// Rows of pairs whose condition is looked at, by input.
    pub(crate) candidates: Vec<Vec<u32>>,
    pub(crate) fulfilled: Vec<u32>,
    /// A bit for each record of the vector at work that has a match.
    pub(crate) matched: Vec<bool>,
    /// The rows that wait for the next stage, by input.
    pub(crate) staged: Vec<Vec<u32>>,
}

impl Runner {
    pub(crate) fn new(stage: &Stage) -> Self {
        Self { interpreter: Interpreter::new(stage), loops: None }
    }

    pub(crate) fn emit(
        &mut self,
        (course, stage): (&PipelineContext, StageId),
        part: &Stage,
        vector: &Vector<'_>,
        scratch: &mut Scratch,
        passed: &mut Vec<u32>,
        outputs: &mut [Vec<i64>],
    ) -> Result<()> {
        let generator = course.code.stage(stage);
        if self.loops.is_none() {
            self.loops = if course.is_staged(stage, vector.len()) {
                generator.loops(part, codegen::LoopEnd::Emit, vector, course.mode)?
            } else {
                generator.known(part, vector)?
            };
        }
        let Self { interpreter, loops } = self;
        let Some(loops) = loops else { return interpreter.emit(part, vector, passed, outputs) };
        generator.choose(course.mode, vector.len(), |by_code| {
            if by_code {
                loops.emit(part, vector, scratch, passed, outputs)
            } else {
                interpreter.emit(part, vector, passed, outputs)
            }
        })
    }
}

/// Whether rows of an input are staged: what only told whether there is a match has none.
pub(crate) fn has_rows(number: usize, input: &VectorInput<'_>) -> bool {
    number == 0 || !input.views.is_empty()
}

/// The rows of each input at some positions of a vector, in place of what `out` had.
pub(crate) fn select(vector: &Vector<'_>, positions: &[u32], out: &mut Vec<Vec<u32>>) {
    out.resize_with(vector.inputs.len(), Vec::new);
    for (rows, input) in out.iter_mut().zip(vector.inputs) {
        rows.clear();
        input.records.select(vector.isa, positions, rows);
    }
}

impl LevelState {
    /// Memory for a level, whose staging vectors have so many records.
    pub(crate) fn new(level: &ProbeStage, vector: usize) -> Self {
        Self {
            number: Runner::new(&level.number),
            condition: level.condition.as_ref().map(Runner::new),
            passed: Vec::new(),
            numbers: vec![Vec::new(); level.number.outputs.len()],
            keys: Keys::default(),
            links: Vec::new(),
            range: level.range,
            spans: Vec::new(),
            pairs: Pairs::with_capacity(vector),
            paired: Vec::new(),
            candidates: Vec::new(),
            fulfilled: Vec::new(),
            matched: Vec::new(),
            staged: vec![Vec::new(); level.inputs()],
        }
    }

    /// The next pairs of the vector's records and their matches; true when they are the last.
    pub(crate) fn pair(&mut self, table: &JoinTable, vector: &Vector<'_>, resume: &mut Resume) -> bool {
        self.pairs.clear();
        let Self { links, spans, pairs, .. } = self;
        let done = match self.range {
            Some(_) => table.duplicates().pairs_within(links, spans, resume, pairs),
            None => table.duplicates().pairs(vector.isa, links, resume, pairs),
        };
        self.paired.clear();
        gingham_kernels::lookup::copy(vector.isa, &self.passed, self.pairs.probe(), &mut self.paired);
        done
    }

    /// Stages the pairs.
    pub(crate) fn stage_pairs(&mut self, vector: &Vector<'_>) {
        self.stage_plain(vector);
        if let Some(rows) = self.staged.last_mut() {
            rows.extend_from_slice(self.pairs.build());
        }
    }

    /// Chooses the records that have a match, or those that have none.
    pub(crate) fn found(&mut self, vector: &Vector<'_>, found: bool) {
        let mut bits = vec![0; self.links.len().div_ceil(64)];
        gingham_kernels::key_table::exists(vector.isa, &self.links, &mut bits);
        if !found {
            gingham_kernels::bits::not(&mut bits, self.links.len());
        }
        let mut chosen = Vec::with_capacity(self.links.len());
        gingham_kernels::bits::to_tids(vector.isa, &bits, 0, &mut chosen);
        self.paired.clear();
        gingham_kernels::lookup::copy(vector.isa, &self.passed, &chosen, &mut self.paired);
    }

    /// Stages the chosen records with a row of the build side that all of them have.
    pub(crate) fn stage(&mut self, vector: &Vector<'_>, row: u32) {
        self.stage_plain(vector);
        let staged = self.staged[0].len();
        if let Some(rows) = self.staged.last_mut() {
            rows.resize(staged, row);
        }
    }

    /// Stages the chosen records without a row of the build side.
    pub(crate) fn stage_plain(&mut self, vector: &Vector<'_>) {
        for (number, (rows, input)) in self.staged.iter_mut().zip(vector.inputs).enumerate() {
            if has_rows(number, input) {
                input.records.select(vector.isa, &self.paired, rows);
            }
        }
    }

    /// Stages what a join makes of the records once their conditions were looked at.
    pub(crate) fn decided(&mut self, vector: &Vector<'_>, kind: LevelKind, nulls: u32) -> Result<()> {
        let LevelKind::Join(kind) = kind else { return Ok(()) };
        match kind {
            JoinKind::Semi | JoinKind::Anti => {
                self.choose(kind == JoinKind::Semi);
                self.stage_plain(vector);
            }
            JoinKind::Left | JoinKind::Full => {
                self.choose(false);
                self.stage(vector, nulls);
            }
            JoinKind::Mark => {
                for matched in [false, true] {
                    self.choose(matched);
                    self.stage(vector, matched.into());
                }
            }
            JoinKind::Inner | JoinKind::NotIn => return Err(Error::Internal(format!("a {kind} with a condition"))),
        }
        Ok(())
    }

    /// Chooses the records that have a match which fulfils the condition, or those that have none.
    fn choose(&mut self, matched: bool) {
        self.paired.clear();
        self.paired.extend(self.passed.iter().filter(|record| self.matched[**record as usize] == matched));
    }
}
