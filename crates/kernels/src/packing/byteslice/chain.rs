//! Scans of byte slices, written once for every instruction set: Algorithms 1 and 2 of the ByteSlice paper.
//!
//! From the most significant slice on, each code is less, equal or greater so far; what the next slice says counts only
//! where it is still equal. Once no code is (of those whose answer matters), the rest of the slices is left unread.
//!
//! The paper asks after each register whether to go on. Over codes of even spread the first byte leaves one register in
//! five undecided, so that the branch is mispredicted where a second slice would have cost less. Here 512 codes are
//! asked at once, and each such group reads as many slices as the one before it needed; every few groups one slice less is
//! tried. What is known of 64 codes stays in registers from slice to slice, and branches go wrong only where the data
//! changes.

mod apart;

use super::super::test::{Comparison, Relation};
use super::super::{Combine, Options};
use super::vector::{Column, Constant, Operand, Vector};
use super::{Slices, Ways};
use crate::cache::{fence, store_past};
use apart::Waiting;
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Words of 64 codes in a group.
const GROUP: usize = 8;
/// Groups at one depth before a lower one is tried: at first, and at most, after trials that failed.
const PATIENCE: (usize, usize) = (8, 64);
/// Groups at a lower depth after which the trial of it has not failed.
const TRIAL: usize = 4;

/// Bytes between what is read of a slice and what memory is asked for meanwhile. Processors fetch ahead by themselves, but
/// each group goes from slice to slice: of two slices out of cache a scan takes half the time with this (Zen 5), and of a
/// table's zones, one after the other, three quarters in memory and two thirds in the last cache. Where all lies in the
/// second cache it costs a few percent, but nobody knows that before.
const AHEAD: usize = 4096;
/// What is known of 64 codes against one operand, after the slices read so far.
pub(super) struct Chain<V: Vector> {
    pub(super) equal: V::Mask,
    pub(super) less: V::Mask,
    difference: V::Difference,
}

impl<V: Vector> Chain<V> {
    /// Nothing read yet of the codes `within`; the others are never equal nor less.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    pub(super) unsafe fn new(within: V::Mask) -> Self {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe { Self { equal: within, less: V::none(), difference: V::no_difference() } }
    }

    /// Reads one slice. Only what `LESS` asks for is kept up, and in the last slice only what is the answer.
    ///
    /// # Safety
    /// As for [`Vector`] and [`Operand::get`].
    #[inline(always)]
    pub(super) unsafe fn step<const LESS: bool, const LAST: bool>(&mut self, units: V, other: V) {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe {
            if LESS {
                self.less = V::or(self.less, units.less(other, self.equal));
            }
            if !LESS || !LAST {
                self.step_equal(units, other);
            }
        }
    }

    /// Reads one slice, to know what is still equal.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    pub(super) unsafe fn step_equal(&mut self, units: V, other: V) {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe {
            self.difference = units.differ(other, self.difference);
            self.equal = units.equal(other, self.equal);
        }
    }

    /// `nearest`, and whatever is still equal here.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    pub(super) unsafe fn nearer(&self, nearest: V::Nearest) -> V::Nearest {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe { V::nearer(nearest, self.equal, self.difference) }
    }
}

/// The comparisons as constants, since each gets a loop of its own.
const EQUAL: u8 = 0;
const LESS: u8 = 1;
const WITHIN: u8 = 2;

/// Ways in which the bits of a previous predicate come in: there are none; they meet the condensed M_eq (Algorithm 2);
/// or they are expanded and M_eq starts from them (the way that the paper rejects for AVX2, in figure 7). Or there are none
/// and answers go past the caches.
const SET: u8 = 0;
const CONDENSED: u8 = 1;
const EXPANDED: u8 = 2;
const PAST: u8 = 3;

/// Whether bits of a previous predicate come in.
const fn piped(way: u8) -> bool {
    way == CONDENSED || way == EXPANDED
}

/// Where a scan is: the group it comes to next, and the number of slices to read of it.
#[derive(Clone, Copy)]
pub(in crate::packing) struct ScanPosition {
    group: usize,
    depth: usize,
}

