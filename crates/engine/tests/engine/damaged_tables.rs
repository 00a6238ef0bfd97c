//! Tables whose segment files are missing, cut off or changed: their statements fail by name or give the right answer, those about
//! other tables give the right answer, and what can be done about it works.

use crate::generator::Generator;
use crate::rows;
use gingham::{Connection, Database, Error};
use gingham_storage::TableName;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Tables with their layouts. The last one lies in heap pages, of which there are no files.
const TABLES: [(&str, &str); 7] = [
    ("parent", "column"),
    ("by_row", "row"),
    ("by_chunk", "mempax(100)"),
    ("tuples", "super_tuple"),
    ("dense", "dense_column"),
    ("slices", "byteslice"),
    ("pages", "pax"),
];
/// A table that refers to `parent`.
const CHILD: &str = "child";

fn run(connection: &Connection, sql: &str) -> u64 {
    connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Three segments each, some with columns in files of their own, deleted records, and a delta block.
fn build(path: &Path) {
    let database = Database::open(path).expect("a new database");
    let connection = database.connect();
    let columns = "k BIGINT PRIMARY KEY, g INTEGER, s VARCHAR, f BIGINT";
    let new = |from: u32, to: u32| {
        format!("SELECT value, value % 7, 'text ' || value % 1000, value * 3 FROM generate_series({from}, {to})")
    };
    for (table, layout) in TABLES {
        run(&connection, &format!("CREATE TABLE {table} ({columns}) WITH (layout = '{layout}')"));
        for (from, to) in [(1, 17_000), (17_001, 34_000), (34_001, 51_000), (51_001, 51_010)] {
            run(&connection, &format!("INSERT INTO {table} {}", new(from, to)));
        }
        run(&connection, &format!("DELETE FROM {table} WHERE k % 10 = 3"));
        run(&connection, &format!("UPDATE {table} SET f = f + 1 WHERE k BETWEEN 17001 AND 34000"));
    }
    run(&connection, &format!("CREATE TABLE {CHILD} (k BIGINT REFERENCES parent (k), s VARCHAR)"));
    run(&connection, &format!("INSERT INTO {CHILD} SELECT k, s FROM parent WHERE k < 30000"));
    run(&connection, "CREATE VIEW seen AS SELECT g, count(*) AS n FROM parent GROUP BY g");
    // Files that were replaced go at the next open.
    drop((connection, database));
    drop(Database::open(path).expect("the database"));
}

/// Questions about one table each.
fn questions(table: &str) -> Vec<String> {
    let mut all = vec![
        format!("SELECT count(*) FROM {table}"),
        format!("SELECT count(*), sum(k), count(DISTINCT s), max(s) FROM {table}"),
        format!("SELECT k, s FROM {table} WHERE k IN (19999, 50999, 51002) ORDER BY k"),
        format!("SELECT min(k), max(k) FROM {table} WHERE s LIKE 'text 99%'"),
    ];
    if table != CHILD {
        all.push(format!("SELECT g, count(*), sum(f) FROM {table} GROUP BY g ORDER BY g"));
        all.push(format!("SELECT * FROM {table} ORDER BY f DESC LIMIT 3"));
    }
    if table == "parent" {
        all.push("SELECT * FROM seen ORDER BY g".to_owned());
    }
    all
}

/// Questions with the tables that they are about.
fn all_questions() -> Vec<(Vec<&'static str>, String)> {
    let names: Vec<&str> = TABLES.iter().map(|(name, _)| *name).chain([CHILD]).collect();
    let mut all = Vec::new();
    for (place, name) in names.iter().enumerate() {
        all.extend(questions(name).into_iter().map(|sql| (vec![*name], sql)));
        let other = names[(place + 1) % names.len()];
        all.push((
            vec![*name, other],
            format!("SELECT count(*), max(a.s) FROM {name} a JOIN {other} b ON a.k = b.k + 1"),
        ));
    }
    all
}

/// The folders of tables' segments with the tables' numbers, in the order in which the tables were made. Folder 0 is for tables that
/// are being made.
fn table_folders(database: &Path) -> Vec<(u64, PathBuf)> {
    let mut folders: Vec<(u64, PathBuf)> = Vec::new();
    for folder in std::fs::read_dir(database.join("segments")).expect("segments").flatten() {
        let number = folder.file_name().to_str().and_then(|name| name.parse().ok()).expect("a table's number");
        if number > 0 {
            folders.push((number, folder.path()));
        }
    }
    folders.sort();
    folders
}

/// Segment files, with the table of each.
fn segment_files(database: &Path) -> Vec<(PathBuf, &'static str)> {
    let names: Vec<&str> = TABLES.iter().map(|(name, _)| *name).chain([CHILD]).collect();
    let mut found = Vec::new();
    for (number, folder) in table_folders(database) {
        // Each table takes three numbers: its own, and two for its key.
        let name = names[(number as usize - 1) / 3];
        let files = std::fs::read_dir(folder).expect("a table's files").flatten();
        found.extend(files.map(|file| (file.path(), name)).filter(|(path, _)| path.is_file()));
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// Whether an error says that one of these tables is damaged.
fn names_one(error: &Error, tables: &BTreeSet<&str>) -> bool {
    let text = error.to_string();
    error.sqlstate() == "XX001" && tables.iter().any(|table| text.contains(&format!("table '{table}'")))
}

fn below(random: &mut Generator, end: usize) -> usize {
    (random.bits() % end as u64) as usize
}

/// Damages a file; false when nobody need find that unless it is read: a byte of it was changed.
fn damage(random: &mut Generator, file: &Path, others: &[(PathBuf, &'static str)]) -> bool {
    let bytes = std::fs::read(file).expect("a file");
    match below(random, 7) {
        0 => std::fs::remove_file(file).expect("it goes"),
        1 => std::fs::write(file, &bytes[..below(random, bytes.len())]).expect("a shorter file"),
        2 => {
            // Another table's file is one of another segment.
            let (other, _) = &others[below(random, others.len())];
            if other == file || !other.is_file() {
                std::fs::write(file, b"").expect("an empty file");
            } else {
                std::fs::copy(other, file).expect("another file");
            }
        }
        3 => {
            std::fs::remove_file(file).expect("it goes");
            std::fs::create_dir(file).expect("a folder");
        }
        place => {
            let at = match place {
                4 => below(random, 64),
                5 => bytes.len() - 1 - below(random, 200),
                _ => below(random, bytes.len()),
            };
            let mut changed = bytes;
            changed[at] ^= 1 << below(random, 8);
            std::fs::write(file, changed).expect("a changed file");
            return false;
        }
    }
    true
}

/// Puts a file back.
fn restore(file: &Path, whole: &Path) {
    if file.is_dir() {
        std::fs::remove_dir(file).expect("the folder goes");
    }
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::copy(whole, file).expect("the file as it was");
}

/// Statements that must fail for a table that can't be opened.
fn changes(table: &str) -> Vec<String> {
    vec![
        format!("INSERT INTO {table} (k, s) VALUES (19, 'new')"),
        format!("UPDATE {table} SET s = 'changed' WHERE k = 5"),
        format!("DELETE FROM {table} WHERE k = 15"),
        format!("DELETE FROM {table}"),
        format!("ALTER TABLE {table} ADD COLUMN z INTEGER"),
        format!("ALTER TABLE {table} RENAME TO renamed"),
        format!("ALTER TABLE {table} SET (layout = 'row')"),
        format!("OPTIMIZE {table}"),
        format!("CREATE VIEW w AS SELECT * FROM {table}"),
        format!("EXPLAIN FORMAT indent SELECT * FROM {table}"),
        format!("DESCRIBE {table}"),
    ]
}

struct Trial<'t> {
    seed: u64,
    base: &'t Path,
    expected: &'t BTreeMap<String, Vec<String>>,
    path: PathBuf,
    random: Generator,
    /// Damaged files with their tables, and whether opening one must fail.
    files: BTreeMap<PathBuf, (&'static str, bool)>,
}

impl Trial<'_> {
    fn tables(&self) -> BTreeSet<&'static str> {
        self.files.values().map(|(table, _)| *table).collect()
    }

    /// Asks everything; gives the tables of which a question failed.
    fn ask(&self, connection: &Connection) -> BTreeSet<&'static str> {
        let (damaged, mut failed) = (self.tables(), BTreeSet::new());
        for (about, sql) in all_questions() {
            let own: BTreeSet<&str> = about.iter().copied().filter(|table| damaged.contains(table)).collect();
            match rows::rows(connection, &sql) {
                Ok(found) => assert_eq!(found, self.expected[&sql], "seed {}: {sql}", self.seed),
                Err(error) => {
                    assert!(names_one(&error, &own), "seed {}, {own:?}: {sql}: {error}", self.seed);
                    failed.extend(own);
                }
            }
        }
        for (table, must_fail) in self.files.values() {
            assert!(!must_fail || failed.contains(table), "seed {}: {table} was read", self.seed);
        }
        failed
    }

    /// `check` tells every file that can't be opened, and the one because of which a table can't be read.
    fn check(&self, database: &Database, failed: &BTreeSet<&'static str>) {
        let errors: Vec<String> = database.check().expect("a report").errors.iter().map(ToString::to_string).collect();
        for (file, (table, must_fail)) in &self.files {
            let alone = self.files.values().filter(|(other, _)| other == table).count() == 1;
            let is_told = errors.iter().any(|error| {
                error.contains(&file.display().to_string()) && error.contains(&format!("table '{table}'"))
            });
            let is_due = *must_fail || alone && failed.contains(table);
            assert!(is_told || !is_due, "seed {}: {} of {table} is not in {errors:#?}", self.seed, file.display());
        }
    }

    /// Changes of tables that are whole, with what they give.
    fn write(&self, connection: &Connection) {
        let damaged = self.tables();
        for (table, layout) in TABLES.iter().filter(|(table, _)| !damaged.contains(table)) {
            run(connection, &format!("INSERT INTO {table} VALUES (100001, 1, 'new', 1), (100002, 2, 'new', 2)"));
            run(connection, &format!("UPDATE {table} SET s = 'changed' WHERE k = 100002 OR k = 51010"));
            assert_eq!(rows(connection, &format!("SELECT count(*) FROM {table} WHERE s = 'changed'")), ["2"]);
            // A record that goes may be referred to, which the child tells.
            if *table != "parent" || !damaged.contains(CHILD) {
                run(connection, &format!("DELETE FROM {table} WHERE k = 100001"));
                assert_eq!(rows(connection, &format!("SELECT count(*) FROM {table} WHERE s = 'new'")), ["0"]);
            }
            if *layout != "pax" {
                run(connection, &format!("ALTER TABLE {table} ADD COLUMN z INTEGER DEFAULT 3"));
                assert_eq!(rows(connection, &format!("SELECT DISTINCT z FROM {table}")), ["3"]);
            }
            run(connection, &format!("OPTIMIZE {table}"));
            assert_eq!(rows(connection, &format!("SELECT count(*) FROM {table} WHERE s = 'changed'")), ["2"]);
        }
        for table in damaged.iter().filter(|table| self.files.values().any(|(own, must)| own == *table && *must)) {
            for sql in changes(table) {
                let error = connection.execute(&sql).expect_err(&sql);
                assert!(names_one(&error, &[*table].into()), "seed {}: {sql}: {error}", self.seed);
            }
        }
    }

    fn run(mut self) {
        copy(self.base, &self.path);
        let all = segment_files(&self.path);
        for _ in 0..1 + below(&mut self.random, 3) {
            let (file, table) = all[below(&mut self.random, all.len())].clone();
            if !self.files.contains_key(&file) {
                let must_fail = damage(&mut self.random, &file, &all);
                self.files.insert(file, (table, must_fail));
            }
        }
        let database = Database::open(&self.path).expect("a database with damaged tables");
        let connection = database.connect();
        let failed = self.ask(&connection);
        self.check(&database, &failed);
        if below(&mut self.random, 2) == 0 {
            for file in self.files.keys() {
                restore(file, &self.base.join(file.strip_prefix(&self.path).expect("a file of the database")));
            }
            self.files.clear();
            assert!(self.ask(&connection).is_empty(), "seed {}: they are whole again", self.seed);
            assert!(database.check().expect("a report").errors.is_empty());
            return;
        }
        self.write(&connection);
        let mut going = self.tables();
        if going.contains("parent") {
            going.insert(CHILD);
        }
        run(&connection, &format!("DROP TABLE {}", going.iter().copied().collect::<Vec<_>>().join(", ")));
        let errors = database.check().expect("a report").errors;
        assert!(errors.is_empty(), "seed {}: {errors:?}", self.seed);
        drop((connection, database));
        let database = Database::open(&self.path).expect("the database");
        let left: BTreeSet<&str> = segment_files(&self.path).into_iter().map(|(_, table)| table).collect();
        assert!(left.is_disjoint(&going), "seed {}: {left:?} has what was dropped: {going:?}", self.seed);
        let connection = database.connect();
        for table in going {
            run(&connection, &format!("CREATE TABLE {table} AS SELECT 1 AS k"));
            assert_eq!(rows(&connection, &format!("SELECT k FROM {table}")), ["1"]);
        }
    }
}

#[test]
fn random_files_that_are_gone_or_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().join("base");
    build(&base);
    let expected: BTreeMap<String, Vec<String>> = {
        let database = Database::open(&base).expect("the database");
        let connection = database.connect();
        all_questions().into_iter().map(|(_, sql)| (sql.clone(), rows(&connection, &sql))).collect()
    };
    let seeds = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 1..600 } else { 1..13 };
    for seed in seeds {
        let path = folder.path().join(format!("trial {seed}"));
        let random = Generator::new(seed);
        let files = BTreeMap::new();
        Trial { seed, base: &base, expected: &expected, path: path.clone(), random, files }.run();
        std::fs::remove_dir_all(path).expect("the trial's folder goes");
    }
}

