//! Times scans and lookups of every packing on this machine: `cargo run --release -p gingham-kernels --example packings`.
//!
//! Codes are spread evenly over their domain and constants pick a tenth of them. "In cache" is 65,536 codes, a zone;
//! "in memory" 64 million. Each figure is the shortest of several runs, in nanoseconds per code (or per TID); the answer
//! of every scan and lookup is held against the codes first. Give `cache`, `memory`, `lookup` or `speed` for a part of it,
//! names of packings to leave out the others, and numbers for other widths (up to 32) than 8, 12, 16, 24 and 32. `speed` is
//! what turns bits into TIDs and looks ByteSlice codes up at ascending TIDs, beside reading and writing memory.

use gingham_kernels::packing::{self, Combine, Format, Operator, Options, Packed, Packing, Test};
use gingham_kernels::{Isa, bits};
use std::hint::black_box;
use std::time::{Duration, Instant};

const ZONE: usize = 1 << 16;
const MEMORY: usize = 1 << 26;

fn number(seed: u64) -> u64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Nanoseconds of the shortest of as many runs as fit a quarter of a second, at least five, per one of `count`.
fn time(count: usize, mut run: impl FnMut()) -> f64 {
    let (mut best, started, mut runs) = (Duration::MAX, Instant::now(), 0);
    while runs < 5 || started.elapsed() < Duration::from_millis(250) {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
        runs += 1;
    }
    best.as_nanos() as f64 / count as f64
}

struct Column {
    format: Format,
    codes: Vec<u32>,
    bytes: Vec<u8>,
}

impl Column {
    fn new(packing: Packing, width: u8, rows: usize) -> Self {
        let format = Format::new(packing, width).expect("a width of a code");
        let codes: Vec<u32> = (0..rows as u64).map(|row| (number(row) & format.max_code()) as u32).collect();
        let mut bytes = huge(format.bytes(rows));
        packing::pack(Isa::best(), format, &codes, &mut bytes);
        Self { format, codes, bytes }
    }

    fn packed(&self) -> Packed<'_> {
        Packed::new(self.format, self.codes.len(), &self.bytes).expect("as many bytes as the format asks for")
    }
}

