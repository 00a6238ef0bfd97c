//! What probes of key tables cost: nanoseconds per key by size of the table, way to probe and share of the keys that are
//! found; builds, filters, hash functions. `cargo run --release -p gingham-kernels --example key_tables`; it takes a minute.

#[path = "support/huge.rs"]
mod huge;

use gingham_kernels::Isa;
use gingham_kernels::hash::{HashFunction, Key, hash};
use gingham_kernels::key_table::{DenseTable, Filter, HashTable, Pairs, Probing, Resume};
use gingham_kernels::lab::RofTable;
use huge::huge;
use std::hint::black_box;
use std::time::Instant;

/// Keys that are probed, in vectors of so many.
const PROBES: usize = 1 << 21;
const VECTOR: usize = 2048;
/// Keys of the build side.
const SIZES: [u32; 7] = [10, 13, 16, 18, 20, 22, 24];
const PROBINGS: [Probing; 6] =
    [Probing::Scalar, Probing::Group(16), Probing::Pipelined(16), Probing::Amac(16), Probing::Vertical, Probing::Match];

fn mixed(number: u64) -> u64 {
    let state = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// The best of three times, in nanoseconds per one of `count`.
fn time(count: usize, mut work: impl FnMut()) -> f64 {
    let once = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64 / count as f64
    };
    (0..3).map(once).fold(f64::MAX, f64::min)
}

/// Keys of the build side, and of the probe side, of which `percent` are among them.
fn keys<K: Key>(size: u32, percent: u64) -> (Vec<K>, Vec<K>) {
    // A mixed counter, odd numbers shifted out, so that no other key is among them.
    let key = |number: u64, other: bool| K::truncate(mixed(number) << 1 | u64::from(other));
    let build: Vec<K> = (0..1 << size).map(|row| key(row, false)).collect();
    let probe = |row: u64| {
        let random = mixed(row + (1 << 40));
        if random % 100 < percent { build[(random >> 32) as usize % build.len()] } else { key(random, true) }
    };
    let probes = (0..PROBES as u64).map(probe).collect();
    (build, probes)
}

fn table<K: Key>(function: HashFunction, keys: &[K]) -> HashTable<K> {
    let positions: Vec<u32> = (0..keys.len() as u32).collect();
    HashTable::build(Isa::best(), function, 0.5, keys, &positions, huge(HashTable::<K>::slots(keys.len(), 0.5)))
}

/// The time of one way to probe, a vector at a time.
fn probe<K: Key>(keys: &[K], mut locate: impl FnMut(&[K], &mut Vec<u32>)) -> f64 {
    let mut links = Vec::with_capacity(VECTOR);
    time(keys.len(), || {
        for keys in keys.chunks(VECTOR) {
            links.clear();
            locate(keys, &mut links);
            black_box(&links);
        }
    })
}

fn probes<K: Key>(percent: u64) {
    println!("\n{} bits, {percent} % found, {:?}", K::BITS, Isa::best());
    println!("{:>8} {:>10} {}", "keys", "bytes", PROBINGS.map(|probing| format!("{:>10}", probing.name())).concat());
    for size in SIZES {
        let (build, probes) = keys::<K>(size, percent);
        let table = table(HashFunction::Multiply, &build);
        print!("{:>8} {:>10}", format!("2^{size}"), table.bytes());
        for probing in PROBINGS {
            let each = probe(&probes, |keys, links| table.locate(Isa::best(), probing, keys, links));
            print!("{each:>10.2}");
        }
        println!();
    }
}

fn instruction_sets() {
    println!("\nmatch, 64 bits, all found, by instruction set");
    for size in SIZES {
        let (build, probes) = keys::<u64>(size, 100);
        let table = table(HashFunction::Multiply, &build);
        print!("{:>8}", format!("2^{size}"));
        for isa in Isa::available() {
            let each = probe(&probes, |keys, links| table.locate(isa, Probing::Match, keys, links));
            print!("{:>16}", format!("{} {each:.2}", isa.name()));
        }
        println!();
    }
}

