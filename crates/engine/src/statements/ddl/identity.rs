//! SERIAL, identity columns and generated columns: made with their tables, and changed by ALTER TABLE … ALTER COLUMN.

use crate::session::{Outcome, Severity, StatementContext, sequence_defaults};
use crate::sql::define::{GeneratedChange, SequenceOptions};
use crate::sql::names::{column_name, unsupported};
use crate::statements::ddl::constraints::{Constraints, bare_columns};
use crate::statements::ddl::sequence::{self, apply, range, refuse_owner};
use crate::statements::ddl::{alter, index, objects};
use crate::statements::{table_reference, writable, write};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    ColumnOption, DataType, GeneratedAs, GeneratedExpressionMode, Ident, ObjectName,
};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::write::Transaction;
use gingham_storage::{
    ColumnDefinition, ColumnId, Generation, LogicalType, SequenceDefinition, SequenceOwner, SqlState, TableDefinition,
    TableId, TableName,
};

/// A sequence that is made with a column.
#[derive(Debug, Clone)]
pub(crate) struct ColumnSequence {
    /// The column.
    pub(crate) column: ColumnId,
    /// How it counts; its name and number are given when it is made.
    pub(crate) definition: SequenceDefinition,
    /// `Some` for an identity column: whether it is GENERATED ALWAYS. SERIAL has a DEFAULT instead.
    pub(crate) identity: Option<bool>,
}

/// Bits of the integers of SERIAL and its kin; `None` for another type.
pub(crate) fn serial_bits(data_type: &DataType) -> Option<u8> {
    let DataType::Custom(name, arguments) = data_type else { return None };
    if !arguments.is_empty() {
        return None;
    }
    match name.to_string().to_ascii_lowercase().as_str() {
        "smallserial" | "serial2" => Some(16),
        "serial" | "serial4" => Some(32),
        "bigserial" | "serial8" => Some(64),
        _ => None,
    }
}

impl ColumnSequence {
    /// That of a SERIAL, the last column of `definition`.
    pub(crate) fn serial(definition: &TableDefinition, bits: u8) -> Self {
        let column = definition.columns.last().map_or(0, |column| column.id);
        Self { column, definition: counting(definition, bits), identity: None }
    }

    /// Makes the sequences of a table's columns, which get free names, and lets the columns ask them. The table has no number yet, or
    /// its own: [`give`] lets it own them.
    pub(crate) fn make(
        all: &[Self],
        transaction: &mut Transaction<'_>,
        definition: &mut TableDefinition,
    ) -> Result<Vec<(u64, ColumnId)>> {
        let mut made = Vec::with_capacity(all.len());
        for own in all {
            let mut sequence = own.definition.clone();
            let table = definition.name.clone();
            let Some(column) = definition.columns.iter_mut().find(|column| column.id == own.column) else { continue };
            sequence.name = free_name(transaction, &table, &column.name)?;
            let name = sequence.name.clone();
            let number = transaction.create_sequence(sequence)?;
            match own.identity {
                Some(always) => column.generation = Some(Generation::Identity { always, sequence: number }),
                None => column.default = Some(sequence_defaults::next_of(&name)),
            }
            made.push((number, own.column));
        }
        Ok(made)
    }
}

/// Lets a table's columns own the sequences that were made for them.
pub(crate) fn give(
    transaction: &mut Transaction<'_>,
    table: TableId,
    definition: &TableDefinition,
    made: &[(u64, ColumnId)],
) -> Result<()> {
    for (number, column) in made {
        let mut sequence = transaction.sequence(*number)?.definition;
        let is_identity = |column: &ColumnDefinition| matches!(column.generation, Some(Generation::Identity { .. }));
        let identity = definition.column_by_id(*column).is_some_and(is_identity);
        sequence.owner = Some(SequenceOwner { table, column: *column, identity });
        transaction.alter_sequence(sequence, None)?;
    }
    Ok(())
}

