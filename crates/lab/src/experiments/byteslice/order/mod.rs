//! Section 6, future work: byte slices as intermediate results, which are partitioned, sorted, merged and searched as they
//! lie. The paper outlines it and measures nothing; here each is held against the same on native codes, over the width
//! and the number of the codes. None of the memory has huge pages, on either side.

mod merge;
mod partition;
mod search;
mod sort;

pub use merge::MERGE;
pub use partition::PARTITION;
pub use search::SEARCH;
pub use sort::SORT;

use super::scan::format;
use crate::data::Codes;
use crate::experiment::{Bench, Error, Factor, FigureKind, Levels, Mode, Trial, Variant, levels};
use crate::experiment::{Design, Figure};
use crate::random::Random;
use gingham_kernels::packing::{Format, Packed, Packing, pack};
use gingham_kernels::{Code, Isa};

/// Where the paper speaks of it.
const PLACE: &str = "ByteSlice paper, section 6 (future work)";
/// What the paper has no figures for.
const OURS: Option<&str> = Some("the claim is ours: the paper supposes a benefit and measures none");

/// How codes are spread over their domain, and in which order they come.
const SPREADS: [&str; 3] = ["even", "zipf", "sorted"];

/// Time over widths, a panel for each number of codes.
const FIGURE: Figure = Figure {
    title: "Time",
    kind: FigureKind::Lines,
    x: "width",
    series: "packing",
    panels: &["rows"],
    metric: "time",
    axis: "cycles per code",
    only: &[],
};

/// Widths with one to six slices.
fn widths(bench: &Bench) -> Vec<u8> {
    match bench.settings.mode {
        Mode::Tiny => vec![3, 8, 13, 24, 31, 48],
        Mode::Quick => vec![8, 12, 16, 24, 32, 48],
        Mode::Default | Mode::Full => vec![4, 8, 12, 16, 20, 24, 28, 32, 40, 48],
    }
}

/// Numbers of codes: in the second cache, in the last, and in memory.
fn rows(bench: &Bench) -> Vec<usize> {
    match bench.settings.mode {
        Mode::Tiny => vec![100, 3001],
        Mode::Quick => vec![1 << 16, 1 << 20, 1 << 22],
        Mode::Default => vec![1 << 16, 1 << 20, 1 << 24],
        Mode::Full => vec![1 << 16, 1 << 20, 1 << 24, 1 << 26],
    }
}

/// The data of a trial.
#[derive(Clone, Copy)]
struct OrderData {
    rows: usize,
    width: u8,
    spread: &'static str,
}

impl OrderData {
    fn codes(self, bench: &Bench) -> Codes {
        let Self { rows, width, spread } = self;
        let mut random = Random::named(bench.settings.seed, &format!("{rows} {spread} codes of {width} bits"));
        match spread {
            "zipf" => Codes::zipf(width, rows, 1.0, &mut random),
            "sorted" => {
                let mut next = 0;
                Codes::generate(width, rows, || {
                    next += 1;
                    ((next - 1) * (1_u128 << width) / rows as u128) as u64
                })
            }
            _ => Codes::uniform(width, rows, &mut random),
        }
    }

    /// The levels of one of the variants.
    fn levels(self, packing: &'static str) -> Levels {
        levels(&[("rows", &self.rows), ("width", &self.width), ("spread", &self.spread), ("packing", &packing)])
    }
}

/// Every number of codes, width and one of `spreads`.
fn design(
    bench: &Bench,
    spreads: &'static [&'static str],
    packings: &[&'static str],
    variants: fn(&Bench, OrderData) -> Vec<Variant>,
) -> Design {
    let mut trials = Vec::new();
    for rows in rows(bench) {
        for width in widths(bench) {
            for &spread in spreads {
                let data = OrderData { rows, width, spread };
                trials.push(Trial {
                    name: format!("{rows} {spread} codes of {width} bits"),
                    setup: Box::new(move |bench| Ok::<_, Error>(variants(bench, data))),
                });
            }
        }
    }
    let factors = vec![
        Factor::new("rows", "codes", rows(bench)),
        Factor::new("width", "bits", widths(bench)),
        Factor::new("spread", "", spreads),
        Factor::new("packing", "", packings),
    ];
    Design { factors, trials, ..Design::default() }
}

/// Codes in byte slices.
struct Slices {
    format: Format,
    rows: usize,
    bytes: Vec<u8>,
}

impl Slices {
    fn new<C: Code>(isa: Isa, width: u8, codes: &[C]) -> Self {
        let format = format(Packing::ByteSlice, width);
        let mut bytes = Vec::new();
        pack(isa, format, codes, &mut bytes);
        Self { format, rows: codes.len(), bytes }
    }

    fn packed(&self) -> Packed<'_> {
        Packed::new(self.format, self.rows, &self.bytes).expect("packing gave the bytes that its format needs")
    }
}

/// Compares an answer with the oracle's; an error names the first place where they differ.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &[T], expected: &[T]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let place = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let place = place.unwrap_or(found.len().min(expected.len()));
    let (found, wanted) = (found.get(place), expected.get(place));
    Err(format!("{what} number {place} is {found:?} and not {wanted:?}"))
}
