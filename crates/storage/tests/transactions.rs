//! Transactions of several statements and group commit, as the store offers them: what is seen, what is undone, who waits.

mod common;

use common::{batch, budget, create, definition, insert, keyed, name, open, open_read_only, plain_label, rows, table};
use gingham_storage::io::MemoryBudget;
use gingham_storage::model::{HeapLayout, HeapOptions};
use gingham_storage::store::{OpenTransaction, Store, WriteOptions};
use gingham_storage::write::Transaction;
use gingham_storage::{Datum, Error, Result, TableId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const LAYOUTS: [HeapLayout; 3] = [HeapLayout::Nsm, HeapLayout::Dsm, HeapLayout::Pax];

fn scratch() -> Arc<Store> {
    Store::scratch(budget()).unwrap()
}

fn small(layout: HeapLayout) -> HeapOptions {
    HeapOptions { page_bytes: 4080, ..HeapOptions::new(layout) }
}

fn record(id: i64, text: &str) -> Vec<Datum> {
    vec![Datum::Integer(id.into()), Datum::Bytes(text.as_bytes().into())]
}

fn ids(store: &Store) -> Vec<i64> {
    let mut ids: Vec<i64> =
        rows(&table(&store.snapshot().unwrap(), "t")).unwrap().into_iter().filter_map(|(id, _)| id).collect();
    ids.sort_unstable();
    ids
}

/// Adds records with these ids within a transaction.
fn add(store: &Arc<Store>, open: &OpenTransaction, ids: std::ops::Range<i64>) -> Result<()> {
    let known = table(&open.snapshot(), "t");
    let writer = store.table_writer(&known)?;
    writer.append(0, batch(&known.definition, ids, plain_label))?;
    let rows = writer.finish()?;
    open.write(move |transaction| transaction.append(known.definition.id, rows))
}

fn seen(open: &OpenTransaction) -> usize {
    table(&open.snapshot(), "t").rows() as usize
}

#[test]
fn an_open_transaction_sees_its_changes_and_nobody_else_does() {
    let store = scratch();
    create(&store, keyed("t")).unwrap();
    insert(&store, "t", 0..10).unwrap();
    let open = store.begin(&WriteOptions::default(), None).unwrap();
    add(&store, &open, 10..20).unwrap();
    assert!(matches!(add(&store, &open, 15..30), Err(Error::Constraint(_))), "it sees its own keys");
    open.savepoint().unwrap();
    add(&store, &open, 20..30).unwrap();
    open.savepoint().unwrap();
    // Many records: a segment file.
    add(&store, &open, 1000..300_000).unwrap();
    assert_eq!((seen(&open), ids(&store).len()), (299_030, 10));
    open.back_to(1).unwrap();
    assert_eq!(seen(&open), 30);
    add(&store, &open, 30..31).unwrap();
    open.back_to(0).unwrap();
    open.back_to(0).unwrap();
    assert!(open.back_to(1).is_err() && open.release(1).is_err());
    add(&store, &open, 40..50).unwrap();
    open.release(0).unwrap();
    open.commit().unwrap();
    assert!(matches!(open.commit(), Err(Error::RolledBack(_))));
    assert_eq!(ids(&store), (0..20).chain(40..50).collect::<Vec<_>>());
    assert_eq!(store.check().unwrap().errors.len(), 0);
    let files = walk(&store.path().join("segments"));
    assert_eq!(files, 0, "files of what was undone are removed");
}

/// Files below a folder.
fn walk(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.map(|entry| entry.unwrap().path()).map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[test]
fn dropped_or_rolled_back_nothing_is_left() {
    let store = scratch();
    create(&store, definition("t")).unwrap();
    for drops in [true, false] {
        let open = store.begin(&WriteOptions::default(), None).unwrap();
        add(&store, &open, 0..200_000).unwrap();
        open.savepoint().unwrap();
        open.write(|transaction| transaction.drop_table(&name("t"))).unwrap();
        open.write(|transaction| transaction.create_table(definition("u"))).unwrap();
        assert!(!open.snapshot().tables.contains_key(&name("t")));
        if drops {
            drop(open)
        } else {
            open.roll_back()
        }
        assert_eq!((ids(&store).len(), walk(&store.path().join("segments"))), (0, 0));
        assert!(!store.snapshot().unwrap().tables.contains_key(&name("u")));
    }
    // Numbers of tables, segments and commits are given again; nothing of what was undone is met.
    create(&store, definition("u")).unwrap();
    insert(&store, "t", 0..5).unwrap();
    assert_eq!(ids(&store), [0, 1, 2, 3, 4]);
}

/// Who knows a table or a state of one from behind a savepoint must not take another for it.
#[test]
fn numbers_behind_a_savepoint_are_not_given_again() {
    let store = scratch();
    create(&store, definition("t")).unwrap();
    let open = store.begin(&WriteOptions::default(), None).unwrap();
    let mut seen = std::collections::HashSet::new();
    for depth in 0..3 {
        open.savepoint().unwrap();
        for round in 0..3 {
            let made = open.write(|transaction| transaction.create_table(definition("u"))).unwrap();
            add(&store, &open, 0..5).unwrap();
            assert!(seen.insert(made), "table {made} again, depth {depth}, round {round}");
            assert!(seen.insert(u64::MAX - table(&open.snapshot(), "t").version), "depth {depth}, round {round}");
            open.back_to(depth).unwrap();
        }
        add(&store, &open, 10..11).unwrap();
        assert!(seen.insert(u64::MAX - table(&open.snapshot(), "t").version), "depth {depth}");
    }
    open.back_to(0).unwrap();
    add(&store, &open, 20..21).unwrap();
    assert!(seen.insert(u64::MAX - table(&open.snapshot(), "t").version));
    open.commit().unwrap();
    assert_eq!(ids(&store), [20]);
    assert!(store.check().unwrap().errors.is_empty());
}

#[test]
fn one_writes_and_others_wait() {
    let store = scratch();
    create(&store, definition("t")).unwrap();
    let began = store.snapshot().unwrap().commit;
    let open = store.begin(&WriteOptions::default(), Some(began)).unwrap();
    let short = WriteOptions { lock_timeout: Some(Duration::from_millis(5)), ..WriteOptions::default() };
    assert!(matches!(store.begin(&short, None), Err(Error::LockTimeout(_))));
    let refused = store.submit(&short, |transaction| transaction.create_schema("s"));
    assert!(matches!(refused, Err(Error::LockTimeout(_))));
    add(&store, &open, 0..1).unwrap();
    let waits = {
        let store = Arc::clone(&store);
        std::thread::spawn(move || store.submit(&WriteOptions::default(), |transaction| transaction.create_schema("s")))
    };
    open.commit().unwrap();
    waits.join().unwrap().unwrap();
    assert!(matches!(store.begin(&short, Some(began)), Err(Error::Conflict(_))));
    assert_eq!(store.snapshot().unwrap().schemas, ["public", "s"]);
}

/// What a heap table holds as the transaction sees it, by a scan and record by record.
fn pages(open: &OpenTransaction, ids: &BTreeMap<i64, u64>) -> Vec<(i64, String)> {
    let known = table(&open.snapshot(), "t");
    let mut found: Vec<(i64, String)> =
        rows(&known).unwrap().into_iter().map(|(id, text)| (id.unwrap(), text)).collect();
    found.sort_unstable();
    let reader = known.pages.as_ref().unwrap();
    for (id, text) in &found {
        assert_eq!(reader.get(ids[id]).unwrap(), Some(record(*id, text)), "{id}");
    }
    found
}

/// Random changes in an open transaction against a map, over savepoints; long values among them.
#[test]
fn changed_pages_are_read_before_they_are_committed() {
    for layout in LAYOUTS {
        let store = scratch();
        let id = store.write(|transaction| transaction.create_heap_table(definition("t"), small(layout))).unwrap();
        let mut random = 17u64;
        let mut below = move |end: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % end
        };
        let mut places = BTreeMap::new();
        let mut texts: BTreeMap<i64, String> = BTreeMap::new();
        let mut next = 0;
        for round in 0..4 {
            let open = store.begin(&WriteOptions::default(), None).unwrap();
            let before = (places.clone(), texts.clone());
            let mut kept = Vec::new();
            for step in 0..12 {
                match below(6) {
                    0 => {
                        open.savepoint().unwrap();
                        kept.push((places.clone(), texts.clone()));
                    }
                    1 if !kept.is_empty() => {
                        let to = below(kept.len() as u64) as usize;
                        open.back_to(to).unwrap();
                        (places, texts) = kept[to].clone();
                        kept.truncate(to + 1);
                    }
                    2 if round == 2 && step > 6 => {
                        open.write(move |transaction| transaction.truncate(id)).unwrap();
                        places.clear();
                        texts.clear();
                    }
                    _ => {
                        let gone: Vec<i64> = texts.keys().copied().filter(|_| below(7) == 0).collect();
                        let changed: Vec<i64> =
                            texts.keys().copied().filter(|id| !gone.contains(id) && below(5) == 0).collect();
                        let added: Vec<i64> = (next..next + 40).collect();
                        next += 40;
                        let mut text = |id: i64| format!("{id} {}", "x".repeat([3, 60, 900, 5000][below(4) as usize]));
                        let new: Vec<(i64, String)> = changed.iter().chain(&added).map(|id| (*id, text(*id))).collect();
                        let (ids, work) = (places.clone(), (gone.clone(), new.clone()));
                        let moved = open.write(move |transaction| change(transaction, id, &ids, &work)).unwrap();
                        for id in gone {
                            places.remove(&id);
                            texts.remove(&id);
                        }
                        places.extend(moved);
                        texts.extend(new);
                    }
                }
                let expected: Vec<(i64, String)> = texts.clone().into_iter().collect();
                assert_eq!(pages(&open, &places), expected, "{layout}, round {round}, step {step}");
            }
            if round == 1 {
                open.roll_back();
                (places, texts) = before;
            } else {
                open.commit().unwrap();
            }
            let pinned = table(&store.pinned().unwrap(), "t");
            let mut found: Vec<_> = rows(&pinned).unwrap().into_iter().map(|(id, text)| (id.unwrap(), text)).collect();
            found.sort_unstable();
            assert_eq!(found, texts.clone().into_iter().collect::<Vec<_>>(), "{layout}, after round {round}");
            assert!(store.check().unwrap().errors.is_empty());
        }
    }
}

/// Deletes, changes and adds records; gives where the latter two are.
fn change(
    transaction: &mut Transaction<'_>,
    table: TableId,
    places: &BTreeMap<i64, u64>,
    (gone, new): &(Vec<i64>, Vec<(i64, String)>),
) -> Result<BTreeMap<i64, u64>> {
    transaction.heap(table, |heap| {
        for id in gone {
            assert!(heap.delete(places[id])?);
        }
        let mut moved = BTreeMap::new();
        for (id, text) in new {
            let place = match places.get(id) {
                Some(place) => heap.update(*place, &[(2, Datum::Bytes(text.as_bytes().into()))])?.unwrap(),
                None => heap.insert(&record(*id, text))?,
            };
            moved.insert(*id, place);
        }
        Ok(moved)
    })
}

/// Jobs that came while somebody was writing share a commit. One that fails undoes itself alone.
#[test]
fn jobs_that_wait_are_done_together() {
    for layout in [None, Some(HeapLayout::Pax), Some(HeapLayout::Dsm)] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        let id = store
            .write(|transaction| match layout {
                None => transaction.create_table(keyed("t")),
                Some(layout) => transaction.create_heap_table(keyed("t"), small(layout)),
            })
            .unwrap();
        let blocker = store.begin(&WriteOptions::default(), None).unwrap();
        let results: Vec<Result<()>> = std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..24i64)
                .map(|number| {
                    let store = Arc::clone(&store);
                    scope.spawn(move || {
                        let now = store.snapshot()?;
                        let known = table(&now, "t");
                        let writer = store.table_writer(&known)?;
                        // Every sixth has the key of the one before.
                        let first = if number % 6 == 5 { number - 1 } else { number } * 10;
                        writer.append(0, batch(&known.definition, first..first + 10, plain_label))?;
                        let rows = writer.finish()?;
                        store.submit(&WriteOptions::default(), move |transaction| transaction.append(id, rows))
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(100));
            blocker.roll_back();
            jobs.into_iter().map(|job| job.join().unwrap()).collect()
        });
        let failed = results.iter().filter(|result| matches!(result, Err(Error::Constraint(_)))).count();
        assert_eq!((failed, results.iter().filter(|result| result.is_ok()).count()), (4, 20), "{results:?}");
        let known = table(&store.pinned().unwrap(), "t");
        assert_eq!(rows(&known).unwrap().len(), 200);
        assert!(store.check().unwrap().errors.is_empty());
        drop((known, store));
        assert_eq!(table(&open(folder.path()).unwrap().snapshot().unwrap(), "t").rows(), 200, "it is on disk");
    }
}

