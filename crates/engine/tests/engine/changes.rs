//! INSERT, UPDATE, DELETE, ON CONFLICT, MERGE, OPTIMIZE and changes of layout at random, against a map; and tables with deleted records against
//! the same records written anew.

use crate::{connect, each_way, rows};
use gingham::{Connection, DatabaseOptions};
use std::collections::BTreeMap;

const LAYOUTS: [&str; 12] = [
    "column",
    "pax",
    "mempax(7)",
    "row",
    "byteslice",
    "nsm",
    "bit_packed",
    "mempax(4096)",
    "dsm",
    "vbp",
    "super_tuple",
    "dense_column",
];

/// By key: a number and a string.
type Model = BTreeMap<i64, (Option<i64>, Option<String>)>;

/// Numbers in no order, the same for each seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end as u64) as i64
    }
}

/// What `INSERT … SELECT` below gives for a key.
fn inserted(key: i64) -> (Option<i64>, Option<String>) {
    let number = (key % 5 != 0).then_some(key % 100);
    let text = (key % 7 != 0).then(|| format!("text {}", key % 11));
    (number, text)
}

/// One random statement, on the table and on the model. Gives its text.
fn step(connection: &Connection, random: &mut Random, model: &mut Model, next: &mut i64) -> String {
    let affected = |sql: &str| connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let (low, width) = (random.below((*next).max(1)), 1 + random.below(400));
    let high = low + width;
    match random.below(14) {
        0..=2 => {
            let count = [1, 3, 50, 2000, 18_000][random.below(5) as usize];
            let sql = format!(
                "INSERT INTO t SELECT value, CASE WHEN value % 5 <> 0 THEN value % 100 END,
                 CASE WHEN value % 7 <> 0 THEN 'text ' || CAST(value % 11 AS VARCHAR) END
                 FROM generate_series({next}, {})",
                *next + count - 1
            );
            assert_eq!(affected(&sql), count as u64, "{sql}");
            model.extend((*next..*next + count).map(|key| (key, inserted(key))));
            *next += count;
            sql
        }
        3 | 4 => {
            let sql = format!("DELETE FROM t WHERE k >= {low} AND k < {high}");
            let before = model.len();
            model.retain(|key, _| !(low..high).contains(key));
            assert_eq!(affected(&sql), (before - model.len()) as u64, "{sql}");
            sql
        }
        5 => {
            let (part, of) = (random.below(9), 2 + random.below(8));
            let sql = format!("DELETE FROM t WHERE k % {of} = {part} AND v IS NOT NULL");
            let before = model.len();
            model.retain(|key, (number, _)| !(key % of == part && number.is_some()));
            assert_eq!(affected(&sql), (before - model.len()) as u64, "{sql}");
            sql
        }
        6 => {
            // Columns alone, of records all over the table.
            let (part, of) = (random.below(3), 1 + random.below(5));
            let sql = format!("UPDATE t SET s = s || '?', v = nullif(v, 7) + 1 WHERE k % {of} = {part}");
            let mut changed = 0;
            for (_, (number, text)) in model.iter_mut().filter(|(key, _)| *key % of == part) {
                *number = number.filter(|number| *number != 7).map(|number| number + 1);
                text.iter_mut().for_each(|text| text.push('?'));
                changed += 1;
            }
            assert_eq!(affected(&sql), changed, "{sql}");
            sql
        }
        7 => {
            let sql = format!("UPDATE t SET v = coalesce(v, 0) + k % 3, s = s || '!' WHERE k >= {low} AND k < {high}");
            let mut changed = 0;
            for (key, (number, text)) in model.range_mut(low..high) {
                *number = Some(number.unwrap_or(0) + key % 3);
                text.iter_mut().for_each(|text| text.push('!'));
                changed += 1;
            }
            assert_eq!(affected(&sql), changed, "{sql}");
            sql
        }
        8 => {
            // Keys move onto those that move away.
            let sql = format!("UPDATE t SET k = k + 1 WHERE k >= {low}");
            let moved = model.split_off(&low);
            assert_eq!(affected(&sql), moved.len() as u64, "{sql}");
            model.extend(moved.into_iter().map(|(key, row)| (key + 1, row)));
            *next += 1;
            sql
        }
        9 => {
            let taken: Vec<i64> = model.keys().copied().take(2).collect();
            let [first, second] = taken[..] else { return String::new() };
            let sql = format!("UPDATE t SET k = {first} WHERE k = {second}");
            assert!(connection.execute(&sql).is_err(), "{sql}");
            sql
        }
        10 => {
            let sql = format!(
                "INSERT INTO t SELECT value, value % 100, 'up' FROM generate_series({low}, {})
                 ON CONFLICT (k) DO UPDATE SET v = excluded.v, s = t.s || excluded.s",
                high - 1
            );
            assert_eq!(affected(&sql), width as u64, "{sql}");
            for key in low..high {
                let label = match model.get(&key) {
                    None => Some("up".to_owned()),
                    Some((_, label)) => label.as_ref().map(|label| format!("{label}up")),
                };
                model.insert(key, (Some(key % 100), label));
            }
            *next = high.max(*next);
            sql
        }
        11 => {
            let sql = format!(
                "MERGE INTO t USING (SELECT value AS k FROM generate_series({low}, {})) n ON t.k = n.k
                 WHEN MATCHED AND t.k % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = NULL
                 WHEN NOT MATCHED THEN INSERT (k, s) VALUES (n.k, 'merged')",
                high - 1
            );
            assert_eq!(affected(&sql), width as u64, "{sql}");
            for key in low..high {
                match model.remove(&key) {
                    None => drop(model.insert(key, (None, Some("merged".to_owned())))),
                    Some((_, label)) if key % 2 != 0 => drop(model.insert(key, (None, label))),
                    Some(_) => {}
                }
            }
            *next = high.max(*next);
            sql
        }
        12 => {
            affected("OPTIMIZE t");
            "OPTIMIZE t".to_owned()
        }
        _ => {
            let layout = LAYOUTS[random.below(LAYOUTS.len() as i64) as usize];
            let sql = format!("ALTER TABLE t SET (layout = '{layout}')");
            affected(&sql);
            sql
        }
    }
}

