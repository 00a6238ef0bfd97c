//! Commands that show what is in the database.

use crate::commands::call::Call;
use crate::commands::{Action, Command, Effect, Takes};
use crate::failure::Failure;
use crate::layout;
use crate::script::{Next, Runner};
use arrow::array::AsArray;
use arrow::datatypes::DataType;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: ".tables",
        aliases: &[],
        argument: "[PATTERN]",
        help: "tables and views, all or those whose names are like the pattern (% and _ as in LIKE)",
        takes: Takes::Table,
        effect: Effect::Reads,
        action: Action::Sql(tables),
    },
    Command {
        name: ".schema",
        aliases: &[],
        argument: "[TABLE]",
        help: "the statements that make a table or a view, or all of them",
        takes: Takes::Table,
        effect: Effect::Reads,
        action: Action::Run(schema),
    },
    Command {
        name: ".columns",
        aliases: &[],
        argument: "[TABLE]",
        help: "the columns of a table or a view, or all of them",
        takes: Takes::Table,
        effect: Effect::Reads,
        action: Action::Sql(columns),
    },
    Command {
        name: ".indexes",
        aliases: &[".indices"],
        argument: "[TABLE]",
        help: "the indexes of a table, or all of them",
        takes: Takes::Table,
        effect: Effect::Reads,
        action: Action::Run(indexes),
    },
    Command {
        name: ".layout",
        aliases: &[],
        argument: "TABLE",
        help: "where each bit of a table lies",
        takes: Takes::Table,
        effect: Effect::Reads,
        action: Action::Run(picture),
    },
    Command {
        name: ".databases",
        aliases: &[],
        argument: "",
        help: "the database that is open",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(database),
    },
];

/// The tables and views of a database, as the commands list them.
pub(super) const RELATIONS: &str = "SELECT table_schema AS schema, table_name AS name, table_type AS kind \
     FROM information_schema.tables WHERE table_schema <> 'information_schema'";

/// A text as SQL has it.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name of a table as its schema, when it has one, and itself.
pub(super) fn parts(table: &str) -> (Option<String>, String) {
    let unquoted = |part: &str| match part.strip_prefix('"').and_then(|part| part.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => part.to_lowercase(),
    };
    let mut quoted = false;
    let dot = table.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == '.' && !quoted
    });
    match dot {
        Some((at, _)) => (Some(unquoted(&table[..at])), unquoted(&table[at + 1..])),
        None => (None, unquoted(table)),
    }
}

/// The condition that rows of a table's are wanted alone.
pub(super) fn of_table(table: &str) -> String {
    let (schema, name) = parts(table);
    let schema = schema.map_or_else(String::new, |schema| format!(" AND table_schema = {}", literal(&schema)));
    format!("table_name = {}{schema}", literal(&name))
}

fn tables(call: &Call<'_>) -> Result<String, Failure> {
    let wanted = call.word()?.map_or_else(String::new, |pattern| format!(" AND table_name LIKE {}", literal(&pattern)));
    Ok(format!("{RELATIONS}{wanted} ORDER BY 1, 2"))
}

fn schema(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    match call.table()? {
        Some(table) => {
            let statement = create_statement(runner, &table)?;
            runner.say(&statement)?;
        }
        None => {
            for (name, _) in relations(runner)? {
                // External files are tables of the session without a definition in the catalog.
                if let Ok(statement) = create_statement(runner, &name) {
                    runner.say(&statement)?;
                }
            }
        }
    }
    Ok(Next::GoOn)
}

/// The statements that make a table with its indexes, or a view, each with its `;`.
pub(super) fn create_statement(runner: &Runner, table: &str) -> Result<String, Failure> {
    let rows = texts(runner, &format!("SHOW CREATE TABLE {table}"), 1)?;
    Ok(format!("{};", rows.into_iter().next().unwrap_or_default()))
}

/// The names of all tables and views, with their schemas and in quotes where they need some; and whether each is a table.
pub(super) fn relations(runner: &Runner) -> Result<Vec<(String, bool)>, Failure> {
    let of_kind = |kind: &str| {
        let condition = format!(
            "table_type {kind} 'VIEW' AND table_schema <> 'information_schema' ORDER BY table_schema, table_name"
        );
        let schemas =
            texts(runner, &format!("SELECT table_schema FROM information_schema.tables WHERE {condition}"), 0)?;
        let names = texts(runner, &format!("SELECT table_name FROM information_schema.tables WHERE {condition}"), 0)?;
        let full = |(schema, name): (String, String)| match schema.as_str() {
            gingham::storage::DEFAULT_SCHEMA => gingham::quoted(&name),
            schema => format!("{}.{}", gingham::quoted(schema), gingham::quoted(&name)),
        };
        Ok::<_, Failure>(schemas.into_iter().zip(names).map(full).collect::<Vec<_>>())
    };
    let tables = of_kind("<>")?.into_iter().map(|name| (name, true));
    Ok(tables.chain(of_kind("=")?.into_iter().map(|name| (name, false))).collect())
}

/// A column of texts of a query's rows; NULL is left out.
pub(super) fn texts(runner: &Runner, sql: &str, column: usize) -> Result<Vec<String>, Failure> {
    let mut texts = Vec::new();
    for batch in runner.connection.query(sql)? {
        let column = arrow::compute::cast(batch?.column(column), &DataType::Utf8)?;
        texts.extend(column.as_string::<i32>().iter().flatten().map(str::to_owned));
    }
    Ok(texts)
}

fn columns(call: &Call<'_>) -> Result<String, Failure> {
    const ALL: &str = "SELECT table_schema AS schema, table_name, column_name, data_type AS type, is_nullable AS nullable \
         FROM information_schema.columns WHERE table_schema <> 'information_schema' \
         ORDER BY table_schema, table_name, ordinal_position";
    Ok(call.table()?.map_or_else(|| ALL.to_owned(), |table| format!("DESCRIBE {table}")))
}

/// The indexes, and what they are of.
pub(super) const INDEXES: &str = "SELECT table_schema AS schema, table_name, index_name, columns, is_unique, of_constraint \
     FROM gingham_indexes";

fn indexes(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    let wanted = match call.table()? {
        Some(table) => {
            // A wrong name is to be told of.
            create_statement(runner, &table)?;
            format!(" WHERE {}", of_table(&table))
        }
        None => String::new(),
    };
    runner.query(&format!("{INDEXES}{wanted} ORDER BY 1, 2, 3"))?;
    Ok(Next::GoOn)
}

fn picture(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    let table = call.table()?.ok_or_else(|| call.wrong())?;
    let table = runner.connection.table(&table)?;
    runner.say(layout::picture(&table, None)?.trim_end())?;
    Ok(Next::GoOn)
}

/// `.databases`, and psql's `\l`.
pub(super) fn database(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    call.nothing()?;
    let how = if runner.place.read_only { " (for reading only)" } else { "" };
    runner.say(&format!("{}{how}", runner.place.name))?;
    Ok(Next::GoOn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts() {
        assert_eq!(parts("T"), (None, "t".to_owned()));
        assert_eq!(parts("shop.\"My.Table\"\"s\""), (Some("shop".to_owned()), "My.Table\"s".to_owned()));
        assert_eq!(of_table("\"it's\""), "table_name = 'it''s'");
    }
}
