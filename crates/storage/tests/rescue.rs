//! Databases that are damaged at random, and what a rescue makes of them: it ends, the new database is sound, each table is whole and
//! equal to what it was, or is named.

mod common;

use common::*;
use gingham_storage::model::{HeapLayout, HeapOptions};
use gingham_storage::rescue::{RescueReport, rescue};
use gingham_storage::store::Store;
use gingham_storage::{Error, Layout, ReferenceDefinition};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What every record of a table says, sorted, by the table's name.
type Contents = BTreeMap<String, Vec<(Option<i64>, String)>>;

fn contents(store: &Arc<Store>) -> Contents {
    readable(store).unwrap()
}

fn readable(store: &Arc<Store>) -> Result<Contents, Error> {
    let snapshot = store.pinned()?;
    assert!(snapshot.damaged.is_empty(), "a table can't be read");
    let sorted = |table| {
        let mut rows = rows(table)?;
        rows.sort();
        Ok::<_, Error>(rows)
    };
    snapshot.tables.iter().map(|(name, table)| Ok((name.table.clone(), sorted(table)?))).collect()
}

/// Few records, so that a commit changes them.
const LAST: [(&str, std::ops::Range<i64>); 3] = [("u", 70_000..70_003), ("pax", 70_000..70_003), ("small", 5..6)];

/// A database with tables of all kinds; what it holds after the last commit and after each of the few before.
fn build(path: &Path) -> Vec<Contents> {
    let store = open(path).unwrap();
    create(&store, keyed("t")).unwrap();
    for ids in [0..5000, 5000..9000] {
        insert_batch(&store, "t", |definition| batch(definition, ids.clone(), |id| format!("uncommon {}", id % 9)))
            .unwrap();
    }
    insert_batch(&store, "t", |definition| batch(definition, 40_000..40_010, |id| format!("newcomer {id}"))).unwrap();
    delete(&store, "t", [111, 1222, 9003]).unwrap();
    create(&store, definition("u")).unwrap();
    insert(&store, "u", 0..20_000).unwrap();
    insert(&store, "u", 20_000..20_010).unwrap();
    let mut other = definition("rows");
    other.design.layout = Layout::Row;
    create(&store, other).unwrap();
    insert(&store, "rows", 0..18_000).unwrap();
    for (name, layout) in [("nsm", HeapLayout::Nsm), ("dsm", HeapLayout::Dsm), ("pax", HeapLayout::Pax)] {
        let mut definition = keyed(name);
        if name == "nsm" {
            let parent = table(&store.snapshot().unwrap(), "t").definition.id;
            let reference =
                ReferenceDefinition { name: "nsm_t".into(), columns: vec![1], table: parent, referred: vec![1] };
            definition.references.push(reference);
        }
        store.write(|transaction| transaction.create_heap_table(definition, HeapOptions::new(layout))).unwrap();
        insert_batch(&store, name, |definition| {
            batch(definition, 2000..3500, |id| if id % 100 == 7 { "long ".repeat(900) } else { format!("text {id}") })
        })
        .unwrap();
    }
    for number in 0..30 {
        create(&store, definition(&format!("empty{number}"))).unwrap();
    }
    create(&store, definition("small")).unwrap();
    let mut states = vec![contents(&store)];
    for (name, ids) in LAST {
        insert(&store, name, ids).unwrap();
        states.push(contents(&store));
    }
    states
}

/// All files of a database with their lengths.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut files = vec!["catalog/data.mdb", "format", "writer.lock", "catalog/lock.mdb"]
        .into_iter()
        .map(|name| path.join(name))
        .collect::<Vec<_>>();
    files.extend(segment_files(path).iter().map(|file| path.join("segments").join(file)));
    files
}

/// A source of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 >> 33) ^ self.0;
        mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % end.max(1)
    }
}

