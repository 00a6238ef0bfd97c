//! Radix sort of byte slices against radix sort of native codes, and against the standard library's sort.

use super::super::expect::{at_widths, faster, points};
use super::{FIGURE, OURS, OrderData, PLACE, SPREADS, Slices, design, same};
use crate::experiment::{Bench, Claim, Expectation, Experiment, Figure, Laps, Point, Subject, Variant};
use crate::with_codes;
use gingham_kernels::Code;
use gingham_kernels::lab::order as slices;
use gingham_kernels::order::{self, sort};
use std::rc::Rc;

/// The experiment.
pub static SORT: Experiment = Experiment {
    name: "byteslice.sort",
    title: "Sorting byte slices",
    place: PLACE,
    about: "Sorts codes to a permutation of TIDs and the sorted codes. byteslice: LSB radix sort that reads a slice a pass through the \
            permutation. native: the same passes over pairs of a native code and its TID. pairs: the standard library's unstable sort of such \
            pairs, without unpacking them. Radix sorts of more than 2^20 codes first partition by the leading digit.",
    uses: &[],
    design: |bench| Ok(design(bench, &SPREADS, &PACKINGS, variants)),
    derive: None,
    figures: &[Figure { title: "Time of a sort", panels: &["rows", "spread"], ..FIGURE }],
    claims: &CLAIMS,
};

const PACKINGS: [&str; 3] = ["byteslice", "native", "pairs"];

fn variants(bench: &Bench, data: OrderData) -> Vec<Variant> {
    with_codes!(data.codes(bench), codes => variants_of(bench, data, codes))
}

fn variants_of<C: Code>(bench: &Bench, data: OrderData, codes: Vec<C>) -> Vec<Variant> {
    // The oracle: the standard library's stable sort.
    let mut tids: Vec<u32> = (0..codes.len() as u32).collect();
    tids.sort_by_key(|tid| codes[*tid as usize]);
    let sorted: Vec<C> = tids.iter().map(|tid| codes[*tid as usize]).collect();
    let column = Slices::new(bench.isa(), data.width, &codes);
    let expected = Slices::new(bench.isa(), data.width, &sorted).bytes;
    let (sorted_bytes, native_bytes) = (column.bytes.len(), codes.len() * size_of::<C>());
    let shared = Rc::new(Sorted { width: data.width, codes, tids, sorted });
    let of_slices = SortSlices {
        shared: Rc::clone(&shared),
        column,
        expected,
        scratch: Default::default(),
        out: Default::default(),
    };
    let of_native = SortNative {
        shared: Rc::clone(&shared),
        scratch: Default::default(),
        tids: Vec::new(),
        codes: Vec::with_capacity(data.rows),
    };
    let of_pairs = OfPairs { shared, narrow: Vec::new(), wide: Vec::new() };
    let subjects: [(Box<dyn Subject>, usize); 3] =
        [(Box::new(of_slices), sorted_bytes), (Box::new(of_native), native_bytes), (Box::new(of_pairs), native_bytes)];
    let variant = |(packing, (subject, bytes)): (&'static str, (Box<dyn Subject>, usize))| Variant {
        levels: data.levels(packing),
        units: (data.rows as f64, "code"),
        facts: vec![("bytes", bytes as f64)],
        subject,
    };
    PACKINGS.into_iter().zip(subjects).map(variant).collect()
}

/// Codes, and the oracle's answer.
struct Sorted<C> {
    width: u8,
    codes: Vec<C>,
    tids: Vec<u32>,
    sorted: Vec<C>,
}

struct SortSlices<C> {
    shared: Rc<Sorted<C>>,
    column: Slices,
    /// The slices of the sorted codes.
    expected: Vec<u8>,
    scratch: slices::SliceScratch,
    out: slices::Ordered,
}

impl<C: Code> Subject for SortSlices<C> {
    fn prepare(&mut self) {
        self.out.tids.fill(u32::MAX);
        self.out.bytes.fill(0xaa);
    }

    fn run(&mut self, _: &mut Laps) {
        slices::sort(self.column.packed(), &mut self.scratch, &mut self.out);
    }

    fn check(&mut self) -> Result<(), String> {
        same("TID", &self.out.tids, &self.shared.tids)?;
        same("byte", &self.out.bytes, &self.expected)
    }
}

struct SortNative<C> {
    shared: Rc<Sorted<C>>,
    scratch: order::Scratch,
    tids: Vec<u32>,
    codes: Vec<C>,
}

impl<C: Code> Subject for SortNative<C> {
    fn prepare(&mut self) {
        self.tids.fill(u32::MAX);
        self.codes.fill(C::default());
    }

    fn run(&mut self, _: &mut Laps) {
        sort(&self.shared.codes, self.shared.width, &mut self.scratch, &mut self.tids, &mut self.codes);
    }

    fn check(&mut self) -> Result<(), String> {
        same("TID", &self.tids, &self.shared.tids)?;
        same("code", &self.codes, &self.shared.sorted)
    }
}

/// Pairs in one integer each, which compare faster than tuples do.
struct OfPairs<C> {
    shared: Rc<Sorted<C>>,
    narrow: Vec<u64>,
    wide: Vec<u128>,
}

impl<C: Code> Subject for OfPairs<C> {
    fn prepare(&mut self) {
        self.narrow.clear();
        self.wide.clear();
    }

    fn run(&mut self, _: &mut Laps) {
        self.prepare();
        let pairs = self.shared.codes.iter().zip(0_u32..);
        if C::BITS <= 32 {
            self.narrow.extend(pairs.map(|(code, tid)| code.to_u64() << 32 | u64::from(tid)));
            self.narrow.sort_unstable();
        } else {
            self.wide.extend(pairs.map(|(code, tid)| u128::from(code.to_u64()) << 32 | u128::from(tid)));
            self.wide.sort_unstable();
        }
    }

    fn check(&mut self) -> Result<(), String> {
        let narrow = self.narrow.iter().map(|pair| *pair as u32);
        let tids: Vec<u32> = narrow.chain(self.wide.iter().map(|pair| *pair as u32)).collect();
        same("TID", &tids, &self.shared.tids)
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "sort.faster",
        text: "Sorting byte slices is faster than sorting native codes",
        place: "section 6",
        ours: OURS,
        judge: |context| Expectation::judge(faster(context, "byteslice", &["native"], 1.0, &[])),
    },
    Claim {
        id: "sort.level",
        text: "Up to two slices, sorting byte slices is level with sorting native codes",
        place: "section 6",
        ours: Some("the claim is ours; level: no more than 1.1 times the time"),
        judge: |context| {
            let few = at_widths(points(context, "byteslice", &[]), 1..=16).into_iter().filter_map(|point| {
                let native = context.findings.beside(point, "packing", "native").and_then(Point::time)?;
                Some(Expectation::less(point.label(&["packing"]), point.time()?, native, 1.1))
            });
            Expectation::judge(few.collect())
        },
    },
    Claim {
        id: "sort.radix",
        text: "Radix sort of byte slices is faster than the standard library's sort of pairs",
        place: "not in the paper",
        ours: OURS,
        judge: |context| Expectation::judge(faster(context, "byteslice", &["pairs"], 1.0, &[])),
    },
];
