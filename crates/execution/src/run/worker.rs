//! One thread's way through a pipeline: vectors from stage to stage. Behind each probe lies a staging vector of rows, one
//! list for each input; it is handed on when it is full, across as many vectors of the stage before as that takes (relaxed
//! operator fusion paper, section 4: stages deliver full vectors), and at the end of a morsel.

use crate::codegen::cache::CodeCache;
use crate::codegen::{Chain, Out, Scratch};
use crate::data::relation::Relation;
use crate::data::source::{Records, Vector, VectorInput};
use crate::operators::aggregate::{Distinct, MorselGroups, States};
use crate::operators::gathered::Chunk;
use crate::operators::join::JoinTable;
use crate::plan::pipeline_plan::{Fused, LevelKind, PipelineEnd, PipelinePlan};
use crate::plan::stage_id::StageId;
use crate::program::computed::{Compute, Computing};
use crate::program::mode::FEW_ROWS;
use crate::program::stage::Stage;
use crate::run::level::{LevelState, Runner, has_rows, select};
use crate::schedule::pool::give_way;
use crate::{Error, JoinKind, Memory, Mode, Result, codegen};
use gingham_kernels::Isa;
use gingham_kernels::key_table::Resume;
use gingham_storage::model::ColumnView;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// What all threads of a pipeline share.
pub(crate) struct PipelineContext {
    pub(crate) ready: Arc<PipelinePlan>,
    /// The code of its stages.
    pub(crate) code: Arc<CodeCache>,
    /// Time that earlier runs spent on compiling it.
    pub(crate) compiled_before: Duration,
    /// By level: what it probes, and the rows that a match is one of.
    pub(crate) builds: Vec<(Arc<JoinTable>, Arc<Relation>)>,
    /// By level what a mark join adds.
    pub(crate) marks: Vec<Vec<ColumnView>>,
    /// What is computed of its records before the first stage.
    pub(crate) computing: Computing,
    /// All functions of the query.
    pub(crate) functions: Vec<Arc<dyn Compute>>,
    /// Where the groups of each morsel lie, when they lie close together.
    pub(crate) windows: Option<MorselGroups>,
    /// Names the source in errors.
    pub(crate) place: String,
    pub(crate) mode: Mode,
    pub(crate) isa: Isa,
    pub(crate) morsels: usize,
    /// Bytes of a thread's hash table of groups that stay in the cache.
    pub(crate) table_bytes: usize,
    /// Rows of a morsel that suffice.
    pub(crate) enough: Option<usize>,
    /// Morsels begun, and records in them.
    pub(crate) begun: AtomicUsize,
    pub(crate) taken: AtomicUsize,
    /// Records that came to each stage before it had loops.
    pub(crate) records: Vec<AtomicUsize>,
    /// Who is asked for what is gathered.
    pub(crate) memory: Arc<dyn Memory>,
    /// Set when nobody waits for the end any more.
    pub(crate) stopped: Arc<AtomicBool>,
}

/// Where a vector is: in a pipeline, over the columns that its source has in the morsel at work.
#[derive(Clone, Copy)]
struct LoopInputs<'m> {
    course: &'m PipelineContext,
    views: &'m [ColumnView],
}

/// What one thread has.
#[derive(Debug)]
pub(crate) struct PipelineWorker {
    /// A level's is away while a vector is at work there.
    levels: Vec<Option<Box<LevelState>>>,
    last: Runner,
    /// Those of the stages beside it: the numbers for sets of different values, and what is kept apart.
    beside: Vec<Runner>,
    pub(crate) ended: LocalSinkState,
    /// A bit for each row of the build side that is marked, if one is.
    pub(crate) marks: Vec<u64>,
    /// Bytes that were asked for.
    bytes: usize,
    scratch: Scratch,
    outputs: Vec<Vec<i64>>,
    passed: Vec<u32>,
    /// What a stage beside the last one gave: outputs, and of these the words of what counts.
    gathered: Vec<Vec<i64>>,
    words: Vec<u64>,
}

