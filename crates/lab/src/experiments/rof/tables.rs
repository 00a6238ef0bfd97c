//! The paper's hash table (figure 7) beside ours, and hash functions: an experiment of ours, as the paper tells of one
//! table and one function only.

use super::probes::{LOAD, PROBINGS, Probe, ProbeSide};
use super::query;
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Mode, Point, Trial,
    Variant, levels,
};
use crate::random::Random;
use crate::words::readable;
use gingham::storage::huge_vec;
use gingham_kernels::hash::HashFunction;
use gingham_kernels::key_table::HashTable;
use gingham_kernels::lab::RofTable;
use std::rc::Rc;

/// The experiment.
pub static TABLES: Experiment = Experiment {
    name: "rof.tables",
    title: "The paper's hash table beside ours, and hash functions",
    place: "relaxed operator fusion paper, figure 7 and sections 4.3 and 5.7; the experiment is ours",
    about: "A join of two columns of 64-bit keys: every key of the probe side is found once. Rof is the table of the paper's figure 7: \
            buckets of 32 bytes with status, key, payload and hash, by Murmur3. Ours has entries of 16 bytes, key and link, and \
            is built with each hash function. Both have open addressing, linear probing, and half of their slots in use. Groups, \
            pipelines and AMAC have 16 keys. One thread. The answer of every run is compared with the rows that the keys were \
            drawn from. What hash functions and prefetching do in queries tells rof.hash.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        panels: &["table", "hash"],
        axis: "cycles per key",
        ..query::figure("Time of a probe", FigureKind::Bars, "keys", "probing")
    }],
    claims: &CLAIMS,
};

const OURS: &str = "ours";
const ROF: &str = "rof";

/// Keys of the build side, as powers of two.
fn powers(mode: Mode) -> &'static [u32] {
    match mode {
        Mode::Tiny => &[9, 12],
        Mode::Quick => &[13, 17, 22],
        Mode::Default | Mode::Full => &[11, 13, 15, 17, 19, 21, 23],
    }
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let powers = powers(bench.settings.mode);
    let trial = |power: &u32| {
        let keys = 1 << *power;
        Trial { name: format!("{keys} keys"), setup: Box::new(move |bench| Ok(variants(bench, keys))) }
    };
    Ok(Design {
        factors: vec![
            Factor::new("keys", "keys", powers.iter().map(|power| 1 << power)),
            Factor::new("table", "", [ROF, OURS]),
            Factor::new("hash", "", HashFunction::ALL.map(HashFunction::name)),
            Factor::new("probing", "", PROBINGS.map(gingham_kernels::key_table::Probing::name)),
        ],
        trials: powers.iter().map(trial).collect(),
        ..Design::default()
    })
}

