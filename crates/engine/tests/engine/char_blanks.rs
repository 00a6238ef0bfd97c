//! CHARs of databases of format 9 and before, which kept the blanks at their ends: they are read without. `tests/compat/char-v9` was made
//! by a build of that format.

use crate::rows;
use gingham::{Connection, Database, DatabaseOptions};
use std::path::Path;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the kept database") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).expect("a copy")),
        }
    }
}

/// What the tables hold: `c` a segment and a record of the delta, `h` heap pages, `r` rows in a segment of more than one dictionary entry.
fn verify(connection: &Connection) {
    let of = |sql: &str| rows(connection, sql);
    assert_eq!(of("SELECT id FROM c WHERE c = 'ab' ORDER BY id"), ["1", "2"]);
    assert_eq!(of("SELECT id FROM c WHERE c = 'x' OR c = 'z    ' ORDER BY id"), ["3", "6"]);
    assert_eq!(
        of("SELECT '[' || c || ']', count(*) FROM c GROUP BY c ORDER BY 1"),
        ["[]|1", "[ab]|2", "[abcde]|1", "[x]|1", "[z]|1"]
    );
    assert_eq!(of("SELECT count(DISTINCT c), count(*) FROM c"), ["5|6"]);
    assert_eq!(of("SELECT id FROM c WHERE c LIKE 'ab   ' ORDER BY id"), ["1", "2"]);
    assert_eq!(of("SELECT id FROM h WHERE c = 'ab ' ORDER BY id"), ["1", "2"]);
    assert_eq!(of("SELECT min(c), max(c), count(c) FROM h"), ["ab|x|3"]);
    assert_eq!(of("SELECT c, count(*) FROM r GROUP BY c ORDER BY c"), ["a|13333", "b|6667"]);
    assert_eq!(of("SELECT count(*) FROM r WHERE c = 'a'"), ["13333"]);
    assert_eq!(of("SELECT count(*) FROM r JOIN h ON r.c = h.c"), ["0"]);
    assert_eq!(of("SELECT count(*) FROM c x JOIN c y USING (c)"), ["8"]);
}

#[test]
fn blanks_of_older_formats_do_not_count() {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/char-v9"), folder.path());
    verify(&DatabaseOptions::new().read_only(true).open(folder.path()).expect("the database opens").connect());
    let database = Database::open(folder.path()).expect("the database opens");
    let connection = database.connect();
    verify(&connection);
    connection.execute("UPDATE c SET id = id + 10 WHERE c = 'ab'").expect("both records change");
    assert_eq!(rows(&connection, "SELECT id FROM c WHERE c = 'ab ' ORDER BY id"), ["11", "12"]);
    connection.execute("DELETE FROM h WHERE c = 'ab'").expect("both records go");
    assert_eq!(rows(&connection, "SELECT id FROM h ORDER BY id"), ["3", "4"]);
    // A new table of the rows keeps no blanks.
    connection.execute("CREATE TABLE d AS SELECT id, c FROM r; OPTIMIZE d").expect("a table");
    assert_eq!(rows(&connection, "SELECT count(*) FROM d WHERE c = 'b'"), ["6667"]);
}

#[test]
fn parameters_lose_their_blanks() {
    let database = Database::in_memory().expect("a database");
    let connection = database.connect();
    connection
        .execute("CREATE TABLE t (id INTEGER, c CHAR(4) PRIMARY KEY); INSERT INTO t VALUES (1, 'a '), (2, 'b')")
        .expect("a table");
    let prepared = connection.prepare("SELECT id FROM t WHERE c = $1").expect("it is prepared");
    for value in ["a", "a ", "a    "] {
        let batches = prepared.query(&[value.into()]).and_then(|rows| rows.collect_batches()).expect("rows");
        assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1, "{value:?}");
    }
    let prepared = connection.prepare("SELECT id FROM t WHERE c IN ($1, $2)").expect("it is prepared");
    let batches = prepared.query(&["b  ".into(), "a ".into()]).and_then(|rows| rows.collect_batches()).expect("rows");
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
}
