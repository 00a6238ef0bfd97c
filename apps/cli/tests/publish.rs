//! `publish`, URLs and `sweep` as users run them; publishers that are killed at any moment.

#[path = "place/mod.rs"]
mod place;

use place::Place;
use std::process::{Command, Stdio};
use std::time::Duration;

fn url(place: &Place) -> String {
    format!("file://{}", place.path().join("published").display())
}

#[test]
fn a_database_is_published_read_and_swept() {
    let place = Place::new();
    let url = url(&place);
    place.good(&["db", "-c", "CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 20000)"], "");
    let told = place.good(&["db", "publish", &url], "");
    assert!(told.contains("published as number 1, 2 objects with"), "{told}");
    let told = place.good(&["db", "publish", &url], "");
    assert!(told.contains("number 1 is what the database is now; nothing was sent"), "{told}");
    place.file("count.sql", "SELECT count(*) FROM t");
    let count = ["--format", "csv", "-f", "count.sql"];
    let read = |more: &[&str]| place.good(&[&[url.as_str()], more, &count[..]].concat(), "");
    assert_eq!(read(&[]), "count(*)\n20000\n");
    place.good(&["db", "-c", "INSERT INTO t SELECT value FROM generate_series(1, 20000)"], "");
    let told = place.good(&["db", "publish", &url, "--keep", "1h"], "");
    assert!(told.contains("published as number 2, 2 objects") && told.contains("2 states left"), "{told}");
    assert_eq!(read(&[]), "count(*)\n40000\n");
    assert_eq!(read(&["--as-of", "1"]), "count(*)\n20000\n");
    assert_eq!(read(&["--cache", "cache"]), "count(*)\n40000\n");
    assert_eq!(place.good(&[&url, "-c", "REFRESH"], ""), "");
    assert!(place.good(&[&url, "check"], "").contains("no damage found"));
    assert!(place.good(&[&url, "layout", "t"], "").contains("20"));
    let told = place.good(&[&url, "sweep", "--keep", "0", "--dry-run"], "");
    assert!(told.starts_with("manifest 1\n") && told.contains("would be removed; 1 state left"), "{told}");
    let told = place.good(&[&url, "sweep", "--keep", "0"], "");
    assert!(told.contains("1 state and 0 objects of 0 B removed; 1 state left"), "{told}");
    assert_eq!(read(&[]), "count(*)\n40000\n");
}

#[test]
fn wrong_uses_are_told() {
    let place = Place::new();
    let url = url(&place);
    place.good(&["db", "-c", "CREATE TABLE t (n INT)"], "");
    place.good(&["other", "-c", "CREATE TABLE t (n INT)"], "");
    place.good(&["db", "publish", &url], "");
    for (arguments, status, words) in [
        (vec!["other", "publish", &url], 1, "has another database"),
        (vec!["missing", "publish", &url], 1, "there is no database"),
        (vec![":memory:", "publish", &url], 2, "a database that stays"),
        (vec!["db", "publish", "s3://bucket/db"], 1, "--features aws"),
        (vec!["db", "publish", "gs://bucket/db"], 1, "--features gcp"),
        (vec!["db", "publish", "az://container/db"], 1, "--features azure"),
        (vec!["s3://bucket/db", "-c", "SELECT 1"], 1, "--features aws"),
        (vec!["file:///nowhere/db", "-c", "SELECT 1"], 1, "no published database at file:///nowhere/db"),
        (vec!["db", "sweep"], 2, "the URL of a published database"),
        (vec!["db", "publish", &url, "--keep", "soon"], 2, "write 90s, 15m, 24h or 7d"),
        (vec![&url, "publish", "file:///nowhere"], 2, "is published, and read alone"),
        (vec![&url, "-c", "DROP TABLE t"], 1, "open for reading only"),
        (vec![&url, "--as-of", "7", "-c", "SELECT 1"], 1, "no manifest 7"),
        (vec!["db", "--as-of", "1", "-c", "SELECT 1"], 2, "about published databases"),
        (vec!["db", "-c", "REFRESH"], 1, "opened by its URL"),
    ] {
        let run = place.run(&arguments, "");
        assert!(run.status == status && run.err.contains(words), "{arguments:?}: {run:?}");
    }
}

/// Whenever a publisher is killed, readers find a state whole, and the next publisher goes on.
#[test]
fn a_publisher_may_be_killed_at_any_moment() {
    let place = Place::new();
    let url = url(&place);
    place.good(&["db", "-c", "CREATE TABLE a (n BIGINT, round BIGINT); CREATE TABLE b (n BIGINT, round BIGINT)"], "");
    place.good(&["db", "publish", &url], "");
    let (mut shown, mut killed) = (0, 0);
    for round in 1..=8u64 {
        let insert = |table| format!("INSERT INTO {table} SELECT value, {round} FROM generate_series(1, 30000);");
        let sql = format!("BEGIN; {} {} COMMIT", insert("a"), insert("b"));
        place.good(&["db", "-c", &sql], "");
        let mut command = Command::new(env!("CARGO_BIN_EXE_gingham"));
        command.args(["db", "publish", &url]).current_dir(place.path()).env("HOME", place.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command starts");
        std::thread::sleep(Duration::from_millis(1 + (round - 1) * 7919 % 60));
        child.kill().expect("it can be killed");
        killed += u32::from(!child.wait().expect("it ends").success());
        let sql = "SELECT (SELECT count(*) FROM a) AS a, (SELECT count(*) FROM b) AS b, (SELECT coalesce(max(round), 0) FROM a) AS r";
        let found = place.good(&[&url, "--format", "csv", "-c", sql], "");
        let states: Vec<String> =
            (shown..=round).map(|round| format!("a,b,r\n{0},{0},{round}\n", round * 30_000)).collect();
        let state = states.iter().position(|state| *state == found);
        shown += state.unwrap_or_else(|| panic!("round {round}, {shown} was shown before: {found}")) as u64;
        if round % 3 == 0 {
            place.good(&["db", "publish", &url], "");
            shown = round;
        }
        assert!(place.good(&[&url, "check"], "").contains("no damage found"));
    }
    assert!(killed > 0, "none was killed in time");
}
