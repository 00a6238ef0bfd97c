//! ALTER TABLE. Most changes are to the definition alone: a column that is added gives the records before it one value, which must
//! satisfy its constraints, and segments and heap pages know which columns they have. What changes the records is in `rewrite`: another
//! type, values that differ from record to record, and a new key of a table in heap pages, which has an index.

use crate::session::{Outcome, Severity, StatementContext, TargetTable, did_you_mean};
use crate::sql::dialect::Gingham;
use crate::sql::names::{column_name, fold, unsupported};
use crate::sql::walk::{SyntaxTree, Visit};
use crate::statements::ddl::constraints::{ConstraintScope, Constraints};
use crate::statements::ddl::identity::ColumnSequence;
use crate::statements::ddl::rewrite::Rewrite;
use crate::statements::ddl::{
    alter_column, alter_constraint, cascade, definition, existing, expression, rename, rewrite,
};
use crate::statements::{table_reference, write};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    AlterTable, AlterTableOperation, ColumnDef, DropBehavior, Expr, Ident, RenameTableNameKind,
};
use datafusion::sql::sqlparser::parser::Parser;
use gingham_storage::model::MOST_SHAPES;
use gingham_storage::snapshot::{Snapshot, TableSnapshot};
use gingham_storage::{ColumnId, Generation, SqlState, TableDefinition, TableName};
use std::sync::Arc;

/// What becomes of a table.
#[derive(Debug)]
pub(crate) struct Change {
    /// The definition before it.
    pub(crate) before: TableDefinition,
    /// The definition after it.
    pub(crate) after: TableDefinition,
    /// Whether it lies in heap pages.
    pub(crate) in_pages: bool,
    /// Whether its pages may be of one shape more.
    takes_shapes: bool,
    /// The records are written anew, each column by an expression over the table as it was where there is one.
    pub(crate) rewrite: Option<Rewrite>,
    /// Sequences of columns that are made.
    pub(crate) sequences: Vec<ColumnSequence>,
    /// Sequences of identity columns whose types change, and the bits of their integers then.
    pub(crate) retyped: Vec<(u64, u8)>,
    /// What the statement says when it is done.
    pub(crate) said: Vec<String>,
    /// Views and constraints of other tables that go with what is dropped.
    pub(crate) dependents: cascade::Dependents,
}

impl Change {
    fn of(table: &TableSnapshot) -> Self {
        let definition = &table.definition;
        Self {
            before: TableDefinition::clone(definition),
            after: TableDefinition::clone(definition),
            in_pages: definition.design.heap.is_some(),
            takes_shapes: table.heap.as_ref().is_none_or(|heap| heap.shapes.older.len() < MOST_SHAPES),
            rewrite: None,
            sequences: Vec::new(),
            retyped: Vec::new(),
            said: Vec::new(),
            dependents: cascade::Dependents::default(),
        }
    }

    /// Whether more has to be done than to replace the definition: with the write lock from the start.
    fn needs_turn(&self) -> bool {
        self.rewrite.is_some() || !self.sequences.is_empty() || alter_constraint::asks(&self.before, &self.after)
    }

    /// Has the records written anew.
    pub(crate) fn rewrites(&mut self) -> &mut Rewrite {
        self.rewrite.get_or_insert_default()
    }

    /// Has heap pages stay as they are beside new ones that have other columns, or NULLs elsewhere; the records are written anew where these
    /// are of too many shapes.
    pub(crate) fn reshapes_pages(&mut self) {
        if !self.takes_shapes {
            self.rewrites_pages();
        }
    }

    /// Has the records of heap pages written anew.
    pub(crate) fn rewrites_pages(&mut self) {
        if self.in_pages {
            self.rewrites();
        }
    }
}

