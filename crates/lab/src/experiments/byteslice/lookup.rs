//! Lookups of one column as variants of a trial: every packing, the same codes, TIDs in random and in ascending order.

use super::scan::{footprint, format};
use crate::data::{Codes, PackedColumn};
use crate::experiment::{Bench, Error, Laps, Sizing, Subject, Variant};
use crate::random::Random;
use crate::with_codes;
use gingham_kernels::packing::{Packing, lookup};
use gingham_kernels::{Code, Isa};
use std::rc::Rc;

/// Lookups of a run in memory, as in the paper, where the column has sixteen times as many codes. Simulated caches, and so
/// the columns of variants that are counted, are smaller.
const LOOKUPS: usize = 1_000_000;
/// Lookups of a run in cache: their TIDs and codes must fit the cache too, beside eight times as many codes.
const CACHE_LOOKUPS: usize = 1 << 14;

/// Orders of the TIDs.
pub const ORDERS: [&str; 2] = ["random", "sorted"];

/// The variants of a trial: lookups in a column of `width` bits in each of `packings`, in each of `orders`.
pub fn variants(
    bench: &Bench,
    sizing: Sizing,
    width: u8,
    packings: &[Packing],
    orders: &[&str],
) -> Result<Vec<Variant>, Error> {
    let rows = bench.rows(sizing, width, footprint(width, packings, 0));
    let mut random = Random::named(bench.settings.seed, &format!("lookups of {width} bits"));
    let codes = Codes::uniform(width, rows, &mut random);
    let lookups = match sizing {
        _ if bench.is_tiny() => 2000,
        Sizing::Memory => LOOKUPS.min(rows / 16),
        Sizing::Cache => CACHE_LOOKUPS.min(rows / 8),
    };
    let tids: Vec<u32> = (0..lookups).map(|_| random.below(rows as u64) as u32).collect();
    let mut sorted = tids.clone();
    sorted.sort_unstable();
    let columns =
        packings.iter().map(|packing| Rc::new(PackedColumn::new(bench.isa(), format(*packing, width), &codes)));
    let columns: Vec<Rc<PackedColumn>> = columns.collect();
    let mut variants = Vec::new();
    let both = ORDERS.into_iter().zip([Rc::new(tids), Rc::new(sorted)]);
    for (order, tids) in both.filter(|(order, _)| orders.contains(order)) {
        let levels =
            vec![("size", sizing.name().to_string()), ("width", width.to_string()), ("order", order.to_string())];
        for column in &columns {
            let mut levels = levels.clone();
            levels.push(("packing", column.format().packing().to_string()));
            variants.push(Variant {
                levels,
                units: (lookups as f64, "code"),
                facts: vec![("rows", rows as f64), ("bytes", column.bytes() as f64), ("lookups", lookups as f64)],
                subject: with_codes!(&codes, codes => subject(bench.isa(), Rc::clone(column), codes, Rc::clone(&tids))),
            });
        }
    }
    Ok(variants)
}

fn subject<C: Code>(isa: Isa, column: Rc<PackedColumn>, codes: &[C], tids: Rc<Vec<u32>>) -> Box<dyn Subject> {
    let expected = tids.iter().map(|tid| codes[*tid as usize]).collect();
    Box::new(NativeLookup { isa, column, out: Vec::with_capacity(tids.len()), tids, expected })
}

/// Lookups to codes of the native width.
struct NativeLookup<C> {
    isa: Isa,
    column: Rc<PackedColumn>,
    tids: Rc<Vec<u32>>,
    out: Vec<C>,
    expected: Vec<C>,
}

impl<C: Code> Subject for NativeLookup<C> {
    fn prepare(&mut self) {
        self.out.clear();
    }

    fn run(&mut self, _: &mut Laps) {
        self.out.clear();
        lookup(self.isa, self.column.packed(), &self.tids, &mut self.out);
    }

    fn check(&mut self) -> Result<(), String> {
        if self.out == self.expected {
            return Ok(());
        }
        let place = self.out.iter().zip(&self.expected).position(|(found, expected)| found != expected);
        let place = place.unwrap_or(self.out.len().min(self.expected.len()));
        Err(format!(
            "{} codes; the lookup number {place}, of TID {:?}, gave {:?} and not {:?}",
            self.out.len(),
            self.tids.get(place),
            self.out.get(place),
            self.expected.get(place)
        ))
    }
}
