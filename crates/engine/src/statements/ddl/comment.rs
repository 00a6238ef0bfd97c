//! COMMENT ON.

use crate::session::{Outcome, StatementContext};
use crate::sql::define::{CommentObject, ObjectKind};
use crate::sql::names::{column_name, fold};
use crate::statements::ddl::{index, objects, sequence};
use crate::statements::{is_view, table_reference, write};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::ObjectName;
use gingham_storage::model::CommentSubject;
use gingham_storage::store::Store;
use gingham_storage::{SqlState, TableDefinition};
use std::sync::Arc;

/// Runs COMMENT ON.
pub(crate) async fn run(context: &StatementContext, on: CommentObject, text: Option<String>) -> Result<Outcome> {
    match on {
        CommentObject::Object(ObjectKind::Schema, name) => {
            let name = objects::schema_of(&name)?;
            let store = Arc::clone(&context.session.engine.store);
            write(context, &store, move |transaction| Ok(transaction.comment_schema(&name, text)?)).await?;
        }
        CommentObject::Object(ObjectKind::Sequence, name) => {
            let reference = table_reference(&name)?;
            let Some((record, store)) = sequence::find(context, &reference)? else {
                return Err(sequence::unknown(context, &reference)?);
            };
            let number = record.definition.number;
            write(context, &store, move |transaction| {
                let mut definition = transaction.sequence(number)?.definition;
                definition.comment = text;
                Ok(transaction.alter_sequence(definition, None)?)
            })
            .await?;
        }
        CommentObject::Object(ObjectKind::View, name) => {
            let (store, name) = objects::view_named(context, &name)?;
            write(context, &store, move |transaction| Ok(transaction.comment_view(&name, text)?)).await?;
        }
        CommentObject::Object(ObjectKind::Table, name) => {
            let (store, definition) = table(context, &name)?;
            set(context, store, &definition, CommentSubject::Table, text).await?;
        }
        CommentObject::Object(ObjectKind::Index, name) => {
            let (store, definition, index) = index::named(context, &name)?;
            set(context, store, &definition, CommentSubject::Index(index), text).await?;
        }
        CommentObject::Constraint(constraint, name) => {
            let (store, definition) = table(context, &name)?;
            let constraint = fold(&constraint);
            if !definition.constraint_names().any(|name| *name == constraint) {
                return Err(Error::invalid(
                    SqlState::UndefinedObject,
                    format!("table '{}' has no constraint '{constraint}'", definition.name),
                ));
            }
            set(context, store, &definition, CommentSubject::Constraint(constraint), text).await?;
        }
        CommentObject::Column(name) => column(context, &name, text).await?,
    }
    Ok(Outcome::Done)
}

async fn column(context: &StatementContext, name: &ObjectName, text: Option<String>) -> Result<()> {
    let wrong = || Error::invalid(SqlState::SyntaxError, format!("COMMENT ON COLUMN {name}: write table.column"));
    let (column, before) = name.0.split_last().ok_or_else(wrong)?;
    let ident = column.as_ident().ok_or_else(wrong)?;
    if before.is_empty() {
        return Err(wrong());
    }
    let before = ObjectName(before.to_vec());
    let reference = table_reference(&before)?;
    if is_view(context, &context.name(&reference)?) {
        return Err(Error::Unsupported(format!("a comment on a column of a view ('{before}') is not supported")));
    }
    let (store, definition) = table(context, &before)?;
    let id = crate::statements::ddl::alter::find(&definition, &column_name(&definition, ident)?)?;
    set(context, store, &definition, CommentSubject::Column(id), text).await
}

fn table(context: &StatementContext, name: &ObjectName) -> Result<(Arc<Store>, Arc<TableDefinition>)> {
    let reference = table_reference(name)?;
    crate::statements::refuse_others(context, &reference, "COMMENT ON TABLE")?;
    context.defined(&reference)
}

/// Sets or removes a comment of a table's definition.
async fn set(
    context: &StatementContext,
    store: Arc<Store>,
    definition: &TableDefinition,
    on: CommentSubject,
    text: Option<String>,
) -> Result<()> {
    let table = definition.id;
    write(context, &store, move |transaction| Ok(transaction.comment_table(table, on, text)?)).await
}