/// Runs ALTER TABLE.
pub(crate) async fn run(context: &StatementContext, statement: AlterTable) -> Result<Outcome> {
    let AlterTable { name, if_exists, only, operations, location, on_cluster, table_type, end_token: _ } = statement;
    // A table has no children, so that ONLY leaves out nothing.
    let _ = only;
    if location.is_some() || on_cluster.is_some() || table_type.is_some() {
        return Err(unsupported("ALTER TABLE with LOCATION, ON CLUSTER or a kind of table".into()));
    }
    // A refusal stands before any question whether the table exists: it is about the statement.
    operations.iter().try_for_each(refuse)?;
    let reference = table_reference(&name)?;
    let known = context.name(&reference)?;
    if let [AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(to) }] = operations.as_slice()
        && let [part] = to.0.as_slice()
        && let Some(to) = part.as_ident()
        && !context.has_table(&known)
        && let Some(kind) = rename::kind_of(context, &reference)?
    {
        return rename::run(context, kind, if_exists, &name, to).await;
    }
    let target = match crate::statements::writable(context, &name, "ALTER TABLE") {
        Ok(target) => target,
        Err(_) if if_exists && !crate::statements::ddl::objects::exists(context, &known) => {
            let text = format!("table '{known}' does not exist, skipped");
            context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
            return Ok(Outcome::Done);
        }
        Err(error) => return Err(error),
    };
    let snapshot = crate::statements::ddl::sequence::snapshot_of(context, &target.store);
    let planned = plan(context, &snapshot, &target, &operations)?;
    if planned.needs_turn() {
        rewrite::run(context, &name, &operations).await?;
    } else {
        apply_alone(context, target, &operations).await?;
    }
    for text in planned.said {
        context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
    }
    Ok(Outcome::Done)
}

/// What the operations make of a table.
pub(crate) fn plan(
    context: &StatementContext,
    snapshot: &Snapshot,
    target: &TargetTable,
    operations: &[AlterTableOperation],
) -> Result<Change> {
    let scope = ConstraintScope { context, snapshot };
    let mut change = Change::of(&target.table);
    for operation in operations {
        apply(&scope, &mut change, operation)?;
    }
    Ok(change)
}

/// Changes a definition whose records stay as they are.
async fn apply_alone(
    context: &StatementContext,
    target: TargetTable,
    operations: &[AlterTableOperation],
) -> Result<()> {
    let (own, operations) = (context.clone(), operations.to_vec());
    let name = target.table.definition.name.clone();
    write(context, &target.store, move |transaction| {
        let base = transaction.base();
        let table = base.table(&name)?.ok_or_else(|| own.unknown_table(&name))?;
        let table = Arc::clone(table);
        let scope = ConstraintScope { context: &own, snapshot: base };
        let mut change = Change::of(&table);
        for operation in &operations {
            apply(&scope, &mut change, operation)?;
        }
        if change.needs_turn() {
            return Err(Error::Conflict(format!("table '{name}' was changed meanwhile; run the statement again")));
        }
        existing::check(&own, &table, &change.after)?;
        rewrite::put(transaction, change, None)
    })
    .await
}

/// Refuses the operations that are not offered.
fn refuse(operation: &AlterTableOperation) -> Result<()> {
    use AlterTableOperation as Op;
    let not_yet = |what: &str| Err(Error::Unsupported(format!("ALTER TABLE … {what} is not supported yet")));
    match operation {
        Op::AddColumn { column_position: None, .. } | Op::RenameColumn { .. } | Op::AlterColumn { .. } => Ok(()),
        Op::RenameTable { table_name: RenameTableNameKind::To(_) } => Ok(()),
        Op::DropColumn { .. } | Op::DropConstraint { .. } | Op::RenameConstraint { .. } => Ok(()),
        Op::AddConstraint { .. } => Ok(()),
        Op::ValidateConstraint { .. } => Ok(()),
        Op::AddColumn { .. } => not_yet("ADD COLUMN with a position"),
        Op::SetOptionsParens { .. } | Op::SetTblProperties { .. } => not_yet("SET (…) behind another change"),
        other => not_yet(&other.to_string()),
    }
}

