//! The advisor's candidates: each can be had by the statements that are told, each can be undone, and the model's order is that of
//! plain cases.

use gingham::advisor::{Candidate, Comparison, StatementUse, TableFacts, Workload, model, propose, rank};
use gingham::{Connection, Database};
use gingham_kernels::Isa;

fn connection() -> Connection {
    let connection = Database::in_memory().expect("a database").connect();
    connection
        .execute(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, day DATE NOT NULL, \"Kind of\" VARCHAR, price DECIMAL(12,2), a INTEGER, b INTEGER,
                            note VARCHAR);
             INSERT INTO t SELECT value, DATE '2020-01-01' + CAST(value * 31 % 1000 AS INTEGER), 'kind ' || value % 5, value * 0.25,
                    value % 100, value % 1000, 'note ' || value FROM generate_series(1, 20000)",
        )
        .expect("a table");
    connection
}

fn uses(connection: &Connection, workload: &str) -> Vec<(f64, StatementUse)> {
    let workload = Workload::parse(workload, "w").expect("a workload");
    let of = |statement: &gingham::advisor::WorkloadStatement| {
        (statement.weight, connection.workload_use(statement, &workload.origin).expect("its uses"))
    };
    workload.statements.iter().map(of).collect()
}

fn facts(connection: &Connection) -> TableFacts {
    TableFacts::of(&connection.table("t").expect("the table"))
}

const MIXED: &str = "SELECT sum(price) FROM t WHERE day BETWEEN DATE '2020-02-01' AND DATE '2020-03-01' AND \"Kind of\" = 'kind 3';
    SELECT a, sum(b) FROM t WHERE a < 50 GROUP BY a; SELECT * FROM t WHERE id = 77; SELECT count(*) FROM t WHERE note = 'note 7';
    UPDATE t SET price = price + 1 WHERE id = 5; DELETE FROM t WHERE b = 7; INSERT INTO t VALUES (0, DATE '2020-01-01', 'x', 1, 2, 3, 'n')";

#[test]
fn uses_tell_columns_conditions_and_writes() {
    let connection = connection();
    let uses = uses(&connection, MIXED);
    let scan = &uses[0].1.tables[0];
    assert_eq!((scan.columns.len(), scan.filters.len()), (1, 2));
    assert!(scan.rows > 50.0 && scan.rows < 300.0, "{scan:?}");
    assert_eq!(uses[2].1.tables[0].columns.len(), 7);
    assert!(uses[2].1.tables[0].rows <= 2.0);
    let written: Vec<f64> = uses[4..].iter().map(|(_, uses)| uses.write.as_ref().expect("a write").rows).collect();
    assert!(written[0] <= 2.0 && (written[1] - 20.0).abs() < 10.0 && written[2] == 1.0, "{written:?}");
    assert!(uses.iter().all(|(_, uses)| !uses.volatile && uses.comparison == Comparison::default()));
    assert!(self::uses(&connection, "SELECT now(), a FROM t")[0].1.volatile);
}

#[test]
fn answers_are_compared_as_far_as_the_statement_fixes_them() {
    let connection = connection();
    let rows = |keys: &[usize]| Comparison::Rows { keys: keys.to_vec() };
    let first = |keys: &[usize], skips: bool| Comparison::First { keys: keys.to_vec(), skips };
    for (sql, expected) in [
        ("SELECT a, b FROM t", rows(&[])),
        ("SELECT a, b FROM t ORDER BY b DESC, a", rows(&[1, 0])),
        ("SELECT a AS b, b AS a FROM t ORDER BY a", rows(&[1])),
        ("SELECT a FROM t ORDER BY a, b", rows(&[0])),
        ("SELECT a FROM t ORDER BY b, a", rows(&[])),
        ("SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY count(*) DESC, 1", rows(&[1, 0])),
        ("SELECT a + 1 AS s FROM t ORDER BY s LIMIT 3", first(&[0], false)),
        ("SELECT a, b FROM t ORDER BY b LIMIT 3 OFFSET 2", first(&[1], true)),
        ("SELECT a FROM (SELECT a, b FROM t ORDER BY b) q", rows(&[])),
        ("SELECT a FROM t LIMIT 3", Comparison::Count),
        ("SELECT a FROM t ORDER BY b LIMIT 3", Comparison::Count),
        ("SELECT a FROM (SELECT a FROM t LIMIT 3) q ORDER BY a", Comparison::Count),
        ("SELECT a FROM t WHERE b = (SELECT b FROM t LIMIT 1)", Comparison::Count),
        ("SELECT row_number() OVER () FROM t", Comparison::Count),
        ("SELECT array_agg(a) FROM t", Comparison::Count),
    ] {
        assert_eq!(uses(&connection, sql)[0].1.comparison, expected, "{sql}");
    }
}

