//! Tables and statements of ten kinds: scans, lookups, writes, and all of them together.

use crate::experiment::{Bench, Error, Mode};
use crate::tpch::{TpchTable, create_tables, generate_in_order, queries};
use gingham::load::LoadOptions;
use gingham::{Database, StatementHandle};
use std::fmt::Write;
use std::path::PathBuf;

/// A workload with its database.
pub(super) struct WorkloadCase {
    /// Its name as a level.
    pub(super) name: &'static str,
    /// The table that designs are compared of.
    pub(super) table: &'static str,
    /// Makes the database.
    make: fn(&Bench) -> Result<Database, Error>,
    /// The statements, as a file of the advisor has them.
    pub(super) statements: fn(&Bench) -> String,
    /// Files that it reads, within the folder of the settings.
    files: &'static [&'static str],
}

/// All of them; two small ones first, for tests.
pub(super) const CASES: [WorkloadCase; 10] = [
    WorkloadCase { name: "wide table scanned", table: "wide", make: wide, statements: scanned, files: &[] },
    WorkloadCase { name: "updates", table: "accounts", make: accounts, statements: updates, files: &[] },
    WorkloadCase { name: "TPC-H", table: "lineitem", make: tpch, statements: tpch_statements, files: &[] },
    WorkloadCase { name: "skewed keys", table: "events", make: events, statements: skewed, files: &[] },
    WorkloadCase { name: "wide table by key", table: "wide", make: wide, statements: by_key, files: &[] },
    WorkloadCase { name: "strings", table: "pages", make: pages, statements: strings, files: &[] },
    WorkloadCase { name: "appends with lookups", table: "accounts", make: accounts, statements: appends, files: &[] },
    WorkloadCase { name: "mixed", table: "accounts", make: accounts, statements: mixed, files: &[] },
    WorkloadCase { name: "ADULT", table: "adult", make: adult, statements: adult_statements, files: &["adult.csv"] },
    WorkloadCase {
        name: "BASEBALL",
        table: "batting",
        make: batting,
        statements: batting_statements,
        files: &["baseball/BattingPost.csv"],
    },
];

impl WorkloadCase {
    /// The cases that a bench has: few in tests and quick runs, and those with files where there are any.
    pub(super) fn of(bench: &Bench) -> impl Iterator<Item = &'static Self> {
        let count = match bench.settings.mode {
            Mode::Tiny => 2,
            Mode::Quick => 4,
            Mode::Default | Mode::Full => CASES.len(),
        };
        let folder = bench.settings.data.clone();
        CASES.iter().take(count).filter(move |case| {
            let there = |file: &&str| folder.as_ref().is_some_and(|folder| folder.join(file).exists());
            case.files.iter().all(there)
        })
    }

    /// Its database.
    pub(super) fn database(&self, bench: &Bench) -> Result<Database, Error> {
        (self.make)(bench)
    }
}

/// Records of the tables that are made here.
fn rows(bench: &Bench) -> usize {
    match bench.settings.mode {
        Mode::Tiny => 3000,
        Mode::Quick => 100_000,
        Mode::Default => 400_000,
        Mode::Full => 2_000_000,
    }
}

fn failed(error: gingham::Error) -> Error {
    Error::Data(error.to_string())
}

fn made(sql: &str) -> Result<Database, Error> {
    let database = Database::in_memory().map_err(failed)?;
    database.connect().execute(sql).map_err(failed)?;
    Ok(database)
}

fn wide(bench: &Bench) -> Result<Database, Error> {
    let columns: Vec<String> = (0..40)
        .map(|number| format!("value * {} % {} AS c{number}", 7919 + 2 * number, 100 << (number % 12)))
        .collect();
    let rows = rows(bench);
    made(&format!(
        "CREATE TABLE wide (id INTEGER PRIMARY KEY, {types});
         INSERT INTO wide SELECT value, {columns} FROM generate_series(1, {rows})",
        types = (0..40).map(|number| format!("c{number} INTEGER")).collect::<Vec<_>>().join(", "),
        columns = columns.join(", ")
    ))
}

fn scanned(_: &Bench) -> String {
    "-- weight: 4\nSELECT sum(c3) FROM wide WHERE c5 < 1000;
     SELECT c2, count(*), max(c7) FROM wide WHERE c11 BETWEEN 10 AND 2000 GROUP BY c2;
     SELECT sum(c9 + c10) FROM wide"
        .to_owned()
}

fn by_key(bench: &Bench) -> String {
    let mut text = String::new();
    for number in 0..8 {
        // Writing to a string can't fail.
        let _ = writeln!(text, "SELECT * FROM wide WHERE id = {};", 1 + number * 7919 % rows(bench));
    }
    text
}

fn accounts(bench: &Bench) -> Result<Database, Error> {
    let rows = rows(bench);
    made(&format!(
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner VARCHAR, branch INTEGER, balance DECIMAL(15,2), opened DATE);
         INSERT INTO accounts SELECT value, 'owner ' || value * 31 % 5000, value % 97, value * 7919 % 1000000 / 100.0,
                DATE '2015-01-01' + CAST(value % 3650 AS INTEGER) FROM generate_series(1, {rows})"
    ))
}

fn updates(bench: &Bench) -> String {
    let mut text = String::new();
    for number in 1..6 {
        let _ = writeln!(text, "UPDATE accounts SET balance = balance + 1 WHERE id = {};", number * 577 % rows(bench));
    }
    text + "SELECT branch, sum(balance) FROM accounts GROUP BY branch"
}

