//! The SQLSTATE of each kind of mistake, which drivers tell errors apart by, and the place that an error names.

use gingham::{Database, DatabaseOptions, Error, Position, SqlState};

/// Statements by the code that they fail with, in a database of `PREPARED`.
const MISTAKES: &[(&str, &[&str])] = &[
    (
        "42601",
        &[
            "SELEKT 1",
            "SELECT 1 FROM",
            "SELECT 'open",
            "INSERT INTO t (a) VALUES (1, 2)",
            "INSERT INTO t (a, b) VALUES (1)",
            "SELECT * FROM (SELECT 1 INTO w)",
            "MERGE INTO t USING u ON t.a = u.a",
            "SELECT 1 UNION SELECT 1, 2",
            "SELECT * FROM t WHERE (a, b) = (1, 2, 3)",
            "",
            "SELECT 1; SELECT 2 SELECT",
            "WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT 1, 2 FROM r) SELECT * FROM r",
        ],
    ),
    (
        "42P01",
        &[
            "SELECT * FROM nosuch",
            "INSERT INTO nosuch VALUES (1)",
            "DROP TABLE nosuch",
            "DROP VIEW nosuch",
            "SELECT nosuch.* FROM t",
            "SELECT * FROM public.nosuch",
            "UPDATE nosuch SET a = 1",
            "ALTER TABLE nosuch DROP COLUMN a",
        ],
    ),
    (
        "42703",
        &[
            "SELECT nosuch FROM t",
            "SELECT t.nosuch FROM t",
            "INSERT INTO t (nosuch) VALUES (1)",
            "UPDATE t SET nosuch = 1",
            "DELETE FROM t WHERE nosuch = 1",
            "ALTER TABLE t DROP COLUMN nosuch",
            "CREATE INDEX i ON heap (nosuch)",
            "SELECT * FROM t JOIN u USING (nosuch)",
        ],
    ),
    ("42702", &["SELECT a FROM t, u", "SELECT x.* , a FROM t x, u y"]),
    ("42712", &["SELECT * FROM t, t"]),
    (
        "42P07",
        &[
            "CREATE TABLE t (a INT)",
            "CREATE VIEW v AS SELECT 1",
            "CREATE VIEW t AS SELECT 1",
            "ALTER TABLE u RENAME TO t",
            "CREATE INDEX heap_i ON heap (a)",
        ],
    ),
    (
        "42701",
        &["CREATE TABLE w (a INT, a INT)", "ALTER TABLE t ADD COLUMN a INT", "INSERT INTO t (a, a) VALUES (1, 2)"],
    ),
    (
        "42804",
        &[
            "CREATE TABLE w (a INT CHECK (a + 1))",
            "INSERT INTO t (a, d) VALUES (7, true)",
            "SELECT 1 WHERE 1",
            "WITH RECURSIVE r AS (SELECT 1.5 AS a UNION ALL SELECT a * 1.5 FROM r WHERE a < 5) SELECT * FROM r",
        ],
    ),
    ("42000", &["SELECT arrow_cast(1, 'x')", "SELECT named_struct('a')"]),
    ("42501", &["DROP SCHEMA public", "CREATE TABLE information_schema.x (a INT)"]),
    ("42710", &["CREATE TABLE w (a INT, CONSTRAINT c CHECK (a > 0), CONSTRAINT c CHECK (a > 1))"]),
    ("42846", &["SELECT CAST(5 AS TIME)", "SELECT CAST(true AS TIME)", "EXECUTE dated(true)"]),
    ("42P02", &["SELECT $1", "SELECT a FROM t WHERE a = $1"]),
    ("42P17", &["CREATE TABLE w (a INT CHECK (a > random()))"]),
    ("42P19", &["CREATE VIEW own AS SELECT * FROM own", "CREATE OR REPLACE VIEW v AS SELECT a FROM of_v"]),
    ("42803", &["SELECT a, count(*) FROM t", "SELECT a FROM t WHERE count(*) > 1", "SELECT sum(sum(a)) FROM t"]),
    ("42P20", &["SELECT a FROM t WHERE row_number() OVER () > 1"]),
    ("42883", &["SELECT nosuch(1)", "SELECT sqrt(true)", "SELECT sqrt()"]),
    (
        "42P10",
        &[
            "SELECT DISTINCT a FROM t ORDER BY b",
            "SELECT a FROM t ORDER BY 7",
            "INSERT INTO t (a) VALUES (1) ON CONFLICT (b) DO NOTHING",
        ],
    ),
    ("42P16", &["CREATE TABLE w (a INT PRIMARY KEY, b INT PRIMARY KEY)"]),
    ("42830", &["CREATE TABLE w (a INT REFERENCES t (b))"]),
    ("42809", &["DROP VIEW t", "DROP TABLE v", "INSERT INTO v VALUES (1)", "INSERT INTO gingham_tables VALUES (1)"]),
    ("42939", &["CREATE TABLE gingham_tables (a INT)"]),
    ("42602", &["CREATE TABLE \"\" (a INT)"]),
    ("42704", &["SET nosuch = 1", "DROP INDEX nosuch", "SHOW nosuch", "SELECT sum(a) OVER w FROM t"]),
    ("42P06", &["CREATE SCHEMA s"]),
    ("3F000", &["SELECT * FROM nosuch.t", "DROP SCHEMA nosuch", "CREATE TABLE nosuch.t (a INT)"]),
    ("3D000", &["SELECT * FROM nosuch.public.t"]),
    ("2BP01", &["DROP SCHEMA s", "DROP TABLE t", "ALTER TABLE t DROP COLUMN a"]),
    ("42P05", &["PREPARE p AS SELECT 1"]),
    ("26000", &["EXECUTE nosuch", "DEALLOCATE nosuch"]),
    ("3B001", &["BEGIN; SAVEPOINT one; ROLLBACK TO nosuch"]),
    ("25001", &["BEGIN; SELECT a FROM t; SET TRANSACTION ISOLATION LEVEL READ COMMITTED"]),
    ("25006", &["BEGIN READ ONLY; DELETE FROM t"]),
    ("25P01", &["SAVEPOINT s", "DECLARE c CURSOR FOR SELECT 1", "LOCK TABLE t"]),
    ("34000", &["FETCH nosuch", "CLOSE nosuch"]),
    ("428C9", &["CREATE TABLE g (a INT GENERATED ALWAYS AS IDENTITY); INSERT INTO g VALUES (1)"]),
    ("2200H", &["CREATE SEQUENCE few MAXVALUE 2; SELECT setval('few', 2); SELECT nextval('few')"]),
    ("42P03", &["BEGIN; DECLARE c CURSOR FOR SELECT 1; DECLARE c CURSOR FOR SELECT 1"]),
    ("55P02", &["SET server_version = '17'", "RESET transaction_isolation"]),
    (
        "21000",
        &[
            "SELECT (SELECT a FROM t)",
            "MERGE INTO t USING (VALUES (1), (2)) v (x) ON true WHEN MATCHED THEN UPDATE SET a = x",
        ],
    ),
    ("22001", &["INSERT INTO t (a, b) VALUES (7, 'toolong')", "UPDATE t SET b = 'toolong'"]),
    ("22004", &["SELECT format('%I', NULL)"]),
    (
        "22003",
        &[
            "SELECT 9223372036854775807 + a FROM t",
            "SELECT CAST(3000000000 AS INT)",
            "SELECT sum(x) FROM (VALUES (99999999999999999999999999999999999999), (1)) AS t(x)",
            "INSERT INTO t (a) VALUES (3000000000)",
            "SELECT CAST('99999999999' AS INT)",
            "SELECT -9223372036854775807 - 2",
            "SELECT CAST(1e300 AS REAL)",
            "SELECT factorial(-1)",
            "SELECT lcm(9223372036854775807, 2)",
            "SELECT abs(-9223372036854775808)",
        ],
    ),
    (
        "22007",
        &[
            "SELECT DATE 'yesterdayish'",
            "SELECT CAST('x' AS TIMESTAMP)",
            "INSERT INTO t (a, d) VALUES (7, 'x')",
            "SELECT INTERVAL 'x'",
            "SELECT to_date('x', 'DD.MM.YYYY')",
        ],
    ),
    ("22000", &["INSERT INTO t (a) VALUES (9.6)", "INSERT INTO t (a, d) VALUES (7, TIMESTAMP '2024-01-01 10:00')"]),
    (
        "22008",
        &[
            "SELECT DATE '2024-02-30'",
            "SELECT CAST('25:00:00' AS TIME)",
            "SELECT make_date(2024, 13, 1)",
            "SELECT make_date(2024, 2, 30)",
            "SELECT make_time(25, 0, 0)",
            "SELECT INTERVAL '2147483647 months' + INTERVAL '1 month'",
            "SELECT INTERVAL '1 day' * 1e18",
        ],
    ),
    ("22015", &["SELECT '99999999999 days'::INTERVAL", "SELECT INTERVAL '1000000000 years'"]),
    (
        "22011",
        &[
            "SELECT substr(X'0011', 1, -1)",
            "SELECT overlay(X'0011' PLACING X'00' FROM 0)",
            "SELECT substring('abc', 1, -1)",
        ],
    ),
    (
        "22013",
        &[
            "SELECT sum(a) OVER (ORDER BY a RANGE -1 PRECEDING) FROM t",
            "SELECT sum(a) OVER (ORDER BY a ROWS BETWEEN 1 - 2 PRECEDING AND CURRENT ROW) FROM t",
        ],
    ),
    ("22014", &["SELECT ntile(a - a) OVER (ORDER BY a) FROM t", "SELECT ntile(0) OVER (ORDER BY a) FROM t"]),
    ("22016", &["SELECT nth_value(a, a - a) OVER (ORDER BY a) FROM t"]),
    ("22012", &["SELECT 1 / 0", "SELECT a / (a - a) FROM t", "SELECT 1.5 % 0.0"]),
    ("2200C", &["SELECT substring('a' SIMILAR '#\"a#\"b#\"' ESCAPE '#')"]),
    ("2202G", &["PREPARE seeded AS SELECT * FROM t TABLESAMPLE SYSTEM (1) REPEATABLE ($1); EXECUTE seeded(NULL)"]),
    ("2202H", &["SELECT * FROM t TABLESAMPLE SYSTEM (101)", "SELECT * FROM t TABLESAMPLE BERNOULLI (NULL)"]),
    (
        "22025",
        &[
            "SELECT 'a' LIKE 'b' ESCAPE 'xx'",
            "SELECT 'a' LIKE 'b\\'",
            "SELECT 'a' SIMILAR TO 'b#' ESCAPE '#'",
            "SELECT X'00' LIKE '\\'",
        ],
    ),
    ("2201F", &["SELECT sqrt(-1)", "SELECT sqrt(-1e0)"]),
    ("2201W", &["SELECT a FROM t LIMIT -1"]),
    ("2201X", &["SELECT a FROM t OFFSET -1"]),
    (
        "22023",
        &[
            "SET gingham.threads = 0",
            "CREATE TABLE w (a INT) WITH (layout = 'nosuch')",
            "SELECT now() AT TIME ZONE 'Nowhere/City'",
            "SELECT '\\xzz'::BYTEA",
            "SELECT X'00' = '\\x0'",
            "SELECT decode('0', 'hex')",
            "SELECT decode('YQ', 'base64')",
            "SELECT encode('a', 'nosuch')",
            "SELECT date_trunc('nosuch', DATE '2024-01-01')",
            "SELECT extract(nosuch FROM DATE '2024-01-01')",
            "SELECT split_part('a', 'b', 0)",
            "SELECT * FROM generate_series(1, 5, 0)",
        ],
    ),
    ("2202E", &["SELECT get_byte(X'00', 1)", "SELECT set_byte(X'00', -1, 0)"]),
    ("2201B", &["SELECT 'a' ~ '('"]),
    (
        "22P02",
        &[
            "SELECT CAST('x' AS INT)",
            "SELECT CAST('x' AS BOOLEAN)",
            "INSERT INTO t (a) VALUES ('x')",
            "SELECT CAST('x' AS DOUBLE)",
            "SELECT CAST('x' AS DECIMAL(5,2))",
            "SELECT 'a\\b'::BYTEA",
            "SELECT decode('\\400', 'escape')",
        ],
    ),
    ("23502", &["INSERT INTO t (a) VALUES (NULL)", "UPDATE t SET a = NULL"]),
    ("23503", &["INSERT INTO u VALUES (7)", "DELETE FROM t"]),
    ("23505", &["INSERT INTO t (a) VALUES (1)", "UPDATE t SET a = 1"]),
    ("23514", &["INSERT INTO t (a, c) VALUES (9, -1)"]),
    (
        "54000",
        &[
            "SELECT chr(0)",
            "SELECT a FROM t GROUP BY CUBE (a, a, a, a, a, a, a, a, a, a, a, a, a)",
            "SELECT a FROM t GROUP BY CUBE (a, b, c, d, a), CUBE (a, b, c, d, a), CUBE (a, b, c, d, a)",
            "SELECT chr(1114112)",
        ],
    ),
    (
        "54001",
        &[
            "SELECT ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))",
        ],
    ),
    ("58P01", &["SELECT * FROM 'nosuch.csv'", "COPY t FROM 'nosuch.csv'"]),
    ("0A000", &["REINDEX", "CREATE TRIGGER x", "WITH d AS (DELETE FROM u) SELECT * FROM d"]),
];

