//! How a pipeline is cut into stages, as data (relaxed operator fusion paper, section 4.4): one small value for each
//! pipeline, chosen when all that the pipeline reads is there. So the sizes of the tables that it probes are facts; the
//! paper's planners, which estimate them or make code for both cases, are here for the experiments.

use crate::data::source::VECTOR;
use crate::operators::join::TableChoice;
use crate::plan::fixed::Fixed;
use crate::program::mode::Mode;
use gingham_kernels::key_table::Probing;
use gingham_storage::Caches;

/// Keys of a group in the paper's planners: what its figure 16 finds best.
const GROUP: usize = 16;
/// Bytes of a row in a table whose size is estimated: those of an entry with a key of 64 bits, half of them used.
const ENTRY: u64 = 32;

/// The boundaries of a pipeline and what its kernels do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stages {
    /// Where they are.
    pub(crate) cut: Cut,
    /// The scan's predicate is evaluated by kernels before the first stage, else by the first stage. It is by kernels
    /// wherever a stage can't evaluate it.
    pub(crate) kernels: bool,
    /// A filter behind the scan is a stage of its own, which hands on the records that pass; else it is a part of the stage
    /// behind it. It can be one wherever each probe has a boundary.
    pub(crate) filters: bool,
    /// Scans leave out records whose keys no later probe will find.
    pub(crate) key_sets: bool,
    /// Records of a staging vector.
    pub(crate) vector: usize,
    /// How hash tables are probed from a vector.
    pub(crate) probing: Probing,
    /// The table over the rows that it leaves.
    pub(crate) table: TableChoice,
}

/// Where a pipeline has boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Behind every step.
    EveryStep,
    /// Before each of the first so many probes. What comes behind them is one loop.
    Probes(usize),
}

/// Who chooses boundaries before probes, and prefetching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planner {
    /// A boundary and prefetching where the table is expected to be larger than the last cache, by the rows that its
    /// pipeline may have at most: the paper's first method.
    Estimates,
    /// A boundary before each probe, and two paths behind it: with prefetching where the table is larger than the last
    /// cache, else without. The paper's second.
    TwoPaths,
}

/// A table that a pipeline probes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probed {
    pub(crate) bytes: usize,
    /// Rows that it may have at most, as far as was known before the query ran.
    pub(crate) most_rows: u64,
}

impl Stages {
    /// Those of a mode, for a pipeline with so many probes.
    pub(crate) fn of(mode: Mode, probes: usize) -> Self {
        let staged = Self {
            cut: Cut::Probes(probes),
            kernels: true,
            filters: true,
            key_sets: true,
            vector: VECTOR,
            probing: Probing::Match,
            table: TableChoice::default(),
        };
        match mode {
            Mode::Auto | Mode::Staged | Mode::Interpreted => staged,
            Mode::Vectorized => Self { cut: Cut::EveryStep, ..staged },
            Mode::Fused => Self { cut: Cut::Probes(0), kernels: false, filters: false, key_sets: false, ..staged },
        }
    }

    /// Those of a pipeline that probes these tables, and how each is probed: as the mode says, unless an experiment fixes
    /// it.
    pub(crate) fn planned(mode: Mode, fixed: &Fixed, caches: Caches, tables: &[Probed]) -> (Self, Vec<Probing>) {
        let mut stages = Self::of(mode, tables.len());
        let beyond = |bytes: u64| bytes > caches.last as u64;
        let large: Vec<bool> = match fixed.planner {
            None => vec![true; tables.len()],
            Some(Planner::TwoPaths) => tables.iter().map(|table| beyond(table.bytes as u64)).collect(),
            Some(Planner::Estimates) => {
                let large = |table: &Probed| beyond(table.most_rows.saturating_mul(ENTRY));
                let large: Vec<bool> = tables.iter().map(large).collect();
                stages.cut = Cut::Probes(large.iter().rposition(|large| *large).map_or(0, |last| last + 1));
                large
            }
        };
        if fixed.planner.is_some() {
            stages.probing = Probing::Group(GROUP);
        }
        fixed.apply(&mut stages);
        if let Cut::Probes(probes) = &mut stages.cut {
            *probes = tables.len().min(*probes);
        }
        let probing = |large: &bool| if *large { stages.probing } else { Probing::Scalar };
        (stages, large.iter().map(probing).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_planners_go_by_sizes_that_are_guessed_or_real() {
        let cache = Caches::REFERENCE.last;
        // What was expected to be large is small, and the other way round; then a small one.
        let tables = [
            Probed { bytes: 1000, most_rows: cache as u64 },
            Probed { bytes: 2 * cache, most_rows: 10 },
            Probed { bytes: 1000, most_rows: 10 },
        ];
        let planned = |text: &str| {
            let fixed: crate::lab::FixedStages = text.parse().unwrap();
            let (stages, probing) = Stages::planned(Mode::Staged, &fixed.of(0), Caches::REFERENCE, &tables);
            (stages.cut, probing)
        };
        let (group, none) = (Probing::Group(GROUP), Probing::Scalar);
        assert_eq!(planned("planner=estimates"), (Cut::Probes(1), vec![group, none, none]));
        assert_eq!(planned("planner=two_paths"), (Cut::Probes(3), vec![none, group, none]));
        assert_eq!(planned("planner=two_paths, prefetch=amac:9").1, [none, Probing::Amac(9), none]);
        assert_eq!(planned(""), (Cut::Probes(3), vec![Probing::Match; 3]));
        assert_eq!(planned("boundaries=all").0, Cut::Probes(3));
        assert_eq!(planned("boundaries=1").0, Cut::Probes(1));
    }
}
