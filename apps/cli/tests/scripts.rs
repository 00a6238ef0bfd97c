//! Scripts as the command cuts them: long statements in pipes, texts with `;`, and rows between statements; files in queries; and the
//! version that it tells.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the command in `folder` with some input; what it wrote, to standard output and to standard error.
fn run(folder: &Path, arguments: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gingham"));
    command.args(arguments).current_dir(folder).env("HOME", folder);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // One that fails early leaves the rest unread.
    let _ = stdin.write_all(input);
    drop(stdin);
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    // That a database is new is told, too.
    let told = text(stderr);
    let told = match told.split_once('\n') {
        Some((first, rest)) if first.starts_with("made a new database at ") => rest.to_owned(),
        _ => told,
    };
    (status.code().unwrap_or(-1), text(stdout), told)
}

fn good(folder: &Path, arguments: &[&str], input: &str) -> String {
    let (status, out, told) = run(folder, arguments, input.as_bytes());
    assert_eq!((status, told.as_str()), (0, ""), "{arguments:?}: {out}");
    out
}

#[test]
fn a_long_statement_may_come_through_a_pipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut script = "CREATE TABLE t (n INTEGER, s VARCHAR);\nINSERT INTO t VALUES\n".to_owned();
    for number in 0..20_000 {
        script += &format!("({number}, 'a; b'), -- one; more\n");
    }
    script += "(20000, E'it\\'s; x');\nSELECT count(*) AS n, max(s) AS s FROM t;\n";
    let csv = ["db", "--format", "csv"];
    assert_eq!(good(folder.path(), &csv, &script), "n,s\n20001,it's; x\n");
    let marked = format!("\u{feff}{}", "SELECT 1 AS one;");
    assert_eq!(good(folder.path(), &csv, &marked), "one\n1\n");
    std::fs::write(folder.path().join("marked.sql"), &marked).expect("a file");
    assert_eq!(good(folder.path(), &["--format", "csv", "-f", "marked.sql"], ""), "one\n1\n");
}

#[test]
fn a_dash_is_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let script =
        "CREATE TABLE t (a INTEGER);\nCOPY t FROM STDIN (FORMAT csv);\n1\n2\n\\.\nSELECT sum(a) AS s FROM t;\n";
    let arguments = ["db", "--format", "csv", "-c", "SELECT 1 AS one", "-f", "-", "-c", "SELECT 2 AS two"];
    assert_eq!(good(folder.path(), &arguments, script), "one\n1\ns\n3\ntwo\n2\n");
    assert_eq!(good(folder.path(), &["db", "-f", "-"], ""), "");
    let (status, _, told) = run(folder.path(), &["db", "-f", "-"], b"SELECT 1;\nSELECT nosuch;\n");
    assert!(status == 1 && told.contains("nosuch"), "{told}");
}

#[test]
fn an_object_of_json_has_each_key_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |format: &str| good(folder.path(), &["--format", format, "-c", "SELECT 1 AS a, 2 AS a, 3 AS a_1"], "");
    assert_eq!(of("json"), "[{\"a\":1,\"a_2\":2,\"a_1\":3}]\n");
    assert_eq!(of("csv"), "a,a,a_1\n1,2,3\n");
}

#[test]
fn rows_follow_copy_from_stdin() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "CREATE TABLE t (a INTEGER, s VARCHAR);\nCOPY t FROM STDIN (FORMAT csv);\n1,it's; one\n2,-- two\n\\.\n\
         SELECT count(*) AS n FROM t;\nCOPY (SELECT * FROM t ORDER BY a) TO STDOUT (FORMAT csv, HEADER false);\n";
    let expected = "n\n2\n1,it's; one\n2,-- two\n";
    assert_eq!(good(folder.path(), &["piped", "--format", "csv"], script), expected);
    std::fs::write(folder.path().join("script.sql"), script).expect("a file");
    assert_eq!(good(folder.path(), &["read", "--format", "csv", "-f", "script.sql"], ""), expected);
    // Rows of a -c are standard input, to its end.
    let copy = "COPY t FROM STDIN (FORMAT csv)";
    assert_eq!(good(folder.path(), &["read", "--format", "csv", "-c", copy], "3,x\n4,y"), "");
    let count = "SELECT count(*) AS n FROM t";
    assert_eq!(good(folder.path(), &["read", "--format", "csv", "-c", count], ""), "n\n4\n");
    // Rows that are refused are no statements.
    let (status, _, told) = run(folder.path(), &["read"], format!("{copy};\nDROP TABLE t;\n\\.\n").as_bytes());
    assert!(status == 1 && told.contains("COPY t, line 1"), "{told}");
    assert_eq!(good(folder.path(), &["read", "--format", "csv", "-c", count], ""), "n\n4\n");
    let (status, _, told) = run(folder.path(), &["read"], format!("{copy}; SELECT 1;\n").as_bytes());
    assert!(status == 1 && told.contains("'SELECT 1;' stands behind its ';'"), "{told}");
}

#[test]
fn copy_writes_to_standard_output_as_a_device() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = "COPY (SELECT 1 AS a) TO '/dev/stdout' (FORMAT csv)";
    assert_eq!(good(folder.path(), &["-c", copy], ""), "a\n1\n");
}

#[test]
fn files_are_queried_where_they_lie() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "day, item, Amount\n2026-11-19, tea, 12.50\n2026-11-20, jam, -\n2026-11-21, tea, 7\n";
    std::fs::write(folder.path().join("sales.csv"), text).expect("a file");
    let ask = |sql: &str| run(folder.path(), &["--format", "csv", "-c", sql], b"");
    let read = "read_csv('sales.csv', types = {'amount': 'DECIMAL(9,2)'}, ignore_errors = true)";
    let sums = format!("SELECT item, sum(amount) AS total FROM {read} GROUP BY item; SELECT line FROM gingham_rejects");
    let told = "warning: 1 record was passed over; SELECT * FROM gingham_rejects lists it\n";
    assert_eq!(ask(&sums), (0, "item,total\ntea,19.50\nline\n3\n".to_owned(), told.to_owned()));
    let (_, _, told) = ask("SELECT * FROM sales.csv");
    assert!(told.contains("schema 'sales' does not exist; a file's name stands in quotes: 'sales.csv'"), "{told}");
    let copied = ask("COPY (SELECT * FROM 'sales.csv') TO 'by/' STORED AS PARQUET PARTITIONED BY (ITEM)");
    assert_eq!(copied, (0, String::new(), String::new()));
    let jam = ask("SELECT \"Amount\" FROM 'by/' WHERE item = 'jam'");
    assert_eq!(jam, (0, "Amount\n-\n".to_owned(), String::new()));
}

#[test]
fn the_version_tells_the_commit() {
    let folder = tempfile::tempdir().expect("a folder");
    let version = env!("CARGO_PKG_VERSION");
    let (brackets, comma) = match gingham_commit::COMMIT {
        Some(commit) => (format!(" ({commit})"), format!("\"Gingham {version}, {commit}\"")),
        None => (String::new(), format!("Gingham {version}")),
    };
    assert_eq!(good(folder.path(), &["--version"], ""), format!("gingham {version}{brackets}\n"));
    let asked = good(folder.path(), &["--format", "csv", "-c", "SELECT version()"], "");
    assert_eq!(asked, format!("version()\n{comma}\n"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&root).output();
    if let (true, Ok(git)) = (root.join(".git").exists(), git)
        && git.status.success()
    {
        let commit = gingham_commit::COMMIT.expect("a checkout has a commit");
        assert!(String::from_utf8_lossy(&git.stdout).starts_with(commit), "{commit}");
    }
}
