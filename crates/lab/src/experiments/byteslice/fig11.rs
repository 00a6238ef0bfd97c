//! Figure 11 and section 4.1.2: scans of skewed codes.

use super::expect::{between, faster};
use super::grid::RIVALS;
use super::scan::{self, Case, Setup, footprint, formats};
use crate::data::Codes;
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Sizing,
    Trial, Variant, levels,
};
use crate::random::Random;
use gingham_kernels::packing::{Operator, Options, Test};

/// The experiment.
pub static FIG11: Experiment = Experiment {
    name: "byteslice.fig11",
    title: "Scans of skewed codes",
    place: "ByteSlice paper, section 4.1.2, figure 11",
    about: "v < c over 12-bit codes. First panel: Zipf's distribution with exponents from 0 to 2 and c = 0.1 * 2^12. Second: exponent 1, \
            c set so that 20 to 80 % pass. Third: the same of evenly distributed codes.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of a scan",
        kind: FigureKind::Lines,
        x: "value",
        series: "packing",
        panels: &["size", "varied"],
        metric: "time",
        axis: "cycles per code",
        only: &[],
    }],
    claims: &CLAIMS,
};

const WIDTH: u8 = 12;
const EXPONENTS: [f64; 5] = [0.0, 0.5, 1.0, 1.5, 2.0];
const SELECTIVITIES: [u32; 4] = [20, 40, 60, 80];
/// Levels of the factor `varied`: the paper's three panels.
const SKEW: &str = "exponent";
const CONSTANT_SKEWED: &str = "selectivity under Zipf 1";
const CONSTANT_EVEN: &str = "selectivity of even codes";

fn design(_: &Bench) -> Result<Design, Error> {
    let mut trials = Vec::new();
    for sizing in [Sizing::Memory, Sizing::Cache] {
        for exponent in EXPONENTS {
            trials.push(Trial {
                name: format!("{} with Zipf {exponent}", sizing.name()),
                setup: Box::new(move |bench| Ok(variants(bench, sizing, exponent))),
            });
        }
    }
    let values = EXPONENTS.map(|exponent| exponent.to_string()).into_iter();
    let factors = vec![
        Factor::new("size", "", [Sizing::Memory.name(), Sizing::Cache.name()]),
        Factor::new("varied", "", [SKEW, CONSTANT_SKEWED, CONSTANT_EVEN]),
        Factor::new("value", "", values.chain(SELECTIVITIES.map(|part| part.to_string()))),
        Factor::new("packing", "", scan::packings()),
    ];
    Ok(Design { factors, trials, ..Design::default() })
}

fn variants(bench: &Bench, sizing: Sizing, exponent: f64) -> Vec<Variant> {
    let packings = scan::packings();
    let rows = bench.rows(sizing, WIDTH, footprint(WIDTH, &packings, 2 + SELECTIVITIES.len()));
    let mut random = Random::named(bench.settings.seed, &format!("Zipf {exponent}"));
    let codes = Codes::zipf(WIDTH, rows, exponent, &mut random);
    let case = |varied: &str, value: &dyn ToString, constant: u64| Case {
        levels: levels(&[("varied", &varied), ("value", value)]),
        test: Test::Compare(Operator::Less, constant),
        options: Options::default(),
    };
    let mut cases = vec![case(SKEW, &exponent, (1 << WIDTH) / 10)];
    let varied = match exponent {
        1.0 => Some(CONSTANT_SKEWED),
        0.0 => Some(CONSTANT_EVEN),
        _ => None,
    };
    for part in SELECTIVITIES {
        let constant = || codes.quantile(WIDTH, f64::from(part) / 100.0);
        cases.extend(varied.map(|varied| case(varied, &part, constant())));
    }
    let setup = Setup { isa: bench.isa(), threads: 1, shared: levels(&[("size", &sizing.name())]) };
    scan::over(&codes, &formats(&packings, WIDTH), &setup, cases)
}

/// ByteSlice and VBP at one value of a panel against another.
fn both(
    context: &Context<'_>,
    varied: &'static str,
    pair: (&'static str, &'static str),
    expectation: impl Fn(String, &crate::statistics::Summary, &crate::statistics::Summary) -> Expectation,
) -> Judgement {
    let at = [("size", "memory"), ("varied", varied)];
    let mut all = between(context, "byteslice", "value", pair, &at, &expectation);
    all.extend(between(context, "vbp", "value", pair, &at, &expectation));
    Expectation::judge(all)
}

static CLAIMS: [Claim; 4] = [
    Claim {
        id: "fig11.fastest",
        text: "ByteSlice scans faster than bit-packed, HBP and VBP under every skew",
        place: "section 4.1.2, figure 11a",
        ours: None,
        judge: |context| {
            let at = [("size", "memory"), ("varied", SKEW)];
            Expectation::judge(faster(context, "byteslice", &RIVALS, 1.0, &at))
        },
    },
    Claim {
        id: "fig11.skew_helps",
        text: "With c fixed, more skew makes scans of ByteSlice and VBP faster: fewer codes are near c",
        place: "section 4.1.2, figure 11a",
        ours: Some("an exponent of 2 against 0"),
        judge: |context| both(context, SKEW, ("2", "0"), |label, a, b| Expectation::less(label, a, b, 1.0)),
    },
    Claim {
        id: "fig11.sparse_constant",
        text: "Under Zipf 1, scans of ByteSlice and VBP are faster when c lies where codes are rare",
        place: "section 4.1.2, figure 11b",
        ours: Some("80 % selected against 20 %"),
        judge: |context| {
            both(context, CONSTANT_SKEWED, ("80", "20"), |label, a, b| Expectation::less(label, a, b, 1.0))
        },
    },
    Claim {
        id: "fig11.even_constant",
        text: "Of evenly distributed codes, the time does not depend on c",
        place: "section 4.1.2, figure 11c",
        ours: Some("80 % selected within a factor of 1.1 of 20 %, either way"),
        judge: |context| both(context, CONSTANT_EVEN, ("80", "20"), |label, a, b| Expectation::alike(label, a, b, 1.1)),
    },
];
