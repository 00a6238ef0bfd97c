//! Processes that are killed while they write, at any moment, several times in the life of a database.

use crate::verify::{open, usable, verify};
use crate::workload::Workload;
use crate::{DATABASE, child, rounds, wait_until_closed};
use gingham::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

/// What a child says of a change when it is done, and when it is not offered.
const DONE: &str = "done";
const REFUSED: &str = "refused";

/// Writes until it is killed, and says so after each change. Its argument: the database, a seed, and the answers that earlier
/// children got to the changes of this seed, a letter each.
#[test]
fn writing_child() {
    let Some(argument) = child::argument("killed::writing_child") else { return };
    let [path, seed, answers] = argument.split('\n').collect::<Vec<_>>()[..] else { panic!("{argument}") };
    let mut workload = Workload::new(seed.parse().expect("a number"));
    for answer in answers.chars() {
        let proposal = workload.propose();
        if answer == 'd' {
            workload.state = proposal.after;
        }
    }
    let connection = open(Path::new(path), true).expect("a database").connect();
    println!("\nready");
    loop {
        let proposal = workload.propose();
        if proposal.run(&connection) {
            workload.state = proposal.after;
            println!("{DONE}");
        } else {
            println!("{REFUSED}");
        }
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    for seed in 0..rounds(11, 450) as u64 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(DATABASE);
        let (mut workload, mut answers) = (Workload::new(1000 + seed), String::new());
        for life in 0..4 {
            let argument = format!("{}\n{}\n{answers}", path.display(), 1000 + seed);
            let before = answers.len();
            for line in lines_until_killed(&argument, Duration::from_millis(5 + (seed * 7919 + life * 104_729) % 250)) {
                let (done, proposal) = (line == DONE, workload.propose());
                if done {
                    workload.state = proposal.after;
                }
                answers.push(if done { 'd' } else { 'r' });
            }
            let next = workload.propose();
            let found = verify(&path, before == 0, &[&workload.state, &next.after])
                .unwrap_or_else(|what| panic!("seed {seed}, life {life}, after {answers}: {what}"));
            // The next child must get the lock.
            wait_until_closed(&path);
            answers.push(if found == 1 { 'd' } else { 'r' });
            if found == 1 {
                workload.state = next.after;
            }
        }
        usable(&path, &workload.state).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        println!("{} kills", 4 * (seed + 1));
    }
}

/// Starts a child, kills it some time after it is ready, and gives what it said of its changes.
fn lines_until_killed(argument: &str, wait: Duration) -> Vec<String> {
    let mut child = child::command("killed::writing_child", argument).spawn().expect("a child");
    let mut lines = BufReader::new(child.stdout.take().expect("its output is ours")).lines().map_while(Result::ok);
    if !lines.any(|line| line == "ready") {
        let output = child.wait_with_output().expect("it ends");
        panic!("the child did not come so far: {}", String::from_utf8_lossy(&output.stderr));
    }
    std::thread::sleep(wait);
    assert!(child.try_wait().expect("a child").is_none(), "the child ended by itself");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    lines.filter(|line| line == DONE || line == REFUSED).collect()
}

/// Opens a database and waits.
#[test]
fn owning_child() {
    let Some(path) = child::argument("killed::owning_child") else { return };
    let _database = open(Path::new(&path), true).expect("a database");
    println!("\nready");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_database_that_another_process_writes_is_refused_until_that_one_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(DATABASE);
    let mut child = child::command("killed::owning_child", &path.display().to_string()).spawn().expect("a child");
    let mut lines = BufReader::new(child.stdout.take().expect("its output is ours")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "ready"));
    match open(&path, true) {
        Err(Error::Locked(text)) => assert!(text.contains("another process") && text.contains("--read-only"), "{text}"),
        other => panic!("{other:?}"),
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    open(&path, false)
        .expect("nobody has it")
        .connect()
        .execute("CREATE TABLE t (n BIGINT)")
        .expect("it can be written");
}
