//! The system tables of what has no table of its own: comments and sequences.

use crate::Result;
use crate::session::Session;
use crate::session::system_columns::SystemColumns;
use arrow::array::RecordBatch;
use gingham_storage::model::CommentSubject;
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{LogicalType, SequenceRecord};
use std::sync::Arc;

/// One comment.
struct CommentRow<'s> {
    kind: &'static str,
    schema: &'s str,
    object: Option<&'s str>,
    part: Option<&'s str>,
    text: &'s str,
}

/// The comments, by what they are about.
pub(super) fn comments(snapshots: &[&Snapshot]) -> Result<RecordBatch> {
    let mut rows = Vec::new();
    for snapshot in snapshots {
        for (name, label) in &snapshot.labels.schemas {
            let text = label.comment.as_deref();
            let row = |text| CommentRow { kind: "schema", schema: name, object: None, part: None, text };
            rows.extend(text.map(row));
        }
        for (name, label) in &snapshot.labels.views {
            if let Some(text) = label.comment.as_deref() {
                let (schema, object) = (name.schema.as_str(), Some(name.table.as_str()));
                rows.push(CommentRow { kind: "view", schema, object, part: None, text });
            }
        }
        for (name, record) in &snapshot.sequences {
            if let Some(text) = record.definition.comment.as_deref() {
                let (schema, object) = (name.schema.as_str(), Some(name.table.as_str()));
                rows.push(CommentRow { kind: "sequence", schema, object, part: None, text });
            }
        }
        for (name, table) in snapshot.definitions() {
            for comment in &table.comments {
                let (kind, part) = match &comment.on {
                    CommentSubject::Table => ("table", None),
                    CommentSubject::Column(id) => {
                        ("column", table.column_by_id(*id).map(|column| column.name.as_str()))
                    }
                    CommentSubject::Constraint(constraint) => ("constraint", Some(constraint.as_str())),
                    CommentSubject::Index(index) => ("index", Some(index.as_str())),
                };
                let (schema, object) = (name.schema.as_str(), Some(name.table.as_str()));
                rows.push(CommentRow { kind, schema, object, part, text: &comment.text });
            }
        }
    }
    let mut columns = SystemColumns::default();
    columns.text("object_kind", rows.iter().map(|row| Some(row.kind.into())));
    columns.text("schema_name", rows.iter().map(|row| Some(row.schema.into())));
    columns.text("object_name", rows.iter().map(|row| row.object.map(Into::into)));
    columns.text("part_name", rows.iter().map(|row| row.part.map(Into::into)));
    columns.text("comment", rows.iter().map(|row| Some(row.text.into())));
    columns.batch()
}

/// The sequences, those of identity columns too.
pub(super) fn sequences(session: &Session, snapshots: &[(&Snapshot, bool)]) -> Result<RecordBatch> {
    let mut rows: Vec<(&Snapshot, &Arc<SequenceRecord>, bool)> = Vec::new();
    for (snapshot, temporary) in snapshots {
        rows.extend(snapshot.sequences.values().map(|record| (*snapshot, record, *temporary)));
    }
    let shown = |record: &SequenceRecord, temporary: bool| {
        let temp = session.existing_temp_store().filter(|_| temporary);
        let (last, _, called) = temp.unwrap_or(&session.engine.store).sequence_shown(record);
        called.then_some(last)
    };
    let owner = |snapshot: &Snapshot, record: &SequenceRecord| {
        let owner = record.definition.owner?;
        let mut tables = snapshot.definitions().map(|(_, table)| table);
        let table = tables.find(|table| table.id == owner.table)?;
        let column = table.column_by_id(owner.column)?.name.clone();
        Some((table.name.to_string(), column, owner.identity))
    };
    let owners: Vec<_> = rows.iter().map(|(snapshot, record, _)| owner(snapshot, record)).collect();
    let definitions = || rows.iter().map(|(_, record, _)| &record.definition);
    let mut columns = SystemColumns::default();
    columns.text("sequence_schema", definitions().map(|own| Some(own.name.schema.as_str().into())));
    columns.text("sequence_name", definitions().map(|own| Some(own.name.table.as_str().into())));
    columns.flag("temporary", rows.iter().map(|(.., temporary)| Some(*temporary)));
    columns.text("data_type", definitions().map(|own| Some(LogicalType::Int(own.bits).to_string().into())));
    columns.integer("start_value", definitions().map(|own| Some(own.start)));
    columns.integer("min_value", definitions().map(|own| Some(own.least)));
    columns.integer("max_value", definitions().map(|own| Some(own.most)));
    columns.integer("increment_by", definitions().map(|own| Some(own.increment)));
    columns.flag("cycle", definitions().map(|own| Some(own.cycle)));
    columns.number("cache_size", definitions().map(|own| Some(own.cache)));
    columns.integer("last_value", rows.iter().map(|(_, record, temporary)| shown(record, *temporary)));
    columns.text("owner_table", owners.iter().map(|own| own.as_ref().map(|(table, ..)| table.as_str().into())));
    columns.text("owner_column", owners.iter().map(|own| own.as_ref().map(|(_, column, _)| column.as_str().into())));
    columns.flag("identity", owners.iter().map(|own| Some(own.as_ref().is_some_and(|(.., identity)| *identity))));
    columns.batch()
}
