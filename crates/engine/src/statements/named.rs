//! The tables that a statement names, and whether there are such: front ends may know values of their program by these names.

use crate::Result;
use crate::session::StatementContext;
use crate::sql::names::fold;
use crate::sql::parse::Statement;
use crate::sql::walk::{SyntaxTree, Visit};
use datafusion::catalog::SchemaProvider;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Query, Statement as Sql, TableFactor};
use std::collections::BTreeSet;

/// Names of one part, as they are written, with their quotes, that stand for no query of WITH: where `exists` says so, those of tables
/// and views of the database, else those that nothing has.
pub(crate) async fn named_tables(
    context: &StatementContext,
    statement: &mut Statement,
    exists: bool,
) -> Result<Vec<String>> {
    let mut named = NamedRelations::default();
    match statement {
        Statement::Sql(statement) => {
            // Their names are no members of a FROM.
            match statement.as_ref() {
                DataFusionStatement::CopyTo(CopyToStatement { source: CopyToSource::Relation(name), .. }) => {
                    named.name(name);
                }
                DataFusionStatement::Statement(tree) => {
                    if let Sql::ExplainTable { table_name, .. } = tree.as_ref() {
                        named.name(table_name);
                    }
                }
                _ => {}
            }
            statement.as_mut().walk(&mut named)?;
        }
        Statement::Summarize(summarize) => summarize.query.walk(&mut named)?,
        _ => return Ok(Vec::new()),
    }
    let mut found = Vec::new();
    for name in named.tables {
        let folded = fold(&name);
        let text = name.to_string();
        if named.with.contains(&folded) || found.contains(&text) {
            continue;
        }
        // What the program has registered is its own.
        let is_wanted = match exists {
            true => context.is_known(&folded).await? && !context.session.externals.table_exist(&folded),
            false => !context.is_known(&folded).await?,
        };
        if is_wanted {
            found.push(text);
        }
    }
    Ok(found)
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
