//! What users may do by their roles, each kind of statement in both protocols and within a transaction: docs/sessions.md as clients meet it.

use crate::harness::{Served, code, told};
use futures::{SinkExt, StreamExt};
use tokio_postgres::Client;

/// A server with users, a table and files of the machine.
struct Shop {
    served: Served,
    admin: Client,
    file: String,
}

impl Shop {
    async fn open() -> Self {
        let served = Served::with_users(&[]);
        std::fs::write(served.folder().join("n.csv"), "n\n1\n2\n").unwrap();
        let file = served.folder().join("n.csv").display().to_string();
        let admin = served.user("ada").await;
        let tables = format!(
            "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH (layout = 'nsm'); INSERT INTO t VALUES (1, 10);
             CREATE SEQUENCE s; CREATE VIEW files AS SELECT * FROM '{file}'"
        );
        admin.batch_execute(&tables).await.unwrap();
        Self { served, admin, file }
    }

    /// The names of all files in the folder that clients' statements name.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.served.folder()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    async fn rows(&self) -> i64 {
        self.admin.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get(0)
    }
}

/// Runs a statement in each way in which a client can, and checks that each ends with a code, and a text that ends so.
async fn is_refused(client: &Client, sql: &str, state: &str, end: &str) {
    let check = |how: &str, error: Result<(), tokio_postgres::Error>| {
        let (code, text) = told(&error.expect_err(&format!("{how}: {sql}")));
        assert_eq!(code, state, "{how}: {sql}: {text}");
        assert!(text.ends_with(end), "{how}: {sql}: {text}");
    };
    check("simple", client.batch_execute(sql).await);
    check("extended", client.execute(sql, &[]).await.map(drop));
    for how in ["simple", "extended"] {
        client.batch_execute("BEGIN").await.unwrap();
        check(
            &format!("{how}, within a transaction"),
            match how {
                "simple" => client.batch_execute(sql).await,
                _ => client.execute(sql, &[]).await.map(drop),
            },
        );
        // The transaction has failed like any other.
        assert_eq!(code(&client.batch_execute("SELECT 1").await.unwrap_err()), "25P02", "{how}: {sql}");
        client.batch_execute("ROLLBACK").await.unwrap();
    }
    check("behind another statement", client.batch_execute(&format!("SELECT 1; {sql}")).await);
}