/// A database whose table `parent` lacks a file.
fn without_a_file(folder: &Path) -> (Database, PathBuf, Vec<u8>) {
    let path = folder.join("db");
    build(&path);
    let (file, _) = segment_files(&path).into_iter().find(|(_, table)| *table == "parent").expect("a file");
    let bytes = std::fs::read(&file).expect("a file");
    std::fs::remove_file(&file).expect("it goes");
    (Database::open(&path).expect("the database"), file, bytes)
}

#[test]
fn what_is_known_of_a_damaged_table_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, file, bytes) = without_a_file(folder.path());
    let connection = database.connect();
    let error = connection.execute("SELECT count(*) FROM parent").expect_err("it can't be counted");
    let place = format!("table 'parent', {}", file.display());
    let expected =
        format!("corrupt data in {place}: this file is missing; restore it from a backup, or drop the table");
    assert_eq!((error.to_string(), error.sqlstate()), (expected.clone(), "XX001"));
    for sql in
        ["SELECT * FROM seen", "SELECT 1 WHERE EXISTS (SELECT * FROM parent)", "SELECT max(k) FROM public.parent"]
    {
        let error = connection.execute(sql).expect_err(sql);
        assert!(names_one(&error, &["parent"].into()), "{sql}: {error}");
    }
    let told =
        rows(&connection, "SELECT rows, segments, bytes, columns, damage FROM gingham_tables WHERE damage IS NOT NULL");
    assert_eq!(told, [format!("|||4|{expected}")]);
    let columns = rows(
        &connection,
        "SELECT column_name, data_type, nulls, distinct_values, stored_bytes FROM gingham_columns WHERE table_name = 'parent'",
    );
    assert_eq!(columns, ["k|BIGINT|||", "g|INTEGER|||", "s|VARCHAR|||", "f|BIGINT|||"]);
    assert_eq!(rows(&connection, "SELECT count(*) FROM gingham_segments WHERE table_name = 'parent'"), ["0"]);
    for sql in [
        "SELECT count(*) FROM information_schema.tables WHERE table_name = 'parent' AND table_type = 'BASE TABLE'",
        "SELECT count(*) / 4 FROM information_schema.columns WHERE table_name = 'parent'",
        "SELECT count(*) FROM information_schema.table_constraints WHERE table_name = 'parent'",
    ] {
        assert_eq!(rows(&connection, sql), ["1"], "{sql}");
    }
    assert!(rows(&connection, "SHOW TABLES").contains(&"public|parent|BASE TABLE".to_owned()));
    assert!(rows(&connection, "SHOW CREATE TABLE parent").join(" ").contains("BIGINT"));
    assert!(rows(&connection, "SHOW CREATE TABLE child").join(" ").contains("REFERENCES"));
    // The name is taken.
    assert_eq!(connection.execute("CREATE TABLE parent (a INT)").expect_err("it exists").sqlstate(), "42P07");
    assert_eq!(connection.execute("CREATE VIEW parent AS SELECT 1").expect_err("it exists").sqlstate(), "42P07");
    run(&connection, "CREATE TABLE IF NOT EXISTS parent (a INT)");
    let error = connection.execute("ALTER TABLE pages RENAME TO parent").expect_err("it exists");
    assert_eq!(error.sqlstate(), "42P07", "{error}");
    // A plan that was kept of another table goes on; the damaged one heals without opening the database again.
    let others = "SELECT count(*) FROM by_row";
    let count = rows(&connection, others);
    std::fs::write(&file, bytes).expect("the file is back");
    assert_eq!(rows(&connection, "SELECT count(*) FROM parent"), count);
    assert_eq!(rows(&connection, others), count);
    assert_eq!(rows(&connection, "SELECT count(*) FROM gingham_tables WHERE damage IS NOT NULL"), ["0"]);
}

