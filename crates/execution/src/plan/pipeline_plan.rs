//! A pipeline ready to run: its stages, planned when all that it probes is there. Ranges, row counts and duplicates of the
//! build sides are known by then, which the paper's planner (relaxed operator fusion paper, section 4.4) has to guess.

use crate::data::relation::{ColumnBounds, Relation};
use crate::data::source::Field;
use crate::operators::aggregate::{Aggregation, Having, Plan, States};
use crate::operators::inequality::RangeEnds;
use crate::operators::join::{JoinTable, KeyRanges, TableKind};
use crate::plan::query::{Pipeline, Probe, Sink, Step};
use crate::plan::stage_id::StageId;
use crate::plan::stages::{Cut, Stages};
use crate::program::stage::{ColumnUse, Stage, StageBuilder, used_by};
use crate::program::steps::{Builder, StepId};
use crate::{Error, Expression, JoinKind, Limits, Result};
use gingham_kernels::key_table::Probing;
use std::sync::Arc;

/// What is known of the inputs of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PipelineInputs {
    /// Bounds of each column of the source.
    pub(crate) source: Vec<ColumnBounds>,
    /// Rows of the source at most.
    pub(crate) rows: u64,
    /// Those of them that keys of earlier pipelines' rows are likely to leave.
    pub(crate) likely: u64,
    /// By probe.
    pub(crate) builds: Vec<Build>,
    /// What the run gave for the query's parameters.
    pub(crate) parameters: Vec<Option<i128>>,
    /// How the pipeline is cut.
    pub(crate) stages: Stages,
    /// What the first stage has to look at, since no kernel does before it.
    pub(crate) predicate: Option<Expression>,
}

/// What is known of a build side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Build {
    pub(crate) facts: Vec<ColumnBounds>,
    pub(crate) ranges: KeyRanges,
    /// Matches that a record has at most: 1 where no key has several rows.
    pub(crate) most_matches: u64,
    /// It has no rows.
    pub(crate) is_empty: bool,
    /// It has rows of which a key is NULL.
    pub(crate) has_nulls: bool,
    /// Rows of the key that has most.
    pub(crate) longest: u64,
    pub(crate) table: TableKind,
    /// How it is probed from a vector.
    pub(crate) probing: Probing,
}

/// The stages of a pipeline.
#[derive(Debug)]
pub(crate) struct PipelinePlan {
    pub(crate) given: PipelineInputs,
    pub(crate) levels: Vec<ProbeStage>,
    /// By probe what is done with its matches.
    pub(crate) probes: Vec<LevelKind>,
    pub(crate) end: PipelineEnd,
    /// The loop of what has no boundaries, if that has probes.
    pub(crate) fused: Option<Fused>,
}

/// The levels of a pipeline from one on, and its end, as one loop.
#[derive(Debug)]
pub(crate) struct Fused {
    pub(crate) first: usize,
    /// Records that it is given at once, and rows that one of them may give.
    pub(crate) vector: usize,
    pub(crate) most: usize,
    /// What it reads.
    pub(crate) columns: Vec<ColumnUse>,
}

/// Records that keys leave may be so many times as many as seems likely.
const UNSURE: u64 = 4;
/// Rows that a loop may give before someone looks whether they are still wanted.
const MOST_ROWS: u64 = 1 << 18;

/// A stage that ends in the numbers by which a table is probed, and what is done with the matches; or one that only
/// filters.
#[derive(Debug)]
pub(crate) struct ProbeStage {
    pub(crate) kind: LevelKind,
    /// The probes before it.
    pub(crate) probe: usize,
    pub(crate) number: Stage,
    /// Where its matches lie among sorted rows: the ends are outputs behind the number.
    pub(crate) range: Option<RangeEnds>,
    /// What a match must fulfil beside.
    pub(crate) condition: Option<Stage>,
}

/// What is done with matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LevelKind {
    /// There is no probe.
    Filter,
    Join(JoinKind),
    /// The rows of the build side are marked, and nothing goes on.
    Marks,
}

