//! What figures 10 to 14 share: a query in steps that add up, and the times of its pipelines.

use super::query::{self, PIPELINES, Session, Way, faster, figure, name};
use crate::experiment::{
    Claim, Context, Design, Expectation, Experiment, Factor, FigureKind, Judgement, Measured, Point,
};
use std::collections::BTreeMap;

/// An experiment but for its own words, design and claims.
pub const BREAKDOWN: Experiment = Experiment {
    name: "",
    title: "",
    place: "",
    about: "",
    uses: &[],
    design: |_| Ok(Design::default()),
    derive: Some(by_pipeline),
    figures: &[figure("Time of the query, and of each of its pipelines", FigureKind::Bars, "pipeline", "step")],
    claims: &[],
};

/// That the first step makes a query no slower, which [`no_slower`] judges.
pub const SIMD_NEVER_DEGRADES: Claim = Claim {
    id: "",
    text: "",
    place: "section 4.4",
    ours: Some("not slower: less than 1.02 times the time"),
    judge: |_| Judgement::unknown("no query"),
};

/// The whole query among the levels of the factor that pipelines are.
const ALL: &str = "all";

/// The design of a breakdown. The times of pipelines are EXPLAIN ANALYZE's, of a run beside each measured one.
pub fn design(number: usize, steps: &'static [Way<'static>]) -> Design {
    let trial = query::trial(number, move |bench, database| {
        let variant = |way: &Way<'_>| {
            let session = Session { number, way: *way, threads: 1, others: &[], pipelines: Some(bench.clock) };
            session.variant(database, ("step", &way.name))
        };
        steps.iter().map(variant).collect()
    });
    let pipelines = (0..PIPELINES.len()).map(|number| number.to_string());
    Design {
        trials: vec![trial],
        factors: vec![
            Factor::new("query", "", [name(number)]),
            Factor::new("step", "", steps.iter().map(|way| way.name)),
            Factor::new("pipeline", "", std::iter::once(ALL.to_owned()).chain(pipelines)),
        ],
        notes: vec![
            "Times of pipelines are those of EXPLAIN ANALYZE in a run of its own beside each measured one, without the time \
             that compiling took."
                .to_owned(),
        ],
        ..Design::default()
    }
}

/// Each result as that of the whole query, and one for each of its pipelines.
fn by_pipeline(context: &Context<'_>) -> Vec<Point> {
    let at = |point: &Point, pipeline: String, metrics: BTreeMap<&'static str, Measured>| {
        let mut levels = point.levels.clone();
        levels.insert("pipeline", pipeline);
        Point { levels, facts: point.facts.clone(), metrics }
    };
    let mut points = Vec::new();
    for point in &context.findings.points {
        let whole = point.metrics.iter().filter(|(name, _)| !PIPELINES.contains(name));
        points.push(at(point, ALL.to_owned(), whole.map(|(name, measured)| (*name, measured.clone())).collect()));
        for (number, name) in PIPELINES.iter().enumerate() {
            if let Some(measured) = point.metrics.get(name) {
                points.push(at(point, number.to_string(), BTreeMap::from([("time", measured.clone())])));
            }
        }
    }
    points
}

/// That a step of a breakdown takes less than a part of another's time.
pub fn gains(context: &Context<'_>, number: usize, steps: (&str, &str), part: f64) -> Judgement {
    Expectation::judge(faster(context, &[number], "step", steps, part))
}

/// That the first step of a breakdown does not make its query slower.
pub fn no_slower(context: &Context<'_>, number: usize) -> Judgement {
    gains(context, number, ("+SIMD", "baseline"), 1.02)
}
