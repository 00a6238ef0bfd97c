//! Figure 8 and section 4.1.1: lookups over widths.

use super::expect::{NOT_COUNTED, against, at_widths, between, faster, points};
use super::{lookup, scan};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Point,
    Sizing, Trial, linear_fit,
};

/// The experiment.
pub static FIG8: Experiment = Experiment {
    name: "byteslice.fig8",
    title: "Lookups over the width of the codes",
    place: "ByteSlice paper, section 4.1.1, figure 8",
    about: "One million lookups at random TIDs, and at the same TIDs in ascending order, from a column of evenly distributed codes \
            to an array of the codes' native width: their time, and their instructions.",
    uses: &[],
    design,
    derive: None,
    figures: &[
        FIGURE,
        Figure { title: "Instructions of a lookup", metric: "instructions", axis: "instructions per code", ..FIGURE },
    ],
    claims: &CLAIMS,
};

const FIGURE: Figure = Figure {
    title: "Time of a lookup",
    kind: FigureKind::LogLines,
    x: "width",
    series: "packing",
    panels: &["size", "order"],
    metric: "time",
    axis: "cycles per code",
    only: &[],
};

fn design(bench: &Bench) -> Result<Design, Error> {
    let packings = scan::packings();
    let mut trials = Vec::new();
    for sizing in [Sizing::Memory, Sizing::Cache] {
        for width in bench.widths() {
            let packings = packings.clone();
            trials.push(Trial {
                name: format!("{} at {width} bits", sizing.name()),
                setup: Box::new(move |bench| lookup::variants(bench, sizing, width, &packings, &lookup::ORDERS)),
            });
        }
    }
    let factors = vec![
        Factor::new("size", "", [Sizing::Memory.name(), Sizing::Cache.name()]),
        Factor::new("width", "bits", bench.widths()),
        Factor::new("order", "", lookup::ORDERS),
        Factor::new("packing", "", &packings),
    ];
    Ok(Design { factors, trials, ..Design::default() })
}

/// Where the paper measures: a column far larger than the caches, TIDs in random order.
const PAPER: [(&str, &str); 2] = [("size", "memory"), ("order", "random")];

/// From 8 bits on a lookup in VBP takes at least 1.5 times of a metric what it takes in each of the other packings.
fn vbp_expensive(context: &Context<'_>, metric: &str) -> Vec<Expectation> {
    let wide = |point: &&&Point| point.number("width") >= 8.0;
    let mut all = Vec::new();
    for other in ["bit_packed", "hbp", "byteslice"] {
        for point in points(context, other, &PAPER).iter().filter(wide) {
            let vbp = context.findings.beside(point, "packing", "vbp");
            if let (Some(a), Some(b)) = (point.summary(metric), vbp.and_then(|vbp| vbp.summary(metric))) {
                let label = format!("{other} and vbp at {} bits", point.level("width"));
                all.push(Expectation::less(label, a, b, 1.0 / 1.5));
            }
        }
    }
    all
}

static CLAIMS: [Claim; 7] = [
    Claim {
        id: "fig8.vbp_expensive",
        text: "Lookups in VBP cost much more than in the other packings",
        place: "section 4.1.1",
        ours: Some("much more: at least 1.5 times as much, at widths from 8 bits on"),
        judge: |context| Expectation::judge(vbp_expensive(context, "time")),
    },
    Claim {
        id: "fig8.vbp_instructions",
        text: "Lookups in VBP take many more instructions than in the other packings",
        place: "section 4.1.1, figure 8b",
        ours: Some("many more: at least 1.5 times as many, at widths from 8 bits on"),
        judge: |context| {
            let all = vbp_expensive(context, "instructions");
            if all.is_empty() { Judgement::unknown(NOT_COUNTED) } else { Expectation::judge(all) }
        },
    },
    Claim {
        id: "fig8.vbp_linear",
        text: "The cost of a lookup in VBP grows linearly with the width",
        place: "section 4.1.1",
        ours: Some("linearly: a rising line explains 90 % of the variance of the means"),
        judge: |context| {
            let vbp = points(context, "vbp", &PAPER);
            let means: Vec<_> =
                vbp.iter().filter_map(|point| Some((point.number("width"), point.time()?.mean))).collect();
            if means.len() < 3 {
                return Judgement::unknown("VBP was measured at fewer than three widths");
            }
            let (slope, _, explained) = linear_fit(&means);
            let figures = format!("{slope:.1} cycles a bit, {:.0} % explained", explained * 100.0);
            Expectation::judge(vec![Expectation::plain("the line", figures, slope > 0.0 && explained >= 0.9)])
        },
    },
    Claim {
        id: "fig8.comparable",
        text: "Lookups in bit-packed, HBP and ByteSlice columns cost about the same",
        place: "section 4.1.1",
        ours: Some("about the same: ByteSlice within a factor of 1.5 of each of the others, either way"),
        judge: |context| {
            let alike = |label, a: &_, b: &_| Expectation::alike(label, a, b, 1.5);
            Expectation::judge(against(context, "byteslice", &["bit_packed", "hbp"], "time", &PAPER, alike))
        },
    },
    Claim {
        id: "fig8.no_dearer",
        text: "Lookups in ByteSlice columns cost no more than in bit-packed and HBP columns",
        place: "section 4.1.1, the half of fig8.comparable that matters to ByteSlice",
        ours: Some("no more: at most 1.05 times as much"),
        judge: |context| Expectation::judge(faster(context, "byteslice", &["bit_packed", "hbp"], 1.05, &PAPER)),
    },
    Claim {
        id: "fig8.slices_hidden",
        text: "That a ByteSlice code of more bytes is stitched from more places is almost not noticeable",
        place: "section 4.1.1",
        ours: Some("almost: 32 bits cost no more than 1.5 times what 8 bits cost"),
        judge: |context| {
            let less = |label, a: &_, b: &_| Expectation::less(label, a, b, 1.5);
            Expectation::judge(between(context, "byteslice", "width", ("32", "8"), &PAPER, less))
        },
    },
    Claim {
        id: "fig8.near_native",
        text: "ByteSlice lookups keep near those in native codes: within 1.15 for up to 8 bits, 2 up to 16",
        place: "not in the paper",
        ours: Some("the claim is ours"),
        judge: |context| {
            let mut all = Vec::new();
            for (range, factor) in [(1..=8, 1.15), (9..=16, 2.0)] {
                for point in at_widths(points(context, "byteslice", &PAPER), range) {
                    let native = context.findings.beside(point, "packing", "native");
                    if let (Some(a), Some(b)) = (point.time(), native.and_then(Point::time)) {
                        all.push(Expectation::less(format!("{} bits", point.level("width")), a, b, factor));
                    }
                }
            }
            Expectation::judge(all)
        },
    },
];
