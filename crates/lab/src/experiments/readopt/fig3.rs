//! Figure 3: time of computing beside elapsed time, from the samples of figure 2.

use super::expect::{self, PAPER, SELECTIVITIES};
use super::grid::{columns, rows};
use crate::experiment::{
    Claim, Context, Design, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Point,
};

/// The experiment.
pub static FIG3: Experiment = Experiment {
    name: "readopt.fig3",
    title: "Computing and elapsed time, Narrow-E at 10 %",
    place: "read-optimized paper, section 6.2, figure 3",
    about: "The samples of readopt.fig2: what a scan takes without what it waits for the disk, beside what it takes at 70 MB/s.",
    uses: &[SELECTIVITIES],
    design: |_| {
        Ok(Design {
            factors: vec![
                Factor::new("selectivity", "%", ["0.1", "10", "50"]),
                Factor::new("columns", "columns", [1, 3, 5, 10]),
                Factor::new("part", "", PARTS.map(|(name, _, _)| name)),
            ],
            ..Design::default()
        })
    },
    derive: Some(derive),
    figures: &[Figure {
        title: "Computing and elapsed time of a record at 70 MB/s",
        kind: FigureKind::DeviationLines,
        x: "columns",
        series: "part",
        panels: &["selectivity"],
        metric: "shown",
        axis: "cycles per record",
        only: &[],
    }],
    claims: &CLAIMS,
};

/// The lines that are shown: of which storage, by which metric.
const PARTS: [(&str, &str, &str); 4] = [
    ("rows, computing", "rows", "cpu"),
    ("rows, elapsed", "rows", PAPER),
    ("columns, computing", "columns", "cpu"),
    ("columns, elapsed", "columns", PAPER),
];

fn derive(context: &Context<'_>) -> Vec<Point> {
    let Some(findings) = context.of(SELECTIVITIES) else { return Vec::new() };
    let mut shown = Vec::new();
    for point in findings.points.iter().filter(|point| ["0.1", "10", "50"].contains(&point.level("selectivity"))) {
        for (part, storage, metric) in PARTS {
            let Some(measured) = point.metrics.get(metric).filter(|_| point.level("storage") == storage) else {
                continue;
            };
            if !point.metrics.contains_key(PAPER) {
                continue;
            }
            let own = |factor: &'static str| (factor, point.level(factor).to_owned());
            shown.push(Point {
                levels: [own("selectivity"), own("columns"), ("part", part.to_owned())].into(),
                metrics: [("shown", measured.clone())].into(),
                ..Point::default()
            });
        }
    }
    shown
}

/// Judges by the results of figure 2.
fn by_fig2(context: &Context<'_>, judge: impl Fn(&Context<'_>) -> Vec<Expectation>) -> Judgement {
    match context.of(SELECTIVITIES) {
        Some(findings) => Expectation::judge(judge(&Context { findings, ..*context })),
        None => Judgement::unknown("readopt.fig2 did not run"),
    }
}

/// Each number of columns takes longer than the one before.
fn rises(context: &Context<'_>, metric: &str) -> Vec<Expectation> {
    let line = expect::line(context, &columns("10"), metric);
    let longer = |pair: &[(f64, &_)]| {
        let ([(fewer, less), (more, longer)], part) = ([pair[0], pair[1]], 1.0);
        Expectation::less(format!("{metric}, {} and {more}", expect::in_columns(fewer)), less, longer, part)
    };
    line.windows(2).map(longer).collect()
}

static CLAIMS: [Claim; 4] = [
    Claim {
        id: "fig3.rows_constant",
        text: "At 10 % computing and elapsed time of rows are the same whatever the number of columns",
        place: "section 6.2",
        ours: Some("within 10 %, elapsed at 70 MB/s"),
        judge: |context| {
            by_fig2(context, |context| {
                [PAPER, "cpu"].iter().flat_map(|metric| expect::constant(context, &rows("10"), metric)).collect()
            })
        },
    },
    Claim {
        id: "fig3.columns_rise",
        text: "At 10 % columns compute longer the more of them are returned",
        place: "section 6.2",
        ours: None,
        judge: |context| by_fig2(context, |context| rises(context, "cpu")),
    },
    Claim {
        id: "fig3.few_constant",
        text: "At 0.1 % columns compute as long whatever their number",
        place: "section 6.2",
        ours: Some("within 10 %"),
        judge: |context| by_fig2(context, |context| expect::constant(context, &columns("0.1"), "cpu")),
    },
    Claim {
        id: "fig3.bound_by_computing",
        text: "At 50 % both compute longer than they read",
        place: "section 6.2",
        ours: Some("reading at 70 MB/s; of columns and rows, all ten returned"),
        judge: |context| {
            by_fig2(context, |context| {
                let bound = |at: [(&str, &str); 2]| {
                    let (_, elapsed) = expect::line(context, &at, PAPER).pop()?;
                    let (_, computing) = expect::line(context, &at, "cpu").pop()?;
                    Some(Expectation::alike(expect::named(&at), elapsed, computing, 1.01))
                };
                [rows("50"), columns("50")].into_iter().filter_map(bound).collect()
            })
        },
    },
];