/// The last stage.
#[derive(Debug)]
pub(crate) enum PipelineEnd {
    Rows {
        part: Box<Stage>,
        /// By column the output with its values and the one that says which are, unless all are.
        columns: Vec<(usize, Option<usize>)>,
    },
    Aggregate {
        plan: Arc<Plan>,
        /// States lie in an array, else a hash table finds them.
        array: bool,
        /// There is a boundary before the update.
        split: bool,
        /// Groups that do not fulfil it are no rows.
        having: Option<Arc<Having>>,
    },
    /// The last level is the end.
    Marks,
}

impl Build {
    /// The build side as it is planned for once its rows are there.
    pub(crate) fn of(relation: &Relation, table: &JoinTable, probing: Probing) -> Self {
        Self {
            facts: relation.facts.clone(),
            ranges: table.ranges.clone(),
            most_matches: table.most_matches(),
            is_empty: relation.rows == 0,
            has_nulls: table.rows < relation.rows,
            longest: table.duplicates().longest() as u64,
            table: table.kind(),
            probing,
        }
    }
}

impl ProbeStage {
    /// Whether it marks rows of the build side.
    pub(crate) fn marks(&self) -> bool {
        matches!(self.kind, LevelKind::Marks | LevelKind::Join(JoinKind::Full))
    }
}

/// Filters that wait for a stage.
type Waiting = Option<Expression>;

impl PipelinePlan {
    /// Plans the stages. Fails as [`Plan::new`] does, and for values of more than 64 bits that a stage would hand on.
    pub(crate) fn new(pipeline: &Pipeline, given: PipelineInputs) -> Result<Self> {
        let facts = given.all_facts(pipeline)?;
        let scope = Scope { fields: &pipeline.fields, facts };
        let mut way = StagePlanner {
            scope,
            given: &given,
            levels: Vec::new(),
            probes: Vec::new(),
            waiting: None,
            rows: given.rows,
        };
        if let Some(predicate) = &given.predicate {
            way.filter(predicate)?;
        }
        for step in &pipeline.steps {
            match step {
                Step::Filter(condition) => way.filter(condition)?,
                Step::Probe(probe) => way.probe(probe, LevelKind::Join(probe.kind))?,
            }
        }
        let end = way.end(&pipeline.sink)?;
        let StagePlanner { levels, probes, .. } = way;
        if levels.iter().filter(|level| level.marks()).count() > 1 {
            return Err(Error::Internal("a pipeline that marks rows of several others".to_owned()));
        }
        let fused = Fused::new(&given, &levels, &end);
        Ok(Self { given, levels, probes, end, fused })
    }

    /// Records that the first stage is given at once.
    pub(crate) fn first_vector(&self) -> usize {
        match &self.fused {
            Some(fused) if fused.first == 0 => fused.vector,
            _ => self.given.stages.vector,
        }
    }

    /// Loops that a vector goes through, those over the steps of an interpreted stage counted as one.
    pub(crate) fn loops(&self) -> usize {
        let apart = self.fused.as_ref().map_or(self.levels.len(), |fused| fused.first);
        let levels = self.levels[..apart].iter().map(|level| 1 + usize::from(level.condition.is_some())).sum::<usize>();
        let last = match &self.end {
            _ if self.fused.is_some() => 1,
            PipelineEnd::Aggregate { array, split, plan, .. } => {
                1 + usize::from(!array || *split) + plan.beside().count()
            }
            PipelineEnd::Rows { .. } => 1,
            PipelineEnd::Marks => 0,
        };
        levels + last
    }

    /// The number of stages.
    pub(crate) fn stages(&self) -> usize {
        let beside = match &self.end {
            PipelineEnd::Aggregate { plan, .. } => plan.beside().count(),
            PipelineEnd::Rows { .. } | PipelineEnd::Marks => 0,
        };
        StageId::end(self.levels.len()).beside(beside).index()
    }
}

