//! Options of COPY: in brackets, and in the older form that PostgreSQL keeps, `CSV HEADER DELIMITER ';'`.

use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// An option as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyOption {
    /// Its name in lower case.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: CopyValue,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyValue {
    /// There is none: it is on.
    Absent,
    /// A word, a number or a text; `*` too.
    Text(String),
    /// Words between brackets.
    List(Vec<String>),
}

impl CopyOption {
    /// An option of that name.
    pub(crate) fn new(name: &str, value: CopyValue) -> Self {
        Self { name: name.to_ascii_lowercase(), value }
    }
}

impl CopyValue {
    /// The value as one text: `true` for none, and a list with commas.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Absent => "true".to_owned(),
            Self::Text(text) => text.clone(),
            Self::List(words) => words.join(","),
        }
    }
}

/// `(name value, name = value, name, …)`, with or without the brackets' content quoted.
pub(super) fn listed(parser: &mut Parser<'_>) -> Result<Vec<CopyOption>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let mut options = Vec::new();
    while parser.peek_token_ref().token != Token::RParen {
        let mut name = word(parser)?;
        while parser.consume_token(&Token::Period) {
            name = format!("{name}.{}", word(parser)?);
        }
        let _ = parser.consume_token(&Token::Eq) || parser.consume_token(&Token::Colon);
        let value = match parser.peek_token_ref().token {
            Token::Comma | Token::RParen => CopyValue::Absent,
            Token::LParen => list(parser)?,
            _ => CopyValue::Text(word(parser)?),
        };
        options.push(CopyOption::new(&name, value));
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    Ok(options)
}

/// Options of the older form, as many as there are.
pub(super) fn old(parser: &mut Parser<'_>) -> Result<Vec<CopyOption>, ParserError> {
    let mut options = Vec::new();
    loop {
        let text = |parser: &mut Parser<'_>| {
            let _ = take(parser, "as");
            parser.parse_literal_string().map(CopyValue::Text)
        };
        let word = |word: &str| CopyValue::Text(word.to_owned());
        let (name, value) = match () {
            () if take(parser, "binary") => ("format", word("binary")),
            () if take(parser, "csv") => ("format", word("csv")),
            () if take(parser, "header") => ("header", CopyValue::Absent),
            () if take(parser, "freeze") => ("freeze", CopyValue::Absent),
            () if take(parser, "delimiter") => ("delimiter", text(parser)?),
            () if take(parser, "null") => ("null", text(parser)?),
            () if take(parser, "quote") => ("quote", text(parser)?),
            () if take(parser, "escape") => ("escape", text(parser)?),
            () if take(parser, "encoding") => ("encoding", text(parser)?),
            () if take(parser, "using") => match take(parser, "delimiters") {
                true => ("delimiter", text(parser)?),
                false => return parser.expected_ref("DELIMITERS", parser.peek_token_ref()),
            },
            () if take(parser, "delimiters") => ("delimiter", text(parser)?),
            () if take(parser, "force") => forced(parser)?,
            () => return Ok(options),
        };
        options.push(CopyOption::new(name, value));
    }
}

/// What stands behind FORCE: `QUOTE a, b`, `QUOTE *`, `NOT NULL a, b`, `NULL a, b`.
fn forced(parser: &mut Parser<'_>) -> Result<(&'static str, CopyValue), ParserError> {
    let name = match () {
        () if take(parser, "quote") => "force_quote",
        () if take(parser, "null") => "force_null",
        () if take(parser, "not") && take(parser, "null") => "force_not_null",
        () => return parser.expected_ref("QUOTE, NULL or NOT NULL behind FORCE", parser.peek_token_ref()),
    };
    if name == "force_quote" && parser.consume_token(&Token::Mul) {
        return Ok((name, CopyValue::Text("*".to_owned())));
    }
    let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
    Ok((name, CopyValue::List(columns.iter().map(crate::sql::names::fold).collect())))
}

/// Takes a word, where it comes next.
fn take(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let is_next = matches!(&parser.peek_token_ref().token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted));
    if is_next {
        parser.next_token();
    }
    is_next
}

/// `(a, b)`.
fn list(parser: &mut Parser<'_>) -> Result<CopyValue, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let words = parser.parse_comma_separated(word)?;
    parser.expect_token(&Token::RParen)?;
    Ok(CopyValue::List(words))
}

fn word(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let token = parser.next_token();
    match token.token {
        Token::Word(word) => Ok(word.value),
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) | Token::DoubleQuotedString(text) => {
            Ok(text)
        }
        Token::Number(digits, _) => Ok(digits),
        Token::Mul => Ok("*".to_owned()),
        _ => parser.expected("an option", token),
    }
}