/// Runs a statement in both protocols.
async fn is_allowed(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {:?}", told(&error)));
    client.execute(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {:?}", told(&error)));
}

/// Copies rows in; how many there were.
async fn copy_in(client: &Client, sql: &str, rows: &str) -> Result<u64, tokio_postgres::Error> {
    let mut sink = Box::pin(client.copy_in(sql).await?);
    sink.send(bytes::Bytes::copy_from_slice(rows.as_bytes())).await?;
    sink.as_mut().finish().await
}

/// Copies rows out; how many bytes there were.
async fn copy_out(client: &Client, sql: &str) -> Result<usize, tokio_postgres::Error> {
    let mut stream = Box::pin(client.copy_out(sql).await?);
    let mut bytes = 0;
    while let Some(piece) = stream.next().await {
        bytes += piece?.len();
    }
    Ok(bytes)
}

#[tokio::test]
async fn who_reads_writes_nothing() {
    let shop = Shop::open().await;
    let reader = shop.served.user("bob").await;
    reader.batch_execute("PREPARE write AS INSERT INTO t VALUES (7, 7)").await.unwrap();
    for sql in [
        "INSERT INTO t VALUES (2, 20)",
        "INSERT INTO t VALUES (2, 20) RETURNING k",
        "INSERT INTO t VALUES (1, 20) ON CONFLICT (k) DO NOTHING",
        "UPDATE t SET v = 11 WHERE k = 1",
        "DELETE FROM t",
        "MERGE INTO t USING (SELECT 1 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE",
        "WITH gone AS (DELETE FROM t RETURNING k) SELECT * FROM gone",
        "EXPLAIN ANALYZE DELETE FROM t",
        "EXECUTE write",
        "TRUNCATE t",
        "COPY t FROM STDIN",
        "COPY t FROM STDIN (FORMAT binary)",
        "CREATE TABLE u (n INT)",
        "CREATE TABLE u AS SELECT 1 AS n",
        "CREATE TEMP TABLE u (n INT)",
        "SELECT 1 AS n INTO u",
        "CREATE VIEW w AS SELECT 1 AS n",
        "CREATE INDEX i ON t (v)",
        "CREATE SCHEMA a",
        "CREATE SEQUENCE r",
        "ALTER TABLE t ADD COLUMN w INT",
        "ALTER SEQUENCE s RESTART",
        "COMMENT ON TABLE t IS 'x'",
        "DROP TABLE t",
        "DROP VIEW files",
        "DROP SEQUENCE s",
        "SELECT nextval('s')",
        "SELECT setval('s', 3)",
        "SELECT * FROM t FOR UPDATE",
        "LOCK TABLE t",
        "SET transaction_read_only = off",
        "SET TRANSACTION READ WRITE",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SET default_transaction_read_only = off",
        "SELECT set_config('default_transaction_read_only', 'off', false)",
    ] {
        is_refused(&reader, sql, "25006", "needs role write; user 'bob' has role read").await;
    }
    let late = "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM t FOR UPDATE";
    assert_eq!(code(&reader.batch_execute(late).await.unwrap_err()), "25006");
    for sql in ["BEGIN IMMEDIATE", "BEGIN READ WRITE", "START TRANSACTION READ WRITE"] {
        assert_eq!(code(&reader.batch_execute(sql).await.unwrap_err()), "25006", "{sql}");
        assert_eq!(code(&reader.execute(sql, &[]).await.unwrap_err()), "25006", "{sql}");
    }
    // These run alone, and never in a transaction.
    for sql in ["VACUUM", "VACUUM ANALYZE", "ANALYZE t", "OPTIMIZE TABLE t", "ALTER TABLE t SET (layout = 'column')"] {
        assert_eq!(code(&reader.batch_execute(sql).await.unwrap_err()), "25006", "{sql}");
        assert_eq!(code(&reader.execute(sql, &[]).await.unwrap_err()), "25006", "{sql}");
    }
    let insert = reader.prepare("INSERT INTO t VALUES ($1, $1)").await.unwrap();
    assert_eq!(code(&reader.execute(&insert, &[&3_i32]).await.unwrap_err()), "25006");
    // Neither can it be asked for with the connection.
    let how = "user=bob password=bob options='-c default_transaction_read_only=off'";
    let (state, text) = told(&shop.served.connect(how).await.unwrap_err());
    assert_eq!(state, "25006", "{text}");
    assert_eq!(shop.rows().await, 1);
}

#[tokio::test]
async fn files_and_settings_are_for_who_may_do_all() {
    let shop = Shop::open().await;
    let before = shop.files();
    let (file, folder) = (&shop.file, shop.served.folder().display());
    let mut all: Vec<(String, bool)> = Vec::new();
    for from in [
        format!("'{file}'"),
        format!("'{folder}/*.csv'"),
        format!("'{folder}/'"),
        format!("\"{file}\""),
        format!("'{folder}/missing.parquet'"),
        format!("read_csv('{file}')"),
        format!("read_csv_auto('{file}')"),
        format!("read_parquet('{folder}/missing.parquet')"),
        format!("read_json('{folder}/missing.json')"),
        format!("read_arrow('{folder}/missing.arrow')"),
        "files".to_owned(),
    ] {
        all.push((format!("SELECT * FROM {from}"), false));
        all.push((format!("EXPLAIN SELECT * FROM {from}"), false));
        all.push((format!("SELECT (SELECT count(*) FROM {from})"), false));
        all.push((format!("COPY (SELECT * FROM {from}) TO STDOUT"), false));
        all.push((format!("CREATE TABLE u AS SELECT * FROM {from}"), true));
        all.push((format!("INSERT INTO t SELECT 2, n FROM {from} f(n)"), true));
    }
    all.extend([
        (format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{file}'"), true),
        (format!("COPY t FROM '{file}'"), true),
        (format!("COPY t FROM '{folder}/missing.csv'"), true),
        (format!("COPY t TO '{folder}/out.csv'"), false),
        (format!("COPY (SELECT 1) TO '{folder}/out.parquet'"), false),
        ("SELECT gingham_clear_workload()".to_owned(), false),
    ]);
    for (setting, value) in [
        ("gingham.memory_limit", "'1GB'"),
        ("gingham.threads", "1"),
        ("gingham.record_workload", "true"),
        ("gingham.io", "'direct'"),
        ("gingham.auto_vacuum", "false"),
        ("gingham.idle_writer_timeout", "0"),
        ("datafusion.execution.batch_size", "1"),
        ("datafusion.runtime.temp_directory", "'/tmp'"),
    ] {
        all.push((format!("SET {setting} = {value}"), false));
        all.push((format!("SET {setting} TO DEFAULT"), false));
        all.push((format!("RESET {setting}"), false));
        let text = value.trim_matches('\'');
        all.push((format!("SELECT set_config('{setting}', '{text}', false)"), false));
    }
    for (name, role) in [("bob", "read"), ("eve", "write")] {
        let client = shop.served.user(name).await;
        for (sql, writes) in &all {
            // Who reads is told first that it can't be written.
            if role == "write" || !writes {
                is_refused(&client, sql, "42501", &format!("needs role admin; user '{name}' has role {role}")).await;
            } else {
                let state = code(&client.batch_execute(sql).await.unwrap_err());
                assert!(["25006", "42501"].contains(&state.as_str()), "{sql}: {state}");
            }
        }
        for setting in ["gingham.memory_limit=1GB", "datafusion.execution.batch_size=1"] {
            let how = format!("user={name} password={name} options='-c {setting}'");
            assert_eq!(code(&shop.served.connect(&how).await.unwrap_err()), "42501", "{how}");
        }
        // A program that the server would start is nobody's.
        for client in [&client, &shop.admin] {
            let error = client.batch_execute("COPY t FROM PROGRAM 'echo 1'").await.unwrap_err();
            assert_eq!(code(&error), "0A000");
        }
    }
    assert_eq!(shop.files(), before, "nothing was written");
    assert_eq!(shop.rows().await, 1);
}

#[tokio::test]
async fn who_reads_reads_all() {
    let shop = Shop::open().await;
    let reader = shop.served.user("bob").await;
    for sql in [
        "SELECT * FROM t",
        "SELECT v FROM t WHERE k = 1",
        "EXPLAIN DELETE FROM t",
        "EXPLAIN ANALYZE SELECT * FROM t",
        "SUMMARIZE t",
        "SELECT pg_advisory_lock(1), pg_advisory_unlock(1)",
        "SET statement_timeout = '10s'",
        "SET gingham.layout = 'pax'",
        "SET myapp.user = 'x'",
        "SET default_transaction_read_only = on",
        "RESET ALL",
        "SELECT * FROM pg_stat_activity",
        "DISCARD ALL",
    ] {
        is_allowed(&reader, sql).await;
    }
    reader.batch_execute("BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH c; CLOSE c; COMMIT").await.unwrap();
    assert!(copy_out(&reader, "COPY t TO STDOUT").await.unwrap() > 0);
    assert!(copy_out(&reader, "COPY (SELECT * FROM t) TO STDOUT (FORMAT binary)").await.unwrap() > 0);
    // The client is told what it may.
    let asked = "SELECT current_setting('is_superuser'), current_setting('transaction_read_only'), current_user";
    let row = reader.query_one(asked, &[]).await.unwrap();
    assert_eq!([row.get::<_, &str>(0), row.get(1), row.get(2)], ["off", "on", "bob"]);
}

#[tokio::test]
async fn who_writes_writes_all_tables() {
    let shop = Shop::open().await;
    let writer = shop.served.user("eve").await;
    for sql in [
        "INSERT INTO t SELECT max(k) + 1, 20 FROM t",
        "UPDATE t SET v = v + 1 WHERE k = 2",
        "CREATE TABLE IF NOT EXISTS u (n INT)",
        "ALTER TABLE u ADD COLUMN IF NOT EXISTS m INT",
        "SELECT nextval('s')",
        "SELECT * FROM t FOR UPDATE",
        "DROP TABLE IF EXISTS u",
        "VACUUM",
        "ANALYZE t",
        "OPTIMIZE TABLE t",
        "SET work_mem = '64MB'",
    ] {
        is_allowed(&writer, sql).await;
    }
    assert_eq!(copy_in(&writer, "COPY t FROM STDIN", "10\t1\n11\t1\n").await.unwrap(), 2);
    assert_eq!(copy_in(&writer, "COPY t FROM STDIN (FORMAT csv)", "12,1\n").await.unwrap(), 1);
    assert!(copy_out(&writer, "COPY t TO STDOUT").await.unwrap() > 0);
    assert_eq!(shop.rows().await, 6);
}

#[tokio::test]
async fn who_may_do_all_does() {
    let shop = Shop::open().await;
    let (file, folder) = (&shop.file, shop.served.folder().display());
    for sql in [
        format!("SELECT * FROM '{file}'"),
        format!("SELECT * FROM read_csv('{file}')"),
        "SELECT * FROM files".to_owned(),
        format!("COPY t TO '{folder}/out.csv' (FORMAT csv)"),
        format!("COPY (SELECT 1 AS a) TO '{folder}/out.parquet'"),
        "CREATE OR REPLACE TABLE u (n INT)".to_owned(),
        format!("COPY u FROM '{file}' (FORMAT csv, HEADER true)"),
        "SET gingham.threads = 2".to_owned(),
        "RESET gingham.threads".to_owned(),
        "SET gingham.idle_writer_timeout = '2 min'".to_owned(),
    ] {
        is_allowed(&shop.admin, &sql).await;
    }
    shop.admin.batch_execute(&format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{file}'")).await.unwrap();
    assert_eq!(copy_in(&shop.admin, "COPY t FROM STDIN", "10\t1\n").await.unwrap(), 1);
    let files = shop.files();
    assert!(files.contains(&"out.csv".into()) && files.contains(&"out.parquet".into()), "{files:?}");
    assert_eq!(shop.admin.query_one("SELECT count(*) FROM u", &[]).await.unwrap().get::<_, i64>(0), 4);
}
