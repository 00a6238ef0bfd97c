//! Several processes: locks, readers beside a writer, killed writers, folders that can't be written.

mod common;

use common::*;
use gingham_storage::store::Store;
use gingham_storage::{Design, Error, Layout};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};
use std::time::Duration;

/// After that many loads the table is emptied, so that it does not grow without end.
const LOADS: i64 = 20;

/// Records of one load: every third load is small enough for the delta.
fn load_rows(load: i64) -> i64 {
    if load % 3 == 2 { 50 } else { 18_000 }
}

fn first_id(load: i64) -> i64 {
    (0..load).map(load_rows).sum()
}

/// Loads until it is killed, and says so after each commit.
#[test]
fn load_child() {
    let Some(path) = child::argument("load_child") else { return };
    let store = open(Path::new(&path)).unwrap();
    let done = table(&store.snapshot().unwrap(), "t").rows() as i64;
    let mut load = (0..).find(|load| first_id(*load) == done).unwrap();
    println!();
    loop {
        if load == LOADS {
            store.write(|transaction| transaction.truncate(1)).unwrap();
            load = 0;
        }
        insert(&store, "t", first_id(load)..first_id(load + 1)).unwrap();
        load += 1;
        println!("loaded {load}");
        if load % 5 == 0 {
            store.optimize(&name("t")).unwrap();
        }
        if load % 4 == 1 {
            let design = Design::of_layout([Layout::Row, Layout::Column][load as usize % 8 / 4]);
            store.set_design(&name("t"), design, 2, &mut |_, _| Ok(())).unwrap();
        }
    }
}

fn lines(child: &mut Child) -> std::io::Lines<BufReader<ChildStdout>> {
    BufReader::new(child.stdout.take().unwrap()).lines()
}

#[test]
fn a_killed_load_is_all_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create(&open(&path).unwrap(), definition("t")).unwrap();
    let mut said = 0i64;
    for round in 0..12u64 {
        let mut child = child::command("load_child", path.to_str().unwrap()).spawn().unwrap();
        let mut output = lines(&mut child);
        // Until the first commit, then for a while that differs from round to round.
        let wait = Duration::from_micros(1500 * (round * 7919 % 40));
        for line in output.by_ref().map_while(Result::ok) {
            if let Some(load) = line.strip_prefix("loaded ") {
                said = load.parse().unwrap();
                break;
            }
        }
        std::thread::sleep(wait);
        child.kill().unwrap();
        child.wait().unwrap();
        for line in output.map_while(Result::ok) {
            if let Some(load) = line.strip_prefix("loaded ") {
                said = load.parse().unwrap();
            }
        }
        let store = open(&path).unwrap();
        let t = table(&store.snapshot().unwrap(), "t");
        let found = t.rows() as i64;
        let possible = [said, said + 1, if said == LOADS { 0 } else { said }].map(first_id);
        assert!(possible.contains(&found), "{found} records after {said} loads");
        let mut ids = ids(&t).unwrap();
        ids.sort_unstable();
        assert!(ids.iter().copied().eq(0..found), "round {round}: records are missing or twice there");
        assert_eq!(segment_files(&path).len(), t.segments.len(), "no file is left over");
        let report = store.check().unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(report.notes.iter().any(|note| note.contains("did not close")), "{:?}", report.notes);
    }
}

/// Makes databases until it is killed.
#[test]
fn create_child() {
    let Some(path) = child::argument("create_child") else { return };
    println!("\nready");
    for number in 0.. {
        drop(open(&Path::new(&path).join(number.to_string())).unwrap());
    }
}

