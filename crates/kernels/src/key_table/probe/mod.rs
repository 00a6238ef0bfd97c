//! Ways to find the entries of a vector of keys in a table with open addressing: the relaxed operator fusion paper's
//! (section 2.3 and 3), and one that compares the first slots of a whole vector without a branch on the answer.
//!
//! | file | what |
//! |---|---|
//! | `each` | a key at a time, with and without prefetching |
//! | `matching` | first slots compared without branches, the rest in further rounds |
//! | `vertical` | a key per lane of a register, which is replaced when it is done |
//! | `lanes` | what the latter two ask of registers |
//!
//! Each is written once, for any table ([`Slots`]), hash function and instruction set.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod each;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod matching;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod vertical;

#[cfg(target_arch = "x86_64")]
pub use avx512::{Keys8, Keys16};
#[cfg(target_arch = "x86_64")]
pub use lanes::KeyLanes;

use super::NONE;
use crate::Isa;
use crate::hash::{HashFunction, Key};

/// How the entries of a vector of keys are found. The answers are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Probing {
    /// One key after the other, slot by slot: what fused code does.
    Scalar,
    /// Group prefetching, of so many keys (1 to 256): the home slots of a group are asked for, then the group is probed.
    Group(usize),
    /// Software-pipelined prefetching: the home slot of a key is asked for so many keys (1 to 256) ahead.
    Pipelined(usize),
    /// Asynchronous memory-access chaining, of so many keys (1 to 256): each visit looks at one slot of one key, and a key
    /// that is done makes room for the next.
    Amac(usize),
    /// Vertical vectorisation (Polychroniou, Raghavan, Ross: "Rethinking SIMD Vectorization for In-Memory Databases"): a key
    /// per lane, whose hash is computed again for each slot. Only AVX-512 has it; it is [`Probing::Scalar`] elsewhere.
    Vertical,
    /// The home slots of all keys are compared without a branch on the answer, by gathers under AVX-512; keys that this
    /// leaves undecided go to further rounds. Ours.
    Match,
}

impl Probing {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Group(_) => "group",
            Self::Pipelined(_) => "pipelined",
            Self::Amac(_) => "amac",
            Self::Vertical => "vertical",
            Self::Match => "match",
        }
    }
}

/// A table with open addressing and linear probing, as probes see it. Numbers of slots wrap round at the end.
pub(crate) trait Slots: Copy {
    /// What it is searched for.
    type Key: Key;

    /// How keys are hashed.
    fn function(self) -> HashFunction;

    /// What a hash is shifted down by to give the number of its home slot, which is below 2^31.
    fn shift(self) -> u32;

    /// The key and the link of a slot. An empty slot has the link [`NONE`].
    fn entry(self, slot: u32) -> (Self::Key, u32);

    /// Asks for the line of the cache that a slot begins in.
    fn prefetch(self, slot: u32);

    /// The keys and links of some slots.
    ///
    /// # Safety
    /// The instruction set of the lanes exists.
    #[cfg(target_arch = "x86_64")]
    unsafe fn gather<L: KeyLanes<Key = Self::Key>>(self, slots: L::Slots) -> (L, L::Slots);
}

/// The largest group, and the furthest that anything is asked for ahead.
const MOST_AHEAD: usize = 256;

/// Keys that are searched at once: so few that the lines of their entries are still in the first cache when the next round
/// looks at the slots behind.
const BLOCK: usize = 256;

/// A link for each key, appended to `links`.
pub(super) fn locate<S: Slots>(isa: Isa, table: S, probing: Probing, keys: &[S::Key], links: &mut Vec<u32>) {
    let first = links.len();
    links.resize(first + keys.len(), NONE);
    let links = &mut links[first..];
    dispatch!(isa, locate(table, probing, keys, links));
}
