//! Radix partitioning of byte slices against that of native codes.

use super::super::expect::faster;
use super::{FIGURE, OURS, OrderData, PLACE, SPREADS, Slices, design, same};
use crate::experiment::{Bench, Claim, Expectation, Experiment, Factor, Figure, Laps, Subject, Variant};
use crate::with_codes;
use gingham_kernels::Code;
use gingham_kernels::lab::order as slices;
use gingham_kernels::order::{Bounds, DIGITS, partition, partition_tids};
use std::rc::Rc;

/// The experiment.
pub static PARTITION: Experiment = Experiment {
    name: "byteslice.partition",
    title: "Partitioning byte slices",
    place: PLACE,
    about: "Partitions codes into 256 buckets by their leading eight bits, a histogram first: to TIDs alone, and to TIDs and codes. Byte \
            slices are read a byte per code for the histogram; codes are moved slice by slice.",
    uses: &[],
    design: |bench| {
        let mut design = design(bench, &SPREADS[..2], &PACKINGS, variants);
        design.factors.push(Factor::new("output", "", OUTPUTS));
        Ok(design)
    },
    derive: None,
    figures: &[Figure { title: "Time of partitioning", panels: &["rows", "spread", "output"], ..FIGURE }],
    claims: &CLAIMS,
};

const PACKINGS: [&str; 2] = ["byteslice", "native"];
const OUTPUTS: [&str; 2] = ["TIDs", "TIDs and codes"];

fn variants(bench: &Bench, data: OrderData) -> Vec<Variant> {
    with_codes!(data.codes(bench), codes => variants_of(bench, data, codes))
}

fn variants_of<C: Code>(bench: &Bench, data: OrderData, codes: Vec<C>) -> Vec<Variant> {
    // The oracle: the standard library's stable sort by the digit, reckoned from the code itself.
    let shift = u32::from(data.width).saturating_sub(8);
    let left = 8_u32.saturating_sub(data.width.into());
    let digit = |tid: u32| (codes[tid as usize].to_u64() >> shift << left) as usize;
    let mut tids: Vec<u32> = (0..codes.len() as u32).collect();
    tids.sort_by_key(|tid| digit(*tid));
    let before = |value: usize| tids.partition_point(|tid| digit(*tid) < value) as u32;
    let bounds: Bounds = std::array::from_fn(before);
    let moved: Vec<C> = tids.iter().map(|tid| codes[*tid as usize]).collect();
    let column = Rc::new(Slices::new(bench.isa(), data.width, &codes));
    let bytes = Slices::new(bench.isa(), data.width, &moved).bytes;
    let expected = Rc::new(ExpectedPartition { codes, tids, bounds, moved, bytes });
    let mut variants = Vec::new();
    for output in OUTPUTS {
        let with_codes = output == OUTPUTS[1];
        let found = Found { bounds: [0; DIGITS + 1], out: Default::default(), codes: Vec::new() };
        let of_slices = PartitionSlices {
            column: Rc::clone(&column),
            with_codes,
            expected: Rc::clone(&expected),
            found: Found { codes: Vec::<C>::new(), ..found.clone() },
        };
        let of_native = PartitionNative { width: data.width, with_codes, expected: Rc::clone(&expected), found };
        let subjects: [Box<dyn Subject>; 2] = [Box::new(of_slices), Box::new(of_native)];
        for (packing, subject) in PACKINGS.into_iter().zip(subjects) {
            let mut levels = data.levels(packing);
            levels.push(("output", output.to_string()));
            variants.push(Variant { levels, units: (data.rows as f64, "code"), facts: Vec::new(), subject });
        }
    }
    variants
}

/// Codes, and the oracle's answer.
struct ExpectedPartition<C> {
    codes: Vec<C>,
    tids: Vec<u32>,
    bounds: Bounds,
    /// The codes in the order of the TIDs, and their slices.
    moved: Vec<C>,
    bytes: Vec<u8>,
}

/// An answer: `out` has its TIDs, and the codes of byte slices.
#[derive(Clone)]
struct Found<C> {
    bounds: Bounds,
    out: slices::Ordered,
    codes: Vec<C>,
}

impl<C: Code> Found<C> {
    fn poison(&mut self) {
        self.bounds = [u32::MAX; DIGITS + 1];
        self.out.tids.fill(u32::MAX);
        self.out.bytes.fill(0xaa);
        self.codes.fill(C::default());
    }

    fn check(&self, expected: &ExpectedPartition<C>) -> Result<(), String> {
        same("bound", &self.bounds, &expected.bounds)?;
        same("TID", &self.out.tids, &expected.tids)
    }
}

struct PartitionSlices<C> {
    column: Rc<Slices>,
    with_codes: bool,
    expected: Rc<ExpectedPartition<C>>,
    found: Found<C>,
}

impl<C: Code> Subject for PartitionSlices<C> {
    fn prepare(&mut self) {
        self.found.poison();
    }

    fn run(&mut self, _: &mut Laps) {
        let (packed, found) = (self.column.packed(), &mut self.found);
        found.bounds = if self.with_codes {
            slices::partition(packed, 0, &mut found.out)
        } else {
            slices::partition_tids(packed, 0, &mut found.out.tids)
        };
    }

    fn check(&mut self) -> Result<(), String> {
        self.found.check(&self.expected)?;
        if self.with_codes { same("byte", &self.found.out.bytes, &self.expected.bytes) } else { Ok(()) }
    }
}

struct PartitionNative<C> {
    width: u8,
    with_codes: bool,
    expected: Rc<ExpectedPartition<C>>,
    found: Found<C>,
}

impl<C: Code> Subject for PartitionNative<C> {
    fn prepare(&mut self) {
        self.found.poison();
    }

    fn run(&mut self, _: &mut Laps) {
        let (codes, found) = (&self.expected.codes, &mut self.found);
        found.bounds = if self.with_codes {
            partition(codes, self.width, 0, &mut found.out.tids, &mut found.codes)
        } else {
            partition_tids(codes, self.width, 0, &mut found.out.tids)
        };
    }

    fn check(&mut self) -> Result<(), String> {
        self.found.check(&self.expected)?;
        if self.with_codes { same("code", &self.found.codes, &self.expected.moved) } else { Ok(()) }
    }
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "partition.tids_faster",
        text: "Partitioning by a byte slice is faster than by a native code, to TIDs",
        place: "section 6",
        ours: OURS,
        judge: |context| Expectation::judge(faster(context, "byteslice", &["native"], 1.0, &[("output", OUTPUTS[0])])),
    },
    Claim {
        id: "partition.faster",
        text: "Partitioning byte slices is faster than partitioning native codes, the codes moved along",
        place: "section 6",
        ours: OURS,
        judge: |context| Expectation::judge(faster(context, "byteslice", &["native"], 1.0, &[("output", OUTPUTS[1])])),
    },
];
