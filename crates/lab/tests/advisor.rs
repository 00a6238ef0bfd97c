//! The advisor on databases of its own: what it proposes, what it leaves as it was, and what it says of bad input.

use gingham::advisor::{Candidate, Comparison, Workload};
use gingham::storage::{Design, Layout, TableName};
use gingham::{Connection, Database, DatabaseOptions, Error, Result};
use gingham_lab::advisor::{Advice, Answered, Request, Stop, Watch, advise, apply, html};
use gingham_lab::machine::Machine;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const BUDGET: Duration = Duration::from_secs(8);
/// Whatever takes longer hangs.
const HANGS: Duration = Duration::from_secs(120);

fn request(workload: &str) -> Request {
    let workload = Workload::parse(workload, "w.sql").expect("a workload");
    Request { workload, tables: Vec::new(), budget: BUDGET, disk: None, seed: 1 }
}

fn asked(database: &Database, workload: &str) -> Result<Advice> {
    advise(database, &request(workload), &(), &Stop::default())
}

/// A database with a wide table in rows, of which queries read one column.
fn wide(folder: &Path) -> Database {
    let database = Database::open(folder.join("wide.gingham")).expect("a database");
    let columns: Vec<String> = (0..40).map(|number| format!("value * {} % 1000 AS c{number}", number + 1)).collect();
    let sql = format!(
        "CREATE TABLE wide WITH (layout = 'row') AS SELECT value AS id, {} FROM generate_series(1, 20000)",
        columns.join(", ")
    );
    let connection = database.connect();
    connection.execute(&sql).expect("a table");
    connection.execute("CREATE TABLE other AS SELECT value AS id FROM generate_series(1, 100)").expect("another");
    database
}

/// All that a database says of its tables, and their records.
fn state(connection: &Connection) -> String {
    let tables = "SELECT table_name, layout, sort_by, rows, segments, bytes FROM gingham_tables ORDER BY 1";
    let batches = connection.query(tables).and_then(|result| result.collect_batches()).expect("tables");
    let sums = "SELECT count(*), sum(id), sum(c7) FROM wide";
    let records = connection.query(sums).and_then(|result| result.collect_batches()).expect("records");
    format!("{batches:?} {records:?}")
}

fn scratch_folders(database: &Path) -> usize {
    let entries = std::fs::read_dir(database).expect("a folder").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("scratch-")).count()
}

const SUM: &str = "SELECT sum(c3) FROM wide WHERE c5 < 500";

