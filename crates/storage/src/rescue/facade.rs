//! From the damaged database to the new one.

use crate::SqlState;
use crate::io::memory::MemoryBudget;
use crate::lmdb::folder;
use crate::lmdb::verifier::Trusted;
use crate::lmdb::verifier::salvage::Salvage;
use crate::open::shared::Store;
use crate::rescue::copy::{Copied, bring_files, copy_catalog};
use crate::rescue::report::{LostTable, PartialTable, RescueReport};
use crate::rescue::{columns, heap, names};
use crate::store::facade::OpenOptions;
use crate::{Error, Result, TableId, TableName};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the last thread may take that has the new database.
const PATIENCE: Duration = Duration::from_secs(60);
/// Tables that `check` still complains of are left out, and it is asked again so many times.
const CHECKS: usize = 4;
const WORKLOAD: &str = "workload";

/// Makes a database in the folder `to`, which must not be there, of what is sound of the damaged one in `from`, which stays as it is.
/// The new one appears whole or not at all. Fails when nothing leads to the tables of the damaged one.
pub fn rescue(from: &Path, to: &Path, budget: &Arc<MemoryBudget>) -> Result<RescueReport> {
    let (from, parent) = require_places(from, to)?;
    let trusted = folder::trusted(&from, || false).unwrap_or(Trusted::Both);
    let salvage = Salvage::open(&folder::catalog(&from), trusted)?;
    let building = tempfile::Builder::new().prefix(".gingham-rescue-").tempdir_in(&parent);
    let building = building.map_err(Error::io("creating a folder in", &parent))?;
    let new = building.path().join("new.gingham");
    fs::create_dir(&new).map_err(Error::io("creating folder", &new))?;
    let copied = copy_catalog(&salvage, &folder::new_catalog(&new))?;
    bring_files(&from, &new, &copied)?;
    folder::write_format(&new)?;
    folder::publish_catalog(&new)?;
    let mut report = RescueReport {
        notes: salvage.origin.told().into_iter().map(String::from).collect(),
        ..RescueReport::default()
    };
    report.lost = names::lost_tables(&salvage, &copied)?;
    tell_views(&copied, &mut report);
    mend_all(&new, &copied, &mut report, budget)?;
    // What the new one lacks is missing in the damaged one, which is there to be looked at.
    let (built, damaged) = (new.display().to_string(), from.display().to_string());
    let reasons = report.partial.iter_mut().map(|table| &mut table.why);
    reasons
        .chain(report.lost.iter_mut().map(|table| &mut table.why))
        .for_each(|why| *why = why.replace(&built, &damaged));
    // What users did is of use, and no harm when it is lost.
    let _ = fs::copy(from.join(WORKLOAD), new.join(WORKLOAD));
    folder::sync_folder(&new)?;
    fs::rename(&new, to).map_err(Error::io("creating folder", to))?;
    folder::sync_parent(to)?;
    Ok(report)
}

/// The damaged database, and the folder in which the new one is to lie; errors when they can't be.
fn require_places(from: &Path, to: &Path) -> Result<(PathBuf, PathBuf)> {
    let from = match from.canonicalize() {
        Ok(from) => from,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let text = format!("there is no database in {}", from.display());
            return Err(Error::invalid(SqlState::InvalidDatabase, text));
        }
        Err(error) => return Err(Error::io("opening", from)(error)),
    };
    let data = folder::catalog(&from).join("data.mdb");
    if let Err(error) = fs::File::open(&data) {
        if error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::NotADirectory {
            return Err(Error::io("opening", &data)(error));
        }
        let text = format!("nothing can be rescued of {}: it has no {}", from.display(), data.display());
        return Err(Error::invalid(SqlState::InvalidDatabase, text));
    }
    if folder::is_live(&from) {
        let text = format!("database {} is open for writing; close it before it is rescued", from.display());
        return Err(Error::Locked(text));
    }
    let refused = |text: String| Err(Error::invalid(SqlState::InvalidParameterValue, text));
    if fs::symlink_metadata(to).is_ok() {
        return refused(format!("{} is there already; name a folder that is not there", to.display()));
    }
    let to = std::path::absolute(to).map_err(Error::io("finding", to))?;
    let parent = to.parent().unwrap_or(&to).to_path_buf();
    if parent.ancestors().find_map(|folder| folder.canonicalize().ok()).is_some_and(|folder| folder.starts_with(&from))
    {
        return refused(format!("{} lies inside the database that is to be rescued", to.display()));
    }
    folder::make_with_parents(&parent)?;
    Ok((from, parent))
}

fn tell_views(copied: &Copied, report: &mut RescueReport) {
    let numbered = copied.lost_views.iter().map(|number| format!("the view of number {number} is lost"));
    report.changed.extend(numbered);
    match copied.missed_views {
        0 => {}
        1 => report.changed.push("a view is lost".into()),
        views => report.changed.push(format!("{views} views are lost")),
    }
}