/// What a thread has gathered.
#[derive(Debug)]
pub(crate) enum LocalSinkState {
    /// Rows of the morsel at work, and of those that have ended, by the morsels' numbers.
    Rows {
        now: Chunk,
        done: Vec<(usize, Chunk)>,
        bytes: usize,
    },
    States(Box<States>),
    /// Nothing but the marks.
    Marks,
}

impl PipelineContext {
    /// Whether a stage is worth making code for, which more records have come to. Code that an earlier run made is used
    /// in any case.
    pub(crate) fn is_staged(&self, stage: StageId, records: usize) -> bool {
        let records = self.records[stage.index()].fetch_add(records, Ordering::Relaxed) + records;
        match self.mode {
            Mode::Fused | Mode::Staged | Mode::Vectorized => true,
            Mode::Interpreted => false,
            Mode::Auto => {
                // As if the other morsels were as those begun.
                let begun = self.begun.load(Ordering::Relaxed).max(1);
                records / begun * self.morsels >= FEW_ROWS
            }
        }
    }

    /// Adds what is computed of a morsel's records, `tids` or the first `rows`, to its columns.
    pub(crate) fn compute(&self, views: &mut Vec<ColumnView>, rows: usize, tids: Option<&[u32]>) -> Result<()> {
        if self.computing.is_empty() {
            return Ok(());
        }
        self.computing.add(views, rows, tids, self.isa, (&*self.memory, &self.stopped))
    }

    /// The views of the input that a probe adds.
    fn added(&self, probe: usize) -> &[ColumnView] {
        match self.ready.probes[probe] {
            LevelKind::Join(JoinKind::Semi | JoinKind::Anti | JoinKind::NotIn) => &[],
            LevelKind::Join(JoinKind::Mark) => &self.marks[probe],
            _ => &self.builds[probe].1.views,
        }
    }

    /// Records of a staging vector.
    fn vector(&self) -> usize {
        self.ready.given.stages.vector
    }

    /// No marks of the rows that the pipeline marks; nothing if it marks none.
    pub(crate) fn no_marks(&self) -> Vec<u64> {
        let marked = self.ready.levels.iter().find(|level| level.marks());
        marked.map_or_else(Vec::new, |level| vec![0; self.builds[level.probe].1.rows.div_ceil(64)])
    }
}

impl PipelineWorker {
    /// For a thread that begins. Asks for the memory of an array of states.
    pub(crate) fn new(course: &PipelineContext) -> Result<Self> {
        let PipelinePlan { levels, end, fused, .. } = &*course.ready;
        let apart = fused.as_ref().map_or(levels.len(), |fused| fused.first);
        let mut asked = 0;
        let (last, outputs, ended) = match end {
            PipelineEnd::Rows { part, .. } => {
                let now = Chunk::of(part.outputs.len());
                (Runner::new(part), now.outputs.len(), LocalSinkState::Rows { now, done: Vec::new(), bytes: 0 })
            }
            PipelineEnd::Aggregate { plan, array, .. } => {
                let states = if course.windows.is_some() {
                    States::in_windows(plan)
                } else {
                    asked = if *array { (plan.groups() as usize + 1) * plan.state_bytes() } else { 0 };
                    course.memory.grow(asked)?;
                    States::new(plan, *array).within(course.table_bytes)
                };
                (Runner::new(&plan.stage), 1, LocalSinkState::States(Box::new(states)))
            }
            PipelineEnd::Marks => {
                let level = levels.last().ok_or_else(|| Error::Internal("marks without a probe".to_owned()))?;
                (Runner::new(&level.number), 0, LocalSinkState::Marks)
            }
        };
        let state = |level| Some(Box::new(LevelState::new(level, course.vector())));
        let levels = levels[..apart].iter().map(state).collect();
        let (scratch, passed) = (Scratch::default(), Vec::new());
        let outputs = vec![Vec::new(); outputs];
        let marks = course.no_marks();
        let beside = match end {
            PipelineEnd::Aggregate { plan, .. } => plan.beside().map(Runner::new).collect(),
            _ => Vec::new(),
        };
        let (gathered, words) = (Vec::new(), Vec::new());
        Ok(Self { levels, last, beside, ended, marks, bytes: asked, scratch, outputs, passed, gathered, words })
    }