fn appends(bench: &Bench) -> String {
    let next = rows(bench) + 1;
    let mut text = String::new();
    for number in 0..4 {
        let _ = writeln!(
            text,
            "INSERT INTO accounts VALUES ({}, 'new', 5, 12.50, DATE '2026-01-01');\nSELECT * FROM accounts WHERE id = {};",
            next + number,
            1 + number * 911
        );
    }
    text
}

fn mixed(bench: &Bench) -> String {
    updates(bench)
        + ";\n-- weight: 3\nSELECT branch, count(*) FROM accounts WHERE opened >= DATE '2024-01-01' GROUP BY branch;
        SELECT owner, balance FROM accounts WHERE id = 17;
        SELECT sum(balance) FROM accounts WHERE opened BETWEEN DATE '2020-01-01' AND DATE '2020-03-01'"
}

fn events(bench: &Bench) -> Result<Database, Error> {
    let rows = rows(bench);
    // Every second event is of one user, every fourth of the next, and so on.
    made(&format!(
        "CREATE TABLE events AS SELECT value AS id,
                CAST(CASE WHEN value % 2 = 0 THEN 1 WHEN value % 4 = 1 THEN 2 WHEN value % 8 = 3 THEN 3 ELSE value % 10007 END AS INTEGER) AS user_id,
                CAST(value * 7919 % 86400 AS INTEGER) AS second, CAST(value % 23 AS INTEGER) AS kind, value * 0.25 AS amount
         FROM generate_series(1, {rows})"
    ))
}

fn skewed(_: &Bench) -> String {
    "SELECT kind, count(*), sum(amount) FROM events WHERE user_id = 1 GROUP BY kind;
     -- weight: 5\nSELECT sum(amount) FROM events WHERE user_id = 4711;
     SELECT count(DISTINCT user_id) FROM events WHERE second BETWEEN 3600 AND 7200"
        .to_owned()
}

fn pages(bench: &Bench) -> Result<Database, Error> {
    let rows = rows(bench);
    made(&format!(
        "CREATE TABLE pages AS SELECT value AS id, 'https://example.org/' || value % 977 || '/' || value * 31 % 7919 AS url,
                CASE value % 5 WHEN 0 THEN 'en' WHEN 1 THEN 'de' WHEN 2 THEN 'fr' WHEN 3 THEN 'it' ELSE 'es' END AS language,
                'title of page ' || value * 7 % 50000 AS title, CAST(value * 13 % 10000 AS INTEGER) AS visits
         FROM generate_series(1, {rows})"
    ))
}

fn strings(_: &Bench) -> String {
    "SELECT count(*) FROM pages WHERE url LIKE '%/97%';
     SELECT language, sum(visits) FROM pages WHERE title >= 'title of page 4' GROUP BY language;
     -- weight: 3\nSELECT max(url) FROM pages WHERE language = 'fr' AND visits > 9000"
        .to_owned()
}

/// TPC-H's scale for a bench.
fn scale(bench: &Bench) -> f64 {
    match bench.settings.mode {
        Mode::Tiny => 0.001,
        Mode::Quick => 0.02,
        Mode::Default => 0.1,
        Mode::Full => 1.0,
    }
}

fn tpch(bench: &Bench) -> Result<Database, Error> {
    let database = Database::in_memory().map_err(failed)?;
    let connection = database.connect();
    create_tables(&connection).map_err(failed)?;
    for table in TpchTable::ALL {
        let mut appender = connection.appender(table.name()).map_err(failed)?;
        generate_in_order(table, scale(bench), bench.settings.threads, |batch| appender.append_batch(batch))
            .map_err(failed)?;
        appender.finish().map_err(failed)?;
    }
    Ok(database)
}

fn tpch_statements(bench: &Bench) -> String {
    queries::NUMBERS.map(|number| queries::text(number, scale(bench)) + ";\n").collect()
}

fn loaded(bench: &Bench, table: &str, file: &str) -> Result<Database, Error> {
    let database = Database::in_memory().map_err(failed)?;
    let path: PathBuf = bench.settings.data.clone().unwrap_or_default().join(file);
    let options = LoadOptions { table: table.to_owned(), ..LoadOptions::default() };
    database.connect().load(&[path], &options, &StatementHandle::new()).map_err(failed)?;
    Ok(database)
}

fn adult(bench: &Bench) -> Result<Database, Error> {
    loaded(bench, "adult", "adult.csv")
}

fn adult_statements(_: &Bench) -> String {
    "SELECT education, count(*) FROM adult WHERE age > 40 GROUP BY education;
     SELECT count(*) FROM adult WHERE \"hours-per-week\" BETWEEN 35 AND 45 AND age < 30;
     SELECT occupation, max(age), sum(\"capital-gain\") FROM adult WHERE sex = 'Female' GROUP BY occupation"
        .to_owned()
}

fn batting(bench: &Bench) -> Result<Database, Error> {
    loaded(bench, "batting", "baseball/BattingPost.csv")
}

fn batting_statements(_: &Bench) -> String {
    "SELECT count(*) FROM batting WHERE \"HR\" > 1 AND \"yearID\" >= 1990;
     SELECT \"teamID\", sum(\"H\"), sum(\"AB\") FROM batting WHERE \"yearID\" BETWEEN 1950 AND 1960 GROUP BY \"teamID\";
     SELECT max(\"RBI\") FROM batting WHERE \"lgID\" = 'NL' AND \"G\" > 3"
        .to_owned()
}
