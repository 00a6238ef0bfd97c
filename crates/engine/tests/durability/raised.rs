//! Databases of older formats, which the first writer raises to today's: power may go at any moment of that.

use crate::disk::{Disk, Fate};
use crate::generator::Generator;
use crate::recorder::{self, Event};
use crate::rounds;
use crate::verify::{open, rows};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The kept databases of all formats that hold the tables which [`whole`] counts.
fn kept() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat");
    let entries = fs::read_dir(&folder).expect("the kept files").map(|entry| entry.expect("an entry").path());
    let mut kept: Vec<PathBuf> = entries.filter(|path| is_database(path)).collect();
    kept.sort();
    kept
}

fn is_database(path: &Path) -> bool {
    path.join("catalog").is_dir()
        && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("database-"))
}

/// Copies a folder so that a power loss does not touch it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let (from, to) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).expect("an entry");
        if from.is_dir() {
            copy(&from, &to);
        } else {
            let mut file = File::create(&to).expect("a new file");
            file.write_all(&fs::read(&from).expect("a kept file")).expect("it is written");
            file.sync_all().expect("it is synced");
        }
    }
    File::open(to).and_then(|folder| folder.sync_all()).expect("its names are synced");
}

#[test]
fn a_database_that_is_raised_to_todays_format_loses_nothing() {
    for kept in kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let (events, ()) = recorder::record(folder.path(), || {
            copy(&kept, &folder.path().join("db"));
            File::open(folder.path()).and_then(|folder| folder.sync_all()).expect("its name is synced");
            recorder::acknowledge(0);
            let database = open(&folder.path().join("db"), false).expect("a kept database");
            database.connect().execute("CREATE SCHEMA new").expect("it can be written");
            recorder::acknowledge(1);
        });
        let mut disk = Disk::new();
        let mut copied = false;
        for (end, event) in events.iter().enumerate() {
            let fates = [Fate::Last, Fate::Random(50), Fate::Lost].into_iter().take(rounds(2, 3));
            for fate in fates.filter(|_| copied) {
                let image = tempfile::tempdir().expect("a folder");
                disk.lose_power(Some(event), [fate; 2], &mut Generator::new(end as u64), image.path());
                let whole = whole(&image.path().join("db"));
                assert_eq!(whole, Ok(()), "{}, {end} of {} events, {fate:?}", kept.display(), events.len());
            }
            copied |= matches!(event, Event::Acknowledged(0));
            disk.apply(event);
        }
    }
}

/// The kept database has what it had.
fn whole(path: &Path) -> Result<(), String> {
    let database = open(path, false).map_err(|error| format!("it can't be opened: {error}"))?;
    let report = database.check().map_err(|error| format!("it can't be checked: {error}"))?;
    let found = rows(&database.connect(), "SELECT (SELECT count(*) FROM parent) AS parents, count(*) FROM child")?;
    match report.errors.first() {
        Some(error) => Err(error.to_string()),
        None if found != ["33003|2"] => Err(format!("it holds {found:?}")),
        None => Ok(()),
    }
}
