//! ALTER TABLE: ADD, DROP and RENAME COLUMN, RENAME TO. Records are not rewritten: a column that is added gives those
//! before it one value, which must satisfy its constraints, and segments know columns by number.

use crate::session::{Outcome, StatementContext, did_you_mean};
use crate::sql::column_types::logical_type;
use crate::sql::dialect::Gingham;
use crate::sql::names::unsupported;
use crate::sql::names::{column_name, fold};
use crate::sql::walk::{SyntaxTree, Visit};
use crate::statements::ddl::constraints::{ConstraintScope, Constraints};
use crate::statements::ddl::{definition, existing, expression};
use crate::statements::{table_reference, write};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{AlterTable, AlterTableOperation, ColumnDef, Expr, Ident, RenameTableNameKind};
use datafusion::sql::sqlparser::parser::Parser;
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{ColumnId, SqlState, TableDefinition, TableName};

/// Runs ALTER TABLE.
pub(crate) async fn run(context: &StatementContext, statement: AlterTable) -> Result<Outcome> {
    let AlterTable { name, if_exists, only, operations, location, on_cluster, table_type, end_token: _ } = statement;
    if only || location.is_some() || on_cluster.is_some() || table_type.is_some() {
        return Err(unsupported("ALTER TABLE with ONLY, LOCATION, ON CLUSTER or a kind of table".into()));
    }
    // A refusal stands before any question whether the table exists: it is about the statement.
    operations.iter().try_for_each(refuse)?;
    let reference = table_reference(&name)?;
    let known = context.name(&reference)?;
    let target = match crate::statements::writable(context, &name, "ALTER TABLE") {
        Ok(target) => target,
        Err(_) if if_exists && !crate::statements::ddl::objects::exists(context, &known) => return Ok(Outcome::Done),
        Err(error) => return Err(error),
    };
    let own = context.clone();
    write(context, &target.store, move |transaction| {
        let base = transaction.base();
        let table = base.table(&target.table.definition.name)?.ok_or_else(|| own.unknown_table(&known))?;
        let mut changed = (*table.definition).clone();
        let rows = table.rows();
        for operation in &operations {
            let scope = ConstraintScope { context: &own, snapshot: base };
            apply(&scope, &mut changed, rows, operation)?;
        }
        existing::check(&own, table, &changed)?;
        Ok(transaction.alter_table(changed)?)
    })
    .await?;
    Ok(Outcome::Done)
}

/// Refuses the operations that are not offered.
fn refuse(operation: &AlterTableOperation) -> Result<()> {
    use AlterTableOperation as Op;
    let not_yet = |what: &str| Err(Error::Unsupported(format!("ALTER TABLE … {what} is not supported yet")));
    match operation {
        Op::AddColumn { column_position: None, .. } | Op::RenameColumn { .. } => Ok(()),
        Op::RenameTable { table_name: RenameTableNameKind::To(_) } => Ok(()),
        Op::DropColumn { drop_behavior: None, .. } => Ok(()),
        Op::AddColumn { .. } => not_yet("ADD COLUMN with a position"),
        Op::DropColumn { .. } => not_yet("DROP COLUMN with CASCADE or RESTRICT"),
        Op::SetOptionsParens { .. } | Op::SetTblProperties { .. } => not_yet("SET (…) behind another change"),
        Op::AlterColumn { column_name, op } => not_yet(&format!("ALTER COLUMN {column_name} {op}")),
        Op::AddConstraint { constraint, .. } => not_yet(&format!("ADD {constraint}")),
        Op::DropConstraint { name, .. } => not_yet(&format!("DROP CONSTRAINT {name}")),
        other => not_yet(&other.to_string()),
    }
}

fn apply(
    scope: &ConstraintScope<'_>,
    definition: &mut TableDefinition,
    rows: u64,
    operation: &AlterTableOperation,
) -> Result<()> {
    match operation {
        AlterTableOperation::AddColumn { if_not_exists, column_def, .. } => {
            if *if_not_exists && definition.column(&fold(&column_def.name)).is_some() {
                return Ok(());
            }
            add(scope, definition, rows, column_def)
        }
        AlterTableOperation::DropColumn { column_names, if_exists, .. } => {
            for name in column_names {
                let name = column_name(definition, name)?;
                if *if_exists && definition.column(&name).is_none() {
                    continue;
                }
                drop_column(scope.snapshot, definition, &name)?;
            }
            Ok(())
        }
        AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
            let old = column_name(definition, old_column_name)?;
            rename_column(definition, &old, &fold(new_column_name))
        }
        AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(name) } => {
            rename_table(scope, definition, &scope.context.name(&table_reference(name)?)?, name.0.len() == 1)
        }
        other => Err(unsupported(format!("ALTER TABLE … {other}"))),
    }
}

fn add(scope: &ConstraintScope<'_>, definition: &mut TableDefinition, rows: u64, column: &ColumnDef) -> Result<()> {
    let name = fold(&column.name);
    if definition.column(&name).is_some() {
        return Err(Error::invalid(
            SqlState::DuplicateColumn,
            format!("column '{name}' already exists in table '{}'", definition.name),
        ));
    }
    let logical_type = logical_type(&name, &column.data_type)?;
    let mut constraints = Constraints::default();
    definition::add_column(definition, column, logical_type, &mut constraints)?;
    if let Some(added) = definition.columns.last_mut()
        && let Some(text) = added.default.clone()
    {
        definition::check_default(scope, added, &text)?;
        if rows > 0 && expression::is_volatile(&scope.context.state, &name, &text)? {
            return Err(Error::Unsupported(format!(
                "DEFAULT {text} of column '{name}' differs from row to row, which ADD COLUMN can't give to the {rows} \
                 records that exist"
            )));
        }
        added.initial = expression::default_value(&scope.context.state, added, &text)?;
    }
    constraints.apply(scope, definition)
}

