//! Figure 11: query 3, optimisation by optimisation.

use super::breakdown;
use super::query::{self, Way};
use crate::experiment::{Claim, Context, Expectation, Experiment, Judgement};

/// The experiment.
pub static FIG11: Experiment = Experiment {
    name: "rof.fig11",
    title: "What each optimisation brings query 3",
    place: "relaxed operator fusion paper, figure 11 (section 5.3)",
    about: "Scale 10 (1 in quick runs), one thread. The steps add up: baseline, one loop per pipeline with the \
            predicate in it; +SIMD, predicates by kernels that end in vectors of TIDs; +prefetch, a boundary and group \
            prefetching of 16 keys before each probe. Tables of joins and their hash function are the paper's.",
    design: |_| Ok(breakdown::design(3, &WAYS)),
    claims: &CLAIMS,
    ..breakdown::BREAKDOWN
};

static WAYS: [Way<'static>; 3] = [query::BASELINE, query::SIMD, query::ROF];

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig11.simd_never_degrades",
        text: "Predicates by SIMD don't make query 3 slower",
        judge: |context| breakdown::no_slower(context, 3),
        ..breakdown::SIMD_NEVER_DEGRADES
    },
    Claim {
        id: "fig11.prefetch_more",
        text: "Prefetching brings query 3 more than predicates by SIMD do",
        place: "section 5.3",
        ours: None,
        judge: more,
    },
    Claim {
        id: "fig11.in_all",
        text: "Together they make query 3 up to 1.61 times as fast",
        place: "section 5.3",
        ours: Some("up to: at least so much"),
        judge: |context| breakdown::gains(context, 3, ("+prefetch", "baseline"), 1.0 / 1.61),
    },
];

/// Judges that, of the time that the baseline takes more than the last step, the second step saves the larger part.
fn more(context: &Context<'_>) -> Judgement {
    let times = |steps| query::times(context, (3, &[]), "step", steps);
    let (Some(first), Some(second)) = (times(("+SIMD", "baseline")), times(("+prefetch", "+SIMD"))) else {
        return Judgement::unknown("a step was not measured");
    };
    Expectation::judge(vec![Expectation::smaller_quotient("quotients of times", second, first)])
}
