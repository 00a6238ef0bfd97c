//! PRIMARY KEY, UNIQUE, CHECK and REFERENCES of CREATE TABLE and ADD COLUMN: resolved, named, and refused where they make no sense.

use crate::session::{StatementContext, did_you_mean};
use crate::sql::names::{column_name, fold, unsupported};
use crate::sql::walk::{SyntaxTree, Visit};
use crate::statements::ddl::identity::ColumnSequence;
use crate::statements::ddl::like::TakenOver;
use crate::statements::ddl::{definition, expression};
use crate::statements::table_reference;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    CheckConstraint, ColumnOption, ConstraintCharacteristics, ConstraintReferenceMatchKind, Expr, ForeignKeyConstraint,
    Ident, IndexColumn, NullsDistinctOption, ReferentialAction, TableConstraint,
};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{
    CheckDefinition, ColumnId, KeyDefinition, LogicalType, ReferenceDefinition, SqlState, TableDefinition,
};
use std::collections::BTreeSet;

/// What a definition is resolved against.
pub(crate) struct ConstraintScope<'a> {
    /// The statement.
    pub(crate) context: &'a StatementContext,
    /// The store that the table goes to: a table refers to tables of its own store.
    pub(crate) snapshot: &'a Snapshot,
}

/// Constraints as they were read, before their columns are known.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    keys: Vec<KeyConstraint>,
    checks: Vec<(Option<String>, Expr)>,
    references: Vec<(Option<String>, ForeignKeyConstraint)>,
    /// The sequences of its columns, with which they are made.
    pub(crate) sequences: Vec<ColumnSequence>,
    /// Indexes and comments of a table that LIKE names.
    pub(crate) taken_over: Vec<TakenOver>,
}

/// What is made of constraints besides those.
#[derive(Debug, Default)]
pub(crate) struct MadeBeside {
    pub(crate) sequences: Vec<ColumnSequence>,
    taken_over: Vec<TakenOver>,
}

impl MadeBeside {
    /// Adds the indexes and comments that LIKE takes over to a definition whose constraints have their names.
    pub(crate) fn add_indexes(&self, scope: &ConstraintScope<'_>, definition: &mut TableDefinition) {
        self.taken_over.iter().for_each(|taken| taken.add(scope, definition));
    }
}

#[derive(Debug)]
struct KeyConstraint {
    name: Option<String>,
    columns: Vec<Ident>,
    primary: bool,
}

impl Constraints {
    /// Adds a constraint that stands behind column `column`.
    pub(crate) fn add_of_column(&mut self, column: &Ident, name: Option<&Ident>, option: &ColumnOption) -> Result<()> {
        let own_name = name.map(fold);
        match option {
            ColumnOption::PrimaryKey(key) => {
                refuse_characteristics(key.characteristics.as_ref())?;
                self.keys.push(KeyConstraint { name: own_name, columns: vec![column.clone()], primary: true });
            }
            ColumnOption::Unique(key) => {
                refuse_characteristics(key.characteristics.as_ref())?;
                refuse_nulls(&key.nulls_distinct)?;
                self.keys.push(KeyConstraint { name: own_name, columns: vec![column.clone()], primary: false });
            }
            ColumnOption::Check(check) => self.add_check(own_name, check)?,
            ColumnOption::ForeignKey(reference) => {
                let mut reference = reference.clone();
                reference.columns = vec![column.clone()];
                self.references.push((own_name, reference));
            }
            other => return Err(unsupported(other.to_string())),
        }
        Ok(())
    }