#[test]
fn references_to_a_damaged_table_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, missing, whole) = without_a_file(folder.path());
    let connection = database.connect();
    let parent = ["parent"].into();
    for sql in ["INSERT INTO child VALUES (1, 'x')", "UPDATE child SET k = 2 WHERE k = 1"] {
        let error = connection.execute(sql).expect_err(sql);
        assert!(names_one(&error, &parent), "{sql}: {error}");
    }
    // What needs no key of the other table goes on.
    run(&connection, "INSERT INTO child VALUES (NULL, 'x')");
    run(&connection, "UPDATE child SET s = 'y' WHERE k = 1");
    run(&connection, "DELETE FROM child WHERE k = 2");
    for sql in ["DROP TABLE parent", "TRUNCATE parent", "CREATE OR REPLACE TABLE parent (a INT)"] {
        assert_eq!(connection.execute(sql).expect_err(sql).sqlstate(), "2BP01", "{sql}");
    }
    run(&connection, "CREATE TABLE other (k BIGINT REFERENCES parent (k))");
    run(&connection, "DROP TABLE other");
    // The other way round: whether a key may go can't be told.
    let path = database.path().to_path_buf();
    drop((connection, database));
    let (file, _) = segment_files(&path).into_iter().find(|(_, table)| *table == CHILD).expect("a file");
    let bytes = std::fs::read(&file).expect("a file");
    std::fs::write(&file, &bytes[..bytes.len() - 1]).expect("a shorter file");
    std::fs::write(missing, whole).expect("the other file is back");
    let database = Database::open(&path).expect("the database");
    let connection = database.connect();
    for sql in ["DELETE FROM parent WHERE k = 5", "UPDATE parent SET k = -5 WHERE k = 5"] {
        let error = connection.execute(sql).expect_err(sql);
        assert!(names_one(&error, &[CHILD].into()), "{sql}: {error}");
    }
    run(&connection, "UPDATE parent SET s = 'y' WHERE k = 5");
    assert_eq!(connection.execute("TRUNCATE parent").expect_err("it is referred to").sqlstate(), "2BP01");
    run(&connection, "TRUNCATE child");
    run(&connection, "DELETE FROM parent WHERE k = 5");
    run(&connection, "TRUNCATE parent");
    assert!(database.check().expect("a report").errors.is_empty());
}

