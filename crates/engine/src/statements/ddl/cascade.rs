//! What depends on what DROP removes: views on tables and views that their queries name, REFERENCES on the tables that they refer to.

use crate::session::{Severity, StatementContext};
use crate::sql::names::fold;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::statements::ddl::view_names::named;
use crate::statements::query_of_view;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{Query, TableFactor};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{SqlState, TableDefinition, TableName};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What goes with what is dropped.
#[derive(Debug, Default)]
pub(crate) struct Dependents {
    /// Views, those that others need last.
    pub(crate) views: Vec<TableName>,
    /// Constraints of tables that stay: the table's name, and the constraint's.
    pub(crate) constraints: Vec<(TableName, String)>,
}

/// The names of a query's tables.
#[derive(Default)]
struct DependencyNames {
    tables: BTreeSet<TableName>,
    /// What WITH defines, anywhere.
    with: BTreeSet<String>,
}

impl Visit for DependencyNames {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        self.with.extend(with.map(|own| fold(&own.alias.name)));
        Ok(())
    }

    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        self.tables.extend(named(table, &self.with));
        Ok(())
    }
}

/// The tables and views that a view's query names; none of one that can't be read any more.
fn named_in(query: &str) -> BTreeSet<TableName> {
    let mut named = DependencyNames::default();
    if let Ok(mut query) = query_of_view(query) {
        // It has no parts that a walk refuses.
        drop(query.walk(&mut named));
    }
    named.tables
}

impl Dependents {
    /// What depends on tables and views that are to go, and does not go itself.
    pub(crate) fn of(snapshot: &Snapshot, going: &[TableName]) -> Self {
        let mut all: BTreeSet<TableName> = going.iter().cloned().collect();
        let mut views: Vec<TableName> = Vec::new();
        let named: Vec<(&TableName, BTreeSet<TableName>)> =
            snapshot.views.iter().map(|(name, view)| (name, named_in(&view.query))).collect();
        loop {
            let needs = |(name, tables): &&(&TableName, BTreeSet<TableName>)| {
                !all.contains(*name) && tables.iter().any(|table| all.contains(table))
            };
            let Some((name, _)) = named.iter().find(needs) else { break };
            views.insert(0, (*name).clone());
            all.insert((*name).clone());
        }
        let ids: Vec<u64> = going.iter().filter_map(|name| snapshot.definition(name)).map(|table| table.id).collect();
        let mut constraints = Vec::new();
        for (name, table) in snapshot.definitions().filter(|(name, _)| !going.contains(name)) {
            let own = table.references.iter().filter(|reference| ids.contains(&reference.table));
            constraints.extend(own.map(|reference| (name.clone(), reference.name.clone())));
        }
        Self { views, constraints }
    }

    /// In words, one for each.
    fn words(&self) -> Vec<String> {
        let views = self.views.iter().rev().map(|view| format!("view '{view}'"));
        let constraints =
            self.constraints.iter().map(|(table, name)| format!("constraint '{name}' of table '{table}'"));
        views.chain(constraints).collect()
    }

    /// Refuses to drop something that others depend on; with `cascade` it says what goes with it.
    pub(crate) fn require(&self, context: &StatementContext, what: &str, cascade: bool) -> Result<()> {
        let words = self.words();
        match words.as_slice() {
            [] => Ok(()),
            words if !cascade => Err(still_needed(what, words)),
            [one] => {
                context.say(Severity::Notice, SqlState::SuccessfulCompletion, format!("drop cascades to {one}"));
                Ok(())
            }
            words => {
                let text = format!("drop cascades to {} other objects: {}", words.len(), words.join(", "));
                context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
                Ok(())
            }
        }
    }

    /// The definitions of the tables that stay, without the constraints that go.
    pub(crate) fn without_constraints(&self, snapshot: &Snapshot) -> Vec<TableDefinition> {
        let mut tables: Vec<Arc<TableDefinition>> = Vec::new();
        for (name, _) in &self.constraints {
            let known = tables.iter().any(|table| table.name == *name);
            tables.extend(snapshot.definition(name).filter(|_| !known).cloned());
        }
        let without = |table: Arc<TableDefinition>| {
            let mut after = (*table).clone();
            let goes = |constraint: &String| {
                self.constraints.iter().any(|(name, own)| *name == after.name && own == constraint)
            };
            after.references.retain(|reference| !goes(&reference.name));
            after
        };
        tables.into_iter().map(without).collect()
    }
}

/// The error that something can't go, since others need it.
pub(crate) fn still_needed(what: &str, dependents: &[String]) -> Error {
    let (depend, them) = if dependents.len() == 1 { ("depends", "it") } else { ("depend", "them") };
    Error::constraint(
        SqlState::DependentObjectsStillExist,
        format!("{what} can't be dropped: {} {depend} on it; CASCADE drops {them} too", dependents.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_a_query() {
        let query =
            "WITH w AS (SELECT * FROM s.t) SELECT (SELECT max(a) FROM \"U\"), w.* FROM w, generate_series(1, 2)";
        let named: Vec<String> = named_in(query).iter().map(ToString::to_string).collect();
        assert_eq!(named, ["U", "s.t"]);
    }
}