fn functions() {
    println!("\nhash functions: of a vector in cache, and match of 2^13 and 2^22 keys, 64 and 32 bits");
    for function in HashFunction::ALL {
        print!("{:>10}", function.name());
        let cached: Vec<u64> = (0..VECTOR as u64).collect();
        let mut out = Vec::with_capacity(VECTOR);
        for isa in Isa::available() {
            let each = time(1000 * VECTOR, || {
                for _ in 0..1000 {
                    out.clear();
                    hash(isa, function, black_box(&cached), &mut out);
                    black_box(&out);
                }
            });
            print!("{:>16}", format!("{} {each:.2}", isa.name()));
        }
        let of = |size| {
            let (build, probes) = keys::<u64>(size, 100);
            let wide = table(function, &build);
            let (narrow_build, narrow_probes) = keys::<u32>(size, 100);
            let narrow = table(function, &narrow_build);
            let match_of = Probing::Match;
            [
                probe(&probes, |keys, links| wide.locate(Isa::best(), match_of, keys, links)),
                probe(&narrow_probes, |keys, links| narrow.locate(Isa::best(), match_of, keys, links)),
            ]
        };
        println!("{:.2?} {:.2?}", of(13), of(22));
    }
}

/// Each row: the build per key; probes of our table, of the paper's and of an array; pairs of links.
fn tables() {
    println!("\n64 bits, all found: build, match of ours, pairs; rof build, group; array build, locate");
    for size in SIZES {
        let (build, probes) = keys::<u64>(size, 100);
        let positions: Vec<u32> = (0..build.len() as u32).collect();
        let slots = HashTable::<u64>::slots(build.len(), 0.5);
        let ours = table(HashFunction::Multiply, &build);
        let built = time(build.len(), || {
            let memory = huge(slots);
            black_box(HashTable::build(Isa::best(), HashFunction::Multiply, 0.5, &build, &positions, memory));
        });
        let each = probe(&probes, |keys, links| ours.locate(Isa::best(), Probing::Match, keys, links));
        let mut links = Vec::new();
        ours.locate(Isa::best(), Probing::Match, &probes, &mut links);
        let mut pairs = Pairs::with_capacity(VECTOR);
        let paired = time(links.len(), || {
            for links in links.chunks(VECTOR) {
                pairs.clear();
                ours.duplicates().pairs(Isa::best(), links, &mut Resume::default(), &mut pairs);
                black_box(&pairs);
            }
        });
        print!("{:>8} {built:>7.2}{each:>7.2}{paired:>7.2}", format!("2^{size}"));
        let start = Instant::now();
        let rof = RofTable::build(build.len(), &build, &positions);
        let built = start.elapsed().as_nanos() as f64 / build.len() as f64;
        let each = probe(&probes, |keys, links| rof.locate(Isa::best(), Probing::Group(16), keys, links));
        print!("{built:>10.2}{each:>7.2}");
        let dense: Vec<u64> = (0..build.len() as u64).collect();
        let built = time(build.len(), || {
            black_box(DenseTable::build(0, build.len(), &dense, &positions, huge(dense.len() + 1)));
        });
        let array = DenseTable::build(0, build.len(), &dense, &positions, huge(dense.len() + 1));
        let codes: Vec<u64> = links.iter().map(|link| u64::from(*link)).collect();
        let each = probe(&codes, |keys, links| array.locate(Isa::best(), keys, links));
        println!("{built:>10.2}{each:>7.2}");
    }
}

/// A filter in front, and the table for what passes.
fn filters() {
    println!("\n64 bits: percent found, match alone, filter alone, filter and then match; share that passes");
    for (size, percent) in [16, 18, 20, 22, 24].into_iter().flat_map(|size| [0, 10, 50].map(|percent| (size, percent)))
    {
        let (build, probes) = keys::<u64>(size, percent);
        let table = table(HashFunction::Multiply, &build);
        let memory = huge(Filter::<u64>::words(build.len()));
        let filter = Filter::build(Isa::best(), HashFunction::Multiply, build.len(), &build, memory);
        let alone = probe(&probes, |keys, links| table.locate(Isa::best(), Probing::Match, keys, links));
        let mut all = 0;
        let filtered = probe(&probes, |keys, passed| {
            filter.select(Isa::best(), keys, passed);
            all += passed.len();
        });
        let (mut passed, mut left) = (Vec::new(), Vec::new());
        let both = probe(&probes, |keys, links| {
            passed.clear();
            left.clear();
            filter.select(Isa::best(), keys, &mut passed);
            gingham_kernels::lookup::copy(Isa::best(), keys, &passed, &mut left);
            table.locate(Isa::best(), Probing::Match, &left, links);
        });
        let share = all as f64 / (3 * PROBES) as f64;
        println!("{:>8}{percent:>4} {alone:>7.2}{filtered:>7.2}{both:>7.2}{share:>7.3}", format!("2^{size}"));
    }
}

fn main() {
    functions();
    for percent in [100, 50, 0] {
        probes::<u64>(percent);
    }
    probes::<u32>(100);
    instruction_sets();
    tables();
    filters();
}
