//! COPY: a table from a file, or a table or query to a file. Options are taken in the spelling of DataFusion
//! (`STORED AS CSV OPTIONS ('format.has_header' 'true')`), Postgres and DuckDB (`(FORMAT csv, HEADER true)`).

use crate::sql::depth;
use crate::sql::parse::Statement;
use crate::{Error, Result};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Value};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use gingham_storage::SqlState;

/// COPY t FROM 'file'.
#[derive(Debug, Clone)]
pub(crate) struct CopyFrom {
    /// The table.
    pub(crate) table: ObjectName,
    /// Columns that the file's columns fill, in order; empty for all.
    pub(crate) columns: Vec<Ident>,
    /// Where the records come from.
    pub(crate) from: CopyPlace,
    /// Options, names in lower case.
    pub(crate) options: Vec<(String, String)>,
}

/// The other end of a COPY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyPlace {
    /// A file of this machine.
    File(String),
    /// STDIN or STDOUT: a stream of whoever runs the statement.
    Stream,
}

/// The target of a COPY TO STDOUT until it has a file.
pub(crate) const STDOUT: &str = "STDOUT";

/// Whether the parser stands at COPY.
pub(crate) fn starts(parser: &Parser<'_>) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(word) if word.keyword == Keyword::COPY)
}

/// Parses COPY in either direction.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Result<Statement> {
    parse_copy(parser).map_err(|error| Error::invalid(SqlState::SyntaxError, format!("COPY: {}", text(error))))?
}

fn text(error: ParserError) -> String {
    match error {
        ParserError::ParserError(text) | ParserError::TokenizerError(text) => text,
        other => other.to_string(),
    }
}

fn parse_copy(parser: &mut Parser<'_>) -> Result<Result<Statement>, ParserError> {
    parser.expect_keyword(Keyword::COPY)?;
    let source = if parser.consume_token(&Token::LParen) {
        let mut query = parser.parse_query()?;
        parser.expect_token(&Token::RParen)?;
        if let Err(error) = depth::limit(query.as_mut()) {
            return Ok(Err(error));
        }
        CopyToSource::Query(query)
    } else {
        CopyToSource::Relation(parser.parse_object_name(true)?)
    };
    let columns = match &source {
        CopyToSource::Relation(_) if parser.consume_token(&Token::LParen) => {
            let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
            columns
        }
        _ => Vec::new(),
    };
    let from = match parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::TO]) {
        Some(Keyword::FROM) => true,
        Some(_) => false,
        None => return parser.expected_ref("FROM or TO", parser.peek_token_ref()),
    };
    if parser.parse_keyword(Keyword::PROGRAM) {
        return Ok(Err(Error::Unsupported("COPY with PROGRAM is not supported, only with a file or a stream".into())));
    }
    let stream = if from { Keyword::STDIN } else { Keyword::STDOUT };
    let place = match parser.parse_keyword(stream) {
        true => CopyPlace::Stream,
        false => CopyPlace::File(parser.parse_literal_string()?),
    };
    let mut stored_as = None;
    let mut partitioned_by = Vec::new();
    let mut options = Vec::new();
    loop {
        if parser.parse_keywords(&[Keyword::STORED, Keyword::AS]) {
            stored_as = Some(parser.next_token().to_string().to_ascii_uppercase());
        } else if parser.parse_keywords(&[Keyword::PARTITIONED, Keyword::BY]) {
            parser.expect_token(&Token::LParen)?;
            let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
            partitioned_by = columns.iter().map(crate::sql::names::fold).collect();
            parser.expect_token(&Token::RParen)?;
        } else if parser.peek_token_ref().token == Token::LParen
            || parser.parse_one_of_keywords(&[Keyword::WITH, Keyword::OPTIONS]).is_some()
        {
            options.extend(parse_options(parser)?);
        } else {
            break;
        }
    }
    if let Some(position) = options.iter().position(|(name, _)| name == "format") {
        let (_, format) = options.remove(position);
        if stored_as.replace(format.to_ascii_uppercase()).is_some() {
            return Ok(Err(Error::invalid(SqlState::SyntaxError, "COPY: the format is given twice")));
        }
    }
    Ok(match (from, source) {
        (true, CopyToSource::Relation(table)) if partitioned_by.is_empty() => {
            options.extend(stored_as.map(|format| ("format".to_owned(), format.to_ascii_lowercase())));
            Ok(Statement::CopyFrom(Box::new(CopyFrom { table, columns, from: place, options })))
        }
        (true, CopyToSource::Relation(_)) => {
            Err(Error::Unsupported("COPY FROM with PARTITIONED BY is not supported".into()))
        }
        (true, CopyToSource::Query(_)) => {
            Err(Error::invalid(SqlState::SyntaxError, "COPY can't load into a query, only a table"))
        }
        (false, _) if !columns.is_empty() => {
            Err(Error::Unsupported("COPY t (columns) TO is not supported; use COPY (SELECT columns FROM t) TO".into()))
        }
        (false, source) => match place {
            CopyPlace::File(file) => {
                let copy = to_statement(source, file, stored_as, partitioned_by, options);
                Ok(Statement::Sql(Box::new(DataFusionStatement::CopyTo(copy))))
            }
            CopyPlace::Stream if !partitioned_by.is_empty() => {
                Err(Error::Unsupported("COPY TO STDOUT with PARTITIONED BY is not supported".into()))
            }
            CopyPlace::Stream => {
                let stored_as = stored_as.or_else(|| Some("CSV".to_owned()));
                let copy = to_statement(source, STDOUT.to_owned(), stored_as, partitioned_by, options);
                Ok(Statement::CopyOut(Box::new(copy)))
            }
        },
    })
}

/// `(name value, name = value, name, …)`, with or without the brackets' content quoted.
fn parse_options(parser: &mut Parser<'_>) -> Result<Vec<(String, String)>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let mut options = Vec::new();
    while parser.peek_token_ref().token != Token::RParen {
        let mut name = option_word(parser)?;
        while parser.consume_token(&Token::Period) {
            name = format!("{name}.{}", option_word(parser)?);
        }
        let _ = parser.consume_token(&Token::Eq) || parser.consume_token(&Token::Colon);
        let value = match parser.peek_token_ref().token {
            Token::Comma | Token::RParen => "true".to_owned(),
            Token::LParen => option_list(parser)?,
            _ => option_word(parser)?,
        };
        options.push((name.to_ascii_lowercase(), value));
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    Ok(options)
}

/// `(a, b)` as `a,b`.
fn option_list(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let words = parser.parse_comma_separated(option_word)?;
    parser.expect_token(&Token::RParen)?;
    Ok(words.join(","))
}

fn option_word(parser: &mut Parser<'_>) -> Result<String, ParserError> {
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

/// COPY … TO as DataFusion has it, with its options as they were given.
fn to_statement(
    source: CopyToSource,
    target: String,
    stored_as: Option<String>,
    partitioned_by: Vec<String>,
    options: Vec<(String, String)>,
) -> CopyToStatement {
    let options = options.into_iter().map(|(name, value)| (name, Value::SingleQuotedString(value))).collect();
    CopyToStatement { source, target, partitioned_by, stored_as, options }
}