/// Damages a copy, and says how. The catalog is hit most often.
fn damage(path: &Path, random: &mut Numbers) -> String {
    const PAGE: usize = 4096;
    let all = files(path);
    let mut told = Vec::new();
    for _ in 0..1 + random.below(3) {
        let file = if random.below(10) < 7 { &all[0] } else { &all[random.below(all.len() as u64) as usize] };
        let Ok(mut bytes) = std::fs::read(file) else { continue };
        let length = bytes.len();
        let pages = length.div_ceil(PAGE) as u64;
        let page = if random.below(4) == 0 { random.below(2) } else { random.below(pages) } as usize * PAGE;
        let page = if page < length { page } else { 0 };
        let within = page..(page + PAGE).min(length);
        let what = match random.below(9) {
            0..3 if length > 0 => {
                // Rather in what the page says of itself.
                let near = if random.below(2) == 0 { 64 } else { within.len() as u64 };
                let at = (within.start + random.below(near) as usize).min(length - 1);
                bytes[at] ^= 1 << random.below(8);
                format!("a bit of byte {at}")
            }
            3..5 => {
                bytes[within.clone()].fill(0);
                format!("zeros in {within:?}")
            }
            5 => {
                bytes[within.clone()].iter_mut().for_each(|byte| *byte = random.below(256) as u8);
                format!("noise in {within:?}")
            }
            6 => {
                bytes.truncate(random.below(length as u64) as usize);
                format!("cut to {}", bytes.len())
            }
            7 if *file != all[0] => {
                std::fs::remove_file(file).unwrap();
                told.push(format!("{} removed", file.display()));
                continue;
            }
            _ => {
                let from = random.below(pages) as usize * PAGE;
                let other = bytes[from..(from + PAGE).min(length)].to_vec();
                let end = (within.start + other.len()).min(length);
                bytes[within.start..end].copy_from_slice(&other[..end - within.start]);
                format!("page at {from} over {within:?}")
            }
        };
        std::fs::write(file, bytes).unwrap();
        told.push(format!("{}: {what}", file.display()));
    }
    told.join("; ")
}

/// What the report and the new database say, held against what there was; gives whether all tables are whole.
fn judge(to: &Path, report: &RescueReport, states: &[Contents]) -> Result<bool, String> {
    let store = open(to).map_err(|error| format!("it can't be opened: {error}"))?;
    let checked = store.check().map_err(|error| error.to_string())?;
    if let Some(error) = checked.errors.first() {
        return Err(format!("check: {error}"));
    }
    let found = readable(&store).map_err(|error| format!("it can't be read: {error}"))?;
    let latest = states.len() - 1;
    // An older commit is told.
    let allowed = if report.notes.is_empty() { latest..=latest } else { latest.saturating_sub(1)..=latest };
    let is_right = |state: &Contents| {
        report.whole.iter().all(|(name, rows)| {
            let own = state.get(&name.table);
            own.is_some_and(|own| *own == found[&name.table] && own.len() as u64 == *rows)
        })
    };
    let Some(state) = allowed.rev().map(|number| &states[number]).find(|state| is_right(state)) else {
        return Err(format!("a table that is told to be whole is not: {:?}", report.whole));
    };
    for partial in &report.partial {
        if partial.why.contains(".gingham-rescue-") {
            return Err(format!("{partial:?} names a folder that is gone"));
        }
        let (own, all) = (&found[&partial.name.table], &state[&partial.name.table]);
        let known: BTreeSet<_> = all.iter().collect();
        if own.len() as u64 != partial.rows || own.iter().any(|row| !known.contains(row)) {
            return Err(format!("{partial:?} has other records than it had"));
        }
        if partial.lost.is_some_and(|lost| lost + partial.rows != all.len() as u64) {
            return Err(format!("{partial:?} had {} records", all.len()));
        }
    }
    let told = report.whole.iter().map(|(name, _)| name).chain(report.partial.iter().map(|table| &table.name));
    let told: BTreeSet<&str> = told.map(|name| name.table.as_str()).collect();
    if told != found.keys().map(String::as_str).collect() {
        return Err(format!("it has {:?}, and tells of {told:?}", found.keys()));
    }
    let named: BTreeSet<&str> = report.lost.iter().map(|lost| lost.name.as_str()).collect();
    let unnamed = report.lost.iter().filter(|lost| lost.name.contains("whose name is lost")).count();
    let silent = state.keys().filter(|name| !told.contains(name.as_str()) && !named.contains(name.as_str())).count();
    if silent > unnamed {
        return Err(format!("{silent} tables are missing silently: {report:?}"));
    }
    Ok(report.is_whole() && report.notes.is_empty())
}

fn rescued(from: &Path, to: &Path) -> gingham_storage::Result<RescueReport> {
    rescue(from, to, &budget())
}

