//! A disk that is full at any moment of a statement: the statement fails and says so, nothing of it is there, the next one finds room
//! and works, and nothing is left over.

use crate::faults::{self, Outcome, Refusal};
use crate::generator::Generator;
use crate::verify::{open, rows};
use crate::{DATABASE, rounds, wait_until_closed};
use gingham::{Connection, Database, Error};
use std::fs;
use std::path::{Path, PathBuf};

/// Layouts of tables; the first three are of heap pages.
const LAYOUTS: [&str; 6] = ["nsm", "dsm", "pax", "column", "row", "byteslice"];
const HEAP: usize = 3;
/// Lines of the file that is loaded: more than a delta takes.
const LINES: i64 = 20_000;

/// A database that is used no more, and what is done to copies of it.
struct Case {
    layout: usize,
    /// The folder with the database and the files beside it.
    template: tempfile::TempDir,
}

impl Case {
    /// A database with a table that has a key and one that has none.
    fn new(layout: usize) -> Self {
        let template = tempfile::tempdir().expect("a folder");
        let root = template.path();
        let database = open(&root.join(DATABASE), true).expect("a new database");
        let connection = database.connect();
        let run = |sql: &str| connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let of = LAYOUTS[layout];
        run(&format!("CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b VARCHAR) WITH (layout = '{of}')"));
        run(&format!("CREATE TABLE plain (id BIGINT, a BIGINT, b VARCHAR) WITH (layout = '{of}')"));
        for (table, rows) in [("t", 600), ("plain", 17_000)] {
            let values = "value, value % 100, 'text ' || CAST(value % 37 AS VARCHAR)";
            run(&format!("INSERT INTO {table} SELECT {values} FROM generate_series(1, {rows})"));
        }
        if layout < HEAP {
            run("CREATE INDEX ON t (a)");
        }
        run("DELETE FROM plain WHERE id % 3 = 0");
        let line = |id: i64| format!("{id},{},text {}\n", id % 100, id % 37);
        fs::write(root.join("rows.csv"), (100_000..100_000 + LINES).map(line).collect::<String>()).expect("a file");
        drop((connection, database));
        wait_until_closed(&root.join(DATABASE));
        Self { layout, template }
    }

