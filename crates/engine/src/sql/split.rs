//! Where the statements of a script lie, without parsing them. What quotes, comments and names are is what the parser's
//! tokenizer takes for them; the test holds both against each other.

use std::ops::Range;

/// Where a statement of a script lies, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatementPlace {
    /// From what follows the statement before, comments among it, to behind its `;`, which the last may lack.
    pub(crate) whole: Range<usize>,
    /// Where its first word begins.
    pub(crate) first: usize,
}

/// The statements of `sql`, each with its `;`; the last may lack it.
pub(crate) fn split_statements(sql: &str) -> Vec<String> {
    statement_places(sql).into_iter().map(|place| sql[place.whole].trim().to_owned()).collect()
}

/// Where the statements of `sql` lie.
pub(crate) fn statement_places(sql: &str) -> Vec<StatementPlace> {
    let bytes = sql.as_bytes();
    let mut scan = Scan::at(sql.len() - without_mark(sql).len());
    let mut places = Vec::new();
    while let Some(place) = scan.statement(bytes, true) {
        places.push(place);
    }
    places.extend(scan.rest(bytes.len()));
    places
}

/// The word that a text's first statement begins with, which is all that is looked at; empty where it begins with something else.
pub(crate) fn first_word(sql: &str) -> &str {
    let mut scan = Scan::at(sql.len() - without_mark(sql).len());
    scan.pass_comments(sql.as_bytes(), true);
    let rest = &sql[scan.at..];
    &rest[..rest.bytes().take_while(|byte| is_name(*byte)).count()]
}

/// `sql` without the byte order mark that editors put at the beginning of files.
pub(crate) fn without_mark(sql: &str) -> &str {
    sql.strip_prefix(MARK).unwrap_or(sql)
}

/// The byte order mark.
const MARK: char = '\u{feff}';

/// What a scan is inside of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    /// Until this quote. A doubled one ends one quoted text and begins the next, which comes to the same.
    Quote(u8),
    /// `E'…'`, until a quote that no backslash precedes.
    Escapes,
    /// Until the end of the line.
    LineComment,
    /// Until as many `*/` as there were `/*`.
    BlockComment(u32),
    /// Until the tag that lies there in the text comes again.
    Dollar { tag: usize, length: usize },
}

/// A scan of a text of which more may come. No byte is looked at twice, but for those of a name or a tag at the text's end.
#[derive(Debug, Clone, Default)]
pub(super) struct Scan {
    /// Where the statement begins that is being looked at, comments before it among it.
    pub(super) start: usize,
    /// Where its first word begins.
    first: Option<usize>,
    /// What is before this was looked at.
    pub(super) at: usize,
    inside: Inside,
}

impl Scan {
    /// One that begins between statements.
    pub(super) fn at(at: usize) -> Self {
        Self { start: at, at, ..Self::default() }
    }

    /// The text has lost so many bytes at its beginning, all of them before the statement.
    pub(super) fn move_back(&mut self, bytes: usize) {
        self.start -= bytes;
        self.at -= bytes;
        self.first = self.first.map(|first| first - bytes);
        if let Inside::Dollar { tag, .. } = &mut self.inside {
            *tag -= bytes;
        }
    }

    /// The next statement that ends with a `;`. Unless the text `is_whole`, what its end leaves open is left for later.
    pub(super) fn statement(&mut self, text: &[u8], is_whole: bool) -> Option<StatementPlace> {
        while self.at < text.len() {
            let before = self.at;
            match self.inside {
                Inside::Nothing if text[before] == b';' => {
                    let (start, first) = (self.start, self.first);
                    *self = Self::at(before + 1);
                    if let Some(first) = first {
                        return Some(StatementPlace { whole: start..before + 1, first });
                    }
                }
                Inside::Nothing => self.outside(text, is_whole),
                _ => self.within(text, is_whole),
            }
            if self.at == before {
                return None;
            }
        }
        None
    }