#[test]
fn every_candidate_can_be_had_and_undone() {
    let connection = connection();
    let uses = uses(&connection, MIXED);
    let candidates = propose(&facts(&connection), &uses);
    let text = |connection: &Connection| {
        let definition = connection.table("t").expect("the table").definition.clone();
        let named = definition.indexes.iter().filter(|index| !index.of_constraint).count();
        (Candidate::present(&definition).text(&definition), named)
    };
    let kinds = |word: &str| candidates.iter().any(|one| one.text(&facts(&connection).table.definition).contains(word));
    for word in [
        "row",
        "mempax(65536)",
        "byteslice",
        "vbp",
        "super_tuple",
        "dense_column",
        "nsm",
        "pax",
        "deletes",
        "sorted by",
        "index on",
        "groups(",
    ] {
        assert!(kinds(word), "{word}");
    }
    assert!(candidates.len() > 20 && candidates.len() < 200, "{}", candidates.len());
    let sums = "SELECT count(*), sum(id), sum(price), max(note), min(\"Kind of\") FROM t";
    let answer = || format!("{:?}", connection.query(sums).and_then(|result| result.collect_batches()).expect("sums"));
    let (before, expected) = (text(&connection), answer());
    for candidate in &candidates {
        let definition = connection.table("t").expect("the table").definition.clone();
        let (change, undo) = (candidate.statements(&definition), candidate.undo(&definition));
        for sql in &change {
            connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        let index = candidate.index.is_some();
        let told = Candidate { index: None, ..candidate.clone() }.text(&definition);
        assert_eq!(text(&connection), (told, usize::from(index)), "{change:?}");
        assert_eq!(answer(), expected, "{change:?}");
        for sql in &undo {
            connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        assert_eq!(text(&connection), before, "{undo:?}");
    }
}

#[test]
fn facts_tell_how_clustered_zones_are() {
    let connection = Database::in_memory().expect("a database").connect();
    connection
        .execute("CREATE TABLE t WITH (sort_by = 'rising') AS SELECT value AS rising, value * 7919 % 2600 AS anywhere, 7 AS same FROM generate_series(1, 300000)")
        .expect("a table");
    connection.execute("OPTIMIZE TABLE t").expect("segments");
    let spreads: Vec<f64> = facts(&connection).columns.iter().map(|column| column.spread).collect();
    assert!(spreads[0] < 0.3 && spreads[1] > 0.99 && spreads[2] == 0.0, "{spreads:?}");
}

#[test]
fn statements_quote_names_that_are_words_of_sql() {
    let connection = Database::in_memory().expect("a database").connect();
    connection
        .execute("CREATE TABLE \"order\" AS SELECT value AS \"select\", value % 7 AS \"group\" FROM generate_series(1, 9000)")
        .expect("a table");
    let workload = "SELECT \"group\" FROM \"order\" WHERE \"select\" = 7; DELETE FROM \"order\" WHERE \"select\" = 8";
    let (uses, facts) =
        (uses(&connection, workload), TableFacts::of(&connection.table("\"order\"").expect("the table")));
    let definition = &facts.table.definition;
    for candidate in propose(&facts, &uses) {
        for sql in candidate.statements(definition).iter().chain(&candidate.undo(definition)) {
            connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }
}

/// The text of the candidate that the model ranks first.
fn first(connection: &Connection, workload: &str) -> String {
    let (facts, uses) = (facts(connection), uses(connection, workload));
    let ranked = rank(&facts, propose(&facts, &uses), &uses, Isa::best()).expect("an order");
    ranked[0].0.text(&facts.table.definition)
}

#[test]
fn the_model_knows_plain_cases() {
    let connection = connection();
    connection.execute("INSERT INTO t SELECT id + 20000, day, \"Kind of\", price, a, b, note FROM t").expect("more");
    for _ in 0..4 {
        let more = "INSERT INTO t SELECT id + (SELECT max(id) FROM t), day, \"Kind of\", price, a, b, note FROM t";
        connection.execute(more).expect("more");
    }
    let by_key = first(&connection, "UPDATE t SET price = price + 1 WHERE id = 5; SELECT * FROM t WHERE id = 9");
    assert!(by_key.starts_with("pax") || by_key.starts_with("nsm"), "{by_key}");
    let scan = first(&connection, "SELECT sum(price) FROM t WHERE day < DATE '2020-01-20'");
    assert!(scan.ends_with("sorted by day"), "{scan}");
    let (facts, uses) = (facts(&connection), uses(&connection, "SELECT sum(a) FROM t"));
    let cost = |layout| {
        let candidate = Candidate {
            design: gingham::storage::Design::of_layout(layout),
            ..Candidate::present(&facts.table.definition)
        };
        model(&facts, &candidate, &uses, Isa::best()).expect("a cost")
    };
    let (column, row) = (cost(gingham::storage::Layout::Column), cost(gingham::storage::Layout::Row));
    assert!(column.nanoseconds < row.nanoseconds && column.bytes <= row.bytes, "{column:?} {row:?}");
}
