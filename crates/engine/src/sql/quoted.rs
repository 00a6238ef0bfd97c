//! Names as a statement's text has them, quoted where they must be.

use crate::sql::dialect::Gingham;
use datafusion::sql::sqlparser::ast::{Expr, Ident, Statement as Sql};
use datafusion::sql::sqlparser::keywords::{RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS};
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, Word};
use gingham_storage::{DEFAULT_SCHEMA, TableName};

/// A table's name as SQL takes it, with its schema where that is not the default one.
pub(crate) fn full_name(name: &TableName) -> String {
    if name.schema == DEFAULT_SCHEMA {
        quoted(&name.table)
    } else {
        format!("{}.{}", quoted(&name.schema), quoted(&name.table))
    }
}

/// A name of a table, a column or whatever else has one as SQL takes it, for those who put texts together: bare where the parser
/// takes that for the same name wherever names stand.
///
/// ```
/// assert_eq!(gingham::quoted("price"), "price");
/// assert_eq!(gingham::quoted("Unit price"), "\"Unit price\"");
/// assert_eq!(gingham::quoted("select"), "\"select\"");
/// assert_eq!(gingham::quoted("12\" records"), "\"12\"\" records\"");
/// ```
pub fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain && is_unreserved(name) {
        return name.to_owned();
    }
    Ident::with_quote('"', name).to_string()
}

fn is_unreserved(word: &str) -> bool {
    let reserved =
        |keyword| RESERVED_FOR_COLUMN_ALIAS.contains(&keyword) || RESERVED_FOR_TABLE_ALIAS.contains(&keyword);
    if matches!(Token::make_word(word, None), Token::Word(Word { keyword, .. }) if reserved(keyword)) {
        return false;
    }
    let parse = |sql: &str| Parser::new(&Gingham).try_with_sql(sql);
    let as_value = parse(word).and_then(|mut parser| parser.parse_expr());
    let as_names = Parser::parse_sql(
        &Gingham,
        &format!(
            "CREATE TABLE {word} ({word} INT, CONSTRAINT {word} UNIQUE ({word}), FOREIGN KEY ({word}) REFERENCES {word} ({word}))"
        ),
    );
    let is_table = |statement: &Sql| match statement {
        Sql::CreateTable(table) => table.columns.len() == 1 && table.constraints.len() == 2,
        _ => false,
    };
    matches!(as_value, Ok(Expr::Identifier(ident)) if ident.value == word)
        && as_names.is_ok_and(|statements| statements.first().is_some_and(is_table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_must_be() {
        for name in ["a", "name", "date", "value", "l_orderkey", "_x1"] {
            assert_eq!(quoted(name), name);
        }
        for name in ["playerID", "capital-gain", "order", "2B"] {
            assert_eq!(quoted(name), format!("\"{name}\""), "{name}");
        }
        for name in ["select", "primary", "check", "constraint", "true", "current_date", "Upper", "a b", "1a", ""] {
            assert_eq!(quoted(name), format!("\"{name}\""), "{name}");
        }
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}
