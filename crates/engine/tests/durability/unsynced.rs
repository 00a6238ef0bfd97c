//! A disk that refuses to sync: the statement fails, nothing is built on its commit, and whoever opens the database next does not
//! have it, whatever of it has come to the disk.

use crate::disk::{Disk, Fate};
use crate::generator::Generator;
use crate::verify::{rows, verify};
use crate::workload::Workload;
use crate::{DATABASE, record_each, recorder};
use gingham::Error;

#[test]
fn a_commit_that_cant_be_synced_fails_and_is_undone_by_the_next_open() {
    let mut workload = Workload::new(3);
    let [create, insert] = workload.heap_table();
    let after = insert.after.clone();
    let recording = record_each(|states, database| {
        let connection = database.connect();
        assert!(create.run(&connection) && insert.run(&connection));
        states.push(after.clone());
        recorder::acknowledge(1);
        recorder::fail_next_sync(&database.path().join("catalog/data.mdb"));
        let refused = |sql: &str| match connection.execute(sql) {
            Err(Error::Io(text)) => text,
            other => panic!("{sql}: {other:?}"),
        };
        refused("INSERT INTO t (id) VALUES (-1)");
        // Nobody knows whether it is there, so nothing comes on top of it.
        let text = refused("INSERT INTO t (id) VALUES (-2)");
        assert!(text.contains("open it again"), "{text}");
        // It can still be read.
        let count = after["t"].rows.len();
        let found = rows(&connection, "SELECT count(*) FROM t WHERE id > 0").expect("a query");
        assert_eq!(found, [count.to_string()]);
    });
    let mut disk = Disk::new();
    recording.events.iter().for_each(|event| disk.apply(event));
    for (seed, fate) in (0..).zip([Fate::Kept, Fate::Lost, Fate::Last, Fate::Random(50)]) {
        let image = tempfile::tempdir().expect("a folder");
        disk.lose_power(None, [fate; 2], &mut Generator::new(seed), image.path());
        assert_eq!(verify(&image.path().join(DATABASE), false, &[&insert.after]), Ok(0), "{fate:?}");
    }
}
