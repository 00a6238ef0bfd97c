//! The verbs on a whole database: `layout`, `check`, `backup`, `rescue`.

use crate::failure::Failure;
use gingham::Database;
use gingham_lab::words::counted;
use std::io::Write;
use std::path::Path;

/// `layout T`: prints the picture.
pub fn layout(database: &Database, table: &str, record: Option<u64>) -> Result<(), Failure> {
    let table = database.connect().table(table)?;
    let mut out = std::io::stdout().lock();
    Ok(out.write_all(crate::layout::picture(&table, record)?.as_bytes())?)
}

/// `check`: prints what was verified; fails when anything is damaged.
pub fn check(database: &Database) -> Result<(), Failure> {
    let spinner = crate::spinner::Spinner::start(None);
    let report = database.check()?;
    drop(spinner);
    let mut out = std::io::stdout().lock();
    for note in &report.notes {
        writeln!(out, "note: {note}")?;
    }
    for error in &report.errors {
        writeln!(out, "damaged: {error}")?;
    }
    let name = database.url().map_or_else(|| database.path().display().to_string(), str::to_owned);
    writeln!(out, "{name}: {} verified", counted(report.verified, "place"))?;
    match report.errors.len() as u64 {
        0 => Ok(writeln!(out, "no damage found")?),
        damaged => Err(Failure::failed(format!("{name}: {} damaged", counted(damaged, "place")))),
    }
}

/// `backup TO`: copies a snapshot.
pub fn backup(database: &Database, to: &Path) -> Result<(), Failure> {
    let spinner = crate::spinner::Spinner::start(None);
    let bytes = database.backup(to)?;
    drop(spinner);
    Ok(writeln!(std::io::stdout(), "{}: {} copied", to.display(), indicatif::HumanBytes(bytes))?)
}

/// `rescue TO`: makes a new database of what is sound, and says what is not in it; fails when a table lacks records.
pub fn rescue(damaged: &Path, to: &Path) -> Result<(), Failure> {
    let spinner = crate::spinner::Spinner::start(None);
    let report = Database::rescue(damaged, to)?;
    drop(spinner);
    let mut out = std::io::stdout().lock();
    for note in &report.notes {
        writeln!(out, "note: {note}")?;
    }
    for (name, rows) in &report.whole {
        writeln!(out, "whole: table '{name}', {}", counted(*rows, "record"))?;
    }
    for table in &report.partial {
        let lost = table.lost.map_or_else(|| "an unknown number".to_owned(), |lost| lost.to_string());
        let has = counted(table.rows, "record");
        writeln!(out, "partial: table '{}' has {has} and lacks {lost}: {}", table.name, table.why)?;
    }
    for table in &report.lost {
        writeln!(out, "lost: table '{}': {}", table.name, table.why)?;
    }
    for change in &report.changed {
        writeln!(out, "changed: {change}")?;
    }
    if report.is_whole() {
        return Ok(writeln!(out, "{}: all tables are whole", to.display())?);
    }
    let (partial, lost) = (report.partial.len() as u64, report.lost.len() as u64);
    let (partial, lost) = (counted(partial, "table"), counted(lost, "table"));
    Err(Failure::failed(format!("{}: {partial} with records missing, {lost} lost", to.display())))
}