/// The stages of levels and an end.
pub(crate) fn stages<'p>(levels: &'p [ProbeStage], end: &'p PipelineEnd) -> impl Iterator<Item = &'p Stage> {
    let probes = levels.iter().flat_map(|level| [Some(&level.number), level.condition.as_ref()]);
    let last = match end {
        PipelineEnd::Rows { part, .. } => Some(&**part),
        PipelineEnd::Aggregate { plan, .. } => Some(&plan.stage),
        PipelineEnd::Marks => None,
    };
    probes.flatten().chain(last)
}

impl PipelineInputs {
    /// What is known of each column of a pipeline's expressions.
    fn all_facts(&self, pipeline: &Pipeline) -> Result<Vec<ColumnBounds>> {
        let kinds: Vec<JoinKind> = pipeline.probes().map(|probe| probe.kind).collect();
        pipeline.fields.iter().map(|field| self.facts(&kinds, *field)).collect()
    }

    /// Records at its end at most.
    fn most(&self) -> u64 {
        self.builds.iter().fold(self.rows, |most, build| most.saturating_mul(build.most_matches.max(1)))
    }

    /// What is known of the rows that the pipeline leaves before it has run.
    pub(crate) fn left(&self, pipeline: &Pipeline) -> Result<Vec<ColumnBounds>> {
        let facts = self.all_facts(pipeline)?;
        match &pipeline.sink {
            Sink::Rows { columns, .. } => columns.iter().map(|column| column.facts(&facts)).collect(),
            Sink::Aggregate { aggregation, columns, .. } => {
                let Aggregation { keys, aggregates, .. } = aggregation;
                columns.iter().map(|column| column.expected(keys, aggregates, (&facts, self.most()))).collect()
            }
            Sink::Marks(_) => Ok(Vec::new()),
        }
    }

    fn facts(&self, kinds: &[JoinKind], field: Field) -> Result<ColumnBounds> {
        let none = || Error::Internal(format!("a pipeline without {field:?}"));
        let Some(probe) = field.input.checked_sub(1) else {
            return self.source.get(field.column).copied().ok_or_else(none);
        };
        let (kind, facts) =
            kinds.get(probe).zip(self.builds.get(probe)).map(|(kind, build)| (*kind, &build.facts)).ok_or_else(none)?;
        if kind == JoinKind::Mark && field.column == facts.len() {
            return Ok((Limits::new(0, 1), false));
        }
        let (limits, nullable) = *facts.get(field.column).ok_or_else(none)?;
        Ok((limits, nullable || matches!(kind, JoinKind::Left | JoinKind::Full)))
    }
}

impl ProbeStage {
    /// Inputs that a record has behind it.
    pub(crate) fn inputs(&self) -> usize {
        self.probe + if self.kind == LevelKind::Filter { 1 } else { 2 }
    }

    /// Whether a loop over the matches of a record would be needed in the loop over records.
    fn has_matches(&self) -> bool {
        let plain = [JoinKind::Semi, JoinKind::Anti, JoinKind::NotIn, JoinKind::Mark].map(LevelKind::Join);
        self.condition.is_some() || !plain.contains(&self.kind)
    }
}

impl Fused {
    /// `None` where each probe has a boundary, and where one loop can't do all of it: groups that a hash table finds, hash
    /// functions that are no arithmetic, and so many matches for a record that nobody could stop it.
    fn new(given: &PipelineInputs, levels: &[ProbeStage], end: &PipelineEnd) -> Option<Self> {
        let Cut::Probes(first) = given.stages.cut else { return None };
        // Filters have levels of their own only where each probe has a boundary.
        let own = levels.get(first..).filter(|_| first < given.builds.len()).filter(|own| !own.is_empty())?;
        if let PipelineEnd::Aggregate { array, plan, .. } = end
            && (!array || plan.beside().next().is_some())
        {
            return None;
        }
        let mut most = 1u64;
        for level in own {
            // Rows of the condition and of what comes behind it would be of different inputs.
            if level.kind == LevelKind::Join(JoinKind::Mark) && level.condition.is_some() {
                return None;
            }
            let build = given.builds.get(level.probe)?;
            // Keys of several words are looked up a vector at a time.
            build.ranges.numbers()?;
            if let TableKind::Short(function) | TableKind::Long(function) = build.table
                && function.mixes::<u64>().is_none()
            {
                return None;
            }
            if level.has_matches() {
                most = most.saturating_mul(build.longest.max(1));
            }
        }
        let room = (MOST_ROWS / most) as usize;
        let vector = given.stages.vector;
        // A vector from a stage before comes as a whole.
        if room == 0 || (first > 0 && room < vector) {
            return None;
        }
        let columns = used_by(stages(own, end));
        Some(Self { first, vector: vector.min(room), most: most as usize, columns })
    }
}

