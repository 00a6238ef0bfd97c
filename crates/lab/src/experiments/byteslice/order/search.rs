//! Binary search in sorted columns of byte slices against that in native codes.

use super::super::expect::faster;
use super::{FIGURE, OURS, OrderData, PLACE, SPREADS, Slices, design, same};
use crate::experiment::{Bench, Claim, Expectation, Experiment, Factor, Figure, Laps, Subject, Variant};
use crate::random::Random;
use crate::with_codes;
use gingham_kernels::lab::order as slices;
use gingham_kernels::order::{self, Bound};
use gingham_kernels::{Code, Isa};
use std::rc::Rc;

/// The experiment.
pub static SEARCH: Experiment = Experiment {
    name: "byteslice.search",
    title: "Searching sorted byte slices",
    place: PLACE,
    about: "Lower bounds of random constants in sorted, evenly distributed codes: one constant after the other, each in all of the codes; \
            and many at once, for which the first row of each leading digit is looked up before. Byte slices are compared two bytes at a time, and \
            the last 64 codes by one vector comparison.",
    uses: &[],
    design: |bench| {
        let mut design = design(bench, &SPREADS[..1], &PACKINGS, variants);
        design.factors.push(Factor::new("constants", "", CALLS));
        Ok(design)
    },
    derive: None,
    figures: &[Figure {
        title: "Time of a search",
        panels: &["rows", "constants"],
        axis: "cycles per constant",
        ..FIGURE
    }],
    claims: &CLAIMS,
};

const PACKINGS: [&str; 2] = ["byteslice", "native"];
const CALLS: [&str; 2] = ["one at a time", "many"];
/// Constants of a run.
const CONSTANTS: usize = 1 << 14;

fn variants(bench: &Bench, data: OrderData) -> Vec<Variant> {
    with_codes!(data.codes(bench), codes => variants_of(bench, data, codes))
}

fn variants_of<C: Code>(bench: &Bench, data: OrderData, mut codes: Vec<C>) -> Vec<Variant> {
    codes.sort_unstable();
    let count = if bench.is_tiny() { 500 } else { CONSTANTS };
    let mut random = Random::named(bench.settings.seed, "constants that are searched");
    let constants: Vec<u64> = (0..count).map(|_| random.bits() >> (64 - data.width)).collect();
    // The oracle: sorted constants beside sorted codes, one step at a time.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|place| constants[*place]);
    let mut expected = vec![0; count];
    let mut row = 0;
    for place in order {
        while row < codes.len() && codes[row].to_u64() < constants[place] {
            row += 1;
        }
        expected[place] = row as u32;
    }
    let column = Rc::new(Slices::new(bench.isa(), data.width, &codes));
    let wanted = Rc::new(Wanted { width: data.width, codes, constants, expected });
    let mut variants = Vec::new();
    for call in CALLS {
        let many = call == CALLS[1];
        let of_slices = SearchSlices {
            isa: bench.isa(),
            column: Rc::clone(&column),
            many,
            wanted: Rc::clone(&wanted),
            out: Vec::with_capacity(count),
        };
        let of_native = SearchNative { many, wanted: Rc::clone(&wanted), out: Vec::with_capacity(count) };
        let subjects: [Box<dyn Subject>; 2] = [Box::new(of_slices), Box::new(of_native)];
        for (packing, subject) in PACKINGS.into_iter().zip(subjects) {
            let mut levels = data.levels(packing);
            levels.push(("constants", call.to_string()));
            variants.push(Variant { levels, units: (count as f64, "constant"), facts: Vec::new(), subject });
        }
    }
    variants
}

/// Sorted codes, constants, and the oracle's answer.
struct Wanted<C> {
    width: u8,
    codes: Vec<C>,
    constants: Vec<u64>,
    expected: Vec<u32>,
}

struct SearchSlices<C> {
    isa: Isa,
    column: Rc<Slices>,
    many: bool,
    wanted: Rc<Wanted<C>>,
    out: Vec<u32>,
}

impl<C: Code> Subject for SearchSlices<C> {
    fn prepare(&mut self) {
        self.out.clear();
    }

    fn run(&mut self, _: &mut Laps) {
        self.out.clear();
        let (isa, packed, constants) = (self.isa, self.column.packed(), &self.wanted.constants);
        if self.many {
            return slices::search(isa, packed, constants, Bound::Lower, &mut self.out);
        }
        let row = |constant: &u64| slices::bound(isa, packed, *constant, Bound::Lower) as u32;
        self.out.extend(constants.iter().map(row));
    }

    fn check(&mut self) -> Result<(), String> {
        same("row", &self.out, &self.wanted.expected)
    }
}

struct SearchNative<C> {
    many: bool,
    wanted: Rc<Wanted<C>>,
    out: Vec<u32>,
}

impl<C: Code> Subject for SearchNative<C> {
    fn prepare(&mut self) {
        self.out.clear();
    }

    fn run(&mut self, _: &mut Laps) {
        self.out.clear();
        let Wanted { width, codes, constants, .. } = &*self.wanted;
        if self.many {
            return order::search(codes, *width, constants, Bound::Lower, &mut self.out);
        }
        self.out.extend(constants.iter().map(|constant| order::bound(codes, *constant, Bound::Lower) as u32));
    }

    fn check(&mut self) -> Result<(), String> {
        same("row", &self.out, &self.wanted.expected)
    }
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "search.faster",
        text: "Searching sorted byte slices is faster than searching native codes, one constant at a time",
        place: "section 6",
        ours: OURS,
        judge: |context| Expectation::judge(faster(context, "byteslice", &["native"], 1.0, &[("constants", CALLS[0])])),
    },
    Claim {
        id: "search.many_faster",
        text: "The same of many constants at once",
        place: "section 6",
        ours: OURS,
        judge: |context| Expectation::judge(faster(context, "byteslice", &["native"], 1.0, &[("constants", CALLS[1])])),
    },
];
