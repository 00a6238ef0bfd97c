//! Figure 9 and section 4.1.2: scans over widths.

use super::expect::{at_widths, between, faster, fewest_instructions, points};
use super::grid::{self, RIVALS};
use super::scan::SELECTIVITY;
use crate::experiment::{Claim, Expectation, Experiment, Figure, Point};
use gingham_kernels::packing::Operator;

/// The experiment.
pub static FIG9: Experiment = Experiment {
    name: "byteslice.fig9",
    title: "Scans over the width of the codes",
    place: "ByteSlice paper, section 4.1.2, figure 9",
    about: "Scans of evenly distributed codes with <, = and <> to a bit vector. The constant selects 10 % of the codes for <, and is the \
            same for = and <>.",
    uses: &[],
    design: |bench| Ok(grid::design(bench, &[Operator::Less, Operator::Equal, Operator::NotEqual], &[SELECTIVITY])),
    derive: None,
    figures: &[
        grid::FIGURE,
        Figure {
            title: "Instructions of a scan",
            metric: "instructions",
            axis: "instructions per code",
            ..grid::FIGURE
        },
    ],
    claims: &CLAIMS,
};

/// Where the paper measures. The one selectivity is named so that evidence need not repeat it.
const MEMORY: [(&str, &str); 2] = [("size", "memory"), ("selectivity", "10")];

static CLAIMS: [Claim; 8] = [
    Claim {
        id: "fig9.half_cycle",
        text: "A ByteSlice scan takes less than half a cycle per code, at every width",
        place: "abstract, section 6",
        ours: Some("cycles are those of the time stamp counter, not of the core"),
        judge: |context| {
            let all = points(context, "byteslice", &MEMORY).into_iter().filter_map(|point| {
                Some(Expectation::below(point.label(&["packing", "size", "selectivity"]), point.time()?, 0.5))
            });
            Expectation::judge(all.collect())
        },
    },
    Claim {
        id: "fig9.fastest",
        text: "ByteSlice scans faster than bit-packed, HBP and VBP at every width",
        place: "section 4.1.2",
        ours: None,
        judge: |context| grid::fastest(context, &MEMORY),
    },
    Claim {
        id: "fig9.fastest_in_cache",
        text: "The same of columns that fit the second cache",
        place: "not in the paper",
        ours: Some("the claim is ours"),
        judge: |context| grid::fastest(context, &[("size", "cache"), ("selectivity", "10")]),
    },
    Claim {
        id: "fig9.instructions",
        text: "ByteSlice scans take fewer instructions than the other packings at every width",
        place: "section 4.1.2, figure 9b",
        ours: None,
        judge: |context| fewest_instructions(context, "byteslice", &RIVALS, &MEMORY),
    },
    Claim {
        id: "fig9.early_stop_wins",
        text: "Scans of VBP and ByteSlice, which stop early, are faster than those of HBP and bit-packed",
        place: "section 4.1.2",
        ours: None,
        judge: |context| {
            let mut all = faster(context, "byteslice", &["hbp", "bit_packed"], 1.0, &MEMORY);
            all.extend(faster(context, "vbp", &["hbp", "bit_packed"], 1.0, &MEMORY));
            Expectation::judge(all)
        },
    },
    Claim {
        id: "fig9.flat",
        text: "A greater width does not cost scans of ByteSlice and VBP much",
        place: "section 4.1.2",
        ours: Some("not much: 32 bits take no more than 1.25 times the time of 16 bits"),
        judge: |context| {
            let less = |label, a: &_, b: &_| Expectation::less(label, a, b, 1.25);
            let mut all = between(context, "byteslice", "width", ("32", "16"), &MEMORY, less);
            all.extend(between(context, "vbp", "width", ("32", "16"), &MEMORY, less));
            Expectation::judge(all)
        },
    },
    Claim {
        id: "fig9.hbp_worst",
        text: "From 22 to 30 bits HBP scans slowest, since a bank of 64 bits holds two codes only",
        place: "section 4.1.2",
        ours: None,
        judge: |context| {
            let mut all = Vec::new();
            for other in ["bit_packed", "vbp", "byteslice"] {
                for point in at_widths(points(context, other, &MEMORY), 22..=30) {
                    let hbp = context.findings.beside(point, "packing", "hbp");
                    if let (Some(a), Some(b)) = (point.time(), hbp.and_then(Point::time)) {
                        let label = format!("{other} and hbp at {}", point.label(&["packing", "size", "selectivity"]));
                        all.push(Expectation::less(label, a, b, 1.0));
                    }
                }
            }
            Expectation::judge(all)
        },
    },
    Claim {
        id: "fig9.hbp_rises",
        text: "At 32 bits, where a bank holds one code, the time of HBP rises abruptly",
        place: "section 4.1.2",
        ours: Some("abruptly: at least 1.3 times the time at 28 bits"),
        judge: |context| {
            let less = |label, a: &_, b: &_| Expectation::less(label, a, b, 1.0 / 1.3);
            Expectation::judge(between(context, "hbp", "width", ("28", "32"), &MEMORY, less))
        },
    },
];