/// `table_column_seq`, or that with a number behind it.
fn free_name(transaction: &mut Transaction<'_>, table: &TableName, column: &str) -> Result<TableName> {
    let base = format!("{}_{column}_seq", table.table);
    for number in 0.. {
        let name = if number == 0 { base.clone() } else { format!("{base}{number}") };
        let name = TableName { schema: table.schema.clone(), table: name };
        if transaction.is_free(&name)? && name != *table {
            return Ok(name);
        }
    }
    Err(Error::Internal("no name is free".into()))
}

/// A sequence for a column of so many bits, without a name yet.
fn counting(definition: &TableDefinition, bits: u8) -> SequenceDefinition {
    SequenceDefinition { bits, most: range(bits).1, ..SequenceDefinition::new(definition.name.clone()) }
}

/// Makes the last column of a definition one that is generated, as GENERATED … says.
pub(crate) fn add_generation(
    definition: &mut TableDefinition,
    option: &ColumnOption,
    constraints: &mut Constraints,
) -> Result<()> {
    let ColumnOption::Generated {
        generated_as,
        sequence_options,
        generation_expr,
        generation_expr_mode,
        generated_keyword,
    } = option
    else {
        return Err(Error::Internal("not GENERATED".into()));
    };
    let Some(added) = definition.columns.last() else { return Ok(()) };
    let (name, id, logical_type) = (added.name.clone(), added.id, added.logical_type.clone());
    if added.generation.is_some() || constraints.sequences.iter().any(|sequence| sequence.column == id) {
        return Err(Error::invalid(SqlState::SyntaxError, format!("column '{name}' is generated twice")));
    }
    if let Some(expression) = generation_expr {
        if !matches!(generated_as, GeneratedAs::Always | GeneratedAs::ExpStored) || !generated_keyword {
            return Err(Error::invalid(
                SqlState::SyntaxError,
                format!("column '{name}': write GENERATED ALWAYS AS (…) STORED"),
            ));
        }
        let is_stored = *generation_expr_mode == Some(GeneratedExpressionMode::Stored);
        if !is_stored && *generated_as != GeneratedAs::ExpStored {
            return Err(unsupported(format!("column '{name}': a generated column that is not STORED")));
        }
        let mut expression = expression.clone();
        bare_columns(definition, &mut expression)?;
        if let Some(added) = definition.columns.last_mut() {
            added.generation = Some(Generation::Stored(expression.to_string()));
        }
        return Ok(());
    }
    let options = options_of(sequence_options.as_deref())?;
    let definition = sequence_for(definition, &name, &logical_type, &options)?;
    let always = *generated_as == GeneratedAs::Always;
    constraints.sequences.push(ColumnSequence { column: id, definition, identity: Some(always) });
    Ok(())
}

fn options_of(options: Option<&[datafusion::sql::sqlparser::ast::SequenceOptions]>) -> Result<SequenceOptions> {
    let options = SequenceOptions::of_column(options.unwrap_or_default());
    Ok(options.map_err(datafusion::error::DataFusionError::from)?)
}

/// The sequence of an identity column of that name and type.
pub(crate) fn sequence_for(
    definition: &TableDefinition,
    name: &str,
    logical_type: &LogicalType,
    options: &SequenceOptions,
) -> Result<SequenceDefinition> {
    let LogicalType::Int(bits @ (16 | 32 | 64)) = logical_type else {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("identity column '{name}' is of type {logical_type}, not SMALLINT, INTEGER or BIGINT"),
        ));
    };
    refuse_owner(options)?;
    let mut sequence = counting(definition, *bits);
    apply(&mut sequence, options, true)?;
    Ok(sequence)
}

/// Refuses a generated column, the last of a definition, that has a DEFAULT too or is to be NULL; an identity column is NOT NULL.
pub(crate) fn require_alone(definition: &mut TableDefinition, allows_null: Option<bool>) -> Result<()> {
    let Some(added) = definition.columns.last_mut() else { return Ok(()) };
    let name = &added.name;
    let wrong = |text: String| Err(Error::invalid(SqlState::SyntaxError, text));
    if added.default.is_some() {
        return wrong(format!("column '{name}' is generated, and has a DEFAULT"));
    }
    if matches!(added.generation, Some(Generation::Stored(_))) {
        return Ok(());
    }
    if allows_null == Some(true) {
        return wrong(format!("column '{name}' is an identity column, and NULL"));
    }
    added.nullable = false;
    Ok(())
}

