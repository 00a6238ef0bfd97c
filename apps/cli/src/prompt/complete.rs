//! Completion: of commands and what they take, of keywords, tables, columns, functions, settings and files.

use crate::commands;
use crate::failure::Failure;
use crate::prompt::place::{Wanted, tables_in, unquoted, wanted};
use crate::prompt::words::KEYWORDS;
use arrow::array::AsArray;
use arrow::datatypes::DataType;
use gingham::Connection;
use std::cell::OnceCell;

/// What knows the names.
pub struct Names {
    connection: Connection,
    functions: OnceCell<Vec<String>>,
}

/// A column, as its table has it.
struct Column {
    schema: String,
    table: String,
    name: String,
}

impl Names {
    /// The names that a connection sees.
    pub fn new(connection: Connection) -> Self {
        Self { connection, functions: OnceCell::new() }
    }

    /// What the word before `at` of a text may be, and where it begins.
    pub fn completions(&self, text: &str, at: usize) -> (usize, Vec<String>) {
        let (wanted, length) = wanted(&text[..at]);
        let word = &text[at - length..at];
        let found = match wanted {
            Wanted::Nothing => Vec::new(),
            Wanted::Commands if word.starts_with(['.', '\\']) => matching(word, commands::names()),
            Wanted::Commands => matching(word, commands::names().filter_map(|name| name.strip_prefix('.'))),
            Wanted::Files { quote } => files(word, quote),
            Wanted::Words(words) => matching(word, words.iter().copied()),
            Wanted::Settings => {
                let shows = ["ALL", "COLUMNS", "CREATE TABLE", "FUNCTIONS", "TABLES"];
                let before = text[..at - length].trim_end().to_ascii_lowercase();
                let mut names = self
                    .texts("SELECT name FROM information_schema.df_settings WHERE name LIKE 'gingham.%' ORDER BY 1");
                if before.ends_with("show") {
                    names.extend(shows.map(str::to_owned));
                }
                matching(word, names.iter().map(String::as_str))
            }
            Wanted::Tables => sorted(word, self.tables()),
            Wanted::Of(of) => self.of(&unquoted(&of), text, at, word),
            Wanted::Anything => self.anything(text, at, word),
        };
        (at - length, found)
    }

    /// The columns of what is called `of`, or the tables of that schema.
    fn of(&self, of: &str, text: &str, at: usize, word: &str) -> Vec<String> {
        let columns = self.columns();
        let named = tables_in(text, at, |name| columns.iter().any(|column| column.table == name));
        let table = named.iter().find(|(_, alias)| alias == of).map_or(of, |(table, _)| table);
        let mut names: Vec<&str> =
            columns.iter().filter(|column| column.table == table).map(|column| column.name.as_str()).collect();
        if names.is_empty() {
            names = columns.iter().filter(|column| column.schema == of).map(|column| column.table.as_str()).collect();
        }
        sorted(word, names.into_iter().map(gingham::quoted).collect())
    }

    fn anything(&self, text: &str, at: usize, word: &str) -> Vec<String> {
        let columns = self.columns();
        let named = tables_in(text, at, |name| columns.iter().any(|column| column.table == name));
        let of_statement = |column: &&Column| named.is_empty() || named.iter().any(|(table, _)| *table == column.table);
        // Before the FROM nobody knows which columns are meant.
        if word.is_empty() && named.is_empty() {
            return Vec::new();
        }
        let mut all =
            sorted(word, columns.iter().filter(of_statement).map(|column| gingham::quoted(&column.name)).collect());
        if word.is_empty() {
            return all;
        }
        all.extend(sorted(word, self.tables()));
        if !word.starts_with('"') {
            all.extend(matching(word, KEYWORDS.iter().copied()));
            let functions = self.functions.get_or_init(|| self.connection.functions());
            all.extend(sorted(word, functions.iter().map(|name| format!("{name}(")).collect()));
        }
        let mut seen = std::collections::HashSet::new();
        all.retain(|name| seen.insert(name.clone()));
        all
    }

    /// The tables and views, with the schemas of those that need one.
    fn tables(&self) -> Vec<String> {
        let sql =
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema <> 'information_schema'";
        let tables = self.rows(sql, 2);
        let full = |row: Vec<String>| match row.as_slice() {
            [schema, table] if schema == gingham::storage::DEFAULT_SCHEMA => gingham::quoted(table),
            [schema, table] => format!("{}.{}", gingham::quoted(schema), gingham::quoted(table)),
            _ => String::new(),
        };
        tables.into_iter().map(full).collect()
    }

    fn columns(&self) -> Vec<Column> {
        const COLUMNS: &str = "SELECT table_schema, table_name, column_name FROM information_schema.columns \
             WHERE table_schema <> 'information_schema'";
        let column = |row: Vec<String>| {
            let [schema, table, name] = row.try_into().ok()?;
            Some(Column { schema, table, name })
        };
        self.rows(COLUMNS, 3).into_iter().filter_map(column).collect()
    }

