//! Texts that are written in parts: `'a'` and `'b'` on two lines are the one text `'ab'`. The parser would take the second for an
//! alias. On one line SQL does not have them.

use crate::sql::dialect::Gingham;
use crate::sql::places::position;
use crate::{Error, Result};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};
use gingham_storage::{Problem, SqlState};

/// What stands between two texts.
#[derive(Clone, Copy, PartialEq)]
enum Between {
    Blank,
    Line,
    /// A comment in brackets, which does not part two parts of a text.
    Comment,
}

/// Puts parts of texts together.
///
/// # Errors
///
/// Two texts stand side by side on a line.
pub(super) fn join_texts(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let is_text = |token: &TokenWithSpan| matches!(token.token, Token::SingleQuotedString(_));
    let is_any = |token: &TokenWithSpan| is_text(token) || is_other(&token.token);
    let pairs = |pair: &[&TokenWithSpan]| is_any(pair[0]) && is_text(pair[1]);
    let words: Vec<&TokenWithSpan> = tokens.iter().filter(|own| !matches!(own.token, Token::Whitespace(_))).collect();
    if !words.windows(2).any(pairs) {
        return Ok(());
    }
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // Where the last token that means something stands, and what followed it.
    let (mut last, mut between) = (None, Between::Blank);
    let mut options = Options::default();
    for token in std::mem::take(tokens) {
        if let Token::Whitespace(space) = &token.token {
            between = match (space, between) {
                (Whitespace::MultiLineComment(_), _) | (_, Between::Comment) => Between::Comment,
                (Whitespace::Newline | Whitespace::SingleLineComment { .. }, _) | (_, Between::Line) => Between::Line,
                _ => Between::Blank,
            };
            joined.push(token);
            continue;
        }
        let is_listed = options.next(&token.token);
        let before = last.map(|at: usize| &mut joined[at]).filter(|before| is_any(before) && !is_listed);
        match before.filter(|_| is_text(&token)) {
            Some(before) if between == Between::Line => put_together(before, &token)?,
            Some(_) => {
                let text = "two texts side by side are one only where a line ends between them; join them by ||, or name a column \
                            by AS and a name in double quotes";
                let problem = Problem::new(SqlState::SyntaxError, text);
                return Err(Error::InvalidInput(problem.at(position(token.span.start))));
            }
            None => {
                last = Some(joined.len());
                joined.push(token);
            }
        }
        between = Between::Blank;
    }
    *tokens = joined;
    Ok(())
}

/// Texts of other forms, which a part in quotes can follow.
fn is_other(token: &Token) -> bool {
    matches!(
        token,
        Token::EscapedStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::DollarQuotedString(_)
    )
}

/// Adds a part to a text. The letter before the first part's quote counts for all of them.
fn put_together(before: &mut TokenWithSpan, part: &TokenWithSpan) -> Result<()> {
    let Token::SingleQuotedString(more) = &part.token else { return Ok(()) };
    match &mut before.token {
        Token::SingleQuotedString(text) | Token::NationalStringLiteral(text) | Token::HexStringLiteral(text) => {
            text.push_str(more)
        }
        Token::EscapedStringLiteral(text) => {
            let written = format!("E'{}'", more.replace('\'', "''"));
            match Tokenizer::new(&Gingham, &written).tokenize().as_deref() {
                Ok([Token::EscapedStringLiteral(more)]) => text.push_str(more),
                _ => text.push_str(more),
            }
        }
        other => {
            let problem = Problem::new(SqlState::SyntaxError, format!("a text cannot go on behind {other}"));
            return Err(Error::InvalidInput(problem.at(position(part.span.start))));
        }
    }
    before.span.end = part.span.end;
    Ok(())
}

/// Whether tokens stand within the brackets of `OPTIONS ('key' 'value')`.
#[derive(Default)]
struct Options {
    is_next: bool,
    open: usize,
}

impl Options {
    fn next(&mut self, token: &Token) -> bool {
        match token {
            Token::LParen if self.is_next || self.open > 0 => self.open += 1,
            Token::RParen => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.is_next = matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("options"));
        self.open > 0
    }
}
