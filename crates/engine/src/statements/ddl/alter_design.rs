//! `ALTER TABLE t SET (layout = '…')` and `ALTER TABLE t ALTER COLUMN c SET (packing = 'vbp', …)`: the table is written
//! anew in its new design, all or nothing, while others read the old records.

use crate::session::{Outcome, StatementContext, did_you_mean};
use crate::statements::ddl::{definition, layout};
use crate::statements::{fold, table_reference};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, SqlOption};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use gingham_storage::model::has_segments;
use gingham_storage::{Design, TableDefinition};
use std::sync::Arc;

/// ALTER TABLE that changes a table's design.
#[derive(Debug, Clone)]
pub(crate) struct AlterDesign {
    /// The table.
    pub(crate) table: ObjectName,
    /// IF EXISTS.
    pub(crate) if_exists: bool,
    /// What to change, in order.
    changes: Vec<DesignChange>,
}

/// One SET.
#[derive(Debug, Clone)]
struct DesignChange {
    /// The column that is changed; `None` for the table.
    column: Option<Ident>,
    /// Names and values.
    options: Vec<SqlOption>,
}

/// Whether the parser stands at an ALTER TABLE whose first change is SET (…).
pub(crate) fn starts(parser: &Parser<'_>) -> bool {
    let token = |position| &parser.peek_nth_token_ref(position).token;
    let keyword = |position, wanted: Keyword| matches!(token(position), Token::Word(word) if word.quote_style.is_none() && word.keyword == wanted);
    if !keyword(0, Keyword::ALTER) || !keyword(1, Keyword::TABLE) {
        return false;
    }
    let mut next = if keyword(2, Keyword::IF) && keyword(3, Keyword::EXISTS) { 4 } else { 2 };
    while matches!(token(next), Token::Word(_)) && *token(next + 1) == Token::Period {
        next += 2;
    }
    next += 1;
    if keyword(next, Keyword::ALTER) {
        next += if keyword(next + 1, Keyword::COLUMN) { 3 } else { 2 };
    }
    keyword(next, Keyword::SET) && *token(next + 1) == Token::LParen
}

/// Parses the statement that [`starts`] found.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Result<AlterDesign, ParserError> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::TABLE])?;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let table = parser.parse_object_name(false)?;
    let changes = parser.parse_comma_separated(|parser| {
        let column = match parser.parse_keyword(Keyword::ALTER) {
            true => {
                let _ = parser.parse_keyword(Keyword::COLUMN);
                Some(parser.parse_identifier()?)
            }
            false => None,
        };
        let options = parser.parse_options(Keyword::SET)?;
        if options.is_empty() {
            return parser.expected_ref("SET (…), which goes with no other change", parser.peek_token_ref());
        }
        Ok(DesignChange { column, options })
    })?;
    Ok(AlterDesign { table, if_exists, changes })
}

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
            let design = changed(table, &changes)?;
            // Our error travels beside the store's, which has an error type of its own.
            let mut own = None;
            let mut watch = |records, total| {
                cancel.report(records, total);
                // With the last record there is nothing left but the commit.
                let ended = if records == total { cancel.commit_point() } else { cancel.check() };
                ended.map_err(|error| {
                    own = Some(error);
                    gingham_storage::Error::Cancelled
                })
            };
            let result = target.store.set_design_with(&table.name, design, threads, &mut watch, &options);
            match (result, own) {
                (_, Some(error)) => Err(error),
                (result, None) => Ok(result.map(|_| ())?),
            }
        })
        .await?;
    Ok(Outcome::Done)
}

/// The design of a table after all changes.
fn changed(definition: &TableDefinition, changes: &[DesignChange]) -> Result<Design> {
    let mut changed = definition.clone();
    for DesignChange { column, options } in changes {
        let options = definition::pairs(options, "ALTER TABLE … SET")?;
        match column {
            Some(column) => set_column(&mut changed, &fold(column), &options)?,
            None => set_table(&mut changed, &options)?,
        }
    }
    changed.design.validate(&changed)?;
    Ok(changed.design)
}

fn set_table(definition: &mut TableDefinition, options: &[(String, String)]) -> Result<()> {
    // A layout says all: what else is asked for changes it, whichever was written first.
    let (layouts, others): (Vec<_>, Vec<_>) = options.iter().partition(|(key, _)| key == "layout");
    for (key, value) in layouts.into_iter().chain(others) {
        match key.as_str() {
            "layout" => {
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
            "sort_by" => {
                return Err(Error::Unsupported("ALTER TABLE … SET (sort_by = …) is not supported yet".to_owned()));
            }
            "page_size" | "deletes" => layout::page_option(key, value, &mut definition.design)?,
            _ => {
                let known = ["layout", "encoding", "page_size", "deletes"];
                return Err(unknown(key, "a table that can be changed", &known));
            }
        }
    }
    Ok(())
}

fn set_column(definition: &mut TableDefinition, name: &str, options: &[(String, String)]) -> Result<()> {
    let column = crate::statements::ddl::alter::find(definition, name)?;
    let own = definition.design.column_mut(column);
    for (key, value) in options {
        match key.as_str() {
            "packing" => own.packing = Some(layout::packing(value)?),
            "encoding" => own.encoding = layout::encoding(value)?,
            "segment_bits" => {
                own.segment_bits = Some(value.trim().parse().map_err(|_| {
                    Error::InvalidInput(format!("column '{name}': segment_bits is 256 or 512, not '{value}'"))
                })?);
            }
            _ => return Err(unknown(key, "a column", &["packing", "encoding", "segment_bits"])),
        }
    }
    let packing = definition.design.choice(column).packing;
    if options.iter().any(|(key, _)| key == "segment_bits") && !has_segments(packing) {
        return Err(Error::InvalidInput(format!(
            "column '{name}' can't have segment_bits with packing {packing}: only vbp has segments"
        )));
    }
    Ok(())
}

fn unknown(key: &str, of: &str, known: &[&str]) -> Error {
    Error::InvalidInput(format!(
        "option '{key}' does not exist (the options of {of} are {}){}",
        known.join(", "),
        did_you_mean(key, known.iter().copied())
    ))
}
