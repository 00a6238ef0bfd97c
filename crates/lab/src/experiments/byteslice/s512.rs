//! Section 2.2's prediction: wider registers make early stop rarer in VBP than in ByteSlice, so that ByteSlice's lead grows.

use super::expect::points;
use super::scan::{self, Case, SELECTIVITY, Setup, footprint, format, test};
use crate::data::Codes;
use crate::experiment::{
    Bench, Claim, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Point, Sizing, Trial,
    Variant, levels,
};
use crate::random::Random;
use gingham_kernels::Isa;
use gingham_kernels::packing::{Operator, Options, Packing};

/// The experiment.
pub static S512: Experiment = Experiment {
    name: "byteslice.s512",
    title: "Registers of 256 and 512 bits",
    place: "ByteSlice paper, sections 2.2 and 3.1.1 (a prediction)",
    about: "v < c that selects 10 % of evenly distributed codes, in VBP and ByteSlice: with AVX2 on segments of 256 bits, with AVX-512 on \
            segments of 512.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of a scan",
        kind: FigureKind::Lines,
        x: "width",
        series: "packing",
        panels: &["size", "segment"],
        metric: "time",
        axis: "cycles per code",
        only: &[],
    }],
    claims: &CLAIMS,
};

/// Registers that this machine has: the instruction set, and its bits.
fn registers(bench: &Bench) -> Vec<(Isa, u16)> {
    let all = [(Isa::Avx2, 256), (Isa::Avx512, 512)];
    let here: Vec<_> = all.into_iter().filter(|(isa, _)| *isa <= bench.machine.isa).collect();
    // Without either, plain code on the narrower segments still has answers to check.
    if here.is_empty() { vec![(Isa::Scalar, 256)] } else { here }
}

fn packings() -> Vec<Packing> {
    scan::named(&["vbp", "byteslice"])
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let mut trials = Vec::new();
    for sizing in [Sizing::Memory, Sizing::Cache] {
        for width in bench.widths() {
            trials.push(Trial {
                name: format!("{} at {width} bits", sizing.name()),
                setup: Box::new(move |bench| Ok(variants(bench, sizing, width))),
            });
        }
    }
    let factors = vec![
        Factor::new("size", "", [Sizing::Memory.name(), Sizing::Cache.name()]),
        Factor::new("width", "bits", bench.widths()),
        Factor::new("segment", "bits", registers(bench).iter().map(|(_, bits)| bits)),
        Factor::new("packing", "", packings()),
    ];
    let mut notes = Vec::new();
    if registers(bench).len() < 2 {
        notes.push(format!("this machine's best instruction set is {}: one register width only", bench.isa().name()));
    }
    Ok(Design { factors, trials, notes, ..Design::default() })
}

fn variants(bench: &Bench, sizing: Sizing, width: u8) -> Vec<Variant> {
    let rows = bench.rows(sizing, width, 2.0 * footprint(width, &packings(), 3));
    let mut random = Random::named(bench.settings.seed, &format!("codes of {width} bits"));
    let codes = Codes::uniform(width, rows, &mut random);
    let of_register = |(isa, bits): (Isa, u16)| {
        let formats: Vec<_> = packings()
            .into_iter()
            .map(|packing| format(packing, width).with_segment_bits(bits).expect("256 and 512 are segment sizes"))
            .collect();
        let case =
            Case { levels: Vec::new(), test: test(Operator::Less, width, SELECTIVITY), options: Options::default() };
        let shared = levels(&[("size", &sizing.name()), ("width", &width), ("segment", &bits)]);
        scan::over(&codes, &formats, &Setup { isa, threads: 1, shared }, vec![case])
    };
    registers(bench).into_iter().flat_map(of_register).collect()
}

/// ByteSlice's lead over VBP is larger with 512 bits than with 256.
fn lead_grows(context: &crate::experiment::Context<'_>, size: &str) -> Judgement {
    let mut all = Vec::new();
    for wide in points(context, "byteslice", &[("size", size), ("segment", "512")]) {
        let vbp = context.findings.beside(wide, "packing", "vbp").and_then(Point::time);
        let narrow = context.findings.beside(wide, "segment", "256");
        let narrow_vbp =
            narrow.and_then(|narrow| context.findings.beside(narrow, "packing", "vbp")).and_then(Point::time);
        if let (Some(wide_time), Some(vbp), Some(narrow), Some(narrow_vbp)) =
            (wide.time(), vbp, narrow.and_then(Point::time), narrow_vbp)
        {
            let label = format!("vbp over byteslice, 256 and 512, at {} bits", wide.level("width"));
            all.push(Expectation::smaller_quotient(label, (narrow_vbp, narrow), (vbp, wide_time)));
        }
    }
    if all.is_empty() {
        return Judgement::unknown("this machine has no registers of 512 bits");
    }
    Expectation::judge(all)
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "s512.lead_grows",
        text: "ByteSlice's lead over VBP is larger with registers of 512 bits than with 256",
        place: "section 2.2",
        ours: Some("lead: VBP's time over ByteSlice's, at each width"),
        judge: |context| lead_grows(context, "memory"),
    },
    Claim {
        id: "s512.lead_grows_in_cache",
        text: "The same of columns that fit the second cache",
        place: "not in the paper",
        ours: Some("the claim is ours"),
        judge: |context| lead_grows(context, "cache"),
    },
];
