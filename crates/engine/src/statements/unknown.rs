//! The tables that a statement names and nothing has: front ends may know values of their program by these names.

use crate::Result;
use crate::session::StatementContext;
use crate::sql::names::fold;
use crate::sql::parse::Statement;
use crate::sql::walk::{SyntaxTree, Visit};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Query, Statement as Sql, TableFactor};
use std::collections::BTreeSet;

/// Names of one part, as they are written, with their quotes, that stand for no table, view or query of WITH.
pub(crate) async fn unknown_tables(context: &StatementContext, statement: &mut Statement) -> Result<Vec<String>> {
    let Statement::Sql(statement) = statement else { return Ok(Vec::new()) };
    let mut named = NamedRelations::default();
    // Their names are no members of a FROM.
    match statement.as_ref() {
        DataFusionStatement::CopyTo(CopyToStatement { source: CopyToSource::Relation(name), .. }) => named.name(name),
        DataFusionStatement::Statement(tree) => {
            if let Sql::ExplainTable { table_name, .. } = tree.as_ref() {
                named.name(table_name);
            }
        }
        _ => {}
    }
    statement.as_mut().walk(&mut named)?;
    let mut unknown = Vec::new();
    for name in named.tables {
        let folded = fold(&name);
        let text = name.to_string();
        let is_new = !named.with.contains(&folded) && !unknown.contains(&text);
        if is_new && !context.is_known(&folded).await? {
            unknown.push(text);
        }
    }
    Ok(unknown)
}

#[derive(Default)]
struct NamedRelations {
    tables: Vec<Ident>,
    /// What WITH defines, anywhere.
    with: BTreeSet<String>,
}

impl NamedRelations {
    fn name(&mut self, name: &ObjectName) {
        if let [part] = name.0.as_slice() {
            self.tables.extend(part.as_ident().cloned());
        }
    }
}

impl Visit for NamedRelations {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        self.with.extend(with.map(|own| fold(&own.alias.name)));
        Ok(())
    }

    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        if let TableFactor::Table { name, args: None, .. } = table {
            self.name(name);
        }
        Ok(())
    }
}
