//! Figure 13: query 14, optimisation by optimisation.

use super::query::{self, Way, faster};
use crate::experiment::{Bench, Claim, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind};

/// The experiment.
pub static FIG13: Experiment = Experiment {
    name: "rof.fig13",
    title: "What each optimisation brings query 14",
    place: "relaxed operator fusion paper, figure 13 (section 5.3)",
    about: "Scale 10 (1 in quick runs), one thread. The steps add up: baseline, one loop per pipeline with the predicate in it; +SIMD, predicates by kernels that end in vectors of TIDs; +prefetch, a boundary and group prefetching of 16 keys before each probe. Tables of joins and their hash function are the paper's.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of query 14",
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

static WAYS: [Way; 3] = [query::BASELINE, query::SIMD, query::ROF];

fn design(_: &Bench) -> Result<Design, Error> {
    let steps = Factor::new("step", "", WAYS.map(|way| way.name));
    let trials = query::trials(&[14], "step", &WAYS);
    Ok(Design { factors: vec![Factor::new("query", "", [query::name(14)]), steps], trials, notes: Vec::new() })
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig13.simd_never_degrades",
        text: "Predicates by SIMD don't make query 14 slower",
        place: "section 4.4",
        ours: Some("not slower: less than 1.02 times the time"),
        judge: |context| Expectation::judge(faster(context, &[14], "step", ("+SIMD", "baseline"), 1.02)),
    },
    Claim {
        id: "fig13.simd",
        text: "Predicates by SIMD make query 14 1.37 times as fast",
        place: "section 5.3",
        ours: None,
        judge: |context| Expectation::judge(faster(context, &[14], "step", ("+SIMD", "baseline"), 1.0 / 1.37)),
    },
    Claim {
        id: "fig13.prefetch",
        text: "Prefetching then makes it 1.45 times as fast again",
        place: "section 5.3",
        ours: None,
        judge: |context| Expectation::judge(faster(context, &[14], "step", ("+prefetch", "+SIMD"), 1.0 / 1.45)),
    },
];
