//! What is decided late, told early: the choices about a pipeline that wait for the sizes that its run meets, each with the
//! condition it is decided by. EXPLAIN shows them, and EXPLAIN ANALYZE what was chosen and the sizes that decided. The
//! planner of the relaxed operator fusion paper (section 4.4) has to guess these sizes instead.

use crate::data::relation::ColumnBounds;
use crate::operators::aggregate::{FEW_GROUPS, Plan};
use crate::operators::join::{FEW_NUMBERS, KeyRanges};
use crate::plan::pipeline_plan::PipelineEnd;
use crate::plan::query::{Pipeline, Source};
use crate::program::mode::FEW_ROWS;
use crate::{Mode, Result};
use gingham_storage::{Caches, IntegerSet};

/// Those of all pipelines in a mode.
pub(crate) fn of_mode(mode: Mode) -> Option<String> {
    (mode == Mode::Auto).then(|| {
        format!(
            "choice: a stage is compiled from {FEW_ROWS} records on, and runs by its code unless interpreting is faster"
        )
    })
}

/// Those of a pipeline that ends in `end` and leaves columns with the facts `left`, all as far as known before a run.
pub(crate) fn of_pipeline(
    pipeline: &Pipeline,
    end: &PipelineEnd,
    left: &[ColumnBounds],
    caches: Caches,
) -> Result<Vec<String>> {
    let mut open: Vec<String> = pipeline.hints.iter().map(|hint| keys_of(hint.build)).collect();
    open.dedup();
    if let PipelineEnd::Aggregate { plan, .. } = end {
        open.extend(groups(plan));
        open.extend(windows(plan, pipeline.source, caches));
    }
    if let Some(keys) = pipeline.keys() {
        open.extend(table(&KeyRanges::new(keys.iter().map(|key| left[*key]))?));
    }
    Ok(open)
}

fn keys_of(build: usize) -> String {
    let most = IntegerSet::MOST_KEYS;
    let times = IntegerSet::DISTINCT_PER_KEY;
    format!(
        "the scan looks for the keys of {build} if they are {most} at most and the column has {times} times as many values"
    )
}

fn groups(plan: &Plan) -> Option<String> {
    let most = plan.groups();
    if most == u64::MAX {
        let (words, s) = (plan.width(), if plan.width() == 1 { "" } else { "s" });
        return Some(format!("groups by a hash table of keys of {words} word{s} and a boundary"));
    }
    (most > FEW_GROUPS).then(|| {
        format!("groups in an array if 2 x the records that keys may leave are in as many as there can be ({most} at most), else by a hash table and a boundary")
    })
}

fn windows(plan: &Plan, source: Source, caches: Caches) -> Option<String> {
    let rises = plan.clustered.is_some() && matches!(source, Source::Scan(_));
    let large = plan.groups().saturating_mul(plan.state_bytes() as u64) > caches.l2 as u64;
    (rises && large).then(|| {
        let cache = caches.l2 >> 10;
        format!("an array for each morsel's groups if they rise with the records and all take more than {cache} KiB (second cache)")
    })
}

fn table(ranges: &KeyRanges) -> Option<String> {
    let Some(span) = ranges.numbers() else {
        let (words, s) = (ranges.words(), if ranges.words() == 1 { "" } else { "s" });
        return Some(format!("its key table is a hash table of keys of {words} word{s}"));
    };
    (span > FEW_NUMBERS as u64).then(|| {
        format!("its key table is an array if its keys span 4 x its rows at most ({span} is the most that they can), else a hash table, asked for ahead")
    })
}
