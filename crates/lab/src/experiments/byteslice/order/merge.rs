//! Merging of sorted columns of byte slices against that of native codes.

use super::super::expect::faster;
use super::{FIGURE, OURS, OrderData, PLACE, SPREADS, Slices, design, same};
use crate::experiment::{Bench, Claim, Expectation, Experiment, Figure, Laps, Subject, Variant};
use crate::with_codes;
use gingham_kernels::lab::order as slices;
use gingham_kernels::order::merge;
use gingham_kernels::{Code, Isa};
use std::rc::Rc;

/// The experiment.
pub static MERGE: Experiment = Experiment {
    name: "byteslice.merge",
    title: "Merging byte slices",
    place: PLACE,
    about: "Merges two sorted halves of evenly distributed codes to the positions that the rows of the result come from. Byte slices are \
            stitched together a few thousand codes at a time, and merged as native codes.",
    uses: &[],
    design: |bench| Ok(design(bench, &SPREADS[..1], &PACKINGS, variants)),
    derive: None,
    figures: &[Figure { title: "Time of a merge", ..FIGURE }],
    claims: &CLAIMS,
};

const PACKINGS: [&str; 2] = ["byteslice", "native"];

fn variants(bench: &Bench, data: OrderData) -> Vec<Variant> {
    with_codes!(data.codes(bench), codes => variants_of(bench, data, codes))
}

fn variants_of<C: Code>(bench: &Bench, data: OrderData, mut codes: Vec<C>) -> Vec<Variant> {
    let (left, right) = codes.split_at_mut(data.rows / 2);
    left.sort_unstable();
    right.sort_unstable();
    let columns = [&*left, &*right].map(|codes| Slices::new(bench.isa(), data.width, codes));
    // The oracle: the standard library's stable sort of one half behind the other.
    let mut expected: Vec<u32> = (0..codes.len() as u32).collect();
    expected.sort_by_key(|position| codes[*position as usize]);
    let expected = Rc::new(expected);
    let of_slices = MergeSlices { isa: bench.isa(), columns, expected: Rc::clone(&expected), out: Vec::new() };
    let of_native = MergeNative { codes, expected, out: Vec::new() };
    let subjects: [Box<dyn Subject>; 2] = [Box::new(of_slices), Box::new(of_native)];
    let variant = |(packing, subject)| Variant {
        levels: data.levels(packing),
        units: (data.rows as f64, "code"),
        facts: Vec::new(),
        subject,
    };
    PACKINGS.into_iter().zip(subjects).map(variant).collect()
}

struct MergeSlices {
    isa: Isa,
    columns: [Slices; 2],
    expected: Rc<Vec<u32>>,
    out: Vec<u32>,
}

impl Subject for MergeSlices {
    fn prepare(&mut self) {
        self.out.fill(u32::MAX);
    }

    fn run(&mut self, _: &mut Laps) {
        let [left, right] = &self.columns;
        slices::merge(self.isa, left.packed(), right.packed(), &mut self.out);
    }

    fn check(&mut self) -> Result<(), String> {
        same("position", &self.out, &self.expected)
    }
}

struct MergeNative<C> {
    /// The two halves.
    codes: Vec<C>,
    expected: Rc<Vec<u32>>,
    out: Vec<u32>,
}

impl<C: Code> Subject for MergeNative<C> {
    fn prepare(&mut self) {
        self.out.fill(u32::MAX);
    }

    fn run(&mut self, _: &mut Laps) {
        let (left, right) = self.codes.split_at(self.codes.len() / 2);
        merge(left, right, &mut self.out);
    }

    fn check(&mut self) -> Result<(), String> {
        same("position", &self.out, &self.expected)
    }
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "merge.faster",
        text: "Merging byte slices is faster than merging native codes",
        place: "section 6",
        ours: OURS,
        judge: |context| Expectation::judge(faster(context, "byteslice", &["native"], 1.0, &[])),
    },
    Claim {
        id: "merge.level",
        text: "Merging byte slices is level with merging native codes",
        place: "section 6",
        ours: Some("the claim is ours; level: no more than 1.1 times the time"),
        judge: |context| Expectation::judge(faster(context, "byteslice", &["native"], 1.1, &[])),
    },
];
