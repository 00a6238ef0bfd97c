//! BEGIN, COMMIT, ROLLBACK, SET TRANSACTION and LOCK TABLE.

use crate::Result;
use crate::settings::{IsolationLevel, TransactionModes};
use crate::sql::session::reader::Reader;
use crate::sql::session::statement::SessionStatement;

/// `BEGIN [WORK | TRANSACTION] [modes]`, `START TRANSACTION [modes]`; `BEGIN IMMEDIATE` and `BEGIN DEFERRED` as SQLite.
pub(super) fn begin(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    let is_start = reader.word(0) == "START";
    reader.take();
    if is_start {
        reader.expect("TRANSACTION")?;
        return Ok(SessionStatement::Begin { immediate: false, modes: modes(reader)? });
    }
    let immediate = reader.eat("IMMEDIATE");
    if !immediate {
        reader.eat("DEFERRED");
    }
    noise(reader);
    Ok(SessionStatement::Begin { immediate, modes: modes(reader)? })
}

fn noise(reader: &mut Reader<'_, '_>) {
    if !reader.eat("WORK") {
        reader.eat("TRANSACTION");
    }
}

/// `ISOLATION LEVEL …`, `READ ONLY`, `READ WRITE`, `[NOT] DEFERRABLE`, with or without commas.
fn modes(reader: &mut Reader<'_, '_>) -> Result<TransactionModes> {
    let mut modes = TransactionModes::default();
    while !reader.is_at_end() {
        match () {
            () if reader.eat_all(&["ISOLATION", "LEVEL"]) => modes.isolation = Some(level(reader)?),
            () if reader.eat_all(&["READ", "ONLY"]) => modes.read_only = Some(true),
            () if reader.eat_all(&["READ", "WRITE"]) => modes.read_only = Some(false),
            // A snapshot never has to be waited for.
            () if reader.eat("DEFERRABLE") || reader.eat_all(&["NOT", "DEFERRABLE"]) => {}
            () => return Err(reader.expected("ISOLATION LEVEL, READ ONLY or READ WRITE")),
        }
        reader.eat_symbol(",");
    }
    Ok(modes)
}

fn level(reader: &mut Reader<'_, '_>) -> Result<IsolationLevel> {
    let words = if reader.word(0) == "SERIALIZABLE" { 1 } else { 2 };
    let name = (0..words).map(|at| reader.word(at)).collect::<Vec<_>>().join(" ");
    let level = IsolationLevel::of(&name)?;
    (0..words).for_each(|_| reader.take());
    Ok(level)
}

/// `COMMIT`, `END`, `ROLLBACK`, `ABORT`, each with `[WORK | TRANSACTION] [AND [NO] CHAIN]`.
pub(super) fn end(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    let commit = ["COMMIT", "END"].contains(&reader.word(0).as_str());
    reader.take();
    noise(reader);
    let chain = reader.eat_all(&["AND", "CHAIN"]);
    if !chain {
        reader.eat_all(&["AND", "NO", "CHAIN"]);
    }
    Ok(SessionStatement::End { commit, chain })
}

/// Whether a ROLLBACK goes back to a savepoint.
pub(super) fn is_to_savepoint(reader: &Reader<'_, '_>) -> bool {
    let noise = usize::from(["WORK", "TRANSACTION"].contains(&reader.word(1).as_str()));
    reader.word(1 + noise) == "TO"
}

/// `SET TRANSACTION modes`, `SET SESSION CHARACTERISTICS AS TRANSACTION modes`; SET has been passed over.
pub(super) fn set(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    let session = reader.eat_all(&["SESSION", "CHARACTERISTICS", "AS"]);
    reader.expect("TRANSACTION")?;
    if reader.word(0) == "SNAPSHOT" {
        return Err(crate::Error::Unsupported("SET TRANSACTION SNAPSHOT is not supported".into()));
    }
    if reader.is_at_end() {
        return Err(reader.expected("ISOLATION LEVEL, READ ONLY or READ WRITE"));
    }
    Ok(SessionStatement::SetTransaction { session, modes: modes(reader)? })
}

/// The ways in which a table can be locked, which are one here: nobody else writes.
const LOCK_MODES: [&[&str]; 8] = [
    &["ACCESS", "SHARE", "MODE"],
    &["ROW", "SHARE", "MODE"],
    &["ROW", "EXCLUSIVE", "MODE"],
    &["SHARE", "UPDATE", "EXCLUSIVE", "MODE"],
    &["SHARE", "ROW", "EXCLUSIVE", "MODE"],
    &["SHARE", "MODE"],
    &["EXCLUSIVE", "MODE"],
    &["ACCESS", "EXCLUSIVE", "MODE"],
];

/// `LOCK [TABLE] t, … [IN … MODE] [NOWAIT]`.
pub(super) fn lock(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    reader.take();
    reader.eat("TABLE");
    let mut tables = Vec::new();
    loop {
        reader.eat("ONLY");
        tables.push(reader.object_name()?);
        reader.eat_symbol("*");
        if !reader.eat_symbol(",") {
            break;
        }
    }
    if reader.eat("IN") && !LOCK_MODES.iter().any(|mode| reader.eat_all(mode)) {
        return Err(reader.expected("a mode such as ACCESS EXCLUSIVE MODE"));
    }
    Ok(SessionStatement::Lock { tables, nowait: reader.eat("NOWAIT") })
}
