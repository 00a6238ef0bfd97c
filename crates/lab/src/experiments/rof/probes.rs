//! Probing a key table in a loop, apart from any query: what `rof.fig4` and `rof.tables` share.

use crate::experiment::{Laps, Subject};
use crate::random::Random;
use gingham::storage::huge_vec;
use gingham_kernels::key_table::Probing;
use std::cell::RefCell;
use std::rc::Rc;

/// Keys of a group, and keys ahead: the best of the paper's figure 16.
pub const GROUP: usize = 16;
/// The part of a table's slots that are used.
pub const LOAD: f64 = 0.5;
/// Keys of a vector.
const VECTOR: usize = 1024;

/// The probe side, which the variants of a trial share.
pub struct ProbeSide<K> {
    keys: Vec<K>,
    /// The oracle: the row of the build side that each key was drawn from.
    rows: Vec<u32>,
    /// The answer of the last run, of whichever variant.
    links: RefCell<Vec<u32>>,
}

impl<K> ProbeSide<K> {
    /// So many keys of rows drawn from the first `build_rows`, each of which has the key that `key_of` gives.
    pub fn new(mut random: Random, count: usize, build_rows: usize, key_of: impl Fn(u32) -> K) -> Rc<Self> {
        let rows: Vec<u32> = (0..count).map(|_| random.below(build_rows as u64) as u32).collect();
        let keys = rows.iter().map(|row| key_of(*row)).collect();
        Rc::new(Self { keys, rows, links: RefCell::new(huge_vec(count)) })
    }
}

/// A way to probe a table.
pub struct Probe<K> {
    /// What is probed with.
    pub side: Rc<ProbeSide<K>>,
    /// Appends a link for each key of a vector.
    #[expect(clippy::type_complexity, reason = "a name for it would hide what it does")]
    pub locate: Box<dyn Fn(&[K], &mut Vec<u32>)>,
}

impl<K> Subject for Probe<K> {
    fn prepare(&mut self) {
        self.side.links.borrow_mut().clear();
    }

    fn run(&mut self, _: &mut Laps) {
        let mut links = self.side.links.borrow_mut();
        links.clear();
        for keys in self.side.keys.chunks(VECTOR) {
            (self.locate)(keys, &mut links);
        }
    }

    fn check(&mut self) -> Result<(), String> {
        let (links, rows) = (self.side.links.borrow(), &self.side.rows);
        if *links == *rows {
            return Ok(());
        }
        let place = links.iter().zip(rows).position(|(link, row)| link != row).unwrap_or(links.len().min(rows.len()));
        Err(format!("key number {place} has the link {:?} and not {:?}", links.get(place), rows.get(place)))
    }
}

/// The ways that need no registers as wide as several keys, and ours.
pub const PROBINGS: [Probing; 5] =
    [Probing::Scalar, Probing::Group(GROUP), Probing::Pipelined(GROUP), Probing::Amac(GROUP), Probing::Match];