#[test]
fn a_damaged_table_is_dropped_emptied_or_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("db");
    {
        let database = Database::open(&path).expect("a new database");
        let connection = database.connect();
        run(&connection, "CREATE SCHEMA old");
        for table in ["a", "b", "c", "old.d"] {
            run(&connection, &format!("CREATE TABLE {table} (k BIGINT PRIMARY KEY, s VARCHAR)"));
            run(&connection, &format!("INSERT INTO {table} SELECT value, 'x' FROM generate_series(1, 20000)"));
            run(&connection, &format!("INSERT INTO {table} VALUES (20001, 'y'), (20002, 'z')"));
            run(&connection, &format!("DELETE FROM {table} WHERE k % 100 = 0"));
        }
        run(&connection, "CREATE TABLE whole AS SELECT * FROM a");
    }
    for (_, folder) in table_folders(&path).iter().take(4) {
        std::fs::remove_dir_all(folder).expect("a table's files go");
    }
    let database = Database::open(&path).expect("the database");
    let connection = database.connect();
    let errors: Vec<String> = database.check().expect("a report").errors.iter().map(ToString::to_string).collect();
    for table in ["a", "b", "c", "old.d"] {
        assert!(errors.iter().any(|error| error.contains(&format!("table '{table}'"))), "{table}: {errors:?}");
    }
    assert!(!errors.iter().any(|error| error.contains("'whole'")), "{errors:?}");
    let backup = database.backup(folder.path().join("copy")).expect_err("tables are missing");
    assert!(names_one(&backup, &["a", "b", "c", "old.d"].into()), "{backup}");
    assert!(!folder.path().join("copy/catalog").exists(), "no half a backup");
    run(&connection, "VACUUM");
    assert_eq!(run(&connection, "TRUNCATE a"), 19_802);
    run(&connection, "INSERT INTO a VALUES (1, 'again')");
    assert_eq!(rows(&connection, "SELECT * FROM a"), ["1|again"]);
    let twice = connection.execute("INSERT INTO a VALUES (1, 'again')").expect_err("the key is there");
    assert_eq!(twice.sqlstate(), "23505");
    run(&connection, "BEGIN; DROP TABLE b; CREATE TABLE b AS SELECT 7 AS n");
    assert_eq!(rows(&connection, "SELECT * FROM b"), ["7"]);
    run(&connection, "ROLLBACK");
    assert!(names_one(&connection.execute("SELECT * FROM b").expect_err("as before"), &["b"].into()));
    run(&connection, "BEGIN; INSERT INTO whole VALUES (-1, 'in a transaction')");
    assert!(names_one(&connection.execute("SELECT * FROM b").expect_err("as before"), &["b"].into()));
    run(&connection, "ROLLBACK");
    run(&connection, "DROP TABLE b");
    run(&connection, "CREATE OR REPLACE TABLE c AS SELECT 8 AS n");
    assert_eq!(rows(&connection, "SELECT * FROM c"), ["8"]);
    assert_eq!(connection.execute("DROP SCHEMA old").expect_err("it is not empty").sqlstate(), "2BP01");
    run(&connection, "DROP SCHEMA old CASCADE");
    assert!(database.check().expect("a report").errors.is_empty());
    assert_eq!(rows(&connection, "SELECT count(*) FROM whole"), ["19802"]);
    database.backup(folder.path().join("copy")).expect("all tables are whole");
}

