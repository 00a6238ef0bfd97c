//! Reading remote files beside a store in memory that counts, fails and delays.

use crate::Error;
use crate::io::memory::MemoryBudget;
use crate::io::remote::files::RemoteFiles;
use crate::io::remote::folder::ChunkFolder;
use crate::io::remote::ranged_reads::{RangeEnded, RangedReads};
use bytes::Bytes;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A store in memory.
#[derive(Debug, Default)]
struct Store {
    objects: Mutex<HashMap<String, Bytes>>,
    requests: AtomicUsize,
    bytes: AtomicUsize,
    under_way: AtomicUsize,
    most: AtomicUsize,
    fails: AtomicBool,
    forgets: AtomicBool,
}

/// What a test gives to the files: the store is looked at from outside meanwhile.
#[derive(Debug)]
struct Reads(Arc<Store>);

impl RangedReads for Reads {
    fn read(&self, name: &str, range: Range<u64>, ended: RangeEnded) {
        let store = Arc::clone(&self.0);
        store.requests.fetch_add(1, Ordering::SeqCst);
        if store.forgets.load(Ordering::SeqCst) {
            // As a runtime does that ends.
            return;
        }
        let object = store.objects.lock().unwrap().get(name).cloned();
        let now = store.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        store.most.fetch_max(now, Ordering::SeqCst);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            store.under_way.fetch_sub(1, Ordering::SeqCst);
            ended(match object {
                _ if store.fails.load(Ordering::SeqCst) => Err(io::Error::other("the link is down")),
                None => Err(io::ErrorKind::NotFound.into()),
                Some(object) => {
                    let part = object.slice(range.start as usize..object.len().min(range.end as usize));
                    store.bytes.fetch_add(part.len(), Ordering::SeqCst);
                    Ok(part)
                }
            });
        });
    }

    fn place(&self, name: &str) -> String {
        format!("mem://{name}")
    }
}

fn content(length: usize) -> Bytes {
    (0..length).map(|at| (at * 31 % 251) as u8).collect::<Vec<_>>().into()
}

fn store(length: usize) -> Arc<Store> {
    let store = Store::default();
    store.objects.lock().unwrap().insert("a/b".into(), content(length));
    Arc::new(store)
}

fn files(store: &Arc<Store>, limit: usize, folder: Option<ChunkFolder>) -> Arc<RemoteFiles> {
    RemoteFiles::new(Arc::new(Reads(Arc::clone(store))), MemoryBudget::new(limit), folder)
}

const LENGTH: usize = 3_000_000;

#[test]
fn any_range_is_read_from_any_thread() {
    for limit in [0, 600_000, 1 << 30] {
        let (store, all) = (store(LENGTH), content(LENGTH));
        let file = files(&store, limit, None).file("a/b".into(), LENGTH as u64);
        std::thread::scope(|scope| {
            for thread in 0..4usize {
                let (file, all) = (&file, &all);
                scope.spawn(move || {
                    for round in 0..40 {
                        let start = (thread * 7919 + round * 104_729) % LENGTH;
                        let length = (round * 50_021 % 700_000).min(LENGTH - start);
                        if round % 3 == 0 {
                            file.read_ahead(
                                [(start, length)].map(|(start, length)| (start as u64, length)).into_iter(),
                            );
                        }
                        let found = file.read(start as u64, length).unwrap();
                        assert!(found == all[start..start + length], "{limit} {start} {length}");
                    }
                });
            }
        });
        assert_eq!(store.under_way.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn what_was_read_ahead_comes_side_by_side_and_once() {
    let store = store(LENGTH);
    let file = files(&store, 1 << 30, None).file("a/b".into(), LENGTH as u64);
    file.read_ahead((0..6).map(|part| (part * 500_000, 1)));
    for part in 0..6 {
        file.read(part * 500_000, 1).unwrap();
    }
    assert!(store.most.load(Ordering::SeqCst) > 1, "one after the other");
    let requests = store.requests.load(Ordering::SeqCst);
    file.read(0, LENGTH).unwrap();
    assert!(store.bytes.load(Ordering::SeqCst) == LENGTH, "a chunk came twice");
    assert!(store.requests.load(Ordering::SeqCst) > requests);
}

#[test]
fn chunks_take_no_more_than_their_share_and_give_way() {
    let store = store(LENGTH);
    let budget = MemoryBudget::new(4_000_000);
    let files = RemoteFiles::new(Arc::new(Reads(Arc::clone(&store))), Arc::clone(&budget), None);
    let file = files.file("a/b".into(), LENGTH as u64);
    file.read_ahead(std::iter::once((0, LENGTH)));
    assert!(file.read(0, LENGTH).unwrap() == content(LENGTH));
    assert!(budget.cached() <= 1_000_000, "{}", budget.cached());
    assert!(budget.try_reserve(4_000_000), "chunks give way");
    assert_eq!(budget.cached(), 0);
    drop(file);
    budget.release(4_000_000);
    assert!(budget.try_reserve(4_000_000));
}

#[test]
fn the_folder_spares_requests_and_damage_in_it_is_no_harm() {
    let (store, place) = (store(LENGTH), tempfile::tempdir().unwrap());
    let folder = || Some(ChunkFolder::open(place.path(), 1 << 30).unwrap());
    let read =
        |from: u64, length| files(&store, 1 << 30, folder()).file("a/b".into(), LENGTH as u64).read(from, length);
    assert!(read(0, LENGTH).unwrap() == content(LENGTH));
    let requests = store.requests.load(Ordering::SeqCst);
    assert!(read(0, LENGTH).unwrap() == content(LENGTH));
    assert_eq!(store.requests.load(Ordering::SeqCst), requests, "all of it is in the folder");
    for file in std::fs::read_dir(place.path()).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[7] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
    assert!(read(100, 1000).unwrap() == content(LENGTH)[100..1100]);
    assert_eq!(store.requests.load(Ordering::SeqCst), requests + 1);
}

#[test]
fn errors_name_the_object_and_are_no_memory_of_the_next_read() {
    let store = store(LENGTH);
    let files = files(&store, 1 << 30, None);
    let error = files.file("gone".into(), 10).read(0, 10).unwrap_err();
    assert!(matches!(&error, Error::Corrupt { place, .. } if place == "mem://gone"), "{error}");
    let longer = files.file("a/b".into(), LENGTH as u64 + 1);
    let error = longer.read(LENGTH as u64, 1).unwrap_err().to_string();
    assert!(error.contains("mem://a/b") && error.contains("cut off"), "{error}");
    let file = files.file("a/b".into(), LENGTH as u64);
    store.fails.store(true, Ordering::SeqCst);
    file.read_ahead(std::iter::once((0, 10)));
    let error = file.read(0, 10).unwrap_err().to_string();
    assert!(error.contains("the link is down (at byte 0)"), "{error}");
    store.fails.store(false, Ordering::SeqCst);
    assert!(file.read(0, 10).unwrap() == content(10));
    store.forgets.store(true, Ordering::SeqCst);
    let error = file.read(1_000_000, 10).unwrap_err().to_string();
    assert!(error.contains("the connection was closed"), "{error}");
}

#[test]
fn what_is_damaged_is_asked_for_again() {
    let store = store(LENGTH);
    let file = files(&store, 1 << 30, None).file("a/b".into(), LENGTH as u64);
    file.read(0, 100).unwrap();
    let other: Bytes = vec![9; LENGTH].into();
    store.objects.lock().unwrap().insert("a/b".into(), other);
    assert!(file.read(0, 100).unwrap() == content(100), "kept");
    file.forget(0, 100);
    assert!(file.read(0, 100).unwrap() == [9; 100]);
}
