//! The syntax of `SUMMARIZE t` and `SUMMARIZE SELECT …`, which the parser does not know.

use crate::{Error, Result};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, SetExpr, TableFactor};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

/// SUMMARIZE of a query's rows; a table's are those of `SELECT * FROM t`.
#[derive(Debug, Clone)]
pub(crate) struct Summarize {
    /// The query.
    pub(crate) query: Query,
    /// The name, where one was written instead of a query.
    pub(crate) table: Option<ObjectName>,
}

/// Whether the parser stands at SUMMARIZE.
pub(crate) fn starts(parser: &Parser<'_>) -> bool {
    matches!(
        &parser.peek_nth_token_ref(0).token,
        Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("SUMMARIZE")
    )
}

/// Parses the statement that [`starts`] found; `all` is `SELECT * FROM t` of some table.
pub(crate) fn parse(parser: &mut Parser<'_>, all: Query) -> Result<Summarize> {
    parser.next_token();
    let is_query = match &parser.peek_token_ref().token {
        Token::LParen => true,
        Token::Word(word) => {
            word.quote_style.is_none()
                && matches!(word.keyword, Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::FROM)
        }
        _ => false,
    };
    if is_query {
        let query = *parser.parse_query().map_err(DataFusionError::from)?;
        return Ok(Summarize { query, table: None });
    }
    let relation = parser.parse_table_factor().map_err(DataFusionError::from)?;
    let table = match &relation {
        TableFactor::Table { name, args: None, .. } => Some(name.clone()),
        _ => None,
    };
    Ok(Summarize { query: reading(all, relation)?, table })
}

/// The query with `relation` as the first member of its FROM.
pub(crate) fn reading(mut query: Query, relation: TableFactor) -> Result<Query> {
    if let SetExpr::Select(select) = &mut *query.body
        && let Some(first) = select.from.first_mut()
    {
        first.relation = relation;
        return Ok(query);
    }
    Err(Error::Internal("a SELECT has a FROM".into()))
}
