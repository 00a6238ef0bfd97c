//! CREATE SEQUENCE, ALTER SEQUENCE and DROP SEQUENCE.

use crate::session::{Outcome, Severity, StatementContext, did_you_mean};
use crate::sql::column_types::logical_type;
use crate::sql::define::SequenceOptions;
use crate::sql::names::{column_name, unsupported};
use crate::statements::ddl::create;
use crate::statements::{table_reference, write};
use crate::{Error, Result};
use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{DataType, ObjectName};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::store::Store;
use gingham_storage::{LogicalType, SequenceDefinition, SequenceOwner, SequenceRecord, SqlState, TableName};
use std::sync::Arc;

/// Runs CREATE SEQUENCE.
pub(crate) async fn create(
    context: &StatementContext,
    temporary: bool,
    if_not_exists: bool,
    name: &ObjectName,
    options: &SequenceOptions,
) -> Result<Outcome> {
    let reference = table_reference(name)?;
    let place = create::place(context, &reference, temporary)?;
    if if_not_exists && has_relation(&place.snapshot, &place.name) {
        context.say(Severity::Notice, SqlState::DuplicateTable, format!("'{}' exists already, skipped", place.name));
        return Ok(Outcome::Done);
    }
    if options.restart.is_some() {
        return Err(Error::invalid(SqlState::SyntaxError, "CREATE SEQUENCE has START, and no RESTART"));
    }
    let mut definition = SequenceDefinition::new(place.name);
    apply(&mut definition, options, true)?;
    if let Some(Some(owner)) = &options.owner {
        definition.owner = Some(owner_of(context, &place.snapshot, &definition.name, owner)?);
    }
    write(context, &place.store, move |transaction| Ok(transaction.create_sequence(definition).map(drop)?)).await?;
    Ok(Outcome::Done)
}

/// Whether a table, a view or a sequence has that name.
pub(crate) fn has_relation(snapshot: &Snapshot, name: &TableName) -> bool {
    snapshot.has_table(name) || snapshot.views.contains_key(name) || snapshot.sequences.contains_key(name)
}

/// Runs ALTER SEQUENCE.
pub(crate) async fn alter(
    context: &StatementContext,
    if_exists: bool,
    name: &ObjectName,
    options: &SequenceOptions,
) -> Result<Outcome> {
    let reference = table_reference(name)?;
    let Some((record, store)) = find(context, &reference)? else {
        if if_exists {
            say_missing(context, &reference)?;
            return Ok(Outcome::Done);
        }
        return Err(unknown(context, &reference)?);
    };
    if record.definition.owner.is_some_and(|owner| owner.identity) && options.owner.is_some() {
        return Err(Error::Unsupported(format!(
            "sequence '{}' counts for an identity column, whose it stays",
            record.definition.name
        )));
    }
    let snapshot = snapshot_of(context, &store);
    let owner = match &options.owner {
        None => record.definition.owner,
        Some(None) => None,
        Some(Some(owner)) => Some(owner_of(context, &snapshot, &record.definition.name, owner)?),
    };
    let (number, options) = (record.definition.number, options.clone());
    write(context, &store, move |transaction| {
        let before = transaction.sequence(number)?;
        let (definition, restart) = altered(&before, &options)?;
        Ok(transaction.alter_sequence(SequenceDefinition { owner, ..definition }, restart)?)
    })
    .await?;
    Ok(Outcome::Done)
}

/// The definition of a sequence with other options, and where it begins anew, if it does.
pub(crate) fn altered(before: &SequenceRecord, options: &SequenceOptions) -> Result<(SequenceDefinition, Option<i64>)> {
    let mut definition = before.definition.clone();
    apply(&mut definition, options, false)?;
    let restart = options.restart.map(|value| value.unwrap_or(definition.start));
    within(&definition, restart.unwrap_or(before.position.last), "RESTART")?;
    Ok((definition, restart))
}

/// A sequence whose integers have so many bits, as its column's.
pub(crate) fn of_bits(before: &SequenceRecord, bits: u8) -> Result<SequenceDefinition> {
    let data_type = match bits {
        16 => DataType::SmallInt(None),
        32 => DataType::Integer(None),
        _ => DataType::BigInt(None),
    };
    Ok(altered(before, &SequenceOptions { data_type: Some(data_type), ..SequenceOptions::default() })?.0)
}

