//! Kernels of Gingham: code in bits. No I/O, no Arrow.

mod isa;

pub use isa::Isa;
