//! The parts that read files and hold answers against each other, on small samples: a fault in them would count as one of
//! Gingham's.

use crate::beside::of_its_own;
use crate::correlated::is_correlated;
use crate::expect::{Fit, fit};
use crate::interval::seconds;
use crate::loops::unroll;
use crate::order::demands;
use crate::reader::{Accepts, Corpus, File, Query, Record, Sort, What, read};
use crate::script::{from_client, statements};
use crate::subject::{Subject, only_reads, subject};
use crate::table::Table;

fn records(corpus: Corpus, text: &str) -> Vec<Record> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("sample.test");
    std::fs::write(&path, text).expect("a sample is written");
    read(&File { corpus, path, name: "sample.test".to_owned() }, folder.path()).expect("a sample is read")
}

fn table(kinds: &str, rows: &[&[&str]]) -> Table {
    let cell = |text: &&str| (*text != "NULL").then(|| (*text).to_owned());
    Table { kinds: kinds.chars().collect(), rows: rows.iter().map(|row| row.iter().map(cell).collect()).collect() }
}

fn query(types: &str, sort: Sort, expected: &[&str]) -> Query {
    let expected = Some(expected.iter().map(|line| (*line).to_owned()).collect());
    Query { types: types.to_owned(), sort, expected, label: None }
}

#[test]
fn statements_and_queries_are_read() {
    let text = "# a comment\nstatement ok\nCREATE TABLE t (a INT)\n\nonlyif mysql\nquery I\nSELECT 1 DIV 1\n----\n1\n\n\
        skipif sqlite\nquery II rowsort x\nSELECT a,\n b FROM t\n----\n1\n2\n\nstatement error\nSELEKT\n----\nno such word\n";
    let records = records(Corpus::Sqlite, text);
    assert_eq!(records.len(), 3);
    assert_eq!((records[0].line, records[0].sql.as_str()), (2, "CREATE TABLE t (a INT)"));
    let What::Query(query) = &records[1].what else { panic!("{:?}", records[1]) };
    assert_eq!((query.sort, query.label.as_deref(), query.types.as_str()), (Sort::Rows, Some("x"), "II"));
    assert_eq!(query.expected.as_deref(), Some(["1".to_owned(), "2".to_owned()].as_slice()));
    assert!(matches!(records[2].what, What::Statement(Accepts::No)));
}

#[test]
fn loops_are_written_out() {
    let text = "loop i 0 2\nforeach t int text\nonlyif i=1\na ${i} ${t}\nendloop\nendloop\nb";
    let lines: Vec<(usize, String)> = text.lines().enumerate().map(|(n, line)| (n + 1, line.to_owned())).collect();
    let lines: Vec<String> = unroll(&lines).into_iter().map(|(_, line)| line).collect();
    let expected =
        ["onlyif no", "a 0 int", "onlyif no", "a 0 text", "onlyif yes", "a 1 int", "onlyif yes", "a 1 text", "b"];
    assert_eq!(lines, expected);
}

#[test]
fn answers_are_held_against_files() {
    let two = table("IF", &[&["2", "1.5"], &["1", "NULL"]]);
    let by_value = query("IR", Sort::Rows, &["1", "NULL", "2", "1.500"]);
    assert_eq!(fit(Corpus::Sqlite, &by_value, &two), Fit::Same);
    assert_eq!(fit(Corpus::Duckdb, &query("II", Sort::None, &["2\t1.5", "1\tNULL"]), &two), Fit::Same);
    assert_eq!(fit(Corpus::Duckdb, &query("II", Sort::None, &["1\tNULL", "2\t1.5"]), &two), Fit::Different);
    assert_eq!(fit(Corpus::Datafusion, &query("IR", Sort::Rows, &["1 NULL", "2 1.5"]), &two), Fit::Same);
    // The digest of the lines 1, 2 and 3.
    let three = table("I", &[&["3"], &["1"], &["2"]]);
    let hashed = query("I", Sort::Rows, &["3 values hashing to c0710d6b4f15dfa88f600b0e6b624077"]);
    assert_eq!(fit(Corpus::Sqlite, &hashed, &three), Fit::Same);
    assert_eq!(fit(Corpus::Sqlite, &Query { sort: Sort::None, ..hashed }, &three), Fit::Different);
}

#[test]
fn bags_are_equal_but_for_rounding() {
    let ours = table("NT", &[&["1.3333", "b"], &["2", "a"]]);
    let theirs = table("NT", &[&["2.0000000000000000", "a"], &["1.3333333333333333", "b"]]);
    assert!(ours.equals_as_bag(&theirs));
    assert!(!ours.equals_in_order(&theirs));
    assert!(!table("I", &[&["1"], &["1"], &["2"]]).equals_as_bag(&table("I", &[&["1"], &["2"], &["2"]])));
    assert!(!table("I", &[&["9007199254740993"]]).equals_as_bag(&table("I", &[&["9007199254740992"]])));
    assert!(!table("I", &[&["NULL"]]).equals_as_bag(&table("I", &[&["0"]])));
}

