//! What a database must be when it is opened after its process or its machine has died.

use crate::rows;
use crate::workload::{State, Table};
use gingham::{Connection, Database, DatabaseOptions, Error};
use std::path::Path;

/// Opens a database that should be there, or with `create` may be.
pub fn open(path: &Path, create: bool) -> gingham::Result<Database> {
    let options = DatabaseOptions::new().create(create).memory_limit(256 << 20).threads(2);
    options.open(path)
}

/// Opens the database in `path` and looks at all of it. It must hold exactly what one of the states `allowed` has. Says which
/// one that is, or what is wrong.
pub fn verify(path: &Path, create: bool, allowed: &[&State]) -> Result<usize, String> {
    let database = open(path, create).map_err(|error| format!("it can't be opened: {error}"))?;
    let report = database.check().map_err(|error| format!("it can't be checked: {error}"))?;
    if let Some(error) = report.errors.first() {
        return Err(format!("check finds {} errors: {error}", report.errors.len()));
    }
    let connection = database.connect();
    let names = rows(&connection, "SELECT table_name FROM gingham_tables ORDER BY table_name")?;
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let lines = rows(&connection, &format!("SELECT * FROM {name} ORDER BY id"))?;
        // A table without records may have a column more, too.
        let count = format!("SELECT count(*) FROM information_schema.columns WHERE table_name = '{name}'");
        let columns =
            rows(&connection, &count)?.concat().parse().map_err(|_| format!("no count of {name}'s columns"))?;
        found.push(FoundTable { name, columns, lines });
    }
    let number = allowed.iter().position(|state| is(state, &found)).ok_or_else(|| difference(allowed, &found))?;
    let counts: Vec<String> = found.iter().map(|table| format!("{}|{}", table.name, table.lines.len())).collect();
    expect(&connection, "SELECT table_name, rows FROM gingham_tables ORDER BY table_name", &counts)?;
    for (name, table) in allowed[number] {
        summaries(&connection, name, table)?;
    }
    Ok(number)
}

/// A table as it is.
struct FoundTable {
    name: String,
    columns: usize,
    lines: Vec<String>,
}

fn is(state: &State, found: &[FoundTable]) -> bool {
    let same = |((name, table), other): ((&String, &Table), &FoundTable)| {
        *name == other.name
            && table.columns() == other.columns
            && table.rows.len() == other.lines.len()
            && table.lines() == other.lines
    };
    state.len() == found.len() && state.iter().zip(found).all(same)
}

/// In a few words what was found and what was expected.
fn difference(allowed: &[&State], found: &[FoundTable]) -> String {
    let told = |table: &FoundTable| format!("{}: {} rows of {}", table.name, table.lines.len(), table.columns);
    let counts: Vec<String> = found.iter().map(told).collect();
    let state = |state: &&State| -> String {
        let tables = state.iter().map(|(name, table)| format!("{name}: {} rows ", table.rows.len()));
        let first = found.iter().find_map(|FoundTable { name, lines, .. }| {
            let expected = state.get(name)?.lines();
            let at = (0..lines.len().max(expected.len())).find(|at| lines.get(*at) != expected.get(*at))?;
            Some(format!("; record {at} of {name} is {:?}, not {:?}", lines.get(at), expected.get(at)))
        });
        tables.chain(first).collect()
    };
    let allowed: Vec<String> = allowed.iter().map(state).collect();
    format!("it holds [{}], and should one of {allowed:?}", counts.join(", "))
}

/// Holds what is known of a table without its rows, and looking up single values, against the rows.
fn summaries(connection: &Connection, name: &str, table: &Table) -> Result<(), String> {
    let [known, counted] = table.summaries();
    expect(connection, &format!("SELECT count(*), min(id), max(id) FROM {name}"), &[known])?;
    expect(connection, &format!("SELECT sum(a), count(b), max(b) FROM {name}"), &[counted])?;
    let Some((id, (a, _))) = table.rows.iter().nth(table.rows.len() / 2) else { return Ok(()) };
    expect(connection, &format!("SELECT id FROM {name} WHERE id = {id}"), &[id.to_string()])?;
    let Some(a) = a else { return Ok(()) };
    let same: Vec<i64> = table.rows.iter().filter(|(_, (other, _))| *other == Some(*a)).map(|(id, _)| *id).collect();
    let sql = format!("SELECT count(*), sum(id) FROM {name} WHERE a = {a}");
    expect(connection, &sql, &[format!("{}|{}", same.len(), same.iter().sum::<i64>())])
}

/// The last table takes a new row, and knows its key.
pub fn usable(path: &Path, state: &State) -> Result<(), String> {
    let Some((name, table)) = state.iter().next_back() else { return Ok(()) };
    let connection = open(path, false).map_err(|error| format!("it can't be opened again: {error}"))?.connect();
    let insert = |id: i64| connection.execute(&format!("INSERT INTO {name} (id) VALUES ({id})"));
    if let (true, Some(id)) = (table.keyed, table.rows.keys().next_back()) {
        match insert(*id) {
            Err(Error::Constraint(_)) => {}
            other => return Err(format!("id {id} of table {name} was given again: {other:?}")),
        }
    }
    insert(-1).map_err(|error| format!("table {name} takes no row: {error}"))?;
    expect(&connection, &format!("SELECT count(*) FROM {name}"), &[(table.rows.len() + 1).to_string()])
}

fn expect(connection: &Connection, sql: &str, expected: &[String]) -> Result<(), String> {
    let found = rows(connection, sql)?;
    if found == expected { Ok(()) } else { Err(format!("{sql} gives {found:?}, not {expected:?}")) }
}

/// All rows of a query as text, or what is wrong with it.
pub fn rows(connection: &Connection, sql: &str) -> Result<Vec<String>, String> {
    rows::rows(connection, sql).map_err(|error| format!("{sql}: {error}"))
}