#[test]
fn a_design_that_is_much_faster_is_proposed_and_applied() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = wide(folder.path());
    let connection = database.connect();
    let before = state(&connection);
    let workload =
        format!("-- weight: 20\n{SUM};\nSELECT max(c9), max(c3) FROM wide;\nUPDATE wide SET c1 = 7 WHERE id = 12");
    let advice = asked(&database, &workload).expect("advice");
    assert_eq!(state(&connection), before, "nothing is written");
    assert_eq!(scratch_folders(database.path()), 0);
    let [table] = advice.tables.as_slice() else { panic!("one table, not {}", advice.tables.len()) };
    assert_eq!((table.answered(), table.rows, table.sample), (Answered::Change, 20_000, 1.0));
    let gain = table.gain().expect("a gain");
    assert!(gain.interval.low > 1.0 && gain.interval.holds(gain.times), "{gain:?}");
    assert_eq!((table.designs[0].candidate.reason.as_str(), table.proposed > 0), ("the present design", true));
    assert_eq!(table.gains_of_statements(table.proposed).len(), 3);

    let text = advice.to_string();
    for part in ["proposed:", "undo:", "times as fast", "line 2: SELECT sum(c3)"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = html(&advice, &[], &Machine::here());
    assert!(page.contains("How to undo it") && page.contains("class=\"rows") && page.len() < 2 << 20);
    assert!(!page.contains("src=") && !page.contains("href="));

    // The statements that are told do what --apply does, and undo it.
    let copy = folder.path().join("copy.gingham");
    database.backup(&copy).expect("a copy");
    let by_hand = Database::open(&copy).expect("the copy").connect();
    let arranged = |connection: &Connection| {
        let definition = connection.table("wide").expect("the table").definition.clone();
        (definition.design.text(&definition), definition.sort_by.clone())
    };
    let old = arranged(&by_hand);
    table.statements_to_change().iter().for_each(|sql| assert!(by_hand.execute(sql).is_ok(), "{sql}"));
    let changed = arranged(&by_hand);
    assert_ne!(changed, old);
    table.statements_to_undo().iter().for_each(|sql| assert!(by_hand.execute(sql).is_ok(), "{sql}"));
    assert_eq!(arranged(&by_hand), old);

    let applied = apply(&database, &advice, 2, &(), &Stop::default()).expect("a change");
    assert!(applied.len() == 1 && applied[0].undone.is_none(), "{applied:?}");
    assert_eq!(applied[0].compared, "2 of 3 answers are the same, 1 compared by the number of rows alone");
    assert_eq!(arranged(&connection), changed);
    assert!(database.check().expect("a check").errors.is_empty());
    assert_eq!(scratch_folders(database.path()), 0);
    let error = apply(&database, &advice, 2, &(), &Stop::default()).expect_err("it was altered");
    assert!(matches!(&error, Error::Conflict(text) if text.contains("'wide' was altered")), "{error}");
}

#[test]
fn a_design_that_turns_out_slower_is_taken_away_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = wide(folder.path());
    database.connect().execute("ALTER TABLE wide SET (layout = 'column')").expect("a layout");
    let before = state(&database.connect());
    let mut advice = asked(&database, SUM).expect("advice");
    let rows = Candidate {
        design: Design::of_layout(Layout::Row),
        sort_by: Vec::new(),
        index: None,
        reason: "somebody thinks so".into(),
    };
    let table = &mut advice.tables[0];
    table.designs[1].candidate = rows;
    table.proposed = 1;
    let applied = apply(&database, &advice, 2, &(), &Stop::default()).expect("a change, and back");
    let undone = applied[0].undone.as_deref().expect("it is slower");
    assert!(
        undone.contains("times as fast") && applied[0].gain.is_some_and(|gain| gain.interval.high < 1.0),
        "{undone}"
    );
    let page = html(&advice, &applied, &Machine::here());
    assert!(page.contains("applied and undone again"), "{page}");
    let layouts = |state: &str| state.split("bytes").next().map(str::to_owned);
    assert_eq!(layouts(&state(&database.connect())), layouts(&before));
    assert_eq!(database.connect().table("wide").expect("the table").definition.design, Design::default());
}

/// Does something when it is told of work whose note has a word.
struct At<F: Fn() + Sync> {
    word: &'static str,
    count: AtomicUsize,
    act: F,
}

impl<F: Fn() + Sync> Watch for At<F> {
    fn note(&self, what: &str, _spent: f64) {
        if what.contains(self.word) && self.count.fetch_add(1, Ordering::SeqCst) == 0 {
            (self.act)();
        }
    }
}

#[test]
fn it_can_be_stopped_in_each_phase() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = wide(folder.path());
    let before = state(&database.connect());
    let workload = format!("{SUM};\nSELECT * FROM wide WHERE id = 7");
    for word in ["running", "worth a try", "building", "measuring"] {
        let stop = Stop::default();
        let watch = At { word, count: AtomicUsize::new(0), act: || stop.stop() };
        let error = advise(&database, &request(&workload), &watch, &stop).expect_err(word);
        assert!(matches!(error, Error::Cancelled), "{word}: {error}");
        assert_eq!((state(&database.connect()), scratch_folders(database.path())), (before.clone(), 0), "{word}");
    }
    // From another thread, in the middle of a statement.
    let stop = Arc::new(Stop::default());
    let other = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        other.stop();
    });
    let endless = "SELECT count(*) FROM wide a, wide b WHERE a.id < b.c3 + b.c4";
    let mut long = request(endless);
    long.budget = Duration::from_secs(3600);
    let begun = Instant::now();
    assert!(matches!(advise(&database, &long, &(), &stop), Err(Error::Cancelled)));
    assert!(begun.elapsed() < HANGS);
    thread.join().expect("the thread");
    assert_eq!(scratch_folders(database.path()), 0);
}