fn text<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or(String::new(), ToString::to_string)
}

/// Compares the table with the model.
fn compare(connection: &Connection, model: &Model, what: &str) {
    let all: Vec<String> =
        model.iter().map(|(key, (number, label))| format!("{key}|{}|{}", text(number), text(label))).collect();
    assert_eq!(rows(connection, "SELECT k, v, s FROM t ORDER BY k"), all, "{what}");
    let numbers: Vec<i64> = model.values().filter_map(|row| row.0).collect();
    let labels: std::collections::BTreeSet<&String> = model.values().filter_map(|row| row.1.as_ref()).collect();
    let sum = if numbers.is_empty() { None } else { Some(numbers.iter().sum::<i64>()) };
    let expected = format!(
        "{}|{}|{}|{}|{}|{}|{}|{}",
        model.len(),
        numbers.len(),
        text(&sum),
        text(&numbers.iter().min()),
        text(&numbers.iter().max()),
        labels.len(),
        text(&model.keys().next()),
        text(&model.keys().next_back())
    );
    let sql = "SELECT count(*), count(v), sum(v), min(v), max(v), count(DISTINCT s), min(k), max(k) FROM t";
    assert_eq!(rows(connection, sql), [expected], "{what}");
    for (sql, count) in [
        ("SELECT count(*) FROM t", model.len()),
        ("SELECT count(*) FROM t WHERE s IS NULL", model.values().filter(|row| row.1.is_none()).count()),
        ("SELECT count(*) FROM t WHERE v < 50 AND s LIKE '%1'", {
            let holds = |row: &&(Option<i64>, Option<String>)| {
                row.0.is_some_and(|number| number < 50) && row.1.as_ref().is_some_and(|text| text.ends_with('1'))
            };
            model.values().filter(holds).count()
        }),
        ("SELECT count(*) FROM t a JOIN t b ON a.k = b.k WHERE b.v >= 0", numbers.len()),
    ] {
        assert_eq!(rows(connection, sql), [count.to_string()], "{what}: {sql}");
    }
    let mut groups: BTreeMap<&Option<String>, (usize, i64)> = BTreeMap::new();
    for (key, (_, label)) in model {
        let group = groups.entry(label).or_default();
        *group = (group.0 + 1, group.1 + key);
    }
    let expected: Vec<String> =
        groups.iter().map(|(label, (count, keys))| format!("{}|{count}|{keys}", text(label))).collect();
    let sql = "SELECT s, count(*), sum(k) FROM t GROUP BY s ORDER BY s NULLS FIRST";
    assert_eq!(rows(connection, sql), expected, "{what}");
}