/// The snapshot of the store that a sequence is kept in.
pub(crate) fn snapshot_of(context: &StatementContext, store: &Arc<Store>) -> Arc<Snapshot> {
    let main = Arc::ptr_eq(store, &context.session.engine.store);
    Arc::clone(context.temp.as_ref().filter(|_| !main).unwrap_or(&context.snapshot))
}

/// The sequence that a name means. Fails where it means something else.
pub(crate) fn find(
    context: &StatementContext,
    reference: &TableReference,
) -> Result<Option<(Arc<SequenceRecord>, Arc<Store>)>> {
    let found = context.find_sequence(reference)?;
    let name = context.name(reference)?;
    if found.is_none() && crate::statements::ddl::objects::exists(context, &name) {
        return Err(Error::invalid(SqlState::WrongObjectType, format!("'{name}' is not a sequence")));
    }
    Ok(found)
}

/// The error that there is no such sequence.
pub(crate) fn unknown(context: &StatementContext, reference: &TableReference) -> Result<Error> {
    let name = context.name(reference)?;
    let known: Vec<String> = context.snapshot.sequences.keys().map(ToString::to_string).collect();
    let suggestion = did_you_mean(&name.to_string(), known.iter().map(String::as_str));
    Ok(Error::invalid(SqlState::UndefinedTable, format!("sequence '{name}' does not exist{suggestion}")))
}

pub(crate) fn say_missing(context: &StatementContext, reference: &TableReference) -> Result<()> {
    let name = context.name(reference)?;
    context.say(Severity::Notice, SqlState::SuccessfulCompletion, format!("sequence '{name}' does not exist, skipped"));
    Ok(())
}

/// Gives a definition the options; `new` says that the others have their defaults.
pub(crate) fn apply(definition: &mut SequenceDefinition, options: &SequenceOptions, new: bool) -> Result<()> {
    let invalid = |text: String| Err(Error::invalid(SqlState::InvalidParameterValue, text));
    let before = definition.clone();
    if let Some(data_type) = &options.data_type {
        definition.bits = bits(data_type)?;
    }
    if let Some(increment) = options.increment {
        if increment == 0 {
            return invalid("INCREMENT must not be 0".into());
        }
        definition.increment = increment;
    }
    let (range, old) = (range(definition.bits), range(before.bits));
    let ascends = definition.increment > 0;
    let (least, most) = if ascends { (1, range.1) } else { (range.0, -1) };
    // The bound of the type before becomes that of the type now.
    let kept = |own: i64, old_bound: i64, bound: i64| if own == old_bound { bound } else { own };
    definition.least = match options.least {
        Some(value) => value.unwrap_or(least),
        None if new => least,
        None => kept(before.least, old.0, range.0),
    };
    definition.most = match options.most {
        Some(value) => value.unwrap_or(most),
        None if new => most,
        None => kept(before.most, old.1, range.1),
    };
    for (what, value) in [("MINVALUE", definition.least), ("MAXVALUE", definition.most)] {
        if !(range.0..=range.1).contains(&value) {
            return invalid(format!("{what} ({value}) is out of range for a sequence of {} bits", definition.bits));
        }
    }
    if definition.least >= definition.most {
        return invalid(format!("MINVALUE ({}) must be less than MAXVALUE ({})", definition.least, definition.most));
    }
    definition.start = match options.start {
        Some(start) => start,
        None if new && ascends => definition.least,
        None if new => definition.most,
        None => definition.start,
    };
    within(definition, definition.start, "START")?;
    if let Some(cache) = options.cache {
        definition.cache = match u64::try_from(cache) {
            Ok(cache @ 1..) => cache,
            _ => return invalid(format!("CACHE ({cache}) must be greater than 0")),
        };
    }
    definition.cycle = options.cycle.unwrap_or(definition.cycle);
    Ok(())
}

fn within(definition: &SequenceDefinition, value: i64, what: &str) -> Result<()> {
    let (side, bound, name) = if value < definition.least {
        ("less", definition.least, "MINVALUE")
    } else if value > definition.most {
        ("greater", definition.most, "MAXVALUE")
    } else {
        return Ok(());
    };
    Err(Error::invalid(
        SqlState::InvalidParameterValue,
        format!("{what} value ({value}) can't be {side} than {name} ({bound})"),
    ))
}

/// Bits of the integers that a sequence counts in.
pub(crate) fn bits(data_type: &DataType) -> Result<u8> {
    match logical_type("sequence", data_type)? {
        LogicalType::Int(bits @ (16 | 32 | 64)) => Ok(bits),
        other => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("a sequence is of type SMALLINT, INTEGER or BIGINT, not {other}"),
        )),
    }
}