#[test]
fn others_may_write_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = wide(folder.path());
    let writer = database.connect();
    let act = || {
        writer.execute("INSERT INTO wide SELECT * FROM wide WHERE id <= 10; DROP TABLE other").expect("a write");
    };
    let watch = At { word: "building", count: AtomicUsize::new(0), act };
    let advice = advise(&database, &request(SUM), &watch, &Stop::default()).expect("advice");
    assert_eq!(advice.tables[0].rows, 20_000, "as it was at the start");
    assert_eq!(database.connect().table("wide").expect("the table").rows(), 20_010);
    // Records may come, but another layout or column may not.
    database.connect().execute("ALTER TABLE wide ADD COLUMN more INTEGER").expect("a column");
    if advice.tables[0].proposed != 0 {
        let error = apply(&database, &advice, 1, &(), &Stop::default()).expect_err("it was altered");
        assert!(error.to_string().contains("was altered since"), "{error}");
    }
    database.connect().execute("DROP TABLE wide").expect("gone");
    if advice.tables[0].proposed != 0 {
        let error = apply(&database, &advice, 1, &(), &Stop::default()).expect_err("it is gone").to_string();
        assert!(error.contains("does not exist"), "{error}");
    }
}

#[test]
fn bad_workloads_are_told_before_anything_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = wide(folder.path());
    for (workload, expected) in [
        (
            "SELECT 1;\nSELECT c3 FROM wdie",
            "w.sql: table 'wdie' does not exist; did you mean 'wide'? (line 2, column 16)",
        ),
        ("SELECT sum(c3) FROM wide;\n  SELECT nosuch FROM wide", "(line 2, column 10)"),
        ("SELECT 1;\nUPDATE wide SET nosuch = 1", "statement in line 2: column 'nosuch'"),
        ("INSERT INTO nosuch VALUES (1)", "table 'nosuch' does not exist"),
        ("INSERT INTO other VALUES (1, 2, 3)", "statement in line 1"),
        ("SELECT 1 / (c3 - c3) FROM wide", "w.sql, statement in line 1"),
    ] {
        let error = asked(&database, workload).expect_err(workload).to_string();
        assert!(error.contains(expected), "{workload}: {error}");
        assert_eq!(scratch_folders(database.path()), 0);
    }
    let mut named = request(SUM);
    named.tables = vec![TableName { schema: "public".into(), table: "wied".into() }];
    let error = advise(&database, &named, &(), &Stop::default()).expect_err("no such table").to_string();
    assert!(error.contains("did you mean 'wide'"), "{error}");
}

#[test]
fn little_room_memory_or_time_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = wide(folder.path());
    let before = state(&database.connect());
    let mut no_room = request(SUM);
    no_room.disk = Some(0.0);
    let error = advise(&database, &no_room, &(), &Stop::default()).expect_err("no room").to_string();
    assert!(error.contains("no room for scratch tables") && error.contains("--disk"), "{error}");

    database.connect().execute("SET gingham.memory_limit = '4MB'").expect("a limit");
    let error = asked(&database, SUM).expect_err("no memory").to_string();
    assert!(error.contains("gingham.memory_limit") || error.contains("out of memory"), "{error}");
    database.connect().execute("SET gingham.memory_limit = '2GB'").expect("a limit");

    let mut short = request(SUM);
    short.budget = Duration::from_millis(300);
    let begun = Instant::now();
    match advise(&database, &short, &(), &Stop::default()) {
        Ok(advice) => assert!(advice.tables.iter().all(|table| table.told.looks > 0)),
        // A machine that is busy does not get so far.
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("--budget") || text.contains("was not done within"), "{text}");
        }
    }
    assert!(begun.elapsed() < HANGS, "{:?}", begun.elapsed());
    assert_eq!((state(&database.connect()), scratch_folders(database.path())), (before, 0));
}

