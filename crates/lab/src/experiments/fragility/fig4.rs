//! Figure 4 and Table 3: how much the compilation set-up changes the time of a layout, and of the best and the worst of all.

use super::micro::{LOOP, cell, cells, design, label, median, schemas};
use super::source::Schema;
use crate::experiment::{
    Claim, Context, Design, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Measured, Point,
};
use std::collections::BTreeMap;

/// Figure 4: all measurements.
pub static FIG4: Experiment = Experiment {
    name: "fragility.fig4",
    title: "Time of each layout over compilation set-ups",
    place: "runtime-fragility paper, section 4.1, figure 4",
    about: "Q1, select min(a + b + c + d), and Q2, select sum(a * b * c * d), over four columns of 1, 4 or 8 bytes in rows, in chunks of \
            2 to 2^16 records and in columns. A program is compiled for each set-up: gcc, clang and rustc where they are here, -O1 to \
            -O3; chunk sizes are constants of a function each, or given at run time. Programs run pinned, one at a time, over \
            read-only mappings that they share, and tell their own time. Sums are of 32 bits (64 of long), products of 64, values even: \
            the paper says none of it. A box is of the medians of all set-ups. Times of all programs are compared with plain loops' \
            answers. Intervals are Student's for every number of runs, where the paper takes the normal distribution's from 30 on. Quick \
            runs have char alone and fewer chunks.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Overhead over the best set-up and layout, cut at 250 %",
        kind: FigureKind::Boxes,
        x: "layout",
        series: "setup",
        panels: &["schema", "query"],
        metric: LOOP,
        axis: "% over the best",
        only: &[],
    }],
    claims: &FIG4_CLAIMS,
};

/// Table 3.
pub static TABLE3: Experiment = Experiment {
    name: "fragility.table3",
    title: "The worst over the best",
    place: "runtime-fragility paper, section 4.1, table 3",
    about: "From fragility.fig4: the largest median time over the smallest, over all set-ups and layouts.",
    uses: &["fragility.fig4"],
    design: |bench| {
        Ok(Design {
            factors: vec![
                Factor::new("schema", "", schemas(bench).into_iter().map(Schema::name)),
                Factor::new("query", "", super::micro::QUESTIONS.map(super::source::MicroQuery::name)),
            ],
            ..Design::default()
        })
    },
    derive: Some(|context| {
        let Some(context) = of_fig4(context) else { return Vec::new() };
        let point = |(schema, query): (&'static str, &'static str)| {
            let (best, worst) = extremes(&cell(&context, schema, query))?;
            Some(Point {
                levels: [("schema", schema.to_owned()), ("query", query.to_owned())].into(),
                metrics: [("found_ratio", Measured::new(String::new(), vec![worst.0 / best.0]))].into(),
                ..Point::default()
            })
        };
        cells(&context).into_iter().filter_map(point).collect()
    }),
    figures: &[Figure {
        title: "Worst median over best",
        kind: FigureKind::Bars,
        x: "schema",
        series: "query",
        panels: &[],
        metric: "found_ratio",
        axis: "times",
        only: &[],
    }],
    claims: &TABLE3_CLAIMS,
};

/// The context of figure 4's results, for experiments that are computed from them.
pub fn of_fig4<'a>(context: &Context<'a>) -> Option<Context<'a>> {
    Some(Context { findings: context.of(FIG4.name)?, ..*context })
}

/// A median, and whose it is.
type MedianOf<'p> = (f64, &'p Point);

/// The smallest and the largest median.
fn extremes<'p>(points: &[&'p Point]) -> Option<(MedianOf<'p>, MedianOf<'p>)> {
    let medians = || points.iter().filter_map(|point| Some((median(point)?, *point)));
    let by_time = |a: &(f64, &Point), b: &(f64, &Point)| a.0.total_cmp(&b.0);
    Some((medians().min_by(by_time)?, medians().max_by(by_time)?))
}

/// Judges a claim on the worst over the best of each schema and query that `which` takes.
fn by_extremes(context: &Context<'_>, which: impl Fn(&str) -> bool, met: impl Fn(f64) -> bool) -> Judgement {
    let Some(context) = of_fig4(context) else { return Judgement::unknown("fragility.fig4 did not run") };
    let each = |(schema, query): (&str, &str)| {
        let (best, worst) = extremes(&cell(&context, schema, query))?;
        let ratio = worst.0 / best.0;
        let figures = format!("{ratio:.2} times: {} against {}", label(worst.1), label(best.1));
        Some(Expectation::plain(format!("{schema} {query}"), figures, met(ratio)))
    };
    let cells = cells(&context).into_iter().filter(|(schema, _)| which(schema));
    Expectation::judge(cells.filter_map(each).collect())
}

static FIG4_CLAIMS: [Claim; 1] = [Claim {
    id: "fig4.within_a_layout",
    text: "For Q2 on char the set-up alone makes most layouts 0.5 times slower than the best",
    place: "section 4.1",
    ours: Some(
        "the slowest set-up of a layout less its fastest, over the best of all: at least 0.5 in more than half of the layouts",
    ),
    judge: |context| {
        let points = cell(context, "char", "Q2");
        let mut layouts: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
        points.iter().for_each(|point| layouts.entry(point.level("layout")).or_default().push(point));
        let Some((best, _)) = extremes(&points) else {
            return Judgement::unknown("nothing was measured that could tell");
        };
        let spread = |of: &Vec<&Point>| extremes(of).map(|(least, most)| (most.0 - least.0) / best.0);
        let spreads: Vec<f64> = layouts.values().filter_map(spread).collect();
        let wide = spreads.iter().filter(|spread| **spread >= 0.5).count();
        let figures = format!("{wide} of {} layouts", spreads.len());
        Expectation::judge(vec![Expectation::plain("char Q2", figures, 2 * wide > spreads.len())])
    },
}];

static TABLE3_CLAIMS: [Claim; 3] = [
    Claim {
        id: "table3.char_most",
        text: "The worst over the best is larger for char than for int and long, for both queries",
        place: "table 3",
        ours: None,
        judge: |context| {
            let Some(context) = of_fig4(context) else { return Judgement::unknown("fragility.fig4 did not run") };
            let ratio = |schema: &str, query: &str| {
                let (best, worst) = extremes(&cell(&context, schema, query))?;
                Some(worst.0 / best.0)
            };
            let each = |(schema, query): (&str, &str)| {
                let (char, other) = (ratio("char", query)?, ratio(schema, query)?);
                let figures = format!("{char:.2} against {other:.2}");
                Some(Expectation::plain(format!("{query}, char and {schema}"), figures, char > other))
            };
            let others = cells(&context).into_iter().filter(|(schema, _)| *schema != "char");
            Expectation::judge(others.filter_map(each).collect())
        },
    },
    Claim {
        id: "table3.char",
        text: "For char the worst is at least 3.3 times the best",
        place: "table 3: the smallest of its numbers for char",
        ours: None,
        judge: |context| by_extremes(context, |schema| schema == "char", |ratio| ratio >= 3.3),
    },
    Claim {
        id: "table3.long",
        text: "For long the worst is at most 2 times the best",
        place: "table 3: the largest of its numbers for long",
        ours: None,
        judge: |context| by_extremes(context, |schema| schema == "long", |ratio| ratio <= 2.0),
    },
];
