//! In which order the parts of an AND or OR are evaluated, and in which of the ByteSlice paper's ways (section 3.1.2):
//! what costs least by a model of the work, from the share of records that each part lets through.
//!
//! The model counts what the kernels do: a scan of packed codes skips runs of 64 that are decided, chunks are left out
//! by the 1024, a test of values looks at single records. The parts of an AND are taken to be independent, until
//! [`crate::scan::observe`] has seen what they let through one after the other.

use crate::Layout;
use crate::model::view::Format;
use crate::scan::code::{CodePredicate, CodeTest, Junction, Leaf, Reach};
use crate::scan::condition::Condition;
use crate::scan::costs::Costs;
use crate::scan::estimate::joined;
use crate::segment::group::GroupMeta;
use gingham_kernels::packing::{Connective, Packing, Way};

/// Picoseconds to copy a code together from rows, measured on an AMD EPYC with AVX-512 at records of 48 bytes. Chunks of two
/// cost more, being loops of two; from then on it is the loop that is shared by k records, down to a plain copy.
const FROM_ROWS: f64 = 450.0;
const PER_RUN: f64 = 1800.0;
const FROM_PAIRS: f64 = 800.0;
const FROM_LONG_RUNS: f64 = 50.0;

/// Records that are left out together when all are decided: of packed codes, of unpacked runs, of chunks.
const PACKED_RUN: i32 = 64;
const UNPACKED_RUN: i32 = 512;
const CHUNKED_RUN: i32 = 1024;

/// Another way than column-first must save this share of the modelled work: the model is no better than that, and
/// column-first was the fastest in all measured cases (docs/papers.md, figures 12 and 19).
const WORTH_ANOTHER_WAY: f64 = 0.1;

/// Rough picoseconds a record to bring codes together that lie in chunks: a load each in rows, the copying of short runs
/// in small chunks. Packed codes are compared where they lie.
pub(super) fn gathering(group: &GroupMeta) -> f64 {
    match (group.columns.len(), group.layout) {
        (0 | 1, _) | (_, Layout::Column | Layout::SuperTuple | Layout::DenseColumn) => 0.0,
        (_, Layout::Row | Layout::MemPax(1)) => FROM_ROWS,
        (_, Layout::MemPax(k)) => (PER_RUN / f64::from(k)).clamp(FROM_LONG_RUNS, FROM_PAIRS),
    }
}

/// What the order of work is judged by.
pub(super) struct Model<'a> {
    /// What codes of a format cost.
    pub(super) costs: &'a dyn Fn(Format) -> Costs,
    /// The share of records that node number .. lets through, of which the metadata expects ..
    pub(super) share: &'a dyn Fn(usize, f64) -> f64,
}

