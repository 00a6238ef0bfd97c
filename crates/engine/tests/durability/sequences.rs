//! Sequences of a process that is killed: what it gave alone, or in a transaction that was committed, is never given again, and no process
//! gives a value twice, whatever is rolled back.

use crate::verify::open;
use crate::{DATABASE, child, rounds, wait_until_closed};
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

/// Takes values until it is killed, and tells each: alone, by defaults, in transactions that are committed, rolled back or left open.
#[test]
fn counting_child() {
    let Some(path) = child::argument("sequences::counting_child") else { return };
    let connection = open(Path::new(&path), true).expect("a database").connect();
    let setup =
        "CREATE SEQUENCE IF NOT EXISTS s; CREATE TABLE IF NOT EXISTS t (id BIGINT DEFAULT nextval('s'), n INTEGER)";
    connection.execute(setup).expect("a sequence");
    println!("\nready");
    let next = |word: &str| {
        let value = connection.query("SELECT nextval('s')").expect("a value");
        let batch = &value.collect_batches().expect("a row")[0];
        println!("{word} {}", arrow::util::display::array_value_to_string(batch.column(0), 0).expect("a number"));
    };
    for round in 0.. {
        next("given");
        connection.execute("BEGIN").expect("a transaction");
        (0..round % 50).for_each(|_| next("held"));
        connection.execute("INSERT INTO t (n) SELECT 1 FROM generate_series(1, 5)").expect("five rows");
        next("held");
        if round % 3 == 0 {
            connection.execute("COMMIT").expect("a commit");
            println!("committed");
        } else {
            connection.execute("ROLLBACK").expect("a rollback");
            println!("rolled back");
        }
    }
}

#[test]
fn values_of_a_sequence_never_come_twice() {
    for seed in 0..rounds(3, 100) as u64 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(DATABASE);
        let mut given = HashSet::new();
        for life in 0..4 {
            let argument = path.display().to_string();
            let mut child = child::command("sequences::counting_child", &argument).spawn().expect("a child");
            let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
            assert!(lines.any(|line| line == "ready"), "the child did not come so far");
            std::thread::sleep(Duration::from_millis(20 + (seed * 7919 + life * 104_729) % 200));
            assert!(child.try_wait().expect("a child").is_none(), "the child ended by itself");
            child.kill().expect("it runs");
            child.wait().expect("it ends");
            let (mut all, mut held) = (HashSet::new(), Vec::new());
            for line in lines {
                let kept = match line.split_once(' ') {
                    _ if line == "committed" => std::mem::take(&mut held),
                    _ if line == "rolled back" => {
                        held.clear();
                        continue;
                    }
                    Some((word @ ("given" | "held"), value)) => {
                        // The last one may be cut.
                        let Ok(value) = value.parse::<i64>() else { continue };
                        assert!(all.insert(value), "seed {seed}, life {life}: {value} was given twice by one process");
                        if word == "held" {
                            held.push(value);
                            continue;
                        }
                        vec![value]
                    }
                    _ => continue,
                };
                for value in kept {
                    assert!(given.insert(value), "seed {seed}, life {life}: {value} was given twice");
                }
            }
            wait_until_closed(&path);
        }
        let connection = open(&path, false).expect("the database").connect();
        let kept = connection.query("SELECT count(*), count(DISTINCT id) FROM t").expect("rows").collect_batches();
        let kept = kept.expect("a row");
        let text = |column: usize| arrow::util::display::array_value_to_string(kept[0].column(column), 0).unwrap();
        assert_eq!(text(0), text(1), "seed {seed}");
        assert!(!given.is_empty());
    }
}
