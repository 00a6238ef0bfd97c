//! Hash functions, key tables and filters against the standard library's hash map: every instruction set, hash function and
//! way to probe, keys spread in many ways, lengths round the edges of registers and blocks, pairs at every capacity.

mod common;

use common::Numbers;
use gingham_kernels::Isa;
use gingham_kernels::hash::{HashFunction, Key, Mix, hash};
use gingham_kernels::key_table::{
    Building, DenseTable, Duplicates, Filter, HashTable, LIST, NONE, Pairs, Probing, Resume, exists,
};
use gingham_kernels::lab::RofTable;
use std::collections::HashMap;

/// Rows of the build side, and keys that are probed: round the edges of registers, groups and blocks.
const LENGTHS: &[(usize, usize)] = &[
    (0, 0),
    (0, 40),
    (1, 1),
    (1, 0),
    (2, 7),
    (7, 8),
    (8, 9),
    (16, 15),
    (31, 16),
    (33, 17),
    (100, 255),
    (255, 257),
    (513, 1023),
    (1024, 1024),
    (1025, 1025),
    (3000, 2100),
];

/// How keys are spread.
const SPREADS: [&str; 7] = ["random", "skewed", "equal", "none match", "unique", "ends", "strided"];

const PROBINGS: [Probing; 12] = [
    Probing::Scalar,
    Probing::Group(0),
    Probing::Group(16),
    Probing::Group(1000),
    Probing::Pipelined(1),
    Probing::Pipelined(16),
    Probing::Pipelined(256),
    Probing::Amac(1),
    Probing::Amac(10),
    Probing::Amac(400),
    Probing::Vertical,
    Probing::Match,
];

/// Keys and positions of the build side, and the keys that are probed.
struct Case<K> {
    what: String,
    keys: Vec<K>,
    positions: Vec<u32>,
    probes: Vec<K>,
    /// Positions by key, in the order of the build.
    expected: HashMap<u64, Vec<u32>>,
}

impl<K: Key> Case<K> {
    fn new(numbers: &mut Numbers, (rows, probes): (usize, usize), spread: &str) -> Self {
        let few = (rows as u64 / 3).max(1);
        let any = numbers.next();
        let key = |numbers: &mut Numbers, row: usize, probe: bool| {
            let number = numbers.next();
            K::truncate(match spread {
                "skewed" if !number.is_multiple_of(3) => number % 5,
                "skewed" | "random" => number % few,
                "equal" if probe => any ^ (number & 1),
                "equal" => any,
                "none match" => number << 1 | u64::from(probe),
                "unique" if probe => (number % (2 * rows as u64 + 1)) << 7,
                "unique" => (row as u64) << 7,
                "ends" => [0, u64::MAX, 1, number][(number >> 32) as usize % 4],
                _ => (number % few) * 1_000_000,
            })
        };
        let keys: Vec<K> = (0..rows).map(|row| key(numbers, row, false)).collect();
        let probes: Vec<K> = (0..probes).map(|row| key(numbers, row, true)).collect();
        // Not the numbers of the rows, so that the two are not mistaken for each other, and the largest that there may be.
        let positions: Vec<u32> = (0..rows).map(|row| (i32::MAX as u32) - (row as u32 * 3)).collect();
        let mut expected: HashMap<u64, Vec<u32>> = HashMap::new();
        for (key, position) in keys.iter().zip(&positions) {
            expected.entry(key.to_u64()).or_default().push(*position);
        }
        let what = format!("{} of {rows} {spread} keys of {} bits", probes.len(), K::BITS);
        Self { what, keys, positions, probes, expected }
    }

    fn positions_of(&self, key: K) -> &[u32] {
        self.expected.get(&key.to_u64()).map_or(&[], Vec::as_slice)
    }

    fn all_pairs(&self) -> Vec<(u32, u32)> {
        let of_key = |(row, key): (usize, &K)| self.positions_of(*key).iter().map(move |at| (row as u32, *at));
        self.probes.iter().enumerate().flat_map(of_key).collect()
    }

