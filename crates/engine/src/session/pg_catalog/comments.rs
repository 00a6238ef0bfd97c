//! What COMMENT ON says of schemas, relations, columns and constraints, by the numbers that clients know these by.

use crate::postgres::system_table_oid;
use crate::session::pg_catalog::definitions::constraints;
use crate::session::pg_catalog::relations::{ListedRelations, RelationSource, TEMPORARY, index_of};
use crate::session::pg_catalog::rows::Rows;
use gingham_storage::model::CommentSubject;

/// A comment.
#[derive(Debug)]
pub(super) struct KnownComment {
    /// The number of what it is about.
    pub(super) object: i64,
    /// The table of pg_catalog that lists that.
    pub(super) class: &'static str,
    /// The number of the column that it is about; 0 for the object itself.
    pub(super) column: i64,
    pub(super) text: String,
}

/// All comments.
pub(super) fn described(relations: &ListedRelations) -> Vec<KnownComment> {
    let mut all = Vec::new();
    let mut add = |object: i64, class: &'static str, column: i64, text: &str| {
        all.push(KnownComment { object, class, column, text: text.to_owned() });
    };
    for (name, label) in relations.labels.iter().flat_map(|labels| &labels.schemas) {
        if let Some(text) = &label.comment {
            add(relations.schema_oid(name), "pg_namespace", 0, text);
        }
    }
    for (relation, source) in &relations.all {
        match source {
            RelationSource::Table { definition, .. } => {
                for comment in &definition.comments {
                    match &comment.on {
                        CommentSubject::Table => add(relation.oid, "pg_class", 0, &comment.text),
                        CommentSubject::Column(id) => {
                            if let Some(at) = definition.columns.iter().position(|column| column.id == *id) {
                                add(relation.oid, "pg_class", at as i64 + 1, &comment.text);
                            }
                        }
                        CommentSubject::Constraint(name) => {
                            let own = constraints(relation, definition).into_iter().find(|own| own.name == name);
                            own.into_iter().for_each(|own| add(own.oid, "pg_constraint", 0, &comment.text));
                        }
                        CommentSubject::Index(name) => {
                            add(index_of(relations, relation, name), "pg_class", 0, &comment.text);
                        }
                    }
                }
            }
            RelationSource::View(view) => {
                // TEMP views are labelled in their own catalog, which comes behind.
                let is_temporary = relation.schema == TEMPORARY;
                let labels = if is_temporary { relations.labels.get(1) } else { relations.labels.first() };
                let label = labels.and_then(|labels| labels.views.get(&view.name));
                let text = label.and_then(|label| label.comment.as_deref());
                text.into_iter().for_each(|text| add(relation.oid, "pg_class", 0, text));
            }
            RelationSource::Sequence(record) => {
                let text = record.definition.comment.as_deref();
                text.into_iter().for_each(|text| add(relation.oid, "pg_class", 0, text));
            }
            RelationSource::Index(_) | RelationSource::Other => {}
        }
    }
    all
}

/// The rows of pg_description.
pub(super) fn descriptions(relations: &ListedRelations, rows: &mut Rows) {
    for own in described(relations) {
        rows.push([
            ("objoid", own.object.into()),
            ("classoid", system_table_oid(own.class).into()),
            ("objsubid", own.column.into()),
            ("description", own.text.into()),
        ]);
    }
}
