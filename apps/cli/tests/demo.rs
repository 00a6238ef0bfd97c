//! The demo from nothing, at a scale that a debug build bears: it ends well, and leaves a database and a report.

use std::path::Path;
use std::process::{Command, Output};

fn demo(folder: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gingham"))
        .args(["demo", "--scale", "0.001", "--dir"])
        .arg(folder)
        .args(more)
        .output()
        .expect("the binary runs")
}

#[test]
fn demo_checks_every_answer_and_leaves_a_report() {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let folder = parent.path().join("demo");
    let output = demo(&folder, &["--threads", "2"]);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("All 22 answers agree"), "{stdout}");
    assert!(!stderr.contains('\u{1b}'), "no bars where there is no terminal: {stderr:?}");

    let report = std::fs::read_to_string(folder.join("report.html")).expect("a report");
    assert!(report.contains("All 22 answers agree") && report.contains("l_extendedprice"));

    let count = Command::new(env!("CARGO_BIN_EXE_gingham"))
        .arg(folder.join("tpch.gingham"))
        .args(["-c", "SELECT count(*) AS orders FROM orders", "--format", "csv"])
        .output()
        .expect("the binary runs");
    assert_eq!(String::from_utf8_lossy(&count.stdout), "orders\n1500\n");
}

#[test]
fn demo_leaves_other_folders_alone() {
    let other = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(other.path().join("thesis.txt"), "years of work").expect("a file");
    let output = demo(other.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--dir"));
    assert_eq!(std::fs::read_dir(other.path()).expect("the folder").count(), 1);
}