/// Opens the new database, takes out of each table what it lacks, and what refers to tables that are lost.
fn mend_all(new: &Path, copied: &Copied, report: &mut RescueReport, budget: &Arc<MemoryBudget>) -> Result<()> {
    let options = OpenOptions { create: false, read_only: false };
    {
        let store = Store::open(new, &options, Arc::clone(budget))?;
        for (id, record) in &copied.tables {
            let name = record.definition.name.clone();
            let mended = match record.heap {
                Some(_) => heap::mend(&store, *id, copied, &mut report.changed),
                None => columns::mend(&store, *id),
            };
            match mended {
                Ok(columns::Mended { rows, lost: Some(0), why: None }) => report.whole.push((name, rows)),
                Ok(columns::Mended { rows, lost, why }) => {
                    let why = why.unwrap_or_else(|| "values of the catalog are lost".into());
                    report.partial.push(PartialTable { name, rows, lost, why });
                }
                Err(error) if error.is_of_bytes() => leave_out(&store, &name, *id, error.to_string(), report)?,
                Err(error) => return Err(error),
            }
        }
        drop_references(&store, report)?;
    }
    wait_until_closed(new)?;
    for _ in 0..CHECKS {
        let store = Store::open(new, &options, Arc::clone(budget))?;
        let found = store.check()?;
        let Some(first) = found.errors.first().map(ToString::to_string) else {
            drop(store);
            return wait_until_closed(new);
        };
        let complained = |name: &TableName| {
            let (quoted, plain) = (format!("table '{name}'"), format!("table {name}"));
            found.errors.iter().map(ToString::to_string).find(|error| error.contains(&quoted) || error.contains(&plain))
        };
        let definitions = store.snapshot()?;
        let wrong: Vec<(TableName, TableId, String)> = definitions
            .definitions()
            .filter_map(|(name, definition)| Some((name.clone(), definition.id, complained(name)?)))
            .collect();
        if wrong.is_empty() {
            return Err(Error::corrupt(
                new.display().to_string(),
                format!("the rescued database is not sound: {first}"),
            ));
        }
        for (name, id, why) in wrong {
            leave_out(&store, &name, id, why, report)?;
        }
        drop_references(&store, report)?;
        drop((definitions, store));
        wait_until_closed(new)?;
    }
    Err(Error::corrupt(new.display().to_string(), "the rescued database does not become sound"))
}

fn wait_until_closed(new: &Path) -> Result<()> {
    let path = new.canonicalize().map_err(Error::io("finding", new))?;
    if Store::wait_until_closed(&path, PATIENCE) {
        return Ok(());
    }
    Err(Error::Internal("the rescued database is still open".into()))
}

/// Leaves a table out that can't be mended.
fn leave_out(store: &Arc<Store>, name: &TableName, id: TableId, why: String, report: &mut RescueReport) -> Result<()> {
    report.whole.retain(|(own, _)| own != name);
    report.partial.retain(|own| own.name != *name);
    forget_references(store, &BTreeSet::from([id]), report)?;
    store.write(|transaction| transaction.drop_table(name))?;
    report.lost.push(LostTable { name: name.to_string(), why });
    Ok(())
}

/// Drops REFERENCES to tables that are not there.
fn drop_references(store: &Arc<Store>, report: &mut RescueReport) -> Result<()> {
    let snapshot = store.snapshot()?;
    let there: BTreeSet<TableId> = snapshot.definitions().map(|(_, definition)| definition.id).collect();
    let references = snapshot.definitions().flat_map(|(_, definition)| definition.references.iter());
    let gone: BTreeSet<TableId> =
        references.map(|reference| reference.table).filter(|table| !there.contains(table)).collect();
    forget_references(store, &gone, report)
}

/// Drops REFERENCES of other tables to these.
fn forget_references(store: &Arc<Store>, gone: &BTreeSet<TableId>, report: &mut RescueReport) -> Result<()> {
    let snapshot = store.snapshot()?;
    for (name, definition) in snapshot.definitions().filter(|(_, definition)| !gone.contains(&definition.id)) {
        let lost = definition.references.iter().filter(|reference| gone.contains(&reference.table));
        let lost: Vec<&str> = lost.map(|reference| reference.name.as_str()).collect();
        if lost.is_empty() {
            continue;
        }
        store.write(|transaction| {
            let mut record = transaction.record(definition.id)?;
            record.definition.references.retain(|reference| !gone.contains(&reference.table));
            transaction.put_record(record)
        })?;
        let told = |reference: &str| {
            format!("constraint '{reference}' of table '{name}' was dropped: the table that it refers to is lost")
        };
        report.changed.extend(lost.into_iter().map(told));
    }
    Ok(())
}