    /// Links of the probed keys against the oracle, and what becomes of them.
    fn check(&self, isa: Isa, duplicates: &Duplicates, links: &[u32], how: &str) {
        let what = format!("{}, {isa:?}, {how}", self.what);
        assert_eq!(links.len(), self.probes.len(), "{what}");
        for (row, (key, link)) in self.probes.iter().zip(links).enumerate() {
            assert_eq!(duplicates.positions(link), self.positions_of(*key), "{what}: key {key:?} of row {row}");
        }
        assert_eq!(duplicates.is_empty(), self.expected.len() == self.keys.len(), "{what}");
    }

    fn check_joins(&self, duplicates: &Duplicates, links: &[u32]) {
        let all = self.all_pairs();
        for isa in Isa::available() {
            for capacity in [1, 2, 15, 16, 17, 1000, 1 << 20] {
                assert_eq!(joined(isa, duplicates, &[links], capacity), all, "{}, {isa:?}, {capacity}", self.what);
            }
            let mut bits = vec![u64::MAX; links.len().div_ceil(64)];
            exists(isa, links, &mut bits);
            for row in 0..bits.len() * 64 {
                let found = self.probes.get(row).is_some_and(|key| !self.positions_of(*key).is_empty());
                assert_eq!(bits[row / 64] >> (row % 64) & 1 == 1, found, "{}, {isa:?}, bit {row}", self.what);
            }
        }
        let mut first = links.to_vec();
        duplicates.first(&mut first);
        let expected = self.probes.iter().map(|key| self.positions_of(*key).first().copied().unwrap_or(NONE));
        assert!(expected.eq(first), "{}", self.what);
    }
}

/// All pairs of vectors of links, the vectors' rows counted on, through output of a capacity: full each time but the last.
fn joined(isa: Isa, duplicates: &Duplicates, vectors: &[&[u32]], capacity: usize) -> Vec<(u32, u32)> {
    let mut all = Vec::new();
    let mut pairs = Pairs::with_capacity(capacity);
    let mut first = 0;
    let mut starts = Vec::new();
    let mut flush = |pairs: &mut Pairs, starts: &mut Vec<u32>| {
        assert!(pairs.probe().len() == pairs.build().len() && pairs.probe().len() <= capacity);
        let rows = pairs.probe().iter().zip(starts.drain(..)).map(|(row, start)| row + start);
        all.extend(rows.zip(pairs.build().iter().copied()));
        pairs.clear();
    };
    for links in vectors {
        let mut resume = Resume::default();
        loop {
            let done = duplicates.pairs(isa, links, &mut resume, &mut pairs);
            starts.resize(pairs.probe().len(), first);
            if pairs.is_full() {
                flush(&mut pairs, &mut starts);
            } else {
                assert!(done, "pairs are left, and room for them");
            }
            if done {
                assert_eq!(resume, Resume::default());
                break;
            }
        }
        first += links.len() as u32;
    }
    flush(&mut pairs, &mut starts);
    all
}

fn each_case<K: Key>(seed: u64, mut check: impl FnMut(&Case<K>)) {
    let mut numbers = Numbers(seed);
    for spread in SPREADS {
        for lengths in LENGTHS {
            check(&Case::new(&mut numbers, *lengths, spread));
        }
    }
}

fn hash_tables<K: Key>() {
    each_case::<K>(K::BITS.into(), |case| {
        for function in HashFunction::ALL {
            for load in [0.3, 0.5, 0.9] {
                let table = HashTable::build(Isa::best(), function, load, &case.keys, &case.positions, Vec::new());
                assert_eq!(table.keys(), case.expected.len());
                for isa in Isa::available() {
                    for probing in PROBINGS {
                        let mut links = vec![7];
                        table.locate(isa, probing, &case.probes, &mut links);
                        assert_eq!(links[0], 7);
                        case.check(isa, table.duplicates(), &links[1..], &format!("{function:?}, {probing:?}, {load}"));
                    }
                }
                for parts in [1, 2, 8].into_iter().filter(|parts| *parts <= table.entries().len()) {
                    let table = in_parts(case, function, load, parts);
                    assert_eq!(table.keys(), case.expected.len());
                    let mut links = Vec::new();
                    table.locate(Isa::best(), Probing::Scalar, &case.probes, &mut links);
                    case.check(
                        Isa::best(),
                        table.duplicates(),
                        &links,
                        &format!("{function:?}, {parts} parts, {load}"),
                    );
                }
            }
        }
        let table = HashTable::build(Isa::Scalar, HashFunction::Multiply, 0.5, &case.keys, &case.positions, Vec::new());
        let mut links = Vec::new();
        table.locate(Isa::Scalar, Probing::Scalar, &case.probes, &mut links);
        case.check_joins(table.duplicates(), &links);
    });
}

