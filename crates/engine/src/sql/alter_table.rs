//! ALTER TABLE … ALTER COLUMN … TYPE … USING and RENAME CONSTRAINT, which the parser takes in PostgreSQL's dialect alone.

use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// The tokens of the statement that the parser stands at.
fn tokens(parser: &Parser<'_>) -> Vec<TokenWithSpan> {
    let token = |at: usize| parser.peek_nth_token_ref(at);
    let inside = |at: &usize| !matches!(token(*at).token, Token::EOF | Token::SemiColon);
    (0..).take_while(inside).map(|at| token(at).clone()).collect()
}

/// Whether the parser stands at such a statement.
pub(crate) fn starts(parser: &Parser<'_>) -> bool {
    if !is_word(&parser.peek_nth_token_ref(0).token, "ALTER") || !is_word(&parser.peek_nth_token_ref(1).token, "TABLE")
    {
        return false;
    }
    let tokens = tokens(parser);
    let renames =
        tokens.windows(2).any(|pair| is_word(&pair[0].token, "RENAME") && is_word(&pair[1].token, "CONSTRAINT"));
    renames
        || (tokens.iter().any(|token| is_word(&token.token, "TYPE"))
            && tokens.iter().any(|token| is_word(&token.token, "USING")))
}

/// Parses the statement that [`starts`] found.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    let mut tokens = tokens(parser);
    let number = tokens.len();
    let end = parser.peek_nth_token_ref(number).span;
    tokens.push(TokenWithSpan { token: Token::EOF, span: end });
    let mut own = Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(tokens);
    let statement = own.parse_statement()?;
    if own.peek_token_ref().token != Token::EOF {
        return own.expected_ref("the end of the statement", own.peek_token_ref());
    }
    (0..number).for_each(|_| {
        parser.next_token();
    });
    Ok(statement)
}

#[cfg(test)]
mod tests {
    use crate::sql::parse::{Statement, parse};

    #[test]
    fn what_one_dialect_alone_takes() {
        let sql = "ALTER TABLE t ALTER a TYPE DATE USING a::date, ALTER b SET NOT NULL; ALTER TABLE t RENAME CONSTRAINT a TO b; SELECT 1";
        let statements = parse(sql).unwrap();
        assert_eq!(statements.len(), 3);
        assert!(statements.iter().all(|statement| matches!(statement, Statement::Sql(_))));
        assert!(parse("ALTER TABLE t ALTER a TYPE DATE USING").is_err());
    }
}