    /// Takes the qualifying records of a morsel: `tids`, or the first `rows`. Gives the rows that came of them.
    pub(crate) fn morsel(
        &mut self,
        course: &PipelineContext,
        number: usize,
        views: &[ColumnView],
        rows: usize,
        tids: Option<&[u32]>,
    ) -> Result<usize> {
        let site = LoopInputs { course, views };
        course.begun.fetch_add(1, Ordering::Relaxed);
        // Loops are for the way in which a morsel's columns lie.
        for level in self.levels.iter_mut().flatten() {
            level.number.loops = None;
            level.condition.iter_mut().for_each(|condition| condition.loops = None);
        }
        self.last.loops = None;
        self.beside.iter_mut().for_each(|beside| beside.loops = None);
        if let (Some(windows), LocalSinkState::States(states)) = (&course.windows, &mut self.ended) {
            states.open(windows, number);
        }
        let records = tids.map_or(rows, <[u32]>::len);
        course.taken.fetch_add(records, Ordering::Relaxed);
        let vector = course.ready.first_vector();
        for start in (0..records).step_by(vector) {
            give_way();
            let end = records.min(start + vector);
            let records = match tids {
                None => Records::Run { first: start, length: end - start },
                Some(tids) => Records::Tids(&tids[start..end]),
            };
            self.push(site, 0, &Vector { inputs: &[VectorInput { views, records }], isa: course.isa })?;
        }
        for level in 0..self.levels.len() {
            self.hand_on(site, level)?;
        }
        if let (Some(windows), LocalSinkState::States(states), PipelineEnd::Aggregate { plan, having, .. }) =
            (&course.windows, &mut self.ended, &course.ready.end)
        {
            let having = having.as_deref().map(|having| (having, course.isa));
            states.close(plan, (windows, number), having, || course.place.clone())?;
            self.charge(course)?;
        }
        let LocalSinkState::Rows { now, done, bytes } = &mut self.ended else { return Ok(0) };
        let rows = now.rows;
        if rows > 0 {
            let ended = std::mem::replace(now, Chunk::of(now.outputs.len()));
            *bytes += ended.bytes();
            done.push((number, ended));
        }
        Ok(rows)
    }

    /// Puts something else in the place of what the morsel that has ended gave.
    pub(crate) fn change_last(&mut self, morsel: usize, change: impl FnOnce(Chunk) -> Chunk) {
        let LocalSinkState::Rows { done, bytes, .. } = &mut self.ended else { return };
        if let Some((number, chunk)) = done.last_mut()
            && *number == morsel
        {
            *bytes -= chunk.bytes();
            *chunk = change(std::mem::take(chunk));
            *bytes += chunk.bytes();
        }
    }

    /// True when the morsel at work has given all rows that are wanted of it: what else there is of it goes nowhere.
    fn has_enough(&self, course: &PipelineContext) -> bool {
        match &self.ended {
            LocalSinkState::Rows { now, .. } => course.enough.is_some_and(|enough| now.rows >= enough),
            LocalSinkState::States(_) | LocalSinkState::Marks => false,
        }
    }

    /// Asks for what was gathered since the last time.
    fn charge(&mut self, course: &PipelineContext) -> Result<()> {
        let bytes = self.gathered_bytes();
        if bytes > self.bytes {
            course.memory.grow(bytes - self.bytes)?;
            self.bytes = bytes;
        }
        Ok(())
    }

    fn gathered_bytes(&self) -> usize {
        let marks = size_of_val(self.marks.as_slice());
        marks
            + match &self.ended {
                LocalSinkState::Rows { now, bytes, .. } => bytes + now.bytes(),
                LocalSinkState::States(states) => states.bytes(),
                LocalSinkState::Marks => 0,
            }
    }

    /// A vector before a stage.
    fn push(&mut self, site: LoopInputs<'_>, level: usize, vector: &Vector<'_>) -> Result<()> {
        let LoopInputs { course, .. } = site;
        if course.stopped.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        if self.has_enough(course) {
            return Ok(());
        }
        if level == self.levels.len() {
            match &course.ready.fused {
                Some(fused) => self.fused(course, fused, vector)?,
                None => self.end(course, vector)?,
            }
            return self.charge(course);
        }
        let mut state = self.take(level)?;
        let result = match course.ready.levels[level].kind {
            LevelKind::Filter => self.filter(site, level, vector, &mut state),
            _ => self.probe(site, level, vector, &mut state),
        };
        self.levels[level] = Some(state);
        result
    }