/// The column of that name; errors suggest another.
pub(crate) fn find(definition: &TableDefinition, name: &str) -> Result<ColumnId> {
    let existing = definition.columns.iter().map(|column| column.name.as_str());
    definition.column(name).map(|column| column.id).ok_or_else(|| {
        Error::invalid(
            SqlState::UndefinedColumn,
            format!("column '{name}' does not exist in table '{}'{}", definition.name, did_you_mean(name, existing)),
        )
    })
}

fn drop_column(snapshot: &Snapshot, definition: &mut TableDefinition, name: &str) -> Result<()> {
    let id = find(definition, name)?;
    let used = |by: String| {
        Err(Error::constraint(SqlState::DependentObjectsStillExist, format!("column '{name}' can't be dropped: {by}")))
    };
    if let Some(key) = definition.keys.iter().find(|key| key.columns.contains(&id)) {
        return used(format!("it is in the key '{}'", key.name));
    }
    if let Some(reference) = definition.references.iter().find(|reference| reference.columns.contains(&id)) {
        return used(format!("it is in the reference '{}'", reference.name));
    }
    for check in &definition.checks {
        if uses_column(&check.condition, name)? {
            return used(format!("CHECK constraint '{}' ({}) uses it", check.name, check.condition));
        }
    }
    if definition.sort_by.contains(&id) {
        return used("the table is sorted by it".into());
    }
    let refers = |other: &TableDefinition| {
        let mut references = other.references.iter();
        references.any(|reference| reference.table == definition.id && reference.referred.contains(&id))
    };
    if let Some((_, other)) = snapshot.definitions().find(|(_, other)| refers(other)) {
        return used(format!("table '{}' refers to it", other.name));
    }
    if definition.columns.len() == 1 {
        return used(format!("it is the only one of table '{}'", definition.name));
    }
    definition.columns.retain(|column| column.id != id);
    definition.design.remove_column(id);
    Ok(())
}

fn rename_column(definition: &mut TableDefinition, old: &str, new: &str) -> Result<()> {
    let id = find(definition, old)?;
    if old == new {
        return Ok(());
    }
    if definition.column(new).is_some() {
        return Err(Error::invalid(
            SqlState::DuplicateColumn,
            format!("column '{new}' already exists in table '{}'", definition.name),
        ));
    }
    for check in &mut definition.checks {
        check.condition = with_column_renamed(&check.condition, old, new)?;
    }
    for column in &mut definition.columns {
        if column.id == id {
            column.name = new.to_owned();
        }
    }
    Ok(())
}

fn rename_table(
    scope: &ConstraintScope<'_>,
    definition: &mut TableDefinition,
    to: &TableName,
    bare: bool,
) -> Result<()> {
    // A bare name stays in the table's schema, as Postgres has it.
    let schema = if bare { definition.name.schema.clone() } else { to.schema.clone() };
    let to = TableName { schema, table: to.table.clone() };
    if to.schema != definition.name.schema {
        return Err(unsupported(format!("moving table '{}' to another schema", definition.name)));
    }
    if to == definition.name {
        return Ok(());
    }
    if scope.snapshot.has_table(&to) || scope.snapshot.views.contains_key(&to) {
        return Err(Error::invalid(SqlState::DuplicateTable, format!("'{to}' already exists")));
    }
    if crate::session::system_tables::NAMES.contains(&to.table.as_str()) {
        return Err(Error::invalid(SqlState::ReservedName, format!("'{to}' is a system table; choose another name")));
    }
    definition.name = to;
    Ok(())
}

/// Calls `change` for each column's name in a condition and gives the condition's text after.
fn visit_columns(condition: &str, change: impl FnMut(&mut Ident)) -> Result<String> {
    struct VisitColumns<F>(F);
    impl<F: FnMut(&mut Ident)> Visit for VisitColumns<F> {
        fn expression(&mut self, expression: &mut Expr) -> Result<()> {
            match expression {
                Expr::Identifier(ident) => self.0(ident),
                Expr::CompoundIdentifier(parts) => parts.last_mut().into_iter().for_each(&mut self.0),
                _ => {}
            }
            Ok(())
        }
    }
    let parsed = Parser::new(&Gingham).try_with_sql(condition).and_then(|mut parser| parser.parse_expr());
    let mut parsed =
        parsed.map_err(|error| Error::Internal(format!("CHECK ({condition}) is not readable: {error}")))?;
    parsed.walk(&mut VisitColumns(change))?;
    Ok(parsed.to_string())
}

/// Whether a CHECK's condition names that column.
pub(crate) fn uses_column(condition: &str, name: &str) -> Result<bool> {
    let mut found = false;
    visit_columns(condition, |ident| found |= fold(ident) == name)?;
    Ok(found)
}

fn with_column_renamed(condition: &str, old: &str, new: &str) -> Result<String> {
    visit_columns(condition, |ident| {
        if fold(ident) == old {
            *ident = Ident::with_quote('"', new);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_condition() {
        assert!(uses_column("A > 0 AND \"B\" < 5", "a").unwrap());
        assert!(uses_column("abs(t.a) > 0", "a").unwrap());
        assert!(!uses_column("\"A\" > 0 AND s = 'a'", "a").unwrap());
        assert_eq!(with_column_renamed("a > 0 OR b = 'a'", "a", "x y").unwrap(), "\"x y\" > 0 OR b = 'a'");
    }
}
