//! Commands that are no SQL, in pipes, files and arguments.

mod place;

use place::Place;

const CSV: [&str; 3] = ["db", "--format", "csv"];

/// What a file of the place has.
fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path().join(name)).expect("a file")
}

#[test]
fn they_work_wherever_statements_do() {
    let place = Place::new();
    place.file("a.sql", ".mode json\nSELECT 1 AS n;\n.mode csv\nSELECT 2 AS n");
    let json = "[{\"n\":1}]\nn\n2\n";
    assert_eq!(place.good(&["-f", "a.sql"], ""), json);
    assert_eq!(place.good(&[], ".mode json\nSELECT 1 AS n;\n.mode csv\nSELECT 2 AS n;"), json);
    assert_eq!(
        place.good(&["-c", ".mode csv", "-c", "SELECT 3 AS n", "-c", ".print that is all"], ""),
        "n\n3\nthat is all\n"
    );
    assert_eq!(place.good(&[], ".read a.sql\n.read 'a.sql';"), format!("{json}{json}"));
    assert_eq!(place.good(&[], ".mode csv\nSELECT 1 AS n;\n.quit\nSELECT nosuch;"), "n\n1\n");
    assert_eq!(place.run(&["-c", ".exit 7", "-c", "SELECT 1"], "").status, 7);
}

#[test]
fn wrong_ones_name_the_near_one_and_their_line() {
    let place = Place::new();
    place.file("a.sql", "SELECT 1;\n\n.tabels\n");
    let run = place.run(&["-f", "a.sql"], "");
    assert_eq!((run.status, run.err.as_str()), (1, "error: a.sql:3: there is no .tabels; did you mean .tables?\n"));
    for (line, told) in [
        (".mode xlsx", "there is no mode 'xlsx'; the modes are table, csv, "),
        (".headers maybe", ".headers is used as: .headers on|off"),
        (".import a.csv", ".import is used as: .import FILE TABLE [OPTIONS]"),
        (".import nosuch.csv t", "nosuch.csv: no such file"),
        (".import a.sql t --colour red", "unexpected argument '--colour' found"),
        (".read nosuch.sql", "can't read nosuch.sql: "),
        (".read", ".read is used as: .read FILE"),
        (".schema nosuch", "table 'nosuch' does not exist"),
        (".cd nosuch", "can't go to the folder nosuch: "),
        (".shell exit 3", "'exit 3' has failed"),
        ("\\copy t", "\\copy is used as: "),
        ("\\dx", "there is no \\dx; did you mean "),
        (".mode json t", "mode json takes no table; mode insert does"),
        (".width a", ".width is used as: .width [N …]"),
        (".read 'csv", "a quote is not closed"),
    ] {
        let run = place.run(&["-c", line], "");
        assert!(run.status == 1 && run.err.contains(told), "{line}: {run:?}");
    }
    place.file("itself.sql", ".read itself.sql");
    let run = place.run(&["-f", "itself.sql"], "");
    assert!(run.status == 1 && run.err.contains("does one read itself?"), "{run:?}");
}

#[test]
fn scripts_go_on_after_errors_when_asked() {
    let place = Place::new();
    let script = "SELECT 1 AS n;\nSELECT nosuch;\nSELECT 2 AS n;\n";
    let run = place.run(&["--format", "csv"], script);
    assert_eq!((run.status, run.out.as_str()), (1, "n\n1\n"));
    let run = place.run(&["--format", "csv", "--no-bail"], script);
    assert_eq!((run.status, run.out.as_str()), (1, "n\n1\nn\n2\n"));
    assert!(run.err.starts_with("error: line 2: ") && run.err.lines().count() == 1, "{run:?}");
    let run = place.run(&["--format", "csv", "--no-bail", "--bail"], script);
    assert_eq!((run.status, run.out.as_str()), (1, "n\n1\n"));
    place.file("a.sql", &format!(".bail off\n{script}.bail on\nSELECT nosuch;\nSELECT 3;"));
    let run = place.run(&["--format", "csv", "-f", "a.sql"], "");
    assert_eq!((run.status, run.out.as_str()), (1, "n\n1\nn\n2\n"));
    assert!(run.err.contains("a.sql:3: ") && run.err.contains("a.sql:6: "), "{run:?}");
}

#[test]
fn results_go_to_files_and_commands() {
    let place = Place::new();
    let script = ".mode csv\n.output 'a b.csv'\nSELECT 1 AS n;\n.once b.csv\nSELECT 2 AS n;\nSELECT 3 AS n;\n\
        .output |tr a-z A-Z > c.txt\nSELECT 'x' AS x;\n\\o\n.once copied.csv\nCOPY (SELECT 4 AS n) TO STDOUT (HEADER);\nSELECT 5 AS n;\n\
        .once names.txt\n.print Anna\n.print Bob\n";
    assert_eq!(place.good(&[], script), "n\n3\nn\n5\nBob\n");
    assert_eq!((read(&place, "a b.csv"), read(&place, "b.csv")), ("n\n1\n".into(), "n\n2\n".into()));
    assert_eq!((read(&place, "c.txt"), read(&place, "copied.csv")), ("X\nX\n".into(), "n\n4\n".into()));
    assert_eq!(read(&place, "names.txt"), "Anna\n");
    let run = place.run(&["-c", ".output /nowhere/a.txt"], "");
    assert!(run.status == 1 && run.err.contains("can't write /nowhere/a.txt"), "{run:?}");
}