/// A loop over groups: [`ChainScan::sweep`] for one instruction set.
type Sweep<V, O> = unsafe fn(&ChainScan<'_, V, O>, ScanPosition, &mut [u64]) -> ScanPosition;

/// Where the slices of a scan lie: its first unit of the first one, and bytes from one to the next.
#[derive(Clone, Copy)]
struct Lines {
    start: *const u8,
    stride: usize,
}

/// A scan: what is the same for all of its groups.
pub(in crate::packing) struct ChainScan<'a, V: Vector, O> {
    slices: Slices<'a, V::Unit>,
    /// The constant or column; for `WITHIN` the end, then the low one. They stay where they are made:
    /// copies of a kilobyte had been a third of what a scan of 512 codes takes, 51 ns (Zen 5).
    operands: [&'a O; 2],
    early_stop: bool,
    /// All ones when the answer is the complement.
    negate: u64,
    /// All ones when set bits need no answer (a disjunction), zero when bits that are not set don't.
    or: u64,
}

/// Answers a comparison of every code with constants.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn scan<V: Vector>(
    slices: Slices<'_, V::Unit>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    ways: Ways,
    out: &mut [u64],
) {
    // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; constants are no
    // memory.
    unsafe {
        let (Comparison::Equal(code) | Comparison::Less(code) | Comparison::Within { end: code, .. }) = comparison;
        let mut constant = Constant::<V>::zero();
        constant.set(code, slices.count, slices.padding);
        let scan = ChainScan::<V, _>::new(slices, [&constant; 2], negate, options);
        match comparison {
            Comparison::Equal(_) => scan.run::<EQUAL>(options, ways, out),
            Comparison::Less(_) => scan.run::<LESS>(options, ways, out),
            Comparison::Within { low, .. } => {
                let code = low;
                let mut low = Constant::<V>::zero();
                low.set(code, slices.count, slices.padding);
                let scan = ChainScan { operands: [&constant, &low], ..scan };
                scan.run::<WITHIN>(options, ways, out);
            }
        }
    }
}

/// Answers a comparison of every code with the other column's code of the same row. The columns have as many rows and
/// slices as each other.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn compare<V: Vector>(
    slices: Slices<'_, V::Unit>,
    relation: Relation,
    other: Slices<'_, V::Unit>,
    negate: bool,
    options: Options,
    out: &mut [u64],
) {
    assert!(slices.count == other.count && slices.rows == other.rows, "columns of one shape");
    let column = Column { bytes: other.start(), stride: other.stride() };
    let scan = ChainScan::<V, _>::new(slices, [&column; 2], negate, options);
    // Two columns are read for every answer, so that there is less to gain past the caches.
    let ways = Ways { expanded: false, far: usize::MAX };
    // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; the shapes were
    // compared above.
    unsafe {
        match relation {
            Relation::Equal => scan.run::<EQUAL>(options, ways, out),
            Relation::Less => scan.run::<LESS>(options, ways, out),
        }
    }
}

