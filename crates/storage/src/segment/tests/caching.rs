//! The cache under a budget: what fits stays, what does not is read past it, and many threads agree.

use super::*;
use crate::segment::region::PADDING;

struct Sample {
    _folder: tempfile::TempDir,
    definition: TableDefinition,
    columns: Vec<Vec<Datum>>,
    budget: Arc<MemoryBudget>,
    segment: Arc<Segment>,
}

/// Four columns of ten zones under a budget of `limit` bytes.
fn sample(limit: usize) -> Sample {
    let definition = table(&[
        LogicalType::Int(32),
        LogicalType::Varchar(None),
        LogicalType::Float64,
        LogicalType::Decimal { precision: 38, scale: 0 },
    ]);
    let rows = 1000;
    let columns = vec![
        integers((0..rows).map(|row| row * 3)),
        texts((0..rows).map(|row| format!("record {row}"))),
        floats((0..rows).map(|row| row as f64 / 8.0)),
        integers((0..rows).map(|row| (row - 500) * 10i128.pow(35))),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    let written = write_file(&path, 1, &definition, batches(&definition, &columns, 333), false, 100).unwrap();
    let budget = MemoryBudget::new(limit);
    let segment = Arc::new(open(&path, &written, BlockCache::new(Arc::clone(&budget))).unwrap());
    Sample { _folder: folder, definition, columns, budget, segment }
}

#[test]
fn columns_are_cached_and_freed_with_their_segment() {
    let sample = sample(1 << 20);
    let column = &sample.definition.columns[0];
    assert_eq!(sample.budget.cached(), 0);
    let first = sample.segment.view(column, 3).unwrap();
    let held = sample.budget.cached();
    assert!((2000..2000 + 2 * PADDING).contains(&held), "{held}");
    let again = sample.segment.with_dictionaries(BTreeMap::new()).view(column, 3).unwrap();
    let (PhysicalLayout::Contiguous { codes: a, .. }, PhysicalLayout::Contiguous { codes: b, .. }) =
        (&first.shape, &again.shape)
    else {
        panic!("{first:?}");
    };
    assert_eq!(a.as_ptr(), b.as_ptr());
    let Sample { segment, budget, .. } = sample;
    drop(segment);
    assert_eq!(budget.cached(), held, "the views still hold the column");
    drop((first, again));
    assert_eq!(budget.cached(), 0);
}

#[test]
fn queries_take_memory_from_the_cache() {
    let sample = sample(20_000);
    read(&sample.definition, &sample.segment).unwrap();
    assert!(sample.budget.cached() > 0);
    assert!(sample.budget.try_reserve(20_000), "nothing is being read, so the cache can give all");
    assert_eq!(sample.budget.cached(), 0);
    let view = sample.segment.view(&sample.definition.columns[0], 0).unwrap();
    assert_eq!(sample.budget.cached(), 0, "no room: the zone is read for the caller alone");
    assert_eq!(values(&view), sample.columns[0][..100]);
    sample.budget.release(20_000);
    let view = sample.segment.view(&sample.definition.columns[0], 0).unwrap();
    assert!(sample.budget.cached() > 0);
    assert!(!sample.budget.try_reserve(20_000), "what is being read can't be given");
    drop(view);
    sample.budget.set_limit(10);
    assert_eq!(sample.budget.cached(), 0);
    assert_eq!(read(&sample.definition, &sample.segment).unwrap(), sample.columns);
}

#[test]
fn threads_agree_under_any_budget() {
    for limit in [0, 3000, 9000, 1 << 20] {
        let sample = sample(limit);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let sample = &sample;
                scope.spawn(move || {
                    for step in 0..200 {
                        let (place, zone) = ((step + thread) % 4, (step * 7 + thread) % 10);
                        let column = &sample.definition.columns[place];
                        let view = sample.segment.view(column, zone).unwrap();
                        assert_eq!(values(&view), sample.columns[place][zone * 100..zone * 100 + 100]);
                        if step % 10 == 0 && sample.budget.try_reserve(limit / 2) {
                            sample.budget.release(limit / 2);
                        }
                        assert!(sample.budget.cached() <= limit);
                    }
                });
            }
        });
        drop(sample.segment);
        assert_eq!(sample.budget.cached(), 0);
    }
}