/// Runs ALTER TABLE … ALTER COLUMN of an identity column or a generated one.
pub(crate) async fn alter(
    context: &StatementContext,
    if_exists: bool,
    table: &ObjectName,
    column: &Ident,
    change: GeneratedChange,
) -> Result<Outcome> {
    let known = context.name(&table_reference(table)?)?;
    let target = match writable(context, table, "ALTER TABLE") {
        Ok(target) => target,
        Err(_) if if_exists && !objects::exists(context, &known) => return Ok(Outcome::Done),
        Err(error) => return Err(error),
    };
    let definition = &target.table.definition;
    let name = column_name(definition, column)?;
    let (id, number) = (alter::find(definition, &name)?, definition.id);
    let generation = definition.column_by_id(id).and_then(|column| column.generation.clone());
    let missing = |what: &str| {
        let text = format!("column '{name}' of table '{}' is not {what}", definition.name);
        Error::invalid(SqlState::ObjectNotInPrerequisiteState, text)
    };
    let (what, if_missing) = match change {
        GeneratedChange::Identity { .. } => ("an identity column", false),
        GeneratedChange::DropIdentity { if_exists } => ("an identity column", if_exists),
        GeneratedChange::DropExpression { if_exists } => ("a generated column", if_exists),
    };
    let fits = matches!(
        (&change, &generation),
        (GeneratedChange::DropExpression { .. }, Some(Generation::Stored(_)))
            | (
                GeneratedChange::DropIdentity { .. } | GeneratedChange::Identity { .. },
                Some(Generation::Identity { .. })
            )
    );
    if !fits {
        if if_missing {
            context.say(Severity::Notice, SqlState::SuccessfulCompletion, format!("{}, skipped", missing(what)));
            return Ok(Outcome::Done);
        }
        return Err(missing(what));
    }
    write(context, &target.store, move |transaction| {
        let mut definition = (*index::definition_of(transaction.base(), number)?).clone();
        let Some(column) = definition.columns.iter_mut().find(|column| column.id == id) else {
            return Err(Error::invalid(SqlState::ObjectNotInPrerequisiteState, "the column was dropped meanwhile"));
        };
        let generation = column.generation.take();
        match (change, generation) {
            (
                GeneratedChange::Identity { always, options },
                Some(Generation::Identity { always: before, sequence }),
            ) => {
                refuse_owner(&options)?;
                let record = transaction.sequence(sequence)?;
                let (changed, restart) = sequence::altered(&record, &options)?;
                transaction.alter_sequence(changed, restart)?;
                column.generation = Some(Generation::Identity { always: always.unwrap_or(before), sequence });
            }
            (GeneratedChange::DropIdentity { .. }, Some(Generation::Identity { sequence, .. })) => {
                transaction.drop_sequence(sequence)?;
            }
            _ => {}
        }
        Ok(transaction.alter_table(definition)?)
    })
    .await?;
    Ok(Outcome::Done)
}

/// What SHOW CREATE TABLE says of the sequence of an identity column: what is not the usual.
pub(crate) fn shown_options(snapshot: &Snapshot, sequence: u64) -> String {
    let mut all = snapshot.sequences.values();
    let Some(record) = all.find(|record| record.definition.number == sequence) else { return String::new() };
    let own = &record.definition;
    let ascends = own.increment > 0;
    let usual = if ascends { (1, range(own.bits).1) } else { (range(own.bits).0, -1) };
    let mut options = Vec::new();
    if own.increment != 1 {
        options.push(format!("INCREMENT BY {}", own.increment));
    }
    if own.least != usual.0 {
        options.push(format!("MINVALUE {}", own.least));
    }
    if own.most != usual.1 {
        options.push(format!("MAXVALUE {}", own.most));
    }
    if own.start != if ascends { own.least } else { own.most } {
        options.push(format!("START WITH {}", own.start));
    }
    if own.cache != 1 {
        options.push(format!("CACHE {}", own.cache));
    }
    if own.cycle {
        options.push("CYCLE".to_owned());
    }
    options.join(" ")
}