/// A pipeline while its stages are planned.
struct StagePlanner<'p> {
    scope: Scope<'p>,
    given: &'p PipelineInputs,
    levels: Vec<ProbeStage>,
    probes: Vec<LevelKind>,
    waiting: Waiting,
    /// Records at most.
    rows: u64,
}

impl StagePlanner<'_> {
    /// A filter: a part of the stage that comes, or stages of its own.
    fn filter(&mut self, condition: &Expression) -> Result<()> {
        let Stages { cut, filters, .. } = self.given.stages;
        let apart = match cut {
            Cut::EveryStep => true,
            Cut::Probes(probes) => filters && probes == self.given.builds.len(),
        };
        if !apart {
            self.waiting = Some(Expression::and(self.waiting.take(), condition.clone()));
            return Ok(());
        }
        // What may overflow is looked at for all records, whatever comes before it in the condition.
        let draft = self.scope.draft(Some(condition))?;
        let whole = draft.finish(Vec::new(), std::iter::empty());
        let safe = whole.program.checks(0..whole.program.steps().len()).next().is_none();
        let parts = if safe && cut == Cut::EveryStep { condition.conjuncts() } else { vec![condition] };
        for part in parts {
            let stage = self.scope.draft(Some(part))?.finish(Vec::new(), std::iter::empty());
            let (kind, probe) = (LevelKind::Filter, self.probes.len());
            self.levels.push(ProbeStage { kind, probe, number: stage, range: None, condition: None });
        }
        Ok(())
    }

    fn probe(&mut self, probe: &Probe, kind: LevelKind) -> Result<()> {
        let number = self.probes.len();
        let build = self.given.builds.get(number).ok_or_else(|| Error::Internal(format!("no build side {number}")))?;
        if let LevelKind::Join(JoinKind::Inner | JoinKind::Left | JoinKind::Full) = kind {
            self.rows = self.rows.saturating_mul(build.most_matches);
        }
        let level = self.scope.level((probe, number), kind, build, self.waiting.take())?;
        self.levels.push(level);
        self.probes.push(kind);
        Ok(())
    }

    fn end(&mut self, sink: &Sink) -> Result<PipelineEnd> {
        match sink {
            Sink::Rows { columns, .. } => self.scope.rows(columns, self.waiting.take()),
            Sink::Aggregate { aggregation, columns: finishes, having, .. } => {
                if let Some(filter) = &aggregation.filter {
                    self.filter(filter)?;
                }
                let aggregation = Aggregation { filter: self.waiting.take(), ..aggregation.clone() };
                let Scope { fields, facts } = &self.scope;
                let columns = fields.iter().zip(facts).map(|(field, facts)| (*field, facts.0, facts.1));
                let plan = Arc::new(Plan::new(&aggregation, columns, self.rows)?);
                let array = States::is_array(&plan, self.given.likely.saturating_mul(UNSURE).min(self.given.rows));
                let split = self.given.stages.cut == Cut::EveryStep;
                let having = match having {
                    Some(having) => {
                        let Aggregation { keys, aggregates, .. } = &aggregation;
                        let facts = finishes
                            .iter()
                            .map(|finish| finish.facts(keys, aggregates, (&self.scope.facts, self.rows)));
                        Some(Arc::new(Having::new(having, finishes, &facts.collect::<Result<Vec<_>>>()?)?))
                    }
                    None => None,
                };
                Ok(PipelineEnd::Aggregate { plan, array, split, having })
            }
            Sink::Marks(probe) => self.probe(probe, LevelKind::Marks).map(|()| PipelineEnd::Marks),
        }
    }
}