    /// What was staged behind a level goes on.
    fn hand_on(&mut self, site: LoopInputs<'_>, level: usize) -> Result<()> {
        let mut state = self.take(level)?;
        let result = self.pass(site, level, &mut state.staged);
        self.levels[level] = Some(state);
        result
    }

    fn take(&mut self, level: usize) -> Result<Box<LevelState>> {
        self.levels[level].take().ok_or_else(|| Error::Internal(format!("level {level} of a pipeline is at work")))
    }

    /// Stages the records of a vector that pass a filter.
    fn filter(
        &mut self,
        site: LoopInputs<'_>,
        level: usize,
        vector: &Vector<'_>,
        state: &mut LevelState,
    ) -> Result<()> {
        let part = &site.course.ready.levels[level].number;
        let LevelState { number, passed, numbers, paired, .. } = state;
        number.emit((site.course, StageId::number(level)), part, vector, &mut self.scratch, passed, numbers)?;
        std::mem::swap(passed, paired);
        state.stage_plain(vector);
        self.pass_full(site, level, state)
    }

    /// Probes with the records of a vector, and stages what the join makes of them.
    fn probe(&mut self, site: LoopInputs<'_>, level: usize, vector: &Vector<'_>, state: &mut LevelState) -> Result<()> {
        let LoopInputs { course, .. } = site;
        let ready = &course.ready.levels[level];
        let LevelState { number, passed, numbers, .. } = state;
        number.emit((course, StageId::number(level)), &ready.number, vector, &mut self.scratch, passed, numbers)?;
        let (table, relation) = &course.builds[ready.probe];
        let how = (course.isa, course.ready.given.builds[ready.probe].probing);
        table.locate(how, &state.numbers, &mut state.keys, &mut state.links);
        if let Some(range) = state.range {
            range.find(&state.numbers, &table.sorted, &mut state.spans);
        }
        if let Some(condition) = &ready.condition {
            self.fulfilling(site, level, vector, state, condition)?;
            state.decided(vector, ready.kind, relation.rows as u32)?;
            return self.pass_full(site, level, state);
        }
        match ready.kind {
            LevelKind::Join(kind @ (JoinKind::Inner | JoinKind::Left | JoinKind::Full)) => {
                let mut resume = Resume::default();
                loop {
                    let done = state.pair(table, vector, &mut resume);
                    state.stage_pairs(vector);
                    if kind == JoinKind::Full {
                        state.pairs.build().iter().for_each(|row| mark(&mut self.marks, *row));
                    }
                    if done || self.has_enough(course) {
                        break;
                    }
                    self.pass_full(site, level, state)?;
                }
                if kind != JoinKind::Inner {
                    state.found(vector, false);
                    state.stage(vector, relation.rows as u32);
                }
            }
            LevelKind::Join(kind @ (JoinKind::Semi | JoinKind::Anti | JoinKind::NotIn)) => {
                state.found(vector, kind == JoinKind::Semi);
                state.stage_plain(vector);
            }
            LevelKind::Join(JoinKind::Mark) => {
                for found in [false, true] {
                    state.found(vector, found);
                    state.stage(vector, found.into());
                }
            }
            LevelKind::Filter => {}
            LevelKind::Marks => {
                let positions = state.links.iter().flat_map(|link| table.duplicates().positions(link));
                positions.for_each(|row| mark(&mut self.marks, *row));
            }
        }
        self.pass_full(site, level, state)
    }

