//! Kernels of Gingham: code in bits. No I/O, no Arrow.
//!
//! | module | what |
//! |---|---|
//! | [`scan`] | codes against constants, giving a bit vector |
//! | [`bits`] | bit vectors: combining, counting, turning into TIDs |
//! | [`lookup`] | codes and values at TIDs |
//! | [`decode`] | a run of codes to values |
//! | [`packing`] | packed columns (native, ByteSlice): scans and lookups where the codes lie |
//! | [`bitpack`] | codes of any width to bytes and back, for blocks on disk |
//! | [`chunks`] | attributes in chunks of k records, and rows |
//! | [`dense`] | entries of dense pages: bit fields, runs, differences |
//! | [`minmax`] | smallest and largest code |
//! | [`order`] | partitioning, sorting, merging and searching codes |
//! | [`hash`] | hashes of integer keys |
//! | [`key_table`] | positions by key: tables that are made once and probed by vectors of keys, and filters |
//!
//! Each primitive is a folder: `scalar.rs` is the oracle and runs everywhere, `avx2.rs` and `avx512.rs` are the same for
//! x86-64, and `mod.rs` chooses between them once per call. Callers name the [`Isa`]; one that the machine lacks is
//! lowered to the best that it has, so that no argument can lead to an illegal instruction. No kernel reads or writes
//! past the slices that it is given.

/// Calls a function of the module (`scalar`, `avx2` or `avx512`) that the instruction set names.
macro_rules! dispatch {
    ($isa:expr, $function:ident$(::<$($generic:ty),*>)?($($argument:expr),* $(,)?)) => {
        match $isa.min(crate::Isa::best()) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Isa::best` found AVX2, BMI and POPCNT on this machine.
            crate::Isa::Avx2 => unsafe { avx2::$function$(::<$($generic),*>)?($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Isa::best` found AVX-512 F, BW, VL and DQ, and all that AVX2 stands for, on this machine.
            crate::Isa::Avx512 => unsafe { avx512::$function$(::<$($generic),*>)?($($argument),*) },
            _ => scalar::$function$(::<$($generic),*>)?($($argument),*),
        }
    };
}

mod ahead;
pub mod bitpack;
pub mod bits;
mod cache;
pub mod chunks;
mod code;
#[cfg(target_arch = "x86_64")]
mod compress;
pub mod decode;
pub mod dense;
pub mod hash;
mod isa;
pub mod key_table;
#[doc(hidden)]
pub mod lab;
pub mod lookup;
pub mod minmax;
pub mod order;
pub mod packing;
pub mod scan;
mod ticks;

pub use ahead::{element_ahead, fetch_ahead};
pub use code::{Code, Value, integers};
pub use isa::Isa;
pub use ticks::ticks;
