//! The other side of REFERENCES: keys that go with their records must not be referred to.

use crate::SqlState;
use crate::write::change::RowChange;
use crate::write::keys::encode::{KeyEncoder, key_columns, show, show_names};
use crate::write::keys::new_rows::NewRows;
use crate::write::keys::set::KeySet;
use crate::write::keys::{Left, Lists};
use crate::write::transaction::Transaction;
use crate::{Error, ReferenceDefinition, Result, TableDefinition};
use arrow::array::ArrayRef;
use std::sync::Arc;

/// Checks that no record of any table refers to what the change takes away.
pub(super) fn check(
    transaction: &Transaction<'_>,
    definition: &Arc<TableDefinition>,
    new: &NewRows<'_>,
    change: &RowChange,
) -> Result<()> {
    for other in transaction.table_ids() {
        let referrer = transaction.record(other)?.definition;
        let references = referrer.references.iter().filter(|reference| reference.table == definition.id);
        for reference in references.filter(|reference| change.touches(&reference.referred)) {
            check_reference(transaction, definition, &referrer, reference, new, change)?;
        }
    }
    Ok(())
}

fn check_reference(
    transaction: &Transaction<'_>,
    definition: &Arc<TableDefinition>,
    referrer: &TableDefinition,
    reference: &ReferenceDefinition,
    new: &NewRows<'_>,
    change: &RowChange,
) -> Result<()> {
    let encoder = KeyEncoder::new(definition, &reference.referred)?;
    let mut gone = KeySet::default();
    let mut lists = Lists::new(referrer, &reference.columns);
    for batch in &change.referred {
        let columns = referred_of(definition, batch, reference)?;
        for (row, bytes, hash) in encoder.encode(&columns)?.with_hashes(&reference.columns)? {
            if gone.insert(bytes, hash) {
                lists.add(&columns, row);
            }
        }
    }
    // What is referred to is a key: only a new record can have it again.
    new.for_each(&reference.referred, |columns| {
        encoder.encode(columns)?.iter().for_each(|(_, bytes)| gone.mark(bytes));
        Ok(())
    })?;
    if gone.all_marked() {
        return Ok(());
    }
    let look = |columns: &[ArrayRef]| match encoder.encode(columns)?.iter().find(|(_, bytes)| gone.is_unmarked(bytes)) {
        None => Ok(()),
        Some((row, _)) => Err(Error::constraint(
            SqlState::ForeignKeyViolation,
            format!(
                "key {} = {} of table '{}' is still referred to by {} of table '{}' (constraint '{}')",
                show_names(definition, &reference.referred),
                show(columns, row),
                definition.name,
                show_names(referrer, &reference.columns),
                referrer.name,
                reference.name
            ),
        )),
    };
    let itself = referrer.id == definition.id;
    let table = transaction.current(referrer.id)?;
    let left = Left { table: &table, gone: if itself { &change.ids } else { &[] } };
    left.for_each(&reference.columns, lists.predicate(definition, &reference.referred, None), look)?;
    if itself { new.for_each(&reference.columns, look) } else { Ok(()) }
}

/// The columns that a reference names, of a batch of referred ones.
fn referred_of(
    definition: &TableDefinition,
    batch: &arrow::array::RecordBatch,
    reference: &ReferenceDefinition,
) -> Result<Vec<ArrayRef>> {
    let mut own = definition.clone();
    own.columns.retain(|column| batch.schema_ref().field_with_name(&column.name).is_ok());
    let columns = key_columns(&own, batch, &reference.referred);
    if columns.len() == reference.referred.len() {
        return Ok(columns);
    }
    Err(Error::invalid(
        SqlState::ObjectNotInPrerequisiteState,
        format!(
            "constraint '{}' refers to columns of table '{}' that were not read; try again",
            reference.name, definition.name
        ),
    ))
}
