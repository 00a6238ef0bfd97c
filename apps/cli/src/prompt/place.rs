//! What may stand where the cursor is: which of the names are offered by Tab.

use crate::commands::{self, Takes};
use crate::tokens::{Kind, Token, tokens};

/// What completes a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing.
    Nothing,
    /// Commands that begin with a dot or a backslash.
    Commands,
    /// Files.
    Files {
        /// The quote that stands open before the name.
        quote: Option<char>,
    },
    /// One of these words.
    Words(&'static [&'static str]),
    /// Tables and views.
    Tables,
    /// Settings.
    Settings,
    /// The columns of a table or an alias, or the tables of a schema.
    Of(String),
    /// Columns, tables, functions and keywords.
    Anything,
}

/// What is wanted at the end of `typed`, and how many of its last bytes it completes.
pub fn wanted(typed: &str) -> (Wanted, usize) {
    if typed.starts_with(['.', '\\']) { of_command(typed) } else { of_sql(typed) }
}

fn of_command(typed: &str) -> (Wanted, usize) {
    let Some((name, rest)) = typed.split_once(char::is_whitespace) else { return (Wanted::Commands, typed.len()) };
    let (word, quote) = last_word(rest);
    let Some(command) = commands::named(name) else { return (Wanted::Nothing, 0) };
    let is_first = rest.trim_start().len() == word.len() + usize::from(quote.is_some());
    let wanted = match command.takes {
        Takes::File if is_first || command.name != ".import" => Wanted::Files { quote },
        // The second is the table.
        Takes::File => Wanted::Tables,
        Takes::Table => Wanted::Tables,
        Takes::Command => Wanted::Commands,
        Takes::Words(words) if is_first => Wanted::Words(words),
        Takes::Copy if is_first => Wanted::Tables,
        Takes::Copy => {
            let before = rest[..rest.len() - word.len()].trim_end().trim_end_matches('\'').trim_end();
            let last = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_ascii_lowercase();
            if matches!(last.as_str(), "from" | "to") {
                Wanted::Files { quote }
            } else {
                Wanted::Words(&["FROM", "TO"])
            }
        }
        Takes::Words(_) | Takes::Other => Wanted::Nothing,
    };
    (wanted, word.len())
}

/// The last word of a text, behind the quote that is open, and the quote.
fn last_word(text: &str) -> (&str, Option<char>) {
    let (mut start, mut quote) = (0, None);
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c.is_whitespace() => start = at + c.len_utf8(),
            None if matches!(c, '\'' | '"') && at == start => (start, quote) = (at + 1, Some(c)),
            None => {}
        }
    }
    (&text[start..], quote)
}

/// Whether a token is that keyword.
fn is(text: &str, token: &Token, keywords: &[&str]) -> bool {
    token.kind == Kind::Word && keywords.iter().any(|keyword| text[token.at.clone()].eq_ignore_ascii_case(keyword))
}

const BEFORE_TABLES: &[&str] = &[
    "FROM",
    "JOIN",
    "INTO",
    "UPDATE",
    "TABLE",
    "DESCRIBE",
    "DESC",
    "SUMMARIZE",
    "OPTIMIZE",
    "VACUUM",
    "COPY",
    "REFERENCES",
];
const BEFORE_FILES: &[&str] = &["FROM", "JOIN", "TO", "LOCATION"];

fn of_sql(typed: &str) -> (Wanted, usize) {
    let all = tokens(typed);
    let begins = all.iter().rposition(|token| &typed[token.at.clone()] == ";").map_or(0, |at| at + 1);
    let mut statement: Vec<&Token> = all[begins..].iter().collect();
    let last = match statement.last() {
        Some(token) if token.kind == Kind::Word || token.is_open => statement.pop(),
        _ => None,
    };
    let word = last.map_or("", |token| &typed[token.at.clone()]);
    // One that begins with -- ends with its line.
    if all
        .last()
        .is_some_and(|token| token.kind == Kind::Comment && (token.is_open || !typed[token.at.clone()].ends_with('/')))
    {
        return (Wanted::Nothing, 0);
    }
    let touches = statement.last().is_some_and(|token| token.kind != Kind::Blank);
    statement.retain(|token| !matches!(token.kind, Kind::Blank | Kind::Comment));
    let (before, earlier) = (statement.last(), statement.len().checked_sub(2).map(|at| statement[at]));
    if last.is_some_and(|token| token.kind == Kind::Text) {
        let of_function = before.is_some_and(|token| &typed[token.at.clone()] == "(")
            && earlier.is_some_and(|token| typed[token.at.clone()].to_ascii_lowercase().starts_with("read_"));
        let is_file = of_function || before.is_some_and(|token| is(typed, token, BEFORE_FILES));
        return match word.strip_prefix('\'') {
            Some(file) if is_file => (Wanted::Files { quote: Some('\'') }, file.len()),
            _ => (Wanted::Nothing, 0),
        };
    }
    let wanted = match before {
        Some(token) if touches && &typed[token.at.clone()] == "." => match earlier {
            Some(name) => Wanted::Of(typed[name.at.clone()].to_owned()),
            None => Wanted::Nothing,
        },
        Some(token) if is(typed, token, &["SET", "RESET"]) && statement.len() == 1 => Wanted::Settings,
        Some(token) if is(typed, token, &["SHOW"]) => Wanted::Settings,
        Some(token) if is(typed, token, BEFORE_TABLES) => Wanted::Tables,
        // Nothing is typed: all keywords would be no help.
        _ if word.is_empty() && !wants_columns(typed, before.copied()) => Wanted::Nothing,
        _ => Wanted::Anything,
    };
    let wanted = match (&wanted, earlier) {
        // `SET gingham.` goes on with the rest of a setting's name.
        (Wanted::Of(_), Some(name)) => {
            let first = statement.first().is_some_and(|token| is(typed, token, &["SET", "SHOW", "RESET"]));
            if first && statement.len() == 3 {
                return (Wanted::Settings, typed.len() - name.at.start);
            }
            wanted
        }
        _ => wanted,
    };
    (wanted, word.len())
}