    /// Passes blanks and comments before a statement. Whether its first word comes next.
    pub(super) fn pass_comments(&mut self, text: &[u8], is_whole: bool) -> bool {
        while self.first.is_none() && self.at < text.len() {
            let before = self.at;
            match (self.inside, &text[before..]) {
                (Inside::Nothing, [b'-', b'-', ..] | [b'/', b'*', ..]) => self.outside(text, is_whole),
                (Inside::Nothing, [byte, ..]) if byte.is_ascii_whitespace() => self.at += 1,
                (Inside::Nothing, [b'-' | b'/']) if !is_whole => return false,
                (Inside::Nothing, _) => return true,
                _ => self.within(text, is_whole),
            }
            if self.at == before {
                return false;
            }
        }
        false
    }

    /// Whether a statement or a comment has begun that has not ended.
    pub(super) fn is_open(&self) -> bool {
        self.first.is_some() || !matches!(self.inside, Inside::Nothing | Inside::LineComment)
    }

    /// What follows the last `;`, unless it is blanks and comments.
    pub(super) fn rest(&mut self, length: usize) -> Option<StatementPlace> {
        let (start, first) = (self.start, self.first);
        *self = Self::at(length);
        first.map(|first| StatementPlace { whole: start..length, first })
    }

    /// One token that is no `;`, outside of quotes and comments, or none where more text has to tell what it is.
    fn outside(&mut self, text: &[u8], is_whole: bool) {
        let rest = &text[self.at..];
        if !is_whole && matches!(rest, [b'-' | b'/']) {
            return;
        }
        match rest {
            [b'-', b'-', ..] => return self.enter(Inside::LineComment, 2),
            [b'/', b'*', ..] => return self.enter(Inside::BlockComment(1), 2),
            [blank, ..] if blank.is_ascii_whitespace() => {
                self.at += 1;
                return;
            }
            _ => {}
        }
        self.first.get_or_insert(self.at);
        if rest.starts_with(b"//") {
            // The tokenizer has an operator of that name: what follows it begins no comment.
            self.at += 2;
            return;
        }
        match rest[0] {
            quote @ (b'\'' | b'"' | b'`') => self.enter(Inside::Quote(quote), 1),
            b'$' => {
                let name = 1 + rest[1..].iter().take_while(|byte| is_tag(**byte)).count();
                match rest.get(name) {
                    // The tag may go on.
                    None if !is_whole => {}
                    Some(b'$') => self.enter(Inside::Dollar { tag: self.at, length: name + 1 }, name + 1),
                    // It is a parameter's.
                    _ => self.at += name,
                }
            }
            byte if begins_name(byte) => {
                let length = rest.iter().take_while(|byte| is_name(**byte)).count();
                match rest.get(length) {
                    None if !is_whole => {}
                    // The tokenizer takes backslashes so in hexadecimal texts too, of which none that has one is valid.
                    Some(b'\'') if matches!(&rest[..length], b"e" | b"E" | b"x" | b"X") => {
                        self.enter(Inside::Escapes, length + 1);
                    }
                    _ => self.at += length,
                }
            }
            byte if byte.is_ascii_digit() => match number(rest) {
                length if length == rest.len() && !is_whole => {}
                length => self.at += length,
            },
            _ => self.at += 1,
        }
    }

    fn enter(&mut self, inside: Inside, bytes: usize) {
        self.inside = inside;
        self.at += bytes;
    }

