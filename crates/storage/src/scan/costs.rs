//! What comparing packed codes costs on this machine, measured when a scan first has to choose.
//!
//! The order of predicates and the way to evaluate them depend on how these figures compare, and they differ between
//! processors, instruction sets, packings and widths by factors; a table made elsewhere would be wrong here.

use gingham_kernels::packing::{
    Combine, Connective, Format, Operator, Options, Packed, Packing, Predicate, Test, Way, evaluate, pack, scan,
};
use gingham_kernels::{Isa, bits};
use std::sync::OnceLock;
use std::time::Instant;

/// Picoseconds a code, in the first-level cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Costs {
    /// A scan on its own.
    pub(super) scan: f64,
    /// A scan after others that leave codes undecided in every 64.
    pub(super) masked: f64,
    /// A scan after others that have decided all.
    pub(super) decided: f64,
    /// One of several predicates evaluated together, predicate-first.
    pub(super) together: f64,
}

/// Widths are measured in steps of this many bits.
const STEP: usize = 4;
const WIDTHS: usize = 64 / STEP;
const ISAS: [Isa; 3] = [Isa::Scalar, Isa::Avx2, Isa::Avx512];

static MEASURED: [OnceLock<Costs>; ISAS.len() * Packing::ALL.len() * WIDTHS] =
    [const { OnceLock::new() }; ISAS.len() * Packing::ALL.len() * WIDTHS];

/// The costs of codes of a format; measured at the first call for its packing and about its width, in some tens of
/// microseconds.
pub(super) fn costs(isa: Isa, format: Format) -> Costs {
    let step = (usize::from(format.width()) - 1) / STEP;
    let place = |found: Option<usize>| found.unwrap_or(0);
    let isa_place = place(ISAS.iter().position(|known| *known == isa));
    let packing = place(Packing::ALL.iter().position(|known| *known == format.packing()));
    let entry = &MEASURED[(isa_place * Packing::ALL.len() + packing) * WIDTHS + step];
    *entry.get_or_init(|| {
        let width = ((step + 1) * STEP) as u8;
        measure(isa, Format::new(format.packing(), width).expect("steps end at widths from 4 to 64"))
    })
}

/// Picoseconds a code to compare codes of a format, in the first-level cache, measured at the first call.
pub fn scan_cost(isa: Isa, format: Format) -> f64 {
    costs(isa, format).scan
}

/// Codes that are measured with: 32 KB at most.
const CODES: usize = 4096;
/// The best of so many runs counts: the others were disturbed.
const RUNS: usize = 5;

fn measure(isa: Isa, format: Format) -> Costs {
    let mut state = 0u64;
    let codes: Vec<u64> = (0..CODES)
        .map(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (mixed ^ mixed >> 32) & format.max_code()
        })
        .collect();
    let mut bytes = Vec::new();
    pack(isa, format, &codes, &mut bytes);
    let column = Packed::new(format, CODES, &bytes).expect("pack makes all bytes of the format");
    let test = Test::Compare(Operator::Less, format.max_code() / 2 + 1);
    let mut out = vec![0; bits::words(CODES)];
    let mut scanned = |combine: Combine, before: u64| {
        best(|| {
            out.fill(before);
            scan(isa, column, test, Options::from(combine), &mut out);
        })
    };
    let alone = scanned(Combine::Set, 0);
    let (masked, decided) = (scanned(Combine::And, 0x5555_5555_5555_5555), scanned(Combine::And, 0));
    let pair = [Predicate { column, test, validity: None }; 2];
    let both = best(|| evaluate(isa, CODES, &pair, Connective::And, Way::PredicateFirst, true, &mut out));
    Costs { scan: alone, masked, decided, together: both / 2.0 }
}

/// Picoseconds a code of the fastest run.
fn best(mut run: impl FnMut()) -> f64 {
    let nanoseconds = (0..RUNS).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos()
    });
    nanoseconds.min().unwrap_or(0) as f64 * 1000.0 / CODES as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packing_under_every_instruction_set_has_costs() {
        for isa in Isa::available() {
            for packing in Packing::ALL {
                for width in [1, 4, 5, 33, 64] {
                    let format = Format::new(packing, width).expect("a width from 1 to 64");
                    let measured = costs(isa, format);
                    let all = [measured.scan, measured.masked, measured.decided, measured.together];
                    assert!(
                        all.iter().all(|cost| cost.is_finite() && *cost >= 0.0),
                        "{isa:?} {format:?}: {measured:?}"
                    );
                    assert_eq!(costs(isa, format), measured, "measured once");
                }
            }
        }
    }
}
