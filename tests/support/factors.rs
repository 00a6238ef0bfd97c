//! What must not change any answer: the layout of tables, the instruction set of the kernels, the threads of a query, who
//! runs its pipelines, how scans read segments.
//! Tests include this file. A covering table has every pair of levels of two factors in few runs; `cargo xtask nightly`
//! runs the full product.

#[path = "levels.rs"]
mod levels;

pub use levels::{LAYOUTS, PAGES};

use gingham::{Connection, Database};
use levels::{EXECUTIONS, IOS};

const ISAS: &[&str] = &["scalar", "avx2", "avx512"];
const THREADS: &[&str] = &["1", "2", "7"];

/// One level of each factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub layout: &'static str,
    pub isa: &'static str,
    pub threads: &'static str,
    pub execution: &'static str,
    pub io: &'static str,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {} {} {}", self.layout, self.isa, self.threads, self.execution, self.io)
    }
}

impl Setting {
    /// Gives a connection these levels.
    pub fn apply(&self, connection: &Connection) {
        let Self { layout, isa, threads, execution, io } = self;
        let sql = format!(
            "SET gingham.layout = '{layout}'; SET gingham.isa = '{isa}'; SET gingham.threads = {threads};
             SET gingham.execution = '{execution}'; SET gingham.io = '{io}'"
        );
        connection.execute(&sql).unwrap_or_else(|error| panic!("{self}: {error}"));
    }
}

/// The settings to test with some layouts: a covering table, or under `GINGHAM_NIGHTLY` all of them.
pub fn settings(layouts: &[&'static str]) -> Vec<Setting> {
    // An instruction set that the machine lacks is refused.
    let connection = Database::in_memory().expect("a scratch database opens").connect();
    let isas: Vec<&str> =
        ISAS.iter().copied().filter(|isa| connection.execute(&format!("SET gingham.isa = '{isa}'")).is_ok()).collect();
    let product = product(layouts, &isas);
    if std::env::var_os("GINGHAM_NIGHTLY").is_some() { product } else { covering(&product) }
}

/// Every combination.
fn product(layouts: &[&'static str], isas: &[&'static str]) -> Vec<Setting> {
    let mut product = Vec::new();
    for layout in layouts {
        for isa in isas {
            for threads in THREADS {
                for execution in EXECUTIONS {
                    product.extend(IOS.iter().map(|io| Setting { layout, isa, threads, execution, io }));
                }
            }
        }
    }
    product
}

/// Few settings of `product` that have all pairs of levels that it has: each time the one with most pairs that none
/// before it has.
fn covering(product: &[Setting]) -> Vec<Setting> {
    let mut chosen = Vec::new();
    let mut wanted: Vec<(usize, [&str; 2])> = product.iter().flat_map(|setting| pairs(setting)).collect();
    while !wanted.is_empty() {
        let gain = |setting: &&Setting| pairs(setting).iter().filter(|pair| wanted.contains(pair)).count();
        let Some(best) = product.iter().rev().max_by_key(gain) else { break };
        wanted.retain(|pair| !pairs(best).contains(pair));
        chosen.push(*best);
    }
    chosen
}

/// The pairs of a setting's levels, each with the number of its two factors.
fn pairs(setting: &Setting) -> [(usize, [&'static str; 2]); 10] {
    let Setting { layout, isa, threads, execution, io } = *setting;
    [
        (0, [layout, isa]),
        (1, [layout, threads]),
        (2, [isa, threads]),
        (3, [layout, execution]),
        (4, [isa, execution]),
        (5, [threads, execution]),
        (6, [layout, io]),
        (7, [isa, io]),
        (8, [threads, io]),
        (9, [execution, io]),
    ]
}

#[test]
fn a_covering_table_has_every_pair_and_is_small() {
    for layouts in [LAYOUTS, PAGES] {
        let product = product(layouts, ISAS);
        let chosen = covering(&product);
        let missing = product.iter().flat_map(pairs).find(|pair| !chosen.iter().any(|row| pairs(row).contains(pair)));
        assert_eq!(missing, None);
        assert!(chosen.len() < product.len() / 4, "{} of {}", chosen.len(), product.len());
    }
}
