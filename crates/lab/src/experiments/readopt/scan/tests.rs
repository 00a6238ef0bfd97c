//! Tests of what the experiments' own oracles don't show: that these notice what they should, and that a slow disk is as slow as it says.

use super::buffer::{Dropped, Parent, TupleBuffer, tuple_sum_at};
use super::join::{Buckets, Joined, OuterProbe};
use super::paced::{PacedStream, SlowDisk};
use crate::experiment::{Bench, Mode, Settings};
use crate::experiments::readopt::stored::{Stored, StoredTable};
use crate::experiments::readopt::tables::{PaperTable, TableValues};
use std::time::Instant;

fn buffer(tuples: &[[u32; 2]]) -> TupleBuffer {
    let mut buffer = TupleBuffer::new(2);
    for tuple in tuples {
        let at = buffer.positions.len() * 2;
        buffer.words[at..at + 2].copy_from_slice(tuple);
        buffer.positions.push(0);
    }
    buffer
}

#[test]
fn sums_tell_order_columns_and_values() {
    let sum = |tuples: &[[u32; 2]]| {
        let mut dropped = Dropped::default();
        dropped.take(&buffer(tuples));
        dropped
    };
    let whole = sum(&[[1, 2], [3, 4], [5, 6]]);
    for other in
        [[[3, 4], [1, 2], [5, 6]], [[2, 1], [3, 4], [5, 6]], [[1, 2], [3, 4], [5, 7]], [[1, 2], [3, 6], [5, 4]]]
    {
        assert_ne!(sum(&other), whole, "{other:?}");
    }
    // Wherever buffers end.
    let mut parts = Dropped::default();
    parts.take(&buffer(&[[1, 2]]));
    parts.take(&buffer(&[[3, 4], [5, 6]]));
    assert_eq!(parts, whole);
    assert_eq!(tuple_sum_at(&[7], 0).wrapping_add(tuple_sum_at(&[9], 1)), tuple_sum_at(&[7, 9], 0));
}

#[test]
fn joins_pair_equal_keys() {
    let (inner, outer) = ([[10, 1], [11, 2], [12, 1]], [[1, 20], [3, 21], [1, 22], [2, 23]]);
    for inner_first in [true, false] {
        let mut buckets = Buckets::new(1, 2, 1);
        buckets.take(&buffer(&inner));
        let mut probe = OuterProbe::new(&buckets, 0, 2, inner_first);
        probe.take(&buffer(&outer));
        let mut expected = Joined::default();
        for [left, key] in inner {
            for right in outer.iter().filter(|outer| outer[0] == key).map(|outer| outer[1]) {
                let tuple = if inner_first { [left, right] } else { [right, left] };
                expected.count += 1;
                expected.sum = expected.sum.wrapping_add(tuple_sum_at(&tuple, 0));
            }
        }
        assert_eq!(expected.count, 5);
        assert_eq!(probe.finish(), expected);
    }
}

#[test]
fn records_are_sorted_by_all_columns() {
    for table in [PaperTable::NarrowE, PaperTable::NarrowS, PaperTable::WideE, PaperTable::Strings] {
        let values = TableValues::new(table, 5000, 3);
        let record = |record: usize| -> Vec<Vec<u8>> {
            let bytes = |column| {
                let words: &[u32] = values.value(column, record);
                let ordered = |word: &u32| if words.len() > 1 { word.to_le_bytes() } else { word.to_be_bytes() };
                words.iter().flat_map(ordered).collect()
            };
            (0..table.columns()).map(bytes).collect()
        };
        assert!((1..5000).all(|later| record(later - 1) <= record(later)), "{}", table.name());
        if table.words() == 1 {
            for (column, values) in values.columns.iter().enumerate() {
                let largest = table.largest(column, 5000);
                assert!(values.iter().all(|value| (1..=largest).contains(value)), "{} {column}", table.name());
            }
        }
    }
    // The ranges that the paper prints, of which it has rounded the ninth up and the others down.
    let printed = [6, 42, 274, 1782, 11_585, 75_281, 489_178, 3_178_688, 20_655_175, 134_217_728];
    assert!((0..10).map(|column| PaperTable::NarrowE.largest(column, 1)).eq(printed));
    assert_eq!(PaperTable::Joined.largest(8, 60_000_000), 20_655_176);
    assert_eq!(PaperTable::WideE.largest(49, 1), 134_217_728);
}

#[test]
fn a_slow_disk_takes_its_time() {
    let bench = Bench::new(Settings::of(Mode::Tiny));
    let table = StoredTable::new(&bench, PaperTable::NarrowU, &[Stored::Rows, Stored::Columns]).unwrap();
    let rows = table.files(Stored::Rows).unwrap();
    let read = |rate: Option<f64>| {
        let disk = rate.map(SlowDisk::new);
        let start = Instant::now();
        let mut stream = PacedStream::start(&rows[0].pages, disk.as_ref()).unwrap();
        while stream.next_page().unwrap().is_some() {}
        (stream.bytes(), start.elapsed())
    };
    let (bytes, _) = read(None);
    assert_eq!(bytes, rows[0].pages.bytes());
    let rate = bytes as f64 / 0.05;
    let (_, elapsed) = read(Some(rate));
    // It can't be faster than its disk; how much slower it is depends on the machine.
    assert!(elapsed.as_secs_f64() >= 0.05, "{elapsed:?}");
    // Files share the disk.
    let columns = table.files(Stored::Columns).unwrap();
    let all: u64 = columns.iter().map(|file| file.pages.bytes()).sum();
    let disk = SlowDisk::new(all as f64 / 0.05);
    let start = Instant::now();
    let mut streams: Vec<_> =
        columns.iter().map(|file| PacedStream::start(&file.pages, Some(&disk)).unwrap()).collect();
    for stream in &mut streams {
        while stream.next_page().unwrap().is_some() {}
    }
    assert!(start.elapsed().as_secs_f64() >= 0.05);
}
