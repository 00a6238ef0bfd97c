//! Figure 3 and section 3.2: the paper's worked example of confidence intervals.

use crate::experiment::{Claim, Context, Design, Expectation, Experiment, Factor, Figure, FigureKind, Measured, Point};
use crate::statistics::{Interval, Summary, compare};
use std::cmp::Ordering;

/// The experiment.
pub static FIG3: Experiment = Experiment {
    name: "fragility.fig3",
    title: "Intervals of two layouts",
    place: "runtime-fragility paper, sections 3.1 and 3.2, figure 3",
    about: "The two samples of the paper's figure 3, five runs each: the intervals that it prints, and those that its formula gives.",
    uses: &[],
    design: |_| {
        Ok(Design {
            factors: vec![
                Factor::new("layout", "", SAMPLES.map(|sample| sample.layout)),
                Factor::new("end", "", ["low", "high"]),
                Factor::new("by", "", [PRINTED, FORMULA]),
            ],
            found: SAMPLES.iter().flat_map(points).collect(),
            ..Design::default()
        })
    },
    derive: None,
    figures: &[Figure {
        title: "Ends of the intervals",
        kind: FigureKind::Bars,
        x: "end",
        series: "by",
        panels: &["layout"],
        metric: "found_seconds",
        axis: "seconds",
        only: &[],
    }],
    claims: &CLAIMS,
};

const PRINTED: &str = "as printed";
const FORMULA: &str = "by the formula";
/// A layout's runs, and the interval that the paper prints of them.
struct PaperSample {
    layout: &'static str,
    seconds: [f64; 5],
    printed: Interval,
}

const SAMPLES: [PaperSample; 2] = [
    PaperSample { layout: "A", seconds: [1.4, 2.0, 1.9, 1.85, 1.6], printed: Interval { low: 0.23, high: 3.27 } },
    PaperSample { layout: "B", seconds: [1.83, 1.82, 1.86, 1.80, 1.79], printed: Interval { low: 1.65, high: 1.99 } },
];

fn points(sample: &PaperSample) -> Vec<Point> {
    let PaperSample { layout, seconds, printed } = sample;
    let interval = Summary::of_all(seconds).interval;
    let ends = [
        ("low", PRINTED, printed.low),
        ("high", PRINTED, printed.high),
        ("low", FORMULA, interval.low),
        ("high", FORMULA, interval.high),
    ];
    let point = |(end, by, seconds): (&str, &str, f64)| Point {
        levels: [("layout", (*layout).to_owned()), ("end", end.to_owned()), ("by", by.to_owned())].into(),
        metrics: [("found_seconds", Measured::new("s".to_owned(), vec![seconds]))].into(),
        ..Point::default()
    };
    ends.map(point).into()
}

fn end(context: &Context<'_>, layout: &str, end: &str, by: &str) -> Option<f64> {
    let at = [("layout", layout), ("end", end), ("by", by)];
    Some(context.findings.get(&at)?.summary("found_seconds")?.mean)
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "fig3.intervals",
        text: "The intervals of A and B are (0.23, 3.27) and (1.65, 1.99)",
        place: "section 3.2",
        ours: Some("as the formula that is printed there gives them, to two digits"),
        judge: |context| {
            let each = |(layout, side)| {
                let (printed, found) = (end(context, layout, side, PRINTED)?, end(context, layout, side, FORMULA)?);
                let figures = format!("{found:.2}, {printed:.2} printed");
                Some(Expectation::plain(format!("{layout}, {side}"), figures, (found - printed).abs() < 0.005))
            };
            let all = [("A", "low"), ("A", "high"), ("B", "low"), ("B", "high")];
            Expectation::judge(all.into_iter().filter_map(each).collect())
        },
    },
    Claim {
        id: "fig3.not_told_apart",
        text: "The means of 1.75 and 1.82 s don't make A the better layout",
        place: "section 3.1",
        ours: Some("by the paper's rule of section 3.4 the two can't be told apart"),
        judge: |_| {
            let [a, b] = SAMPLES.map(|sample| Summary::of_all(&sample.seconds));
            let told = compare(&a, &b);
            let figures = format!("{:.2} against {:.2} s", a.mean, b.mean);
            Expectation::judge(vec![Expectation::plain("A and B", figures, told.order == Ordering::Equal)])
        },
    },
];