/// The least and the greatest integer of so many bits.
pub(crate) fn range(bits: u8) -> (i64, i64) {
    match bits {
        16 => (i16::MIN.into(), i16::MAX.into()),
        32 => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

/// The column that OWNED BY names.
fn owner_of(
    context: &StatementContext,
    snapshot: &Snapshot,
    sequence: &TableName,
    owner: &ObjectName,
) -> Result<SequenceOwner> {
    let wrong = || {
        Error::invalid(
            SqlState::SyntaxError,
            format!("OWNED BY {owner}: write OWNED BY table.column, or OWNED BY NONE"),
        )
    };
    let (column, table) = owner.0.split_last().ok_or_else(wrong)?;
    let column = column.as_ident().ok_or_else(wrong)?;
    if table.is_empty() {
        return Err(wrong());
    }
    let name = context.name(&table_reference(&ObjectName(table.to_vec()))?)?;
    let Some(definition) = snapshot.definition(&name) else {
        return Err(context.unknown_table(&name));
    };
    if name.schema != sequence.schema {
        return Err(Error::invalid(
            SqlState::ObjectNotInPrerequisiteState,
            format!("sequence '{sequence}' must be in the schema of table '{name}', whose column it is for"),
        ));
    }
    let column = crate::statements::ddl::alter::find(definition, &column_name(definition, column)?)?;
    Ok(SequenceOwner { table: definition.id, column, identity: false })
}

/// Runs DROP SEQUENCE: all that are named, or none. With `cascade`, defaults that ask one of them are dropped too.
pub(crate) async fn drop_sequences(
    context: &StatementContext,
    names: &[ObjectName],
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    let mut found: Vec<(Arc<SequenceRecord>, Arc<Store>)> = Vec::new();
    for name in names {
        let reference = table_reference(name)?;
        match find(context, &reference)? {
            Some(one) if found.iter().any(|(known, _)| known.definition.name == one.0.definition.name) => {}
            Some(one) => found.push(one),
            None if if_exists => say_missing(context, &reference)?,
            None => return Err(unknown(context, &reference)?),
        }
    }
    for (record, _) in &found {
        if record.definition.owner.is_some_and(|owner| owner.identity) {
            return Err(Error::constraint(
                SqlState::DependentObjectsStillExist,
                format!(
                    "sequence '{}' can't be dropped: an identity column needs it; ALTER TABLE … ALTER COLUMN … DROP IDENTITY \
                     drops both",
                    record.definition.name
                ),
            ));
        }
    }
    let mut stores: Vec<Arc<Store>> = Vec::new();
    for (_, store) in &found {
        if !stores.iter().any(|known| Arc::ptr_eq(known, store)) {
            stores.push(Arc::clone(store));
        }
    }
    for store in stores {
        let own = found.iter().filter(|(_, other)| Arc::ptr_eq(other, &store));
        let records: Vec<Arc<SequenceRecord>> = own.map(|(record, _)| Arc::clone(record)).collect();
        let snapshot = snapshot_of(context, &store);
        let mut changed = Vec::new();
        for (_, table) in snapshot.definitions() {
            let mut after = (**table).clone();
            for column in &mut after.columns {
                let asks = |text: &String| {
                    records.iter().any(|record| crate::session::sequence_defaults::asks(text, &record.definition.name))
                };
                if column.default.as_ref().is_some_and(asks) {
                    if !cascade {
                        return Err(crate::statements::ddl::cascade::still_needed(
                            &format!(
                                "sequence '{}'",
                                records.first().map_or_else(String::new, |own| own.definition.name.to_string())
                            ),
                            &[format!("the default of column '{}' of table '{}'", column.name, table.name)],
                        ));
                    }
                    column.default = None;
                }
            }
            if after != **table {
                context.say(
                    Severity::Notice,
                    SqlState::SuccessfulCompletion,
                    format!("drop cascades to defaults of table '{}'", table.name),
                );
                changed.push(after);
            }
        }
        write(context, &store, move |transaction| {
            changed.into_iter().try_for_each(|definition| transaction.alter_table(definition))?;
            Ok(records.iter().try_for_each(|record| transaction.drop_sequence(record.definition.number))?)
        })
        .await?;
    }
    Ok(())
}

/// The error of an option that is not offered here.
pub(crate) fn refuse_owner(options: &SequenceOptions) -> Result<()> {
    match options.owner {
        Some(_) => Err(unsupported("OWNED BY of an identity column's sequence".into())),
        None => Ok(()),
    }
}