    /// Adds a constraint of the table.
    pub(crate) fn add(&mut self, constraint: &TableConstraint) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                refuse_characteristics(key.characteristics.as_ref())?;
                if key.index_type.is_some() || !key.index_options.is_empty() || key.index_name.is_some() {
                    return Err(unsupported(format!("an index for a key ({})", definition::show(constraint))));
                }
                let columns = key_columns(&key.columns)?;
                self.keys.push(KeyConstraint { name: key.name.as_ref().map(fold), columns, primary: true });
            }
            TableConstraint::Unique(key) => {
                refuse_characteristics(key.characteristics.as_ref())?;
                refuse_nulls(&key.nulls_distinct)?;
                if key.index_type.is_some() || !key.index_options.is_empty() || key.index_name.is_some() {
                    return Err(unsupported(format!("an index for a key ({})", definition::show(constraint))));
                }
                let columns = key_columns(&key.columns)?;
                self.keys.push(KeyConstraint { name: key.name.as_ref().map(fold), columns, primary: false });
            }
            TableConstraint::Check(check) => self.add_check(check.name.as_ref().map(fold), check)?,
            TableConstraint::ForeignKey(reference) => {
                self.references.push((reference.name.as_ref().map(fold), reference.clone()));
            }
            other => return Err(unsupported(definition::show(other))),
        }
        Ok(())
    }

    /// Adds a key over columns of those names.
    pub(crate) fn add_key(&mut self, name: Option<String>, columns: Vec<Ident>, primary: bool) {
        self.keys.push(KeyConstraint { name, columns, primary });
    }

    /// Adds a condition.
    pub(crate) fn add_condition(&mut self, name: Option<String>, condition: Expr) {
        self.checks.push((name, condition));
    }

    fn add_check(&mut self, name: Option<String>, check: &CheckConstraint) -> Result<()> {
        if check.enforced == Some(false) {
            return Err(unsupported(format!("a constraint that is NOT ENFORCED ({check})")));
        }
        self.checks.push((name, (*check.expr).clone()));
        Ok(())
    }

    /// Resolves all of them and adds them to `definition`.
    pub(crate) fn apply(self, scope: &ConstraintScope<'_>, definition: &mut TableDefinition) -> Result<MadeBeside> {
        let mut names = ConstraintNames::of(definition);
        for key in self.keys {
            add_key(definition, key, &mut names)?;
        }
        let schema = definition.arrow_schema();
        for (name, mut condition) in self.checks {
            bare_columns(definition, &mut condition)?;
            let column = only_column(&mut condition)?;
            let parts: Vec<&str> = column.iter().map(String::as_str).chain(["check"]).collect();
            let name = names.give(name, &parts)?;
            let condition = condition.to_string();
            expression::check(&scope.context.state, &name, &schema, &condition)?;
            definition.checks.push(CheckDefinition { name, condition });
        }
        for (name, reference) in self.references {
            let reference = resolve(scope, definition, name, &reference, &mut names)?;
            definition.references.push(reference);
        }
        Ok(MadeBeside { sequences: self.sequences, taken_over: self.taken_over })
    }
}

/// Takes the table's name away before its columns' names: kept texts name columns alone.
pub(crate) fn bare_columns(definition: &TableDefinition, expression: &mut Expr) -> Result<()> {
    struct Bare<'d>(&'d TableDefinition);
    impl Visit for Bare<'_> {
        fn expression(&mut self, expression: &mut Expr) -> Result<()> {
            let Expr::CompoundIdentifier(parts) = expression else { return Ok(()) };
            let name = &self.0.name;
            let bare = match parts.as_slice() {
                [table, column] if fold(table) == name.table => column.clone(),
                [schema, table, column] if (fold(schema), fold(table)) == (name.schema.clone(), name.table.clone()) => {
                    column.clone()
                }
                _ => return Ok(()),
            };
            // A column of the table's name may be a struct, whose field this is.
            if self.0.column(&name.table).is_none() {
                *expression = Expr::Identifier(bare);
            }
            Ok(())
        }
    }
    expression.walk(&mut Bare(definition))
}

/// The column of a condition that names one alone: a constraint without a name is called after it.
fn only_column(condition: &mut Expr) -> Result<Option<String>> {
    struct NamedColumns(BTreeSet<String>);
    impl Visit for NamedColumns {
        fn expression(&mut self, expression: &mut Expr) -> Result<()> {
            match expression {
                Expr::Identifier(ident) => self.0.extend([fold(ident)]),
                Expr::CompoundIdentifier(parts) => self.0.extend(parts.last().map(fold)),
                _ => {}
            }
            Ok(())
        }
    }
    let mut named = NamedColumns(BTreeSet::new());
    condition.walk(&mut named)?;
    Ok(named.0.pop_first().filter(|_| named.0.is_empty()))
}

