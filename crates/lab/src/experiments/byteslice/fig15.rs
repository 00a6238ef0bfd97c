//! Figure 15 and appendix A: slices of 16 bits against slices of 8.

use super::expect::{against, faster};
use super::lookup;
use super::scan::{self, Case, SELECTIVITY, test};
use crate::experiment::{
    Bench, Claim, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Sizing, Trial, Variant, levels,
};
use gingham_kernels::packing::{Operator, Options, Packing};

/// The experiment.
pub static FIG15: Experiment = Experiment {
    name: "byteslice.fig15",
    title: "Slices of 16 bits",
    place: "ByteSlice paper, appendix A, figure 15",
    about: "Lookups at random TIDs as in byteslice.fig8, and scans with v < c as in byteslice.fig9, of slices of 8 bits, slices of 16 bits \
            and VBP.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of lookups and scans",
        kind: FigureKind::LogLines,
        x: "width",
        series: "packing",
        panels: &["size", "operation"],
        metric: "time",
        axis: "cycles per code",
        only: &[],
    }],
    claims: &CLAIMS,
};

const OPERATIONS: [&str; 2] = ["lookup", "scan"];

fn packings() -> Vec<Packing> {
    scan::named(&["byteslice", "byteslice16", "vbp"])
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let mut trials = Vec::new();
    for sizing in [Sizing::Memory, Sizing::Cache] {
        for width in bench.widths() {
            trials.push(Trial {
                name: format!("{} at {width} bits", sizing.name()),
                setup: Box::new(move |bench| variants(bench, sizing, width)),
            });
        }
    }
    let factors = vec![
        Factor::new("size", "", [Sizing::Memory.name(), Sizing::Cache.name()]),
        Factor::new("width", "bits", bench.widths()),
        Factor::new("operation", "", OPERATIONS),
        Factor::new("packing", "", packings()),
    ];
    Ok(Design { factors, trials, ..Design::default() })
}

fn variants(bench: &Bench, sizing: Sizing, width: u8) -> Result<Vec<Variant>, Error> {
    let case = Case {
        levels: levels(&[("operation", &OPERATIONS[1])]),
        test: test(Operator::Less, width, SELECTIVITY),
        options: Options::default(),
    };
    let mut variants = scan::variants(bench, sizing, width, &packings(), vec![case])?;
    for mut variant in lookup::variants(bench, sizing, width, &packings(), &["random"])? {
        variant.levels.retain(|(factor, _)| *factor != "order");
        variant.levels.push(("operation", OPERATIONS[0].to_string()));
        variants.push(variant);
    }
    Ok(variants)
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "fig15.scan",
        text: "Slices of 8 bits always scan faster than slices of 16",
        place: "appendix A",
        ours: None,
        judge: |context| {
            let at = [("size", "memory"), ("operation", "scan")];
            Expectation::judge(faster(context, "byteslice", &["byteslice16"], 1.0, &at))
        },
    },
    Claim {
        id: "fig15.lookup",
        text: "Lookups in slices of 8 bits cost about the same as in slices of 16",
        place: "appendix A",
        ours: Some("about the same: within a factor of 1.25, either way"),
        judge: |context| {
            let at = [("size", "memory"), ("operation", "lookup")];
            let alike = |label, a: &_, b: &_| Expectation::alike(label, a, b, 1.25);
            Expectation::judge(against(context, "byteslice", &["byteslice16"], "time", &at, alike))
        },
    },
];
