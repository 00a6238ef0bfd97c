//! Scans for codes that equal one of several, each slice loaded once for all of them.
//!
//! Early stop goes by prefixes: after d slices no code is one of the values if it begins as none of them does, and values
//! with the same first units are one prefix. As in `chain.rs`, 512 codes are asked at once and begin with as many slices
//! as those before them needed; but the few words in which a code begins like a value, as a value itself does, are read
//! to the end alone.

use super::super::Options;
use super::Slices;
use super::chain::{Chain, load_ahead};
use super::vector::Vector;
use crate::Code;

/// Words of 64 codes in a group.
const GROUP: usize = 8;
/// Groups after which a lower depth is tried, and groups in a row that must need a higher one.
const PATIENCE: (usize, usize) = (32, 2);
/// Slices that have loops of their own.
const UNROLLED: usize = 4;

/// Codes to look for, in a form for each number of slices.
struct CodeList<'a, V: Vector> {
    slices: Slices<'a, V::Unit>,
    /// For each depth from 1 on the distinct prefixes of so many units, one after the other.
    prefixes: Vec<Vec<V>>,
}

/// Answers whether each code is one of `values`, of which those past the width are ignored. `TOGETHER` is the number of
/// words that registers hold all slices of.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn scan<V: Vector, const TOGETHER: usize>(
    slices: Slices<'_, V::Unit>,
    values: &[u64],
    options: Options,
    out: &mut [u64],
) {
    assert_eq!(out.len(), slices.rows.div_ceil(64), "a word per 64 codes");
    // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen, for constants are
    // no memory.
    let list = unsafe { CodeList::<V>::new(slices, values) };
    let (count, mut settled, mut open) = (slices.count, 0, 0);
    let mut depth = if options.early_stop { 1 } else { count };
    for (group, out) in out.chunks_mut(GROUP).enumerate() {
        let mut interest = [0; GROUP];
        for (interest, out) in interest.iter_mut().zip(&*out) {
            *interest = options.combine.interest(*out);
        }
        if options.early_stop && interest.iter().fold(0, |any, bits| any | bits) == 0 {
            continue;
        }
        let mut answers = [0; GROUP];
        let answers = &mut answers[..out.len()];
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; slices are
        // padded to whole words of codes, of which there is one for each of `out`.
        let deeper = unsafe {
            list.answer::<TOGETHER>(group * GROUP, depth, answers);
            depth < count && list.decide(group * GROUP, answers, &interest)
        };
        for (out, answer) in out.iter_mut().zip(answers) {
            *out = options.combine.apply(*out, *answer);
        }
        if deeper {
            (open, settled) = (open + 1, 0);
            if open == PATIENCE.1 {
                (depth, open) = (depth + 1, 0);
            }
        } else {
            (open, settled) = (0, settled + 1);
            if options.early_stop && settled == PATIENCE.0 {
                (depth, settled) = (depth.max(2) - 1, 0);
            }
        }
    }
}

impl<'a, V: Vector> CodeList<'a, V> {
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn new(slices: Slices<'a, V::Unit>, values: &[u64]) -> Self {
        let bits = slices.count as u32 * V::Unit::BITS;
        let fits = |value: &u64| *value <= u64::MAX >> (64 - (bits - slices.padding));
        let mut shifted: Vec<u64> = values.iter().filter(|value| fits(value)).map(|v| v << slices.padding).collect();
        shifted.sort_unstable();
        let mut prefixes = Vec::with_capacity(slices.count);
        for depth in 1..=slices.count as u32 {
            let below = bits - depth * V::Unit::BITS;
            let mut distinct: Vec<u64> = shifted.iter().map(|value| value >> below).collect();
            distinct.dedup();
            let mut units = Vec::with_capacity(distinct.len() * depth as usize);
            for prefix in distinct {
                for unit in (0..depth).rev() {
                    // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
                    units.push(unsafe { V::splat(prefix >> (unit * V::Unit::BITS)) });
                }
            }
            prefixes.push(units);
        }
        Self { slices, prefixes }
    }

