//! Figure 11: query 3, optimisation by optimisation.

use super::query::{self, Way, faster};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Point,
};

/// The experiment.
pub static FIG11: Experiment = Experiment {
    name: "rof.fig11",
    title: "What each optimisation brings query 3",
    place: "relaxed operator fusion paper, figure 11 (section 5.3)",
    about: "Scale 10 (1 in quick runs), one thread. The steps add up: baseline, one loop per pipeline with the predicate in it; +SIMD, predicates by kernels that end in vectors of TIDs; +prefetch, a boundary and group prefetching of 16 keys before each probe. Tables of joins and their hash function are the paper's.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of query 3",
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
    let trials = query::trials(&[3], "step", &WAYS);
    Ok(Design { factors: vec![Factor::new("query", "", [query::name(3)]), steps], trials, notes: Vec::new() })
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig11.simd_never_degrades",
        text: "Predicates by SIMD don't make query 3 slower",
        place: "section 4.4",
        ours: Some("not slower: less than 1.02 times the time"),
        judge: |context| Expectation::judge(faster(context, &[3], "step", ("+SIMD", "baseline"), 1.02)),
    },
    Claim {
        id: "fig11.prefetch_more",
        text: "Prefetching brings query 3 more than predicates by SIMD do",
        place: "section 5.3",
        ours: None,
        judge: |context| more(context),
    },
    Claim {
        id: "fig11.in_all",
        text: "Together they make query 3 up to 1.61 times as fast",
        place: "section 5.3",
        ours: Some("up to: at least so much"),
        judge: |context| Expectation::judge(faster(context, &[3], "step", ("+prefetch", "baseline"), 1.0 / 1.61)),
    },
];

/// Of the time that the baseline takes more than the last step, the second step saves the larger part.
fn more(context: &Context<'_>) -> Judgement {
    let time = |step: &str| query::point(context, 3, "step", step).and_then(Point::time);
    let (Some(baseline), Some(simd), Some(prefetch)) = (time("baseline"), time("+SIMD"), time("+prefetch")) else {
        return Judgement::unknown("a step was not measured");
    };
    Expectation::judge(vec![Expectation::smaller_quotient("quotients of times", (prefetch, simd), (simd, baseline))])
}