/// A table whose parts are built by threads of their own.
fn in_parts<K: Key>(case: &Case<K>, function: HashFunction, load: f64, parts: usize) -> HashTable<K> {
    let rows = (case.keys.clone(), case.positions.clone());
    let building = Building::new((Isa::best(), function, load), rows, Vec::new(), parts);
    std::thread::scope(|scope| {
        for part in 0..parts {
            let building = &building;
            scope.spawn(move || building.part(part));
        }
    });
    building.finish()
}

#[test]
#[should_panic(expected = "taken twice")]
fn a_part_is_built_once() {
    let building =
        Building::new((Isa::best(), HashFunction::Multiply, 0.5), (vec![1_u64, 2], vec![0, 1]), Vec::new(), 2);
    building.part(1);
    building.part(1);
}

#[test]
#[should_panic(expected = "all parts are built")]
fn a_table_has_all_parts() {
    let building =
        Building::new((Isa::best(), HashFunction::Multiply, 0.5), (vec![1_u64, 2], vec![0, 1]), Vec::new(), 2);
    building.part(1);
    building.finish();
}

#[test]
fn hash_tables_of_32_bits() {
    hash_tables::<u32>();
}

#[test]
fn hash_tables_of_64_bits() {
    hash_tables::<u64>();
}

#[test]
fn rof_tables() {
    each_case::<u64>(3, |case| {
        // Too small, right, and too large from the beginning.
        for expected in [0, case.keys.len(), 5000] {
            let table = RofTable::build(expected, &case.keys, &case.positions);
            assert!(table.bytes() >= 64 * case.expected.len());
            for isa in Isa::available() {
                for probing in PROBINGS {
                    let mut links = Vec::new();
                    table.locate(isa, probing, &case.probes, &mut links);
                    case.check(isa, table.duplicates(), &links, &format!("{probing:?}, {expected}"));
                }
            }
        }
    });
}

fn dense_tables<C: Key>(least: i64, numbers: u64) {
    let mut random = Numbers(numbers);
    for lengths in LENGTHS {
        let mut case: Case<C> = Case::new(&mut random, *lengths, "random");
        let near = |number: u64| C::truncate((least as u64).wrapping_add(number));
        case.keys.iter_mut().for_each(|key| *key = near(random.next() % numbers));
        // Some of them are out of the range, on both sides, and some far.
        case.probes.iter_mut().for_each(|key| {
            *key = match random.next() % 8 {
                0 => near(numbers),
                1 => near(u64::MAX),
                2 => C::truncate(random.next()),
                _ => near(random.next() % numbers),
            }
        });
        case.expected.clear();
        for (key, position) in case.keys.iter().zip(&case.positions) {
            case.expected.entry(key.to_u64()).or_default().push(*position);
        }
        let base = C::truncate(least as u64).to_u64();
        let table = DenseTable::build(base, numbers as usize, &case.keys, &case.positions, vec![1, 2, 3]);
        assert!(table.bytes() as u64 >= 4 * numbers);
        for isa in Isa::available() {
            let mut links = vec![7];
            table.locate(isa, &case.probes, &mut links);
            assert_eq!(links[0], 7);
            case.check(isa, table.duplicates(), &links[1..], "dense");
            case.check_joins(table.duplicates(), &links[1..]);
        }
    }
}

#[test]
fn arrays_of_dense_keys() {
    dense_tables::<u64>(0, 1);
    dense_tables::<u64>(1000, 4000);
    // Signed keys, as they lie in memory.
    dense_tables::<u64>(-50, 100);
    dense_tables::<u64>(i64::MAX - 20, 50);
    dense_tables::<u32>(5, 300);
    dense_tables::<u32>(i64::from(u32::MAX) - 99, 100);
}

#[test]
#[should_panic(expected = "the key 12 among 10 from 2 on")]
fn arrays_have_bounds() {
    DenseTable::build(2, 10, &[2_u64, 11, 12], &[0, 1, 2], Vec::new());
}

