//! A query as a planner writes it: pipelines, each of which ends before the next begins.

use crate::data::relation::ColumnBounds;
use crate::data::source::Field;
use crate::operators::aggregate::{Aggregate, Aggregation, Finish, Gathering, OutOfLine};
use crate::operators::inequality::Range;
use crate::program::computed::Computed;
use crate::{Error, Expression, JoinKind, Result};
use std::cell::Cell;
use std::fmt;

/// Pipelines in the order in which they run. The last one's rows are the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// One at least; each reads only what those before it left.
    pub pipelines: Vec<Pipeline>,
}

/// The operators between two points at which all rows are gathered.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// Where records come from.
    pub source: Source,
    /// Columns that are computed of the source's and lie behind them.
    pub computed: Vec<Computed>,
    /// The columns that its expressions count: where each lies.
    pub fields: Vec<Field>,
    /// What happens to a record, in order.
    pub steps: Vec<Step>,
    /// What it ends in.
    pub sink: Sink,
    /// What records of its scan must fulfil to be of use: the scan leaves out others where that is cheap.
    pub hints: Vec<Hint>,
    /// An earlier pipeline whose rows come before its own, and which nobody else reads: of several in a row, the last one's
    /// rows are those of all.
    pub behind: Option<usize>,
}

/// New numbers, by the old ones.
#[derive(Clone, Copy)]
pub struct Numbers<'n> {
    /// The new number of a scan.
    pub scan: &'n dyn Fn(usize) -> usize,
    /// The new number of a function.
    pub function: &'n dyn Fn(usize) -> usize,
    /// The new number of a pipeline.
    pub pipeline: &'n dyn Fn(usize) -> usize,
}

/// A record is of use only when a column has a value that a key of earlier rows has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hint {
    /// The scan's column, by its position.
    pub column: usize,
    /// The pipeline that left the rows.
    pub build: usize,
    /// The key of that join, by position.
    pub key: usize,
}

/// Where the records of a pipeline come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A scan of a table, by its number among those that the query is run with.
    Scan(usize),
    /// Rows that the query is run with, by their number.
    Given(usize),
    /// The rows that a pipeline left.
    Rows(usize),
    /// Those of them that another pipeline marked, or did not.
    Marked {
        /// The pipeline that left the rows.
        rows: usize,
        /// The one that marked them, at its end or in a probe of [`JoinKind::Full`].
        marks: usize,
        /// Those with a mark, else those without.
        marked: bool,
    },
}

/// What happens to a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// It goes on when the expression is 1.
    Filter(Expression),
    /// It is joined.
    Probe(Probe),
}

/// A join with rows that an earlier pipeline left. It adds an input: their columns, and behind these that of
/// [`JoinKind::Mark`]. Where a join gives no columns of a match, only its condition may look at them.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// The pipeline, whose sink names keys.
    pub build: usize,
    /// What the join does.
    pub kind: JoinKind,
    /// As many as the build side has keys. A match has equal ones; NULL equals nothing. Without any, all rows are matches.
    pub keys: Vec<Expression>,
    /// Where a column of the matches lies, which `condition` or a filter behind says too. Only without keys.
    pub range: Option<Box<Range>>,
    /// What a match must fulfil beside, over all columns and those of the match. `None` for [`JoinKind::Inner`], where that
    /// is a filter behind the probe, and for [`JoinKind::NotIn`].
    pub condition: Option<Expression>,
}

/// What a pipeline ends in.
#[derive(Debug, Clone, PartialEq)]
pub enum Sink {
    /// Rows of these columns.
    Rows {
        /// The columns.
        columns: Vec<Expression>,
        /// Columns that are keys by which later pipelines probe.
        keys: Option<Vec<usize>>,
    },
    /// A row per group.
    Aggregate {
        /// The groups and what is computed of each.
        aggregation: Aggregation,
        /// The columns of the rows.
        columns: Vec<Finish>,
        /// A condition over these columns (HAVING): groups for which it is not 1 are no rows.
        having: Option<Expression>,
        /// Columns that are keys by which later pipelines probe.
        keys: Option<Vec<usize>>,
    },
    /// A mark for each row of an earlier pipeline that has a match among the records.
    Marks(Probe),
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = match &self.range {
            Some(_) => "a range of ",
            None if self.keys.is_empty() => "all of ",
            None => "",
        };
        let conditional = if self.condition.is_some() { " with a condition" } else { "" };
        write!(f, "{all}{}{conditional}", self.build)
    }
}

