//! Reads ahead bring the bytes of the file, in whatever order morsels are worked on, by a ring and by threads, with little memory
//! and with much.

use super::*;
use crate::io::direct::refuse_direct;
use crate::io::reads::refuse_ring;
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tests that refuse something take turns.
static REFUSING: Mutex<()> = Mutex::new(());

fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

/// A file of so many bytes.
fn file(bytes: usize) -> (tempfile::NamedTempFile, Vec<u8>) {
    let content: Vec<u8> = noise(bytes as u64).map(|word| word as u8).take(bytes).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &content).unwrap();
    (file, content)
}

fn open(file: &tempfile::NamedTempFile) -> AheadFile {
    let direct = DirectFile::reopen(&File::open(file.path()).unwrap()).unwrap();
    AheadFile { file: Arc::new(direct), place: file.path().display().to_string() }
}

/// Morsels of spans of two files: runs of one file side by side, with gaps and overlaps.
fn spans(morsels: usize, bytes: usize, seed: u64) -> Vec<Vec<FileSpan>> {
    let mut random = noise(seed);
    let mut next = move |below: usize| (random.next().unwrap() >> 7) as usize % below;
    (0..morsels)
        .map(|morsel| {
            let columns = (0..1 + next(4)).map(|column| {
                let share = bytes / morsels;
                let offset = (morsel * share + next(share)).min(bytes - 1);
                let length = (1 + next(3 * share)).min(bytes - offset);
                FileSpan { file: column % 2, offset: offset as u64, length }
            });
            columns.collect()
        })
        .collect()
}

fn verify(ahead: &Arc<ReadAhead>, spans: &[Vec<FileSpan>], morsel: usize, contents: [&[u8]; 2]) {
    let reads = ahead.begin(morsel);
    for span in &spans[morsel] {
        let bytes = reads.bytes(*span).unwrap().expect("planned");
        let expected = &contents[span.file][span.offset as usize..][..span.length];
        assert!(bytes.as_slice() == expected, "morsel {morsel}, {span:?}");
    }
}

fn read_all(options: ReadOptions, limit: usize, threads: usize, seed: u64) -> (ReadTimes, Arc<MemoryBudget>) {
    let ((one, first), (other, second)) = (file(1_000_003), file(777_777));
    let bytes = first.len().min(second.len());
    let spans = spans(40, bytes, seed);
    let budget = MemoryBudget::new(limit);
    let ahead = Arc::new(ReadAhead::new(vec![open(&one), open(&other)], &spans, options, Arc::clone(&budget)));
    // Unlinked, as by an OPTIMIZE while readers go on.
    drop((one, other));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let morsel = next.fetch_add(1, Ordering::Relaxed);
                    if morsel >= spans.len() {
                        break;
                    }
                    // Some out of turn, some twice.
                    let morsel = if seed.is_multiple_of(2) { morsel } else { morsel * 17 % spans.len() };
                    verify(&ahead, &spans, morsel, [&first, &second]);
                    if morsel.is_multiple_of(7) {
                        verify(&ahead, &spans, morsel, [&first, &second]);
                    }
                }
            });
        }
    });
    let times = ahead.times();
    drop(ahead);
    assert_eq!(budget.reserved(), 0, "all memory is given back");
    (times, budget)
}

#[test]
fn every_span_is_what_the_file_has() {
    let _turn = REFUSING.lock().unwrap_or_else(PoisonError::into_inner);
    for (ring, direct) in [(true, true), (false, true), (true, false), (false, false)] {
        refuse_ring(!ring);
        refuse_direct(!direct);
        for seed in 1..5 {
            for (unit, depth) in [(4096, 48), (1, 1), (128 << 10, 48), (10_000, 3)] {
                for (limit, threads) in [(1 << 30, 1), (1 << 30, 3), (0, 2)] {
                    let (times, _) = read_all(ReadOptions { unit, depth }, limit, threads, seed);
                    assert!(times.bytes > 0 && times.reads > 0);
                    assert_eq!(times.way.contains("cached"), !direct);
                    assert!(ring || times.way.starts_with("threads"), "{}", times.way);
                }
            }
        }
    }
    refuse_ring(false);
    refuse_direct(false);
}

#[test]
fn shared_units_are_read_once() {
    let (file, content) = file(1 << 20);
    // Morsels of 5,000 bytes, in units of 64 KiB.
    let spans: Vec<Vec<FileSpan>> = (0..content.len() / 5000)
        .map(|morsel| vec![FileSpan { file: 0, offset: morsel as u64 * 5000, length: 5000 }])
        .collect();
    let budget = MemoryBudget::new(1 << 30);
    let options = ReadOptions { unit: 1 << 16, depth: 4 };
    let ahead = Arc::new(ReadAhead::new(vec![open(&file)], &spans, options, budget));
    for morsel in 0..spans.len() {
        verify(&ahead, &spans, morsel, [&content, &content]);
    }
    let times = ahead.times();
    assert_eq!((times.reads, times.bytes), (16, 1 << 20));
}

