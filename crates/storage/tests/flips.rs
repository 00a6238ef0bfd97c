//! One flipped byte anywhere in a database: an error that names the place, or the right answer. Never a crash, never a
//! wrong answer.
//!
//! Trials run in a child process, so that a crash inside LMDB is seen as what it is. Each run takes a sample spread
//! evenly over all files; `GINGHAM_NIGHTLY=1` takes every byte.

mod common;

use common::*;
use gingham_storage::model::ViewDefinition;
use gingham_storage::store::Store;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Trials of a normal run.
const SAMPLE: usize = 1500;

/// A small database with a bit of everything.
fn build(path: &Path) {
    let store = open(path).unwrap();
    store.write(|transaction| transaction.create_schema("other")).unwrap();
    let parent = create(&store, keyed("parent")).unwrap();
    create(&store, referring("child", parent)).unwrap();
    for number in 0..6 {
        create(&store, definition(&format!("t{number}"))).unwrap();
    }
    insert(&store, "parent", 0..16_500).unwrap();
    insert_batch(&store, "parent", |definition| batch(definition, 16_500..16_800, |id| format!("name of {id}")))
        .unwrap();
    insert(&store, "child", 0..20).unwrap();
    insert_batch(&store, "t1", |definition| {
        batch(definition, 0..16_400, |id| format!("{} a dictionary of some pages in the catalog", id % 500))
    })
    .unwrap();
    delete(&store, "t1", (0..16_400).filter(|number| number % 3 == 0)).unwrap();
    delete(&store, "parent", [100, 7000, 16_777]).unwrap();
    let view = ViewDefinition { name: name("v"), query: "SELECT * FROM parent".into(), columns: vec![] };
    store.write(|transaction| transaction.create_view(view, false)).unwrap();
    store.write(|transaction| transaction.drop_table(&name("t5"))).unwrap();
}

/// All that a database says. Fails when a table can't be read.
fn answer(store: &Store) -> gingham_storage::Result<String> {
    let snapshot = store.snapshot()?;
    if let Some(damaged) = snapshot.damaged.values().next() {
        return Err(damaged.error());
    }
    let mut text = format!("{:?} {:?}\n", snapshot.schemas, snapshot.views);
    for table in snapshot.tables.values() {
        let mut sum = crc32c::crc32c(format!("{:?}", table.definition).as_bytes());
        for (id, label) in rows(table)? {
            sum = crc32c::crc32c_append(sum, &id.unwrap_or(-1).to_le_bytes());
            sum = crc32c::crc32c_append(sum, label.as_bytes());
        }
        let summary = (table.summary(1), table.summary(2));
        text += &format!("{} {} {sum} {summary:?}\n", table.definition.name, table.rows());
    }
    Ok(text)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn flip(file: &Path, at: u64, mask: u8) {
    let mut file = File::options().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    byte[0] ^= mask;
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&byte).unwrap();
}

/// One, two or all bits, by the trial's number.
fn mask(trial: usize) -> u8 {
    match trial % 3 {
        0 => 1 << (trial / 3 % 8),
        1 => 0x81u8.rotate_left((trial / 3 % 8) as u32),
        _ => 0xff,
    }
}

/// Runs trials from the number in its argument on, and says what came of each.
#[test]
fn flip_child() {
    let Some(argument) = child::argument("flip_child") else { return };
    let mut parts = argument.split('|');
    let path = PathBuf::from(parts.next().unwrap());
    let (first, step): (usize, usize) =
        (parts.next().unwrap().parse().unwrap(), parts.next().unwrap().parse().unwrap());
    let right = std::fs::read_to_string(path.with_extension("answer")).unwrap();
    let mut trial = 0;
    for file in files(&path) {
        for at in (0..std::fs::metadata(&file).unwrap().len()).step_by(step) {
            trial += 1;
            if trial <= first {
                continue;
            }
            println!("begin {trial} {} {at} {:#x}", file.display(), mask(trial));
            flip(&file, at, mask(trial));
            let result = std::panic::catch_unwind(|| open_read_only(&path).and_then(|store| answer(&store)));
            flip(&file, at, mask(trial));
            match result {
                Ok(Ok(text)) if text == right => println!("right"),
                Ok(Ok(text)) => println!("WRONG {}", text.replace('\n', " ; ")),
                Ok(Err(error)) if error.to_string().len() > 20 => println!("error {error}"),
                Ok(Err(error)) => println!("VAGUE {error}"),
                Err(_) => println!("PANIC"),
            }
        }
    }
    println!("done");
}

