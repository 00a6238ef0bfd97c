//! COPY: a table from a file or a stream, or a table or query to one. Options are taken in the spelling of PostgreSQL, of today
//! (`(FORMAT csv, HEADER true)`) and of old (`WITH CSV HEADER`), DuckDB (the same with other names) and DataFusion
//! (`STORED AS CSV OPTIONS ('format.has_header' 'true')`).

use crate::sql::copy_feed::CopyFeed;
use crate::sql::copy_options::{CopyOption, CopyValue, listed, old};
use crate::sql::depth;
use crate::sql::parse::{Statement, all_of};
use crate::{Error, Result};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{Expr, Ident, ObjectName, Query, SelectItem, SetExpr, Value};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use gingham_storage::SqlState;

/// COPY t FROM 'file' or STDIN.
#[derive(Debug, Clone)]
pub(crate) struct CopyFrom {
    /// The table.
    pub(crate) table: ObjectName,
    /// Columns that the file's columns fill, in order; empty for all.
    pub(crate) columns: Vec<Ident>,
    /// Where the records come from.
    pub(crate) from: CopyPlace,
    /// The options, the format among them.
    pub(crate) options: Vec<CopyOption>,
    /// The bytes of a stream, where whoever runs the statement has one.
    pub(crate) feed: Option<CopyFeed>,
}

/// COPY … TO STDOUT.
#[derive(Debug, Clone)]
pub(crate) struct CopyToStream {
    /// What is written.
    pub(crate) source: CopyToSource,
    /// The columns of a table that are, in order; empty for all.
    pub(crate) columns: Vec<Ident>,
    /// The options, the format among them.
    pub(crate) options: Vec<CopyOption>,
    /// Whoever runs the statement takes its rows, and writes them as the options say.
    pub(crate) is_taken: bool,
}

/// The other end of a COPY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyPlace {
    /// A file of this machine.
    File(String),
    /// STDIN or STDOUT: a stream of whoever runs the statement.
    Stream,
}

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
    let is_binary = is_word(parser, "binary")
        && !matches!(parser.peek_nth_token_ref(1).token, Token::Word(ref next) if is_direction(next.keyword));
    if is_binary {
        parser.next_token();
    }
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
    // PostgreSQL takes either word for either direction.
    let place = match parser.parse_one_of_keywords(&[Keyword::STDIN, Keyword::STDOUT]) {
        Some(_) => CopyPlace::Stream,
        None => CopyPlace::File(parser.parse_literal_string()?),
    };
    let (options, partitioned_by) = match parse_options(parser, is_binary)? {
        Ok(parsed) => parsed,
        Err(error) => return Ok(Err(error)),
    };
    if parser.parse_keyword(Keyword::WHERE) {
        return Ok(Err(Error::Unsupported(
            "COPY … WHERE is not supported; copy into a TEMP table, and INSERT what is wanted of it".into(),
        )));
    }
    Ok(match (from, source) {
        (true, CopyToSource::Relation(table)) if partitioned_by.is_empty() => {
            Ok(Statement::CopyFrom(Box::new(CopyFrom { table, columns, from: place, options, feed: None })))
        }
        (true, CopyToSource::Relation(_)) => {
            Err(Error::Unsupported("COPY FROM with PARTITIONED BY is not supported".into()))
        }
        (true, CopyToSource::Query(_)) => {
            Err(Error::invalid(SqlState::SyntaxError, "COPY can't load into a query, only a table"))
        }
        (false, source) => match place {
            CopyPlace::File(file) => to_file(source, &columns, file, partitioned_by, options),
            CopyPlace::Stream if !partitioned_by.is_empty() => {
                Err(Error::Unsupported("COPY TO STDOUT with PARTITIONED BY is not supported".into()))
            }
            CopyPlace::Stream => {
                let copy = CopyToStream { source, columns, options, is_taken: false };
                Ok(Statement::CopyOut(Box::new(copy)))
            }
        },
    })
}

/// Whether a word without quotes comes next.
fn is_word(parser: &Parser<'_>, wanted: &str) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

fn is_direction(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::FROM | Keyword::TO)
}

/// The options, and the columns of PARTITIONED BY.
type ParsedOptions = (Vec<CopyOption>, Vec<String>);

fn parse_options(parser: &mut Parser<'_>, is_binary: bool) -> Result<Result<ParsedOptions>, ParserError> {
    let (mut options, mut partitioned_by) = (Vec::new(), Vec::new());
    if is_binary {
        options.push(CopyOption::new("format", CopyValue::Text("binary".into())));
    }
    loop {
        if parser.parse_keywords(&[Keyword::STORED, Keyword::AS]) {
            let format = parser.next_token().to_string().to_ascii_lowercase();
            options.push(CopyOption::new("format", CopyValue::Text(format)));
        } else if parser.parse_keywords(&[Keyword::PARTITIONED, Keyword::BY]) {
            parser.expect_token(&Token::LParen)?;
            let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
            partitioned_by = columns.iter().map(crate::sql::names::fold).collect();
            parser.expect_token(&Token::RParen)?;
        } else if parser.peek_token_ref().token == Token::LParen
            || parser.parse_one_of_keywords(&[Keyword::WITH, Keyword::OPTIONS]).is_some()
        {
            match parser.peek_token_ref().token {
                Token::LParen => options.extend(listed(parser)?),
                _ => options.extend(old(parser)?),
            }
        } else {
            match old(parser)? {
                own if own.is_empty() => break,
                own => options.extend(own),
            }
        }
    }
    let twice = (1..options.len()).find(|at| options[..*at].iter().any(|known| known.name == options[*at].name));
    if let Some(twice) = twice {
        let text = format!("COPY: the option '{}' is given twice", options[twice].name);
        return Ok(Err(Error::invalid(SqlState::SyntaxError, text)));
    }
    Ok(Ok((options, partitioned_by)))
}

/// COPY … TO 'file' as DataFusion has it, with its options as they were given.
pub(crate) fn to_file(
    source: CopyToSource,
    columns: &[Ident],
    target: String,
    partitioned_by: Vec<String>,
    mut options: Vec<CopyOption>,
) -> Result<Statement> {
    let source = match source {
        CopyToSource::Relation(table) if !columns.is_empty() => {
            CopyToSource::Query(Box::new(columns_of(&table, columns)?))
        }
        source => source,
    };
    let format = options.iter().position(|option| option.name == "format").map(|at| options.remove(at));
    let stored_as = format.map(|format| format.value.text().to_ascii_uppercase());
    let options = options.into_iter().map(|option| (option.name, Value::SingleQuotedString(option.value.text())));
    let copy = CopyToStatement { source, target, partitioned_by, stored_as, options: options.collect() };
    Ok(Statement::Sql(Box::new(DataFusionStatement::CopyTo(copy))))
}

/// The query of some columns of a table.
pub(crate) fn columns_of(table: &ObjectName, columns: &[Ident]) -> Result<Query> {
    let mut query = all_of(table)?;
    if let SetExpr::Select(select) = &mut *query.body {
        let column = |column: &Ident| SelectItem::UnnamedExpr(Expr::Identifier(column.clone()));
        select.projection = columns.iter().map(column).collect();
    }
    Ok(query)
}