    /// Which codes of the words from number `word` on begin with one of the prefixes of `depth` units, a bit each.
    ///
    /// # Safety
    /// As for [`Vector`]; the slices have the words.
    #[inline(always)]
    unsafe fn answer<const TOGETHER: usize>(&self, word: usize, depth: usize, answers: &mut [u64]) {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe {
            match depth {
                1 => self.words::<TOGETHER, 1>(word, answers),
                2 => self.words::<TOGETHER, 2>(word, answers),
                3 => self.words::<TOGETHER, 3>(word, answers),
                UNROLLED => self.words::<TOGETHER, UNROLLED>(word, answers),
                _ => {
                    for (i, answer) in answers.iter_mut().enumerate() {
                        *answer = self.deep(word + i, depth);
                    }
                }
            }
        }
    }

    /// Answers from all slices the words that have a code left; whether there is one.
    ///
    /// # Safety
    /// As for [`CodeList::answer`].
    #[inline(always)]
    unsafe fn decide(&self, word: usize, answers: &mut [u64], interest: &[u64; GROUP]) -> bool {
        let mut any = false;
        for (i, answer) in answers.iter_mut().enumerate() {
            if *answer & interest[i] != 0 {
                any = true;
                // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
                *answer = unsafe { self.deep(word + i, self.slices.count) };
            }
        }
        any
    }

    /// [`CodeList::answer`] from the first `DEPTH` slices, `TOGETHER` words at a time.
    ///
    /// # Safety
    /// As for [`CodeList::answer`].
    #[inline(always)]
    unsafe fn words<const TOGETHER: usize, const DEPTH: usize>(&self, word: usize, answers: &mut [u64]) {
        let (whole, rest) = answers.as_chunks_mut::<TOGETHER>();
        let after = word + whole.len() * TOGETHER;
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe {
            for (i, answers) in whole.iter_mut().enumerate() {
                self.unrolled::<TOGETHER, DEPTH>(word + i * TOGETHER, answers);
            }
            for (i, answer) in rest.iter_mut().enumerate() {
                self.unrolled::<1, DEPTH>(after + i, std::array::from_mut(answer));
            }
        }
    }

    /// Where the units of a word's codes lie in the first slice.
    ///
    /// # Safety
    /// The slices have the word.
    #[inline(always)]
    unsafe fn at(&self, word: usize) -> *const u8 {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
        unsafe { self.slices.start().add(word * 64 * size_of::<V::Unit>()) }
    }

    /// The answers of `N` words from the first `DEPTH` slices, which stay in registers from value to value.
    ///
    /// # Safety
    /// As for [`CodeList::answer`].
    #[inline(always)]
    unsafe fn unrolled<const N: usize, const DEPTH: usize>(&self, word: usize, answers: &mut [u64; N]) {
        let stride = self.slices.stride();
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; there are
        // `DEPTH` slices, `stride` bytes from each other.
        unsafe {
            let mut units = [[V::splat(0); DEPTH]; N];
            for (i, units) in units.iter_mut().enumerate() {
                for (slice, units) in units.iter_mut().enumerate() {
                    *units = load_ahead::<V>(self.at(word + i).add(slice * stride));
                }
            }
            let mut near = [V::none_near(); N];
            for prefix in self.prefixes[DEPTH - 1].as_chunks::<DEPTH>().0 {
                for (units, near) in units.iter().zip(&mut near) {
                    let mut chain = Chain::<V>::new(V::all());
                    for (units, unit) in units.iter().zip(prefix) {
                        chain.step_equal(*units, unit.uniform());
                    }
                    *near = chain.nearer(*near);
                }
            }
            for (answer, near) in answers.iter_mut().zip(near) {
                // Volatile for the reason in `chain.rs`.
                std::ptr::from_mut(answer).write_volatile(V::near_bits(near));
            }
        }
    }

    /// The answer of a word from more slices than registers should hold.
    ///
    /// # Safety
    /// As for [`CodeList::answer`].
    #[inline(always)]
    unsafe fn deep(&self, word: usize, depth: usize) -> u64 {
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; there are
        // `depth` slices, `stride` bytes from each other.
        unsafe {
            let mut near = V::none_near();
            for prefix in self.prefixes[depth - 1].chunks_exact(depth) {
                let mut chain = Chain::<V>::new(V::all());
                for (slice, unit) in prefix.iter().enumerate() {
                    let bytes = self.at(word).add(slice * self.slices.stride());
                    chain.step_equal(load_ahead::<V>(bytes), unit.uniform());
                }
                near = chain.nearer(near);
            }
            V::near_bits(near)
        }
    }
}
