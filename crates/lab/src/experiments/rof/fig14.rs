//! Figure 14: query 19, optimisation by optimisation.

use super::breakdown;
use super::query::{self, Way};
use crate::experiment::{Claim, Experiment};

/// The experiment.
pub static FIG14: Experiment = Experiment {
    name: "rof.fig14",
    title: "What each optimisation brings query 19",
    place: "relaxed operator fusion paper, figure 14 (section 5.3)",
    about: "Scale 10 (1 in quick runs), one thread. The steps add up: baseline, one loop per pipeline with the \
            predicate in it; +SIMD, predicates by kernels that end in vectors of TIDs; +prefetch, a boundary and group \
            prefetching of 16 keys before each probe; +every, a boundary behind every step, as the paper's third. \
            Tables of joins and their hash function are the paper's.",
    design: |_| Ok(breakdown::design(19, &WAYS)),
    claims: &CLAIMS,
    ..breakdown::BREAKDOWN
};

const EVERY: Way<'static> = Way { name: "+every", mode: "vectorized", ..query::ROF };
static WAYS: [Way<'static>; 4] = [query::BASELINE, query::SIMD, query::ROF, EVERY];

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig14.simd_never_degrades",
        text: "Predicates by SIMD don't make query 19 slower",
        judge: |context| breakdown::no_slower(context, 19),
        ..breakdown::SIMD_NEVER_DEGRADES
    },
    Claim {
        id: "fig14.simd",
        text: "Predicates by SIMD make query 19 almost 1.6 times as fast",
        place: "section 5.3",
        ours: Some("almost: at least 1.5 times"),
        judge: |context| breakdown::gains(context, 19, ("+SIMD", "baseline"), 1.0 / 1.5),
    },
    Claim {
        id: "fig14.in_all",
        text: "With prefetching it is almost 2.5 times as fast",
        place: "section 5.3",
        ours: Some("almost: at least 2.3 times"),
        judge: |context| breakdown::gains(context, 19, ("+prefetch", "baseline"), 1.0 / 2.3),
    },
];
