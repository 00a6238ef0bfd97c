//! Loads into heap pages that are committed in batches, since the memory limit is small: whatever happens in their middle, the
//! records are all there or none is, and nothing else stays.

use crate::generator::Generator;
use crate::recorder::{self, Event};
use crate::verify::{open, rows};
use crate::workload::Workload;
use crate::{DATABASE, Recording, catalog, child, record_each, rounds, try_images, wait_until_closed};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

/// So that a batch has 256 KiB, and the catalog's file stays the one that it is.
const SMALL: &str = "SET gingham.memory_limit = '2MB'; SET gingham.auto_vacuum = false";
/// Records that a child loads at a time.
const RECORDS: i64 = 30_000;

/// Writes of a meta page of the catalog: one for each commit.
fn commits(events: &[Event]) -> usize {
    let catalog = catalog(events);
    let of_meta = |event: &&Event| match event {
        Event::Write { node, at, bytes, .. } => Some(*node) == catalog && *at < 2 * 4096 && bytes.len() < 4096,
        _ => false,
    };
    events.iter().filter(of_meta).count()
}

/// Records a load into a table and changes of its layout.
fn record(options: &str, layouts: &[&str]) -> Recording {
    let mut workload = Workload::new(7);
    record_each(|states, database| {
        let connection = database.connect();
        connection.execute(SMALL).expect("a setting");
        for proposal in workload.load_and_rewrite(options, layouts) {
            assert!(proposal.run(&connection));
            states.push(proposal.after);
            recorder::acknowledge(states.len() - 1);
        }
    })
}

#[test]
fn a_load_in_portions_survives_a_power_loss_wholly_or_not_at_all() {
    for (seed, options) in (300..).zip(["layout = 'pax'", "layout = 'nsm'", "layout = 'dsm'"]) {
        let recording = record(options, &["nsm", "column", "pax"]);
        assert!(commits(&recording.events) > 20, "{} commits", commits(&recording.events));
        try_images(seed, &recording, rounds(8, 100));
    }
}

/// Loads again and again until it is killed. Its argument: the database, a layout, a count of records that are there.
#[test]
fn loading_child() {
    let Some(argument) = child::argument("loads::loading_child") else { return };
    let [path, layout, there] = argument.split('\n').collect::<Vec<_>>()[..] else { panic!("{argument}") };
    let connection = open(Path::new(path), true).expect("a database").connect();
    connection.execute(SMALL).expect("a setting");
    let key = if layout == "dsm" { "" } else { " PRIMARY KEY" };
    let create = format!("CREATE TABLE IF NOT EXISTS t (id BIGINT{key}, b VARCHAR) WITH (layout = '{layout}')");
    connection.execute(&create).expect("a table");
    println!("\nready");
    for first in (there.parse::<i64>().expect("a number")..).step_by(RECORDS as usize) {
        let last = first + RECORDS - 1;
        let load = format!(
            "INSERT INTO t SELECT value, 'text ' || CAST(value % 37 AS VARCHAR) FROM generate_series({first}, {last})"
        );
        connection.execute(&load).expect("a load");
        println!("done");
    }
}

#[test]
fn a_load_that_is_killed_leaves_nothing() {
    let mut random = Generator::new(5);
    for layout in ["pax", "nsm", "dsm"] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(DATABASE);
        let mut there = 0;
        for life in 0..rounds(4, 40) {
            let argument = format!("{}\n{layout}\n{there}", path.display());
            let mut child = child::command("loads::loading_child", &argument).spawn().expect("a child");
            let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
            assert!(lines.any(|line| line == "ready"), "{layout}, life {life}: the child did not come so far");
            std::thread::sleep(Duration::from_millis(random.between(20, 900) as u64));
            assert!(child.try_wait().expect("a child").is_none(), "the child ended by itself");
            child.kill().expect("it runs");
            child.wait().expect("it ends");
            let done = lines.filter(|line| line == "done").count() as i64;
            let database = open(&path, false).expect("it is opened");
            let report = database.check().expect("it is checked");
            assert!(report.errors.is_empty(), "{layout}, life {life}: {:?}", report.errors);
            assert!(report.notes.iter().all(|note| !note.contains("load")), "{:?}", report.notes);
            let found = rows(&database.connect(), "SELECT count(*), count(DISTINCT id), max(id) + 1 FROM t");
            let allowed = [done, done + 1].map(|done| there + done * RECORDS);
            let now = allowed.into_iter().find(|count| {
                let end = if *count == 0 { String::new() } else { count.to_string() };
                found == Ok(vec![format!("{count}|{count}|{end}")])
            });
            there = now.unwrap_or_else(|| panic!("{layout}, life {life}: {found:?}, should be one of {allowed:?}"));
            drop(database);
            wait_until_closed(&path);
        }
    }
}
