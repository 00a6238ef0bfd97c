//! SET, RESET, SHOW and DISCARD.

use crate::Result;
use crate::sql::session::reader::{Reader, wrong};
use crate::sql::session::statement::{Discarded, SessionStatement, SetScope};
use crate::sql::session::transactions;

/// Words behind SHOW that begin another statement.
const OTHER_SHOWS: [&str; 14] = [
    "TABLES",
    "COLUMNS",
    "FIELDS",
    "CREATE",
    "FUNCTIONS",
    "EXTENDED",
    "FULL",
    "TERSE",
    "EXTERNAL",
    "VIEWS",
    "DATABASES",
    "SCHEMAS",
    "MATERIALIZED",
    "VARIABLES",
];

/// Whether a SHOW is about a setting.
pub(super) fn is_own_show(reader: &Reader<'_, '_>) -> bool {
    !OTHER_SHOWS.contains(&reader.word(1).as_str())
}

/// `SET [SESSION | LOCAL] name = value`, `SET TRANSACTION …`, `SET CONSTRAINTS …`, `SET NAMES …`, `SET TIME ZONE …`.
pub(super) fn set(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    reader.take();
    if reader.word(0) == "TRANSACTION" || reader.word(1) == "CHARACTERISTICS" {
        return transactions::set(reader);
    }
    if reader.eat("CONSTRAINTS") {
        return constraints(reader);
    }
    let scope = match () {
        () if is_scope(reader, "LOCAL") => SetScope::Local,
        () => {
            is_scope(reader, "SESSION");
            SetScope::Session
        }
    };
    if reader.eat_all(&["TIME", "ZONE"]) {
        let value = match reader.word(0).as_str() {
            "LOCAL" | "DEFAULT" => {
                reader.take();
                None
            }
            "INTERVAL" => {
                reader.take();
                let value = reader.value()?.0;
                while !reader.is_at_end() {
                    reader.take();
                }
                Some(value)
            }
            _ => Some(reader.value()?.0),
        };
        return Ok(SessionStatement::Set { scope, name: "timezone".into(), value });
    }
    if reader.eat("NAMES") {
        let value = if reader.is_at_end() || reader.eat("DEFAULT") { None } else { Some(reader.value()?.0) };
        return Ok(SessionStatement::Set { scope, name: "client_encoding".into(), value });
    }
    if reader.word(0) == "ROLE" || reader.eat_all(&["SESSION", "AUTHORIZATION"]) {
        let name = if reader.eat("ROLE") { "role" } else { "session_authorization" };
        let value = if reader.eat("DEFAULT") || reader.eat("NONE") { None } else { Some(reader.value()?.0) };
        return Ok(SessionStatement::Set { scope, name: name.into(), value });
    }
    let name = setting_name(reader)?;
    if !reader.eat("TO") && !reader.eat_symbol("=") {
        // `SET SCHEMA 'a'` is `SET search_path = 'a'`.
        if name != "schema" {
            return Err(reader.expected("= or TO"));
        }
        return Ok(SessionStatement::Set { scope, name: "search_path".into(), value: Some(reader.value()?.0) });
    }
    let value = if reader.eat("DEFAULT") { None } else { Some(values(reader)?) };
    Ok(SessionStatement::Set { scope, name, value })
}

/// Passes over SESSION or LOCAL where it is no name of a setting.
fn is_scope(reader: &mut Reader<'_, '_>, word: &str) -> bool {
    reader.word(0) == word && !reader.word(1).is_empty() && reader.word(1) != "TO" && {
        // SET SESSION AUTHORIZATION names a setting of two words.
        let is_scope = word != "SESSION" || reader.word(1) != "AUTHORIZATION";
        if is_scope {
            reader.take();
        }
        is_scope
    }
}

/// The values behind `=`: one as it is, more as a list with commas, names in quotes where they need them.
fn values(reader: &mut Reader<'_, '_>) -> Result<String> {
    let (first, _) = reader.value()?;
    if !reader.eat_symbol(",") {
        return Ok(first);
    }
    let mut list = vec![listed(&first)];
    loop {
        let (next, is_name) = reader.value()?;
        list.push(if is_name { listed(&next) } else { next });
        if !reader.eat_symbol(",") {
            return Ok(list.join(", "));
        }
    }
}

/// A name within a list.
fn listed(name: &str) -> String {
    let is_plain = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A name of parts, such as `gingham.threads`.
fn setting_name(reader: &mut Reader<'_, '_>) -> Result<String> {
    let mut name = reader.name("the name of a setting")?;
    while reader.eat_symbol(".") {
        name = format!("{name}.{}", reader.name("the name of a setting")?);
    }
    Ok(name)
}

/// `SET CONSTRAINTS {ALL | names} {DEFERRED | IMMEDIATE}`.
fn constraints(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    if !reader.eat("ALL") {
        reader.object_name()?;
        while reader.eat_symbol(",") {
            reader.object_name()?;
        }
    }
    let deferred = reader.eat("DEFERRED");
    if !deferred {
        reader.expect("IMMEDIATE")?;
    }
    Ok(SessionStatement::SetConstraints { deferred })
}

/// `RESET name`, `RESET ALL`.
pub(super) fn reset(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    reader.take();
    Ok(SessionStatement::Reset(named(reader)?))
}

/// `SHOW name [VERBOSE]`, `SHOW ALL`.
pub(super) fn show(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    reader.take();
    let name = named(reader)?;
    Ok(SessionStatement::Show { name, verbose: reader.eat("VERBOSE") })
}

/// The name of a setting; nothing for ALL.
fn named(reader: &mut Reader<'_, '_>) -> Result<Option<String>> {
    let name = match () {
        () if reader.eat("ALL") => return Ok(None),
        () if reader.eat_all(&["TIME", "ZONE"]) => "timezone".to_owned(),
        () if reader.eat_all(&["TRANSACTION", "ISOLATION", "LEVEL"]) => "transaction_isolation".to_owned(),
        () if reader.eat_all(&["SESSION", "AUTHORIZATION"]) => "session_authorization".to_owned(),
        () => setting_name(reader)?,
    };
    Ok(Some(name))
}

/// `DISCARD {ALL | PLANS | SEQUENCES | TEMP | TEMPORARY}`.
pub(super) fn discard(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    reader.take();
    let what = match reader.word(0).as_str() {
        "ALL" => Discarded::All,
        "PLANS" => Discarded::Plans,
        "SEQUENCES" => Discarded::Sequences,
        "TEMP" | "TEMPORARY" => Discarded::Temp,
        _ => return Err(wrong("DISCARD takes ALL, PLANS, SEQUENCES or TEMP")),
    };
    reader.take();
    Ok(SessionStatement::Discard(what))
}