const PREPARED: &str = "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(3), c INT CHECK (c > 0), d DATE);
    INSERT INTO t VALUES (1, 'b', 1, NULL), (2, 'c', 1, NULL);
    CREATE TABLE u (a INT REFERENCES t); INSERT INTO u VALUES (1);
    CREATE TABLE heap (a INT) WITH (layout = 'nsm'); CREATE INDEX heap_i ON heap (a);
    CREATE VIEW v AS SELECT a FROM t; CREATE SCHEMA s; CREATE TABLE s.t (a INT); PREPARE p AS SELECT 1;
    CREATE VIEW of_v AS SELECT a FROM v; PREPARE dated (DATE) AS SELECT $1";

/// Codes of mistakes for which there is no statement in `MISTAKES`: tests below have files or folders for them, or calls of the API.
const OTHERS: &[&str] = &["00000", "01000", "08P01", "22021", "22P03", "22P04", "22P05", "55000", "57014", "58P02"];

#[test]
fn mistakes_have_their_codes() {
    let database = Database::in_memory().unwrap();
    let connection = database.connect();
    connection.execute(PREPARED).unwrap();
    let mut wrong = Vec::new();
    for (code, statements) in MISTAKES {
        for sql in *statements {
            // Each in a session whose transaction is its own.
            let told = match run(&connection, sql) {
                Ok(()) => "nothing".to_owned(),
                Err(error) if error.sqlstate() == *code => continue,
                Err(error) => format!("{} {error}", error.sqlstate()),
            };
            wrong.push(format!("{sql}: wanted {code}, was {told}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn run(connection: &gingham::Connection, sql: &str) -> gingham::Result<()> {
    let ran = if sql.is_empty() { connection.query(sql).map(|_| ()) } else { connection.execute(sql).map(|_| ()) };
    // What the statement began.
    if sql.starts_with("BEGIN") {
        let _ = connection.execute("ROLLBACK");
    }
    ran
}

/// A code that nothing raises would be a promise of the documentation alone.
#[test]
fn each_code_has_a_mistake() {
    for state in SqlState::ALL {
        let code = state.sqlstate();
        let shown = MISTAKES.iter().any(|(own, statements)| *own == code && !statements.is_empty());
        assert_ne!(shown, OTHERS.contains(&code), "{code}");
    }
}

#[test]
fn mistakes_in_files_have_their_codes() {
    let folder = tempfile::tempdir().unwrap();
    let connection = Database::in_memory().unwrap().connect();
    connection.execute("CREATE TABLE one (a INT); CREATE TABLE two (a INT, b VARCHAR, d DATE)").unwrap();
    let files: [(&str, &[u8]); 6] = [
        ("latin.csv", b"a,b,d\n1,caf\xe9,2024-01-01\n"),
        ("header.csv", b"a,caf\xe9,d\n1,b,2024-01-01\n"),
        ("ragged.csv", b"a\n1\n2,3\n"),
        ("short.parquet", b"PAR1xx"),
        ("bad.json", b"nonsense{"),
        ("date.csv", b"a,b,d\n1,b,x\n"),
    ];
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    for (code, sql) in [
        ("22021", "COPY two FROM '{}/latin.csv'"),
        ("22021", "SELECT * FROM '{}/latin.csv'"),
        ("22021", "COPY two FROM '{}/header.csv'"),
        ("22P04", "COPY one FROM '{}/ragged.csv'"),
        ("22P04", "SELECT * FROM '{}/ragged.csv'"),
        ("22P04", "COPY one FROM '{}/short.parquet'"),
        ("22P04", "SELECT * FROM '{}/short.parquet'"),
        ("22P04", "COPY one FROM '{}/bad.json'"),
        ("22P04", "SELECT * FROM '{}/bad.json'"),
        ("22007", "COPY two FROM '{}/date.csv' (HEADER true)"),
    ] {
        let sql = sql.replace("{}", &folder.path().display().to_string());
        let error = connection.execute(&sql).expect_err(&sql);
        assert_eq!(error.sqlstate(), code, "{sql}: {error}");
    }
}

/// A byte in a file of a table is another one than was written.
#[test]
fn a_changed_byte_is_told_as_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    {
        let connection = Database::open(&path).unwrap().connect();
        connection.execute("CREATE TABLE t AS SELECT value AS k FROM generate_series(1, 20000)").unwrap();
    }
    let mut changed = 0;
    for file in std::fs::read_dir(path.join("segments/1")).unwrap() {
        let file = file.unwrap().path();
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        changed += 1;
    }
    assert_eq!(changed, 1);
    let connection = Database::open(&path).unwrap().connect();
    let error = connection.execute("SELECT sum(k) FROM t").unwrap_err();
    assert_eq!(error.sqlstate(), "XX001", "{error}");
    assert!(error.to_string().contains("checksum is "), "{error}");
}

#[test]
fn errors_of_other_kinds_have_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.gingham");
    let database = Database::open(&path).unwrap();
    let (one, two) = (database.connect(), database.connect());
    one.execute("CREATE TABLE t (n INT)").unwrap();
    let code = |result: gingham::Result<u64>| result.unwrap_err().sqlstate();
    one.execute("BEGIN; SELECT n FROM t").unwrap();
    two.execute("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(code(one.execute("INSERT INTO t VALUES (2)")), "40001");
    one.execute("ROLLBACK").unwrap();
    one.execute("BEGIN IMMEDIATE").unwrap();
    two.execute("SET gingham.lock_timeout = '10 ms'").unwrap();
    assert_eq!(code(two.execute("INSERT INTO t VALUES (2)")), "55P03");
    one.execute("ROLLBACK").unwrap();
    let endless =
        one.query("SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 1000) b").unwrap();
    one.cancel_handle().cancel();
    assert_eq!(endless.collect_batches().unwrap_err().sqlstate(), "57014");
    let small = DatabaseOptions::new().memory_limit(8 << 20).temporary().unwrap();
    let large = "SELECT array_agg(value) FROM generate_series(1, 10000000)";
    assert_eq!(code(small.connect().execute(large)), "53200");
    let file = folder.path().join("file");
    std::fs::write(&file, "text").unwrap();
    assert_eq!(Database::open(&file).unwrap_err().sqlstate(), "58P02");
    assert_eq!(Database::open("/proc/nosuch/db").unwrap_err().sqlstate(), "58030");
    // Nothing is recorded that could be had.
    assert_eq!(one.recorded_workload().unwrap_err().sqlstate(), "55000");
}

#[test]
fn errors_name_their_place() {
    let connection = Database::in_memory().unwrap().connect();
    connection.execute("CREATE TABLE t (a INT)").unwrap();
    for (sql, line, column) in [
        ("SELECT *\n  FROM nosuch", 2, 8),
        ("SELECT a,\n\n nosuch FROM t", 3, 2),
        ("SELECT 1;\nSELECT nosuch FROM t", 2, 8),
        ("SELECT (1 +", 1, 12),
        ("SELECT a FROM t WHERE\n GROUP BY a", 2, 8),
        ("SELECT 'open", 1, 8),
        ("SELECT ä, nosuch FROM (SELECT 1 AS ä) u", 1, 11),
    ] {
        let error = connection.execute(sql).unwrap_err();
        assert_eq!(error.position(), Some(Position { line, column }), "{sql}: {error}");
        assert!(error.to_string().ends_with(&format!(" (line {line}, column {column})")), "{sql}: {error}");
    }
    assert_eq!(connection.execute("SELECT 1 / 0").unwrap_err().position(), None);
}

/// The table of the documentation has every kind, with its code.
#[test]
fn the_documentation_lists_all() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors.md")).unwrap();
    let mut listed: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        listed.push(line.trim_start_matches("| `").split('`').next().unwrap());
    }
    let mut codes: Vec<&str> = SqlState::ALL.iter().map(|state| state.sqlstate()).collect();
    let others = [
        Error::Unsupported(String::new()),
        Error::Corrupt { place: String::new(), detail: String::new() },
        Error::Conflict(String::new()),
        Error::LockTimeout(String::new()),
        Error::RolledBack(String::new()),
        Error::IdleTimeout(String::new()),
        Error::Terminated(String::new()),
        Error::Locked(String::new()),
        Error::DiskFull(String::new()),
        Error::Io(String::new()),
        Error::OutOfMemory(String::new()),
        Error::Cancelled,
        Error::Internal(String::new()),
    ];
    codes.extend(others.iter().map(Error::sqlstate));
    listed.sort_unstable();
    codes.sort_unstable();
    // A statement is given up by its user, and by who sends its bytes.
    codes.dedup();
    assert_eq!(listed, codes);
}

#[test]
fn bytes_that_are_no_value_have_their_code() {
    use gingham::wire::{WireFormat, parameter};
    for (oid, bytes) in [(23, &b"\x01"[..]), (1007, b"\0\0\0\x01"), (1700, b"\0\x01\0\0\0\0\0\0")] {
        let error = parameter(oid, WireFormat::Binary, Some(bytes)).unwrap_err();
        assert_eq!(error.sqlstate(), "22P03", "{oid}");
    }
}