/// Names of constraints: given, or made of table, columns and kind.
struct ConstraintNames {
    table: String,
    used: Vec<String>,
}

impl ConstraintNames {
    fn of(definition: &TableDefinition) -> Self {
        let keys = definition.keys.iter().map(|key| &key.name);
        let checks = definition.checks.iter().map(|check| &check.name);
        let references = definition.references.iter().map(|reference| &reference.name);
        Self { table: definition.name.table.clone(), used: keys.chain(checks).chain(references).cloned().collect() }
    }

    fn give(&mut self, given: Option<String>, parts: &[&str]) -> Result<String> {
        let name = match given {
            Some(name) if self.used.contains(&name) => {
                return Err(Error::invalid(SqlState::DuplicateObject, format!("constraint '{name}' appears twice")));
            }
            Some(name) => name,
            None => {
                let base = format!("{}_{}", self.table, parts.join("_"));
                let numbered = (1..).map(|number| format!("{base}{number}"));
                let free = std::iter::once(base.clone()).chain(numbered).find(|name| !self.used.contains(name));
                free.unwrap_or(base)
            }
        };
        self.used.push(name.clone());
        Ok(name)
    }
}

fn refuse_characteristics(characteristics: Option<&ConstraintCharacteristics>) -> Result<()> {
    match characteristics {
        Some(characteristics) => Err(unsupported(format!("a constraint that is {characteristics}"))),
        None => Ok(()),
    }
}

fn refuse_nulls(nulls: &NullsDistinctOption) -> Result<()> {
    match nulls {
        NullsDistinctOption::NotDistinct => Err(unsupported("UNIQUE with NULLS NOT DISTINCT".into())),
        NullsDistinctOption::None | NullsDistinctOption::Distinct => Ok(()),
    }
}

/// Names of a key's columns; an order or an expression among them is refused.
pub(crate) fn key_columns(columns: &[IndexColumn]) -> Result<Vec<Ident>> {
    let name = |column: &IndexColumn| match &column.column.expr {
        Expr::Identifier(ident) if column.to_string() == ident.to_string() => Ok(ident.clone()),
        _ => Err(unsupported(format!("a key over {column}, which is not just a column,"))),
    };
    columns.iter().map(name).collect()
}

fn add_key(definition: &mut TableDefinition, key: KeyConstraint, names: &mut ConstraintNames) -> Result<()> {
    let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
    if key.primary && definition.keys.iter().any(|key| key.primary) {
        return Err(Error::invalid(
            SqlState::InvalidTableDefinition,
            format!("table '{}' has two PRIMARY KEYs", definition.name),
        ));
    }
    let columns = find_columns(definition, &key.columns, kind)?;
    if key.primary {
        for column in &mut definition.columns {
            column.nullable &= !columns.contains(&column.id);
        }
    }
    let own = key.columns.iter().map(|ident| column_name(definition, ident)).collect::<Result<Vec<String>>>()?;
    let mut parts: Vec<&str> = if key.primary { vec![] } else { own.iter().map(String::as_str).collect() };
    parts.push(if key.primary { "pkey" } else { "key" });
    let name = names.give(key.name, &parts)?;
    definition.keys.push(KeyDefinition { name, columns, primary: key.primary });
    Ok(())
}

/// Numbers of the columns of those names, each once.
pub(crate) fn find_columns(definition: &TableDefinition, names: &[Ident], what: &str) -> Result<Vec<ColumnId>> {
    let mut columns = Vec::with_capacity(names.len());
    for ident in names {
        let name = &column_name(definition, ident)?;
        let existing = definition.columns.iter().map(|column| column.name.as_str());
        let column = definition.column(name).ok_or_else(|| {
            Error::invalid(
                SqlState::UndefinedColumn,
                format!(
                    "{what} names column '{name}', which table '{}' does not have{}",
                    definition.name,
                    did_you_mean(name, existing)
                ),
            )
        })?;
        if columns.contains(&column.id) {
            return Err(Error::invalid(SqlState::DuplicateColumn, format!("{what} names column '{name}' twice")));
        }
        columns.push(column.id);
    }
    Ok(columns)
}

