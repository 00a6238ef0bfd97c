//! A pipeline ready to run: its stages, planned when all that it probes is there. Ranges, row counts and duplicates of the
//! build sides are known by then, which the paper's planner (relaxed operator fusion paper, section 4.4) has to guess.

use crate::aggregate::{Aggregation, Plan, States};
use crate::codegen::Generator;
use crate::join::{JoinTable, KeyRanges};
use crate::program::Builder;
use crate::query::{Pipeline, Probe, Sink, Step};
use crate::relation::{Facts, Relation};
use crate::stage::{Draft, Field, Stage};
use crate::{Error, Expression, JoinKind, Limits, Result};

/// What is known of the inputs of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Given {
    /// Of each column of the source.
    pub(crate) source: Vec<Facts>,
    /// Rows of the source at most.
    pub(crate) rows: u64,
    /// By probe.
    pub(crate) builds: Vec<Build>,
    /// What the run gave for the query's parameters.
    pub(crate) parameters: Vec<Option<i128>>,
}

/// What is known of a build side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Build {
    pub(crate) facts: Vec<Facts>,
    pub(crate) ranges: KeyRanges,
    /// Matches that a record has at most.
    pub(crate) most_matches: u64,
    /// It has no rows.
    pub(crate) is_empty: bool,
    /// It has rows of which a key is NULL.
    pub(crate) has_nulls: bool,
}

/// The stages of a pipeline.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) given: Given,
    pub(crate) levels: Vec<Level>,
    pub(crate) end: End,
}

/// A stage and the code for it.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) stage: Stage,
    pub(crate) generator: Generator,
}

/// A stage that ends in the numbers by which a table is probed, and what is done with the matches.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) kind: LevelKind,
    pub(crate) number: Part,
    /// What a match must fulfil beside.
    pub(crate) condition: Option<Part>,
}

/// What is done with matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LevelKind {
    Join(JoinKind),
    /// The rows of the build side are marked, and nothing goes on.
    Marks,
}

/// The last stage.
#[derive(Debug)]
pub(crate) enum End {
    Rows {
        part: Part,
        /// By column the output with its values and the one that says which are, unless all are.
        columns: Vec<(usize, Option<usize>)>,
    },
    Aggregate {
        plan: Plan,
        /// States lie in an array, else a hash table finds them.
        array: bool,
        generator: Generator,
    },
    /// The last level is the end.
    Marks,
}

impl Build {
    /// Of rows that are there.
    pub(crate) fn of(relation: &Relation, table: &JoinTable) -> Self {
        Self {
            facts: relation.facts.clone(),
            ranges: table.ranges.clone(),
            most_matches: table.most_matches(),
            is_empty: relation.rows == 0,
            has_nulls: table.rows < relation.rows,
        }
    }
}

impl Level {
    /// Whether it marks rows of the build side.
    pub(crate) fn marks(&self) -> bool {
        matches!(self.kind, LevelKind::Marks | LevelKind::Join(JoinKind::Full))
    }
}

impl Part {
    pub(crate) fn new(stage: Stage) -> Self {
        Self { stage, generator: Generator::default() }
    }
}

/// Filters that wait for a stage.
type Waiting = Option<Expression>;

fn with(waiting: Waiting, condition: &Expression) -> Waiting {
    Some(match waiting {
        Some(known) => Expression::And(Box::new(known), Box::new(condition.clone())),
        None => condition.clone(),
    })
}

impl Ready {
    /// Plans the stages. Fails as [`Plan::new`] does, and for values of more than 64 bits that a stage would hand on.
    pub(crate) fn new(pipeline: &Pipeline, given: Given) -> Result<Self> {
        let facts = given.all_facts(pipeline)?;
        let scope = Scope { fields: &pipeline.fields, facts };
        let (mut levels, mut waiting, mut rows) = (Vec::new(), None, given.rows);
        for step in &pipeline.steps {
            match step {
                Step::Filter(condition) => waiting = with(waiting, condition),
                Step::Probe(probe) => {
                    let build = &given.builds[levels.len()];
                    if matches!(probe.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Full) {
                        rows = rows.saturating_mul(build.most_matches);
                    }
                    levels.push(scope.level(probe, LevelKind::Join(probe.kind), build, waiting.take())?);
                }
            }
        }
        let end = match &pipeline.sink {
            Sink::Rows { columns, .. } => scope.rows(columns, waiting)?,
            Sink::Aggregate { aggregation, .. } => {
                let mut aggregation = aggregation.clone();
                aggregation.filter = match aggregation.filter {
                    Some(filter) => with(waiting, &filter),
                    None => waiting,
                };
                let columns = scope.fields.iter().zip(&scope.facts).map(|(field, facts)| (*field, facts.0, facts.1));
                let plan = Plan::new(&aggregation, columns, rows)?;
                let array = States::is_array(&plan, given.rows);
                End::Aggregate { plan, array, generator: Generator::default() }
            }
            Sink::Marks(probe) => {
                let build = &given.builds[levels.len()];
                levels.push(scope.level(probe, LevelKind::Marks, build, waiting)?);
                End::Marks
            }
        };
        match levels.iter().filter(|level| level.marks()).count() {
            0 | 1 => Ok(Self { given, levels, end }),
            _ => Err(Error::Internal("a pipeline that marks rows of several others".to_owned())),
        }
    }

