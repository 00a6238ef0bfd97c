//! Records that threads take in morsels: a scan's, or rows that another pipeline left; and when enough of them were taken.

use crate::data::relation::Relation;
use crate::operators::aggregate::{MorselBounds, MorselGroups};
use crate::operators::top::{BestRows, Top};
use crate::plan::pipeline_plan::{PipelineEnd, PipelinePlan};
use crate::plan::query::{Pipeline, Sink, Source};
use crate::run::worker::{PipelineContext, PipelineWorker};
use crate::{Expression, JoinKind, Result};
use gingham_kernels::{Isa, bits};
use gingham_storage::decode::Selection;
use gingham_storage::scan::{TableScan, integers};
use gingham_storage::{Caches, ColumnId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of a relation that a thread takes at once.
const MORSEL: usize = 1 << 15;

/// Records that threads take in morsels.
pub(crate) enum Morsels {
    Scan {
        scan: Arc<TableScan>,
        numbers: Vec<Option<ColumnId>>,
        /// The first stage evaluates the predicate.
        whole: bool,
    },
    Rows {
        relation: Arc<Relation>,
        marks: Option<(Arc<Vec<u64>>, bool)>,
    },
}

/// Rows that have come, when some of them suffice: those of the first morsels, so that it is always the same ones.
pub(crate) struct Enough {
    rows: usize,
    wanted: usize,
    /// The first morsel that is not done.
    morsel: usize,
    /// Rows of morsels behind the first unfinished one that are done, by the morsels' numbers.
    done: BTreeMap<usize, usize>,
}

impl Enough {
    /// So many rows are wanted, and none has come.
    pub(crate) fn new(wanted: usize) -> Self {
        Self { rows: 0, wanted, morsel: 0, done: BTreeMap::new() }
    }

    /// A morsel is done and has given these rows. True when no more are wanted.
    pub(crate) fn with(&mut self, morsel: usize, rows: usize) -> bool {
        self.done.insert(morsel, rows);
        while let Some(rows) = self.done.remove(&self.morsel) {
            self.rows += rows;
            self.morsel += 1;
        }
        self.rows >= self.wanted
    }
}

impl Morsels {
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Scan { scan, .. } => scan.morsels(),
            Self::Rows { relation, .. } => relation.rows.div_ceil(MORSEL),
        }
    }

    /// What is known of the best rows of a pipeline; `None` for one that does not end in rows.
    pub(crate) fn best_rows(&self, top: &Top, pipeline: &Pipeline) -> Option<BestRows> {
        let Sink::Rows { columns, .. } = &pipeline.sink else { return None };
        let key = columns.get(top.keys.first()?.column)?;
        let scanned = match (key, pipeline.source, self) {
            // What marks matches looks at every record: those without one come behind.
            _ if pipeline.probes().any(|probe| probe.kind == JoinKind::Full) => None,
            (Expression::Column(field), Source::Scan(_), Self::Scan { scan, .. }) => {
                let field = pipeline.fields.get(*field).filter(|field| field.input == 0);
                field.map(|field| (scan.as_ref(), field.column))
            }
            _ => None,
        };
        Some(BestRows::new(top, scanned))
    }

    /// Names the source of a pipeline in errors.
    pub(crate) fn place(&self, pipeline: usize) -> String {
        match self {
            Self::Scan { scan, .. } => format!("table {}", scan.table().definition.name),
            Self::Rows { .. } => format!("the rows before pipeline {pipeline}"),
        }
    }

    /// Where the groups of each morsel lie, where one array for all of them would leave the second cache.
    pub(crate) fn windows(&self, ready: &PipelinePlan, morsels: usize, caches: Caches) -> Result<Option<MorselGroups>> {
        let (Self::Scan { scan, .. }, PipelineEnd::Aggregate { plan, array: true, .. }) = (self, &ready.end) else {
            return Ok(None);
        };
        let large = plan.groups() as usize * plan.state_bytes() > caches.l2;
        let Some(column) = plan.clustered.filter(|_| large) else { return Ok(None) };
        let ends = |morsel| MorselBounds { rows: scan.records(morsel), keys: scan.range(morsel, column) };
        let ends: Vec<MorselBounds> = (0..morsels).map(ends).collect();
        let windows = MorselGroups::new(plan, &ends, |morsel| keys(scan, morsel, column))?;
        // A loop of all probes and the end has its states in an array.
        Ok(windows.filter(|windows| ready.fused.is_none() || (0..morsels).all(|morsel| windows.of(morsel).is_some())))
    }

    /// Sends the records of a morsel through a pipeline, of a scan those that `narrowed` leaves. Gives how many rows came
    /// out.
    pub(crate) fn run(
        &self,
        morsel: usize,
        narrowed: Option<&TableScan>,
        course: &PipelineContext,
        flow: &mut PipelineWorker,
    ) -> Result<usize> {
        match self {
            Self::Scan { scan, numbers, whole } => {
                let scan = narrowed.unwrap_or(scan);
                let open = if *whole { scan.open_all(morsel)? } else { scan.open(morsel)? };
                let Some(mut open) = open else { return Ok(0) };
                for of in numbers {
                    scan.number(morsel, &mut open, *of)?;
                }
                course.compute(&mut open.views, open.rows, open.tids.as_deref())?;
                flow.morsel(course, morsel, &open.views, open.rows, open.tids.as_deref())
            }
            Self::Rows { relation, marks } => {
                let start = morsel * MORSEL;
                let rows = MORSEL.min(relation.rows - start);
                let mut tids: Vec<u32> = match marks {
                    None => (start as u32..(start + rows) as u32).collect(),
                    Some((marks, marked)) => marked_rows(marks, *marked, start, rows, course.isa),
                };
                if course.computing.is_empty() {
                    return flow.morsel(course, morsel, &relation.views, rows, Some(&tids));
                }
                let mut views = relation.part(start, rows);
                tids.iter_mut().for_each(|tid| *tid -= start as u32);
                course.compute(&mut views, rows, Some(&tids))?;
                flow.morsel(course, morsel, &views, rows, Some(&tids))
            }
        }
    }
}

/// The keys that the records of a morsel may have.
fn keys(scan: &TableScan, morsel: usize, column: usize) -> Result<Vec<i64>> {
    let mut keys = Vec::new();
    if let Some(open) = scan.open_all(morsel)? {
        let tids = open.tids.as_deref().map(Selection::Tids);
        integers(&open.views[column], &tids.unwrap_or(Selection::Run(0..open.rows)), scan.isa(), &mut keys)?;
    }
    Ok(keys)
}

/// The rows of a morsel that are marked, or are not.
fn marked_rows(marks: &[u64], marked: bool, start: usize, rows: usize, isa: Isa) -> Vec<u32> {
    let mut words = marks[start / 64..(start + rows).div_ceil(64)].to_vec();
    if !marked {
        bits::not(&mut words, rows);
    }
    let mut tids = Vec::with_capacity(rows);
    bits::to_tids(isa, &words, start as u32, &mut tids);
    tids
}
