//! A command as it was written: its name, and arguments that may stand in quotes.

use crate::commands::named;
use crate::failure::Failure;
use crate::script::{Next, Runner};

/// A command's line.
#[derive(Debug)]
pub struct Call<'a> {
    /// The name, with the dot or the backslash.
    pub name: &'a str,
    /// The text behind the name, as it is.
    pub text: &'a str,
}

impl<'a> Call<'a> {
    /// The parts of a line. A `;` at its end, out of habit, is left out.
    pub fn parse(line: &'a str) -> Self {
        let line = line.trim();
        // Between values it may be meant.
        let is_meant = line.strip_prefix(".separator").is_some_and(|text| text.trim() == ";");
        let line = line.strip_suffix(';').filter(|_| !is_meant).map_or(line, str::trim_end);
        let end = match line.strip_prefix("\\!") {
            // psql's needs no blank.
            Some(_) => 2,
            None => line.find(char::is_whitespace).unwrap_or(line.len()),
        };
        Self { name: &line[..end], text: line[end..].trim() }
    }

    /// The arguments, without quotes that stand around them. Errors on a quote that is not closed.
    pub fn words(&self) -> Result<Vec<String>, Failure> {
        let (mut words, mut rest) = (Vec::new(), self.text);
        while !rest.is_empty() {
            let (word, length) = word(rest)
                .ok_or_else(|| Failure::failed(format!("{}: a quote is not closed in: {}", self.name, self.text)))?;
            words.push(word);
            rest = rest[length..].trim_start();
        }
        Ok(words)
    }

    /// The one argument, or none; errors on more.
    pub fn word(&self) -> Result<Option<String>, Failure> {
        let mut words = self.words()?;
        match words.len() {
            0 => Ok(None),
            1 => Ok(words.pop()),
            _ => Err(self.wrong()),
        }
    }

    /// The one argument; errors when there is none, or there are more.
    pub fn one(&self) -> Result<String, Failure> {
        self.word()?.ok_or_else(|| self.wrong())
    }

    /// Errors when there is an argument.
    pub fn nothing(&self) -> Result<(), Failure> {
        if self.text.is_empty() { Ok(()) } else { Err(self.wrong()) }
    }

    /// A table's name as SQL takes it: as it was written, or put in SQL's quotes when it stood in an apostrophe's.
    pub fn table(&self) -> Result<Option<String>, Failure> {
        Ok(match self.text {
            "" => None,
            text if text.starts_with('\'') => Some(gingham::quoted(&self.one()?)),
            text => Some(text.to_owned()),
        })
    }

    /// The names of tables in the arguments, each as [`table`](Self::table) gives one.
    pub fn tables(&self) -> Vec<String> {
        let (mut tables, mut rest) = (Vec::new(), self.text);
        while !rest.is_empty() {
            let mut is_quoted = false;
            let end = rest.find(|c: char| {
                is_quoted ^= c == '"';
                c.is_whitespace() && !is_quoted
            });
            let (table, length) = match rest.strip_prefix('\'').and_then(|_| word(rest)) {
                Some((name, length)) => (gingham::quoted(&name), length),
                None => (rest[..end.unwrap_or(rest.len())].to_owned(), end.unwrap_or(rest.len())),
            };
            tables.push(table);
            rest = rest[length..].trim_start();
        }
        tables
    }

    /// Runs a command that switches something on or off; without an argument it tells which.
    pub fn switch(
        &self,
        runner: &mut Runner,
        what: &str,
        switched: impl Fn(&mut Runner) -> &mut bool,
    ) -> Result<Next, Failure> {
        match self.word()?.as_deref() {
            None => {
                let state = if *switched(runner) { "on" } else { "off" };
                runner.say(&format!("{what} is {state}"))?;
            }
            Some(word) => *switched(runner) = on_or_off(word).ok_or_else(|| self.wrong())?,
        }
        Ok(Next::GoOn)
    }

    /// A wrong argument: how the command is used.
    pub fn wrong(&self) -> Failure {
        Failure::failed(match named(self.name) {
            Some(command) if command.argument.is_empty() => format!("{} takes no argument", self.name),
            Some(command) => format!("{} is used as: {} {}", self.name, self.name, command.argument),
            None => format!("there is no {}", self.name),
        })
    }
}

/// Whether a word turns a switch on or off; `None` for other words.
pub fn on_or_off(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// The first word of a text, without its quotes (one that is doubled stands for itself), and its length in the text. None when a
/// quote is not closed.
fn word(text: &str) -> Option<(String, usize)> {
    let (mut word, mut quote) = (String::new(), None);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => return Some((word, at)),
            (None, '\'' | '"') if word.is_empty() => quote = Some(c),
            (Some(open), c) if c == open => match chars.peek() {
                Some((_, next)) if *next == open => {
                    word.push(c);
                    chars.next();
                }
                Some((_, next)) if !next.is_whitespace() => quote = None,
                _ => return Some((word, at + c.len_utf8())),
            },
            _ => word.push(c),
        }
    }
    quote.is_none().then_some((word, text.len()))
}

/// A text with the characters that `\t`, `\n` and others stand for.
pub fn unescaped(text: &str) -> String {
    let (mut plain, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some('t')) => plain.push('\t'),
            ('\\', Some('n')) => plain.push('\n'),
            ('\\', Some('r')) => plain.push('\r'),
            ('\\', Some('\\')) => plain.push('\\'),
            _ => {
                plain.push(c);
                continue;
            }
        }
        chars.next();
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_may_stand_in_quotes() {
        let words = |line| Call::parse(line).words().map_err(|failure| failure.message().to_owned());
        assert_eq!(words(".import 'a b.csv' \"t\"\"x\" c;").unwrap(), ["a b.csv", "t\"x", "c"]);
        assert_eq!(words(".nullvalue ''").unwrap(), [""]);
        assert_eq!(words(".import it's t").unwrap(), ["it's", "t"]);
        assert_eq!(words(".read 'a b").unwrap_err(), ".read: a quote is not closed in: 'a b");
        assert!(words(".tables").unwrap().is_empty());
        assert_eq!(words(".separator ;").unwrap(), [";"]);
        let call = Call::parse("\\!ls -l");
        assert_eq!((call.name, call.text), ("\\!", "ls -l"));
    }

    #[test]
    fn tables_are_named_as_in_sql() {
        let table = |line| Call::parse(line).table().unwrap().unwrap();
        assert_eq!(table(".schema shop.\"My Table\""), "shop.\"My Table\"");
        assert_eq!(table(".schema 'My Table'"), "\"My Table\"");
        assert_eq!(table(".schema t;"), "t");
        let tables = Call::parse(".dump t shop.\"My Table\" 'an other' \"x\"").tables();
        assert_eq!(tables, ["t", "shop.\"My Table\"", "\"an other\"", "\"x\""]);
    }

    #[test]
    fn separators_may_be_escaped() {
        assert_eq!(unescaped("\\t"), "\t");
        assert_eq!(unescaped("a\\\\b\\x\\"), "a\\b\\x\\");
    }
}