    /// Stages: two for each level, the last one, and one for each set of different values.
    pub(crate) fn stages(&self) -> usize {
        let sets = match &self.end {
            End::Aggregate { plan, .. } => plan.distinct.len(),
            End::Rows { .. } | End::Marks => 0,
        };
        2 * self.levels.len() + 1 + sets
    }

    /// Code that was made.
    pub(crate) fn generators(&self) -> impl Iterator<Item = &Generator> {
        let levels = self.levels.iter().flat_map(|level| [Some(&level.number), level.condition.as_ref()]);
        let (last, distinct) = match &self.end {
            End::Rows { part, .. } => (Some(&part.generator), [].as_slice()),
            End::Aggregate { generator, plan, .. } => (Some(generator), plan.distinct.as_slice()),
            End::Marks => (None, [].as_slice()),
        };
        let distinct = distinct.iter().map(|distinct| &distinct.part.generator);
        levels.flatten().map(|part| &part.generator).chain(last).chain(distinct)
    }
}

impl Given {
    /// What is known of each column of a pipeline's expressions.
    fn all_facts(&self, pipeline: &Pipeline) -> Result<Vec<Facts>> {
        let kinds: Vec<JoinKind> = pipeline.probes().map(|probe| probe.kind).collect();
        pipeline.fields.iter().map(|field| self.facts(&kinds, *field)).collect()
    }

    /// What is known of the rows that the pipeline leaves before it has run.
    pub(crate) fn left(&self, pipeline: &Pipeline) -> Result<Vec<Facts>> {
        let facts = self.all_facts(pipeline)?;
        match &pipeline.sink {
            Sink::Rows { columns, .. } => columns.iter().map(|column| column.facts(&facts)).collect(),
            Sink::Aggregate { aggregation, columns, .. } => {
                let Aggregation { keys, aggregates, .. } = aggregation;
                columns.iter().map(|column| column.facts(keys, aggregates, &facts)).collect()
            }
            Sink::Marks(_) => Ok(Vec::new()),
        }
    }

    fn facts(&self, kinds: &[JoinKind], field: Field) -> Result<Facts> {
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

/// The columns of a pipeline's expressions.
struct Scope<'p> {
    fields: &'p [Field],
    facts: Vec<Facts>,
}

impl Scope<'_> {
    fn draft(&self, filter: Option<&Expression>) -> Result<Draft> {
        Draft::new(Builder::new(self.facts.iter().copied()), self.fields.to_vec(), filter)
    }

    fn level(&self, probe: &Probe, kind: LevelKind, build: &Build, filter: Waiting) -> Result<Level> {
        let mut draft = self.draft(filter.as_ref())?;
        let (inside, number) = build.ranges.number(&mut draft.builder, &probe.keys)?;
        let number = match kind {
            LevelKind::Marks | LevelKind::Join(JoinKind::Inner | JoinKind::Semi) => {
                draft.also(inside);
                number
            }
            LevelKind::Join(JoinKind::NotIn) if build.is_empty => draft.builder.constant(-1),
            LevelKind::Join(
                kind @ (JoinKind::Left | JoinKind::Full | JoinKind::Anti | JoinKind::NotIn | JoinKind::Mark),
            ) => {
                let none = draft.builder.constant(-1);
                let number = draft.builder.choose(inside, number, none);
                if kind == JoinKind::NotIn {
                    drop_nulls(&mut draft, probe, build)?;
                }
                number
            }
        };
        let number = Part::new(draft.finish(vec![number], std::iter::empty()).checked()?);
        let condition = match &probe.condition {
            Some(_) if matches!(kind, LevelKind::Join(JoinKind::Inner | JoinKind::NotIn)) => {
                return Err(Error::Internal(format!("a {} with a condition", probe.kind)));
            }
            Some(condition) => Some(Part::new(self.draft(Some(condition))?.finish(Vec::new(), std::iter::empty()))),
            None => None,
        };
        Ok(Level { kind, number, condition })
    }

    fn rows(&self, columns: &[Expression], filter: Waiting) -> Result<End> {
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
        let part = Part::new(draft.finish(outputs, std::iter::empty()).checked()?);
        Ok(End::Rows { part, columns: places })
    }
}

/// Drops records that can't be known to be in none of the rows of a build side that has some.
fn drop_nulls(draft: &mut Draft, probe: &Probe, build: &Build) -> Result<()> {
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