#[test]
fn a_sound_database_is_rescued_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("db"), folder.path().join("new/rescued"));
    let states = build(&from);
    let error = refused(rescued(&from, &from)).to_string();
    assert!(error.contains("is there already"), "{error}");
    let error = refused(rescued(&from, &from.join("within"))).to_string();
    assert!(error.contains("lies inside"), "{error}");
    let error = refused(rescued(&folder.path().join("nosuch"), &to)).to_string();
    assert!(error.contains("there is no database"), "{error}");
    let store = open(&from).unwrap();
    let error = refused(rescued(&from, &to));
    assert!(matches!(error, Error::Locked(_)), "{error}");
    drop(store);
    let report = rescued(&from, &to).unwrap();
    assert_eq!(judge(&to, &report, &states), Ok(true), "{report:?}");
    // It can be written, and keys are known.
    let store = open(&to).unwrap();
    insert(&store, "t", 100_000..100_003).unwrap();
    violated(insert(&store, "pax", 2003..2004));
    is_whole(&store);
    let left = std::fs::read_dir(to.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "a folder is left beside it");
}

#[test]
fn damaged_metas_do_not_cost_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("db");
    let states = build(&base);
    for (number, pages) in [vec![0], vec![1], vec![0, 1]].into_iter().enumerate() {
        let (from, to) = (folder.path().join(format!("d{number}")), folder.path().join(format!("r{number}")));
        copy(&base, &from);
        let data = from.join("catalog/data.mdb");
        let mut bytes = std::fs::read(&data).unwrap();
        pages.iter().for_each(|page| bytes[page * 4096..(page + 1) * 4096].fill(0));
        std::fs::write(&data, bytes).unwrap();
        assert!(open(&from).is_err());
        let report = rescued(&from, &to).unwrap();
        judge(&to, &report, &states).unwrap_or_else(|what| panic!("{pages:?}: {what}"));
        assert!(report.is_whole() && !report.notes.is_empty(), "{report:?}");
        assert_eq!(contents(&open(&to).unwrap()), states[states.len() - 1], "{pages:?}: {report:?}");
    }
}

#[test]
fn random_damage_costs_only_what_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("db");
    let states = build(&base);
    let rounds = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 1000 } else { 80 };
    let seed: u64 = std::env::var("GINGHAM_RESCUE").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let (mut whole, mut partly, mut refused, mut wrong) = (0, 0, 0, Vec::new());
    // Two commits are damaged in these, and an older one is whole.
    for round in (seed..seed + rounds).chain([1220, 1286, 1771]) {
        let (from, to) = (folder.path().join("damaged"), folder.path().join("rescued"));
        copy(&base, &from);
        let what = damage(&from, &mut Numbers(round * 977 + 5));
        match rescued(&from, &to) {
            Ok(report) => match judge(&to, &report, &states) {
                Ok(true) => whole += 1,
                Ok(false) => partly += 1,
                Err(error) => wrong.push(format!("round {round}: {what}: {error}")),
            },
            // All that leads to the tables is gone.
            Err(Error::Corrupt { .. } | Error::InvalidInput(_)) => refused += 1,
            Err(error) => wrong.push(format!("round {round}: {what}: {error}")),
        }
        Store::wait_until_closed(&to, std::time::Duration::from_secs(10));
        std::fs::remove_dir_all(&from).unwrap();
        let _ = std::fs::remove_dir_all(&to);
    }
    println!("{whole} whole, {partly} in part, {refused} refused");
    assert!(wrong.is_empty(), "{} of {rounds} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(whole + partly > rounds * 3 / 4, "{whole} whole, {partly} in part, {refused} refused");
    assert!(partly > rounds / 10);
}

/// A definition is lost with its page; the table is named all the same.
#[test]
fn a_table_whose_definition_is_damaged_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("db"), folder.path().join("rescued"));
    build(&from);
    let data = from.join("catalog/data.mdb");
    let bytes = std::fs::read(&data).unwrap();
    let wanted = b"\"table\":\"empty17\"";
    let mut damaged = bytes.clone();
    let places = bytes.windows(wanted.len()).enumerate().filter(|(_, found)| found == wanted).map(|(at, _)| at);
    let places: Vec<usize> = places.collect();
    assert!(!places.is_empty());
    // The value's checksum, in each of its copies but none of the name.
    places.iter().for_each(|at| damaged[at + wanted.len() + 20] ^= 4);
    std::fs::write(&data, damaged).unwrap();
    let report = rescued(&from, &to).unwrap();
    assert_eq!(report.lost.len(), 1, "{report:?}");
    let name = &report.lost[0].name;
    assert!(name == "empty17" || name.contains("whose name is lost"), "{name}");
    is_whole(&open(&to).unwrap());
}
