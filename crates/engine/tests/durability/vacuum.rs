//! VACUUM, which exchanges the catalog under a database that is in use: power that goes at every moment of it, a sync that is left
//! out, and another process that reads beside it.

use crate::disk::{Disk, Fate};
use crate::generator::Generator;
use crate::recorder::{self, Event};
use crate::verify::{open, rows};
use crate::workload::Workload;
use crate::{DATABASE, Recording, child, record_each, rounds, try_image};
use gingham::DatabaseOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

/// Records of a table whose readers wait with the rest of it.
const ROWS: usize = 150_000;

/// A table in heap pages, a VACUUM and an answer, and a change after it.
fn recorded() -> Recording {
    let mut workload = Workload::new(7);
    record_each(|states, database| {
        let connection = database.connect();
        for proposal in workload.heap_table() {
            assert!(proposal.run(&connection));
            workload.state = proposal.after.clone();
            states.push(proposal.after);
            recorder::acknowledge(states.len() - 1);
        }
        connection.execute("VACUUM").expect("a smaller catalog");
        states.push(workload.state.clone());
        recorder::acknowledge(states.len() - 1);
        let rows = &workload.state["t"].rows;
        let first = *rows.keys().next().expect("the table has rows");
        assert_eq!(connection.execute(&format!("DELETE FROM t WHERE id = {first}")).expect("a change"), 1);
        let mut after = workload.state.clone();
        let rows = &mut after.get_mut("t").expect("the table").rows;
        std::sync::Arc::make_mut(rows).remove(&first);
        states.push(after);
        recorder::acknowledge(states.len() - 1);
    })
}

/// Where something is in the log.
fn find(recording: &Recording, wanted: impl Fn(&Event) -> bool) -> usize {
    recording.events.iter().position(wanted).expect("it was recorded")
}

#[test]
fn power_may_go_at_any_moment_of_a_vacuum() {
    let recording = recorded();
    let (begin, end) = (
        find(&recording, |event| matches!(event, Event::Acknowledged(2))),
        find(&recording, |event| matches!(event, Event::Acknowledged(4))),
    );
    let mut random = Generator::new(11);
    let mut disk = Disk::new();
    for (at, event) in recording.events.iter().enumerate().take(end + 1) {
        if at > begin {
            for _ in 0..rounds(1, 12) {
                let (fates, seed) = ([Fate::any(&mut random), Fate::any(&mut random)], random.bits());
                try_image(&recording, &disk, at, fates, seed)
                    .unwrap_or_else(|what| panic!("{at} events of {begin} to {end}, {fates:?}: {what}"));
            }
        }
        disk.apply(event);
    }
}

#[test]
fn a_commit_after_a_vacuum_needs_the_exchange_to_be_on_the_disk() {
    let mut recording = recorded();
    let exchange = find(&recording, |event| matches!(event, Event::Exchange { .. }));
    let whole = |recording: &Recording| {
        let end = find(recording, |event| matches!(event, Event::Acknowledged(4))) + 1;
        let mut disk = Disk::new();
        recording.events[..end].iter().for_each(|event| disk.apply(event));
        try_image(recording, &disk, end, [Fate::Lost; 2], 1)
    };
    whole(&recording).unwrap_or_else(|what| panic!("{what}"));
    let Event::Exchange { one, .. } = &recording.events[exchange] else { panic!("it is one") };
    let folder = one.0.0;
    recording.events = recording
        .events
        .iter()
        .enumerate()
        .filter(|(at, event)| *at < exchange || !matches!(event, Event::Sync { node } if *node == folder))
        .map(|(_, event)| event.clone())
        .collect();
    assert!(whole(&recording).is_err(), "without that sync the old catalog comes back");
}

/// Reads a database that another process writes: a line of its rows for each line that it is given.
#[test]
fn reading_child() {
    let Some(path) = child::argument("vacuum::reading_child") else { return };
    let options = DatabaseOptions::new().read_only(true);
    let connection = options.open(Path::new(&path)).expect("a database").connect();
    println!("\nready");
    // What began before another catalog took the place of the one that it reads.
    let mut long = Vec::new();
    for _ in std::io::stdin().lines() {
        long.push(connection.query("SELECT id FROM t").expect("a query"));
        match rows(&connection, "SELECT count(*), sum(id), sum(a) FROM t") {
            Ok(rows) => println!("{}", rows[0]),
            Err(error) => println!("{error}"),
        }
    }
    for reader in long {
        assert_eq!(reader.map(|batch| batch.expect("a batch").num_rows()).sum::<usize>(), ROWS);
    }
}

#[test]
fn another_process_that_reads_follows_a_vacuum() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(DATABASE);
    let database = open(&path, true).expect("a new database");
    let connection = database.connect();
    let run = |sql: &str| connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    run("CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT) WITH (layout = 'pax')");
    run(&format!("INSERT INTO t SELECT value, 0 FROM generate_series(1, {ROWS})"));
    let mut command = child::command("vacuum::reading_child", &path.display().to_string());
    let mut child = command.stdin(Stdio::piped()).spawn().expect("a child");
    let (mut asked, told) = (child.stdin.take().expect("ours"), child.stdout.take().expect("ours"));
    let mut lines = BufReader::new(told).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "ready"));
    for round in 1..=4 {
        run(&format!("UPDATE t SET a = {round}"));
        run("VACUUM");
        run("UPDATE t SET a = a + 1 WHERE id <= 10");
        // Segment files of the old catalog are gone as well.
        run("CREATE OR REPLACE TABLE other AS SELECT * FROM t");
        writeln!(asked, "again").expect("it reads");
        let (ids, sum) = (ROWS * (ROWS + 1) / 2, round * ROWS + 10);
        assert_eq!(lines.next(), Some(format!("{ROWS}|{ids}|{sum}")), "round {round}");
    }
    drop(asked);
    assert!(child.wait().expect("it ends").success());
}