#[test]
fn the_shell_and_folders() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("sub")).expect("a folder");
    place.file("sub/a.csv", "n\n7\n");
    let script = ".mode csv\n.cd sub\nSELECT * FROM 'a.csv';\n.shell cat a.csv\n\\! echo from psql\n\\!echo again\n.once out.txt\n.system echo told\n";
    assert_eq!(place.good(&[], script), "n\n7\nn\n7\nfrom psql\nagain\n");
    assert_eq!(read(&place, "sub/out.txt"), "told\n");
}

#[test]
fn files_are_imported() {
    let place = Place::new();
    place.file("some fruit.csv", "name;price\napple;0.45\nquince;1.20\n");
    place.file("raw.txt", "1|x\n2|y\n");
    let script = ".import 'some fruit.csv' fruit\n.import raw.txt raw --csv --no-header --schema 'a INT, b VARCHAR' --delim '|'\n\
        .changes on\n.import 'some fruit.csv' fruit\nSELECT count(*) AS n, sum(price) AS s FROM fruit;\nSELECT sum(a) AS a, max(b) AS b FROM raw;\n";
    let out = place.good(&CSV, script);
    assert!(out.starts_with("fruit: 2 records from 1 file"), "{out}");
    assert!(out.ends_with("n,s\n4,3.3\na,b\n3,y\n"), "{out}");
    let run = place.run(&["db", "-c", ".import raw.txt raw --csv --no-header --delim '#'"], "");
    assert!(run.status == 1 && run.err.contains("table 'raw' has 2"), "{run:?}");
}

#[test]
fn copy_takes_names_without_quotes() {
    let place = Place::new();
    place.file("in.csv", "a,b\n1,x\n2,y\n");
    let script = "CREATE TABLE t (a INT, b VARCHAR);\n\\copy t FROM in.csv (FORMAT csv, HEADER true)\n\
        \\copy (SELECT b, a FROM t ORDER BY a DESC) TO out.csv (FORMAT csv, HEADER true)\n\\copy t FROM stdin\n3\tz\n\\.\n\
        \\copy (SELECT count(*) AS n FROM t) TO stdout\n";
    assert_eq!(place.good(&CSV, script), "3\n");
    assert_eq!(read(&place, "out.csv"), "b,a\ny,2\nx,1\n");
}

#[test]
fn what_is_there_is_shown() {
    let place = Place::new();
    let script = "CREATE TABLE fruit (id INT PRIMARY KEY, name VARCHAR NOT NULL);\nCREATE SCHEMA shop;\n\
        CREATE TABLE shop.\"Odd Name\" (a INT);\nCREATE VIEW dear AS SELECT name FROM fruit;\n";
    place.good(&["db"], script);
    let csv = |line: &str| place.good(&[&CSV[..], &["-c", line]].concat(), "");
    let all = "schema,name,kind\npublic,dear,VIEW\npublic,fruit,BASE TABLE\nshop,Odd Name,BASE TABLE\n";
    assert_eq!(csv(".tables"), all);
    assert_eq!(csv("\\d"), all);
    assert_eq!(csv(".tables f%"), "schema,name,kind\npublic,fruit,BASE TABLE\n");
    assert_eq!(csv("\\dt *u?t"), "schema,name,kind\npublic,fruit,BASE TABLE\n");
    assert_eq!(csv("\\dv"), "schema,name,kind\npublic,dear,VIEW\n");
    assert_eq!(csv("\\dn"), "schema\npublic\nshop\n");
    assert!(csv(".columns fruit").contains("\nid,INTEGER,"), "{}", csv(".columns fruit"));
    let described = "column,type,nullable,default\nid,INTEGER,NO,\nname,VARCHAR,NO,\nfruit_pkey PRIMARY KEY (id)\n";
    assert_eq!(csv("\\d fruit"), described);
    assert!(csv(".columns").contains("shop,Odd Name,a,INTEGER,"), "{}", csv(".columns"));
    assert!(
        csv(".schema 'fruit'").starts_with("CREATE TABLE fruit (\n  id INTEGER NOT NULL,"),
        "{}",
        csv(".schema fruit")
    );
    assert!(csv(".schema dear").starts_with("CREATE VIEW dear"));
    assert!(csv(".schema shop.\"Odd Name\"").starts_with("CREATE TABLE shop.\"Odd Name\" ("));
    assert_eq!(csv(".schema").matches("CREATE ").count(), 3);
    assert!(csv(".layout fruit").contains("fruit: 0 records"));
    assert_eq!(csv("\\l"), "db\n");
    assert_eq!(place.good(&["-c", ".databases"], ""), "a scratch database, which is gone at the end\n");
    assert!(csv(".help").contains(".import FILE TABLE") && csv("\\?").contains("\\copy"));
    assert!(csv(".help mode").starts_with(".mode [MODE [TABLE]]\n"), "{}", csv(".help mode"));
}

