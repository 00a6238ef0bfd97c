//! Views are kept as texts, and follow what their queries name when that gets another name: `FROM t` becomes `FROM u AS t`, and where
//! columns get other names or go, `FROM t AS t (a, b)` has those that the query knows. Whether a query names a column at all is asked
//! before the column is dropped.

use crate::Result;
use crate::bind::constraint;
use crate::sql::clauses::as_written;
use crate::sql::names::{fold, last_part};
use crate::sql::parse::query_of_view;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::statements::ddl::view_names::{defined_by_with, named};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, ObjectName, ObjectNamePart, Select, SelectItem, SelectItemQualifiedWildcardKind,
    TableAlias, TableAliasColumnDef, TableFactor,
};
use gingham_storage::model::ViewDefinition;
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{DEFAULT_SCHEMA, TableDefinition, TableName};
use std::collections::BTreeSet;

/// The views whose queries name relations that get other names, as they are then.
pub(crate) fn with_relations_renamed(
    snapshot: &Snapshot,
    to: &dyn Fn(&TableName) -> Option<TableName>,
) -> Vec<ViewDefinition> {
    changed(snapshot, &|name, alias| {
        let Some(new) = to(name) else { return false };
        if alias.is_none() {
            *alias = Some(aliased(&name.table));
        }
        *name = new;
        true
    })
}

/// The views whose queries name a table whose columns get other names, or some of which go, as they are then.
pub(crate) fn with_columns_renamed(
    snapshot: &Snapshot,
    before: &TableDefinition,
    after: &TableDefinition,
) -> Vec<ViewDefinition> {
    changed(snapshot, &|name, alias| {
        if *name != before.name {
            return false;
        }
        let given: Vec<String> =
            alias.iter().flat_map(|alias| &alias.columns).map(|column| fold(&column.name)).collect();
        let known = |column: u32| {
            let at = before.columns.iter().position(|own| own.id == column)?;
            Some(given.get(at).unwrap_or(&before.columns[at].name))
        };
        let all: Vec<Option<&String>> = after.columns.iter().map(|column| known(column.id)).collect();
        let mut names: Vec<String> = Vec::with_capacity(all.len());
        for (known, column) in all.iter().zip(&after.columns) {
            // A new column does not get a name that the query knows another one by.
            let is_free = |name: &String| known.is_some() || !all.contains(&Some(name)) && !names.contains(name);
            let own = std::iter::once((*known).unwrap_or(&column.name).clone());
            let numbered = (1..).map(|number| format!("{}_{number}", column.name));
            let name = own.chain(numbered).find(is_free);
            names.extend(name);
        }
        let own = names.iter().zip(&after.columns).rposition(|(name, column)| *name != column.name);
        names.truncate(own.map_or(0, |last| last + 1));
        if names == given {
            return false;
        }
        let columns = names.iter().map(|name| TableAliasColumnDef { name: quoted(name), data_type: None });
        let columns = columns.collect();
        alias.get_or_insert_with(|| aliased(&name.table)).columns = columns;
        true
    })
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

fn aliased(name: &str) -> TableAlias {
    TableAlias { explicit: true, name: quoted(name), columns: Vec::new(), at: None }
}

/// Changes the name and the alias of a member of FROM; false where it is none of those that are meant.
type ChangeMember<'c> = dyn Fn(&mut TableName, &mut Option<TableAlias>) -> bool + 'c;

fn changed(snapshot: &Snapshot, change: &ChangeMember<'_>) -> Vec<ViewDefinition> {
    let mut all = Vec::new();
    for view in snapshot.views.values() {
        // One that can't be read any more names nothing.
        let Ok(mut query) = query_of_view(&view.query) else { continue };
        let Ok(with) = defined_by_with(&mut query) else { continue };
        let mut members = ChangedMembers { with: &with, change, full: Vec::new(), found: false };
        if query.walk(&mut members).is_err() || !members.found {
            continue;
        }
        let full = std::mem::take(&mut members.full);
        if query.walk(&mut BareQualifiers(&full)).is_ok() {
            all.push(ViewDefinition { query: as_written(query.to_string()), ..(**view).clone() });
        }
    }
    all
}

struct ChangedMembers<'c> {
    with: &'c BTreeSet<String>,
    change: &'c ChangeMember<'c>,
    /// The schemas and tables that had no alias before.
    full: Vec<(String, String)>,
    found: bool,
}

