//! Figure 13: query 14, optimisation by optimisation.

use super::breakdown;
use super::query::{self, Way};
use crate::experiment::{Claim, Experiment};

/// The experiment.
pub static FIG13: Experiment = Experiment {
    name: "rof.fig13",
    title: "What each optimisation brings query 14",
    place: "relaxed operator fusion paper, figure 13 (section 5.3)",
    about: "Scale 10 (1 in quick runs), one thread. The steps add up: baseline, one loop per pipeline with the \
            predicate in it; +SIMD, predicates by kernels that end in vectors of TIDs; +prefetch, a boundary and group \
            prefetching of 16 keys before each probe. Tables of joins and their hash function are the paper's.",
    design: |_| Ok(breakdown::design(14, &WAYS)),
    claims: &CLAIMS,
    ..breakdown::BREAKDOWN
};

static WAYS: [Way<'static>; 3] = [query::BASELINE, query::SIMD, query::ROF];

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig13.simd_never_degrades",
        text: "Predicates by SIMD don't make query 14 slower",
        judge: |context| breakdown::no_slower(context, 14),
        ..breakdown::SIMD_NEVER_DEGRADES
    },
    Claim {
        id: "fig13.simd",
        text: "Predicates by SIMD make query 14 1.37 times as fast",
        place: "section 5.3",
        ours: None,
        judge: |context| breakdown::gains(context, 14, ("+SIMD", "baseline"), 1.0 / 1.37),
    },
    Claim {
        id: "fig13.prefetch",
        text: "Prefetching then makes it 1.45 times as fast again",
        place: "section 5.3",
        ours: None,
        judge: |context| breakdown::gains(context, 14, ("+prefetch", "+SIMD"), 1.0 / 1.45),
    },
];
