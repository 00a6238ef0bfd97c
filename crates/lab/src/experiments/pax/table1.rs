//! Table 1: the characteristics of the layouts, computed from what other experiments found.

use super::expect::points;
use crate::experiment::{
    Claim, Context, Design, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Measured, Point,
};
use gingham::storage::model::HeapLayout;

/// The experiment.
pub static TABLE1: Experiment = Experiment {
    name: "pax.table1",
    title: "Locality and cost of reconstruction",
    place: "PAX paper, section 3.3, table 1",
    about: "Computed from pax.fig7, whose misses of the second level at 1 % tell the locality between records, as multiples of \
            NSM's, and from pax.fig8: what each further projected attribute adds to the time of a record, as multiples of NSM's.",
    uses: &["pax.fig7", "pax.fig8"],
    design: |_| {
        Ok(Design {
            factors: vec![
                Factor::new("characteristic", "", [LOCALITY, RECONSTRUCTION]),
                Factor::new("layout", "", HeapLayout::ALL.map(HeapLayout::name)),
            ],
            notes: vec![
                "Means of means have no intervals. Misses are simulated, times are not: see pax.fig7 and pax.fig8."
                    .to_owned(),
            ],
            ..Design::default()
        })
    },
    derive: Some(derive),
    figures: &[Figure {
        title: "Misses of a scan, and what an attribute adds",
        kind: FigureKind::Bars,
        x: "characteristic",
        series: "layout",
        panels: &[],
        metric: "found_ratio",
        axis: "of NSM's",
        only: &[],
    }],
    claims: &CLAIMS,
};

const LOCALITY: &str = "misses of a scan";
const RECONSTRUCTION: &str = "cost of an attribute";

fn derive(context: &Context<'_>) -> Vec<Point> {
    let misses = |layout: &str| {
        let findings = context.of("pax.fig7")?;
        let own = Context { findings, ..*context };
        Some(points(&own, layout, &[("selectivity", "1")]).first()?.summary("l2_misses")?.mean)
    };
    let added = |layout: &str| {
        let findings = context.of("pax.fig8")?;
        let own = Context { findings, ..*context };
        let at = |number| {
            let at = [("varied", "projectivity"), ("attributes", number)];
            Some(points(&own, layout, &at).first()?.time()?.mean)
        };
        Some((at("7")? - at("1")?) / 6.0)
    };
    let mut found = Vec::new();
    for layout in HeapLayout::ALL.map(HeapLayout::name) {
        let ratio = |of: &dyn Fn(&str) -> Option<f64>| Some(of(layout)? / of("nsm")?);
        for (name, ratio) in [(LOCALITY, ratio(&misses)), (RECONSTRUCTION, ratio(&added))] {
            let Some(ratio) = ratio else { continue };
            found.push(Point {
                levels: [("characteristic", name.to_owned()), ("layout", layout.to_owned())].into(),
                metrics: [("found_ratio", Measured::new("ratio".to_owned(), vec![ratio]))].into(),
                ..Point::default()
            });
        }
    }
    found
}

fn ratio(context: &Context<'_>, characteristic: &str, layout: &str) -> Option<f64> {
    let found = points(context, layout, &[("characteristic", characteristic)]);
    found.first()?.summary("found_ratio").map(|ratio| ratio.mean)
}

/// Judges whether, for the layouts given, the ratio meets something.
fn judge(context: &Context<'_>, characteristic: &str, layouts: &[&str], met: fn(f64) -> bool) -> Judgement {
    let each = |layout: &&str| {
        let ratio = ratio(context, characteristic, layout)?;
        Some(Expectation::plain(*layout, format!("{ratio:.2} of NSM's"), met(ratio)))
    };
    Expectation::judge(layouts.iter().filter_map(each).collect())
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "table1.locality",
        text: "PAX and DSM have locality between records, NSM has not",
        place: "table 1",
        ours: Some("locality: at most 0.8 of NSM's misses"),
        judge: |context| judge(context, LOCALITY, &["pax", "dsm"], |ratio| ratio <= 0.8),
    },
    Claim {
        id: "table1.reconstruction",
        text: "PAX reconstructs records at low cost, as NSM does",
        place: "table 1",
        ours: Some("low: an attribute adds at most twice what it adds to NSM"),
        judge: |context| judge(context, RECONSTRUCTION, &["pax"], |ratio| ratio <= 2.0),
    },
    Claim {
        id: "table1.dsm",
        text: "DSM does not",
        place: "table 1",
        ours: Some("an attribute adds at least four times what it adds to NSM"),
        judge: |context| judge(context, RECONSTRUCTION, &["dsm"], |ratio| ratio >= 4.0),
    },
];