impl Pipeline {
    /// This pipeline with values for its parameters. Fails when there are too few.
    pub(crate) fn with_parameters(&self, values: &[Option<i128>]) -> Result<Self> {
        let missing = Cell::new(None);
        let leaf = |leaf: &Expression| match leaf {
            Expression::Parameter { number, .. } => match values.get(*number) {
                Some(value) => Expression::Constant(*value),
                None => {
                    missing.set(Some(*number));
                    leaf.clone()
                }
            },
            other => other.clone(),
        };
        let with = |expression: &Expression| expression.with_leaves(&leaf);
        let all = |expressions: &[Expression]| expressions.iter().map(with).collect();
        let probe = |probe: &Probe| Probe {
            keys: all(&probe.keys),
            condition: probe.condition.as_ref().map(with),
            range: probe.range.as_ref().map(|range| Box::new(range.with(with))),
            ..probe.clone()
        };
        let step = |step: &Step| match step {
            Step::Filter(condition) => Step::Filter(with(condition)),
            Step::Probe(join) => Step::Probe(probe(join)),
        };
        let sink = match &self.sink {
            Sink::Rows { columns, keys } => Sink::Rows { columns: all(columns), keys: keys.clone() },
            Sink::Marks(join) => Sink::Marks(probe(join)),
            Sink::Aggregate { aggregation, columns, having, keys } => {
                let aggregate = |aggregate: &Aggregate| Aggregate {
                    function: aggregate.function,
                    argument: aggregate.argument.as_ref().map(with),
                    filter: aggregate.filter.as_ref().map(with),
                };
                let apart = |apart: &OutOfLine| OutOfLine {
                    what: apart.what,
                    arguments: all(&apart.arguments),
                    filter: apart.filter.as_ref().map(with),
                };
                let aggregation = Aggregation {
                    filter: aggregation.filter.as_ref().map(with),
                    keys: all(&aggregation.keys),
                    aggregates: aggregation.aggregates.iter().map(aggregate).collect(),
                    apart: aggregation.apart.iter().map(apart).collect(),
                };
                let having = having.as_ref().map(with);
                Sink::Aggregate { aggregation, columns: columns.clone(), having, keys: keys.clone() }
            }
        };
        let steps = self.steps.iter().map(step).collect();
        match missing.get() {
            Some(number) => Err(Error::Internal(format!("a query without a value for parameter {number}"))),
            None => Ok(Self { steps, sink, ..self.clone() }),
        }
    }

    /// This query with other numbers for its scans, functions and pipelines.
    #[must_use]
    pub fn renumbered(&self, numbers: &Numbers<'_>) -> Self {
        let Numbers { scan, function, pipeline } = *numbers;
        let mut own = self.clone();
        own.source = match own.source {
            Source::Scan(number) => Source::Scan(scan(number)),
            Source::Given(number) => Source::Given(number),
            Source::Rows(rows) => Source::Rows(pipeline(rows)),
            Source::Marked { rows, marks, marked } => {
                Source::Marked { rows: pipeline(rows), marks: pipeline(marks), marked }
            }
        };
        own.computed.iter_mut().for_each(|computed| computed.function = function(computed.function));
        for step in &mut own.steps {
            if let Step::Probe(probe) = step {
                probe.build = pipeline(probe.build);
            }
        }
        match &mut own.sink {
            Sink::Rows { .. } => {}
            Sink::Marks(probe) => probe.build = pipeline(probe.build),
            Sink::Aggregate { aggregation, .. } => {
                for apart in &mut aggregation.apart {
                    if let Gathering::Text { function: number, .. } = &mut apart.what {
                        *number = function(*number);
                    }
                }
            }
        }
        own.hints.iter_mut().for_each(|hint| hint.build = pipeline(hint.build));
        own.behind = own.behind.map(pipeline);
        own
    }