#[test]
fn a_flipped_byte_is_an_error_or_the_right_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    build(&path);
    let right = answer(&open_read_only(&path).unwrap()).unwrap();
    std::fs::write(path.with_extension("answer"), &right).unwrap();
    let bytes: u64 = files(&path).iter().map(|file| file.metadata().unwrap().len()).sum();
    let all = std::env::var_os("GINGHAM_NIGHTLY").is_some();
    // An odd step, so that every byte of a word and of a page header has its turn.
    let step = if all { 1 } else { (bytes as usize / SAMPLE) | 1 };
    let (mut errors, mut rights, mut bad) = (0, 0, Vec::new());
    let mut first = 0;
    loop {
        let mut run = child::command("flip_child", &format!("{}|{first}|{step}", path.display())).spawn().unwrap();
        let mut current = None;
        let mut done = false;
        for line in BufReader::new(run.stdout.take().unwrap()).lines().map_while(Result::ok) {
            match line.split_whitespace().next() {
                Some("begin") => current = Some(line),
                Some("right") => rights += 1,
                Some("error") => errors += 1,
                Some("WRONG" | "VAGUE" | "PANIC") => bad.push(format!("{current:?}: {line}")),
                Some("done") => done = true,
                _ => continue,
            }
        }
        let status = run.wait().unwrap();
        if done {
            break;
        }
        let current = current.expect("the child began a trial");
        bad.push(format!("{current}: crashed, {status}"));
        let words: Vec<&str> = current.split_whitespace().collect();
        first = words[1].parse().unwrap();
        let mask = u8::from_str_radix(words[4].trim_start_matches("0x"), 16).unwrap();
        flip(Path::new(words[2]), words[3].parse().unwrap(), mask);
    }
    println!("{bytes} bytes, step {step}: {errors} errors, {rights} right answers, {} bad", bad.len());
    assert!(bad.is_empty(), "{} bad trials:\n{}", bad.len(), bad.join("\n"));
    assert!(errors > 50 && rights > 100, "{errors} errors and {rights} right answers");
    assert_eq!(answer(&open(&path).unwrap()).unwrap(), right, "the flips were undone");
}

#[test]
fn check_names_a_damaged_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    build(&path);
    let store = open_read_only(&path).unwrap();
    let report = store.check().unwrap();
    assert!(report.errors.is_empty() && report.verified > 20, "{report:?}");
    let file = path.join("segments").join(&segment_files(&path)[0]);
    flip(&file, 300, 1);
    let report = store.check().unwrap();
    assert_eq!(report.errors.len(), 1, "{:?}", report.errors);
    assert!(report.errors[0].to_string().contains(".seg"), "{}", report.errors[0]);
}

#[test]
fn check_names_a_damaged_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    build(&path);
    let snapshot = open_read_only(&path).unwrap().snapshot().unwrap();
    let child = snapshot.definitions().find(|(name, _)| name.table == "child").unwrap().1.id;
    drop(snapshot);
    let data = path.join("catalog/data.mdb");
    let bytes = std::fs::read(&data).unwrap();
    let found: Vec<usize> =
        bytes.windows(18).enumerate().filter(|(_, w)| w == b"\"name\":\"child_id_f").map(|(at, _)| at).collect();
    for at in found {
        flip(&data, at as u64 + 12, 1);
    }
    let store = open_read_only(&path).unwrap();
    let report = store.check().unwrap();
    assert_eq!(report.errors.len(), 1, "{:?}", report.errors);
    let value = format!("tables value {child}");
    assert!(report.errors[0].to_string().contains(&value), "{}", report.errors[0]);
    assert!(refused(store.snapshot().map(drop)).to_string().contains(&value));
}

#[test]
fn a_segment_that_a_damaged_key_hides_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    build(&path);
    let data = path.join("catalog/data.mdb");
    let bytes = std::fs::read(&data).unwrap();
    // The key of the first table's first segment. Turning the table's number into a larger one hides the segment.
    let table = table_numbers(&path)[0];
    let mut key = table.to_be_bytes().to_vec();
    key.extend(1u64.to_be_bytes());
    for (at, _) in bytes.windows(16).enumerate().filter(|(_, window)| *window == key) {
        flip(&data, at as u64 + 5, 0xff);
    }
    let error = refused(open_read_only(&path).and_then(|store| answer(&store))).to_string();
    assert!(error.contains("data.mdb"), "{error}");
    let error = refused(open(&path).and_then(|store| answer(&store))).to_string();
    assert!(error.contains("data.mdb"), "{error}");
    assert!(
        path.join(format!("segments/{table}/1.seg")).exists(),
        "no sweep takes the file of a segment that was missed"
    );
}

#[test]
fn a_file_cut_short_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    build(&path);
    let segment = path.join(format!("segments/{}/1.seg", table_numbers(&path)[0]));
    for file in [path.join("catalog/data.mdb"), path.join("format"), segment.clone()] {
        let bytes = std::fs::read(&file).unwrap();
        for parts in 0..40 {
            std::fs::write(&file, &bytes[..bytes.len() * parts / 40]).unwrap();
            match open_read_only(&path).and_then(|store| answer(&store)) {
                // The last pages of LMDB's file may be free ones.
                Ok(_) => assert!(file.ends_with("data.mdb") && parts > 30, "{} cut at {parts}/40", file.display()),
                Err(error) => {
                    let name = file.file_name().unwrap().to_str().unwrap();
                    assert!(error.to_string().contains(name), "{error}");
                }
            }
        }
        std::fs::write(&file, bytes).unwrap();
    }
    std::fs::remove_file(segment).unwrap();
    let error = refused(open_read_only(&path).and_then(|store| answer(&store))).to_string();
    assert!(error.contains("table 'parent'") && error.contains("1.seg: this file is missing"), "{error}");
    std::fs::remove_file(path.join("catalog/data.mdb")).unwrap();
    assert!(refused(open(&path)).to_string().contains("data.mdb"));
}
