//! The syntax of `ALTER TABLE t SET (…)` and `ALTER TABLE t ALTER COLUMN c SET (…)`, which the parser does not know.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName, SqlOption};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// ALTER TABLE that changes a table's design.
#[derive(Debug, Clone)]
pub(crate) struct AlterDesign {
    /// The table.
    pub(crate) table: ObjectName,
    /// IF EXISTS.
    pub(crate) if_exists: bool,
    /// What to change, in order.
    pub(crate) changes: Vec<DesignChange>,
}

/// One SET.
#[derive(Debug, Clone)]
pub(crate) struct DesignChange {
    /// The column that is changed; `None` for the table.
    pub(crate) column: Option<Ident>,
    /// Names and values.
    pub(crate) options: Vec<SqlOption>,
}

/// Whether the parser stands at an ALTER TABLE whose first change is SET (…).
pub(crate) fn starts(parser: &Parser<'_>) -> bool {
    let token = |position| &parser.peek_nth_token_ref(position).token;
    let keyword = |position, wanted: Keyword| matches!(token(position), Token::Word(word) if word.quote_style.is_none() && word.keyword == wanted);
    if !keyword(0, Keyword::ALTER) || !keyword(1, Keyword::TABLE) {
        return false;
    }
    let mut next = if keyword(2, Keyword::IF) && keyword(3, Keyword::EXISTS) { 4 } else { 2 };
    while matches!(token(next), Token::Word(_)) && *token(next + 1) == Token::Period {
        next += 2;
    }
    next += 1;
    if keyword(next, Keyword::ALTER) {
        next += if keyword(next + 1, Keyword::COLUMN) { 3 } else { 2 };
    }
    keyword(next, Keyword::SET) && *token(next + 1) == Token::LParen
}

/// Parses the statement that [`starts`] found.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Result<AlterDesign, ParserError> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::TABLE])?;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let table = parser.parse_object_name(false)?;
    let changes = parser.parse_comma_separated(|parser| {
        let column = match parser.parse_keyword(Keyword::ALTER) {
            true => {
                let _ = parser.parse_keyword(Keyword::COLUMN);
                Some(parser.parse_identifier()?)
            }
            false => None,
        };
        let options = parser.parse_options(Keyword::SET)?;
        if options.is_empty() {
            return parser.expected_ref("SET (…), which goes with no other change", parser.peek_token_ref());
        }
        Ok(DesignChange { column, options })
    })?;
    Ok(AlterDesign { table, if_exists, changes })
}