#[test]
#[should_panic(expected = "one position per key")]
fn keys_and_positions_are_equally_many() {
    HashTable::build(Isa::Scalar, HashFunction::Multiply, 0.5, &[1_u64, 2], &[1], Vec::new());
}

#[test]
#[should_panic(expected = "the build position 2147483648")]
fn positions_have_31_bits() {
    HashTable::build(Isa::Scalar, HashFunction::Multiply, 0.5, &[1_u64], &[1 << 31], Vec::new());
}

#[test]
fn pairs_go_on_at_every_capacity_across_vectors() {
    let mut numbers = Numbers(4);
    let case: Case<u64> = Case::new(&mut numbers, (200, 90), "skewed");
    let table = HashTable::build(Isa::best(), HashFunction::Multiply, 0.5, &case.keys, &case.positions, Vec::new());
    let unique: Case<u64> = Case::new(&mut numbers, (60, 90), "unique");
    let of_unique =
        HashTable::build(Isa::best(), HashFunction::Multiply, 0.5, &unique.keys, &unique.positions, Vec::new());
    for isa in Isa::available() {
        for (case, table) in [(&case, &table), (&unique, &of_unique)] {
            let mut links = Vec::new();
            table.locate(isa, Probing::Match, &case.probes, &mut links);
            let all = case.all_pairs();
            assert!(all.len() > 20);
            for capacity in 1..=all.len() + 1 {
                let vectors: Vec<&[u32]> = links.chunks(1 + capacity % 40).collect();
                assert!(joined(isa, table.duplicates(), &vectors, capacity) == all, "{isa:?}, {capacity}");
            }
        }
    }
}

/// Each key's pairs cut to a span of its positions.
#[test]
fn pairs_within_spans_are_a_part_of_all() {
    let mut numbers = Numbers(5);
    let case: Case<u64> = Case::new(&mut numbers, (200, 90), "skewed");
    let table = HashTable::build(Isa::best(), HashFunction::Multiply, 0.5, &case.keys, &case.positions, Vec::new());
    let mut links = Vec::new();
    table.locate(Isa::best(), Probing::Match, &case.probes, &mut links);
    let span = |(row, key): (usize, &u64)| {
        let length = case.positions_of(*key).len() as u32;
        let (first, end) = (row as u32 % 3, row as u32 % 7 + 1);
        first.min(length)..end.clamp(first.min(length), length)
    };
    let spans: Vec<_> = case.probes.iter().enumerate().map(span).collect();
    let of_key = |(row, (key, span)): (usize, (&u64, &std::ops::Range<u32>))| {
        let positions = &case.positions_of(*key)[span.start as usize..span.end as usize];
        positions.iter().map(|position| (row as u32, *position)).collect::<Vec<_>>()
    };
    let expected: Vec<(u32, u32)> = case.probes.iter().zip(&spans).enumerate().flat_map(of_key).collect();
    assert!(expected.len() > 20 && expected.len() < case.all_pairs().len());
    for capacity in 1..=expected.len() + 1 {
        let (mut all, mut pairs, mut resume) = (Vec::new(), Pairs::with_capacity(capacity), Resume::default());
        loop {
            let done = table.duplicates().pairs_within(&links, &spans, &mut resume, &mut pairs);
            all.extend(pairs.probe().iter().copied().zip(pairs.build().iter().copied()));
            assert!(done || pairs.is_full());
            pairs.clear();
            if done {
                break;
            }
        }
        assert_eq!((all, resume), (expected.clone(), Resume::default()), "{capacity}");
    }
}

