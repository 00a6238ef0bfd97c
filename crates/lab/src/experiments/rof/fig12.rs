//! Figure 12: query 13, optimisation by optimisation.

use super::breakdown;
use super::query::{self, Way};
use crate::experiment::{Claim, Experiment};

/// The experiment.
pub static FIG12: Experiment = Experiment {
    name: "rof.fig12",
    title: "What each optimisation brings query 13",
    place: "relaxed operator fusion paper, figure 12 (section 5.3)",
    about: "Scale 10 (1 in quick runs), one thread. The steps add up: baseline, one loop per pipeline, its LIKE over \
            long strings by a kernel in either (it has no codes); +prefetch, a boundary and group prefetching of 16 \
            keys before each probe. Tables of joins and their hash function are the paper's. Where the paper's query \
            groups while it joins, records are grouped first here and probed afterwards.",
    design: |_| Ok(breakdown::design(13, &WAYS)),
    claims: &CLAIMS,
    ..breakdown::BREAKDOWN
};

static WAYS: [Way<'static>; 2] = [Way { name: "baseline", ..query::SIMD }, query::ROF];

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "fig12.in_all",
        text: "Prefetching makes query 13 1.5 times as fast, without SIMD",
        place: "section 5.3",
        ours: None,
        judge: |context| breakdown::gains(context, 13, ("+prefetch", "baseline"), 1.0 / 1.5),
    },
    Claim {
        id: "fig12.some",
        text: "Prefetching makes query 13 faster",
        place: "section 5.3",
        ours: None,
        judge: |context| breakdown::gains(context, 13, ("+prefetch", "baseline"), 1.0),
    },
];
