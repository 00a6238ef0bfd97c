//! SUMMARIZE beside the same figures in SQL: what is exact must be the same, what is estimated near.

use crate::{connect, failure, rows};
use gingham::{Connection, DatabaseOptions, ScalarValue};

/// Records of the table: more than a zone, and less than a segment.
const RECORDS: u64 = 120_000;
/// Columns of the table that have an order of their own, all with NULLs.
const COLUMNS: [(&str, &str); 10] = [
    ("k", "value"),
    ("n", "CAST(nullif(value * 7919 % 30011, 5) AS INTEGER)"),
    ("big", "nullif(9007199254740993 + value * 31 % 1009, 9007199254740993)"),
    ("f", "nullif(value * 131 % 10007, 0) / 8e0"),
    ("d", "CAST(CAST(nullif(value * 37 % 20011, 7) AS DECIMAL(12,2)) / 4 AS DECIMAL(18,6))"),
    ("s", "'name ' || nullif(value * 101 % 4001, 9)"),
    ("day", "DATE '2024-01-01' + CAST(nullif(value % 700, 3) AS INTEGER)"),
    ("t", "TIMESTAMP '2024-01-01 00:00:00' + nullif(value % 5003, 11) * INTERVAL '1 second'"),
    ("few", "CAST(nullif(value % 5, 0) AS SMALLINT)"),
    ("yes", "nullif(value % 3, 0) = 1"),
];
/// Columns with quartiles and bars.
const ORDERED: [&str; 8] = ["k", "n", "big", "f", "d", "day", "t", "few"];

fn table(connection: &Connection, name: &str, layout: &str) {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, sql)| format!("{sql} AS {name}")).collect();
    let sql = format!(
        "CREATE TABLE {name} WITH (layout = '{layout}') AS SELECT {} FROM generate_series(1, {RECORDS}); OPTIMIZE {name}",
        columns.join(", ")
    );
    connection.execute(&sql).expect("a table");
}

/// A figure of a column as SUMMARIZE gives it, by rows of `names` and fields.
struct Summary(Vec<Vec<String>>);

impl Summary {
    fn of(connection: &Connection, what: &str) -> Self {
        let rows = rows(connection, &format!("SUMMARIZE {what}"));
        Self(rows.into_iter().map(|row| row.split('|').map(str::to_owned).collect()).collect())
    }

    fn of_column(&self, column: &str) -> &[String] {
        self.0.iter().find(|row| row[0] == column).expect("a row of each column")
    }
}

fn one(connection: &Connection, sql: &str) -> String {
    rows(connection, sql).concat()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{text} is a number"))
}

/// Compares a table's summary with SQL.
fn verify(connection: &Connection, table: &str) {
    let summary = Summary::of(connection, table);
    assert_eq!(summary.0.len(), COLUMNS.len());
    for (column, _) in COLUMNS {
        let (row, about) = (summary.of_column(column), format!("{column} of {table}"));
        let sql = format!(
            "SELECT min({column})::TEXT, max({column})::TEXT, count(*),
                CAST(round(100 * (count(*) - count({column}))::DECIMAL(20,0) / count(*), 2) AS DECIMAL(5,2)) FROM {table}"
        );
        let exact = [&row[2], &row[3], &row[10], &row[11]].map(String::as_str).join("|");
        assert_eq!(exact, one(connection, &sql), "{about}");
        let distinct = number(&one(connection, &format!("SELECT count(DISTINCT {column}) FROM {table}")));
        assert!((number(&row[4]) - distinct).abs() <= distinct * 0.06, "{about}: {} of {distinct}", row[4]);
    }
    for column in ["k", "n", "big", "f", "d", "few"] {
        let row = summary.of_column(column);
        assert_eq!(row[5], one(connection, &format!("SELECT avg({column})::TEXT FROM {table}")), "{column} of {table}");
        let exact = number(&one(connection, &format!("SELECT stddev({column}) FROM {table}")));
        assert!((number(&row[6]) - exact).abs() <= exact * 1e-10, "{column} of {table}: {} of {exact}", row[6]);
    }
    for column in ["s", "day", "t", "yes"] {
        assert_eq!(summary.of_column(column)[5..=6], ["", ""], "{column} of {table}");
    }
    for column in ORDERED {
        quartiles(connection, table, summary.of_column(column));
    }
    for column in ["s", "yes"] {
        assert_eq!(summary.of_column(column)[7..10], ["", "", ""], "{column} of {table}");
        assert_eq!(summary.of_column(column)[12], "", "{column} of {table}");
    }
    bars(connection, table, &summary);
}

/// Quartiles are values that occur, and their ranks are near.
fn quartiles(connection: &Connection, table: &str, summary: &[String]) {
    let (column, data_type) = (&summary[0], &summary[1]);
    for (value, fraction) in summary[7..10].iter().zip([0.25, 0.5, 0.75]) {
        let value = format!("CAST('{value}' AS {data_type})");
        let part =
            |compared: &str| format!("(count(*) FILTER (WHERE {column} {compared} {value}))::DOUBLE / count({column})");
        let sql = format!("SELECT {}, {} FROM {table}", part("<"), part("<="));
        let ranks = one(connection, &sql);
        let (below, within) = ranks.split_once('|').expect("two ranks");
        assert!(
            number(below) <= fraction + 0.02 && number(within) >= fraction - 0.02,
            "{value} of {column} in {table} is from {below} to {within}, not {fraction}"
        );
    }
}

