//! Instruction sets: detected once, forced by tests and experiments.

use std::sync::OnceLock;

/// An instruction set that kernels are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Plain Rust: the oracle, and the only one off x86-64.
    Scalar,
    /// x86-64 with AVX2, BMI1, BMI2 and POPCNT (x86-64-v3).
    Avx2,
    /// x86-64 with AVX-512 F, BW, VL, DQ (x86-64-v4).
    Avx512,
}

impl Isa {
    /// The best one that this machine has.
    pub fn best() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(detect)
    }

    /// All that this machine has, from scalar up.
    pub fn available() -> impl Iterator<Item = Self> {
        [Self::Scalar, Self::Avx2, Self::Avx512].into_iter().filter(|isa| *isa <= Self::best())
    }

    /// The name that `SET gingham.isa` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Isa {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq");
    match (avx2, avx512) {
        (true, true) => Isa::Avx512,
        (true, false) => Isa::Avx2,
        _ => Isa::Scalar,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Isa {
    Isa::Scalar
}
