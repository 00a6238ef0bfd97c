//! Names of sequences as texts have them, which nextval and its like are given.

use crate::sql::dialect::Gingham;
use crate::sql::names::fold;
use crate::{Error, Result};
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;
use gingham_storage::SqlState;

/// The names in a text, as an SQL name is written.
pub(crate) fn names_in(text: &str) -> Result<Vec<String>> {
    let wrong = || Error::invalid(SqlState::InvalidName, format!("'{text}' is no name, as SQL writes one"));
    let mut parser = Parser::new(&Gingham).try_with_sql(text).map_err(|_| wrong())?;
    let name = parser.parse_object_name(false).map_err(|_| wrong())?;
    if parser.peek_token_ref().token != Token::EOF {
        return Err(wrong());
    }
    name.0.iter().map(|part| part.as_ident().map(fold).ok_or_else(wrong)).collect()
}
