//! DEFAULTs that ask a sequence: which one they name, and what becomes of them when it gets another name.

use crate::Result;
use crate::sql::dialect::Gingham;
use crate::sql::names::last_part;
use crate::sql::quoted::full_name;
use crate::sql::sequence_names::names_in;
use crate::sql::walk::{SyntaxTree, Visit};
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};
use datafusion::sql::sqlparser::parser::Parser;
use gingham_storage::{DEFAULT_SCHEMA, TableName};

/// The text of a DEFAULT that takes the next value of a sequence, as PostgreSQL writes it.
pub(crate) fn next_of(sequence: &TableName) -> String {
    format!("nextval('{}'::regclass)", full_name(sequence).replace('\'', "''"))
}

/// Calls `see` with the name of each sequence that a text asks.
struct AskedText<F>(F);

impl<F: FnMut(&mut String)> Visit for AskedText<F> {
    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        let Expr::Function(function) = expression else { return Ok(()) };
        let name = last_part(&function.name).map(|ident| ident.value.to_ascii_lowercase());
        if !name.is_some_and(|name| name == "nextval" || name == "currval") {
            return Ok(());
        }
        let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_mut_slice() else { return Ok(()) };
        if let Some(text) = literal(argument) {
            self.0(text);
        }
        Ok(())
    }
}

/// The text that an expression is, perhaps cast.
fn literal(expression: &mut Expr) -> Option<&mut String> {
    match expression {
        Expr::Cast { expr, .. } | Expr::Nested(expr) => literal(expr),
        Expr::Value(value) => match &mut value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The name that a text means.
fn meant(text: &str) -> Option<TableName> {
    let mut parts = names_in(text).ok()?;
    let table = parts.pop()?;
    Some(TableName { schema: parts.pop().unwrap_or_else(|| DEFAULT_SCHEMA.to_owned()), table })
}

fn visited(text: &str, see: impl FnMut(&mut String)) -> Option<String> {
    if !text.to_ascii_lowercase().contains("val") {
        return None;
    }
    let mut parsed = Parser::new(&Gingham).try_with_sql(text).and_then(|mut parser| parser.parse_expr()).ok()?;
    parsed.walk(&mut AskedText(see)).ok()?;
    Some(parsed.to_string())
}

/// Whether a DEFAULT asks that sequence.
pub(crate) fn asks(text: &str, sequence: &TableName) -> bool {
    let mut found = false;
    visited(text, |name| found |= meant(name).as_ref() == Some(sequence));
    found
}

/// A DEFAULT with another name for a sequence that it asks; `None` when it does not.
pub(crate) fn renamed(text: &str, from: &TableName, to: &TableName) -> Option<String> {
    let mut found = false;
    let changed = visited(text, |name| {
        if meant(name).as_ref() == Some(from) {
            (*name, found) = (full_name(to), true);
        }
    });
    changed.filter(|_| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_of_defaults() {
        let name = |table: &str| TableName { schema: "public".into(), table: table.into() };
        assert_eq!(next_of(&name("t_a_seq")), "nextval('t_a_seq'::regclass)");
        assert!(asks("1 + nextval('public.T_A_seq'::regclass)", &name("t_a_seq")));
        assert!(!asks("'nextval(s)'", &name("s")));
        assert_eq!(
            renamed("nextval('s') + currval('u')", &name("s"), &name("Odd")).as_deref(),
            Some("nextval('\"Odd\"') + currval('u')")
        );
        assert_eq!(renamed("nextval('s')", &name("u"), &name("v")), None);
    }
}
