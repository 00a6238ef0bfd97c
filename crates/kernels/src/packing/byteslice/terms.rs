//! Several predicates at once on byte slices, 64 codes of every column before the next 64: the predicate-first way of the
//! ByteSlice paper (section 3.1.2). The condition goes from one predicate to the next as a mask, never as bits.

use super::super::test::Comparison;
use super::Term;
use super::chain::Chain;
use super::vector::{Constant, Operand, Vector};

/// A term with its constants in registers' form; for a range the end, then the low one.
struct Prepared<'a, V: Vector> {
    term: &'a Term<'a, V::Unit>,
    constants: [Constant<V>; 2],
}

/// The rows for which all of the terms hold, or any of them. The columns have as many rows as each other.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn evaluate<V: Vector>(terms: &[Term<'_, V::Unit>], all: bool, early_stop: bool, out: &mut [u64]) {
    let words = out.len();
    assert!(terms.iter().all(|term| term.slices.rows.div_ceil(64) == words), "columns of {words} words");
    let mut prepared = Vec::with_capacity(terms.len());
    for term in terms {
        let (first, second) = match term.comparison {
            Comparison::Equal(code) | Comparison::Less(code) => (code, 0),
            Comparison::Within { low, end } => (end, low),
        };
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        let constants =
            [first, second].map(|code| unsafe { Constant::<V>::new(code, term.slices.count, term.slices.padding) });
        prepared.push(Prepared { term, constants });
    }
    for (word, out) in out.iter_mut().enumerate() {
        let offset = word * 64 * size_of::<V::Unit>();
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; slices are
        // padded to whole words of codes, of which each column has this one.
        *out = unsafe {
            let mut open = V::all();
            for prepared in &prepared {
                if early_stop && !V::any(open) {
                    break;
                }
                let holds = prepared.answer(offset, open, early_stop);
                open = if all { holds } else { V::and_not(open, holds) };
            }
            if all { V::bits(open) } else { !V::bits(open) }
        };
    }
}

impl<V: Vector> Prepared<'_, V> {
    /// For which of the 64 codes at `offset` in each slice, and `within`, the term holds.
    ///
    /// # Safety
    /// As for [`Vector`], and the units are there to be read.
    #[inline(always)]
    unsafe fn answer(&self, offset: usize, within: V::Mask, early_stop: bool) -> V::Mask {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe {
            let holds = match self.term.comparison {
                Comparison::Equal(_) => self.chain::<false>(0, offset, within, early_stop).equal,
                Comparison::Less(_) => self.chain::<true>(0, offset, within, early_stop).less,
                Comparison::Within { .. } => {
                    let below_end = self.chain::<true>(0, offset, within, early_stop).less;
                    V::and_not(below_end, self.chain::<true>(1, offset, below_end, early_stop).less)
                }
            };
            if self.term.negate { V::and_not(within, holds) } else { holds }
        }
    }

    /// # Safety
    /// As for [`Prepared::answer`].
    #[inline(always)]
    unsafe fn chain<const LESS: bool>(
        &self,
        constant: usize,
        offset: usize,
        within: V::Mask,
        early_stop: bool,
    ) -> Chain<V> {
        let slices = &self.term.slices;
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; there are
        // `count` slices, `stride` bytes from each other.
        unsafe {
            let mut chain = Chain::<V>::new(within);
            let mut bytes = slices.start().add(offset);
            for slice in 0..slices.count {
                if early_stop && !V::any(chain.equal) {
                    break;
                }
                let operand = self.constants[constant].get(slice, offset);
                if slice + 1 < slices.count {
                    chain.step::<LESS, false>(V::load(bytes), operand);
                } else {
                    chain.step::<LESS, true>(V::load(bytes), operand);
                }
                bytes = bytes.wrapping_add(slices.stride());
            }
            chain
        }
    }
}
