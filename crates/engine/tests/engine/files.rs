//! Files that a query reads in place: names that look like patterns, patterns, and files with nothing in them.

use crate::{connect, failure, rows};

#[test]
fn names_and_patterns_of_files() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, value) in [("a.csv", 1), ("b.csv", 2), ("x.csv", 3), ("[x].csv", 4), ("what?.csv", 5)] {
        std::fs::write(path(name), format!("n\n{value}\n")).expect("a file");
    }
    let sum = |name: &str| rows(&connection, &format!("SELECT count(*), sum(n) FROM '{}'", path(name)));
    // The file of that name, if there is one.
    assert_eq!(sum("[x].csv"), ["1|4"]);
    assert_eq!(sum("what?.csv"), ["1|5"]);
    assert_eq!(sum("a.csv"), ["1|1"]);
    assert_eq!(sum("[ab].csv"), ["2|3"]);
    assert_eq!(sum("?.csv"), ["3|6"]);
    assert_eq!(sum("*.csv"), ["5|15"]);
}

#[test]
fn what_is_not_there_or_has_nothing_in_it_is_refused_by_name() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let refused = |name: &str| {
        let error = failure(&connection, &format!("SELECT * FROM '{}'", path(name)));
        assert!(error.to_string().contains(&path(name)), "{error}");
        error.sqlstate()
    };
    std::fs::write(path("empty.parquet"), b"").expect("a file");
    assert_eq!(refused("empty.parquet"), "22P04");
    for name in ["none.csv", "none*.csv", "[n].csv", "none/*.parquet"] {
        assert_eq!(refused(name), "58P01", "{name}");
    }
}
