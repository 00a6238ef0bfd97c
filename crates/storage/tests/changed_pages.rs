//! Heap pages whose bytes change on the disk while the database is open, after they were checked: an error that names the
//! page where they lead out of it, and in a file that VACUUM has made wherever they changed.

mod common;

use common::{definition, insert_batch, name, open, rows};
use gingham_storage::Error;
use gingham_storage::model::{Deletes, HeapLayout, HeapOptions};
use gingham_storage::store::{Store, WriteOptions};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes before a page in LMDB's file, where it begins a page of LMDB's.
const BEFORE: usize = 16;
const RECORDS: i64 = 20_000;

fn all_options() -> [HeapOptions; 4] {
    let [nsm, dsm, pax] = [HeapLayout::Nsm, HeapLayout::Dsm, HeapLayout::Pax].map(HeapOptions::new);
    [nsm, dsm, pax, HeapOptions { deletes: Deletes::Defer, ..pax }]
}

/// A store whose table t has these pages, all of them read and so checked.
fn checked(folder: &Path, options: HeapOptions) -> Arc<Store> {
    let store = open(folder).unwrap();
    store.write(|transaction| transaction.create_heap_table(definition("t"), options)).unwrap();
    insert_batch(&store, "t", |definition| common::batch(definition, 0..RECORDS, |id| format!("mark {id:05}")))
        .unwrap();
    for _ in 0..2 {
        assert_eq!(read(&store).unwrap(), RECORDS as usize);
    }
    store
}

/// All records, counted.
fn read(store: &Arc<Store>) -> gingham_storage::Result<usize> {
    Ok(rows(&store.pinned()?.tables[&name("t")])?.len())
}

/// Where in the catalog's file `change` wants bytes to be others: it is given each page of table t, and says where in it and what.
fn change_pages(folder: &Path, options: HeapOptions, change: impl Fn(&[u8]) -> Option<(usize, Vec<u8>)>) -> usize {
    let path = folder.join("catalog/data.mdb");
    let bytes = std::fs::read(&path).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    let layout = match options.layout {
        HeapLayout::Nsm => 1,
        HeapLayout::Dsm => 2,
        HeapLayout::Pax => 3,
    };
    let mut changed = 0;
    for start in (BEFORE..bytes.len()).step_by(4096) {
        let Some(page) = bytes.get(start..start + options.page_bytes) else { continue };
        if page[4..6] == [1, layout]
            && page[9..16].iter().all(|byte| *byte == 0)
            && let Some((at, new)) = change(page)
        {
            file.write_all_at(&new, (start + at) as u64).unwrap();
            changed += 1;
        }
    }
    changed
}

fn word(page: &[u8], at: usize) -> usize {
    u16::from_le_bytes([page[at], page[at + 1]]).into()
}

#[test]
fn what_leads_out_of_a_page_after_it_was_checked_is_an_error() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let store = checked(folder.path(), options);
        // The first slot; the ends of a minipage of strings.
        let changed = change_pages(folder.path(), options, |page| match options.layout {
            HeapLayout::Pax => {
                let (start, end) = (word(page, 48 + 2) & !7, page.len());
                Some(((start + end) / 2, vec![0x7f; end - (start + end) / 2]))
            }
            _ => Some((page.len() - 4, vec![0xff; 4])),
        });
        assert!(changed > 3, "{options:?}");
        let error = read(&store).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{options:?}: {error}");
        let said = error.to_string();
        assert!(said.contains("data.mdb, page ") && said.contains("table t"), "{options:?}: {said}");
    }
}

#[test]
fn pages_that_vacuum_has_copied_are_checked_anew() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let store = checked(folder.path(), options);
        store.vacuum(&WriteOptions::default()).unwrap();
        let mark = b"mark 19000";
        let changed = change_pages(folder.path(), options, |page| {
            let found = page.windows(mark.len()).position(|window| window == mark)?;
            Some((found, b"park".to_vec()))
        });
        assert_eq!(changed, 1, "{options:?}");
        for _ in 0..2 {
            let error = read(&store).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }) && error.to_string().contains("checksum"), "{error}");
        }
    }
}
