//! `gingham DB advise` from outside: files, exit statuses, a report, recorded statements, and kills in the middle.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn gingham(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gingham")).args(arguments).output().expect("the binary runs")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A database with a table in rows, of which a workload reads one column; the database's and the workload's paths.
fn database(folder: &Path) -> (PathBuf, PathBuf) {
    let (database, workload) = (folder.join("shop.gingham"), folder.join("w.sql"));
    let columns: Vec<String> = (0..30).map(|number| format!("value * {} % 1000 AS c{number}", number + 1)).collect();
    let sql = format!(
        "CREATE TABLE wide WITH (layout = 'row') AS SELECT {} FROM generate_series(1, 20000)",
        columns.join(", ")
    );
    let made = gingham(&[path(&database), "-c", &sql]);
    assert!(made.status.success(), "{}", text(&made));
    std::fs::write(&workload, "-- weight: 3\nSELECT sum(c3) FROM wide WHERE c5 < 500;\n").expect("a file");
    (database, workload)
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path of UTF-8")
}

fn layout(database: &Path) -> String {
    let sql = "SELECT layout, sort_by, rows FROM gingham_tables";
    text(&gingham(&[path(database), "--read-only", "--format", "csv", "-c", sql]))
}

fn scratch_folders(database: &Path) -> usize {
    let entries = std::fs::read_dir(database).expect("a folder").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("scratch-")).count()
}

#[test]
fn advice_changes_nothing_and_apply_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, workload) = database(folder.path());
    let (before, report) = (layout(&database), folder.path().join("advice.html"));
    let arguments = [path(&database), "advise", path(&workload), "--budget", "4s", "--report", path(&report)];
    let output = gingham(&arguments);
    let told = text(&output);
    assert!(output.status.success(), "{told}");
    assert!(
        told.contains("proposed:") && told.contains("times as fast") && told.contains("do:       ALTER TABLE wide SET"),
        "{told}"
    );
    assert!(!told.contains('\u{1b}'), "no bars where there is no terminal: {told:?}");
    assert_eq!((layout(&database), scratch_folders(&database)), (before.clone(), 0));
    let page = std::fs::read_to_string(&report).expect("a report");
    assert!(page.contains("<h2>wide</h2>") && page.contains("ALTER TABLE wide SET"), "{page}");

    let output = gingham(&[path(&database), "advise", path(&workload), "--budget", "4s", "--apply"]);
    let told = text(&output);
    assert!(
        output.status.success() && told.contains("wide: changed") && told.contains("all answers are the same"),
        "{told}"
    );
    assert_ne!(layout(&database), before);
    assert!(text(&gingham(&[path(&database), "check"])).contains("no damage found"));
}