impl Model<'_> {
    /// Puts the parts of every AND and OR in the cheapest order and chooses the way.
    pub(super) fn arrange(&self, predicate: &mut CodePredicate) {
        let CodePredicate::Junction(junction) = predicate else { return };
        junction.parts.iter_mut().for_each(|part| self.arrange(part));
        // The best order of independent filters of fixed cost; what the cost of a part gains by those before it is
        // left to swapping neighbours.
        let rank = |part: &CodePredicate| {
            let share = self.share(part);
            let decided = if junction.connective == Connective::And { 1.0 - share } else { share };
            self.cost(part, 1.0) / (decided + 0.001)
        };
        junction.parts.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        junction.way = Way::ColumnFirst;
        let mut cost = self.junction(junction, 1.0);
        for _ in 1..junction.parts.len() {
            let before = cost;
            for at in 1..junction.parts.len() {
                junction.parts.swap(at - 1, at);
                let swapped = self.junction(junction, 1.0);
                if swapped < cost {
                    cost = swapped;
                } else {
                    junction.parts.swap(at - 1, at);
                }
            }
            if cost >= before {
                break;
            }
        }
        junction.way = self.way(junction, cost);
    }

    /// The way that is worth it, given what column-first costs.
    fn way(&self, junction: &mut Junction, column_first: f64) -> Way {
        let (mut best, mut way) = (column_first * (1.0 - WORTH_ANOTHER_WAY), Way::ColumnFirst);
        for other in [Way::Baseline, Way::PredicateFirst] {
            if other == Way::PredicateFirst && !in_place(junction) {
                continue;
            }
            junction.way = other;
            let cost = self.junction(junction, 1.0);
            if cost < best {
                (best, way) = (cost, other);
            }
        }
        way
    }

    /// The share of records that a predicate lets through.
    pub(super) fn share(&self, predicate: &CodePredicate) -> f64 {
        match predicate {
            CodePredicate::Constant(value) => f64::from(u8::from(*value)),
            CodePredicate::Leaf(leaf) => (self.share)(leaf.node, leaf.expected),
            CodePredicate::Junction(Junction { connective, parts, .. }) => {
                joined(*connective, parts.iter().map(|part| self.share(part)))
            }
        }
    }

    /// Picoseconds a record of the zone to evaluate a predicate as it is arranged, when a share of `open` records is
    /// undecided.
    pub(super) fn cost(&self, predicate: &CodePredicate, open: f64) -> f64 {
        match predicate {
            CodePredicate::Constant(_) => 0.0,
            CodePredicate::Leaf(leaf) => self.leaf(leaf, open),
            CodePredicate::Junction(junction) => self.junction(junction, open),
        }
    }

    fn junction(&self, junction: &Junction, open: f64) -> f64 {
        let (mut left, mut cost) = (open, 0.0);
        for part in &junction.parts {
            cost += match (junction.way, part) {
                (Way::Baseline, part) => self.cost(part, open),
                (Way::PredicateFirst, CodePredicate::Leaf(Leaf { reach: Reach::Packed(format), .. })) => {
                    let slices = matches!(format.packing(), Packing::ByteSlice | Packing::ByteSlice16);
                    let run = if slices { PACKED_RUN } else { UNPACKED_RUN };
                    (self.costs)(*format).together * touched(left, run)
                }
                (_, part) => self.cost(part, left),
            };
            let share = self.share(part);
            left *= if junction.connective == Connective::And { share } else { 1.0 - share };
        }
        cost
    }

    fn leaf(&self, leaf: &Leaf, open: f64) -> f64 {
        let native = |width: u8| {
            let format = Format::new(Packing::Native, width * 8).expect("codes of 1, 2, 4 or 8 bytes");
            (self.costs)(format).scan
        };
        match (&leaf.codes, leaf.reach) {
            (CodeTest::All | CodeTest::None, _) => 5.0,
            (CodeTest::Values, _) | (_, Reach::Values) => of_values(leaf) * open,
            (codes, Reach::Native(width)) => comparing(codes, native(width)),
            (codes, Reach::Chunks { width, gathering }) => {
                (comparing(codes, native(width)) + gathering) * touched(open, CHUNKED_RUN)
            }
            (
                codes @ (CodeTest::Bitmap { .. } | CodeTest::Set { .. } | CodeTest::Sorted { .. }),
                Reach::Packed(format),
            ) => comparing(codes, (self.costs)(format).scan) * touched(open, UNPACKED_RUN),
            (codes, Reach::Packed(format)) => {
                let costs = (self.costs)(format);
                // Scans that know what is decided cost a little more than one that does not have to.
                let live = touched(open, PACKED_RUN);
                let scan = if open >= 1.0 { costs.scan } else { costs.decided + (costs.masked - costs.decided) * live };
                comparing(codes, scan)
            }
        }
    }
}

/// Whether all parts are comparisons of packed codes, as predicate-first wants them.
pub(super) fn in_place(junction: &Junction) -> bool {
    junction.parts.iter().all(|part| matches!(part, CodePredicate::Leaf(leaf) if leaf.in_place()))
}

/// The share of runs of `run` records in which any is undecided, when a share of `open` is.
fn touched(open: f64, run: i32) -> f64 {
    1.0 - (1.0 - open.clamp(0.0, 1.0)).powi(run)
}

/// Picoseconds a code, when one comparison takes `scan`.
fn comparing(codes: &CodeTest, scan: f64) -> f64 {
    match codes {
        CodeTest::Any { codes, .. } => scan * codes.len() as f64,
        // A gather of a word each.
        CodeTest::Bitmap { .. } => scan + 400.0,
        CodeTest::Set { .. } => scan + 2_000.0,
        CodeTest::Sorted { .. } => scan + 10_000.0,
        _ => scan,
    }
}

/// Picoseconds a value.
fn of_values(leaf: &Leaf) -> f64 {
    match &*leaf.condition {
        Condition::Keys { .. } => 700.0,
        Condition::KeySet { .. } | Condition::Bytes { .. } | Condition::BytesSet { .. } => 5_000.0,
        _ => 50_000.0,
    }
}
