//! `SELECT … INTO t`: CREATE TABLE t AS with that query, as PostgreSQL has it.

use crate::Result;
use crate::sql::names::unsupported;
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use datafusion::sql::sqlparser::ast::{Query, SelectInto, SetExpr, Statement as Sql};

/// The statement that a SELECT with INTO is; any other as it is.
pub(crate) fn as_create(statement: DataFusionStatement) -> Result<DataFusionStatement> {
    let DataFusionStatement::Statement(own) = statement else { return Ok(statement) };
    Ok(DataFusionStatement::Statement(match *own {
        Sql::Query(mut query) => Box::new(match take_into(&mut query) {
            Some(into) => create(into, query)?,
            None => Sql::Query(query),
        }),
        other => Box::new(other),
    }))
}

fn create(into: SelectInto, query: Box<Query>) -> Result<Sql> {
    let SelectInto { temporary, unlogged, table: _, name } = into;
    if unlogged {
        return Err(unsupported("SELECT … INTO UNLOGGED".into()));
    }
    Ok(CreateTableBuilder::new(name).temporary(temporary).query(Some(query)).build().into())
}

/// Takes the INTO of a query's first SELECT out of it.
fn take_into(query: &mut Query) -> Option<SelectInto> {
    let mut body = query.body.as_mut();
    loop {
        body = match body {
            SetExpr::Select(select) => return select.into.take(),
            SetExpr::SetOperation { left, .. } => left.as_mut(),
            _ => return None,
        };
    }
}