#[test]
fn random_changes_are_those_of_a_map() {
    let seeds = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 0..200 } else { 0..3 };
    for seed in seeds {
        let (connection, mut random) = (connect(), Random(seed));
        let (mut model, mut next, mut done) = (Model::new(), 0, Vec::new());
        let layout = LAYOUTS[seed as usize % LAYOUTS.len()];
        let sql = format!("CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT, s VARCHAR) WITH (layout = '{layout}')");
        connection.execute(&sql).expect("a table");
        for number in 0..20 {
            let execution = ["auto", "fused", "staged", "vectorized", "interpreted", "datafusion"][number % 6];
            let threads = [1, 2, 7][number % 3];
            let io = ["cached", "direct"][number / 2 % 2];
            let settings = format!(
                "SET gingham.execution = '{execution}'; SET gingham.threads = {threads}; SET gingham.io = '{io}'"
            );
            connection.execute(&settings).expect("settings");
            done.push(step(&connection, &mut random, &mut model, &mut next));
            compare(&connection, &model, &format!("seed {seed}, {layout}, {execution}: {done:#?}"));
        }
    }
}

/// Queries whose pipelines look at all that deleted records could be seen by: dictionaries, strings without codes, NULLs,
/// joins, groups, sorts, dense tables of keys.
const QUERIES: [&str; 9] = [
    "SELECT count(*), sum(k), min(k), max(k), count(s), count(DISTINCT g), min(t), max(t) FROM $",
    "SELECT g, count(*), sum(k), avg(d), min(t) FROM $ WHERE d > 10 AND k % 7 < 5 GROUP BY g ORDER BY g",
    "SELECT s, count(*) FROM $ WHERE g = 'g3' OR s IS NULL GROUP BY s ORDER BY s NULLS FIRST",
    "SELECT a.g, count(*), sum(b.k) FROM $ a JOIN $ b ON a.k = b.k + 1 WHERE a.d < 50 GROUP BY a.g ORDER BY a.g",
    "SELECT count(*) FROM $ a WHERE NOT EXISTS (SELECT 1 FROM $ b WHERE b.k = a.k + 1)",
    "SELECT k, t, d FROM $ WHERE s LIKE '%9' ORDER BY d DESC, k LIMIT 20",
    "SELECT t FROM $ WHERE k BETWEEN 65000 AND 66000 ORDER BY k",
    "SELECT k FROM $ WHERE t LIKE 'long text of 12%' ORDER BY k",
    "SELECT g, max(t) FROM $ WHERE k > 140000 GROUP BY g ORDER BY g",
];

#[test]
fn tables_with_deleted_records_answer_as_clean_ones() {
    for layout in ["column", "mempax(100)", "byteslice", "super_tuple"] {
        let connection = connect();
        let sql = format!(
            "CREATE TABLE c WITH (layout = '{layout}') AS SELECT value AS k, 'g' || CAST(value % 10 AS VARCHAR) AS g,
                CASE WHEN value % 4 > 0 THEN 's' || CAST(value % 1000 AS VARCHAR) END AS s,
                'long text of ' || CAST(value AS VARCHAR) AS t, CAST(value % 100 AS DECIMAL(9,2)) AS d
                FROM generate_series(0, 199999);
             INSERT INTO c SELECT k + 200000, g, s, t, d FROM c WHERE k < 3000"
        );
        connection.execute(&sql).expect("a table");
        // Single records, a whole zone, a group of which none is left, the last ones, some of the delta.
        for sql in [
            "DELETE FROM c WHERE k % 100 = 3",
            "DELETE FROM c WHERE k BETWEEN 65536 AND 131071",
            "DELETE FROM c WHERE g = 'g5' OR k BETWEEN 199000 AND 199999",
            "UPDATE c SET d = d + 1, t = t || ' and more' WHERE k % 100 = 7",
            "DELETE FROM c WHERE k > 202500",
        ] {
            connection.execute(sql).unwrap_or_else(|error| panic!("{layout}: {sql}: {error}"));
        }
        let clean = format!("CREATE TABLE n WITH (layout = '{layout}') AS SELECT * FROM c ORDER BY k");
        connection.execute(&clean).expect("a table");
        assert!(rows(&connection, "SELECT deleted_rows > 1000 FROM gingham_tables WHERE table_name = 'c'") == ["true"]);
        for query in QUERIES {
            let expected = rows(&connection, &query.replace('$', "n"));
            let check = |way: &str| {
                assert_eq!(rows(&connection, &query.replace('$', "c")), expected, "{layout}, {way}: {query}");
            };
            if layout == "column" {
                each_way(&connection, check);
                continue;
            }
            for mode in ["fused", "vectorized", "datafusion", "auto"] {
                connection.execute(&format!("SET gingham.execution = '{mode}'")).expect("a mode");
                check(mode);
            }
        }
        connection.execute("OPTIMIZE c").expect("deleted records go");
        assert_eq!(rows(&connection, "SELECT deleted_rows FROM gingham_tables WHERE table_name = 'c'"), ["0"]);
        for query in QUERIES {
            let expected = rows(&connection, &query.replace('$', "n"));
            assert_eq!(rows(&connection, &query.replace('$', "c")), expected, "{layout}, optimised: {query}");
        }
    }
}

