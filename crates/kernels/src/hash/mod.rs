//! Hash functions of integer keys, for tables and filters that are probed a vector at a time.
//!
//! A table takes the upper bits of a hash as its slot, a filter the lower ones as well, so that both must be good. Which
//! function is a factor of the experiments (relaxed operator fusion paper, sections 3, 4.3 and 5.7: Murmur3 there, CRC32 in
//! HyPer); [`HashFunction::Multiply`] is what tables of this engine take.
//!
//! None is written by hand for vectors: the compiler makes them of the plain loop for each instruction set, since the
//! functions are products, shifts and exclusive ors. CRC32 has no vector form.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod functions;
mod scalar;

pub use functions::Key;
#[cfg(target_arch = "x86_64")]
pub(crate) use functions::{Crc32Instruction, Word};
pub(crate) use functions::{Crc32Table, Function, Multiply, Murmur3};

use crate::Isa;

/// A hash function of integer keys. The hash of a key is as wide as the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HashFunction {
    /// MurmurHash3's finaliser: three shifts, two products, three exclusive ors. The paper's.
    Murmur3,
    /// CRC-32C, by the processor's instruction under AVX2 and AVX-512, by a table otherwise. HyPer's, of 64-bit keys twice.
    Crc32,
    /// Two products with a fold between. Ours: Murmur3 without the folds that tables don't need, since they take the upper bits,
    /// and in vectors, unlike CRC32. One product would do for most keys, and put those at certain distances (each has its
    /// own) into the same few slots.
    Multiply,
}

impl HashFunction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Murmur3, Self::Crc32, Self::Multiply];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Murmur3 => "murmur3",
            Self::Crc32 => "crc32",
            Self::Multiply => "multiply",
        }
    }

    /// What makes a hash of a key, in order, for code that is made elsewhere; `None` where it is no arithmetic.
    pub fn mixes<K: Key>(self) -> Option<Vec<Mix>> {
        match self {
            Self::Murmur3 => {
                let ([first, second, third], [one, two]) = K::MURMUR3;
                let (one, two) = (Mix::Times(one.to_u64()), Mix::Times(two.to_u64()));
                Some(vec![Mix::Fold(first), one, Mix::Fold(second), two, Mix::Fold(third)])
            }
            Self::Crc32 => None,
            Self::Multiply => {
                let [first, second] = K::FACTORS;
                Some(vec![Mix::Times(first.to_u64()), Mix::Fold(K::BITS / 2), Mix::Times(second.to_u64())])
            }
        }
    }
}

/// A step of a hash function, modulo the width of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// The product with a factor.
    Times(u64),
    /// The exclusive or with itself, shifted down by so many bits.
    Fold(u32),
}

/// Calls `$body` with the type of a function; `$crc` is the one of CRC32 that the instruction set has.
macro_rules! with_function {
    ($function:expr, $crc:expr, $typed:ident => $body:expr) => {
        match $function {
            crate::hash::HashFunction::Murmur3 => {
                let $typed = crate::hash::Murmur3;
                $body
            }
            crate::hash::HashFunction::Crc32 => {
                let $typed = $crc;
                $body
            }
            crate::hash::HashFunction::Multiply => {
                let $typed = crate::hash::Multiply;
                $body
            }
        }
    };
}
pub(crate) use with_function;

/// The hashes of `keys`, appended to `out`.
pub fn hash<K: Key>(isa: Isa, function: HashFunction, keys: &[K], out: &mut Vec<K>) {
    let first = out.len();
    out.resize(first + keys.len(), K::default());
    dispatch!(isa, hash(function, keys, &mut out[first..]));
}