    /// Looks at the condition of a join for each pair of records with equal keys.
    fn fulfilling(
        &mut self,
        site: LoopInputs<'_>,
        level: usize,
        vector: &Vector<'_>,
        state: &mut LevelState,
        condition: &Stage,
    ) -> Result<()> {
        let LoopInputs { course, .. } = site;
        let ready = &course.ready.levels[level];
        let (table, relation) = &course.builds[ready.probe];
        state.matched.clear();
        state.matched.resize(vector.len(), false);
        let mut resume = Resume::default();
        loop {
            let done = state.pair(table, vector, &mut resume);
            let LevelState { pairs, paired, candidates, fulfilled, condition: runner, staged, matched, .. } = state;
            select(vector, paired, candidates);
            let mut inputs = Vec::with_capacity(candidates.len() + 1);
            for (input, rows) in vector.inputs.iter().zip(&*candidates) {
                inputs.push(VectorInput { views: input.views, records: Records::Tids(rows) });
            }
            inputs.push(VectorInput { views: &relation.views, records: Records::Tids(pairs.build()) });
            let pairs_of = Vector { inputs: &inputs, isa: course.isa };
            let Some(runner) = runner else { return Err(Error::Internal("a condition without a runner".to_owned())) };
            runner.emit(
                (course, StageId::condition(level)),
                condition,
                &pairs_of,
                &mut self.scratch,
                fulfilled,
                &mut [],
            )?;
            for &pair in &*fulfilled {
                matched[paired[pair as usize] as usize] = true;
            }
            if ready.marks() {
                fulfilled.iter().for_each(|pair| mark(&mut self.marks, pairs.build()[*pair as usize]));
            }
            if let LevelKind::Join(JoinKind::Left | JoinKind::Full) = ready.kind {
                for (number, (rows, input)) in staged.iter_mut().zip(&inputs).enumerate() {
                    if has_rows(number, input) {
                        input.records.select(course.isa, fulfilled, rows);
                    }
                }
                self.pass_full(site, level, state)?;
            }
            if done || self.has_enough(course) {
                return Ok(());
            }
            if course.stopped.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
        }
    }

    /// Hands on what was staged once it is a vector.
    fn pass_full(&mut self, site: LoopInputs<'_>, level: usize, state: &mut LevelState) -> Result<()> {
        if state.staged[0].len() < site.course.vector() { Ok(()) } else { self.pass(site, level, &mut state.staged) }
    }

