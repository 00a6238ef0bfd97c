//! Scans and lookups of packed columns for `benchmarks/byteslice/run.py`: a request per line on standard input, an
//! answer per line on standard output. `benchmarks/byteslice/reference.cpp` does the same with the ByteSlice authors'
//! code.
//!
//! ```text
//! column PACKING WIDTH ROWS SEGMENT_BITS   makes a column of the codes of `code_of`; answers its bytes
//! isa NAME                                 the instruction set from here on; answers "ok"
//! scan CONSTANT SECONDS                    code < CONSTANT, as often as fits the seconds; answers the codes that
//!                                          qualify and the seconds of one scan
//! lookup ORDER NUMBER                      looks that many codes up at TIDs in random or sorted order; answers their
//!                                          sum and the seconds
//! read BYTES SECONDS                       reads memory from end to end; answers a sum and the seconds of one reading
//! ```

#[path = "support/huge.rs"]
mod huge;

use gingham_kernels::packing::{self, Format, Operator, Options, Packed, Packing, Test};
use gingham_kernels::{Code, Isa, bits};
use huge::huge;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

/// What the first code's address is a multiple of, as in a segment's memory: a line of the cache and the widest vector.
const ALIGNMENT: usize = 64;

/// A packed column and the result words of its scans.
struct Column {
    format: Format,
    rows: usize,
    /// Padding, then the packed codes.
    buffer: Vec<u8>,
    padding: usize,
    out: Vec<u64>,
}

fn mixed(number: u64) -> u64 {
    let state = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

fn code_of(row: usize, width: u8) -> u64 {
    mixed(row as u64) >> (64 - width)
}

impl Column {
    fn new(format: Format, rows: usize) -> Self {
        let mut buffer = huge::<u8>(format.bytes(rows) + ALIGNMENT);
        let padding = buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        buffer.resize(padding, 0);
        let codes: Vec<u32> = (0..rows).map(|row| code_of(row, format.width()) as u32).collect();
        packing::pack(Isa::best(), format, &codes, &mut buffer);
        Self { format, rows, buffer, padding, out: vec![0; bits::words(rows)] }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.padding..]
    }

    fn packed(&self) -> Result<Packed<'_>, Box<dyn Error>> {
        Ok(Packed::new(self.format, self.rows, self.bytes())?)
    }

    fn scan(&mut self, isa: Isa, constant: u64, seconds: f64) -> Result<String, Box<dyn Error>> {
        let mut out = std::mem::take(&mut self.out);
        let test = Test::Compare(Operator::Less, constant);
        let packed = self.packed()?;
        let each = repeated(seconds, || packing::scan(isa, packed, test, Options::default(), black_box(&mut out)));
        let count = bits::count(isa, &out);
        self.out = out;
        Ok(format!("{count} {each:e}"))
    }

    fn lookup(&self, isa: Isa, order: &str, number: usize) -> Result<String, Box<dyn Error>> {
        let rows = self.rows as u64;
        let mut tids: Vec<u32> = (0..number as u64).map(|i| (mixed(i ^ 0x55_5555_5555) % rows) as u32).collect();
        if order == "sorted" {
            tids.sort_unstable();
        }
        match self.format.width() {
            0..=8 => self.looked_up::<u8>(isa, &tids),
            9..=16 => self.looked_up::<u16>(isa, &tids),
            _ => self.looked_up::<u32>(isa, &tids),
        }
    }

    fn looked_up<C: Code>(&self, isa: Isa, tids: &[u32]) -> Result<String, Box<dyn Error>> {
        let packed = self.packed()?;
        // Written once, so that no page of it is new to the system while the clock runs.
        let mut codes = vec![C::MAX; tids.len()];
        codes.clear();
        let start = Instant::now();
        packing::lookup(isa, packed, tids, black_box(&mut codes));
        let took = start.elapsed().as_secs_f64();
        let sum: u64 = codes.iter().map(|code| code.to_u64()).sum();
        Ok(format!("{sum} {took:e}"))
    }
}

/// Calls for each reading of the clock, after the first: a reading takes 45 ns on a virtual machine, a twentieth of the
/// shortest scans. `reference.cpp` does the same.
const CALLS: u32 = 16;

/// Seconds of one call, from as many as fit `seconds`, at least one.
fn repeated(seconds: f64, mut call: impl FnMut()) -> f64 {
    let (start, mut calls) = (Instant::now(), 0_u32);
    loop {
        call();
        calls += 1;
        if calls > 1 && !calls.is_multiple_of(CALLS) {
            continue;
        }
        let took = start.elapsed();
        if took >= Duration::from_secs_f64(seconds) {
            return took.as_secs_f64() / f64::from(calls);
        }
    }
}

/// The bandwidth that scans are held against: a loop that reads each word once and does nothing else with it than to
/// prove that. It asks for memory ahead, without which it reads a tenth less on some machines, or does not, with which it
/// reads a tenth less on others: the shorter time counts.
fn read(bytes: usize, seconds: f64) -> String {
    let mut words = huge::<u64>(bytes / 8);
    words.resize(bytes / 8, 1);
    let mut sum = 0;
    let mut each = [8192, 0].map(|ahead| {
        repeated(seconds, || {
            let mut sums = [0u64; 8];
            for line in black_box(&words).as_chunks::<8>().0 {
                ask(line, ahead);
                sums.iter_mut().zip(line).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
            }
            sum = sums.iter().sum();
        })
    });
    each.sort_by(f64::total_cmp);
    format!("{sum} {:e}", each[0])
}

/// Asks for the cache line that lies `ahead` bytes after this one.
fn ask(line: &[u64; 8], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch gives the program nothing to see and never faults, wherever it points.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast::<i8>().wrapping_add(ahead));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (line, ahead);
}

fn answer(isa: &mut Isa, column: &mut Option<Column>, line: &str) -> Result<String, Box<dyn Error>> {
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["column", packing, width, rows, segment_bits] => {
            *column = None;
            let packing = Packing::parse(packing).ok_or_else(|| format!("no packing '{packing}'"))?;
            let format = Format::new(packing, width.parse()?)?.with_segment_bits(segment_bits.parse()?)?;
            Ok(column.insert(Column::new(format, rows.parse()?)).bytes().len().to_string())
        }
        ["isa", name] => {
            *isa = Isa::available().find(|isa| isa.name() == name).ok_or("the machine has no such instruction set")?;
            Ok("ok".to_owned())
        }
        ["scan", constant, seconds] => {
            column.as_mut().ok_or("no column has been made")?.scan(*isa, constant.parse()?, seconds.parse()?)
        }
        ["lookup", order, number] => {
            column.as_ref().ok_or("no column has been made")?.lookup(*isa, order, number.parse()?)
        }
        ["read", bytes, seconds] => Ok(read(bytes.parse()?, seconds.parse()?)),
        _ => Err(format!("no such request: {line}").into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut isa, mut column) = (Isa::best(), None);
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&mut isa, &mut column, &line?)?;
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
