//! Names within a view's query: it is kept as a text, and means the same whatever `search_path` a session has.

use crate::Result;
use crate::session::StatementContext;
use crate::sql::names::fold;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::statements::table_reference;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Query, TableFactor};
use gingham_storage::{DEFAULT_SCHEMA, TableName};
use std::collections::BTreeSet;

/// Gives names without a schema that of what they mean to the statement.
pub(super) fn qualify(context: &StatementContext, query: &mut Query) -> Result<()> {
    if !context.session.has_search_path() {
        return Ok(());
    }
    let defined = defined_by_with(query)?;
    query.walk(&mut Qualified { context, defined })
}

/// The names that a WITH defines, anywhere in a query.
pub(super) fn defined_by_with(query: &mut Query) -> Result<BTreeSet<String>> {
    let mut defined = DefinedByWith::default();
    query.walk(&mut defined)?;
    Ok(defined.0)
}

/// The relation that a member of FROM names; `None` for a query of a WITH, a function, a query in brackets.
pub(super) fn named(table: &TableFactor, with: &BTreeSet<String>) -> Option<TableName> {
    let TableFactor::Table { name, args: None, .. } = table else { return None };
    let mut parts: Vec<String> = name.0.iter().filter_map(|part| part.as_ident().map(fold)).collect();
    let table = parts.pop()?;
    let schema = parts.pop();
    let is_kept = schema.is_some() || !with.contains(&table);
    is_kept.then(|| TableName { schema: schema.unwrap_or_else(|| DEFAULT_SCHEMA.to_owned()), table })
}

#[derive(Default)]
struct DefinedByWith(BTreeSet<String>);

impl Visit for DefinedByWith {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        let own = query.with.iter().flat_map(|with| &with.cte_tables);
        self.0.extend(own.map(|cte| fold(&cte.alias.name)));
        Ok(())
    }
}

struct Qualified<'c> {
    context: &'c StatementContext,
    defined: BTreeSet<String>,
}

impl Visit for Qualified<'_> {
    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        let TableFactor::Table { name, args: None, .. } = table else { return Ok(()) };
        let [part] = name.0.as_slice() else { return Ok(()) };
        let Some(ident) = part.as_ident().filter(|ident| !self.defined.contains(&fold(ident))) else { return Ok(()) };
        let ident = ident.clone();
        let meant = self.context.name(&table_reference(name)?)?;
        let exists = self.context.snapshot.has_table(&meant) || self.context.snapshot.views.contains_key(&meant);
        if exists && meant.schema != DEFAULT_SCHEMA {
            *name = ObjectName::from(vec![Ident::with_quote('"', meant.schema), ident]);
        }
        Ok(())
    }
}