/// UPDATEs that read the columns that change alone. With RETURNING they read and write whole records.
const UPDATES: [&str; 9] = [
    "UPDATE $ SET d = d + 1 WHERE k % 3 = 0",
    "UPDATE $ SET g = NULL, t = t || ' and more' WHERE k % 4 = 1",
    "UPDATE $ SET s = g, g = 'g' || s WHERE k BETWEEN 60000 AND 110000",
    "UPDATE $ SET d = o.n FROM (SELECT value % 50 AS n, 100000 - value AS k FROM generate_series(0, 50000)) o WHERE $.k = o.k",
    "UPDATE $ SET s = (SELECT max(s) FROM $ b WHERE b.k % 7 = 1) WHERE k IN (SELECT k + 1 FROM $ b WHERE b.d > 20)",
    "UPDATE $ SET f = f / 3, d = -d WHERE k IN (7, 70000, 120001)",
    "UPDATE $ SET f = d",
    "UPDATE $ SET f = NULL WHERE k > 119990",
    "UPDATE $ SET t = 'the same' WHERE k % 2 = 0",
];

#[test]
fn columns_that_are_written_alone_are_those_of_whole_records() {
    for layout in ["column", "mempax(100)", "vbp", "dense_column"] {
        let connection = connect();
        for name in ["alone", "whole"] {
            let sql = format!(
                "CREATE TABLE {name} WITH (layout = '{layout}') AS SELECT value AS k, 'g' || CAST(value % 10 AS VARCHAR) AS g,
                    CASE WHEN value % 4 > 0 THEN 's' || CAST(value % 1000 AS VARCHAR) END AS s,
                    'long text of ' || CAST(value AS VARCHAR) AS t, CAST(value % 100 AS DECIMAL(9,2)) AS d,
                    CAST(value AS DOUBLE) / 8 AS f FROM generate_series(0, 119999);
                 INSERT INTO {name} SELECT k + 120000, g, s, t, d, f FROM {name} WHERE k < 500;
                 DELETE FROM {name} WHERE k % 1000 = 3"
            );
            connection.execute(&sql).expect("a table");
        }
        let compare = |what: &str| {
            for query in [
                "SELECT k, g, s, t, d, f FROM $ ORDER BY k",
                "SELECT g, count(*), min(s), max(t), sum(d), min(f), count(DISTINCT s) FROM $ GROUP BY g ORDER BY g",
                "SELECT count(*), min(d), max(d), min(g), max(g), count(f) FROM $ WHERE d > 3 AND t LIKE '%1%'",
            ] {
                let of = |name: &str| rows(&connection, &query.replace('$', name));
                assert!(of("alone") == of("whole"), "{layout}: {what}: {query}");
            }
        };
        for update in UPDATES {
            let alone = connection.execute(&update.replace('$', "alone")).expect(update);
            let whole = rows(&connection, &format!("{} RETURNING 1", update.replace('$', "whole")));
            assert_eq!(alone, whole.len() as u64, "{layout}: {update}");
            compare(update);
        }
        let deleted = "SELECT sum(deleted_rows) < 200 FROM gingham_segments WHERE table_name = 'alone' AND NOT delta";
        // In chunks all columns are written with one that changes, which is no less than whole records.
        assert_eq!(rows(&connection, deleted), [(layout != "mempax(100)").to_string()], "{layout}");
        // Two rows match each record, and say the same.
        let twice = "UPDATE $ SET d = o.n FROM (SELECT value / 2 % 50 AS n, value / 2 AS k FROM generate_series(0, 99999)) o WHERE $.k = o.k";
        let alone = connection.execute(&twice.replace('$', "alone")).expect(twice);
        let whole = rows(&connection, &format!("{} RETURNING 1", twice.replace('$', "whole")));
        assert_eq!(alone, whole.len() as u64, "{layout}: {twice}");
        compare(twice);
        for name in ["alone", "whole"] {
            let (first, second) = (UPDATES[0].replace('$', name), UPDATES[8].replace('$', name));
            connection
                .execute(&format!(
                    "BEGIN; {first}; SAVEPOINT s; {second}; {first}; ROLLBACK TO s; {first}; UPDATE {name} SET k = k + 1;
                     COMMIT; BEGIN; {second}; ROLLBACK"
                ))
                .expect("a transaction");
        }
        compare("transactions");
    }
}

