//! `.dump`: tables and views as a script that makes them again: their definitions, keys and indexes as SHOW CREATE gives them, and
//! their records as the rows of COPY … FROM STDIN. What is referred to comes first.

use crate::commands::call::Call;
use crate::commands::show::{create_statement, parts, relations, texts};
use crate::failure::Failure;
use crate::interrupt::Running;
use crate::script::{Next, Runner};
use crate::tokens::{Kind, tokens};
use gingham::{StatementHandle, TransactionStatus};

/// Writes the tables that are named, or the whole database.
pub(super) fn run(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    // All tables as they are at one time.
    let own = runner.connection.transaction_status() == TransactionStatus::None;
    if own {
        runner.connection.execute("BEGIN")?;
    }
    let dumped = if call.text.is_empty() { everything(runner) } else { some(runner, &call.tables()) };
    if own {
        // It only read.
        runner.connection.execute("ROLLBACK")?;
    }
    dumped?;
    Ok(Next::GoOn)
}

fn some(runner: &mut Runner, names: &[String]) -> Result<(), Failure> {
    let all = relations(runner)?;
    let mut wanted = Vec::new();
    for name in names {
        // One that does not exist is told of by SHOW CREATE.
        let found = all.iter().find(|(known, _)| known == name || parts(known) == parts(name));
        wanted.push(found.cloned().unwrap_or_else(|| (name.clone(), true)));
    }
    write(runner, &[], wanted)
}

fn everything(runner: &mut Runner) -> Result<(), Failure> {
    const SCHEMAS: &str = "SELECT schema_name FROM information_schema.schemata \
         WHERE schema_name NOT IN ('information_schema', 'public') ORDER BY 1";
    let schemas = texts(runner, SCHEMAS, 0)?;
    let all = relations(runner)?;
    write(runner, &schemas, all)
}

/// A table or a view on its way into the script.
struct Dumped {
    name: String,
    is_table: bool,
    statement: String,
}

fn write(runner: &mut Runner, schemas: &[String], names: Vec<(String, bool)>) -> Result<(), Failure> {
    let mut dumped = Vec::new();
    for (name, is_table) in names {
        match create_statement(runner, &name) {
            Ok(statement) if statement.starts_with("CREATE TEMP ") => {}
            Ok(statement) => dumped.push(Dumped { name, is_table, statement }),
            Err(failure) if failure.message().contains("external table") => {
                eprintln!("warning: {name} is a file that is queried where it lies; it is left out");
            }
            Err(failure) => return Err(failure),
        }
    }
    runner.say("BEGIN;")?;
    for schema in schemas {
        runner.say(&format!("CREATE SCHEMA {};", gingham::quoted(schema)))?;
    }
    for one in in_order(dumped) {
        let (definition, indexes) = apart(&one.statement);
        runner.say(definition)?;
        if one.is_table {
            records(runner, &one.name)?;
        }
        if !indexes.is_empty() {
            runner.say(indexes)?;
        }
    }
    runner.say("COMMIT;")
}

/// A definition and the statements behind it, which make indexes: these are made of all records at once.
fn apart(statement: &str) -> (&str, &str) {
    let mut splitter = gingham::StatementSplitter::new();
    splitter.push(statement);
    match splitter.next() {
        Some(gingham::ScriptPart::Statement { text, .. }) => {
            let (first, rest) = statement.split_at(text.len());
            (first, rest.trim_start())
        }
        _ => (statement, ""),
    }
}

/// The tables and views in an order in which each comes behind those that its definition names. A circle stays in the order of names.
fn in_order(mut left: Vec<Dumped>) -> Vec<Dumped> {
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let needs_another = |one: &Dumped| {
            let (references, query) = match one.is_table {
                true => (true, ""),
                false => (false, one.statement.as_str()),
            };
            left.iter().filter(|other| other.name != one.name).any(|other| match references {
                true => one.statement.contains(&format!(" REFERENCES {} (", other.name)),
                false => names(query, &other.name),
            })
        };
        let next = left.iter().position(|one| !needs_another(one)).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

/// Whether a query names a table or a view.
fn names(query: &str, name: &str) -> bool {
    let bare = parts(name).1;
    tokens(query).into_iter().any(|token| match token.kind {
        Kind::Word | Kind::Quoted => parts(&query[token.at]).1 == bare,
        _ => false,
    })
}

/// A table's records as a COPY with its rows.
fn records(runner: &mut Runner, table: &str) -> Result<(), Failure> {
    if runner.connection.execute(&format!("SELECT 1 FROM {table} LIMIT 1"))? == 0 {
        return Ok(());
    }
    runner.say(&format!("COPY {table} FROM STDIN;"))?;
    let running = Running::start(&runner.connection);
    // In the text format no value is a line of `\.` alone, which ends the rows.
    let copied =
        runner.connection.copy_out(&format!("COPY {table} TO STDOUT"), &mut runner.out, &StatementHandle::new());
    drop(running);
    if runner.out.is_broken() {
        return Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe).into());
    }
    copied?;
    runner.say("\\.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dumped(name: &str, statement: &str) -> Dumped {
        let is_table = statement.starts_with("CREATE TABLE");
        Dumped { name: name.to_owned(), is_table, statement: statement.to_owned() }
    }

    #[test]
    fn what_is_referred_to_comes_first() {
        let all = vec![
            dumped("a", "CREATE TABLE a (b INT, FOREIGN KEY (b) REFERENCES c (b))"),
            dumped("c", "CREATE TABLE c (b INT PRIMARY KEY, FOREIGN KEY (b) REFERENCES c (b))"),
            dumped("v", "CREATE VIEW v AS SELECT * FROM w"),
            dumped("w", "CREATE VIEW w AS SELECT b AS vx FROM a WHERE b <> 'v'"),
        ];
        let order: Vec<String> = in_order(all).into_iter().map(|one| one.name).collect();
        assert_eq!(order, ["c", "a", "w", "v"]);
    }
}
