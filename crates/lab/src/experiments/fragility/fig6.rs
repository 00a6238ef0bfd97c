//! Figure 6: the best layouts, and how many can't be told from them.

use super::fig4::of_fig4;
use super::micro::{CONSTANT, LOOP, OWN, QUESTIONS, RUN_TIME, cell, cells, label, layouts, schemas};
use super::setups::set_up_names;
use super::source::{MicroQuery, Schema};
use crate::experiment::{
    Claim, Context, Design, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Point,
};
use crate::statistics::{Summary, best_class};
use std::collections::BTreeSet;

/// The experiment.
pub static FIG6: Experiment = Experiment {
    name: "fragility.fig6",
    title: "The best layouts",
    place: "runtime-fragility paper, section 4.2, figure 6",
    about: "From fragility.fig4: for each schema and query the layout and set-up of the smallest mean, with its interval, and how many \
            layouts and set-ups the paper's rule can't tell from it.",
    uses: &["fragility.fig4"],
    design: |bench| {
        Ok(Design {
            factors: vec![
                Factor::new("schema", "", schemas(bench).into_iter().map(Schema::name)),
                Factor::new("query", "", QUESTIONS.map(MicroQuery::name)),
                Factor::new("layout", "records of a chunk", layouts(bench).into_iter().map(|chunk| chunk.name())),
                Factor::new("chunks", "", [OWN, CONSTANT, RUN_TIME]),
                Factor::new("setup", "", set_up_names()),
            ],
            ..Design::default()
        })
    },
    derive: Some(|context| {
        let Some(context) = of_fig4(context) else { return Vec::new() };
        let best = |(schema, query): (&str, &str)| {
            let class = class(&cell(&context, schema, query))?;
            let mut best = class[0].clone();
            best.metrics.retain(|name, _| *name == LOOP);
            let layouts: BTreeSet<&str> = class.iter().map(|point| point.level("layout")).collect();
            best.facts = [("class", class.len() as f64), ("layouts_in_class", layouts.len() as f64)].into();
            Some(best)
        };
        cells(&context).into_iter().filter_map(best).collect()
    }),
    figures: &[Figure {
        title: "Time of a record in the best layout and set-up",
        kind: FigureKind::Bars,
        x: "schema",
        series: "query",
        panels: &[],
        metric: LOOP,
        axis: "cycles per record",
        only: &[],
    }],
    claims: &CLAIMS,
};

/// The points that the paper's rule can't tell from the best, that first.
fn class<'p>(points: &[&'p Point]) -> Option<Vec<&'p Point>> {
    let summaries: Vec<&Summary> = points.iter().filter_map(|point| point.summary(LOOP)).collect();
    let class = best_class(&summaries).filter(|_| summaries.len() == points.len())?;
    let others = class.members.iter().filter(|member| **member != class.best);
    Some([class.best].iter().chain(others).map(|member| points[*member]).collect())
}

/// Judges each schema and query that `which` takes by the class of the best.
fn by_class(
    context: &Context<'_>,
    which: impl Fn(&str) -> bool,
    judge: impl Fn(&Context<'_>, (&str, &str), &[&Point]) -> Option<Expectation>,
) -> Judgement {
    let Some(context) = of_fig4(context) else { return Judgement::unknown("fragility.fig4 did not run") };
    let each = |(schema, query)| judge(&context, (schema, query), &class(&cell(&context, schema, query))?);
    let cells = cells(&context).into_iter().filter(|(schema, _)| which(schema));
    Expectation::judge(cells.filter_map(each).collect())
}

/// Bytes of a value of a schema.
fn bytes(schema: &str) -> usize {
    Schema::ALL.into_iter().find(|known| known.name() == schema).map_or(1, Schema::bytes)
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig6.near_column",
        text: "The best layout is near columns",
        place: "section 4.2: of the three newer machines",
        ours: Some("near: columns, or chunks of 512 records and more"),
        judge: |context| {
            by_class(
                context,
                |_| true,
                |_, (schema, query), class| {
                    let layout = class[0].level("layout");
                    let met = layout == "column" || layout.parse::<usize>().is_ok_and(|k| k >= 512);
                    Some(Expectation::plain(format!("{schema} {query}"), label(class[0]), met))
                },
            )
        },
    },
    Claim {
        id: "fig6.page",
        text: "Among the best are chunks, or columns of chunks, that fill a page of 4 KiB",
        place: "section 4.2",
        ours: Some("among the best: not told from it by the paper's rule"),
        judge: |context| {
            by_class(
                context,
                |_| true,
                |_, (schema, query), class| {
                    let column = 4096 / bytes(schema);
                    let fills = |point: &&&Point| {
                        point.level("layout").parse::<usize>().is_ok_and(|k| k == column || k == column / 4)
                    };
                    let found = class.iter().find(fills);
                    let figures = found.map_or_else(
                        || format!("none of {}, of which the best is {}", class.len(), label(class[0])),
                        |point| label(point),
                    );
                    Some(Expectation::plain(format!("{schema} {query}"), figures, found.is_some()))
                },
            )
        },
    },
    Claim {
        id: "fig6.compiler",
        text: "For int and long the set-up does not change which layout is best",
        place: "section 4.3",
        ours: Some("the best layout is in the class of the best of every set-up"),
        judge: |context| {
            by_class(
                context,
                |schema| schema != "char",
                |context, (schema, query), best| {
                    let all = cell(context, schema, query);
                    let layout = best[0].level("layout");
                    let set_ups: BTreeSet<&str> = all.iter().map(|point| point.level("setup")).collect();
                    let differs = |set_up: &&&str| {
                        let own: Vec<&Point> =
                            all.iter().filter(|point| point.level("setup") == **set_up).copied().collect();
                        class(&own).is_some_and(|class| class.iter().all(|point| point.level("layout") != layout))
                    };
                    let others: Vec<&str> = set_ups.iter().filter(differs).copied().collect();
                    let figures = format!(
                        "{}; another is best for {} of {} set-ups",
                        label(best[0]),
                        others.len(),
                        set_ups.len()
                    );
                    Some(Expectation::plain(format!("{schema} {query}"), figures, others.is_empty()))
                },
            )
        },
    },
];
