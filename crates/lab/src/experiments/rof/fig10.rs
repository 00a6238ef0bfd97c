//! Figure 10: query 1, optimisation by optimisation.

use super::breakdown;
use super::query::{self, Way};
use crate::experiment::{Claim, Expectation, Experiment};

/// The experiment.
pub static FIG10: Experiment = Experiment {
    name: "rof.fig10",
    title: "What each optimisation brings query 1",
    place: "relaxed operator fusion paper, figure 10 (section 5.3)",
    about: "Scale 10 (1 in quick runs), one thread. The steps add up: baseline, one loop per pipeline with the \
            predicate in it; +SIMD, predicates by kernels that end in vectors of TIDs; the paper's second step, \
            prefetching for the groups, has nothing to fetch here: six groups lie in an array.",
    design: |_| Ok(breakdown::design(1, &WAYS)),
    claims: &CLAIMS,
    ..breakdown::BREAKDOWN
};

static WAYS: [Way<'static>; 2] = [query::BASELINE, query::SIMD];

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "fig10.simd_never_degrades",
        text: "Predicates by SIMD don't make query 1 slower",
        judge: |context| breakdown::no_slower(context, 1),
        ..breakdown::SIMD_NEVER_DEGRADES
    },
    Claim {
        id: "fig10.simd_little",
        text: "Predicates by SIMD bring query 1 at most 1.036 times, which its scan is of the whole",
        place: "section 5.3",
        ours: Some("at most: no less than 0.95 of the baseline's time"),
        judge: |context| Expectation::judge(query::alike(context, &[1], "step", ("+SIMD", "baseline"), 1.0 / 0.95)),
    },
];