#[test]
fn a_query_says_what_it_demands() {
    assert_eq!(demands("SELECT a AS x, b, c + 1 FROM t ORDER BY b, 1 DESC, c + 1, d").keys, [1, 0, 2]);
    assert!(demands("SELECT * FROM t ORDER BY a").keys.is_empty());
    let cut = demands("SELECT a FROM t ORDER BY a LIMIT 3");
    assert!(cut.limited && !cut.open);
    assert!(demands("SELECT count(*) FROM (SELECT a FROM t LIMIT 3)").open);
    assert!(demands("SELECT random()").open && !demands("SELECT 'random()'").open);
}

#[test]
fn intervals_are_the_same_in_other_words() {
    assert_eq!(seconds("24 mons"), seconds("2 years"));
    assert_eq!(seconds("-1 days 2 hours 3 mins 4.5 secs"), seconds("-1 days 02:03:04.5"));
    assert_eq!(seconds("-PT1M30S"), seconds("-00:01:30"));
    assert_eq!(seconds("2 apples"), None);
}

#[test]
fn a_statement_is_about_a_name() {
    let name = |sql: &str| match subject(sql) {
        Subject::Named { names, made } => (names.join(" "), made),
        _ => panic!("{sql} is about no name"),
    };
    assert_eq!(name("CREATE TABLE IF NOT EXISTS t (a INT)"), ("t".to_owned(), true));
    assert_eq!(name("CREATE UNIQUE INDEX i ON t (a)"), ("t i".to_owned(), false));
    assert_eq!(name("CREATE TABLE c (x INT) INHERITS (p)"), ("c p".to_owned(), false));
    assert_eq!(name("CREATE RULE r AS ON INSERT TO t DO NOTHING"), ("t".to_owned(), false));
    assert_eq!(name("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x"), ("t".to_owned(), false));
    let two = "WITH a AS (INSERT INTO t VALUES (1) RETURNING i), b AS (DELETE FROM u) SELECT * FROM a";
    assert_eq!(name(two), ("t u".to_owned(), false));
    assert!(only_reads("WITH x AS (SELECT 1) SELECT * FROM x") && !only_reads("WITH d AS (DELETE FROM t) SELECT 1"));
}

#[test]
fn correlated_queries_are_told() {
    for sql in [
        "SELECT (SELECT count(*) FROM t1 AS x WHERE x.b < t1.b) FROM t1",
        "SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b JOIN c ON c.x = a.x)",
        "SELECT * FROM a, LATERAL (SELECT a.x) l",
    ] {
        assert!(is_correlated(sql), "{sql}");
    }
    for sql in
        ["SELECT t1.a FROM t1 WHERE t1.b IN (SELECT t1.c FROM t1)", "SELECT * FROM (SELECT a.x FROM a) b", "no SQL"]
    {
        assert!(!is_correlated(sql), "{sql}");
    }
}

#[test]
fn scripts_of_psql_are_read() {
    let text = "-- it's a comment\n\\set x 1\nSELECT 'a;b', E'it\\';', \"c;d\" -- why; not\n  /* /* ; */ */ FROM t;\n\
        CREATE FUNCTION f() AS $x$ SELECT 1; $$;$$ $x$ LANGUAGE sql;\nSELECT (1;2) \\; SELECT $1::int;\n\\d t\nSELECT 3 \\gset\nSELECT 4";
    let found = statements(text);
    let texts: Vec<String> =
        found.iter().map(|(_, sql, _)| sql.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "SELECT 'a;b', E'it\\';', \"c;d\" FROM t",
        "CREATE FUNCTION f() AS $x$ SELECT 1; $$;$$ $x$ LANGUAGE sql",
        "SELECT (1;2)",
        "SELECT $1::int",
        "SELECT 3",
    ];
    assert_eq!(texts, expected);
    assert_eq!(found.iter().map(|(line, ..)| *line).collect::<Vec<_>>(), [3, 5, 6, 6, 8]);
}

#[test]
fn data_follow_a_copy_that_runs() {
    let text =
        "COPY t (a) FROM stdin;\n1\n2\n\\.\nCOPY u FROM stdin;\nSELECT 1;\nCOPY v FROM STDIN NULL 'null';\nnull\n\\.\n";
    let found = statements(text);
    let data: Vec<Option<&str>> = found.iter().map(|(.., data)| data.as_deref()).collect();
    assert_eq!(data, [Some("1\n2\n"), None, None, Some("null\n")]);
    let sent = from_client("COPY t (a) FROM '/tmp/it''s' NULL 'x'");
    let sent = sent.map(|(sql, path, _)| (sql, path));
    assert_eq!(sent, Some(("COPY t (a) FROM STDIN NULL 'x'".to_owned(), "/tmp/it's".to_owned())));
}

#[test]
fn variables_of_a_script_are_put_in() {
    let text = "\\set name 'a''' b\n\\set both :name '/c'\nSELECT :'name', :both, :\"name\", x::text, :other;";
    let (_, sql, _) = statements(text).remove(0);
    assert_eq!(sql, "SELECT 'a''b', a'b/c, \"a'b\", x::text, :other");
}

#[test]
fn a_statement_of_postgresql_alone_is_told() {
    for sql in ["CREATE TABLE t (p point)", "CREATE TABLE t PARTITION OF u DEFAULT", "EXPLAIN SELECT 1", "DO $$ $$"] {
        assert!(of_its_own(sql), "{sql}");
    }
    for sql in ["SELECT sum(a) OVER (PARTITION BY b)", "CREATE TABLE t (a INT)", "SELECT 'point'"] {
        assert!(!of_its_own(sql), "{sql}");
    }
}
