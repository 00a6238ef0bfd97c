//! Figure 10 and section 4.1.2: what early stop is worth.

use super::expect::{at_widths, between, fewest_instructions, points};
use super::scan::{self, Case, SELECTIVITY, test};
use crate::experiment::{
    Bench, Claim, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Point, Sizing, Trial, levels,
};
use gingham_kernels::packing::{Operator, Options};

/// The experiment.
pub static FIG10: Experiment = Experiment {
    name: "byteslice.fig10",
    title: "Early stop on and off",
    place: "ByteSlice paper, section 4.1.2, figure 10",
    about: "Scans with v < c that selects 10 % of evenly distributed codes, VBP and ByteSlice, with early stop and without.",
    uses: &[],
    design,
    derive: None,
    figures: &[
        FIGURE,
        Figure { title: "Instructions of a scan", metric: "instructions", axis: "instructions per code", ..FIGURE },
    ],
    claims: &CLAIMS,
};

const FIGURE: Figure = Figure {
    title: "Time of a scan",
    kind: FigureKind::Lines,
    x: "width",
    series: "packing",
    panels: &["size", "early_stop"],
    metric: "time",
    axis: "cycles per code",
    only: &[],
};

/// Levels of early stop.
const STOPS: [(&str, bool); 2] = [("on", true), ("off", false)];

fn design(bench: &Bench) -> Result<Design, Error> {
    let packings = scan::named(&["vbp", "byteslice"]);
    let mut trials = Vec::new();
    for sizing in [Sizing::Memory, Sizing::Cache] {
        for width in bench.widths() {
            let packings = packings.clone();
            let case = move |(level, early_stop): (&str, bool)| Case {
                levels: levels(&[("early_stop", &level)]),
                test: test(Operator::Less, width, SELECTIVITY),
                options: Options { early_stop, ..Options::default() },
            };
            trials.push(Trial {
                name: format!("{} at {width} bits", sizing.name()),
                setup: Box::new(move |bench| scan::variants(bench, sizing, width, &packings, STOPS.map(case).into())),
            });
        }
    }
    let factors = vec![
        Factor::new("size", "", [Sizing::Memory.name(), Sizing::Cache.name()]),
        Factor::new("width", "bits", bench.widths()),
        Factor::new("early_stop", "", STOPS.map(|(level, _)| level)),
        Factor::new("packing", "", &packings),
    ];
    Ok(Design { factors, trials, ..Design::default() })
}

/// Early stop on is faster than off, where there is something left to stop before.
fn helps(context: &crate::experiment::Context<'_>, size: &'static str) -> Vec<Expectation> {
    // A ByteSlice column of one slice has nothing to stop before, and VBP looks after four bits first.
    let mut all = Vec::new();
    for (packing, least) in [("byteslice", 9), ("vbp", 5)] {
        for point in at_widths(points(context, packing, &[("size", size), ("early_stop", "on")]), least..=32) {
            let off = context.findings.beside(point, "early_stop", "off");
            if let (Some(on), Some(off)) = (point.time(), off.and_then(Point::time)) {
                all.push(Expectation::less(format!("{packing} at {} bits", point.level("width")), on, off, 1.0));
            }
        }
    }
    all
}

static CLAIMS: [Claim; 4] = [
    Claim {
        id: "fig10.helps",
        text: "Early stop makes scans of both VBP and ByteSlice faster",
        place: "section 4.1.2, figure 10a",
        ours: Some("at widths that leave something to stop before: from 9 bits on for ByteSlice, from 5 for VBP"),
        judge: |context| Expectation::judge(helps(context, "memory")),
    },
    Claim {
        id: "fig10.helps_in_cache",
        text: "The same of columns that fit the second cache",
        place: "not in the paper",
        ours: Some("the claim is ours"),
        judge: |context| Expectation::judge(helps(context, "cache")),
    },
    Claim {
        id: "fig10.ahead_without",
        text: "Without early stop ByteSlice still scans faster than VBP",
        place: "section 4.1.2, figure 10a",
        ours: None,
        judge: |context| {
            let at = [("size", "memory"), ("early_stop", "off")];
            let less = |label, a: &_, b: &_| Expectation::less(label, a, b, 1.0);
            Expectation::judge(between(context, "byteslice", "packing", ("byteslice", "vbp"), &at, less))
        },
    },
    Claim {
        id: "fig10.instructions",
        text: "Without early stop ByteSlice takes fewer instructions than VBP",
        place: "section 4.1.2, figure 10b",
        ours: None,
        judge: |context| {
            fewest_instructions(context, "byteslice", &["vbp"], &[("size", "memory"), ("early_stop", "off")])
        },
    },
];
