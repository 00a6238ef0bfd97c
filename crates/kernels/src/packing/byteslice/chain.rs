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

use super::super::test::{Comparison, Relation};
use super::super::{Combine, Options};
use super::Slices;
use super::vector::{Column, Constant, Operand, Vector};
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Words of 64 codes in a group.
const GROUP: usize = 8;
/// Groups at one depth before a lower one is tried: at first, and at most, after trials that failed.
const PATIENCE: (usize, usize) = (8, 64);
/// Groups at a lower depth after which the trial of it has not failed.
const TRIAL: usize = 4;

/// Bytes between what is read of a slice and what memory is asked for meanwhile. Processors fetch ahead by themselves, but
/// each group goes from slice to slice: of two slices out of cache a scan takes half the time with this (Zen 5).
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
        // SAFETY: the caller's.
        unsafe { Self { equal: within, less: V::none(), difference: V::no_difference() } }
    }

    /// Reads one slice. Only what `LESS` asks for is kept up, and in the last slice only what is the answer.
    ///
    /// # Safety
    /// As for [`Vector`] and [`Operand::get`].
    #[inline(always)]
    pub(super) unsafe fn step<const LESS: bool, const LAST: bool>(&mut self, units: V, other: V) {
        // SAFETY: the caller's.
        unsafe {
            if LESS {
                self.less = V::or(self.less, units.less(other, self.equal));
            }
            self.difference = units.differ(other, self.difference);
            if !LESS || !LAST {
                self.equal = units.equal(other, self.equal);
            }
        }
    }
}

/// The comparisons as constants, since each gets a loop of its own.
const EQUAL: u8 = 0;
const LESS: u8 = 1;
const WITHIN: u8 = 2;

/// Ways in which the bits of a previous predicate come in: there are none; they meet the condensed M_eq (Algorithm 2);
/// or they are expanded and M_eq starts from them (the way that the paper rejects for AVX2, in figure 7).
const SET: u8 = 0;
const CONDENSED: u8 = 1;
const EXPANDED: u8 = 2;

/// Where a scan is: the group it comes to next, and the number of slices to read of it.
#[derive(Clone, Copy)]
pub(in crate::packing) struct Place {
    group: usize,
    depth: usize,
}

/// A scan: what is the same for all of its groups.
pub(in crate::packing) struct Scan<'a, V: Vector, O> {
    slices: Slices<'a, V::Unit>,
    /// The constant or column; for `WITHIN` the end, then the low one.
    operands: [O; 2],
    early_stop: bool,
    /// All ones when the answer is the complement.
    negate: u64,
    /// All ones when set bits need no answer (a disjunction), zero when bits that are not set don't.
    or: u64,
}

