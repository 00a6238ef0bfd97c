//! Figure 5: char, with chunks that the compiler does not know.

use super::fig4::of_fig4;
use super::micro::{LOOP, OWN, QUESTIONS, RUN_TIME, cell, layouts};
use super::setups::set_up_names;
use super::source::MicroQuery;
use crate::experiment::{
    Claim, Context, Design, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Point,
};
use crate::statistics::Summary;

/// The experiment.
pub static FIG5: Experiment = Experiment {
    name: "fragility.fig5",
    title: "Set-ups over chunks that are given at run time, char",
    place: "runtime-fragility paper, section 4.1, figure 5",
    about: "From fragility.fig4: char, by set-up, with chunk sizes that are given at run time, from 1 on. Rows and columns by loops of \
            their own are in the table of results.",
    uses: &["fragility.fig4"],
    design: |bench| {
        let chunks = layouts(bench).into_iter().map(|chunk| chunk.name()).filter(|name| name != "row");
        Ok(Design {
            factors: vec![
                Factor::new("query", "", QUESTIONS.map(MicroQuery::name)),
                Factor::new("chunk", "records", ["row".to_owned(), "1".to_owned()].into_iter().chain(chunks)),
                // The set-ups are those of figure 4, which only its run knows.
                Factor::new("setup", "", set_up_names()),
            ],
            ..Design::default()
        })
    },
    derive: Some(|context| {
        let Some(context) = of_fig4(context) else { return Vec::new() };
        let shown = |point: &&Point| [OWN, RUN_TIME].contains(&point.level("chunks"));
        let point = |(query, point): (MicroQuery, &Point)| {
            let layout = match (point.level("layout"), point.level("chunks")) {
                ("row", RUN_TIME) => "1",
                (layout, _) => layout,
            };
            let metrics = point.metrics.iter().filter(|(name, _)| **name == LOOP);
            Point {
                levels: [
                    ("query", query.name().to_owned()),
                    ("chunk", layout.to_owned()),
                    ("setup", point.level("setup").to_owned()),
                ]
                .into(),
                metrics: metrics.map(|(name, measured)| (*name, measured.clone())).collect(),
                ..Point::default()
            }
        };
        let all = QUESTIONS.into_iter().flat_map(|query| {
            cell(&context, "char", query.name()).into_iter().filter(shown).map(move |point| (query, point))
        });
        all.map(point).collect()
    }),
    figures: &[Figure {
        title: "Time of a record",
        kind: FigureKind::PowerLines,
        x: "chunk",
        series: "setup",
        panels: &["query"],
        metric: LOOP,
        axis: "cycles per record",
        only: &[],
    }],
    claims: &CLAIMS,
};

/// The times of a query at a chunk size, by set-up.
fn times<'a>(context: &Context<'a>, query: &str, chunk: &str) -> Vec<(&'a str, &'a Summary)> {
    let points = context.findings.points.iter();
    let points = points.filter(|point| point.level("query") == query && point.level("chunk") == chunk);
    points.filter_map(|point| Some((point.level("setup"), point.summary(LOOP)?))).collect()
}

/// The chunk sizes that were measured, ascending.
fn measured_chunks(context: &Context<'_>) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        context.findings.points.iter().filter_map(|point| point.level("chunk").parse().ok()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// For each set-up that `which` takes, its slowest chunk size is 1 or 2.
fn short_loops_worst(context: &Context<'_>, queries: &[MicroQuery], which: impl Fn(&str) -> bool) -> Judgement {
    let mut expectations = Vec::new();
    for query in queries {
        let mut slowest: Vec<(&str, usize, &Summary)> = Vec::new();
        for size in measured_chunks(context) {
            for (set_up, time) in times(context, query.name(), &size.to_string()) {
                match slowest.iter_mut().find(|(known, _, _)| *known == set_up) {
                    Some(known) if known.2.mean < time.mean => *known = (set_up, size, time),
                    Some(_) => {}
                    None => slowest.push((set_up, size, time)),
                }
            }
        }
        for (set_up, size, _) in slowest.into_iter().filter(|(set_up, _, _)| which(set_up)) {
            let label = format!("{}, {set_up}", query.name());
            expectations.push(Expectation::plain(label, format!("chunks of {size} take longest"), size <= 2));
        }
    }
    Expectation::judge(expectations)
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig5.gcc_slow",
        text: "gcc -O1 and -O2 take at least 3 times the best set-up's time for Q1 above chunks of 8",
        place: "section 4.1",
        ours: Some("where gcc is"),
        judge: |context| {
            let mut expectations = Vec::new();
            for size in measured_chunks(context).into_iter().filter(|size| *size > 8) {
                let all = times(context, MicroQuery::Min.name(), &size.to_string());
                let best = all.iter().min_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
                for (set_up, time) in all.iter().filter(|(set_up, _)| ["gcc -O1", "gcc -O2"].contains(set_up)) {
                    let label = format!("chunks of {size}, {set_up}");
                    expectations.extend(best.map(|(_, best)| Expectation::less(label, best, time, 1.0 / 3.0)));
                }
            }
            Expectation::judge(expectations)
        },
    },
    Claim {
        id: "fig5.short_loops",
        text: "Loops over chunks of 1 and 2 are the slowest, whatever the set-up",
        place: "section 4.1",
        ours: Some("of each set-up, for both queries"),
        judge: |context| short_loops_worst(context, &QUESTIONS, |_| true),
    },
    Claim {
        id: "fig5.worst_of_all",
        text: "The longest time of Q1 is that of gcc -O3 over chunks of 1 or 2",
        place: "section 4.1",
        ours: Some("where gcc is"),
        judge: |context| {
            let of_size = |size: usize| {
                let all = times(context, MicroQuery::Min.name(), &size.to_string());
                all.into_iter().map(move |(set_up, time)| (set_up, size, time))
            };
            let all: Vec<_> = measured_chunks(context).into_iter().flat_map(of_size).collect();
            if !all.iter().any(|(set_up, _, _)| *set_up == "gcc -O3") {
                return Judgement::unknown("gcc -O3 was not measured");
            }
            let worst = all.iter().max_by(|a, b| a.2.mean.total_cmp(&b.2.mean));
            let told = worst.map(|(set_up, size, _)| {
                let met = *set_up == "gcc -O3" && *size <= 2;
                Expectation::plain("Q1", format!("{set_up} over chunks of {size} takes longest"), met)
            });
            Expectation::judge(told.into_iter().collect())
        },
    },
];