/// Values that are too many to be held until all are known are written with the rest of their records as they come.
#[test]
fn values_without_room_go_with_whole_records() {
    const UPDATE: &str = "UPDATE t SET s = repeat('x', 100) || CAST(k AS VARCHAR) WHERE k % 2 = 0";
    const ANSWER: &str = "SELECT count(*), sum(k), sum(length(s)), min(s), max(s), sum(d) FROM t";
    let updated = |memory_limit| {
        let options = DatabaseOptions::new().memory_limit(memory_limit).threads(2);
        let connection = options.temporary().expect("a scratch database").connect();
        let made = "CREATE TABLE t WITH (layout = 'column') AS SELECT value AS k, 'text' AS s, value % 7 AS d
                    FROM generate_series(0, 199999)";
        connection.execute(made).expect("a table");
        assert_eq!(connection.execute(UPDATE).expect(UPDATE), 100_000);
        let whole = rows(&connection, "SELECT sum(deleted_rows) FROM gingham_segments WHERE NOT delta");
        (whole[0].clone(), rows(&connection, ANSWER))
    };
    let ((alone, expected), (whole, found)) = (updated(None), updated(Some(18 << 20)));
    assert_eq!((alone.as_str(), whole.as_str()), ("0", "100000"), "records that were written whole");
    assert_eq!(found, expected);
}

/// One of many columns, of records that lie in the delta: it is read alone, and the others are put to it.
#[test]
fn one_of_many_columns_in_the_delta() {
    let connection = connect();
    let columns: String = (0..40).map(|column| format!(", c{column} BIGINT, s{column} VARCHAR")).collect();
    let values: String =
        (0..40).map(|column| format!(", v * {column}, nullif('s' || (v + {column}) % 7, 's3')")).collect();
    let create = |name: &str| {
        connection.execute(&format!("CREATE TABLE {name} (id BIGINT{columns})")).expect("a table");
        connection
            .execute(&format!("INSERT INTO {name} SELECT v{values} FROM generate_series(1, 400) g(v)"))
            .expect("rows");
    };
    create("t");
    create("same");
    connection.execute("DELETE FROM t WHERE id % 11 = 0; DELETE FROM same WHERE id % 11 = 0").expect("fewer rows");
    for change in
        ["c7 = c7 + 1 WHERE id % 3 = 0", "s9 = 'new', c0 = NULL WHERE id > 300", "c3 = NULL", "s39 = s38 WHERE id = 5"]
    {
        connection.execute(&format!("UPDATE t SET {change}")).expect("a change");
        // RETURNING needs whole records, which go another way.
        connection.execute(&format!("UPDATE same SET {change} RETURNING *")).expect("a change");
        let differ = "SELECT count(*) FROM (SELECT * FROM t EXCEPT SELECT * FROM same) d";
        assert_eq!(rows(&connection, differ), ["0"], "{change}");
        let counts = "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM same), (SELECT sum(c7) FROM t)";
        let found = rows(&connection, counts);
        assert!(found[0].starts_with("364|364|"), "{change}: {found:?}");
    }
    assert_eq!(rows(&connection, "SELECT c7, s9, c3, c8 FROM t WHERE id = 333"), ["2332|new||2664"]);
}