/// A load before others is not copied for them: they have another transaction.
#[test]
fn a_load_before_others_needs_no_copies() {
    // More pages than a group copies, and fewer for which there is no memory.
    for (records, bytes) in [(3000i64, 64 << 20), (600, 3 << 20)] {
        let store = Store::scratch(MemoryBudget::new(bytes)).unwrap();
        let create =
            |transaction: &mut Transaction<'_>| transaction.create_heap_table(definition("t"), small(HeapLayout::Nsm));
        let id = store.write(create).unwrap();
        let blocker = store.begin(&WriteOptions::default(), None).unwrap();
        std::thread::scope(|scope| {
            let load = scope.spawn(|| {
                store.submit(&WriteOptions::default(), move |transaction| {
                    transaction.heap(id, |heap| {
                        (0..records).try_for_each(|number| heap.insert(&record(number, &"x".repeat(3000))).map(drop))
                    })
                })
            });
            std::thread::sleep(Duration::from_millis(50));
            let others: Vec<_> = (0..3)
                .map(|number| {
                    let (store, name) = (&store, format!("s{number}"));
                    scope.spawn(move || {
                        store.submit(&WriteOptions::default(), move |transaction| {
                            let seen = transaction.base().tables.values().map(|table| table.rows()).sum::<u64>();
                            transaction.create_schema(&name).map(|()| seen)
                        })
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(50));
            blocker.roll_back();
            load.join().unwrap().unwrap();
            for other in others {
                assert_eq!(other.join().unwrap().unwrap(), records as u64, "they came after it");
            }
        });
        assert_eq!(store.snapshot().unwrap().schemas.len(), 4);
        assert!(store.check().unwrap().errors.is_empty());
    }
}

/// A job that panics is its own sender's misfortune.
#[test]
fn a_job_that_panics_harms_nobody() {
    let store = scratch();
    let blocker = store.begin(&WriteOptions::default(), None).unwrap();
    let (panicked, others) = std::thread::scope(|scope| {
        let panics = scope.spawn(|| {
            store.submit(&WriteOptions::default(), |transaction| -> Result<()> {
                transaction.create_schema("never")?;
                panic!("a fault")
            })
        });
        let jobs: Vec<_> = (0..4)
            .map(|number| {
                let (store, name) = (&store, format!("s{number}"));
                scope.spawn(move || {
                    store.submit(&WriteOptions::default(), move |transaction| transaction.create_schema(&name))
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(50));
        drop(blocker);
        let others: Vec<_> = jobs.into_iter().map(|job| job.join().unwrap()).collect();
        (panics.join().unwrap(), others)
    });
    assert!(matches!(panicked, Err(Error::Internal(text)) if text.starts_with("a fault (")));
    assert!(others.iter().all(Result::is_ok));
    let mut schemas = store.snapshot().unwrap().schemas.clone();
    schemas.sort_unstable();
    assert_eq!(schemas, ["public", "s0", "s1", "s2", "s3"]);
}

/// Relaxed commits are there when the database is opened again, and after a power loss all but the last: pages of the next one
/// may have been written, of the last one only the page that says where its tree begins is missing.
#[test]
fn relaxed_commits_are_whole_or_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (path, image) = (folder.path().join("db"), folder.path().join("image"));
    let store = open(&path).unwrap();
    create(&store, definition("t")).unwrap();
    let relaxed = WriteOptions { relaxed: true, ..WriteOptions::default() };
    let add = |first: u64| {
        let known = table(&store.snapshot().unwrap(), "t");
        let writer = store.table_writer(&known).unwrap();
        let ids = first as i64..first as i64 + 100;
        writer.append(0, batch(&known.definition, ids, plain_label)).unwrap();
        let rows = writer.finish().unwrap();
        let id = known.definition.id;
        store.submit(&relaxed, move |transaction| transaction.append(id, rows)).unwrap();
    };
    let data = path.join("catalog/data.mdb");
    let mut rows = 0;
    for round in 0..12 {
        if round % 5 == 4 {
            let id = table(&store.snapshot().unwrap(), "t").definition.id;
            store.submit(&relaxed, move |transaction| transaction.truncate(id)).unwrap();
            rows = 0;
        }
        add(rows);
        let before = std::fs::read(&data).unwrap();
        add(rows + 100);
        add(rows + 200);
        let mut after = std::fs::read(&data).unwrap();
        after[..8192].copy_from_slice(&before[..8192]);
        copy(&path, &image);
        std::fs::write(image.join("catalog/data.mdb"), &after).unwrap();
        assert_eq!(table(&open_read_only(&image).unwrap().snapshot().unwrap(), "t").rows(), rows + 100, "{round}");
        for _ in 0..2 {
            let lost = open(&image).unwrap();
            assert_eq!(table(&lost.snapshot().unwrap(), "t").rows(), rows + 100, "{round}");
            assert!(lost.check().unwrap().errors.is_empty());
        }
        std::fs::remove_dir_all(&image).unwrap();
        rows += 300;
    }
    drop(store);
    assert_eq!(table(&open(&path).unwrap().snapshot().unwrap(), "t").rows(), rows);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (entry, to) = (entry.unwrap(), to.join("x"));
        let to = to.with_file_name(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}