/// Answers a comparison of every code with constants. `expanded` asks for the other way of a previous predicate's bits.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn scan<V: Vector>(
    slices: Slices<'_, V::Unit>,
    comparison: Comparison,
    negate: bool,
    options: Options,
    expanded: bool,
    out: &mut [u64],
) {
    // SAFETY: the caller's; constants are no memory.
    unsafe {
        let (first, second) = match comparison {
            Comparison::Equal(code) | Comparison::Less(code) => (code, 0),
            Comparison::Within { low, end } => (end, low),
        };
        let constant = |code| Constant::<V>::new(code, slices.count, slices.padding);
        let scan = Scan::<V, _>::new(slices, [constant(first), constant(second)], negate, options);
        match comparison {
            Comparison::Equal(_) => scan.run::<EQUAL>(options, expanded, out),
            Comparison::Less(_) => scan.run::<LESS>(options, expanded, out),
            Comparison::Within { .. } => scan.run::<WITHIN>(options, expanded, out),
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
    let column = || Column { bytes: other.start(), stride: other.stride() };
    let scan = Scan::<V, _>::new(slices, [column(), column()], negate, options);
    // SAFETY: the caller's; the shapes were compared above.
    unsafe {
        match relation {
            Relation::Equal => scan.run::<EQUAL>(options, false, out),
            Relation::Less => scan.run::<LESS>(options, false, out),
        }
    }
}

impl<'a, V: Vector, O: Operand<V>> Scan<'a, V, O> {
    fn new(slices: Slices<'a, V::Unit>, operands: [O; 2], negate: bool, options: Options) -> Self {
        let ones = |yes| if yes { u64::MAX } else { 0 };
        let (negate, or) = (ones(negate), ones(options.combine == Combine::Or));
        Self { slices, operands, early_stop: options.early_stop, negate, or }
    }

    /// # Safety
    /// As for [`Vector`] and [`Operand::get`], here and below.
    #[inline(always)]
    unsafe fn run<const KIND: u8>(&self, options: Options, expanded: bool, out: &mut [u64]) {
        assert_eq!(out.len(), self.slices.rows.div_ceil(64), "a word per 64 codes");
        // SAFETY: the caller's; slices are padded to whole words of codes.
        unsafe {
            match options.combine {
                Combine::Set => self.words::<KIND, SET>(out),
                Combine::And | Combine::Or if expanded => self.words::<KIND, EXPANDED>(out),
                Combine::And | Combine::Or => self.words::<KIND, CONDENSED>(out),
            }
        }
    }

    #[inline(always)]
    unsafe fn words<const KIND: u8, const WAY: u8>(&self, out: &mut [u64]) {
        let count = self.slices.count;
        let (groups, rest) = out.as_chunks_mut::<GROUP>();
        let first = groups.len() * GROUP;
        let mut patience = PATIENCE.0;
        let mut place = Place { group: 0, depth: if self.early_stop { 1 } else { count } };
        // SAFETY: the caller's.
        unsafe {
            while place.group < groups.len() {
                let start = place.group;
                let end =
                    if place.depth > 1 && self.early_stop { groups.len().min(start + patience) } else { groups.len() };
                let run = &mut groups[..end];
                let next = match (place.depth, place.depth == count) {
                    (1, true) => V::sweep::<O, KIND, WAY, GROUP, 1, true>(self, 0, place, run),
                    (1, false) => V::sweep::<O, KIND, WAY, GROUP, 1, false>(self, 0, place, run),
                    (2, true) => V::sweep::<O, KIND, WAY, GROUP, 2, true>(self, 0, place, run),
                    (2, false) => V::sweep::<O, KIND, WAY, GROUP, 2, false>(self, 0, place, run),
                    (_, true) => V::sweep::<O, KIND, WAY, GROUP, 0, true>(self, 0, place, run),
                    (_, false) => V::sweep::<O, KIND, WAY, GROUP, 0, false>(self, 0, place, run),
                };
                if next.depth > place.depth {
                    patience = if next.group < start + TRIAL { (patience * 2).min(PATIENCE.1) } else { PATIENCE.0 };
                    place = next;
                } else {
                    place = Place { depth: next.depth.max(2) - 1, ..next };
                }
            }
            // Fewer words than a group, one by one, as deep as it goes.
            let (rest, place) = (rest.as_chunks_mut().0, Place { group: 0, depth: count });
            V::sweep::<O, KIND, WAY, 1, 0, true>(self, first, place, rest);
        }
    }

    /// Answers groups of N words, from `place` on and as long as they need the same number of slices, which `DEPTH`
    /// says too, unless it is 0, and which are all of them if `LAST`. Gives the place to go on at. The words in `out`
    /// start at word `first`; where there is no interest the answers mean nothing.
    ///
    /// # Safety
    /// As for [`Vector`] and [`Operand::get`]; the slices have the words.
    #[inline(always)]
    pub(super) unsafe fn sweep<const KIND: u8, const WAY: u8, const N: usize, const DEPTH: usize, const LAST: bool>(
        &self,
        first: usize,
        place: Place,
        out: &mut [[u64; N]],
    ) -> Place {
        let depth = if DEPTH == 0 { place.depth } else { DEPTH };
        for (group, out) in out.iter_mut().enumerate().skip(place.group) {
            let mut interest = [0; N];
            if WAY != SET {
                interest = out.map(|word| word ^ self.or);
                if self.early_stop && interest.iter().fold(0, |any, bits| any | bits) == 0 {
                    continue;
                }
            }
            let mut answers = [0; N];
            // SAFETY: the caller's.
            let open = unsafe {
                let word = first + group * N;
                self.group::<KIND, WAY, N, DEPTH, LAST>(
                    word,
                    depth,
                    &interest,
                    if WAY == SET { out } else { &mut answers },
                )
            };
            if !LAST && open {
                return Place { group, depth: depth + 1 };
            }
            if WAY != SET {
                for (out, answer) in out.iter_mut().zip(answers) {
                    let answer = answer ^ self.negate;
                    *out = *out & answer | (*out | answer) & self.or;
                }
            } else if self.negate != 0 {
                out.iter_mut().for_each(|word| *word = !*word);
            }
        }
        Place { group: out.len(), depth }
    }

    /// Answers N words of codes from word `word` on, without negation, from the first `depth` slices. Tells whether a
    /// deeper one is needed.
    #[inline(always)]
    unsafe fn group<const KIND: u8, const WAY: u8, const N: usize, const DEPTH: usize, const LAST: bool>(
        &self,
        word: usize,
        depth: usize,
        interest: &[u64; N],
        answers: &mut [u64; N],
    ) -> bool {
        // SAFETY: the caller's; there are `depth` slices, `stride` bytes from each other.
        unsafe {
            let mut open = Undecided::<V>::new();
            for (i, answer) in answers.iter_mut().enumerate() {
                let offset = (word + i) * 64 * size_of::<V::Unit>();
                let mut bytes = self.slices.start().add(offset);
                let within = if WAY == EXPANDED { V::expand(interest[i]) } else { V::all() };
                let (mut chain, mut low) = (Chain::<V>::new(within), Chain::<V>::new(within));
                for slice in 0..depth - 1 {
                    self.step::<KIND, false>(&mut chain, &mut low, bytes, slice, offset);
                    bytes = bytes.add(self.slices.stride());
                }
                self.step::<KIND, LAST>(&mut chain, &mut low, bytes, depth - 1, offset);
                if !LAST {
                    open.add::<KIND, WAY>(&chain, &low, interest[i]);
                }
                let mask = match KIND {
                    EQUAL if WAY == SET => V::same(chain.equal, chain.difference),
                    EQUAL => chain.equal,
                    LESS => chain.less,
                    _ => V::and_not(chain.less, low.less),
                };
                // Volatile, because the compiler would otherwise carry one word after the other into vector registers,
                // just to store them together; that costs more than the comparisons.
                std::ptr::from_mut(answer).write_volatile(V::bits(mask));
            }
            open.any::<WAY>()
        }
    }

    #[inline(always)]
    unsafe fn step<const KIND: u8, const LAST: bool>(
        &self,
        chain: &mut Chain<V>,
        low: &mut Chain<V>,
        bytes: *const u8,
        slice: usize,
        offset: usize,
    ) {
        // SAFETY: the caller's; a prefetch reads nothing and never faults, wherever it points.
        unsafe {
            for line in (0..64 * size_of::<V::Unit>()).step_by(64) {
                _mm_prefetch::<_MM_HINT_T0>(bytes.wrapping_add(AHEAD + line).cast());
            }
            let units = V::load(bytes);
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

/// Codes of a group that a further slice could decide: the paper's M_eq, and r_prev AND movemask(M_eq) when piped.
struct Undecided<V: Vector> {
    near: V::Nearest,
    mask: V::Mask,
    bits: u64,
}

impl<V: Vector> Undecided<V> {
    /// # Safety
    /// As for [`Vector`], here and below.
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the caller's.
        unsafe { Self { near: V::none_near(), mask: V::none(), bits: 0 } }
    }

    #[inline(always)]
    unsafe fn add<const KIND: u8, const WAY: u8>(&mut self, chain: &Chain<V>, low: &Chain<V>, interest: u64) {
        // SAFETY: the caller's.
        unsafe {
            let equal = if KIND == WITHIN { V::or(chain.equal, low.equal) } else { chain.equal };
            match WAY {
                SET => {
                    self.near = V::nearer(self.near, chain.equal, chain.difference);
                    if KIND == WITHIN {
                        self.near = V::nearer(self.near, low.equal, low.difference);
                    }
                }
                CONDENSED => self.bits |= V::bits(equal) & interest,
                _ => self.mask = V::or(self.mask, equal),
            }
        }
    }

    #[inline(always)]
    unsafe fn any<const WAY: u8>(&self) -> bool {
        // SAFETY: the caller's.
        unsafe {
            match WAY {
                SET => V::any_near(self.near),
                CONDENSED => self.bits != 0,
                _ => V::any(self.mask),
            }
        }
    }
}
