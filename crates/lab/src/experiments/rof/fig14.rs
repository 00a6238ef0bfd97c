//! Figure 14: query 19, optimisation by optimisation.

use super::query::{self, Way, faster};
use crate::experiment::{Bench, Claim, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind};

/// The experiment.
pub static FIG14: Experiment = Experiment {
    name: "rof.fig14",
    title: "What each optimisation brings query 19",
    place: "relaxed operator fusion paper, figure 14 (section 5.3)",
    about: "Scale 10 (1 in quick runs), one thread. The steps add up: baseline, one loop per pipeline with the predicate in it; +SIMD, predicates by kernels that end in vectors of TIDs; +prefetch, a boundary and group prefetching of 16 keys before each probe; +every, a boundary behind every step, as the paper's third. Tables of joins and their hash function are the paper's.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of query 19",
        kind: FigureKind::Bars,
        x: "query",
        series: "step",
        panels: &[],
        metric: "time",
        axis: "cycles",
        only: &[],
    }],
    claims: &CLAIMS,
};

const EVERY: Way =
    Way { name: "+every", mode: "vectorized", stages: "table=hash, hash=murmur3, keys=off, prefetch=group:16" };
static WAYS: [Way; 4] = [query::BASELINE, query::SIMD, query::ROF, EVERY];

fn design(_: &Bench) -> Result<Design, Error> {
    let steps = Factor::new("step", "", WAYS.map(|way| way.name));
    let trials = query::trials(&[19], "step", &WAYS);
    Ok(Design { factors: vec![Factor::new("query", "", [query::name(19)]), steps], trials, notes: Vec::new() })
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig14.simd_never_degrades",
        text: "Predicates by SIMD don't make query 19 slower",
        place: "section 4.4",
        ours: Some("not slower: less than 1.02 times the time"),
        judge: |context| Expectation::judge(faster(context, &[19], "step", ("+SIMD", "baseline"), 1.02)),
    },
    Claim {
        id: "fig14.simd",
        text: "Predicates by SIMD make query 19 almost 1.6 times as fast",
        place: "section 5.3",
        ours: Some("almost: at least 1.5 times"),
        judge: |context| Expectation::judge(faster(context, &[19], "step", ("+SIMD", "baseline"), 1.0 / 1.5)),
    },
    Claim {
        id: "fig14.in_all",
        text: "With prefetching it is almost 2.5 times as fast",
        place: "section 5.3",
        ours: Some("almost: at least 2.3 times"),
        judge: |context| Expectation::judge(faster(context, &[19], "step", ("+prefetch", "baseline"), 1.0 / 2.3)),
    },
];
