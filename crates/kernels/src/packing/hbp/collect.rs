//! From the answers of segments, which have 60, 63 or 64 bits, to result words.

use super::super::Options;
use super::{Banks, LANES};

/// Calls `answer` with each block of eight interleaved segments, and combines what it gives, a word per segment, with
/// `out`. Blocks that `out` has decided are left out when the options allow it.
#[inline(always)]
pub(super) fn each_block(
    banks: &Banks<'_>,
    negate: bool,
    options: Options,
    out: &mut [u64],
    answer: impl Fn(&[u8]) -> [u64; LANES],
) {
    let flip = if negate { u64::MAX } else { 0 };
    if banks.shape.codes() == 64 {
        // A block is eight result words, and a part starts with one.
        for (block, out) in banks.blocks().zip(out.chunks_mut(LANES)) {
            if options.early_stop && out.iter().all(|word| options.combine.interest(*word) == 0) {
                continue;
            }
            for (out, answer) in out.iter_mut().zip(answer(block)) {
                *out = options.combine.apply(*out, answer ^ flip);
            }
        }
        return;
    }
    match banks.shape.codes() {
        60 => each_shifted::<60, 2>(banks, flip, options, out, answer),
        _ => each_shifted::<63, 8>(banks, flip, options, out, answer),
    }
}

/// Collects answers for segments of `CODES` codes, fewer than 64. The answers of `BLOCKS` blocks fill whole result words: where
/// these begin with a word, each word is made of two segments' answers by shifts that are the same every time.
#[inline(always)]
fn each_shifted<const CODES: usize, const BLOCKS: usize>(
    banks: &Banks<'_>,
    flip: u64,
    options: Options,
    out: &mut [u64],
    answer: impl Fn(&[u8]) -> [u64; LANES],
) {
    let codes = CODES * LANES;
    let answers_of = |block| answer(block).map(|answer| (answer ^ flip) & (u64::MAX >> (64 - CODES)));
    let mut bits = Bits { options, out, at: 0, word: 0, filled: 0, skip: banks.first % codes };
    let mut blocks = banks.blocks();
    while blocks.len() > 0 {
        let words = BLOCKS * codes / 64;
        if blocks.len() >= BLOCKS && bits.begins_a_word() && bits.out.len() - bits.at >= words {
            let mut answers = [[0; LANES]; BLOCKS];
            for (number, (answers, block)) in answers.iter_mut().zip(&mut blocks).enumerate() {
                let (start, end) = (number * codes / 64, ((number + 1) * codes).div_ceil(64));
                if !options.early_stop || !bits.decided(start, end) {
                    *answers = answers_of(block);
                }
            }
            let answers = answers.as_flattened();
            for (j, out) in bits.out[bits.at..][..words].iter_mut().enumerate() {
                let shift = (64 - CODES) * j;
                *out = options.combine.apply(*out, answers[j] >> shift | answers[j + 1] << (CODES - shift));
            }
            bits.at += words;
        } else if let Some(block) = blocks.next() {
            if options.early_stop && bits.decided(0, (bits.filled + codes).div_ceil(64)) {
                bits.push_zeros(codes);
            } else {
                answers_of(block).into_iter().for_each(|answer| bits.push(answer, CODES));
            }
        }
    }
    bits.finish();
}

/// Appends answers to result words.
struct Bits<'a> {
    options: Options,
    out: &'a mut [u64],
    /// Word of `out` that comes next, and its lower bits, so far.
    at: usize,
    word: u64,
    /// Bits of `word`: fewer than 64.
    filled: usize,
    /// Answers still to be left out, of rows before those of the part.
    skip: usize,
}

impl Bits<'_> {
    /// Appends the lower `count` (up to 63) bits of `bits`, whose other bits are zero.
    #[inline(always)]
    fn push(&mut self, mut bits: u64, mut count: usize) {
        if self.skip > 0 {
            let left_out = self.skip.min(count);
            self.skip -= left_out;
            count -= left_out;
            bits >>= left_out;
        }
        self.word |= bits << self.filled;
        self.filled += count;
        if self.filled >= 64 {
            self.emit();
            self.filled -= 64;
            // Fewer than `count`, which is below 64, are left.
            self.word = bits >> (count - self.filled);
        }
    }

    /// Writes the word, unless it is past the last row.
    #[inline(always)]
    fn emit(&mut self) {
        if let Some(out) = self.out.get_mut(self.at) {
            *out = self.options.combine.apply(*out, self.word);
        }
        self.at += 1;
    }

    /// Whether the next answer is the first of a word.
    #[inline(always)]
    fn begins_a_word(&self) -> bool {
        self.skip == 0 && self.filled == 0
    }

    /// Whether answers in words `start..end`, counted from the next one, don't matter.
    #[inline(always)]
    fn decided(&self, start: usize, end: usize) -> bool {
        let of_out = |word: usize| (self.at + word).min(self.out.len());
        let words = &self.out[of_out(start)..of_out(end)];
        words.iter().all(|word| self.options.combine.interest(*word) == 0)
    }

    fn push_zeros(&mut self, mut count: usize) {
        while count > 0 {
            let step = count.min(63);
            self.push(0, step);
            count -= step;
        }
    }

    fn finish(&mut self) {
        if self.filled > 0 {
            self.emit();
        }
    }
}