#[test]
fn a_backup_refuses_a_file_that_was_cut_while_it_was_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("db");
    let database = Database::open(&path).expect("a new database");
    let connection = database.connect();
    run(&connection, "CREATE TABLE t AS SELECT value AS k FROM generate_series(1, 40000)");
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["40000"]);
    let file = path.join("segments/1").join(segment_names(&path, 1).remove(0));
    let bytes = std::fs::read(&file).expect("a file");
    std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("a shorter file");
    let error = database.backup(folder.path().join("copy")).expect_err("a table is cut off");
    assert!(names_one(&error, &["t"].into()), "{error}");
    std::fs::write(&file, &bytes).expect("the file as it was");
    database.backup(folder.path().join("copy")).expect("it is whole");
}

fn segment_names(database: &Path, table: u32) -> Vec<String> {
    let files = std::fs::read_dir(database.join(format!("segments/{table}"))).expect("a table's files").flatten();
    files.map(|file| file.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn designs_are_compared_beside_a_damaged_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, ..) = without_a_file(folder.path());
    let scratch = gingham::lab::store(&database).scratch_copy().expect("a copy of links");
    let snapshot = scratch.snapshot().expect("a snapshot");
    assert_eq!(snapshot.damaged.len(), 1);
    let name = |table: &str| TableName { schema: "public".into(), table: table.into() };
    assert!(snapshot.table(&name("by_row")).expect("a whole table").is_some());
    // A damaged one that stands for another does not let that one be read in its place.
    let connection = database.connect();
    gingham::lab::stand_in(&connection, name("by_row"), name("parent")).expect("a stand-in");
    let error = connection.execute("SELECT count(*) FROM by_row").expect_err("what stands for it can't be read");
    assert!(names_one(&error, &["parent"].into()), "{error}");
}