/// Bars are those of records counted by SQL.
fn bars(connection: &Connection, table: &str, summary: &Summary) {
    let bar = |value: &str| format!("least(10 * ({value} - low) / (high - low), 9)");
    for (column, bar) in [
        ("k", bar("v")),
        ("n", bar("v")),
        ("big", bar("v")),
        ("f", "CAST(least(floor((v - low) / (high - low) * 10), 9) AS BIGINT)".to_owned()),
        ("day", bar("v")),
        ("few", "v - low".to_owned()),
    ] {
        let sql = format!(
            "SELECT {bar}, count(*) FROM (SELECT {column} AS v, (SELECT min({column}) FROM {table}) AS low,
                (SELECT max({column}) FROM {table}) AS high FROM {table}) AS x WHERE v IS NOT NULL GROUP BY 1 ORDER BY 1"
        );
        let counts: Vec<u64> = rows(connection, &sql)
            .iter()
            .map(|row| row.rsplit_once('|').expect("a count").1.parse().expect("a count"))
            .collect();
        let most = counts.iter().max().expect("a bar");
        let heights = "▁▂▃▄▅▆▇█".chars().collect::<Vec<_>>();
        let expected: String = counts.iter().map(|count| heights[(count * 7).div_ceil(*most) as usize]).collect();
        assert_eq!(summary.of_column(column)[12], expected, "{column} of {table}: {counts:?}");
    }
}

#[test]
fn figures_are_those_of_sql_in_every_layout() {
    let connection = connect();
    for (name, layout) in [("c", "column"), ("r", "row"), ("b", "byteslice"), ("p", "pax")] {
        table(&connection, name, layout);
        verify(&connection, name);
    }
    for execution in ["datafusion", "interpreted"] {
        connection
            .execute(&format!("SET gingham.execution = '{execution}'; SET gingham.threads = 1"))
            .expect("settings");
        verify(&connection, "c");
    }
}

#[test]
fn memory_is_bounded() {
    let options = DatabaseOptions::new().memory_limit(24 << 20).threads(2);
    let folder = tempfile::tempdir().expect("a folder");
    let connection = options.open(folder.path().join("db")).expect("a database").connect();
    let sql =
        "CREATE TABLE t AS SELECT value AS k, value * 7919 % 1000003 AS n, 'a text that fills room ' || value AS s,
        value * 31 % 100003 / 8e0 AS f FROM generate_series(1, 600000); OPTIMIZE t";
    connection.execute(sql).expect("a table");
    let summary = Summary::of(&connection, "t");
    assert_eq!(summary.of_column("k")[2..4], ["1", "600000"]);
    assert_eq!(summary.of_column("s")[10], "600000");
    assert!((number(&summary.of_column("s")[4]) - 6e5).abs() < 4e4, "{:?}", summary.of_column("s"));
    // Of the rows of a query nothing is kept, either.
    let doubled = Summary::of(&connection, "SELECT k, s FROM t UNION ALL SELECT k, s FROM t");
    assert_eq!(doubled.of_column("k")[10], "1200000");
}

#[test]
fn a_wide_table_has_a_row_for_each_column() {
    let connection = connect();
    let columns: Vec<String> = (0..200).map(|number| format!("value * {number} AS \"C {number}\"")).collect();
    let sql = format!("CREATE TABLE t AS SELECT {} FROM generate_series(1, 50)", columns.join(", "));
    connection.execute(&sql).expect("a table");
    let summary = Summary::of(&connection, "t");
    assert_eq!(summary.0.len(), 200);
    assert_eq!(summary.of_column("C 199")[2..4], ["199", "9950"]);
}

#[test]
fn it_is_known_before_it_runs_and_takes_parameters() {
    let connection = connect();
    connection.execute("CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 100)").expect("a table");
    let prepared = connection.prepare("SUMMARIZE SELECT n FROM t WHERE n > $1 LIMIT $2").expect("a statement");
    let known = prepared.schema().expect("its columns are fixed");
    assert_eq!(prepared.parameter_types().len(), 2);
    let result = prepared.query(&[ScalarValue::from(40i64), ScalarValue::from(1000i64)]).expect("rows");
    assert_eq!((result.schema(), result.tag().to_string()), (known.clone(), "SUMMARIZE".to_owned()));
    let batches = result.collect_batches().expect("rows");
    assert_eq!(batches[0].schema(), known);
    let cell = |name: &str| {
        let column = batches[0].column_by_name(name).expect("a column");
        ScalarValue::try_from_array(column, 0).expect("a value").to_string()
    };
    assert_eq!([cell("min"), cell("max"), cell("count"), cell("approx_unique")], ["41", "100", "60", "60"]);
    assert_eq!(connection.prepare("SUMMARIZE t").expect("a statement").schema(), Some(known));
    let error = connection.prepare("SUMMARIZE nosuch").expect_err("no table").to_string();
    assert!(error.starts_with("table 'nosuch' does not exist"), "{error}");
}

#[test]
fn it_reads_one_snapshot_and_a_database_that_is_only_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("db");
    {
        let database = DatabaseOptions::new().open(&path).expect("a database");
        let (one, two) = (database.connect(), database.connect());
        one.execute("CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 10)").expect("a table");
        let count = |connection: &Connection| Summary::of(connection, "t").of_column("n")[10].clone();
        one.execute("BEGIN").expect("a transaction");
        assert_eq!(count(&one), "10");
        two.execute("INSERT INTO t VALUES (11)").expect("a record");
        assert_eq!((count(&one), count(&two)), ("10".to_owned(), "11".to_owned()));
        one.execute("ROLLBACK").expect("the end");
        assert_eq!(count(&one), "11");
    }
    let reading = DatabaseOptions::new().read_only(true).open(&path).expect("a database").connect();
    assert_eq!(Summary::of(&reading, "t").of_column("n")[2..4], ["1", "11"]);
    let error = failure(&reading, "SUMMARIZE SELECT 1 / (n - 5) FROM t");
    assert_eq!(error.sqlstate(), "22012");
}