#[test]
fn recorded_statements_are_a_workload_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, _) = database(folder.path());
    let output = gingham(&[path(&database), "advise", "--recorded"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("no workload is recorded: SET gingham.record_workload = true"), "{}", text(&output));
    let sql = "SET gingham.record_workload = true; SELECT sum(c3) FROM wide WHERE c5 < 500; SELECT sum(c3) FROM wide WHERE c5 < 300";
    assert!(gingham(&[path(&database), "-c", sql]).status.success());
    assert!(database.join("workload").is_file(), "saved at close");
    let output = gingham(&[path(&database), "advise", "--recorded", "--budget", "3s"]);
    assert!(output.status.success() && text(&output).contains("wide: 20 000 records"), "{}", text(&output));
    assert!(gingham(&[path(&database), "-c", "SELECT gingham_clear_workload()"]).status.success());
    assert_eq!(gingham(&[path(&database), "advise", "--recorded"]).status.code(), Some(1), "forgotten for good");
    // A file that was damaged is no reason not to open.
    std::fs::write(database.join("workload"), "gingham workload, format 1\n00000000\n{}").expect("a file");
    let output = gingham(&[path(&database), "-c", "SELECT count(*) FROM gingham_workload"]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn bad_input_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, workload) = database(folder.path());
    let other = |text: &str| {
        let file = folder.path().join("other.sql");
        std::fs::write(&file, text).expect("a file");
        file
    };
    for (content, status, expected) in [
        ("", 1, "there is no statement in it"),
        ("SELECT 1;\nSELECT FROM WHERE", 1, "line 2"),
        (
            "SELECT 1;\nSELECT c3 FROM wdie",
            1,
            "other.sql: table 'wdie' does not exist; did you mean 'wide'? (line 2, column 16)",
        ),
        ("SELECT 1;\n\nDROP TABLE wide", 1, "line 3: DROP TABLE can't be in a workload"),
        ("-- weight: much\nSELECT 1", 1, "the weight of the statement in line 2 is a number above 0, not 'much'"),
    ] {
        let output = gingham(&[path(&database), "advise", path(&other(content))]);
        let told = text(&output);
        assert!(output.status.code() == Some(status) && told.contains(expected), "{content}: {told}");
    }
    let w = path(&workload);
    for (arguments, expected) in [
        (&["advise"][..], "<WORKLOAD>"),
        (&["advise", "nosuch.sql"], "can't read nosuch.sql"),
        (&["advise", w, "--recorded"], "cannot be used with"),
        (&["advise", w, "--budget", "soon"], "a time is a number with a unit"),
        (&["advise", w, "--budget", "3 parsecs"], "is no unit of time"),
        (&["advise", w, "--disk", "much"], "a number of times"),
        (&["--read-only", "advise", w, "--apply"], "--apply writes"),
    ] {
        let all: Vec<&str> = [path(&database)].iter().chain(arguments).copied().collect();
        let output = gingham(&all);
        assert!(
            output.status.code() == Some(2) && text(&output).contains(expected),
            "{arguments:?}: {}",
            text(&output)
        );
    }
    let output = gingham(&[path(&database), "advise", w, "--tables", "wied"]);
    assert!(output.status.code() == Some(1) && text(&output).contains("did you mean 'wide'"), "{}", text(&output));
    let output = gingham(&[path(&folder.path().join("nosuch.gingham")), "advise", w]);
    assert!(output.status.code() == Some(1) && text(&output).contains("nosuch.gingham"), "{}", text(&output));
    assert!(!folder.path().join("nosuch.gingham").exists());
}

fn started(database: &Path, workload: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_gingham"))
        .args([path(database), "advise", path(workload), "--budget", "3s", "--apply"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs")
}

/// After a kill at any moment the table has its old design or the new one, all records, and nothing is left in the folder once
/// somebody has opened it for writing.
#[test]
#[cfg(unix)]
fn a_kill_leaves_the_old_design_or_the_new_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, workload) = database(folder.path());
    let before = layout(&database);
    let mut seen = Vec::new();
    // The last ones are about when the change is made.
    let known = [100, 700, 2500, 3200, 3400, 3600, 4200];
    let more = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 200 } else { 0 };
    for milliseconds in known.into_iter().chain((0..more).map(|number| 50 + number * 7919 % 4300)) {
        let mut child = started(&database, &workload);
        std::thread::sleep(Duration::from_millis(milliseconds));
        let _ = child.kill();
        child.wait().expect("its end");
        let now = layout(&database);
        assert!(now.contains(",20000"), "{now}");
        seen.push(now.clone());
        let sums =
            text(&gingham(&[path(&database), "--format", "csv", "-c", "SELECT sum(c3), sum(c29), count(*) FROM wide"]));
        assert!(sums.contains("9960000,9900000,20000"), "{sums}");
        assert_eq!(scratch_folders(&database), 0, "swept");
        assert!(text(&gingham(&[path(&database), "check"])).contains("no damage found"));
        if now != before {
            assert!(
                gingham(&[path(&database), "-c", "ALTER TABLE wide SET (layout = 'row', sort_by = '')"])
                    .status
                    .success()
            );
        }
    }
    assert!(seen.contains(&before), "{seen:?}");
}
