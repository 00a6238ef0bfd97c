//! Definitions and long values that grow and shrink at random, many times in a transaction, against a map: after each commit
//! `check` finds nothing, and the database is opened again now and then. What LMDB leaves of such transactions in its file is for the
//! catalog's verifier to know.

use crate::generator::Generator;
use crate::rows;
use gingham::{Connection, Database};
use std::collections::{BTreeMap, BTreeSet};

fn below(random: &mut Generator, end: u64) -> u64 {
    random.bits() % end
}

/// Tables of long texts, by layout.
const TEXTS: [&str; 4] = ["pax", "nsm", "dsm", "column"];

/// What a database holds.
#[derive(Debug, Clone, Default)]
struct Model {
    /// Numbers of columns of views, by the views' numbers.
    views: BTreeMap<u64, u64>,
    schemas: BTreeSet<u64>,
    /// The columns of table `wide` besides its key, and its rows.
    columns: BTreeSet<u64>,
    wide_rows: u64,
    /// Lengths by key, of each table of texts.
    texts: [BTreeMap<u64, u64>; TEXTS.len()],
}

fn run(connection: &Connection, sql: &str) -> u64 {
    connection.execute(sql).unwrap_or_else(|error| panic!("{}: {error}", &sql[..sql.len().min(300)]))
}

fn column(number: u64) -> String {
    format!("a_column_with_a_long_name_of_which_a_definition_has_many_{number}")
}

fn start(connection: &Connection) -> Model {
    for layout in TEXTS {
        run(connection, &format!("CREATE TABLE {layout} (k BIGINT PRIMARY KEY, s VARCHAR) WITH (layout = '{layout}')"));
    }
    run(connection, "CREATE TABLE wide (k BIGINT); SET gingham.auto_vacuum = false");
    Model::default()
}

/// One random statement, on the database and on the model.
fn step(connection: &Connection, random: &mut Generator, model: &mut Model) {
    match below(random, 12) {
        0..=2 => {
            let (view, columns) = (below(random, 3), 1 + random.pick(&[3, 150, 500, 900]) + below(random, 90));
            let texts: Vec<String> = (0..columns).map(|number| format!("'text {number}' AS c{number}")).collect();
            run(connection, &format!("CREATE OR REPLACE VIEW v{view} AS SELECT {}", texts.join(", ")));
            model.views.insert(view, columns);
        }
        3 => {
            let view = below(random, 3);
            run(connection, &format!("DROP VIEW IF EXISTS v{view}"));
            model.views.remove(&view);
        }
        4 => {
            let schema = below(random, 400);
            run(connection, &format!("CREATE SCHEMA IF NOT EXISTS a_schema_that_makes_the_state_longer_{schema}"));
            model.schemas.insert(schema);
        }
        5 => {
            for schema in model.schemas.iter().filter(|schema| **schema % 2 == 0) {
                run(connection, &format!("DROP SCHEMA a_schema_that_makes_the_state_longer_{schema}"));
            }
            model.schemas.retain(|schema| schema % 2 == 1);
        }
        6 => {
            for number in 0..1 + below(random, 40) {
                let number = number * 7 % 120;
                if model.columns.insert(number) {
                    run(connection, &format!("ALTER TABLE wide ADD COLUMN {} INTEGER", column(number)));
                }
            }
        }
        7 => {
            while model.columns.len() > below(random, 40) as usize {
                let number = model.columns.pop_last().expect("there is one");
                run(connection, &format!("ALTER TABLE wide DROP COLUMN {}", column(number)));
            }
        }
        8 => {
            let more = *random.pick(&[1, 100, 5000]);
            run(connection, &format!("INSERT INTO wide (k) SELECT value FROM generate_series(1, {more})"));
            run(connection, "UPDATE wide SET k = k + 1 WHERE k < 50");
            model.wide_rows += more;
        }
        _ => change_texts(connection, random, model),
    }
}

fn change_texts(connection: &Connection, random: &mut Generator, model: &mut Model) {
    let table = below(random, TEXTS.len() as u64) as usize;
    let (name, texts) = (TEXTS[table], &mut model.texts[table]);
    for _ in 0..=below(random, 6) {
        let key = below(random, 12);
        // As long as some pages, about a whole number of them, or short.
        let lengths = [below(random, 160_000), below(random, 40) * 4096 + below(random, 40), below(random, 60)];
        let length = *random.pick(&lengths);
        let text = format!("repeat('x', {length})");
        if below(random, 4) == 0 {
            run(connection, &format!("DELETE FROM {name} WHERE k = {key}"));
            texts.remove(&key);
        } else if texts.insert(key, length).is_some() {
            run(connection, &format!("UPDATE {name} SET s = {text} WHERE k = {key}"));
        } else {
            run(connection, &format!("INSERT INTO {name} VALUES ({key}, {text})"));
        }
    }
}

fn verify(database: &Database, model: &Model) {
    let report = database.check().expect("a report");
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let connection = database.connect();
    for (view, columns) in &model.views {
        assert_eq!(
            rows(&connection, &format!("SELECT c{} FROM v{view}", columns - 1)),
            [format!("text {}", columns - 1)]
        );
    }
    assert_eq!(rows(&connection, "SELECT count(*) FROM wide"), [model.wide_rows.to_string()]);
    let listed = "SELECT count(*) FROM gingham_columns WHERE table_name = 'wide'";
    assert_eq!(rows(&connection, listed), [(model.columns.len() + 1).to_string()]);
    for (name, texts) in TEXTS.iter().zip(&model.texts) {
        let expected: Vec<String> = texts.iter().map(|(key, length)| format!("{key}|{length}")).collect();
        assert_eq!(rows(&connection, &format!("SELECT k, length(s) FROM {name} ORDER BY k")), expected, "{name}");
    }
}

fn case(seed: u64, commits: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("db");
    let mut database = Database::open(&path).expect("a new database");
    let mut connection = database.connect();
    let (mut random, mut model) = (Generator::new(seed), start(&connection));
    for _ in 0..commits {
        let mut changed = model.clone();
        let whole = below(&mut random, 5) > 0;
        if whole {
            run(&connection, "BEGIN");
        }
        for _ in 0..if whole { 1 + below(&mut random, 8) } else { 1 } {
            step(&connection, &mut random, &mut changed);
        }
        if whole && below(&mut random, 6) == 0 {
            run(&connection, "ROLLBACK");
        } else {
            if whole {
                run(&connection, "COMMIT");
            }
            model = changed;
        }
        match below(&mut random, 12) {
            0 => drop(run(&connection, "VACUUM")),
            1 => {
                drop((connection, database));
                database = Database::open(&path).expect("the database opens again");
                connection = database.connect();
                run(&connection, "SET gingham.auto_vacuum = false");
            }
            _ => {}
        }
        verify(&database, &model);
    }
}

#[test]
fn definitions_and_long_values_may_grow_and_shrink() {
    let seeds = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 0..400 } else { 0..4 };
    for seed in seeds {
        println!("seed {seed}");
        case(seed, 16);
    }
}
