//! Words, names and values of a statement, one after the other.

use crate::sql::names::fold;
use crate::sql::places::position;
use crate::{Error, Result};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::{ObjectName, Query};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use gingham_storage::{Problem, SqlState};

/// Reads the tokens of one statement.
pub(super) struct Reader<'p, 't> {
    parser: &'p mut Parser<'t>,
}

impl<'p, 't> Reader<'p, 't> {
    pub(super) fn of(parser: &'p mut Parser<'t>) -> Self {
        Self { parser }
    }

    /// The word that stands `ahead` words from here, in capitals; nothing for what is no word or is quoted.
    pub(super) fn word(&self, ahead: usize) -> String {
        match &self.parser.peek_nth_token_ref(ahead).token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
            _ => String::new(),
        }
    }

    /// Whether a bracket opens `ahead` tokens from here.
    pub(super) fn is_bracket(&self, ahead: usize) -> bool {
        self.parser.peek_nth_token_ref(ahead).token == Token::LParen
    }

    /// Passes over one token.
    pub(super) fn take(&mut self) {
        self.parser.next_token();
    }

    /// Passes over the word, if that is next.
    pub(super) fn eat(&mut self, word: &str) -> bool {
        let found = self.word(0) == word;
        if found {
            self.take();
        }
        found
    }

    /// Passes over the words, if they are next.
    pub(super) fn eat_all(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(at, word)| self.word(at) == *word);
        if found {
            words.iter().for_each(|_| self.take());
        }
        found
    }

    /// Passes over the word; any other is an error.
    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.eat(word) { Ok(()) } else { Err(self.expected(word)) }
    }

    /// Passes over a symbol such as `,`, if that is next.
    pub(super) fn eat_symbol(&mut self, symbol: &str) -> bool {
        let token = &self.parser.peek_token_ref().token;
        let found =
            !matches!(token, Token::Word(_) | Token::SingleQuotedString(_) | Token::EOF) && token.to_string() == symbol;
        if found {
            self.take();
        }
        found
    }

    /// Whether the statement ends here.
    pub(super) fn is_at_end(&self) -> bool {
        matches!(self.parser.peek_token_ref().token, Token::EOF | Token::SemiColon)
    }

    /// A name, folded unless it is quoted.
    pub(super) fn name(&mut self, what: &str) -> Result<String> {
        match &self.parser.peek_token_ref().token {
            Token::Word(word) => {
                let name = fold(&word.clone().into_ident(self.parser.peek_token_ref().span));
                self.take();
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// The name of a table, with its schema perhaps.
    pub(super) fn object_name(&mut self) -> Result<ObjectName> {
        self.parser.parse_object_name(false).map_err(of_parser)
    }

    /// A query up to the end of the statement.
    pub(super) fn query(&mut self) -> Result<Query> {
        Ok(*self.parser.parse_query().map_err(of_parser)?)
    }

    /// A whole number, with a sign perhaps, if one is next.
    pub(super) fn integer(&mut self) -> Result<Option<i64>> {
        let signed = ["-", "+"].into_iter().find(|sign| self.eat_symbol(sign));
        let token = self.parser.peek_token_ref().token.clone();
        let Token::Number(digits, _) = token else {
            return if signed.is_some() { Err(self.expected("a number")) } else { Ok(None) };
        };
        let number = format!("{}{digits}", signed.filter(|sign| *sign == "-").unwrap_or_default());
        let number = number.parse().map_err(|_| self.expected("a whole number"))?;
        self.take();
        Ok(Some(number))
    }

    /// A value of a setting: a text, a number or a word. The second tells a word or name, which a list quotes where needed.
    pub(super) fn value(&mut self) -> Result<(String, bool)> {
        let sign = if self.eat_symbol("-") { "-" } else { "" };
        self.eat_symbol("+");
        let (value, is_name) = match self.parser.peek_token_ref().token.clone() {
            Token::Number(digits, _) => (format!("{sign}{digits}"), false),
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) if sign.is_empty() => (text, true),
            Token::DollarQuotedString(text) if sign.is_empty() => (text.value, true),
            Token::Word(word) if sign.is_empty() => {
                let span = self.parser.peek_token_ref().span;
                (fold(&word.into_ident(span)), true)
            }
            _ => return Err(self.expected("a value")),
        };
        self.take();
        Ok((value, is_name))
    }

    /// Passes over what stands in brackets, if they open here.
    pub(super) fn skip_brackets(&mut self) {
        let mut depth = 0;
        loop {
            match self.parser.peek_token_ref().token {
                Token::LParen => depth += 1,
                Token::RParen if depth > 0 => depth -= 1,
                Token::EOF | Token::SemiColon => return,
                _ if depth == 0 => return,
                _ => {}
            }
            self.take();
            if depth == 0 {
                return;
            }
        }
    }

    /// "expected a value, found ;".
    pub(super) fn expected(&self, what: &str) -> Error {
        let found = self.parser.peek_token_ref();
        let problem = match found.token {
            Token::EOF => Problem::new(SqlState::SyntaxError, format!("expected {what}, found: EOF")),
            _ => Problem::new(SqlState::SyntaxError, format!("expected {what}, found: {found}")),
        };
        Error::InvalidInput(problem.at(position(found.span.start)))
    }
}

/// The error of a statement that is written wrongly.
pub(super) fn wrong(text: impl Into<String>) -> Error {
    Error::InvalidInput(Problem::new(SqlState::SyntaxError, text))
}

fn of_parser(error: ParserError) -> Error {
    DataFusionError::from(error).into()
}