    /// The statements, texts in which `{}` is the folder.
    fn statements(&self) -> Vec<&'static str> {
        let mut all = vec![
            "INSERT INTO t VALUES (-1, 2, 'few')",
            "INSERT INTO t SELECT value, 1, 'many' FROM generate_series(1000, 9000)",
            "SET gingham.memory_limit = '2MB'; INSERT INTO t SELECT value, 1, 'portions' FROM generate_series(1000, 21000)",
            "COPY t FROM '{}/rows.csv'",
            "COPY plain FROM '{}/rows.csv'",
            "UPDATE t SET b = b || 'up' WHERE id = 5",
            "UPDATE t SET a = a + 1, b = b || 'up'",
            "DELETE FROM t WHERE id % 2 = 0",
            "BEGIN; INSERT INTO t VALUES (-5, 1, 'x'); UPDATE plain SET a = 7 WHERE id < 50; COMMIT",
            "ALTER TABLE t ADD COLUMN c BIGINT DEFAULT 7",
            "ALTER TABLE plain RENAME TO other",
            "OPTIMIZE plain",
            "VACUUM",
            "CREATE TABLE u AS SELECT * FROM plain",
            "TRUNCATE plain",
            "COPY plain TO '{}/out.csv'",
            "COPY plain TO '{}/out.parquet'",
        ];
        if self.layout < HEAP {
            all.extend(["CREATE INDEX ON t (b)", "ALTER TABLE t SET (layout = 'nsm', page_size = 16384)"]);
        } else {
            all.extend(["ALTER TABLE t SET (layout = 'mempax(7)')", "ALTER TABLE plain SET (layout = 'pax')"]);
        }
        all
    }

    /// Does it in a copy, while the disk refuses; then with room, and once more in a database that is opened again.
    /// Without `states` it tells what they are; `None` when it is not offered.
    fn try_at(&self, sql: &str, refusal: Refusal, states: Option<&States>) -> Result<Option<Tried>, String> {
        let copy = tempfile::tempdir().expect("a folder");
        let root = copy.path().canonicalize().expect("it is there");
        copied(self.template.path(), &root);
        let path = root.join(DATABASE);
        let sql = sql.replace("{}", &root.display().to_string());
        let database = open(&path, false).map_err(|error| error.to_string())?;
        // The first of a process marks the lock file, which each statement may be refused as well.
        let connection = database.connect();
        let before = state(&root, &connection)?;
        let Outcome { result, calls, refused } = faults::refusing(&root, refusal, || connection.execute(&sql));
        let Some(states) = states else {
            return match result {
                Err(Error::Unsupported(_)) => Ok(None),
                Err(error) => Err(error.to_string()),
                Ok(_) => Ok(Some(Tried { calls, states: States { before, after: state(&root, &connection)? } })),
            };
        };
        let told = result.as_ref().map_or_else(ToString::to_string, |_| "done".to_owned());
        let about = |what: &str| format!("{what}; it was told: {told}; refused: {:?}", refused.first());
        let in_doubt = refused.iter().any(faults::Refused::leaves_doubt);
        let done = match &result {
            Ok(_) => true,
            Err(Error::DiskFull(text)) if text.contains(&root.display().to_string()) => false,
            // DataFusion keeps to itself why the end of a file was refused, and there is room again.
            Err(Error::Io(text)) if text.contains("the disk may be full") && refused.len() == 1 => false,
            Err(_) => return Err(about("it should say that the disk is full, and where")),
        };
        let _ = connection.execute("ROLLBACK");
        if !done {
            match connection.execute("CREATE SCHEMA another") {
                Ok(_) => drop(connection.execute("DROP SCHEMA another").map_err(|error| about(&error.to_string()))?),
                // Nobody knows what is on the disk: whoever opens the database next finds out.
                Err(Error::Io(text)) if in_doubt && text.contains("open it again") => {
                    drop((connection, database));
                    return self.reopened(&root, states, &sql).map_err(|what| about(&what));
                }
                Err(error) => return Err(about(&format!("the next statement: {error}"))),
            }
        }
        expect("then", &state(&root, &connection)?, if done { &states.after } else { &states.before })
            .map_err(|what| about(&what))?;
        if !done {
            connection.execute(&sql).map_err(|error| about(&format!("with room: {error}")))?;
            expect("with room", &state(&root, &connection)?, &states.after).map_err(|what| about(&what))?;
        }
        // Files of a commit that failed stay until the database is opened again: it may have become visible.
        whole(&database, &["named by no commit"]).map_err(|what| about(&what))?;
        drop((connection, database));
        wait_until_closed(&path);
        let database = open(&path, false).map_err(|error| about(&format!("opened again: {error}")))?;
        whole(&database, &[]).map_err(|what| about(&format!("opened again: {what}")))?;
        expect("opened again", &state(&root, &database.connect())?, &states.after).map_err(|what| about(&what))?;
        require_no_rest(&root, &states.after.1).map_err(|what| about(&what))?;
        Ok(None)
    }

    /// The state of a database after a commit of which the disk has left in doubt what it has.
    fn reopened(&self, root: &Path, states: &States, sql: &str) -> Result<Option<Tried>, String> {
        let path = root.join(DATABASE);
        wait_until_closed(&path);
        let database = open(&path, false).map_err(|error| format!("opened again: {error}"))?;
        expect("opened again", &state(root, &database.connect())?, &states.before)?;
        let connection = database.connect();
        connection.execute(sql).map_err(|error| format!("opened again: {error}"))?;
        expect("opened again, with room", &state(root, &connection)?, &states.after)?;
        whole(&database, &["did not close", "was interrupted", "named by no commit"])?;
        require_no_rest(root, &states.after.1)?;
        Ok(None)
    }
}

/// Rows of tables, and the names of the files beside the database with their lengths.
type Found = (Vec<String>, Vec<(PathBuf, u64)>);

/// The tables' contents that are found before a statement and after it.
#[derive(Debug, Clone)]
struct States {
    before: Found,
    after: Found,
}

struct Tried {
    calls: u64,
    states: States,
}

fn expect(when: &str, found: &Found, expected: &Found) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{when} it is {found:?}, not {expected:?}")) }
}

