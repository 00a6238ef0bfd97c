//! `ALTER TABLE t SET (layout = '…', sort_by = '…')` and `ALTER TABLE t ALTER COLUMN c SET (packing = 'vbp', …)`: the table is written
//! anew in its new design and order, all or nothing, while others read the old records.

use crate::session::{Outcome, StatementContext, StatementProgress, did_you_mean};
use crate::sql::alter_design::{AlterDesign, DesignChange};
use crate::sql::layout;
use crate::sql::names::column_name;
use crate::statements::ddl::definition;
use crate::statements::table_reference;
use crate::{Error, Result};
use gingham_storage::model::{Arrangement, ColumnDesign, has_segments};
use gingham_storage::{SqlState, TableDefinition};
use std::sync::Arc;

/// Runs the statement.
pub(crate) async fn run(context: &StatementContext, statement: AlterDesign) -> Result<Outcome> {
    context.require_alone("ALTER TABLE … SET (…)")?;
    let AlterDesign { table, if_exists, changes } = statement;
    let known = context.name(&table_reference(&table)?)?;
    let target = match crate::statements::writable(context, &table, "ALTER TABLE") {
        Ok(target) => target,
        Err(_) if if_exists && !crate::statements::ddl::objects::exists(context, &known) => return Ok(Outcome::Done),
        Err(error) => return Err(error),
    };
    let (cancel, threads, options) = (context.cancel.clone(), context.settings().threads, context.write_options());
    let store = Arc::clone(&target.store);
    context
        .in_line(&store, move || {
            let table = &target.table.definition;
            let arrangement = changed(table, &changes)?;
            // Our error travels beside the store's, which has an error type of its own.
            let mut own = None;
            let mut watch = |records, total| {
                cancel.report(StatementProgress { done: records, total, records });
                // With the last record there is nothing left but the commit.
                let ended = if records == total { cancel.commit_point() } else { cancel.check() };
                ended.map_err(|error| {
                    own = Some(error);
                    gingham_storage::Error::Cancelled
                })
            };
            let result = target.store.set_arrangement(&table.name, &arrangement, threads, &mut watch, &options);
            match (result, own) {
                (_, Some(error)) => Err(error),
                (result, None) => Ok(result.map(|_| ())?),
            }
        })
        .await?;
    Ok(Outcome::Done)
}

/// The arrangement of a table after all changes.
fn changed(definition: &TableDefinition, changes: &[DesignChange]) -> Result<Arrangement> {
    let mut changed = definition.clone();
    for DesignChange { column, options } in changes {
        let options = definition::pairs(options, "ALTER TABLE … SET")?;
        match column {
            Some(column) => {
                let name = column_name(&changed, column)?;
                set_column(&mut changed, &name, &options)?;
            }
            None => set_table(&mut changed, &options)?,
        }
    }
    changed.design.validate(&changed)?;
    // Two designs that say the same are equal.
    changed.design.columns.retain(|own| *own != ColumnDesign::new(own.column));
    changed.design.columns.sort_by_key(|own| own.column);
    Ok(Arrangement::present(&changed))
}

fn set_table(definition: &mut TableDefinition, options: &[(String, String)]) -> Result<()> {
    // A layout says all: what else is asked for changes it, whichever was written first.
    let (layouts, others): (Vec<_>, Vec<_>) = options.iter().partition(|(key, _)| key == "layout");
    for (key, value) in layouts.into_iter().chain(others) {
        match key.as_str() {
            "layout" if layout::is_auto(value) => {
                definition.auto = Some("the design that it had, until OPTIMIZE".to_owned());
            }
            "layout" => {
                definition.auto = None;
                let mut design = layout::design(value, definition)?;
                // A layout says nothing of encodings; pages have none.
                let kept = definition.design.columns.iter().filter(|_| design.heap.is_none()).collect::<Vec<_>>();
                for own in kept {
                    design.column_mut(own.column).encoding = own.encoding;
                }
                definition.design = design;
            }
            "encoding" => {
                let mut design = definition.design.clone();
                layout::encodings(value, definition, &mut design)?;
                definition.design = design;
            }
            "packing" => {
                let mut design = definition.design.clone();
                layout::packings(value, definition, &mut design)?;
                definition.design = design;
            }
            "sort_by" => definition.sort_by = definition::sort_by(definition, value)?,
            "page_size" | "deletes" => layout::page_option(key, value, &mut definition.design)?,
            _ => {
                let known = ["layout", "packing", "encoding", "sort_by", "page_size", "deletes"];
                return Err(unknown(key, "a table that can be changed", &known));
            }
        }
    }
    Ok(())
}

fn set_column(definition: &mut TableDefinition, name: &str, options: &[(String, String)]) -> Result<()> {
    let column = crate::statements::ddl::alter::find(definition, name)?;
    for (key, value) in options {
        if key == "packing" {
            layout::packing_of(value, column, &mut definition.design)?;
            continue;
        }
        let own = definition.design.column_mut(column);
        match key.as_str() {
            "encoding" => own.encoding = layout::encoding(value)?,
            "segment_bits" => {
                own.segment_bits = Some(value.trim().parse().map_err(|_| {
                    Error::invalid(
                        SqlState::InvalidParameterValue,
                        format!("column '{name}': segment_bits is 256 or 512, not '{value}'"),
                    )
                })?);
            }
            _ => return Err(unknown(key, "a column", &["packing", "encoding", "segment_bits"])),
        }
    }
    let packing = definition.design.choice(column).packing;
    if options.iter().any(|(key, _)| key == "segment_bits") && !has_segments(packing) {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("column '{name}' can't have segment_bits with packing {packing}: only vbp has segments"),
        ));
    }
    Ok(())
}

fn unknown(key: &str, of: &str, known: &[&str]) -> Error {
    Error::invalid(
        SqlState::InvalidParameterValue,
        format!(
            "option '{key}' does not exist (the options of {of} are {}){}",
            known.join(", "),
            did_you_mean(key, known.iter().copied())
        ),
    )
}
