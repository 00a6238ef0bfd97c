//! Scans of one column over widths, operators and selectivities: the ground of figure 9, and figures 16 to 18, which vary
//! one thing of it each (appendices C and D).

use super::expect::{between, faster};
use super::scan::{self, Case, SELECTIVITY, sign, test};
use crate::experiment::{
    Bench, Claim, Context, Design, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Sizing, Trial,
    levels,
};
use gingham_kernels::packing::{Operator, Options};

/// Packings that ByteSlice is compared with in the paper.
pub const RIVALS: [&str; 3] = ["bit_packed", "hbp", "vbp"];

/// Scans with each of `operators` at each of `selectivities` over all widths, in memory and in cache.
pub fn design(bench: &Bench, operators: &'static [Operator], selectivities: &'static [f64]) -> Design {
    let packings = scan::packings();
    let mut trials = Vec::new();
    for sizing in [Sizing::Memory, Sizing::Cache] {
        for width in bench.widths() {
            let packings = packings.clone();
            trials.push(Trial {
                name: format!("{} at {width} bits", sizing.name()),
                setup: Box::new(move |bench| {
                    let cases = operators.iter().flat_map(|operator| {
                        selectivities.iter().map(|part| Case {
                            levels: levels(&[("operator", &sign(*operator)), ("selectivity", &percent(*part))]),
                            test: test(*operator, width, *part),
                            options: Options::default(),
                        })
                    });
                    scan::variants(bench, sizing, width, &packings, cases.collect())
                }),
            });
        }
    }
    let factors = vec![
        Factor::new("size", "", [Sizing::Memory.name(), Sizing::Cache.name()]),
        Factor::new("width", "bits", bench.widths()),
        Factor::new("operator", "", operators.iter().map(|operator| sign(*operator))),
        Factor::new("selectivity", "%", selectivities.iter().map(|part| percent(*part))),
        Factor::new("packing", "", &packings),
    ];
    Design { factors, trials, ..Design::default() }
}

/// A part in percent, as a level.
fn percent(part: f64) -> String {
    format!("{:.0}", part * 100.0)
}

/// Time over widths, a panel for each of the other factors' levels.
pub const FIGURE: Figure = Figure {
    title: "Time of a scan",
    kind: FigureKind::Lines,
    x: "width",
    series: "packing",
    panels: &["size", "operator"],
    metric: "time",
    axis: "cycles per code",
    only: &[],
};

/// ByteSlice is the fastest of the four at every width.
pub fn fastest(context: &Context<'_>, at: &[(&str, &str)]) -> Judgement {
    Expectation::judge(faster(context, "byteslice", &RIVALS, 1.0, at))
}

/// Figure 16.
pub static FIG16: Experiment = Experiment {
    name: "byteslice.fig16",
    title: "Scans with >, >= and <=",
    place: "ByteSlice paper, appendix C, figure 16",
    about: "As byteslice.fig9, with the other three operators.",
    uses: &[],
    design: |bench| Ok(design(bench, &[Operator::Greater, Operator::AtLeast, Operator::AtMost], &[SELECTIVITY])),
    derive: None,
    figures: &[FIGURE],
    claims: &[Claim {
        id: "fig16.fastest",
        text: "With >, >= and <= too, ByteSlice scans faster than bit-packed, HBP and VBP at every width",
        place: "appendix C",
        ours: None,
        judge: |context| fastest(context, &[("size", "memory"), ("selectivity", "10")]),
    }],
};

/// The time does not depend on the selectivity.
fn unaffected(context: &Context<'_>, selectivity: &str) -> Judgement {
    let mut all = Vec::new();
    for packing in ["bit_packed", "hbp", "vbp", "byteslice"] {
        let alike = |label, a: &_, b: &_| Expectation::alike(label, a, b, 1.1);
        all.extend(between(context, packing, "selectivity", (selectivity, "10"), &[("size", "memory")], alike));
    }
    Expectation::judge(all)
}

const UNAFFECTED: Option<&str> = Some("not affected: within a factor of 1.1 of the time at 10 %, either way");
const TWO_SELECTIVITIES: Figure = Figure { panels: &["size", "operator", "selectivity"], ..FIGURE };

/// Figure 17.
pub static FIG17: Experiment = Experiment {
    name: "byteslice.fig17",
    title: "Scans that select 90 %",
    place: "ByteSlice paper, appendix D, figure 17",
    about: "As byteslice.fig9 with <, at 90 %, and at 10 % beside it.",
    uses: &[],
    design: |bench| Ok(design(bench, &[Operator::Less], &[0.9, SELECTIVITY])),
    derive: None,
    figures: &[TWO_SELECTIVITIES],
    claims: &[
        Claim {
            id: "fig17.unaffected",
            text: "On even data the time of a scan is not affected by its selectivity (90 %)",
            place: "appendix D",
            ours: UNAFFECTED,
            judge: |context| unaffected(context, "90"),
        },
        Claim {
            id: "fig17.fastest",
            text: "At 90 % ByteSlice scans faster than bit-packed, HBP and VBP at every width",
            place: "appendix D",
            ours: None,
            judge: |context| fastest(context, &[("size", "memory"), ("selectivity", "90")]),
        },
    ],
};

/// Figure 18.
pub static FIG18: Experiment = Experiment {
    name: "byteslice.fig18",
    title: "Scans that select 1 %",
    place: "ByteSlice paper, appendix D, figure 18",
    about: "As byteslice.fig9 with <, at 1 %, and at 10 % beside it.",
    uses: &[],
    design: |bench| Ok(design(bench, &[Operator::Less], &[0.01, SELECTIVITY])),
    derive: None,
    figures: &[TWO_SELECTIVITIES],
    claims: &[
        Claim {
            id: "fig18.unaffected",
            text: "On even data the time of a scan is not affected by its selectivity (1 %)",
            place: "appendix D",
            ours: UNAFFECTED,
            judge: |context| unaffected(context, "1"),
        },
        Claim {
            id: "fig18.fastest",
            text: "At 1 % ByteSlice scans faster than bit-packed, HBP and VBP at every width",
            place: "appendix D",
            ours: None,
            judge: |context| fastest(context, &[("size", "memory"), ("selectivity", "1")]),
        },
    ],
};
