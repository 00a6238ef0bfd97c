//! Scans of byte slices, written once for every instruction set: Algorithms 1 and 2 of the ByteSlice paper.
//!
//! From the most significant slice on, each code is less, equal or greater so far; what the next slice says counts only
//! where it is still equal. Once no code is (of those whose answer matters), the rest of the slices is left unread. The
//! paper asks after each register. Here a group of several is asked at once: of a few hundred codes the answer is
//! nearly always the same, so that the branch is predicted, where for one register of a column of even spread it is
//! wrong at every fifth.

use super::super::test::{Comparison, Relation};
use super::super::{Combine, Options};
use super::Slices;
use super::vector::{Column, Constant, Operand, Vector};

/// Words of 64 codes that are asked at once when every code matters.
const GROUP: usize = 8;
/// The same when a previous predicate has decided some: groups that it has decided whole are skipped.
const PIPED_GROUP: usize = 2;

/// What is known of a group of N words of codes against one operand, after the slices read so far.
struct Chain<V: Vector, const N: usize> {
    equal: [V::Mask; N],
    less: [V::Mask; N],
}

impl<V: Vector, const N: usize> Chain<V, N> {
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the caller's.
        unsafe { Self { equal: [V::all(); N], less: [V::none(); N] } }
    }

    /// Reads one slice. Only what `LESS` asks for is kept up, and in the last slice only what is the answer.
    ///
    /// # Safety
    /// As for [`Vector`], and the N words of units from `bytes` on are there, which are `offset` bytes into the slice.
    #[inline(always)]
    unsafe fn step<const LESS: bool, const LAST: bool>(
        &mut self,
        bytes: *const u8,
        operand: &impl Operand<V>,
        slice: usize,
        offset: usize,
    ) {
        for i in 0..N {
            let at = i * 64 * size_of::<V::Unit>();
            // SAFETY: the caller's.
            unsafe {
                let (units, other) = (V::load(bytes.add(at)), operand.get(slice, offset + at));
                if LESS {
                    self.less[i] = V::or(self.less[i], units.less(other, self.equal[i]));
                }
                if !LESS || !LAST {
                    self.equal[i] = units.equal(other, self.equal[i]);
                }
            }
        }
    }
}

/// The comparisons as constants, since each gets a loop of its own.
const EQUAL: u8 = 0;
const LESS: u8 = 1;
const WITHIN: u8 = 2;