    fn pass(&mut self, site: LoopInputs<'_>, level: usize, staged: &mut [Vec<u32>]) -> Result<()> {
        let LoopInputs { course, views } = site;
        let length = staged[0].len();
        if length == 0 {
            return Ok(());
        }
        let mut inputs = Vec::with_capacity(staged.len());
        for (number, rows) in staged.iter().enumerate() {
            let views = if number == 0 { views } else { course.added(number - 1) };
            // What only told whether there is a match adds no rows.
            let records = if rows.is_empty() { Records::Run { first: 0, length } } else { Records::Tids(rows) };
            inputs.push(VectorInput { views, records });
        }
        self.push(site, level + 1, &Vector { inputs: &inputs, isa: course.isa })?;
        staged.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    /// A vector before a loop that does all that is left.
    fn fused(&mut self, course: &PipelineContext, fused: &Fused, vector: &Vector<'_>) -> Result<()> {
        let PipelinePlan { levels, end, given, .. } = &*course.ready;
        let levels = &levels[fused.first..];
        let chain = Chain { levels, end, given, columns: &fused.columns };
        let own = vector.inputs.len();
        let mut inputs = vector.inputs.to_vec();
        let builds = || levels.iter().map(|level| &course.builds[level.probe]);
        for (level, (_, relation)) in levels.iter().zip(builds()) {
            let (views, rows) = match level.kind {
                LevelKind::Join(JoinKind::Mark) => (course.marks[level.probe].as_slice(), 2),
                _ => (relation.views.as_slice(), relation.rows + 1),
            };
            inputs.push(VectorInput { views, records: Records::Run { first: 0, length: rows } });
        }
        let all = Vector { inputs: &inputs, isa: course.isa };
        if self.last.loops.is_none() {
            self.last.loops = Some(course.code.fused().fused(&chain, &all, own)?);
        }
        let Some(loops) = &self.last.loops else { return Err(Error::Internal("a loop that was not made".to_owned())) };
        let Self { ended, marks, scratch, outputs, .. } = self;
        let out = match &mut *ended {
            LocalSinkState::Rows { .. } => {
                let rows = vector.len() * fused.most;
                outputs.iter_mut().for_each(|output| output.resize(output.len().max(rows), 0));
                Out::Rows(outputs)
            }
            LocalSinkState::States(states) => Out::States(states),
            LocalSinkState::Marks => Out::Marks,
        };
        let builds = builds().map(|(table, relation)| (&**table, &**relation));
        let rows = loops.fused(&chain, &all, builds, (out, marks), scratch)?;
        if let LocalSinkState::Rows { now, .. } = ended {
            now.rows += rows;
            for (all, output) in now.outputs.iter_mut().zip(outputs) {
                all.extend_from_slice(&output[..rows]);
            }
        }
        Ok(())
    }

    /// A vector before the last stage.
    fn end(&mut self, course: &PipelineContext, vector: &Vector<'_>) -> Result<()> {
        let Self { last, beside, ended, scratch, outputs, passed, gathered, words, .. } = self;
        let stage = StageId::end(self.levels.len());
        match (&course.ready.end, ended) {
            (PipelineEnd::Rows { part, .. }, LocalSinkState::Rows { now, .. }) => {
                last.emit((course, stage), part, vector, scratch, passed, outputs)?;
                now.rows += passed.len();
                for (all, output) in now.outputs.iter_mut().zip(outputs) {
                    all.extend_from_slice(output);
                }
                Ok(())
            }
            (PipelineEnd::Aggregate { plan, split, .. }, LocalSinkState::States(states)) => {
                let generator = course.code.stage(stage);
                // The loops of an array can't look for places, and a hash table's would be made for few records.
                let scattered = course.windows.is_some() && states.is_table() && !*split;
                if last.loops.is_none() && !scattered {
                    let end = if *split || states.is_table() {
                        codegen::LoopEnd::Table(plan)
                    } else {
                        codegen::LoopEnd::Array(plan)
                    };
                    last.loops = if course.is_staged(stage, vector.len()) {
                        generator.loops(&plan.stage, end, vector, course.mode)?
                    } else {
                        generator.known(&plan.stage, vector)?
                    };
                }
                let Runner { interpreter, loops } = last;
                match loops {
                    Some(loops) => generator.choose(course.mode, vector.len(), |by_code| {
                        if by_code {
                            loops.aggregate(plan, vector, states, scratch)
                        } else {
                            interpreter.aggregate(plan, vector, states)
                        }
                    })?,
                    None => interpreter.aggregate(plan, vector, states)?,
                }
                let mut beside = (0..).map(|number| stage.beside(number)).zip(beside);
                for (set, (distinct, (stage, runner))) in plan.distinct.iter().zip(&mut beside).enumerate() {
                    let site = (course, stage);
                    gathered.resize_with(distinct.part.outputs.len(), Vec::new);
                    runner.emit(site, &distinct.part, vector, scratch, passed, gathered)?;
                    Distinct::counted(gathered, words);
                    states.gather(set, words)?;
                }
                if let (Some(plan), Some((stage, runner))) = (&plan.apart, beside.next()) {
                    gathered.resize_with(plan.part.outputs.len(), Vec::new);
                    runner.emit((course, stage), &plan.part, vector, scratch, passed, gathered)?;
                    states.gather_apart(plan, gathered, (&course.functions, &*course.memory))?;
                }
                Ok(())
            }
            _ => Err(Error::Internal("a pipeline that ends in something else".to_owned())),
        }
    }
}

fn mark(marks: &mut [u64], row: u32) {
    marks[row as usize / 64] |= 1 << (row % 64);
}

impl Chunk {
    fn bytes(&self) -> usize {
        self.outputs.iter().map(|output| output.capacity() * size_of::<i64>()).sum()
    }

    /// Some of the rows.
    pub(crate) fn taken(&self, rows: &[usize]) -> Self {
        let taken = |output: &Vec<i64>| rows.iter().map(|row| output[*row]).collect();
        Self { rows: rows.len(), outputs: self.outputs.iter().map(taken).collect() }
    }

    fn of(outputs: usize) -> Self {
        Self { rows: 0, outputs: vec![Vec::new(); outputs] }
    }
}