#[test]
fn a_million_duplicates_of_a_key() {
    const ROWS: u32 = 1_000_000;
    let mut keys = vec![42_u64; ROWS as usize];
    keys[7] = 43;
    let positions: Vec<u32> = (0..ROWS).collect();
    let of_key =
        |key: u64| -> Vec<u32> { positions.iter().copied().filter(|row| keys[*row as usize] == key).collect() };
    let check = |duplicates: &Duplicates, links: Vec<u32>| {
        assert_eq!(duplicates.positions(&links[0]), of_key(42));
        assert_eq!(duplicates.positions(&links[1]), [7]);
        assert_eq!(links[2], NONE);
        assert_eq!(joined(Isa::best(), duplicates, &[&links], 1000).len(), ROWS as usize);
        assert!(duplicates.bytes() < 5 * ROWS as usize);
    };
    let probes = [42, 43, 44];
    let mut links = Vec::new();
    let table = HashTable::build(Isa::best(), HashFunction::Multiply, 0.5, &keys, &positions, Vec::new());
    table.locate(Isa::best(), Probing::Match, &probes, &mut links);
    check(table.duplicates(), std::mem::take(&mut links));
    let table = RofTable::build(2, &keys, &positions);
    table.locate(Isa::best(), Probing::Group(16), &probes, &mut links);
    check(table.duplicates(), std::mem::take(&mut links));
    let table = DenseTable::build(40, 5, &keys, &positions, Vec::new());
    table.locate(Isa::best(), &probes, &mut links);
    check(table.duplicates(), links);
}

/// Keys as queries have them, which a function must spread over the slots.
fn patterns() -> Vec<(String, Vec<u64>)> {
    let of = |key: &dyn Fn(u64) -> u64| (0..1 << 15).map(key).collect::<Vec<u64>>();
    // 832,040 is a Fibonacci number, at multiples of which a product by the golden ratio alone changes next to nothing.
    let distances = [1, 8, 144, 1000, 3600, 1 << 16, 832_040, 86_400_000_000, 1 << 40];
    let mut all: Vec<(String, Vec<u64>)> =
        distances.iter().map(|by| (format!("multiples of {by}"), of(&|row| row * by))).collect();
    for (bits, values) in [(8, 7), (16, 1000), (20, 365), (32, 12), (32, 1000)] {
        let of_two = of(&|row| ((row / values) << bits) | (row % values));
        all.push((format!("two columns, the second of {values} values in {bits} bits"), of_two));
    }
    all.push(("TPC-H's order keys".into(), of(&|row| row / 8 * 32 + row % 8)));
    all.push(("far from 0".into(), of(&|row| row + 123_456_789_012)));
    all.push(("floats".into(), of(&|row| (row as f64).to_bits())));
    all.push(("hundredths".into(), of(&|row| (row as f64 * 0.01).to_bits())));
    all
}

/// The mean number of slots that a key takes to be put into a table half full, by the upper bits of hashes.
fn probe_length<K: Key>(hashes: &[K]) -> f64 {
    let mut taken = vec![false; 2 * hashes.len()];
    let shift = K::BITS - taken.len().ilog2();
    let mut steps = 0;
    for hash in hashes {
        let mut at = (hash.to_u64() >> shift) as usize;
        steps += 1;
        while std::mem::replace(&mut taken[at], true) {
            at = (at + 1) % taken.len();
            steps += 1;
        }
    }
    steps as f64 / hashes.len() as f64
}

fn spread<K: Key>(pattern: &str, keys: &[u64]) {
    let keys: Vec<K> = keys.iter().map(|key| K::truncate(*key)).collect();
    // CRC32 is linear: a function of HyPer's, which some patterns defeat.
    for function in [HashFunction::Murmur3, HashFunction::Multiply] {
        let mut hashes = Vec::new();
        hash(Isa::best(), function, &keys, &mut hashes);
        let length = probe_length(&hashes);
        // Chance alone gives 1.5; what fails takes hundreds.
        assert!(length < 2.5, "{pattern}, {} bits, {function:?}: {length}", K::BITS);
    }
}

#[test]
fn functions_spread_the_keys_of_queries() {
    for (pattern, keys) in patterns() {
        spread::<u64>(&pattern, &keys);
        if keys.iter().all(|key| *key <= u32::MAX.into()) {
            spread::<u32>(&pattern, &keys);
        }
    }
}

fn hashes_agree<K: Key>() {
    let mut numbers = Numbers(5);
    for length in (0..70).chain([1023, 1025]) {
        let keys: Vec<K> = (0..length).map(|_| K::truncate(numbers.next())).collect();
        for function in HashFunction::ALL {
            let mut expected = vec![K::MAX];
            hash(Isa::Scalar, function, &keys, &mut expected);
            for isa in Isa::available() {
                let mut found = vec![K::MAX];
                hash(isa, function, &keys, &mut found);
                assert!(found == expected, "{length} keys of {} bits, {function:?}, {isa:?}", K::BITS);
            }
        }
    }
}

