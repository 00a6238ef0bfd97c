//! What the characters of typed text are: words, numbers, quotes, comments, for colours, for completion, and for the prompt of the
//! next line. Half a statement is text like any other here, which a parser would not take.

use std::ops::Range;

/// What a part of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A word that begins with a letter: a keyword or a name.
    Word,
    /// A name in `"`.
    Quoted,
    /// A text in `'` or between `$$`.
    Text,
    /// A number.
    Number,
    /// A comment.
    Comment,
    /// Blanks.
    Blank,
    /// Any other character.
    Other,
}

/// What is open behind a part of a text, whose next line goes on within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// A text in `'`.
    Text,
    /// A name in `"`.
    Quoted,
    /// A text between `$$`.
    Dollars,
    /// A comment.
    Comment,
    /// A parenthesis.
    Parenthesis,
    /// A statement.
    Statement,
    /// Nothing: a statement has ended, or none has begun.
    Nothing,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it is.
    pub at: Range<usize>,
    /// Whether its end has not come.
    pub is_open: bool,
}

/// The parts of a text, without gaps.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = match first {
            c if c.is_whitespace() => (Kind::Blank, Some(run(rest, char::is_whitespace))),
            '\'' => (Kind::Text, quoted(rest, '\'', false)),
            'e' | 'E' if rest[1..].starts_with('\'') => {
                (Kind::Text, quoted(&rest[1..], '\'', true).map(|length| length + 1))
            }
            '"' => (Kind::Quoted, quoted(rest, '"', false)),
            '$' if rest[1..].starts_with('$') => (Kind::Text, rest[2..].find("$$").map(|end| end + 4)),
            '-' if rest.starts_with("--") => (Kind::Comment, Some(rest.find('\n').unwrap_or(rest.len()))),
            '/' if rest.starts_with("/*") => (Kind::Comment, comment(rest)),
            c if c.is_alphabetic() || c == '_' => {
                (Kind::Word, Some(run(rest, |c| c.is_alphanumeric() || c == '_' || c == '$')))
            }
            c if c.is_ascii_digit() => {
                (Kind::Number, Some(run(rest, |c| c.is_ascii_alphanumeric() || c == '.' || c == '_')))
            }
            c => (Kind::Other, Some(c.len_utf8())),
        };
        let end = length.map_or(text.len(), |length| at + length);
        tokens.push(Token { kind, at: at..end, is_open: length.is_none() });
        at = end;
    }
    tokens
}

/// The length of what a text begins with.
fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// The length of what stands in quotes, in which a doubled one is a character; none when it does not end.
fn quoted(text: &str, quote: char, escapes: bool) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// The length of a comment, in which others may stand; none when it does not end.
fn comment(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        match text[at..].find(['/', '*']).map(|found| at + found) {
            Some(found) if text[found..].starts_with("/*") => (depth, at) = (depth + 1, found + 2),
            Some(found) if text[found..].starts_with("*/") => (depth, at) = (depth - 1, found + 2),
            Some(found) => at = found + 1,
            None => return None,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// What is open at the end of a text.
pub fn open(text: &str) -> Open {
    let (mut depth, mut begun) = (0_usize, false);
    for token in tokens(text) {
        let part = &text[token.at.clone()];
        match token.kind {
            Kind::Text if token.is_open && part.starts_with('$') => return Open::Dollars,
            Kind::Text if token.is_open => return Open::Text,
            Kind::Quoted if token.is_open => return Open::Quoted,
            Kind::Comment if token.is_open => return Open::Comment,
            Kind::Blank | Kind::Comment => continue,
            Kind::Other if part == "(" => depth += 1,
            Kind::Other if part == ")" => depth = depth.saturating_sub(1),
            Kind::Other if part == ";" => {
                (depth, begun) = (0, false);
                continue;
            }
            _ => {}
        }
        begun = true;
    }
    match (depth, begun) {
        (1.., _) => Open::Parenthesis,
        (0, true) => Open::Statement,
        (0, false) => Open::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_kinds() {
        let text = "SELECT \"a b\", 'it''s' -- x\n, 1.5e3 /* /* */ */ FROM tä;";
        let kinds: Vec<(Kind, &str)> = tokens(text)
            .into_iter()
            .filter(|token| token.kind != Kind::Blank)
            .map(|token| (token.kind, &text[token.at]))
            .collect();
        assert_eq!(
            kinds,
            [
                (Kind::Word, "SELECT"),
                (Kind::Quoted, "\"a b\""),
                (Kind::Other, ","),
                (Kind::Text, "'it''s'"),
                (Kind::Comment, "-- x"),
                (Kind::Other, ","),
                (Kind::Number, "1.5e3"),
                (Kind::Comment, "/* /* */ */"),
                (Kind::Word, "FROM"),
                (Kind::Word, "tä"),
                (Kind::Other, ";"),
            ]
        );
    }

    #[test]
    fn what_is_open_is_known() {
        for (text, expected) in [
            ("", Open::Nothing),
            ("select 1; -- 'x", Open::Nothing),
            ("select", Open::Statement),
            ("select 'a", Open::Text),
            ("select 'a''", Open::Text),
            ("select E'a\\'", Open::Text),
            ("select 'a\\'", Open::Statement),
            ("select \"a", Open::Quoted),
            ("select $$a", Open::Dollars),
            ("select $$a$$", Open::Statement),
            ("select /* a", Open::Comment),
            ("select ((1)", Open::Parenthesis),
            ("select ((1));", Open::Nothing),
            ("select ')'", Open::Statement),
        ] {
            assert_eq!(open(text), expected, "{text}");
        }
    }
}
