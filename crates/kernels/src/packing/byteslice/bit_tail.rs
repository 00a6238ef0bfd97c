//! Scans of byte slices whose lowest bits lie bit by bit (option 2 of the ByteSlice paper, figure 5b): a variant for
//! experiments, see `variants.rs`.

use super::Slices;
use super::chain::Chain;
use super::variants::{BLOCK, Tail};
use super::vector::{Constant, Operand, Vector};

/// Codes less than the tail's constant: from their bytes, as long as any of 64 is equal so far, then from the bits, when
/// any of 512 is.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn less<V: Vector<Unit = u8>>(slices: Option<Slices<'_, u8>>, tail: Tail<'_>, out: &mut [u64]) {
    let count = slices.map_or(0, |slices| slices.count);
    assert!(slices.is_none_or(|slices| slices.rows.div_ceil(64) == out.len()), "a word per 64 codes");
    // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
    let constant = unsafe { Constant::<V>::new(tail.constant >> tail.bits, count, 0) };
    for (block, out) in out.chunks_mut(BLOCK / 64).enumerate() {
        let mut equal = [u64::MAX; BLOCK / 64];
        let mut less = [0; BLOCK / 64];
        if let Some(slices) = slices {
            equal = [0; BLOCK / 64];
            for i in 0..out.len() {
                let offset = block * BLOCK + i * 64;
                // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; slices
                // are padded to whole words of codes, of which `out` has no more.
                unsafe {
                    let mut chain = Chain::<V>::new(V::all());
                    for slice in 0..count {
                        if !V::any(chain.equal) {
                            break;
                        }
                        let units = V::load(slices.start().add(slice * slices.stride() + offset));
                        chain.step::<true, false>(units, constant.get(slice, offset));
                    }
                    (equal[i], less[i]) = (V::bits(chain.equal), V::bits(chain.less));
                }
            }
        }
        if equal.iter().any(|word| *word != 0) {
            for (bit, words) in tail.words[block * tail.bits..][..tail.bits].iter().enumerate() {
                // All ones where the constant has a one: only there a code can fall below it, or stay equal with one.
                let one = 0u64.wrapping_sub(tail.constant >> (tail.bits - 1 - bit) & 1);
                for ((equal, less), word) in equal.iter_mut().zip(&mut less).zip(words) {
                    *less |= *equal & one & !word;
                    *equal &= !(word ^ one);
                }
            }
        }
        out.copy_from_slice(&less[..out.len()]);
    }
}