#[test]
fn a_killed_creation_leaves_a_database_or_room_for_one() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..8u64 {
        let path = folder.path().join(format!("round {round}"));
        std::fs::create_dir(&path).unwrap();
        let mut child = child::command("create_child", path.to_str().unwrap()).spawn().unwrap();
        let _ = lines(&mut child).map_while(Result::ok).find(|line| line.contains("ready"));
        std::thread::sleep(Duration::from_micros(10_000 + 1700 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        for entry in std::fs::read_dir(&path).unwrap() {
            let store = open(&entry.unwrap().path()).unwrap();
            assert!(store.snapshot().unwrap().tables.is_empty());
            assert!(store.check().unwrap().errors.is_empty());
        }
    }
}

#[test]
fn another_process_may_read_but_not_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create(&open(&path).unwrap(), definition("t")).unwrap();
    let mut child = child::command("load_child", path.to_str().unwrap()).spawn().unwrap();
    let mut output = lines(&mut child);
    assert!(output.by_ref().map_while(Result::ok).any(|line| line.starts_with("loaded")));
    let error = refused(open(&path));
    assert!(
        matches!(&error, Error::Locked(text) if text.contains("another process") && text.contains("db")),
        "{error}"
    );
    // Reading goes on while segments come and are replaced.
    let store = open_read_only(&path).unwrap();
    let mut commits = std::collections::HashSet::new();
    for _ in 0..100 {
        let snapshot = store.snapshot().unwrap();
        commits.insert(snapshot.commit);
        let t = table(&snapshot, "t");
        let found = t.rows() as i64;
        assert!((0..=LOADS).map(first_id).any(|first| first == found), "{found}");
        assert_eq!(ids(&t).unwrap().len() as i64, found);
    }
    assert!(commits.len() > 2, "the writer went on");
    // Each opening of its own, with the catalog verifier, beside the writer.
    drop(store);
    for _ in 0..50 {
        open_read_only(&path).unwrap().snapshot().unwrap();
    }
    let report = open_read_only(&path).unwrap().check().unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    child.kill().unwrap();
    child.wait().unwrap();
    open(&path).unwrap();
}

#[test]
fn a_backup_while_records_come_is_consistent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let store = open(&path).unwrap();
    create(&store, definition("t")).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for load in 0..12 {
                insert(&store, "t", first_id(load)..first_id(load + 1)).unwrap();
                if load % 4 == 3 {
                    store.optimize(&name("t")).unwrap();
                }
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        for number in 0.. {
            let last = done.load(std::sync::atomic::Ordering::Acquire);
            let to = folder.path().join(format!("copy {number}"));
            assert!(store.backup(&to).unwrap() > 0);
            let copy = open(&to).unwrap();
            let t = table(&copy.snapshot().unwrap(), "t");
            let mut ids = ids(&t).unwrap();
            ids.sort_unstable();
            assert!(ids.iter().copied().eq(0..t.rows() as i64));
            assert!((0..=12).map(first_id).any(|first| first == t.rows() as i64));
            let report = copy.check().unwrap();
            assert!(report.errors.is_empty() && report.notes.is_empty(), "{report:?}");
            // The copy is a database of its own.
            insert(&copy, "t", [-1]).unwrap();
            if last {
                break;
            }
        }
    });
    assert_eq!(segment_files(&path).len(), table(&store.snapshot().unwrap(), "t").segments.len());
    assert!(refused(store.backup(&folder.path().join("copy 0"))).to_string().contains("not empty"));
    assert!(refused(store.backup(&path.join("inside"))).to_string().contains("inside the database"));
}