impl<'a, V: Vector, O: Operand<V>> ChainScan<'a, V, O> {
    #[inline(always)]
    fn new(slices: Slices<'a, V::Unit>, operands: [&'a O; 2], negate: bool, options: Options) -> Self {
        let ones = |yes| if yes { u64::MAX } else { 0 };
        let (negate, or) = (ones(negate), ones(options.combine == Combine::Or));
        Self { slices, operands, early_stop: options.early_stop, negate, or }
    }

    /// # Safety
    /// As for [`Vector`] and [`Operand::get`], here and below.
    #[inline(always)]
    unsafe fn run<const KIND: u8>(&self, options: Options, ways: Ways, out: &mut [u64]) {
        assert_eq!(out.len(), self.slices.rows.div_ceil(64), "a word per 64 codes");
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; slices are
        // padded to whole words of codes.
        unsafe {
            match options.combine {
                Combine::Set if self.slices.rows * size_of::<V::Unit>() > ways.far => {
                    self.words::<KIND, PAST>(out);
                    // Before the caller has the answers.
                    fence();
                }
                Combine::Set => self.words::<KIND, SET>(out),
                Combine::And | Combine::Or if ways.expanded => self.words::<KIND, EXPANDED>(out),
                Combine::And | Combine::Or => self.words::<KIND, CONDENSED>(out),
            }
        }
    }

    #[inline(always)]
    unsafe fn words<const KIND: u8, const WAY: u8>(&self, out: &mut [u64]) {
        let count = self.slices.count;
        let groups = out.len() / GROUP;
        let mut patience = PATIENCE.0;
        let mut waiting = Waiting::none();
        let mut place = ScanPosition { group: 0, depth: if self.early_stop { 1 } else { count } };
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe {
            while place.group < groups {
                let start = place.group;
                let end = if place.depth > 1 && self.early_stop { groups.min(start + patience) } else { groups };
                let sweep = self.sweep_of::<KIND, WAY>(place.depth);
                let next = sweep(self, place, &mut out[..end * GROUP]);
                if next.depth > place.depth && next.group >= start + TRIAL {
                    // A group here and there that needs more does so alone.
                    self.finish::<KIND, WAY>(waiting, out);
                    waiting = self.words_apart::<KIND, WAY>(next.group, place.depth, out);
                    place = ScanPosition { group: next.group + 1, depth: place.depth };
                } else if next.depth > place.depth {
                    patience = (patience * 2).min(PATIENCE.1);
                    place = next;
                } else {
                    place = ScanPosition { depth: next.depth.max(2) - 1, ..next };
                }
            }
            self.finish::<KIND, WAY>(waiting, out);
            if !out.len().is_multiple_of(GROUP) {
                // Fewer words than a group, as deep as it goes.
                V::sweep::<O, KIND, WAY, 0, false>(self, ScanPosition { group: groups, depth: count }, out);
            }
        }
    }

    /// The loop for a depth: the first two slices of a column against constants have loops of their own.
    #[inline(always)]
    fn sweep_of<const KIND: u8, const WAY: u8>(&self, depth: usize) -> Sweep<V, O> {
        if !O::SAME { V::sweep::<O, KIND, WAY, 0, false> } else { self.sweep_of_constants::<KIND, WAY>(depth) }
    }

    #[inline(always)]
    fn sweep_of_constants<const KIND: u8, const WAY: u8>(&self, depth: usize) -> Sweep<V, O> {
        let pairs = self.operands.iter().all(|operand| operand.pairs());
        match (depth, depth == self.slices.count) {
            (1, true) => V::sweep::<O, KIND, WAY, 1, true>,
            (1, false) => V::sweep::<O, KIND, WAY, 1, false>,
            (2, true) if pairs => V::sweep::<O, KIND, WAY, 2, true>,
            (2, false) if pairs => V::sweep::<O, KIND, WAY, 2, false>,
            _ => V::sweep::<O, KIND, WAY, 0, false>,
        }
    }

    /// Answers groups of words, from `place` on and as long as they need the same number of slices, which `DEPTH` says
    /// too, unless it is 0, and which are all of them if `LAST`. Gives the place to go
    /// on at. Where there is no interest
    /// the answers mean nothing. The last group may be shorter when `DEPTH` is 0.
    ///
    /// # Safety
    /// As for [`Vector`] and [`Operand::get`]; the slices have the words.
    #[inline(always)]
    pub(super) unsafe fn sweep<const KIND: u8, const WAY: u8, const DEPTH: usize, const LAST: bool>(
        &self,
        place: ScanPosition,
        out: &mut [u64],
    ) -> ScanPosition {
        let depth = if DEPTH == 0 { place.depth } else { DEPTH };
        // Found once: the compiler can't know that writing answers leaves them as they are.
        let lines = Lines { start: self.slices.start(), stride: self.slices.stride() };
        if DEPTH == 0 {
            for (group, out) in (place.group..).zip(out[place.group * GROUP..].chunks_mut(GROUP)) {
                // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
                if unsafe { self.group::<KIND, WAY, DEPTH, LAST>(lines, group, depth, out) } {
                    return ScanPosition { group, depth: depth + 1 };
                }
            }
        } else {
            for (group, out) in (place.group..).zip(out[place.group * GROUP..].as_chunks_mut::<GROUP>().0) {
                // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
                if unsafe { self.group::<KIND, WAY, DEPTH, LAST>(lines, group, depth, out) } {
                    return ScanPosition { group, depth: depth + 1 };
                }
            }
        }
        ScanPosition { group: out.len() / GROUP, depth }
    }

    /// Answers the words of a group from the first `depth` slices, unless a deeper one is needed, which it tells.
    #[inline(always)]
    unsafe fn group<const KIND: u8, const WAY: u8, const DEPTH: usize, const LAST: bool>(
        &self,
        lines: Lines,
        group: usize,
        depth: usize,
        out: &mut [u64],
    ) -> bool {
        let mut interest = [0; GROUP];
        let mut scratch = [0; GROUP];
        if piped(WAY) {
            for (interest, word) in interest.iter_mut().zip(&*out) {
                *interest = word ^ self.or;
            }
            if self.early_stop && interest.iter().fold(0, |any, bits| any | bits) == 0 {
                return false;
            }
        }
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        let open = unsafe {
            let answers = if WAY == SET { &mut *out } else { &mut scratch[..out.len()] };
            if O::SAME && !piped(WAY) && KIND != EQUAL && DEPTH != 0 {
                self.below::<KIND, DEPTH, LAST>(lines, group, answers)
            } else {
                self.chains::<KIND, WAY, LAST>(lines, group, depth, &interest, answers)
            }
        };
        if open {
            return true;
        }
        if WAY != SET {
            out.iter_mut().zip(scratch).for_each(|(out, answer)| self.put::<WAY>(out, answer));
        } else if self.negate != 0 {
            out.iter_mut().for_each(|word| *word = !*word);
        }
        false
    }

    /// Stores the answer for a word, or combines it with what is there.
    #[inline(always)]
    fn put<const WAY: u8>(&self, out: &mut u64, answer: u64) {
        let answer = answer ^ self.negate;
        if WAY == PAST {
            // SAFETY: a scan of this way reads no answers, and `run` ends it with a fence.
            unsafe { store_past(out, answer) };
        } else if WAY == SET {
            *out = answer;
        } else {
            *out = *out & answer | (*out | answer) & self.or;
        }
    }

    /// [`ChainScan::group`] without negation and previous bits, for any comparison.
    #[inline(always)]
    unsafe fn chains<const KIND: u8, const WAY: u8, const LAST: bool>(
        &self,
        lines: Lines,
        group: usize,
        depth: usize,
        interest: &[u64; GROUP],
        answers: &mut [u64],
    ) -> bool {
        let last = LAST || depth == self.slices.count;
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; there are
        // `depth` slices, `stride` bytes from each other.
        unsafe {
            let mut open = UndecidedCodes::<V>::new();
            for (i, (answer, interest)) in answers.iter_mut().zip(interest).enumerate() {
                let offset = (group * GROUP + i) * 64 * size_of::<V::Unit>();
                let mut bytes = lines.start.add(offset);
                let within = if WAY == EXPANDED { V::expand(*interest) } else { V::all() };
                let (mut chain, mut low) = (Chain::<V>::new(within), Chain::<V>::new(within));
                for slice in 0..depth - 1 {
                    self.step::<KIND, false>(&mut chain, &mut low, load_ahead(bytes), slice, offset);
                    bytes = bytes.add(lines.stride);
                }
                self.step::<KIND, LAST>(&mut chain, &mut low, load_ahead(bytes), depth - 1, offset);
                if !last {
                    open.add::<KIND, WAY>(&chain, &low, *interest);
                }
                // Volatile, because the compiler would otherwise carry one word after the other into vector registers,
                // just to store them together; that costs more than the comparisons.
                std::ptr::from_mut(answer).write_volatile(answer_bits::<V, KIND, WAY>(&chain, &low));
            }
            !last && open.any::<WAY>()
        }
    }

    /// [`ChainScan::chains`] from one or two slices and against constants, when nothing is known before: what is less in the second
    /// slice raises the constant's unit in the first by one. That takes fewer comparisons than the chain.
    #[inline(always)]
    unsafe fn below<const KIND: u8, const DEPTH: usize, const LAST: bool>(
        &self,
        lines: Lines,
        group: usize,
        answers: &mut [u64],
    ) -> bool {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; there are
        // `DEPTH` slices, `stride` bytes from each other.
        unsafe {
            let (mut near, mut doubt) = (V::none_near(), V::no_doubt());
            // Read once: the compiler can't know that writing answers leaves them as they are, and would load them for
            // every vector.
            let constants = self.operands.map(|of| ([of.get(0, 0), of.get(DEPTH - 1, 0)], of.raised()));
            for (i, answer) in answers.iter_mut().enumerate() {
                let offset = (group * GROUP + i) * 64 * size_of::<V::Unit>();
                let bytes = lines.start.add(offset);
                let first = load_ahead::<V>(bytes);
                let second = if DEPTH == 2 { load_ahead::<V>(bytes.add(lines.stride)) } else { first };
                let mut bits = 0;
                for (i, (units, raised)) in constants[..if KIND == WITHIN { 2 } else { 1 }].iter().enumerate() {
                    let below = if DEPTH == 2 {
                        first.bits_below_pair(second, *units, *raised, &mut doubt)
                    } else {
                        let mut chain = Chain::<V>::new(V::all());
                        chain.step_equal(first, units[0]);
                        near = chain.nearer(near);
                        first.bits_below(units[0])
                    };
                    bits = if i == 0 { below } else { bits & !below };
                }
                // Volatile as above.
                std::ptr::from_mut(answer).write_volatile(bits);
            }
            if DEPTH == 2 {
                !LAST && V::any_doubt(doubt) && self.any_same_pair::<KIND>(lines, group, answers.len())
            } else {
                !LAST && V::any_near(near)
            }
        }
    }

    /// Whether one of the codes of a group's words has both of its first two units in common with a constant.
    #[inline(always)]
    unsafe fn any_same_pair<const KIND: u8>(&self, lines: Lines, group: usize, words: usize) -> bool {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; there are two
        // slices, `stride` bytes from each other.
        unsafe {
            let mut near = V::none_near();
            for word in group * GROUP..group * GROUP + words {
                let offset = word * 64 * size_of::<V::Unit>();
                let bytes = lines.start.add(offset);
                let units = [V::load(bytes), V::load(bytes.add(lines.stride))];
                for constant in &self.operands[..if KIND == WITHIN { 2 } else { 1 }] {
                    near = nearer_pair(units, [constant.get(0, offset), constant.get(1, offset)], near);
                }
            }
            V::any_near(near)
        }
    }

    #[inline(always)]
    unsafe fn step<const KIND: u8, const LAST: bool>(
        &self,
        chain: &mut Chain<V>,
        low: &mut Chain<V>,
        units: V,
        slice: usize,
        offset: usize,
    ) {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe {
            if KIND == EQUAL {
                chain.step::<false, LAST>(units, self.operands[0].get(slice, offset));
            } else {
                chain.step::<true, LAST>(units, self.operands[0].get(slice, offset));
            }
            if KIND == WITHIN {
                low.step::<true, LAST>(units, self.operands[1].get(slice, offset));
            }
        }
    }
}