#[test]
fn little_memory_reads_less_ahead() {
    let (file, content) = file(1 << 20);
    let spans: Vec<Vec<FileSpan>> =
        (0..64).map(|morsel| vec![FileSpan { file: 0, offset: morsel << 14, length: 1 << 14 }]).collect();
    let options = ReadOptions { unit: 1 << 14, depth: 48 };
    for (limit, most) in [(1 << 30, 49), (5 * 20_480, 6), (0, 1)] {
        let budget = MemoryBudget::new(limit);
        let ahead = Arc::new(ReadAhead::new(vec![open(&file)], &spans, options, Arc::clone(&budget)));
        for morsel in 0..spans.len() {
            verify(&ahead, &spans, morsel, [&content, &content]);
            assert!(budget.reserved() <= most * (20_480), "{} under {limit}", budget.reserved());
        }
    }
}

#[test]
fn morsels_that_nobody_works_on_hold_nothing_up() {
    let (file, content) = file(1 << 20);
    let spans: Vec<Vec<FileSpan>> =
        (0..64).map(|morsel| vec![FileSpan { file: 0, offset: morsel << 14, length: 1 << 14 }]).collect();
    let options = ReadOptions { unit: 1 << 14, depth: 3 };
    let ahead = Arc::new(ReadAhead::new(vec![open(&file)], &spans, options, MemoryBudget::new(1 << 30)));
    // Most are ruled out when their turn comes.
    for morsel in 0..spans.len() {
        if morsel % 16 == 5 {
            verify(&ahead, &spans, morsel, [&content, &content]);
        } else {
            drop(ahead.begin(morsel));
        }
    }
    // Three ahead, and those of a morsel that was dropped while they were read.
    assert!(ahead.lock().ahead <= 4);
    // What nobody planned is not read.
    let reads = ahead.begin(0);
    for span in [(1, 0, 10), (0, 1 << 15, 10), (0, 5, 1 << 20), (0, 5, 0), (0, u64::MAX, 5)] {
        let (file, offset, length) = span;
        assert!(reads.bytes(FileSpan { file, offset, length }).unwrap().is_none());
    }
}

#[test]
fn a_file_that_was_cut_is_an_error_that_names_it() {
    let _turn = REFUSING.lock().unwrap_or_else(PoisonError::into_inner);
    for ring in [true, false] {
        refuse_ring(!ring);
        let (file, content) = file(1 << 20);
        let spans: Vec<Vec<FileSpan>> =
            (0..16).map(|morsel| vec![FileSpan { file: 0, offset: morsel << 16, length: 1 << 16 }]).collect();
        let options = ReadOptions { unit: 1 << 16, depth: 2 };
        let ahead = Arc::new(ReadAhead::new(vec![open(&file)], &spans, options, MemoryBudget::new(1 << 30)));
        verify(&ahead, &spans, 0, [&content, &content]);
        file.as_file().set_len(700_000).unwrap();
        let mut failed = 0;
        for morsel in 1..16 {
            match ahead.begin(morsel).bytes(spans[morsel][0]) {
                Ok(bytes) => assert!(bytes.unwrap().as_slice() == &content[morsel << 16..][..1 << 16]),
                Err(error) => {
                    let text = error.to_string();
                    let name = file.path().display().to_string();
                    assert!(text.contains(&name) && text.contains("cut off: no 65536 bytes at"), "{text}");
                    failed += 1;
                }
            }
        }
        assert_eq!(failed, 6);
    }
    refuse_ring(false);
}

#[test]
fn dropping_waits_for_what_is_under_way() {
    for _ in 0..20 {
        let (file, _) = file(4 << 20);
        let spans: Vec<Vec<FileSpan>> =
            (0..64).map(|morsel| vec![FileSpan { file: 0, offset: morsel << 16, length: 1 << 16 }]).collect();
        let budget = MemoryBudget::new(1 << 30);
        let options = ReadOptions { unit: 1 << 16, depth: 48 };
        let ahead = Arc::new(ReadAhead::new(vec![open(&file)], &spans, options, Arc::clone(&budget)));
        drop(ahead.begin(0));
        assert!(budget.reserved() > 0);
        drop(ahead);
        assert_eq!(budget.reserved(), 0);
    }
}

#[test]
fn what_the_system_refuses_is_an_error_that_names_file_and_byte() {
    let _turn = REFUSING.lock().unwrap_or_else(PoisonError::into_inner);
    for ring in [true, false] {
        refuse_ring(!ring);
        // A folder can be opened like a file, and not read.
        let folder = tempfile::tempdir().unwrap();
        let direct = DirectFile::reopen(&File::open(folder.path()).unwrap()).unwrap();
        let place = folder.path().display().to_string();
        let files = vec![AheadFile { file: Arc::new(direct), place: place.clone() }];
        let spans: Vec<Vec<FileSpan>> =
            (0..4).map(|morsel| vec![FileSpan { file: 0, offset: morsel << 12, length: 1 << 12 }]).collect();
        let options = ReadOptions { unit: 1 << 12, depth: 2 };
        let ahead = Arc::new(ReadAhead::new(files, &spans, options, MemoryBudget::new(1 << 30)));
        for (morsel, spans) in spans.iter().enumerate() {
            for _ in 0..2 {
                let text = ahead.begin(morsel).bytes(spans[0]).unwrap_err().to_string();
                let byte = format!("(at byte {})", morsel << 12);
                assert!(text.contains(&place) && text.contains(&byte), "{text}");
            }
        }
    }
    refuse_ring(false);
}