    fn texts(&self, sql: &str) -> Vec<String> {
        self.rows(sql, 1).into_iter().flatten().collect()
    }

    /// Rows of texts; none when they can't be read, which a statement will say better.
    fn rows(&self, sql: &str, width: usize) -> Vec<Vec<String>> {
        let read = || {
            let mut rows = Vec::new();
            for batch in self.connection.query(sql)? {
                let batch = batch?;
                let mut columns = Vec::new();
                for number in 0..width {
                    columns.push(arrow::compute::cast(batch.column(number), &DataType::Utf8)?);
                }
                for row in 0..batch.num_rows() {
                    rows.push(columns.iter().map(|column| column.as_string::<i32>().value(row).to_owned()).collect());
                }
            }
            Ok::<_, Failure>(rows)
        };
        read().unwrap_or_default()
    }
}

/// Those of `words` that begin as `typed` does, whatever the case; lower-case when the user types lower case.
fn matching<'a>(typed: &str, words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lower = typed.chars().any(|c| c.is_ascii_lowercase()) && typed.chars().all(|c| !c.is_ascii_uppercase());
    words
        .filter(|word| word.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed)))
        .map(|word| if lower { word.to_ascii_lowercase() } else { word.to_owned() })
        .collect()
}

/// Those of `names`, which stand in quotes where they need some, that begin as `word` does, in order.
fn sorted(word: &str, mut names: Vec<String>) -> Vec<String> {
    let bare = word.trim_start_matches('"');
    let begins = |name: &String| {
        let name = name.trim_start_matches('"');
        name.get(..bare.len()).is_some_and(|start| start.eq_ignore_ascii_case(bare))
    };
    names.retain(begins);
    names.sort();
    names.dedup();
    names
}

/// The files and folders whose names begin with a word; those with blanks stand in quotes.
fn files(word: &str, quote: Option<char>) -> Vec<String> {
    let (folder, start) = word.rsplit_once('/').map_or(("", word), |(folder, start)| (folder, start));
    let place = match (folder, word.starts_with('/')) {
        ("", true) => "/",
        ("", false) => ".",
        (folder, _) => folder,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !name.starts_with(start) || (name.starts_with('.') && start.is_empty()) {
            continue;
        }
        let is_folder = entry.path().is_dir();
        let path = format!("{}{name}{}", &word[..word.len() - start.len()], if is_folder { "/" } else { "" });
        found.push(match quote {
            Some(_) if is_folder => path,
            Some(quote) => format!("{path}{quote}"),
            None if path.contains(char::is_whitespace) => format!("'{path}'"),
            None => path,
        });
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use gingham::Database;

    fn names() -> Names {
        let connection = Database::in_memory().unwrap().connect();
        let sql =
            "CREATE TABLE fruit (id INT, name VARCHAR, \"net weight\" INT); CREATE TABLE sales (fruit INT, day DATE);
            CREATE SCHEMA shop; CREATE TABLE shop.people (born DATE)";
        connection.execute(sql).unwrap();
        Names::new(connection)
    }

    #[test]
    fn names_are_found_where_they_may_stand() {
        let names = names();
        let found = |typed: &str| names.completions(typed, typed.len()).1;
        assert_eq!(found("select * from "), ["fruit", "sales", "shop.people"]);
        assert_eq!(found("select * from sa"), ["sales"]);
        assert_eq!(found("select * from fruit where "), ["\"net weight\"", "id", "name"]);
        assert_eq!(found("select * from fruit where \"n"), ["\"net weight\"", "name"]);
        assert_eq!(found("select * from sales s where s."), ["day", "fruit"]);
        assert_eq!(found("select * from shop."), ["people"]);
        assert_eq!(found("select "), Vec::<String>::new());
        assert_eq!(found("selec"), ["select"]);
        assert_eq!(found("SELEC"), ["SELECT"]);
        assert!(found("select count").contains(&"count(".to_owned()));
        assert!(found("set gingham.me").contains(&"gingham.memory_limit".to_owned()));
        assert!(found("SHOW T").contains(&"TABLES".to_owned()));
        assert_eq!(found(".tabl"), [".tables"]);
        assert_eq!(found(".help tabl"), ["tables"]);
        assert_eq!(found(".schema fr"), ["fruit"]);
        assert_eq!(found(".mode mark"), ["markdown"]);
        // The tables behind the cursor count, too.
        let (at, found_before) = names.completions("select da from sales", 9);
        assert!(at == 7 && found_before.starts_with(&["day".to_owned(), "date".to_owned()]), "{found_before:?}");
        assert_eq!(found("select é"), Vec::<String>::new());
    }

    #[test]
    fn files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        std::fs::write(folder.path().join("a b.csv"), "").unwrap();
        let place = folder.path().display().to_string();
        assert_eq!(files(&format!("{place}/d"), None), [format!("{place}/data/")]);
        assert_eq!(files(&format!("{place}/a"), None), [format!("'{place}/a b.csv'")]);
        assert_eq!(files(&format!("{place}/"), Some('\'')), [format!("{place}/a b.csv'"), format!("{place}/data/")]);
    }
}
