//! What is run first: `--init`. (The prompt's own file is tests/prompt.rs's.)

mod place;

use place::Place;

#[test]
fn a_file_is_run_first() {
    let place = Place::new();
    place.file("init.sql", ".mode csv\nCREATE TEMP TABLE t AS SELECT 7 AS a;\n");
    assert_eq!(place.good(&["--init", "init.sql", "-c", "SELECT a FROM t"], ""), "a\n7\n");
    assert_eq!(place.good(&["--init", "init.sql"], "SELECT a FROM t"), "a\n7\n");
    let run = place.run(&["--init", "nosuch.sql", "-c", "SELECT 1"], "");
    assert!(run.status == 2 && run.err.contains("can't read nosuch.sql"), "{run:?}");
    place.file("bad.sql", "SELECT 1;\nSELECT nosuch;\n");
    let run = place.run(&["--init", "bad.sql", "-c", "SELECT 1"], "");
    assert!(run.status == 1 && run.err.starts_with("error: bad.sql:2: "), "{run:?}");
}

#[test]
fn the_prompts_file_is_not_for_scripts() {
    let place = Place::new();
    place.file(".ginghamrc", ".mode json\n");
    assert_eq!(place.good(&["--format", "csv", "-c", "SELECT 1 AS n"], ""), "n\n1\n");
    assert_eq!(place.good(&["--format", "csv"], "SELECT 1 AS n"), "n\n1\n");
}
