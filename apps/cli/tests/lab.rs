//! `gingham lab` from outside: the list, a small run with its two files, results put together, and wrong names.

use std::process::{Command, Output};

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gingham")).arg("lab").args(arguments).output().expect("the binary runs")
}

#[test]
fn experiments_are_listed_with_their_place() {
    let output = lab(&["list"]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("byteslice.fig9") && stdout.contains("figure 9"), "{stdout}");
}

#[test]
fn a_run_leaves_a_document_and_a_report() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (json, report) = (folder.path().join("lab.json"), folder.path().join("lab.html"));
    let files = ["--json", json.to_str().expect("a path"), "--report", report.to_str().expect("a path")];
    let mut arguments = vec!["run", "byteslice.table1", "--quick", "--budget", "1", "--seed", "7", "--threads", "1"];
    arguments.extend(files);
    let output = lab(&arguments);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("every answer checked") && stdout.contains("table1"));
    assert!(!stderr.contains('\u{1b}'), "no bars where there is no terminal: {stderr:?}");

    let document: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).expect("a document")).expect("JSON");
    assert_eq!((document["settings"]["seed"].as_u64(), document["settings"]["threads"].as_u64()), (Some(7), Some(1)));
    assert_eq!(document["experiments"][0]["claims"].as_array().map(Vec::len), Some(4));
    let page = std::fs::read_to_string(&report).expect("a report");
    assert!(page.contains("byteslice.table1") && page.contains("<svg"));
}

#[test]
fn wrong_arguments_are_named() {
    let output = lab(&["run", "byteslice.fig99"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("no experiment 'byteslice.fig99'") && stderr.contains("byteslice.fig9"), "{stderr}");
    assert_eq!(lab(&["run", "all", "--quick", "--full"]).status.code(), Some(2));
}

#[test]
fn results_of_two_machines_are_put_together() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let (here, there) = (path("here.json"), path("there.json"));
    let output = lab(&["run", "fragility.fig3", "--quick", "--json", &here]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut document: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&here).expect("a document")).expect("JSON");
    document["machine"]["processor"] = "Another processor".into();
    std::fs::write(&there, document.to_string()).expect("a file");

    let (json, report) = (path("both.json"), path("both.html"));
    let output = lab(&["merge", &here, &there, "--json", &json, "--report", &report]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.matches("Another processor: ").count() == 2, "{stdout}");
    let merged: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).expect("a document")).expect("JSON");
    assert_eq!(merged["machines"].as_array().map(Vec::len), Some(2));
    assert!(std::fs::read_to_string(&report).expect("a report").contains("machine Another processor"));

    document["settings"]["seed"] = 2.into();
    std::fs::write(&there, document.to_string()).expect("a file");
    let output = lab(&["merge", &here, &there]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("there.json: seed 2, but"), "{stderr}");
    let output = lab(&["merge", &here, &path("nowhere.json")]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere.json: No such file"), "it names the file");
}

#[test]
fn a_reader_may_go_away() {
    // Standard output that nobody reads: its other end is closed before anything is written.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_gingham"));
    let output = command.args(["lab", "list"]).stdout(writer).output().expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("panicked"), "{stderr}");
}
