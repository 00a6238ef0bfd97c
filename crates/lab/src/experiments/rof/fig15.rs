//! Figure 15: sizes of the staging vectors.

use super::query::{self, QUERIES, Session};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Mode, Point, Trial,
};

/// The experiment.
pub static FIG15: Experiment = Experiment {
    name: "rof.fig15",
    title: "How long staging vectors are",
    place: "relaxed operator fusion paper, figure 15 (section 5.4)",
    about: "The staged plan of each query, as in rof.fig9's ROF, with staging vectors of 64 to 262,144 records. Scale 10 (1 in quick runs), one thread. A vector ends with the zone of 65,536 records that it was begun in, so that longer ones are longer in name only.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of a query",
        kind: FigureKind::LogLines,
        x: "vector",
        series: "query",
        panels: &[],
        metric: "time",
        axis: "cycles",
        only: &[],
    }],
    claims: &CLAIMS,
};

fn sizes(mode: Mode) -> Vec<usize> {
    match mode {
        Mode::Tiny => vec![64, 1024],
        Mode::Quick => vec![64, 1024, 16_384, 262_144],
        Mode::Default | Mode::Full => (6..=18).step_by(2).map(|power| 1 << power).collect(),
    }
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let sizes = sizes(bench.settings.mode);
    let trial = |number: usize| {
        let sizes = sizes.clone();
        let setup = move |bench: &Bench| {
            let database = query::database(bench)?;
            let variant = |size: &usize| {
                let stages = format!("table=hash, hash=murmur3, keys=off, prefetch=group:16, vector={size}");
                let session = Session { number, mode: "staged", stages: &stages, threads: 1 };
                session.variant(&database, ("vector", size))
            };
            sizes.iter().map(variant).collect()
        };
        Trial { name: query::name(number), setup: Box::new(setup) }
    };
    Ok(Design {
        trials: QUERIES.into_iter().map(trial).collect(),
        factors: vec![Factor::new("query", "", QUERIES.map(query::name)), Factor::new("vector", "records", sizes)],
        notes: Vec::new(),
    })
}

/// The paper's own: where it says that a size is as good as any.
const MIDDLE: &str = "16384";

/// Each size of some queries takes within `times` of what the middle one takes.
fn flat(context: &Context<'_>, queries: &[usize], times: f64) -> Vec<Expectation> {
    let sizes = sizes(context.bench.settings.mode).into_iter().map(|size| size.to_string());
    let others = sizes.filter(|size| size != MIDDLE);
    others.flat_map(|size| query::alike(context, queries, "vector", (&size, MIDDLE), times)).collect()
}

/// The middle size is faster than the smallest.
fn gains(context: &Context<'_>) -> Vec<Expectation> {
    let point = query::point(context, 3, "vector", "64");
    let beside = point.and_then(|point| context.findings.beside(point, "vector", MIDDLE)).and_then(Point::time);
    let times = beside.zip(point.and_then(Point::time));
    times.map(|(middle, least)| Expectation::less("Q3", middle, least, 1.0)).into_iter().collect()
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "fig15.insensitive",
        text: "All queries but 3 take the same time whatever the size of the vectors",
        place: "section 5.4",
        ours: Some("the same: within 1.1 times that of 16,384 records"),
        judge: |context| Expectation::judge(flat(context, &[1, 4, 5, 6, 13, 14, 19], 1.1)),
    },
    Claim {
        id: "fig15.gains_q3",
        text: "Query 3 gains from longer vectors, up to 16,384 records",
        place: "section 5.4",
        ours: None,
        judge: |context| Expectation::judge(gains(context)),
    },
];
