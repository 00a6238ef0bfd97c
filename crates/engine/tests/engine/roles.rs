//! What users may do by their roles: each kind of thing that is refused, in each form that it can be written in.

use crate::{connect, rows};
use gingham::load::LoadOptions;
use gingham::{Connection, Database, Role, ScalarValue, SessionOptions, StatementHandle};
use std::path::Path;

/// A database with a table, a sequence, and a view over a file that only an administrator may read.
struct Shop {
    database: Database,
    folder: tempfile::TempDir,
}

impl Shop {
    fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("n.csv"), "n\n1\n2\n").expect("a file");
        let database = Database::in_memory().expect("a database");
        let admin = database.connect();
        admin.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH (layout = 'nsm')").expect("a table");
        admin.execute("INSERT INTO t VALUES (1, 10); CREATE SEQUENCE s").expect("a row");
        admin
            .execute(&format!("CREATE VIEW files AS SELECT * FROM '{}/n.csv'", folder.path().display()))
            .expect("a view");
        Self { database, folder }
    }

    fn connect(&self, role: Role) -> Connection {
        self.database.connect_with(&SessionOptions::new().user("ada").role(role)).expect("a session")
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The code and the text of the error that a statement ends with, also while its rows come.
fn refused(connection: &Connection, sql: &str) -> (&'static str, String) {
    match connection.execute(sql) {
        Ok(_) => ("00000", format!("{sql} ran")),
        Err(error) => (error.sqlstate(), error.to_string()),
    }
}

#[test]
fn who_reads_writes_nothing() {
    let shop = Shop::open();
    let reader = shop.connect(Role::Read);
    reader.execute("PREPARE write AS INSERT INTO t VALUES (7, 7)").expect("it is not run");
    for sql in [
        "INSERT INTO t VALUES (2, 20)",
        "INSERT INTO t SELECT 2, 20",
        "INSERT INTO t VALUES (2, 20) RETURNING k",
        "INSERT INTO t VALUES (1, 20) ON CONFLICT (k) DO NOTHING",
        "UPDATE t SET v = 11 WHERE k = 1",
        "UPDATE t SET v = 11",
        "DELETE FROM t WHERE k = 1",
        "DELETE FROM t WHERE k = 99",
        "MERGE INTO t USING (SELECT 1 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE",
        "WITH gone AS (DELETE FROM t RETURNING k) SELECT * FROM gone",
        "EXPLAIN ANALYZE DELETE FROM t",
        "EXPLAIN ANALYZE EXECUTE write",
        "EXECUTE write",
        "TRUNCATE t",
        "CREATE TABLE u (n INT)",
        "CREATE TABLE u AS SELECT 1 AS n",
        "CREATE TEMP TABLE u (n INT)",
        "CREATE TEMP TABLE u AS SELECT 1 AS n",
        "SELECT 1 AS n INTO u",
        "CREATE VIEW w AS SELECT 1 AS n",
        "CREATE TEMP VIEW w AS SELECT 1 AS n",
        "CREATE INDEX i ON t (v)",
        "CREATE SCHEMA a",
        "CREATE SEQUENCE r",
        "CREATE TEMP SEQUENCE r",
        "ALTER SEQUENCE s RESTART",
        "ALTER TABLE t ADD COLUMN w INT",
        "ALTER TABLE t SET (layout = 'column')",
        "ALTER TABLE t RENAME TO u",
        "ALTER VIEW files RENAME TO other",
        "COMMENT ON TABLE t IS 'x'",
        "DROP TABLE t",
        "DROP TABLE IF EXISTS nothing",
        "DROP VIEW files",
        "DROP SEQUENCE s",
        "SELECT nextval('s')",
        "SELECT setval('s', 3)",
        "SELECT * FROM t FOR UPDATE",
        "SELECT * FROM t WHERE k = 1 FOR SHARE",
        "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM t FOR UPDATE",
        "BEGIN; LOCK TABLE t",
        "ROLLBACK; BEGIN IMMEDIATE",
        "ROLLBACK; BEGIN READ WRITE",
        "BEGIN; SET TRANSACTION READ WRITE",
        "SET transaction_read_only = off",
        "ROLLBACK; SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SET default_transaction_read_only = off",
        "SET LOCAL default_transaction_read_only = 'false'; BEGIN; SET LOCAL default_transaction_read_only = 'false'",
        "ROLLBACK; SELECT set_config('default_transaction_read_only', 'off', false)",
        "VACUUM",
        "VACUUM ANALYZE",
        "ANALYZE t",
        "OPTIMIZE TABLE t",
    ] {
        let (state, text) = refused(&reader, sql);
        assert_eq!(state, "25006", "{sql}: {text}");
        assert!(text.ends_with("needs role write; user 'ada' has role read"), "{sql}: {text}");
    }
    reader.execute("ROLLBACK").expect("it is over");
    let insert = reader.prepare("INSERT INTO t VALUES ($1, $1)").expect("it is not run");
    assert_eq!(insert.query(&[ScalarValue::from(3)]).expect_err("a write").sqlstate(), "25006");
    let lists = [[4], [5]].map(|list| Ok(list.map(ScalarValue::from).to_vec()));
    assert_eq!(insert.for_each(lists, &StatementHandle::new()).expect_err("a write").sqlstate(), "25006");
    assert_eq!(reader.appender("t").expect_err("a write").sqlstate(), "25006");
    let copied = reader.copy_in("COPY t FROM STDIN", &mut "2,20\n".as_bytes(), &StatementHandle::new());
    assert_eq!(copied.expect_err("a write").sqlstate(), "25006");
    assert_eq!(rows(&shop.database.connect(), "SELECT k, v FROM t"), ["1|10"]);
}

#[test]
fn who_reads_reads_all() {
    let shop = Shop::open();
    let reader = shop.connect(Role::Read);
    for sql in [
        "SELECT * FROM t",
        "SELECT v FROM t WHERE k = 1",
        "EXPLAIN DELETE FROM t",
        "EXPLAIN ANALYZE SELECT * FROM t",
        "DESCRIBE t",
        "SUMMARIZE t",
        "SHOW TABLES",
        "BEGIN",
        "BEGIN; SAVEPOINT a; ROLLBACK TO a; RELEASE a; COMMIT",
        "BEGIN READ ONLY; SELECT * FROM t; COMMIT AND CHAIN; SELECT * FROM t; ROLLBACK",
        "START TRANSACTION ISOLATION LEVEL READ COMMITTED; DECLARE c CURSOR FOR SELECT * FROM t; FETCH c; CLOSE c; COMMIT",
        "PREPARE p AS SELECT $1 + 1; EXECUTE p(1); DEALLOCATE p",
        "SELECT pg_advisory_lock(1), pg_advisory_unlock(1)",
        "SET statement_timeout = '10s'; RESET statement_timeout",
        "SET application_name = 'x'; RESET ALL",
        "SET default_transaction_read_only = on; SET default_transaction_read_only TO DEFAULT",
        "DISCARD ALL",
        "DISCARD TEMP",
        "SELECT * FROM pg_stat_activity",
    ] {
        reader.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for (setting, value) in [
        ("default_transaction_read_only", "on"),
        ("transaction_read_only", "on"),
        ("is_superuser", "off"),
        ("session_authorization", "ada"),
    ] {
        assert_eq!(rows(&reader, &format!("SHOW {setting}")), [value], "{setting}");
    }
    let mut bytes = Vec::new();
    let copied = reader.copy_out("COPY t TO STDOUT", &mut bytes, &StatementHandle::new());
    assert_eq!(copied.expect("rows"), 1);
    assert!(String::from_utf8(bytes).expect("text").contains("10"));
}

#[test]
fn files_and_settings_are_for_who_may_do_all() {
    let shop = Shop::open();
    let (folder, file) = (shop.path().display(), shop.path().join("n.csv"));
    let file = file.display();
    let writer = shop.connect(Role::Write);
    writer.execute("PREPARE p AS SELECT * FROM t").expect("a query");
    let mut all: Vec<String> = Vec::new();
    for from in [
        format!("'{file}'"),
        format!("'{folder}/*.csv'"),
        format!("'{folder}/'"),
        format!("\"{file}\""),
        format!("'{folder}/missing.parquet'"),
        format!("read_csv('{file}')"),
        format!("read_csv(['{file}', '{file}'])"),
        format!("read_csv_auto('{file}')"),
        format!("read_parquet('{folder}/missing.parquet')"),
        format!("read_json('{folder}/missing.json')"),
        format!("read_arrow('{folder}/missing.arrow')"),
        "files".to_owned(),
        "public.files".to_owned(),
    ] {
        for sql in [
            "SELECT * FROM @",
            "SELECT (SELECT count(*) FROM @)",
            "SELECT 1 WHERE EXISTS (SELECT * FROM @)",
            "WITH w AS (SELECT * FROM @) SELECT * FROM w",
            "SELECT * FROM t JOIN @ f ON true",
            "SELECT * FROM t, LATERAL (SELECT * FROM @) f",
            "SELECT 1 UNION ALL SELECT count(*) FROM @",
            "EXPLAIN SELECT * FROM @",
            "EXPLAIN ANALYZE SELECT * FROM @",
            "DESCRIBE SELECT * FROM @",
            "SUMMARIZE SELECT * FROM @",
            "PREPARE q AS SELECT * FROM @",
            "CREATE TABLE u AS SELECT * FROM @",
            "CREATE TEMP TABLE u AS SELECT * FROM @",
            "CREATE VIEW w AS SELECT * FROM @",
            "INSERT INTO t SELECT 2, n FROM @ f(n)",
            "UPDATE t SET v = n FROM @ f(n)",
            "DELETE FROM t USING @ f",
            "MERGE INTO t USING @ f(n) ON k = n WHEN MATCHED THEN DELETE",
            "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM @",
        ] {
            all.push(sql.replace('@', &from));
        }
    }
    all.extend([
        format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{file}'"),
        format!("CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION '{folder}/'"),
        format!("COPY t FROM '{file}'"),
        format!("COPY t FROM '{folder}/missing.csv'"),
        format!("COPY t TO '{folder}/out.csv'"),
        format!("COPY (SELECT 1) TO '{folder}/out.parquet'"),
        format!("COPY (SELECT * FROM t) TO '{folder}/out.json' (FORMAT json)"),
        format!("EXPLAIN ANALYZE COPY t TO '{folder}/out.csv'"),
        "SELECT gingham_clear_workload()".to_owned(),
    ]);
    for (setting, value) in [
        ("gingham.memory_limit", "'1GB'"),
        ("gingham.threads", "1"),
        ("gingham.record_workload", "true"),
        ("gingham.machine", "'reference'"),
        ("gingham.io", "'direct'"),
        ("gingham.io_depth", "1000"),
        ("gingham.auto_vacuum", "false"),
        ("gingham.idle_writer_timeout", "0"),
        ("datafusion.execution.batch_size", "1"),
        ("datafusion.execution.target_partitions", "1"),
        ("datafusion.runtime.memory_limit", "'1G'"),
        ("datafusion.runtime.temp_directory", "'/tmp'"),
        ("GINGHAM.Threads", "1"),
    ] {
        all.push(format!("SET {setting} = {value}"));
        all.push(format!("SET {setting} TO DEFAULT"));
        all.push(format!("RESET {setting}"));
        all.push(format!("BEGIN; SET LOCAL {setting} = {value}"));
        all.push(format!("ROLLBACK; SELECT set_config('{setting}', {}, false)", quote(value)));
        all.push(format!("SELECT set_config(name, {}, false) FROM (VALUES ('{setting}')) v(name)", quote(value)));
    }
    for sql in &all {
        let (state, text) = refused(&writer, sql);
        // EXPLAIN of COPY is no statement.
        let expected = if sql.contains("EXPLAIN ANALYZE COPY") && state != "00000" { state } else { "42501" };
        assert_eq!(state, expected, "{sql}: {text}");
        assert!(state != "42501" || text.contains("needs role admin; user 'ada' has role write"), "{sql}: {text}");
    }
    let options = LoadOptions { table: "u".into(), ..Default::default() };
    let loaded = writer.load(&[shop.path().join("n.csv")], &options, &StatementHandle::new());
    assert_eq!(loaded.expect_err("a file").sqlstate(), "42501");
    let mut left = std::fs::read_dir(shop.path()).expect("a folder");
    assert!(left.all(|entry| entry.expect("an entry").file_name() == "n.csv"), "nothing was written");
    // A query of a view over a file that is kept by nobody is no way around.
    let admin = shop.database.connect();
    for _ in 0..3 {
        assert_eq!(rows(&admin, "SELECT n FROM files ORDER BY n"), ["1", "2"]);
        assert_eq!(refused(&writer, "SELECT n FROM files ORDER BY n").0, "42501");
    }
}

fn quote(value: &str) -> String {
    if value.starts_with('\'') { value.to_owned() } else { format!("'{value}'") }
}

#[test]
fn who_writes_writes_all_tables() {
    let shop = Shop::open();
    let writer = shop.connect(Role::Write);
    for sql in [
        "INSERT INTO t VALUES (2, 20)",
        "UPDATE t SET v = 21 WHERE k = 2",
        "CREATE TABLE u AS SELECT nextval('s') AS n",
        "CREATE TEMP TABLE own (n INT)",
        "ALTER TABLE u ADD COLUMN m INT",
        "SELECT * FROM t FOR UPDATE",
        "DROP TABLE u",
        "VACUUM",
        "SET gingham.layout = 'pax'",
        "SET lock_timeout = '1s'",
        "SET search_path = public",
        "SET myapp.user = 'x'",
        "SET work_mem = '64MB'",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "RESET ALL",
        "DISCARD ALL",
    ] {
        writer.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let copied = writer.copy_in("COPY t FROM STDIN (FORMAT csv)", &mut "3,30\n".as_bytes(), &StatementHandle::new());
    assert_eq!(copied.expect("rows"), 1);
    assert_eq!(rows(&writer, "SELECT count(*) FROM t"), ["3"]);
}

#[test]
fn privileges_are_those_of_the_role() {
    let shop = Shop::open();
    let asked = "SELECT has_table_privilege('t', 'SELECT'), has_table_privilege('t', 'INSERT'),
        has_table_privilege('t', 'SELECT, DELETE'), has_column_privilege('t', 'k', 'UPDATE'),
        has_schema_privilege('public', 'USAGE'), has_schema_privilege('public', 'CREATE'),
        has_database_privilege(current_database(), 'TEMP'), has_sequence_privilege('s', 'USAGE'),
        has_table_privilege(current_user, 't', 'UPDATE'), pg_has_role('gingham', 'MEMBER')";
    for (role, expected) in [
        (Role::Read, "true|false|true|false|true|false|false|false|false|false"),
        (Role::Write, "true|true|true|true|true|true|true|true|true|false"),
        (Role::Admin, "true|true|true|true|true|true|true|true|true|true"),
    ] {
        let connection = shop.connect(role);
        assert_eq!(rows(&connection, asked), [expected], "{role}");
        assert_eq!(rows(&connection, "SELECT has_table_privilege('gingham', 't', 'UPDATE')"), ["true"]);
        let role_of = "SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user";
        assert_eq!(rows(&connection, role_of), [format!("ada|{}", role == Role::Admin)]);
        let owner = "SELECT pg_get_userbyid(relowner), relowner::regrole FROM pg_class WHERE relname = 't'";
        assert_eq!(rows(&connection, owner), ["gingham|gingham"]);
    }
    assert_eq!(refused(&shop.connect(Role::Read), "SELECT has_table_privilege('bob', 't', 'SELECT')").0, "42704");
}

#[test]
fn a_session_of_the_program_may_do_all() {
    let connection = connect();
    let asked = "SELECT current_user, session_user, current_setting('is_superuser'), version() LIKE 'Gingham %'";
    assert_eq!(rows(&connection, asked), ["gingham|gingham|on|true"]);
}