/// A bit per code: the answer that its slices have given.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn answer_bits<V: Vector, const KIND: u8, const WAY: u8>(chain: &Chain<V>, low: &Chain<V>) -> u64 {
    // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
    unsafe {
        V::bits(match KIND {
            EQUAL if !piped(WAY) => V::same(chain.equal, chain.difference),
            EQUAL => chain.equal,
            LESS => chain.less,
            _ => V::and_not(chain.less, low.less),
        })
    }
}

/// `nearest`, and the codes of two units that are the same as the constant.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn nearer_pair<V: Vector>(units: [V; 2], constant: [V; 2], nearest: V::Nearest) -> V::Nearest {
    // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
    unsafe {
        let mut chain = Chain::<V>::new(V::all());
        chain.step_equal(units[0], constant[0]);
        chain.step_equal(units[1], constant[1]);
        chain.nearer(nearest)
    }
}

/// The units of 64 codes in a slice, asking memory for those that come [`AHEAD`] bytes later.
///
/// # Safety
/// As for [`Vector::load`].
#[inline(always)]
pub(super) unsafe fn load_ahead<V: Vector>(bytes: *const u8) -> V {
    // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; a prefetch reads
    // nothing and never faults, wherever it points.
    unsafe {
        for line in (0..64 * size_of::<V::Unit>()).step_by(64) {
            _mm_prefetch::<_MM_HINT_T0>(bytes.wrapping_add(AHEAD + line).cast());
        }
        V::load(bytes)
    }
}