impl Visit for ChangedMembers<'_> {
    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        let Some(meant) = named(table, self.with) else { return Ok(()) };
        let TableFactor::Table { name, alias, .. } = table else { return Ok(()) };
        let (mut now, was_bare) = (meant.clone(), alias.is_none());
        if !(self.change)(&mut now, alias) {
            return Ok(());
        }
        self.found = true;
        if was_bare {
            self.full.push((meant.schema.clone(), meant.table.clone()));
        }
        if now != meant {
            let parts = [&now.schema, &now.table].map(|part| ObjectNamePart::Identifier(quoted(part)));
            let bare = usize::from(now.schema == DEFAULT_SCHEMA);
            *name = ObjectName(parts.into_iter().skip(bare).collect());
        }
        Ok(())
    }
}

/// `schema.t.a` is `t.a` where the table has an alias now.
struct BareQualifiers<'c>(&'c [(String, String)]);

impl Visit for BareQualifiers<'_> {
    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        if let Expr::CompoundIdentifier(parts) = expression
            && let [schema, table, _, ..] = parts.as_slice()
            && self.0.contains(&(fold(schema), fold(table)))
        {
            parts.remove(0);
        }
        Ok(())
    }

    fn select(&mut self, select: &mut Select) -> Result<()> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
                && let [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(table)] = name.0.as_slice()
                && self.0.contains(&(fold(schema), fold(table)))
            {
                name.0.remove(0);
            }
        }
        Ok(())
    }
}

/// The views whose queries name a column of a table, or all of its columns.
pub(crate) fn naming_column(snapshot: &Snapshot, table: &TableDefinition, column: u32) -> Vec<TableName> {
    let names = |view: &ViewDefinition| {
        let Ok(mut query) = query_of_view(&view.query) else { return false };
        let Ok(with) = defined_by_with(&mut query) else { return false };
        let mut own = TableMembers { with: &with, table, column, members: Vec::new() };
        if query.walk(&mut own).is_err() || own.members.is_empty() {
            return false;
        }
        let members = std::mem::take(&mut own.members);
        let mut uses = ColumnUses { members: &members, found: false };
        // What can't be walked is taken to name it.
        query.walk(&mut uses).is_err() || uses.found
    };
    snapshot.views.iter().filter(|(_, view)| names(view)).map(|(name, _)| name.clone()).collect()
}

/// The members of FROM that are a table: the name of each, and what the column is called there.
struct TableMembers<'c> {
    with: &'c BTreeSet<String>,
    table: &'c TableDefinition,
    column: u32,
    members: Vec<(String, String)>,
}

impl Visit for TableMembers<'_> {
    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        if named(table, self.with).as_ref() != Some(&self.table.name) {
            return Ok(());
        }
        let TableFactor::Table { alias, .. } = table else { return Ok(()) };
        let at = self.table.columns.iter().position(|own| own.id == self.column);
        let Some(at) = at else { return Ok(()) };
        let given = alias.as_ref().and_then(|alias| alias.columns.get(at)).map(|own| fold(&own.name));
        let name = alias.as_ref().map_or_else(|| self.table.name.table.clone(), |alias| fold(&alias.name));
        self.members.push((name, given.unwrap_or_else(|| self.table.columns[at].name.clone())));
        Ok(())
    }
}

/// Whether a query names that column of one of these members, or all columns.
struct ColumnUses<'c> {
    members: &'c [(String, String)],
    found: bool,
}

impl ColumnUses<'_> {
    fn is_member(&self, name: &str) -> bool {
        self.members.iter().any(|(member, _)| member == name)
    }

    fn is_column(&self, name: &str) -> bool {
        self.members.iter().any(|(_, column)| column == name)
    }
}