    /// What is inside a quote or a comment, to its end or as far as the text goes.
    fn within(&mut self, text: &[u8], is_whole: bool) {
        let rest = &text[self.at..];
        let ended = match &mut self.inside {
            Inside::Nothing => Some(0),
            Inside::Quote(quote) => memchr::memchr(*quote, rest).map(|at| at + 1),
            Inside::LineComment => memchr::memchr(b'\n', rest).map(|at| at + 1),
            Inside::Escapes => match memchr::memchr2(b'\'', b'\\', rest) {
                // What follows a backslash is no end, and a quote behind a quote is none either.
                Some(at) if at + 1 < rest.len() && (rest[at] == b'\\' || rest[at + 1] == b'\'') => {
                    self.at += at + 2;
                    return;
                }
                Some(at) if at + 1 == rest.len() && !is_whole => {
                    self.at += at;
                    return;
                }
                Some(at) if rest[at] == b'\'' => Some(at + 1),
                _ => None,
            },
            Inside::BlockComment(depth) => {
                let Some(at) = memchr::memchr2(b'*', b'/', rest) else {
                    self.at = text.len();
                    return;
                };
                match rest.get(at..at + 2) {
                    Some(b"/*") => *depth += 1,
                    Some(b"*/") if *depth > 1 => *depth -= 1,
                    Some(b"*/") => {
                        self.inside = Inside::Nothing;
                    }
                    Some(_) => {
                        self.at += at + 1;
                        return;
                    }
                    None => {
                        self.at += if is_whole { at + 1 } else { at };
                        return;
                    }
                }
                self.at += at + 2;
                return;
            }
            Inside::Dollar { tag, length } => {
                let (tag, length) = (&text[*tag..*tag + *length], *length);
                match memchr::memmem::find(rest, tag) {
                    Some(at) => Some(at + length),
                    None if !is_whole => {
                        // The tag's beginning may have come.
                        self.at += rest.len().saturating_sub(length - 1);
                        return;
                    }
                    None => None,
                }
            }
        };
        match ended {
            Some(bytes) => self.enter(Inside::Nothing, bytes),
            None => self.at = text.len(),
        }
    }
}

/// Whether a byte begins a name. Bytes of characters beyond ASCII do.
fn begins_name(byte: u8) -> bool {
    byte == b'@' || (is_tag(byte) && !byte.is_ascii_digit())
}

/// Whether a byte goes on with a name.
fn is_name(byte: u8) -> bool {
    matches!(byte, b'@' | b'$') || is_tag(byte)
}

/// Whether a byte goes on with the tag of a dollar-quoted text.
fn is_tag(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The length of the digits that `text` begins with, and of the exponent behind them. What may become an exponent is one.
fn number(text: &[u8]) -> usize {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(text);
    let [b'e' | b'E', rest @ ..] = &text[whole..] else { return whole };
    let sign = usize::from(matches!(rest, [b'+' | b'-', ..]));
    match digits(&rest[sign..]) {
        0 if rest.len() > sign => whole,
        exponent => whole + 1 + sign + exponent,
    }
}

#[cfg(test)]
mod tests {
    use super::{first_word, split_statements, statement_places};

    #[test]
    fn semicolons_in_quotes_and_comments_do_not_count() {
        let cases: &[(&str, &[&str])] = &[
            ("select 1; select 2;", &["select 1;", "select 2;"]),
            ("select ';''--'; select \"a;b\"", &["select ';''--';", "select \"a;b\""]),
            ("-- nothing; here\n /* ; /* ; */ */ ;;", &[]),
            ("select 1 -- one;\n+ 2; x", &["select 1 -- one;\n+ 2;", "x"]),
            ("select $1; select $$a;b$$; select $t$;$$;$t$", &["select $1;", "select $$a;b$$;", "select $t$;$$;$t$"]),
            ("select 'unfinished; ", &["select 'unfinished;"]),
            ("select E'it\\'s; x'; y", &["select E'it\\'s; x';", "y"]),
            ("select e'it''s\\'; x\\\\'; y", &["select e'it''s\\'; x\\\\';", "y"]),
            ("select 'a\\'; select namee'\\'; y", &["select 'a\\';", "select namee'\\';", "y"]),
            ("select a$b$; c$b$; y", &["select a$b$;", "c$b$;", "y"]),
            ("\u{feff}select 1; x", &["select 1;", "x"]),
            ("selecté; ü", &["selecté;", "ü"]),
            ("", &[]),
        ];
        for (sql, expected) in cases {
            assert_eq!(split_statements(sql), *expected, "{sql}");
        }
        assert_eq!(["/* a; */ -- b\n Copy t", "(select 1)", "", "é1 x"].map(first_word), ["Copy", "", "", "é1"]);
        let places = statement_places("-- one\nselect 1;\n/* two */ select 2");
        let found: Vec<_> = places.into_iter().map(|place| (place.whole, place.first)).collect();
        assert_eq!(found, [(0..16, 7), (16..35, 27)]);
    }
}