fn resolve(
    scope: &ConstraintScope<'_>,
    definition: &TableDefinition,
    name: Option<String>,
    reference: &ForeignKeyConstraint,
    names: &mut ConstraintNames,
) -> Result<ReferenceDefinition> {
    refuse_characteristics(reference.characteristics.as_ref())?;
    for (event, action) in [("DELETE", &reference.on_delete), ("UPDATE", &reference.on_update)] {
        if let Some(action) = action
            && !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict)
        {
            return Err(unsupported(format!("REFERENCES with ON {event} {action}")));
        }
    }
    if let Some(kind) = &reference.match_kind
        && *kind != ConstraintReferenceMatchKind::Simple
    {
        return Err(unsupported(format!("REFERENCES with {kind}")));
    }
    let columns = find_columns(definition, &reference.columns, "FOREIGN KEY")?;
    let own: Vec<String> = column_names(definition, &columns).into_iter().map(str::to_owned).collect();
    let referred_name = scope.context.name(&table_reference(&reference.foreign_table)?)?;
    let target = match scope.snapshot.definition(&referred_name) {
        // The table itself has no number before it is created, and is looked at as it will be.
        _ if referred_name == definition.name => definition,
        Some(referred) => referred,
        None => {
            return Err(match scope.context.has_table(&referred_name) {
                true => unsupported(format!(
                    "a reference between a temporary and a permanent table ('{}' to '{referred_name}')",
                    definition.name
                )),
                false => scope.context.unknown_table(&referred_name),
            });
        }
    };
    let primary = || target.keys.iter().find(|key| key.primary).map(|key| key.columns.clone());
    let referred = if reference.referred_columns.is_empty() {
        primary().ok_or_else(|| {
            Error::invalid(
                SqlState::InvalidForeignKey,
                format!("table '{referred_name}' has no PRIMARY KEY; name the columns referred to"),
            )
        })?
    } else {
        find_columns(target, &reference.referred_columns, "REFERENCES")?
    };
    if referred.len() != columns.len() {
        return Err(Error::invalid(
            SqlState::InvalidForeignKey,
            format!(
                "FOREIGN KEY ({}) refers to {} of '{referred_name}'; both sides have as many columns",
                own.join(", "),
                if referred.len() == 1 { "1 column".to_owned() } else { format!("{} columns", referred.len()) }
            ),
        ));
    }
    let same = |key: &KeyDefinition| {
        key.columns.len() == referred.len() && referred.iter().all(|column| key.columns.contains(column))
    };
    if !target.keys.iter().any(same) {
        return Err(Error::invalid(
            SqlState::InvalidForeignKey,
            format!(
                "REFERENCES {referred_name} ({}): these columns are not its PRIMARY KEY and not UNIQUE",
                column_names(target, &referred).join(", ")
            ),
        ));
    }
    same_types(definition, &columns, target, &referred)?;
    let parts: Vec<&str> = own.iter().map(String::as_str).chain(["fkey"]).collect();
    Ok(ReferenceDefinition { name: names.give(name, &parts)?, columns, table: target.id, referred })
}

fn column_names<'a>(definition: &'a TableDefinition, columns: &[ColumnId]) -> Vec<&'a str> {
    columns.iter().filter_map(|id| definition.column_by_id(*id)).map(|column| column.name.as_str()).collect()
}

/// A reference compares stored values, so both sides are of one type; lengths of strings may differ.
fn same_types(
    definition: &TableDefinition,
    columns: &[ColumnId],
    target: &TableDefinition,
    referred: &[ColumnId],
) -> Result<()> {
    for (own, theirs) in columns.iter().zip(referred) {
        let (Some(own), Some(theirs)) = (definition.column_by_id(*own), target.column_by_id(*theirs)) else { continue };
        if !comparable(&own.logical_type, &theirs.logical_type) {
            return Err(Error::invalid(
                SqlState::DatatypeMismatch,
                format!(
                    "column '{}' is {}, but refers to '{}.{}', which is {}; give both the same type",
                    own.name, own.logical_type, target.name, theirs.name, theirs.logical_type
                ),
            ));
        }
    }
    Ok(())
}

fn comparable(a: &LogicalType, b: &LogicalType) -> bool {
    a.to_arrow() == b.to_arrow()
}