impl Visit for ColumnUses<'_> {
    fn select(&mut self, select: &mut Select) -> Result<()> {
        for item in &select.projection {
            self.found |= match item {
                SelectItem::Wildcard(_) => select.from.iter().any(|from| {
                    let factors = std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation));
                    factors.into_iter().any(|factor| match factor {
                        TableFactor::Table { name, alias, .. } => {
                            let own = || last_part(name).map(fold).unwrap_or_default();
                            self.is_member(&alias.as_ref().map_or_else(own, |alias| fold(&alias.name)))
                        }
                        TableFactor::NestedJoin { .. } => true,
                        _ => false,
                    })
                }),
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    last_part(name).is_some_and(|name| self.is_member(&fold(name)))
                }
                _ => false,
            };
        }
        for join in select.from.iter().flat_map(|from| &from.joins) {
            let Some(constraint) = constraint(&join.join_operator) else { continue };
            self.found |= match constraint {
                JoinConstraint::Using(names) => {
                    names.iter().filter_map(last_part).any(|name| self.is_column(&fold(name)))
                }
                JoinConstraint::Natural => true,
                JoinConstraint::On(_) | JoinConstraint::None => false,
            };
        }
        Ok(())
    }

    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        self.found |= match expression {
            // Alone, it is a column, or the whole row of a member.
            Expr::Identifier(name) => self.is_column(&fold(name)) || self.is_member(&fold(name)),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [member, column, ..] if self.is_member(&fold(member)) => self.is_column(&fold(column)),
                [_, member, column] if self.is_member(&fold(member)) => self.is_column(&fold(column)),
                // A field of a column that is a struct.
                [column, ..] => self.is_column(&fold(column)),
                [] => false,
            },
            _ => false,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gingham_storage::{ColumnDefinition, LogicalType};
    use std::sync::Arc;

    fn name(table: &str) -> TableName {
        TableName { schema: DEFAULT_SCHEMA.into(), table: table.into() }
    }

    fn table(columns: &[(u32, &str)]) -> TableDefinition {
        let column = |(id, name): &(u32, &str)| ColumnDefinition::new(*id, *name, LogicalType::Int(32));
        TableDefinition::new(name("t"), columns.iter().map(column).collect())
    }

    fn snapshot(query: &str) -> Arc<Snapshot> {
        let budget = gingham_storage::io::MemoryBudget::new(1 << 26);
        let store = gingham_storage::store::Store::scratch(budget).unwrap();
        let view = ViewDefinition { name: name("v"), query: query.into(), columns: Vec::new() };
        store.write(|transaction| transaction.create_view(view, false)).unwrap();
        store.snapshot().unwrap()
    }

    #[test]
    fn queries_follow_relations_and_columns() {
        let to = |own: &TableName| (own.table == "t").then(|| name("U x"));
        let renamed = |query| with_relations_renamed(&snapshot(query), &to).pop().map(|view| view.query);
        let shown = renamed("SELECT t.a, public.t.b FROM t JOIN t AS s USING (a)");
        assert_eq!(shown.as_deref(), Some("SELECT t.a, t.b FROM \"U x\" AS \"t\" JOIN \"U x\" AS s USING(a)"));
        assert_eq!(renamed("WITH t AS (SELECT 1) SELECT * FROM t"), None);
        let (before, after) = (table(&[(0, "a"), (1, "b"), (2, "c")]), table(&[(0, "a"), (2, "d"), (3, "b")]));
        let columns = |query| with_columns_renamed(&snapshot(query), &before, &after).pop().map(|view| view.query);
        assert_eq!(columns("SELECT c FROM t").as_deref(), Some("SELECT c FROM t AS \"t\" (\"a\", \"c\")"));
        assert_eq!(columns("SELECT z FROM t AS s (x, y, z)").as_deref(), Some("SELECT z FROM t AS s (\"x\", \"z\")"));
        assert_eq!(columns("SELECT 1 FROM u"), None);
    }

    #[test]
    fn columns_that_queries_name() {
        let own = table(&[(0, "a"), (1, "b")]);
        let names = |query| !naming_column(&snapshot(query), &own, 1).is_empty();
        for query in
            ["SELECT b FROM t", "SELECT * FROM t", "SELECT s.* FROM t AS s", "SELECT 1 FROM t JOIN u USING (b)"]
        {
            assert!(names(query), "{query}");
        }
        for query in
            ["SELECT y FROM t AS s (x, y)", "SELECT t FROM t", "SELECT a FROM t ORDER BY b", "SELECT t.b FROM t"]
        {
            assert!(names(query), "{query}");
        }
        for query in [
            "SELECT a FROM t",
            "SELECT b FROM u",
            "SELECT u.* FROM t, u",
            "SELECT u.b FROM t, u",
            "SELECT count(*) FROM t",
        ] {
            assert!(!names(query), "{query}");
        }
    }
}
