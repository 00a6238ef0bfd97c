//! Parameters in a statement's text: `$1`, `?` and `$name`. The planner knows numbers alone, so that a `?` becomes `$1`, `$2`, …
//! by its place, and a name the number of its first place. A statement has one kind of them.

use crate::sql::places::position;
use crate::{Error, Result};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use gingham_storage::{Problem, SqlState};

/// The names of a statement's parameters, by their numbers from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ParameterNames {
    /// The names; `None` for those that have a number alone, or stand as `?`.
    pub(crate) names: Vec<Option<String>>,
    kind: Option<ParameterKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParameterKind {
    Number,
    Mark,
    Name,
}

impl ParameterNames {
    /// The number of a parameter that stands as `text` (without `$`; `None` for a `?`).
    fn number(&mut self, text: Option<&str>, start: Location) -> Result<usize> {
        let number = text.map(str::parse::<usize>);
        let kind = match &number {
            None => ParameterKind::Mark,
            Some(Ok(_)) => ParameterKind::Number,
            Some(Err(_)) => ParameterKind::Name,
        };
        if *self.kind.get_or_insert(kind) != kind {
            return Err(wrong("a statement has parameters of one kind: $1, ? or $name", start));
        }
        match number {
            None => self.names.push(None),
            Some(Ok(number)) => {
                if number == 0 || number > usize::from(u16::MAX) {
                    return Err(wrong("the number of a parameter is 1 to 65535", start));
                }
                self.names.resize(self.names.len().max(number), None);
                return Ok(number);
            }
            Some(Err(_)) => {
                let known = self.names.iter().position(|known| known.as_deref() == text);
                if let Some(known) = known {
                    return Ok(known + 1);
                }
                self.names.push(text.map(str::to_owned));
            }
        }
        Ok(self.names.len())
    }
}

fn wrong(text: &str, start: Location) -> Error {
    Error::InvalidInput(Problem::new(SqlState::SyntaxError, text).at(position(start)))
}

/// Makes all parameters numbers, in each statement of a script, and tells the names of those of the last one.
pub(crate) fn number(tokens: &mut [TokenWithSpan]) -> Result<ParameterNames> {
    let (mut known, mut has_ended) = (ParameterNames::default(), false);
    for token in tokens {
        match &token.token {
            // What follows may be nothing.
            Token::SemiColon => {
                has_ended = true;
                continue;
            }
            Token::Whitespace(_) | Token::EOF => continue,
            _ if has_ended => (known, has_ended) = (ParameterNames::default(), false),
            _ => {}
        }
        let text = match &token.token {
            Token::Question => None,
            Token::Placeholder(text) => text.strip_prefix('$').map(str::to_owned),
            _ => continue,
        };
        let number = known.number(text.as_deref(), token.span.start)?;
        token.token = Token::Placeholder(format!("${number}"));
    }
    Ok(known)
}

/// For each parameter the number of the type in `$1::oid` and `$1::oid[]`, which are BIGINT and BIGINT[] here. Drivers ask PostgreSQL's
/// catalog so, and send what the type is there.
pub(crate) fn cast_oids(tokens: &[TokenWithSpan], parameters: usize) -> Vec<Option<u32>> {
    let mut oids = vec![None; parameters];
    let tokens: Vec<&Token> =
        tokens.iter().map(|own| &own.token).filter(|token| !matches!(token, Token::Whitespace(_))).collect();
    for place in 0..tokens.len() {
        let [Token::Placeholder(name), Token::DoubleColon, Token::Word(word), rest @ ..] = &tokens[place..] else {
            continue;
        };
        if !word.value.eq_ignore_ascii_case("oid") {
            continue;
        }
        let is_array = matches!(rest, [Token::LBracket, Token::RBracket, ..]);
        let number = name.trim_start_matches('$').parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(known) = number.and_then(|number| oids.get_mut(number)) {
            *known = Some(if is_array { 1028 } else { 26 });
        }
    }
    oids
}

/// The text with its parameters as numbers.
pub(crate) fn numbered(sql: &str, tokens: &[TokenWithSpan]) -> String {
    let mut places = tokens.iter().filter_map(|token| match &token.token {
        Token::Placeholder(number) => Some((token.span, number)),
        _ => None,
    });
    let (mut text, mut next) = (String::with_capacity(sql.len()), places.next());
    let mut here = Location { line: 1, column: 1 };
    for letter in sql.chars() {
        next = next.filter(|(span, _)| here < span.end).or_else(|| places.next());
        match next {
            Some((span, number)) if here == span.start => text.push_str(number),
            Some((span, _)) if here > span.start => {}
            _ => text.push(letter),
        }
        here = match letter {
            '\n' => Location { line: here.line + 1, column: 1 },
            _ => Location { line: here.line, column: here.column + 1 },
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::Gingham;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn read(sql: &str) -> Result<(String, Vec<Option<String>>)> {
        let mut tokens = Tokenizer::new(&Gingham, sql).tokenize_with_location().unwrap();
        let known = number(&mut tokens)?;
        Ok((numbered(sql, &tokens), known.names))
    }

    #[test]
    fn a_semicolon_at_the_end_begins_no_statement() {
        for (sql, names) in [("SELECT $1, $2;", 2), ("SELECT $1; ;\n-- end\n", 1), ("SELECT $1; SELECT 1", 0)] {
            assert_eq!(read(sql).unwrap().1.len(), names, "{sql}");
        }
    }

    #[test]
    fn casts_to_oid_are_told() {
        let oids = |sql: &str| {
            let mut tokens = Tokenizer::new(&Gingham, sql).tokenize_with_location().unwrap();
            let known = number(&mut tokens).unwrap();
            cast_oids(&tokens, known.names.len())
        };
        assert_eq!(oids("SELECT $1::oid[], $2 :: OID, $3::int"), [Some(1028), Some(26), None]);
    }

    #[test]
    fn parameters_become_numbers() {
        for (sql, expected, names) in [
            ("SELECT ?,?", "SELECT $1,$2", vec![None, None]),
            ("SELECT $2", "SELECT $2", vec![None, None]),
            ("SELECT '?', \"?\" -- ?\n, ?+?", "SELECT '?', \"?\" -- ?\n, $1+$2", vec![None, None]),
            ("SELECT $least, $most, $least", "SELECT $1, $2, $1", vec![Some("least".into()), Some("most".into())]),
            ("SELECT 'ä\n', $a\n+ $b", "SELECT 'ä\n', $1\n+ $2", vec![Some("a".into()), Some("b".into())]),
            ("SELECT ?; SELECT ?", "SELECT $1; SELECT $1", vec![None]),
            ("SELECT 1", "SELECT 1", vec![]),
        ] {
            let (text, read) = read(sql).unwrap();
            assert_eq!((text.as_str(), read), (expected, names), "{sql}");
        }
        for sql in ["SELECT ?, $1", "SELECT $1, $a", "SELECT $0", "SELECT $99999999999"] {
            assert!(read(sql).is_err(), "{sql}");
        }
    }
}