fn apply(scope: &ConstraintScope<'_>, change: &mut Change, operation: &AlterTableOperation) -> Result<()> {
    match operation {
        AlterTableOperation::AddColumn { if_not_exists, column_def, .. } => {
            let name = fold(&column_def.name);
            if *if_not_exists && change.after.column(&name).is_some() {
                change.said.push(format!("column '{name}' of table '{}' exists already, skipped", change.after.name));
                return Ok(());
            }
            add(scope, change, column_def)
        }
        AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
            for name in column_names {
                let name = column_name(&change.after, name)?;
                if *if_exists && change.after.column(&name).is_none() {
                    let table = &change.after.name;
                    change.said.push(format!("column '{name}' of table '{table}' does not exist, skipped"));
                    continue;
                }
                let cascade = *drop_behavior == Some(DropBehavior::Cascade);
                alter_column::drop_column(scope.snapshot, change, &name, cascade)?;
                change.reshapes_pages();
            }
            Ok(())
        }
        AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
            let old = column_name(&change.after, old_column_name)?;
            rename_column(&mut change.after, &old, &fold(new_column_name))
        }
        AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(name) } => {
            let to = scope.context.name(&table_reference(name)?)?;
            rename_table(scope, &mut change.after, &to, name.0.len() == 1)
        }
        AlterTableOperation::AlterColumn { column_name: name, op } => alter_column::alter(scope, change, name, op),
        AlterTableOperation::AddConstraint { constraint, not_valid } => {
            alter_constraint::add(scope, change, constraint, *not_valid)
        }
        AlterTableOperation::DropConstraint { if_exists, name, drop_behavior } => {
            let cascade = *drop_behavior == Some(DropBehavior::Cascade);
            alter_constraint::drop_constraint(scope.snapshot, change, &fold(name), *if_exists, cascade)
        }
        AlterTableOperation::RenameConstraint { old_name, new_name } => {
            alter_constraint::rename(scope.snapshot, change, &fold(old_name), &fold(new_name))
        }
        AlterTableOperation::ValidateConstraint { name } => alter_constraint::validate(change, &fold(name)),
        other => Err(unsupported(format!("ALTER TABLE … {other}"))),
    }
}

fn add(scope: &ConstraintScope<'_>, change: &mut Change, column: &ColumnDef) -> Result<()> {
    let name = fold(&column.name);
    if change.after.column(&name).is_some() {
        return Err(Error::invalid(
            SqlState::DuplicateColumn,
            format!("column '{name}' already exists in table '{}'", change.after.name),
        ));
    }
    let mut constraints = Constraints::default();
    definition::add_typed_column(&mut change.after, column, &mut constraints)?;
    change.reshapes_pages();
    let before = change.after.clone();
    if constraints.sequences.is_empty()
        && let Some(added) = change.after.columns.last_mut()
        && let Some(text) = added.default.clone()
    {
        definition::check_default(scope, added, &text)?;
        if expression::is_volatile(&scope.context.state, &name, &text)? {
            change.rewrite.get_or_insert_default();
        } else {
            added.initial = expression::default_value(&scope.context.state, added, &text)?;
        }
    }
    if let Some(Generation::Stored(text)) = before.columns.last().and_then(|added| added.generation.as_ref()) {
        expression::generated(&scope.context.state, &before, &name, text)?;
        change.rewrites();
    }
    if !constraints.sequences.is_empty() {
        change.rewrites();
    }
    let keys = change.after.keys.len();
    let made = constraints.apply(scope, &mut change.after)?;
    if change.after.keys.len() > keys {
        change.rewrites_pages();
    }
    change.sequences.extend(made.sequences);
    Ok(())
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
        if let Some(Generation::Stored(text)) = &mut column.generation {
            *text = with_column_renamed(text, old, new)?;
        }
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