/// An empty vector with room for `bytes`, in huge pages where the system gives them.
fn huge<T>(bytes: usize) -> Vec<T> {
    let vector = Vec::<T>::with_capacity(bytes.next_multiple_of(1 << 21));
    #[cfg(target_os = "linux")]
    {
        let start = vector.as_ptr().cast::<u8>().align_offset(1 << 21);
        let address = vector.as_ptr().cast::<u8>().wrapping_add(start);
        // SAFETY: advice on memory of ours, which changes nothing of what it holds.
        unsafe { libc::madvise(address.cast_mut().cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    vector
}

fn scans(packings: &[Packing], widths: &[u8], rows: usize) {
    println!("\nscan, {rows} codes, ns per code");
    println!(
        "{:<12} {:>5} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9}",
        "packing", "width", "isa", "<", "<, all", "=", "between", "AND 1 %"
    );
    for &packing in packings {
        for &width in widths {
            let column = Column::new(packing, width, rows);
            let max = column.format.max_code();
            let tests = [
                (Test::Compare(Operator::Less, max / 10 + 1), Options::default()),
                (Test::Compare(Operator::Less, max / 10 + 1), Options { early_stop: false, ..Options::default() }),
                (Test::Compare(Operator::Equal, max / 10), Options::default()),
                (Test::Between(max / 2, max / 2 + max / 10), Options::default()),
                (Test::Compare(Operator::Less, max / 10 + 1), Options::from(Combine::And)),
            ];
            let few: Vec<u64> = (0..rows.div_ceil(64) as u64)
                .map(|word| (0..64).fold(0, |bits, bit| bits | u64::from(number(word << 6 | bit) % 100 == 7) << bit))
                .collect();
            for isa in Isa::available().skip(1) {
                print!("{:<12} {width:>5} {:>8}", packing.name(), isa.name());
                for (test, options) in tests {
                    let mut out = few.clone();
                    packing::scan(isa, column.packed(), test, options, &mut out);
                    let right = |(row, code): (usize, &u32)| {
                        let previous = options.combine == Combine::Set || few[row / 64] >> (row % 64) & 1 == 1;
                        (test.holds(u64::from(*code)) && previous) == (out[row / 64] >> (row % 64) & 1 == 1)
                    };
                    assert!(column.codes.iter().enumerate().all(right), "a wrong answer");
                    let repeat = ((1 << 20) / rows).max(1);
                    let each = time(rows * repeat, || {
                        for _ in 0..repeat {
                            if options.combine != Combine::Set {
                                out.copy_from_slice(&few);
                            }
                            packing::scan(isa, black_box(column.packed()), test, options, &mut out);
                        }
                    });
                    print!(" {each:>8.4}");
                }
                println!();
            }
        }
    }
}

fn lookups(packings: &[Packing], widths: &[u8]) {
    println!("\nlookup of codes as 32 bits out of {MEMORY} codes, ns per TID (bits: per row)");
    println!(
        "{:<12} {:>5} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "packing", "width", "isa", "random", "sorted", "bits 1%", "bits 10%", "bits 50%", "unpack"
    );
    let random: Vec<u32> = (0..1 << 20).map(|i| (number(i) % MEMORY as u64) as u32).collect();
    let mut sorted = random.clone();
    sorted.sort_unstable();
    for &packing in packings {
        for &width in widths {
            let column = Column::new(packing, width, MEMORY);
            for isa in Isa::available() {
                print!("{:<12} {width:>5} {:>8}", packing.name(), isa.name());
                let mut out = huge::<u32>(MEMORY);
                for tids in [&random, &sorted] {
                    let each = time(tids.len(), || {
                        out.clear();
                        packing::lookup(isa, black_box(column.packed()), tids, &mut out);
                    });
                    assert!(out.iter().zip(tids).all(|(code, tid)| column.codes[*tid as usize] == *code));
                    print!(" {each:>8.3}");
                }
                for percent in [1, 10, 50] {
                    let words: Vec<u64> = (0..MEMORY as u64 / 64)
                        .map(|word| {
                            (0..64)
                                .fold(0, |bits, bit| bits | u64::from(number(word << 6 | bit) % 100 < percent) << bit)
                        })
                        .collect();
                    let each = time(MEMORY, || {
                        out.clear();
                        packing::lookup_bits(isa, black_box(column.packed()), &words, &mut out);
                    });
                    let mut tids = Vec::new();
                    bits::to_tids(isa, &words, 0, &mut tids);
                    assert!(
                        out.len() == tids.len()
                            && out.iter().zip(&tids).all(|(code, tid)| column.codes[*tid as usize] == *code)
                    );
                    print!(" {each:>8.3}");
                }
                let each = time(MEMORY, || {
                    out.clear();
                    packing::unpack(isa, black_box(column.packed()), 0..MEMORY, &mut out);
                });
                assert!(out == column.codes);
                println!(" {each:>8.3}");
            }
        }
    }
}

/// Reading memory as fast as one thread can, for comparison.
fn bandwidth() {
    let mut words = huge::<u64>(1 << 29);
    words.extend((0..1 << 26).map(number));
    let each = time(1 << 29, || {
        black_box(bits::count(Isa::best(), black_box(&words)));
    });
    println!("reading memory: {:.2} GB/s", 1.0 / each);
}

/// `MEMORY` bits, of which about so many in a thousand are set.
fn bits_of(permille: u64) -> Vec<u64> {
    let bit = |row: u64| u64::from(number(row) % 1000 < permille);
    (0..MEMORY as u64 / 64).map(|word| (0..64).fold(0, |bits, at| bits | bit(word << 6 | at) << at)).collect()
}

/// Bits to TIDs, and lookups at those TIDs, as bytes of memory that have to be read or written in a nanosecond: lines of
/// 64 bytes that are touched, and results.
fn speeds(widths: &[u8]) {
    bandwidth();
    let mut written = huge::<u32>(4 * MEMORY);
    written.resize(MEMORY, 0);
    let fill = time(4 * MEMORY, || black_box(&mut written).fill(black_box(7)));
    println!("writing memory: {:.2} GB/s", 1.0 / fill);
    println!("\nGB/s of what is read and written, {MEMORY} rows; TIDs to codes of each width");
    println!(
        "{:>8} {:>8} {:>8} {}",
        "set",
        "isa",
        "to TIDs",
        widths.iter().map(|k| format!("{k:>8}")).collect::<String>()
    );
    let columns: Vec<Column> = widths.iter().map(|width| Column::new(Packing::ByteSlice, *width, MEMORY)).collect();
    for permille in [1, 10, 100, 500] {
        let words = bits_of(permille);
        for isa in Isa::available().skip(1) {
            let mut tids = huge::<u32>(4 * MEMORY);
            let each = time(1, || {
                tids.clear();
                bits::to_tids(isa, black_box(&words), 0, &mut tids);
            });
            assert!(tids.len() == bits::count(isa, &words) && tids.is_sorted());
            let bytes = (MEMORY / 8 + 4 * tids.len()) as f64;
            print!("{:>8} {:>8} {:>8.2} ", format!("{} %", permille as f64 / 10.0), isa.name(), bytes / each);
            let lines = 1 + tids.windows(2).filter(|pair| pair[0] / 64 != pair[1] / 64).count();
            for column in &columns {
                let mut out = std::mem::take(&mut written);
                let each = time(1, || {
                    out.clear();
                    packing::lookup(isa, black_box(column.packed()), &tids, &mut out);
                });
                assert!(out.iter().zip(&tids).all(|(code, tid)| column.codes[*tid as usize] == *code));
                let slices = usize::from(column.format.width().div_ceil(8));
                // TIDs are read and codes written, four bytes each.
                print!("{:>8.2}", (lines * slices * 64 + 8 * tids.len()) as f64 / each);
                written = out;
            }
            println!();
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wants = |part: &str| {
        let parts = ["cache", "memory", "lookup", "speed"];
        arguments.iter().any(|argument| argument == part)
            || !arguments.iter().any(|argument| parts.contains(&argument.as_str()))
    };
    let named: Vec<Packing> = arguments.iter().filter_map(|argument| Packing::parse(argument)).collect();
    let packings = if named.is_empty() { Packing::ALL.to_vec() } else { named };
    let widths: Vec<u8> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let widths = if widths.is_empty() { vec![8, 12, 16, 24, 32] } else { widths };
    if wants("cache") {
        scans(&packings, &widths, ZONE);
    }
    if wants("memory") {
        bandwidth();
        scans(&packings, &widths, MEMORY);
    }
    if wants("lookup") {
        lookups(&packings, &widths);
    }
    if wants("speed") {
        speeds(&widths);
    }
}