    /// The earlier pipelines that it reads.
    pub fn reads(&self) -> impl Iterator<Item = usize> {
        let of_source = match self.source {
            Source::Scan(_) | Source::Given(_) => [None, None],
            Source::Rows(rows) => [Some(rows), None],
            Source::Marked { rows, marks, .. } => [Some(rows), Some(marks)],
        };
        let probed = self.probes().map(|probe| probe.build);
        of_source.into_iter().flatten().chain(probed).chain(self.hints.iter().map(|hint| hint.build)).chain(self.behind)
    }

    /// What is known of its source's columns and of those that are computed, when this is known of the former.
    pub(crate) fn with_computed(&self, mut source: Vec<ColumnBounds>) -> Vec<ColumnBounds> {
        source.extend(self.computed.iter().map(Computed::facts));
        source
    }

    /// The column by which one of these pipelines wants the rows of another to be sorted.
    pub(crate) fn sorted(pipelines: &[Self], rows: usize) -> Option<usize> {
        let mut probes = pipelines.iter().flat_map(Self::probes);
        probes.find(|probe| probe.build == rows)?.range.as_ref().map(|range| range.column)
    }

    /// Its probes, in order: each adds an input.
    pub fn probes(&self) -> impl Iterator<Item = &Probe> {
        let last = match &self.sink {
            Sink::Marks(probe) => Some(probe),
            Sink::Rows { .. } | Sink::Aggregate { .. } => None,
        };
        let probes = self.steps.iter().filter_map(|step| match step {
            Step::Probe(probe) => Some(probe),
            Step::Filter(_) => None,
        });
        probes.chain(last)
    }

    /// True when no two of its rows have the same keys: groups of which all keys are among them.
    pub(crate) fn has_unique_keys(&self) -> bool {
        let Sink::Aggregate { aggregation, columns, keys: Some(keys), .. } = &self.sink else { return false };
        let is_key = |key: usize| keys.iter().any(|column| columns.get(*column) == Some(&Finish::Key(key)));
        self.behind.is_none() && (0..aggregation.keys.len()).all(is_key)
    }

    /// The keys of its rows.
    pub fn keys(&self) -> Option<&[usize]> {
        match &self.sink {
            Sink::Rows { keys, .. } | Sink::Aggregate { keys, .. } => keys.as_deref(),
            Sink::Marks(_) => None,
        }
    }
}

impl fmt::Display for Query {
    /// The pipelines by their numbers, for EXPLAIN.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, pipeline) in self.pipelines.iter().enumerate() {
            write!(f, "{}{number}: {pipeline}", if number > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::Scan(scan) => write!(f, "scan {scan}")?,
            Source::Given(rows) => write!(f, "given {rows}")?,
            Source::Rows(rows) => write!(f, "rows of {rows}")?,
            Source::Marked { rows, marks, marked } => {
                write!(f, "rows of {rows} {}marked by {marks}", if marked { "" } else { "not " })?;
            }
        }
        if !self.computed.is_empty() {
            write!(f, ", evaluate {}", self.computed.len())?;
        }
        for step in &self.steps {
            match step {
                Step::Filter(_) => f.write_str(", filter")?,
                Step::Probe(probe) => write!(f, ", {} {probe}", probe.kind)?,
            }
        }
        match &self.sink {
            Sink::Rows { keys: Some(_), .. } => f.write_str(", build")?,
            Sink::Rows { keys: None, .. } => f.write_str(", rows")?,
            Sink::Aggregate { keys, aggregation, having, .. } => {
                let build = if keys.is_some() { ", build" } else { "" };
                let groups = if aggregation.keys.is_empty() { "one group" } else { "groups" };
                let having = if having.is_some() { " with a condition" } else { "" };
                write!(f, ", aggregate into {groups}{having}{build}")?;
            }
            Sink::Marks(probe) => write!(f, ", mark {probe}")?,
        }
        self.behind.map_or(Ok(()), |first| write!(f, " behind {first}"))
    }
}