#[test]
fn a_dump_makes_the_same_again() {
    let place = Place::new();
    let script = "CREATE SCHEMA shop;
        CREATE TABLE b (id INT PRIMARY KEY, parent INT REFERENCES b (id), name VARCHAR UNIQUE) WITH (layout = 'nsm');
        CREATE INDEX b_parent ON b (parent);
        CREATE TABLE a (b INT REFERENCES b (id), t VARCHAR DEFAULT 'x''y', d DECIMAL(9,2) CHECK (d > 0), day DATE, at TIMESTAMP,
            f DOUBLE, raw BINARY, yes BOOLEAN);
        CREATE TABLE shop.\"Odd; Name\" (\"a b\" INT);
        CREATE TABLE void (n INT);
        CREATE VIEW w AS SELECT * FROM a WHERE t <> 'v';
        CREATE VIEW v AS SELECT count(*) AS n FROM w;
        INSERT INTO b VALUES (1, NULL, 'one'), (2, 1, NULL), (3, 1, '');
        INSERT INTO a VALUES (1, 'a, \"b\"', 1.50, DATE '2024-02-29', TIMESTAMP '2024-02-29 13:45:00.5', 0.1, X'00ff', true),
            (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            (3, E'two\\nlines; -- no comment', 2, NULL, NULL, 'NaN'::DOUBLE, X'', false);
        INSERT INTO shop.\"Odd; Name\" VALUES (7);\n";
    place.good(&["db"], script);
    let dump = place.good(&["db", "-c", ".dump"], "");
    assert!(dump.starts_with("BEGIN;\nCREATE SCHEMA shop;\nCREATE TABLE b (") && dump.ends_with("COMMIT;\n"), "{dump}");
    place.good(&["copy"], &dump);
    assert_eq!(place.good(&["copy", "-c", ".dump"], ""), dump);
    let rows = "SELECT * FROM a ORDER BY b NULLS LAST; SELECT * FROM b ORDER BY id; SELECT * FROM v";
    let of = |database: &str| place.good(&[database, "--format", "json", "-c", rows], "");
    assert_eq!(of("copy"), of("db"));
    // From a file as well, and of one table.
    place.file("dump.sql", &place.good(&["db", "-c", ".dump shop.\"Odd; Name\" b"], ""));
    place.good(&["part", "-c", "CREATE SCHEMA shop", "-f", "dump.sql"], "");
    assert_eq!(place.good(&["part", "--format", "csv", "-c", "SELECT count(*) AS n FROM b"], ""), "n\n3\n");
    let run = place.run(&["db", "-c", ".dump nosuch"], "");
    assert!(run.status == 1 && run.err.contains("nosuch"), "{run:?}");
    // A text with the line that ends rows.
    place.good(&["db", "-c", "CREATE TABLE ends AS SELECT E'a\\n\\\\.\\nb' AS t"], "");
    place.good(&["again"], &place.good(&["db", "-c", ".dump ends"], ""));
    let ends = |database: &str| place.good(&[database, "--format", "json", "-c", "SELECT * FROM ends"], "");
    assert_eq!(ends("again"), ends("db"));
}

#[test]
fn statements_are_shown_and_counted() {
    let place = Place::new();
    let script = ".echo on\n.changes on\nCREATE TABLE t AS SELECT 1 AS n;\nINSERT INTO t VALUES (2), (3);\n.echo off\n.changes off\nDELETE FROM t;\n";
    let expected =
        ".changes on\nCREATE TABLE t AS SELECT 1 AS n;\n1 row\nINSERT INTO t VALUES (2), (3);\n2 rows\n.echo off\n";
    assert_eq!(place.good(&["db"], script), expected);
    let run = place.run(&["-c", ".timing on", "-c", "SELECT 1", "-c", "\\timing off", "-c", "SELECT 1"], "");
    assert_eq!(run.err.matches("Time: ").count(), 1, "{run:?}");
}

#[test]
fn results_look_as_they_are_asked_to() {
    let place = Place::new();
    let query = "SELECT 1 AS a, NULL AS b;\n";
    let shown = |commands: &str| place.good(&[], &format!("{commands}\n{query}"));
    assert_eq!(shown(".mode csv\n.headers off"), "1,\n");
    assert_eq!(shown(".mode list\n.separator \" \\t\"\n.nullvalue 'not there'"), "a \tb\n1 \tnot there\n");
    assert_eq!(shown(".mode csv\n.nullvalue x\n.nullvalue\n.separator ;"), "a;b\n1;\n");
    assert_eq!(shown(".mode csv\n.separator ;\n.separator"), "a,b\n1,\n");
    assert!(shown(".mode insert shop.\"My Table\"").starts_with("INSERT INTO shop.\"My Table\" (a, b) VALUES"));
    assert_eq!(shown(".mode"), format!("mode is table\n{}", shown(".width")));
    let line = "expanded display is on\n";
    assert!(shown("\\x").starts_with(line) && shown("\\x").contains("a = 1"), "{}", shown("\\x"));
}