/// The key of a row: different rows have different keys, spread over all 64-bit numbers. It is no table's hash function.
fn key_of(row: u32) -> u64 {
    let mixed = u64::from(row).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

fn variants(bench: &Bench, build_rows: usize) -> Vec<Variant> {
    let rows: Vec<u32> = (0..build_rows as u32).collect();
    let keys: Vec<u64> = rows.iter().map(|row| key_of(*row)).collect();
    let count = if bench.is_tiny() { 5000 } else { 4_000_000 };
    let random = Random::named(bench.settings.seed, &format!("probes of {build_rows} keys"));
    let side = ProbeSide::new(random, count, build_rows, key_of);
    let isa = bench.isa();
    let variant = |table: &str, function: HashFunction, probing: usize, bytes: usize, subject: Probe<u64>| Variant {
        levels: levels(&[
            ("keys", &build_rows),
            ("table", &table),
            ("hash", &function.name()),
            ("probing", &PROBINGS[probing].name()),
        ]),
        units: (count as f64, "key"),
        facts: vec![("bytes", bytes as f64)],
        subject: Box::new(subject),
    };
    let mut variants = Vec::new();
    let table = Rc::new(RofTable::build(build_rows, &keys, &rows));
    for (place, probing) in PROBINGS.into_iter().enumerate() {
        let (own, side) = (Rc::clone(&table), Rc::clone(&side));
        let locate = Box::new(move |keys: &[u64], links: &mut Vec<u32>| own.locate(isa, probing, keys, links));
        variants.push(variant(ROF, HashFunction::Murmur3, place, table.bytes(), Probe { side, locate }));
    }
    for function in HashFunction::ALL {
        let memory = huge_vec(HashTable::<u64>::slots(build_rows, LOAD));
        let table = Rc::new(HashTable::build(isa, function, LOAD, &keys, &rows, memory));
        for (place, probing) in PROBINGS.into_iter().enumerate() {
            let (own, side) = (Rc::clone(&table), Rc::clone(&side));
            let locate = Box::new(move |keys: &[u64], links: &mut Vec<u32>| own.locate(isa, probing, keys, links));
            variants.push(variant(OURS, function, place, table.bytes(), Probe { side, locate }));
        }
    }
    variants
}

/// At each number of keys, and with each way to probe that `probing` does not rule out, one table and function takes less
/// than `factor` times the time of another.
fn less(
    context: &Context<'_>,
    (table, function): (&str, HashFunction),
    (other, other_function): (&str, HashFunction),
    probing: Option<&str>,
    factor: f64,
) -> Vec<Expectation> {
    let at = [("table", table), ("hash", function.name())];
    let each = |point: &Point| {
        let probing = point.level("probing");
        let keys = point.level("keys");
        let at = [("keys", keys), ("table", other), ("hash", other_function.name()), ("probing", probing)];
        let rival = context.findings.get(&at)?.time()?;
        Some(Expectation::less(format!("{} keys, {probing}", readable(keys)), point.time()?, rival, factor))
    };
    let wanted = |point: &&Point| probing.is_none_or(|probing| point.level("probing") == probing);
    context.findings.select(&at).filter(wanted).filter_map(each).collect()
}

static CLAIMS: [Claim; 4] = [
    Claim {
        id: "tables.ours",
        text: "With Murmur3, ours is probed at least as fast as the paper's table, in each way",
        place: "not in the paper",
        ours: Some("the claim is ours; at least as fast: less than 1.05 times the time"),
        judge: |context| {
            let murmur3 = HashFunction::Murmur3;
            Expectation::judge(less(context, (OURS, murmur3), (ROF, murmur3), None, 1.05))
        },
    },
    Claim {
        id: "tables.crc32",
        text: "CRC32 costs less than Murmur3",
        place: "section 5.7, of HyPer's hash function",
        ours: Some("in our table, key by key, at each size"),
        judge: |context| {
            let (crc32, murmur3) = (HashFunction::Crc32, HashFunction::Murmur3);
            Expectation::judge(less(context, (OURS, crc32), (OURS, murmur3), Some("scalar"), 1.0))
        },
    },
    Claim {
        id: "tables.prefetch_hides",
        text: "With group prefetching the cheaper function still pays",
        place: "section 5.7: what prefetching gains, a dearer hash function loses in part",
        ours: Some("CRC32 takes less time than Murmur3 in groups too, at each size"),
        judge: |context| {
            let (crc32, murmur3) = (HashFunction::Crc32, HashFunction::Murmur3);
            Expectation::judge(less(context, (OURS, crc32), (OURS, murmur3), Some("group"), 1.0))
        },
    },
    Claim {
        id: "tables.multiply",
        text: "Our multiplicative function is no slower than Murmur3, in each way",
        place: "not in the paper",
        ours: Some("the claim is ours; no slower: less than 1.02 times the time"),
        judge: |context| {
            let (multiply, murmur3) = (HashFunction::Multiply, HashFunction::Murmur3);
            Expectation::judge(less(context, (OURS, multiply), (OURS, murmur3), None, 1.02))
        },
    },
];