/// Half a catalog, an empty one, and what is no database.
#[test]
fn what_is_no_database_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("db");
    {
        let connection = Database::open(&path).expect("a new database").connect();
        run(&connection, "CREATE TABLE t AS SELECT value AS k, 'text ' || value AS s FROM generate_series(1, 20000)");
    }
    let data = path.join("catalog/data.mdb");
    let whole = std::fs::read(&data).expect("the catalog");
    for length in [whole.len() / 2, whole.len() / 2 + 1, 4096, 100, 0] {
        std::fs::write(&data, &whole[..length]).expect("a shorter catalog");
        let opened =
            Database::open(&path).and_then(|database| rows::rows(&database.connect(), "SELECT count(*) FROM t"));
        match opened {
            // Pages at the end may be free ones.
            Ok(rows) => assert_eq!(rows, ["20000"], "{length} bytes"),
            Err(error) => {
                assert_eq!(error.sqlstate(), "XX001", "{length} bytes: {error}");
                assert!(error.to_string().contains("data.mdb"), "{length} bytes: {error}");
            }
        }
        if length <= 4096 {
            let refused =
                Database::open(&path).and_then(|database| database.connect().execute("CREATE TABLE u (a INT)"));
            assert!(refused.is_err(), "{length} bytes are taken for a database");
        }
    }
    std::fs::write(&data, whole).expect("the catalog as it was");
    let connection = Database::open(&path).expect("the database").connect();
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["20000"]);
    let file = folder.path().join("file");
    std::fs::write(&file, "text").expect("a file");
    assert_eq!(Database::open(&file).expect_err("a file").sqlstate(), "58P02");
    let other = folder.path().join("other");
    std::fs::create_dir(&other).expect("a folder");
    std::fs::write(other.join("readme"), "text").expect("a file");
    assert_eq!(Database::open(&other).expect_err("a folder of other files").sqlstate(), "58P02");
}