#[test]
fn tables_that_tell_nothing_are_passed_over() {
    let database = Database::in_memory().expect("a database");
    let connection = database.connect();
    connection
        .execute(
            "CREATE TABLE empty (a INT, b INT); CREATE TABLE one AS SELECT 1 AS a, 2 AS b;
             CREATE TABLE unused (a INT); CREATE VIEW seen AS SELECT a + b AS s FROM public.one",
        )
        .expect("tables");
    let mut asked = request("SELECT sum(a) FROM empty;\nSELECT s, random() FROM seen;\nSELECT a FROM one LIMIT 1");
    asked.budget = Duration::from_secs(3);
    let mut advice = advise(&database, &asked, &(), &Stop::default()).expect("advice");
    let passed: Vec<String> = advice.passed_over.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    assert!(passed.contains(&"empty: it is empty".to_owned()), "{passed:?}");
    assert_eq!(advice.tables.len(), 1, "one record is a table too");
    assert!(advice.statements[1].uses.volatile && advice.statements[2].uses.comparison == Comparison::Count);
    advice.tables[0].designs.truncate(1);
    advice.tables[0].proposed = 0;
    let text = advice.to_string();
    assert!(text.contains("Nothing was compared: no other design was measured"), "{text}");
    assert!(text.contains("answers not compared: line 2") && text.contains("only rows counted: line 3"), "{text}");
    asked.tables = vec![TableName { schema: "public".into(), table: "unused".into() }];
    let advice = advise(&database, &asked, &(), &Stop::default()).expect("advice");
    assert!(advice.to_string().contains("unused: passed over, no statement concerns it"), "{advice}");
}

#[test]
fn statements_that_take_too_long_are_left_out_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = wide(folder.path());
    let long = "SELECT count(*) FROM wide a, wide b WHERE a.id < b.c3 + b.c4";
    let mut both = request(&format!("{SUM};\n{long}"));
    both.budget = Duration::from_secs(5);
    let advice = advise(&database, &both, &(), &Stop::default()).expect("advice");
    assert!(advice.statements[0].left_out.is_none() && advice.statements[1].left_out.is_some());
    assert!(advice.to_string().contains("left out: line 2"), "{advice}");
    let error = asked_briefly(&database, long).expect_err("nothing is left").to_string();
    assert!(error.contains("every statement takes more than"), "{error}");
}

fn asked_briefly(database: &Database, workload: &str) -> Result<Advice> {
    let mut brief = request(workload);
    brief.budget = Duration::from_secs(2);
    advise(database, &brief, &(), &Stop::default())
}

#[test]
fn a_read_only_database_is_advised_and_killed_runs_are_swept() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = wide(folder.path());
    let path = database.path().to_path_buf();
    assert!(database.close(Duration::from_secs(5)));
    // What a process has left that was killed.
    let left = path.join("scratch-left");
    std::fs::create_dir_all(left.join("segments")).expect("a folder");
    std::fs::write(left.join("writer.lock"), "writing").expect("a file");
    let options = DatabaseOptions::new().read_only(true);
    let database = options.open(&path).expect("a database");
    let advice = asked(&database, SUM).expect("advice");
    assert_eq!(advice.tables.len(), 1);
    assert_eq!(scratch_folders(&path), 1, "a reader removes nothing of others");
    drop(database);
    drop(Database::open(&path).expect("a database"));
    assert_eq!(scratch_folders(&path), 0);
}
