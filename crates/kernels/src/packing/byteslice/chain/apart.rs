//! Groups here and there that need a slice more than their neighbours: their words are answered one by one, and those that
//! wait for memory are answered when the next such group has been found.

use super::super::vector::{Operand, Vector};
use super::{Chain, ChainScan, EXPANDED, GROUP, UndecidedCodes, answer_bits, piped};
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Words of a group, a bit each, that wait for a slice which memory was asked for.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    group: usize,
    words: u8,
}

impl Waiting {
    /// No word waits.
    pub(super) fn none() -> Self {
        Self { group: 0, words: 0 }
    }
}

impl<V: Vector, O: Operand<V>> ChainScan<'_, V, O> {
    /// Answers the words of a group that are decided after `known` slices, and asks memory for the next slice of the
    /// others, which [`ChainScan::finish`] answers when it has come: mostly of one word in eight. Read for the whole group and
    /// at once, with what follows asked for ahead, the third slice took a tenth of a scan of memory.
    ///
    /// # Safety
    /// As for [`Vector`] and [`Operand::get`], here and below.
    #[inline(always)]
    pub(super) unsafe fn words_apart<const KIND: u8, const WAY: u8>(
        &self,
        group: usize,
        known: usize,
        out: &mut [u64],
    ) -> Waiting {
        let mut waiting = Waiting { group, words: 0 };
        for (i, out) in out[group * GROUP..(group + 1) * GROUP].iter_mut().enumerate() {
            // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; a prefetch
            // reads nothing and never faults, wherever it points.
            unsafe {
                match self.word::<KIND, WAY>(group * GROUP + i, known, *out) {
                    Ok(answer) => self.put::<WAY>(out, answer),
                    Err(next) => {
                        _mm_prefetch::<_MM_HINT_T0>(next.cast());
                        waiting.words |= 1 << i;
                    }
                }
            }
        }
        waiting
    }

    /// Answers the words that wait.
    #[inline(always)]
    pub(super) unsafe fn finish<const KIND: u8, const WAY: u8>(&self, waiting: Waiting, out: &mut [u64]) {
        for i in (0..GROUP).filter(|i| waiting.words >> i & 1 == 1) {
            let word = waiting.group * GROUP + i;
            // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen.
            if let Ok(answer) = unsafe { self.word::<KIND, WAY>(word, self.slices.count, out[word]) } {
                self.put::<WAY>(&mut out[word], answer);
            }
        }
    }

    /// The answer for a word from its first slices, at most `depth`, or where the next one lies if they don't decide it.
    #[inline(always)]
    unsafe fn word<const KIND: u8, const WAY: u8>(
        &self,
        word: usize,
        depth: usize,
        before: u64,
    ) -> Result<u64, *const u8> {
        let offset = word * 64 * size_of::<V::Unit>();
        let interest = if piped(WAY) { before ^ self.or } else { 0 };
        let mut bytes = self.slices.start().wrapping_add(offset);
        // SAFETY: the machine has the vector's instruction set, for `Isa::best` was asked before `V` was chosen; the slices are
        // `stride` bytes from each other.
        unsafe {
            let within = if WAY == EXPANDED { V::expand(interest) } else { V::all() };
            let (mut chain, mut low) = (Chain::<V>::new(within), Chain::<V>::new(within));
            for slice in 0..depth {
                self.step::<KIND, false>(&mut chain, &mut low, V::load(bytes), slice, offset);
                bytes = bytes.wrapping_add(self.slices.stride());
                let mut open = UndecidedCodes::<V>::new();
                open.add::<KIND, WAY>(&chain, &low, interest);
                if slice + 1 == self.slices.count || !open.any::<WAY>() {
                    return Ok(answer_bits::<V, KIND, WAY>(&chain, &low));
                }
            }
        }
        Err(bytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::Isa;
    use crate::packing::byteslice::{Ways, bytes, pack, scan_in};
    use crate::packing::test::Comparison;
    use crate::packing::{Combine, Format, Options, Packed, Packing};

    const CONSTANT: u64 = 0x1234_5678;
    const ROWS: usize = 40_000;

    /// Codes of 32 bits that two slices decide, but for one in some groups: the same as the constant, or a little less or
    /// more in the third slice or the fourth.
    fn codes() -> Vec<u32> {
        let near = [0, 1, -1, 0x100, -0x100];
        let code = |row: usize| match row % 5_500 {
            at @ (0..5 | 700) => CONSTANT.wrapping_add_signed(near[at % 5]) as u32,
            _ => (row as u32).wrapping_mul(0x9e37_79b9) | 0x1_0000,
        };
        (0..ROWS).map(code).collect()
    }

    #[test]
    fn rare_codes_that_need_more_slices() {
        let before: Vec<u64> =
            (0..ROWS.div_ceil(64) as u64).map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        for packing in [Packing::ByteSlice, Packing::ByteSlice16] {
            let (format, codes) = (Format::new(packing, 32).unwrap(), codes());
            let mut packed = vec![0; bytes(format, ROWS)];
            pack(Isa::Scalar, format, &codes, &mut packed);
            let packed = Packed::new(format, ROWS, &packed).unwrap();
            let within = Comparison::Within { low: CONSTANT - 1, end: CONSTANT + 0x100 };
            for comparison in [Comparison::Equal(CONSTANT), Comparison::Less(CONSTANT), within] {
                let holds = |code: u64| match comparison {
                    Comparison::Equal(constant) => code == constant,
                    Comparison::Less(constant) => code < constant,
                    Comparison::Within { low, end } => (low..end).contains(&code),
                };
                for (isa, variant) in Isa::available().flat_map(|isa| (0..16).map(move |variant| (isa, variant))) {
                    let (negate, expanded) = (variant % 2 == 1, variant / 2 % 2 == 1);
                    let combine = [Combine::Set, Combine::Set, Combine::And, Combine::Or][variant / 4];
                    let ways = Ways { expanded, far: if variant / 4 == 1 { 0 } else { usize::MAX } };
                    let mut out = before.clone();
                    scan_in(isa, packed, comparison, negate, Options::from(combine), ways, &mut out);
                    for (row, code) in codes.iter().enumerate() {
                        let holds = holds(u64::from(*code)) != negate;
                        let expected = match combine {
                            Combine::Set => holds,
                            Combine::And => holds && bit(&before, row),
                            Combine::Or => holds || bit(&before, row),
                        };
                        assert_eq!(
                            bit(&out, row),
                            expected,
                            "row {row}, {isa:?}, {combine:?}, {variant}, {comparison:?}"
                        );
                    }
                }
            }
        }
    }

    fn bit(words: &[u64], row: usize) -> bool {
        words[row / 64] >> (row % 64) & 1 == 1
    }
}