/// Whether columns may follow where no letter of one is typed.
fn wants_columns(typed: &str, before: Option<&Token>) -> bool {
    before.is_some_and(|token| {
        is(typed, token, &["WHERE", "BY", "ON", "AND", "OR", "HAVING", "SELECT", "SET", "USING"])
            || matches!(&typed[token.at.clone()], "," | "(" | "=" | "<" | ">")
    })
}

/// The names of tables in the statement at `at` of a text, each with what it is called there: `known` tells which names are
/// tables'.
pub fn tables_in(text: &str, at: usize, known: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let all = tokens(text);
    let ends = |token: &Token| &text[token.at.clone()] == ";";
    let statement = all.split(ends).find(|part| part.last().is_none_or(|token| token.at.end >= at)).unwrap_or_default();
    let words: Vec<&Token> =
        statement.iter().filter(|token| !matches!(token.kind, Kind::Blank | Kind::Comment)).collect();
    let mut tables = Vec::new();
    for (number, token) in words.iter().enumerate() {
        let name = unquoted(&text[token.at.clone()]);
        if !matches!(token.kind, Kind::Word | Kind::Quoted) || !known(&name) {
            continue;
        }
        let mut next = words[number + 1..].iter().copied().peekable();
        let alias = match next.next_if(|token| is(text, token, &["AS"])).is_some() {
            true => next.next(),
            false => next.next().filter(|token| {
                let upper = text[token.at.clone()].to_ascii_uppercase();
                crate::prompt::words::KEYWORDS.binary_search(&upper.as_str()).is_err()
            }),
        };
        let alias = alias.filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        let alias = alias.map_or_else(|| name.clone(), |token| unquoted(&text[token.at.clone()]));
        tables.push((name, alias));
    }
    tables
}

/// A name without its quotes, in small letters when it has none.
pub fn unquoted(name: &str) -> String {
    match name.strip_prefix('"') {
        Some(inner) => inner.strip_suffix('"').unwrap_or(inner).replace("\"\"", "\""),
        None => name.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_before_tell_what_is_wanted() {
        let files = |quote| Wanted::Files { quote };
        for (typed, expected, length) in [
            (".ta", Wanted::Commands, 3),
            (".help mo", Wanted::Commands, 2),
            (".read a/b", files(None), 3),
            (".read 'a b", files(Some('\'')), 3),
            (".import x.csv t", Wanted::Tables, 1),
            (".schema t", Wanted::Tables, 1),
            (".mode c", Wanted::Words(&[]), 1),
            ("\\copy t", Wanted::Tables, 1),
            ("\\copy t FROM f", files(None), 1),
            ("\\nosuch x", Wanted::Nothing, 0),
            ("sel", Wanted::Anything, 3),
            ("select ", Wanted::Anything, 0),
            ("select 1 ", Wanted::Nothing, 0),
            ("select a from ", Wanted::Tables, 0),
            ("select a from t; select b from \"T", Wanted::Tables, 2),
            ("select t.co", Wanted::Of("t".into()), 2),
            ("select a from t where ", Wanted::Anything, 0),
            ("select * from 'da", files(Some('\'')), 2),
            ("select * from read_csv('da", files(Some('\'')), 2),
            ("copy t to '", files(Some('\'')), 0),
            ("select 'da", Wanted::Nothing, 0),
            ("select -- da", Wanted::Nothing, 0),
            ("SET g", Wanted::Settings, 1),
            ("SET gingham.th", Wanted::Settings, 10),
            ("update t set ", Wanted::Anything, 0),
            ("show ", Wanted::Settings, 0),
        ] {
            let (found, completes) = wanted(typed);
            let same = matches!((&found, &expected), (Wanted::Words(_), Wanted::Words(_))) || found == expected;
            assert!(same && completes == length, "{typed}: {found:?}, {completes}");
        }
    }

    #[test]
    fn tables_of_the_statement_are_known_by_their_aliases() {
        let text = "select 1 from x; select f. from fruit f join \"Big\" as b on x where fruit";
        let tables = tables_in(text, 26, |name| matches!(name, "x" | "fruit" | "Big"));
        let pair = |name: &str, alias: &str| (name.to_owned(), alias.to_owned());
        assert_eq!(tables, [pair("fruit", "f"), pair("Big", "b"), pair("x", "x"), pair("fruit", "fruit")]);
    }
}