/// Codes of a group that a further slice could decide: the paper's M_eq, and r_prev AND movemask(M_eq) when piped.
struct UndecidedCodes<V: Vector> {
    near: V::Nearest,
    mask: V::Mask,
    bits: u64,
}

impl<V: Vector> UndecidedCodes<V> {
    /// # Safety
    /// As for [`Vector`], here and below.
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe { Self { near: V::none_near(), mask: V::none(), bits: 0 } }
    }

    #[inline(always)]
    unsafe fn add<const KIND: u8, const WAY: u8>(&mut self, chain: &Chain<V>, low: &Chain<V>, interest: u64) {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe {
            let equal = if KIND == WITHIN { V::or(chain.equal, low.equal) } else { chain.equal };
            match WAY {
                SET | PAST => {
                    self.near = chain.nearer(self.near);
                    if KIND == WITHIN {
                        self.near = low.nearer(self.near);
                    }
                }
                CONDENSED => self.bits |= V::bits(equal) & interest,
                _ => self.mask = V::or(self.mask, equal),
            }
        }
    }

    #[inline(always)]
    unsafe fn any<const WAY: u8>(&self) -> bool {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe {
            match WAY {
                SET | PAST => V::any_near(self.near),
                CONDENSED => self.bits != 0,
                _ => V::any(self.mask),
            }
        }
    }
}
