//! Section 3 and figure 5: the bits past a code's last whole byte padded to a byte (option 1, which the paper and this
//! engine choose) or kept bit by bit as in VBP (option 2).

use super::expect::{at_widths, faster, points};
use super::scan::{SELECTIVITY, compare_bits, format, poison, test};
use crate::data::Codes;
use crate::experiment::{
    Bench, Claim, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Laps, Mode, Sizing,
    Subject, Trial, Variant, levels,
};
use crate::random::Random;
use gingham_kernels::Isa;
use gingham_kernels::lab::variants::BitTail;
use gingham_kernels::packing::{Operator, Options, Packed, Packing, Test, get, pack, scan};
use std::rc::Rc;

/// The experiment.
pub static OPTION2: Experiment = Experiment {
    name: "byteslice.option2",
    title: "The last bits as a byte or bit by bit",
    place: "ByteSlice paper, sections 3 and 3.1.1, figure 5",
    about: "Option 1 pads a code's last bits to a byte; option 2 keeps them bit by bit, as VBP does, in blocks of 512 codes. Scans of evenly \
            distributed codes with v < c that selects 10 %, with early stop in both, and lookups of single codes at random TIDs. None of the \
            memory has huge pages.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of scans and lookups",
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

const OPTIONS: [&str; 2] = ["option 1", "option 2"];
const OPERATIONS: [&str; 2] = ["scan", "lookup"];
/// Lookups of a run.
const LOOKUPS: usize = 1 << 16;

/// Widths that leave bits past a whole byte.
fn widths(bench: &Bench) -> Vec<u8> {
    match bench.settings.mode {
        Mode::Tiny => vec![3, 9, 12, 15, 20, 33],
        Mode::Quick => vec![2, 4, 6, 9, 10, 12, 14, 15, 17, 20, 23],
        Mode::Default | Mode::Full => (1..24).filter(|width| width % 8 != 0).collect(),
    }
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let mut trials = Vec::new();
    for sizing in [Sizing::Memory, Sizing::Cache] {
        for width in widths(bench) {
            trials.push(Trial {
                name: format!("{} at {width} bits", sizing.name()),
                setup: Box::new(move |bench| Ok(variants(bench, sizing, width))),
            });
        }
    }
    let factors = vec![
        Factor::new("size", "", [Sizing::Memory.name(), Sizing::Cache.name()]),
        Factor::new("width", "bits", widths(bench)),
        Factor::new("operation", "", OPERATIONS),
        Factor::new("packing", "", OPTIONS),
    ];
    Ok(Design { factors, trials, ..Design::default() })
}

/// Codes in one of the options.
enum OptionColumn {
    Padded { width: u8, rows: usize, bytes: Vec<u8> },
    Bits(BitTail),
}

impl OptionColumn {
    fn packed(width: u8, rows: usize, bytes: &[u8]) -> Packed<'_> {
        Packed::new(format(Packing::ByteSlice, width), rows, bytes)
            .expect("packing gave the bytes that its format needs")
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Padded { bytes, .. } => bytes.len(),
            Self::Bits(tail) => tail.bytes(),
        }
    }
}

fn variants(bench: &Bench, sizing: Sizing, width: u8) -> Vec<Variant> {
    // Codes in eight bytes each, in both options, and what packing option 2 makes beside them.
    let rows = bench.rows(sizing, width, 24.0 + f64::from(width) / 4.0);
    let mut random = Random::named(bench.settings.seed, &format!("codes of {width} bits"));
    let codes: Vec<u64> = (0..rows).map(|_| random.bits() >> (64 - width)).collect();
    let mut bytes = Vec::new();
    pack(bench.isa(), format(Packing::ByteSlice, width), &codes, &mut bytes);
    let tail = BitTail::new(bench.isa(), width, &codes).expect("the lab's widths are from 1 to 64");
    let columns = [OptionColumn::Padded { width, rows, bytes }, OptionColumn::Bits(tail)].map(Rc::new);
    let Test::Compare(_, constant) = test(Operator::Less, width, SELECTIVITY) else {
        unreachable!("a comparison with one constant")
    };
    let count = if bench.is_tiny() { 300 } else { LOOKUPS };
    let tids: Rc<Vec<u32>> = Rc::new((0..count).map(|_| random.below(rows as u64) as u32).collect());
    let found: Rc<Vec<u64>> = Rc::new(tids.iter().map(|tid| codes[*tid as usize]).collect());
    let selected = Rc::new(Codes::U64(codes).select(Test::Compare(Operator::Less, constant)));
    let mut variants = Vec::new();
    for (option, column) in OPTIONS.into_iter().zip(&columns) {
        let isa = bench.isa();
        let scan = OptionScan {
            isa,
            column: Rc::clone(column),
            constant,
            out: vec![0; selected.len()],
            expected: Rc::clone(&selected),
        };
        let lookup = OptionLookup {
            column: Rc::clone(column),
            tids: Rc::clone(&tids),
            out: Vec::new(),
            expected: Rc::clone(&found),
        };
        let subjects: [(Box<dyn Subject>, usize); 2] = [(Box::new(scan), rows), (Box::new(lookup), count)];
        for (operation, (subject, units)) in OPERATIONS.into_iter().zip(subjects) {
            variants.push(Variant {
                levels: levels(&[
                    ("size", &sizing.name()),
                    ("width", &width),
                    ("operation", &operation),
                    ("packing", &option),
                ]),
                units: (units as f64, "code"),
                facts: vec![("rows", rows as f64), ("bytes", column.bytes() as f64)],
                subject,
            });
        }
    }
    variants
}