/// The sums of what tables hold, and the files beside the database.
fn state(root: &Path, connection: &Connection) -> Result<Found, String> {
    let mut found = rows(connection, "SELECT table_name, layout, rows FROM gingham_tables ORDER BY table_name")?;
    for table in found.clone() {
        let table = table.split('|').next().unwrap_or_default().to_owned();
        let sums = "count(*), sum(id), sum(a), min(b), max(b), sum(length(b))";
        found.extend(rows(connection, &format!("SELECT {sums} FROM {table}"))?);
        found.extend(rows(connection, &format!("SELECT * FROM {table} WHERE id = 5"))?);
    }
    Ok((found, beside(root)))
}

fn beside(root: &Path) -> Vec<(PathBuf, u64)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root).expect("a folder") {
        let entry = entry.expect("an entry");
        let length = entry.metadata().map_or(0, |facts| if facts.is_dir() { 0 } else { facts.len() });
        files.push((entry.file_name().into(), length));
    }
    files.sort();
    files
}

/// Nothing is found that should not be there.
fn whole(database: &Database, notes: &[&str]) -> Result<(), String> {
    let report = database.check().map_err(|error| format!("it can't be checked: {error}"))?;
    let strange = |note: &&String| !notes.iter().any(|known| note.contains(known));
    match (report.errors.first(), report.notes.iter().find(strange)) {
        (Some(error), _) => Err(format!("check: {error}")),
        (None, Some(note)) => Err(format!("check: {note}")),
        _ => Ok(()),
    }
}

/// In the database's folder lies what belongs there.
fn require_no_rest(root: &Path, beside: &[(PathBuf, u64)]) -> Result<(), String> {
    const KNOWN: [&str; 5] = ["format", "writer.lock", "catalog", "segments", "workload"];
    let entries = fs::read_dir(root.join(DATABASE)).expect("a folder");
    let mut names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    match names.find(|name| !KNOWN.contains(&name.as_str())) {
        Some(name) => Err(format!("{name} is left in the database")),
        None if self::beside(root) != beside => Err("a file is left beside the database".to_owned()),
        None => Ok(()),
    }
}

fn copied(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).expect("a new folder");
            copied(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).expect("a copy");
        }
    }
}

/// Tries statements in layouts of which `wanted` tells, and says what is wrong.
fn try_all(wanted: impl Fn(usize, usize) -> bool, most: usize) -> (usize, Vec<String>) {
    let only = std::env::var("GINGHAM_FULL").unwrap_or_default();
    let (mut random, mut tried, mut wrong) = (Generator::new(41), 0, Vec::new());
    for (layout, name) in LAYOUTS.iter().enumerate() {
        let case = Case::new(layout);
        let statements = case.statements().into_iter().enumerate();
        for (_, sql) in statements.filter(|(at, sql)| wanted(layout, *at) && sql.contains(&only)) {
            let counted = case.try_at(sql, Refusal::Never, None).unwrap_or_else(|what| panic!("{name}: {sql}: {what}"));
            let Some(Tried { calls, states }) = counted else { continue };
            assert!(calls > 0, "{name}: {sql} writes nothing");
            let mut refusals: Vec<Refusal> =
                (0..calls).flat_map(|at| [Refusal::Once(at), Refusal::Lasting(at)]).collect();
            if most < refusals.len() {
                refusals = (0..most).map(|_| *random.pick(&refusals)).collect();
            }
            for refusal in refusals {
                tried += 1;
                if let Err(what) = case.try_at(sql, refusal, Some(&states)) {
                    wrong.push(format!("{name}: {sql}: {refusal:?} of {calls}: {what}"));
                }
            }
        }
    }
    (tried, wrong)
}

#[test]
fn a_disk_that_is_full_at_any_write_loses_nothing() {
    let all = rounds(0, 1) == 1;
    // Each statement in one of the layouts; in all of them, and at each of up to 200 calls, where there is time.
    // Loads in portions write some thousand times.
    let (tried, wrong) = try_all(|layout, at| all || at % LAYOUTS.len() == layout, rounds(3, 400));
    let shown = wrong.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty() && tried > 20, "{} of {tried} are wrong:\n{shown}", wrong.len());
}
