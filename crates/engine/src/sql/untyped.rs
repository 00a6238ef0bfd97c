//! `CREATE TABLE t (a, b) AS …`: column names without types, which the parser knows of one dialect only.

use datafusion::sql::sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use datafusion::sql::sqlparser::ast::{ColumnDef, CreateTableOptions, DataType, Ident, Statement};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// Whether the parser stands at CREATE TABLE with a list of names alone.
pub(crate) fn starts(parser: &Parser<'_>) -> bool {
    let token = |position| &parser.peek_nth_token_ref(position).token;
    let is_word = |position, word: &str| matches!(token(position), Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word));
    let mut next = 0;
    let mut skip = |words: &[&str]| {
        let all = words.iter().enumerate().all(|(offset, word)| is_word(next + offset, word));
        if all {
            next += words.len();
        }
        all
    };
    if !skip(&["CREATE"]) {
        return false;
    }
    skip(&["OR", "REPLACE"]);
    let _ = skip(&["TEMP"]) || skip(&["TEMPORARY"]);
    if !skip(&["TABLE"]) {
        return false;
    }
    skip(&["IF", "NOT", "EXISTS"]);
    while matches!(token(next), Token::Word(_)) && *token(next + 1) == Token::Period {
        next += 2;
    }
    if !matches!(token(next), Token::Word(_)) || *token(next + 1) != Token::LParen {
        return false;
    }
    next += 2;
    loop {
        match (token(next), token(next + 1)) {
            (Token::Word(_), Token::Comma) => next += 2,
            (Token::Word(_), Token::RParen) => return true,
            _ => return false,
        }
    }
}

/// Parses the statement that [`starts`] found.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
    parser.expect_keyword(Keyword::TABLE)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    parser.expect_token(&Token::LParen)?;
    let names = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_token(&Token::RParen)?;
    let columns: Vec<ColumnDef> = names.into_iter().map(without_type).collect();
    let options = parser.parse_options(Keyword::WITH)?;
    let options = if options.is_empty() { CreateTableOptions::None } else { CreateTableOptions::With(options) };
    let query = if parser.parse_keyword(Keyword::AS) { Some(parser.parse_query()?) } else { None };
    Ok(CreateTableBuilder::new(name)
        .or_replace(or_replace)
        .temporary(temporary)
        .if_not_exists(if_not_exists)
        .columns(columns)
        .table_options(options)
        .query(query)
        .build()
        .into())
}

fn without_type(name: Ident) -> ColumnDef {
    ColumnDef { name, data_type: DataType::Unspecified, options: Vec::new() }
}