/// A scan with `<`.
struct OptionScan {
    isa: Isa,
    column: Rc<OptionColumn>,
    constant: u64,
    out: Vec<u64>,
    expected: Rc<Vec<u64>>,
}

impl Subject for OptionScan {
    fn prepare(&mut self) {
        poison(&mut self.out, &self.expected);
    }

    fn run(&mut self, _: &mut Laps) {
        match &*self.column {
            OptionColumn::Padded { width, rows, bytes } => {
                let test = Test::Compare(Operator::Less, self.constant);
                scan(self.isa, OptionColumn::packed(*width, *rows, bytes), test, Options::default(), &mut self.out);
            }
            OptionColumn::Bits(tail) => tail.scan_less(self.isa, self.constant, &mut self.out),
        }
    }

    fn check(&mut self) -> Result<(), String> {
        compare_bits(&self.out, &self.expected)
    }
}

/// Lookups of one code after the other.
struct OptionLookup {
    column: Rc<OptionColumn>,
    tids: Rc<Vec<u32>>,
    out: Vec<u64>,
    expected: Rc<Vec<u64>>,
}

impl Subject for OptionLookup {
    fn prepare(&mut self) {
        self.out.clear();
    }

    fn run(&mut self, _: &mut Laps) {
        self.out.clear();
        match &*self.column {
            OptionColumn::Padded { width, rows, bytes } => {
                let packed = OptionColumn::packed(*width, *rows, bytes);
                self.out.extend(self.tids.iter().map(|tid| get(packed, *tid)));
            }
            OptionColumn::Bits(tail) => self.out.extend(self.tids.iter().map(|tid| tail.get(*tid))),
        }
    }

    fn check(&mut self) -> Result<(), String> {
        let differs = self.out.iter().zip(&*self.expected).position(|(found, expected)| found != expected);
        match differs {
            None if self.out.len() == self.expected.len() => Ok(()),
            None => Err(format!("{} codes, not {}", self.out.len(), self.expected.len())),
            Some(place) => {
                Err(format!("TID {} gave {}, not {}", self.tids[place], self.out[place], self.expected[place]))
            }
        }
    }
}

/// Scans of both options take about the same time, at some widths.
fn scans_alike(context: &crate::experiment::Context<'_>, widths: std::ops::RangeInclusive<u32>) -> Judgement {
    let at = [("size", "memory"), ("operation", OPERATIONS[0])];
    let few = at_widths(points(context, OPTIONS[0], &at), widths).into_iter().filter_map(|point| {
        let other = context.findings.beside(point, "packing", OPTIONS[1])?.time()?;
        Some(Expectation::alike(format!("{} bits", point.level("width")), point.time()?, other, 1.1))
    });
    Expectation::judge(few.collect())
}

const ALIKE: Option<&str> = Some("insignificant: within a factor of 1.1, either way; the paper tried it on TPC-H only");

static CLAIMS: [Claim; 5] = [
    Claim {
        id: "option2.scan",
        text: "From 9 to 15 bits, where scans mostly stop after the first byte, the choice is insignificant for scans",
        place: "section 3.1.1",
        ours: ALIKE,
        judge: |context| scans_alike(context, 9..=15),
    },
    Claim {
        id: "option2.narrow",
        text: "Below 8 bits the choice is insignificant for scans",
        place: "section 3.1.1",
        ours: ALIKE,
        judge: |context| scans_alike(context, 1..=7),
    },
    Claim {
        id: "option2.branches",
        text: "Option 2 costs instructions to change over to the bits: in cache, scans of option 1 are faster",
        place: "section 3.1.1",
        ours: Some("that the instructions are seen as time, in cache, is ours"),
        judge: |context| {
            let at = [("size", "cache"), ("operation", OPERATIONS[0])];
            Expectation::judge(faster(context, OPTIONS[0], &[OPTIONS[1]], 1.0, &at))
        },
    },
    Claim {
        id: "option2.lookup",
        text: "Lookups cost more under option 2",
        place: "section 3.1.1",
        ours: None,
        judge: |context| {
            let at = [("operation", OPERATIONS[1])];
            Expectation::judge(faster(context, OPTIONS[0], &[OPTIONS[1]], 1.0, &at))
        },
    },
    Claim {
        id: "option2.space",
        text: "Option 2 takes less memory",
        place: "section 3, figure 5",
        ours: Some("the paper does not say it; the figure shows it"),
        judge: |context| {
            let bytes = |point: &crate::experiment::Point| point.facts.get("bytes").copied().unwrap_or(f64::NAN);
            let at = [("size", "memory"), ("operation", OPERATIONS[0])];
            let all = points(context, OPTIONS[0], &at).into_iter().filter_map(|point| {
                let (padded, bits) = (bytes(point), bytes(context.findings.beside(point, "packing", OPTIONS[1])?));
                let figures = format!("{bits:.0} bytes against {padded:.0}");
                Some(Expectation::plain(format!("{} bits", point.level("width")), figures, bits < padded))
            });
            Expectation::judge(all.collect())
        },
    },
];