/// Reads a database in a folder that it can't write.
#[test]
fn read_child() {
    let Some(path) = child::argument("read_child") else { return };
    let path = Path::new(&path);
    let error = refused(open(path));
    assert!(matches!(&error, Error::Locked(text) if text.contains("can't be written")), "{error}");
    let store = open_read_only(path).unwrap();
    assert_eq!(ids(&table(&store.snapshot().unwrap(), "t")).unwrap().len(), 20_005);
    assert!(store.check().unwrap().errors.is_empty());
    println!("read all");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cant_be_written_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    {
        let store = open(&path).unwrap();
        create(&store, definition("t")).unwrap();
        insert(&store, "t", 0..20_000).unwrap();
        insert(&store, "t", 0..5).unwrap();
    }
    let program = folder.path().join("reader");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut everything = vec![folder.path().to_path_buf()];
    let mut next = 0;
    while next < everything.len() {
        if everything[next].is_dir() {
            everything.extend(std::fs::read_dir(&everything[next]).unwrap().map(|entry| entry.unwrap().path()));
        }
        next += 1;
    }
    let set = |paths: &[PathBuf], folders: u32, files: u32| {
        for path in paths {
            let mode = if path.is_dir() || *path == program { folders } else { files };
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(&everything, 0o555, 0o444);
    // A superuser may write anywhere, so it reads as nobody.
    let mut command = child::command_of(&program, "read_child", path.to_str().unwrap());
    if std::fs::File::create(path.join("probe")).is_ok() {
        std::fs::remove_file(path.join("probe")).unwrap();
        command.uid(65534).gid(65534);
    }
    let output = command.output().unwrap();
    set(&everything, 0o755, 0o644);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("read all"), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Adds ten new strings to a table and says how many bytes that wrote.
#[test]
fn insert_child() {
    let Some(path) = child::argument("insert_child") else { return };
    let store = open(Path::new(&path)).unwrap();
    store.snapshot().unwrap();
    let written = || {
        let text = std::fs::read_to_string("/proc/self/io").unwrap();
        text.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse::<u64>().unwrap()
    };
    let before = written();
    insert_batch(&store, "t", |definition| batch(definition, 0..10, |id| format!("a new label {id}"))).unwrap();
    println!("\nwrote {}", written() - before);
}

#[cfg(target_os = "linux")]
#[test]
fn ten_new_strings_write_little() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    {
        let store = open(&path).unwrap();
        create(&store, definition("t")).unwrap();
        insert_batch(&store, "t", |definition| batch(definition, 0..300_000, |id| format!("a label of {}", id % 5000)))
            .unwrap();
    }
    for _ in 0..3 {
        let output = child::command("insert_child", path.to_str().unwrap()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let written: u64 = text.lines().find_map(|line| line.strip_prefix("wrote ")).expect(&text).parse().unwrap();
        assert!(written > 0 && written < 200_000, "{written} bytes");
        println!("{written} bytes for ten strings");
    }
    assert_eq!(segment_files(&path), ["1/1.seg"], "no segment is written or rewritten");
}

/// Ends with databases in temporary folders that it never drops, and into one of which a thread writes.
#[test]
fn scratch_child() {
    let Some(path) = child::argument("scratch_child") else { return };
    let dropped = Store::scratch(budget()).unwrap();
    let gone = dropped.path().to_path_buf();
    create(&dropped, definition("t")).unwrap();
    drop(dropped);
    assert!(Store::wait_until_closed(&gone, Duration::ZERO) && !gone.exists(), "it goes with the last who has it");
    let kept = Store::scratch(budget()).unwrap();
    create(&kept, definition("t")).unwrap();
    insert(&kept, "t", 0..20_000).unwrap();
    assert!(!Store::wait_until_closed(kept.path(), Duration::ZERO));
    let of_database = open(Path::new(&path)).unwrap().scratch_copy().unwrap();
    assert_eq!(std::fs::read_dir(std::env::temp_dir()).unwrap().count(), 1);
    let (sender, writes) = std::sync::mpsc::channel();
    let writing = std::sync::Arc::clone(&kept);
    std::thread::spawn(move || {
        for load in 1.. {
            // It fails once the folder is gone.
            drop(insert(&writing, "t", load * 20_000..(load + 1) * 20_000));
            let _nobody_waits = sender.send(load);
        }
    });
    writes.recv().unwrap();
    std::mem::forget((kept, of_database));
    println!("\nends");
}

#[cfg(unix)]
#[test]
fn a_process_that_ends_leaves_no_temporary_database() {
    let folder = tempfile::tempdir().unwrap();
    let (path, temporary) = (folder.path().join("db"), folder.path().join("temporary"));
    create(&open(&path).unwrap(), definition("t")).unwrap();
    std::fs::create_dir(&temporary).unwrap();
    for _ in 0..3 {
        let mut command = child::command("scratch_child", path.to_str().unwrap());
        let output = command.env("TMPDIR", &temporary).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("ends"), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        let left = |place: &Path| -> Vec<String> {
            let names =
                std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.starts_with("gingham-") || name.starts_with("scratch-")).collect()
        };
        assert_eq!((left(&temporary), left(&path)), (Vec::new(), Vec::new()));
    }
}