/// The columns of a pipeline's expressions.
struct Scope<'p> {
    fields: &'p [Field],
    facts: Vec<ColumnBounds>,
}

impl Scope<'_> {
    fn draft(&self, filter: Option<&Expression>) -> Result<StageBuilder> {
        StageBuilder::new(Builder::new(self.facts.iter().copied()), self.fields.to_vec(), filter)
    }

    fn level(
        &self,
        (probe, before): (&Probe, usize),
        kind: LevelKind,
        build: &Build,
        filter: Waiting,
    ) -> Result<ProbeStage> {
        let mut draft = self.draft(filter.as_ref())?;
        let mut outputs = keys(&mut draft, probe, build, kind)?;
        let range = match &probe.range {
            Some(range) => range.lower(&mut draft.builder, &mut outputs)?,
            None => None,
        };
        let number = draft.finish(outputs, std::iter::empty()).checked()?;
        let condition = match &probe.condition {
            Some(_) if matches!(kind, LevelKind::Join(JoinKind::Inner | JoinKind::NotIn)) => {
                return Err(Error::Internal(format!("a {} with a condition", probe.kind)));
            }
            Some(condition) => Some(self.draft(Some(condition))?.finish(Vec::new(), std::iter::empty())),
            None => None,
        };
        Ok(ProbeStage { kind, probe: before, number, range, condition })
    }

    fn rows(&self, columns: &[Expression], filter: Waiting) -> Result<PipelineEnd> {
        let mut draft = self.draft(filter.as_ref())?;
        let mut outputs = Vec::new();
        let mut places = Vec::with_capacity(columns.len());
        for column in columns {
            let column = draft.builder.lower(column)?;
            outputs.push(column.value);
            let value = outputs.len() - 1;
            outputs.extend(column.valid);
            places.push((value, column.valid.map(|_| value + 1)));
        }
        let part = draft.finish(outputs, std::iter::empty()).checked()?;
        Ok(PipelineEnd::Rows { part: Box::new(part), columns: places })
    }
}

/// The number by which a record probes, or the words of its keys. Behind these stands whether they lie in the ranges of the
/// build side, where records without a match go on.
fn keys(draft: &mut StageBuilder, probe: &Probe, build: &Build, kind: LevelKind) -> Result<Vec<StepId>> {
    let (inside, mut words) = build.ranges.lower(&mut draft.builder, &probe.keys)?;
    match kind {
        LevelKind::Filter => return Err(Error::Internal("a filter that probes".to_owned())),
        LevelKind::Marks | LevelKind::Join(JoinKind::Inner | JoinKind::Semi) => {
            draft.also(inside);
            return Ok(words);
        }
        LevelKind::Join(JoinKind::NotIn) if !build.is_empty => drop_nulls(draft, probe, build)?,
        LevelKind::Join(_) => {}
    }
    if build.ranges.numbers().is_none() {
        words.push(inside);
        return Ok(words);
    }
    let none = draft.builder.constant(build.ranges.none().into());
    let number = |number: &StepId| draft.builder.choose(inside, *number, none);
    Ok(words.iter().map(number).collect())
}

/// Drops records that can't be known to be in none of the rows of a build side that has some.
fn drop_nulls(draft: &mut StageBuilder, probe: &Probe, build: &Build) -> Result<()> {
    for key in &probe.keys {
        if let Some(valid) = draft.builder.lower(key)?.valid {
            draft.also(valid);
        }
    }
    if build.has_nulls {
        let none = draft.builder.constant(0);
        draft.also(none);
    }
    Ok(())
}