#[test]
fn hashes_are_the_same_under_every_instruction_set() {
    hashes_agree::<u32>();
    hashes_agree::<u64>();
}

fn filters<K: Key>() {
    each_case::<K>(6, |case| {
        for function in HashFunction::ALL {
            let filter = Filter::build(Isa::best(), function, case.expected.len(), &case.keys, vec![u64::MAX; 9]);
            let mut expected = vec![7];
            filter.select(Isa::Scalar, &case.probes, &mut expected);
            assert!(expected[0] == 7 && expected[1..].is_sorted(), "{}", case.what);
            for (row, key) in case.probes.iter().enumerate() {
                let passed = expected[1..].binary_search(&(row as u32)).is_ok();
                assert!(passed || case.positions_of(*key).is_empty(), "{}: key {key:?} is kept out", case.what);
            }
            for isa in Isa::available() {
                let mut passed = vec![7];
                filter.select(isa, &case.probes, &mut passed);
                assert!(passed == expected, "{}, {function:?}, {isa:?}", case.what);
            }
        }
    });
}

#[test]
fn filters_let_all_keys_of_the_table_pass() {
    filters::<u32>();
    filters::<u64>();
}

fn passing<K: Key>(keys: usize) {
    let mut numbers = Numbers(7);
    let mut some = |odd: u64| -> Vec<K> { (0..keys).map(|_| K::truncate(numbers.next() << 1 | odd)).collect() };
    let (keys, others) = (some(0), some(1));
    for function in HashFunction::ALL {
        let filter = Filter::build(Isa::best(), function, keys.len(), &keys, Vec::new());
        let mut passed = Vec::new();
        filter.select(Isa::best(), &others, &mut passed);
        let share = passed.len() as f64 / others.len() as f64;
        assert!(share < 0.05, "{share} of other keys pass for {} of {} bits, {function:?}", keys.len(), K::BITS);
    }
}

#[test]
fn filters_keep_other_keys_out() {
    // Eight bits for each key, and fifteen.
    for keys in [1 << 10, 1 << 17, (1 << 16) + 4000] {
        passing::<u32>(keys);
        passing::<u64>(keys);
    }
}

/// A hash from the steps of its function.
fn mixed<K: Key>(mixes: &[Mix], key: K) -> K {
    let fold = |value: u64, mix: &Mix| match mix {
        Mix::Times(factor) => K::truncate(value.wrapping_mul(*factor)).to_u64(),
        Mix::Fold(bits) => value ^ value >> bits,
    };
    K::truncate(mixes.iter().fold(key.to_u64(), fold))
}

/// What code made elsewhere is told of functions and tables: it must find what the table's own probes find.
fn parts_tell_all<K: Key>() {
    each_case::<K>(5, |case| {
        for function in HashFunction::ALL {
            let Some(mixes) = function.mixes::<K>() else { continue };
            let mut hashes = Vec::new();
            hash(Isa::best(), function, &case.probes, &mut hashes);
            let own: Vec<K> = case.probes.iter().map(|key| mixed(&mixes, *key)).collect();
            assert_eq!(own, hashes, "{function:?}");
            let table = HashTable::build(Isa::best(), function, 0.5, &case.keys, &case.positions, Vec::new());
            let (entries, lists) = (table.entries(), table.duplicates().words());
            for (key, hash) in case.probes.iter().zip(hashes) {
                let mut slot = (hash.to_u64() >> table.shift()) as usize;
                let link = loop {
                    let entry = &entries[slot & (entries.len() - 1)];
                    if entry.key() == *key || entry.link() == NONE {
                        break entry.link();
                    }
                    slot += 1;
                };
                let found: &[u32] = match link {
                    NONE => &[],
                    list if list & LIST != 0 => {
                        let list = &lists[(list & !LIST) as usize..];
                        &list[1..][..list[0] as usize]
                    }
                    _ => std::slice::from_ref(&link),
                };
                assert_eq!(found, case.positions_of(*key), "{}, {function:?}", case.what);
                assert!(found.len() <= table.duplicates().longest());
            }
        }
    });
}

#[test]
fn parts_of_tables_of_32_bits() {
    parts_tell_all::<u32>();
}

#[test]
fn parts_of_tables_of_64_bits() {
    parts_tell_all::<u64>();
}