/// A scan: what is the same for all of its groups.
struct Scan<'a, V: Vector, O> {
    slices: Slices<'a, V::Unit>,
    /// The constant or column; for `WITHIN` the end, then the low one.
    operands: [O; 2],
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
            Comparison::Equal(_) => scan.run::<EQUAL>(options, out),
            Comparison::Less(_) => scan.run::<LESS>(options, out),
            Comparison::Within { .. } => scan.run::<WITHIN>(options, out),
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
            Relation::Equal => scan.run::<EQUAL>(options, out),
            Relation::Less => scan.run::<LESS>(options, out),
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
    unsafe fn run<const KIND: u8>(&self, options: Options, out: &mut [u64]) {
        assert_eq!(out.len(), self.slices.rows.div_ceil(64), "a word per 64 codes");
        // SAFETY: the caller's; slices are padded to whole words of codes.
        unsafe {
            match options.combine {
                Combine::Set => self.groups::<KIND, false, GROUP>(out),
                Combine::And | Combine::Or => self.groups::<KIND, true, PIPED_GROUP>(out),
            }
        }
    }

    #[inline(always)]
    unsafe fn groups<const KIND: u8, const PIPED: bool, const N: usize>(&self, out: &mut [u64]) {
        let word = 64 * size_of::<V::Unit>();
        let (groups, rest) = out.as_chunks_mut::<N>();
        let full = groups.len() * N;
        for (i, out) in groups.iter_mut().enumerate() {
            // SAFETY: the caller's.
            unsafe { self.group::<KIND, PIPED, N>(i * N * word, out) };
        }
        for (i, out) in rest.as_chunks_mut::<1>().0.iter_mut().enumerate() {
            // SAFETY: the caller's.
            unsafe { self.group::<KIND, PIPED, 1>((full + i) * word, out) };
        }
    }

    /// Answers N words of codes, `offset` bytes into each slice.
    #[inline(always)]
    unsafe fn group<const KIND: u8, const PIPED: bool, const N: usize>(&self, offset: usize, out: &mut [u64; N]) {
        let mut interest = [0; N];
        if PIPED {
            for (interest, out) in interest.iter_mut().zip(&*out) {
                *interest = out ^ self.or;
            }
            if self.early_stop && interest.iter().fold(0, |any, bits| any | bits) == 0 {
                return;
            }
        }
        // SAFETY: the caller's.
        unsafe {
            let answers = self.answers::<KIND, PIPED, N>(offset, &interest);
            for (out, answer) in out.iter_mut().zip(answers) {
                let answer = V::bits(answer) ^ self.negate;
                *out = if PIPED { *out & answer | (*out | answer) & self.or } else { answer };
            }
        }
    }

    /// The answers, without the negation, for N words of codes; where there is no interest they mean nothing.
    #[inline(always)]
    unsafe fn answers<const KIND: u8, const PIPED: bool, const N: usize>(
        &self,
        offset: usize,
        interest: &[u64; N],
    ) -> [V::Mask; N] {
        // SAFETY: the caller's; there are `count` slices, `stride` bytes from each other.
        unsafe {
            let mut bytes = self.slices.start().add(offset);
            let (mut chain, mut low) = (Chain::<V, N>::new(), Chain::<V, N>::new());
            if self.slices.count == 1 {
                self.step::<KIND, true, N>(&mut chain, &mut low, bytes, 0, offset);
                return Self::answer::<KIND, N>(&chain, &low);
            }
            self.step::<KIND, false, N>(&mut chain, &mut low, bytes, 0, offset);
            for slice in 1..self.slices.count {
                if self.early_stop && !Self::undecided::<KIND, PIPED, N>(&chain, &low, interest) {
                    break;
                }
                bytes = bytes.add(self.slices.stride());
                if slice + 1 < self.slices.count {
                    self.step::<KIND, false, N>(&mut chain, &mut low, bytes, slice, offset);
                } else {
                    self.step::<KIND, true, N>(&mut chain, &mut low, bytes, slice, offset);
                }
            }
            Self::answer::<KIND, N>(&chain, &low)
        }
    }

    #[inline(always)]
    unsafe fn step<const KIND: u8, const LAST: bool, const N: usize>(
        &self,
        chain: &mut Chain<V, N>,
        low: &mut Chain<V, N>,
        bytes: *const u8,
        slice: usize,
        offset: usize,
    ) {
        // SAFETY: the caller's.
        unsafe {
            if KIND == EQUAL {
                chain.step::<false, LAST>(bytes, &self.operands[0], slice, offset);
            } else {
                chain.step::<true, LAST>(bytes, &self.operands[0], slice, offset);
            }
            if KIND == WITHIN {
                low.step::<true, LAST>(bytes, &self.operands[1], slice, offset);
            }
        }
    }

    /// Whether a slice not read yet could change an answer: the paper's r_prev AND movemask(M_eq) when piped.
    #[inline(always)]
    unsafe fn undecided<const KIND: u8, const PIPED: bool, const N: usize>(
        chain: &Chain<V, N>,
        low: &Chain<V, N>,
        interest: &[u64; N],
    ) -> bool {
        // SAFETY: the caller's.
        unsafe {
            let (mut any, mut bits) = (V::none(), 0);
            for (i, interest) in interest.iter().enumerate() {
                let equal = if KIND == WITHIN { V::or(chain.equal[i], low.equal[i]) } else { chain.equal[i] };
                if PIPED {
                    bits |= V::bits(equal) & interest;
                } else {
                    any = V::or(any, equal);
                }
            }
            if PIPED { bits != 0 } else { V::any(any) }
        }
    }

    #[inline(always)]
    unsafe fn answer<const KIND: u8, const N: usize>(chain: &Chain<V, N>, low: &Chain<V, N>) -> [V::Mask; N] {
        let mut answer = if KIND == EQUAL { chain.equal } else { chain.less };
        if KIND == WITHIN {
            for (answer, low) in answer.iter_mut().zip(low.less) {
                // SAFETY: the caller's.
                *answer = unsafe { V::and_not(*answer, low) };
            }
        }
        answer
    }
}
