//! CREATE TABLE (LIKE t INCLUDING …): the columns of another table, and what is taken over with them.

use crate::session::Severity;
use crate::sql::definitions::LikeTable;
use crate::sql::dialect::Gingham;
use crate::statements::ddl::constraints::{ConstraintScope, Constraints};
use crate::statements::ddl::identity::ColumnSequence;
use crate::statements::table_reference;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::parser::Parser;
use gingham_storage::model::CommentSubject;
use gingham_storage::{ColumnDefinition, ColumnId, Generation, IndexDefinition, SqlState, TableDefinition};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a LIKE takes over besides columns, their types and NOT NULL.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    comments: bool,
    constraints: bool,
    defaults: bool,
    generated: bool,
    identity: bool,
    indexes: bool,
    /// What has no meaning here.
    others: bool,
}

/// Indexes and comments of a table that LIKE names, which need the names that constraints get.
#[derive(Debug)]
pub(crate) struct TakenOver {
    of: Arc<TableDefinition>,
    /// The columns there and here.
    columns: BTreeMap<ColumnId, ColumnId>,
    comments: bool,
    indexes: bool,
}

fn parts(like: &LikeTable) -> Result<Parts> {
    let mut own = Parts::default();
    for (what, including) in &like.options {
        match what.as_str() {
            "ALL" => {
                let others = false;
                let yes = *including;
                own = Parts {
                    comments: yes,
                    constraints: yes,
                    defaults: yes,
                    generated: yes,
                    identity: yes,
                    indexes: yes,
                    others,
                };
            }
            "COMMENTS" => own.comments = *including,
            "CONSTRAINTS" => own.constraints = *including,
            "DEFAULTS" => own.defaults = *including,
            "GENERATED" => own.generated = *including,
            "IDENTITY" => own.identity = *including,
            "INDEXES" => own.indexes = *including,
            "STATISTICS" | "STORAGE" | "COMPRESSION" => own.others |= *including,
            other => {
                return Err(Error::invalid(
                    SqlState::SyntaxError,
                    format!(
                        "LIKE … INCLUDING {other}: expected ALL, COMMENTS, CONSTRAINTS, DEFAULTS, GENERATED, IDENTITY, INDEXES, \
                         STATISTICS, STORAGE or COMPRESSION"
                    ),
                ));
            }
        }
    }
    Ok(own)
}

/// Adds the columns of the table that LIKE names.
pub(crate) fn add(
    scope: &ConstraintScope<'_>,
    definition: &mut TableDefinition,
    like: &LikeTable,
    constraints: &mut Constraints,
) -> Result<()> {
    let reference = table_reference(&like.name)?;
    let name = scope.context.name(&reference)?;
    if crate::statements::is_view(scope.context, &name) && !scope.context.has_table(&name) {
        return Err(Error::Unsupported(format!("LIKE of a view ('{name}') is not supported; use CREATE TABLE … AS")));
    }
    let (store, of) = scope.context.defined(&reference)?;
    let parts = parts(like)?;
    if parts.others {
        scope.context.say(
            Severity::Notice,
            SqlState::SuccessfulCompletion,
            "LIKE … INCLUDING STATISTICS, STORAGE and COMPRESSION have no effect",
        );
    }
    let snapshot = crate::statements::ddl::sequence::snapshot_of(scope.context, &store);
    let mut columns = BTreeMap::new();
    for column in &of.columns {
        if definition.column(&column.name).is_some() {
            return Err(Error::invalid(
                SqlState::DuplicateColumn,
                format!("column '{}' appears twice in table '{}'", column.name, definition.name),
            ));
        }
        let id = definition.next_column;
        definition.next_column += 1;
        columns.insert(column.id, id);
        let mut own = ColumnDefinition::new(id, column.name.clone(), column.logical_type.clone());
        own.nullable = column.nullable;
        own.default = column.default.clone().filter(|_| parts.defaults);
        match &column.generation {
            Some(Generation::Stored(text)) if parts.generated => {
                own.generation = Some(Generation::Stored(text.clone()));
            }
            Some(Generation::Identity { always, sequence }) if parts.identity => {
                let mut all = snapshot.sequences.values();
                if let Some(record) = all.find(|record| record.definition.number == *sequence) {
                    let mut counting = record.definition.clone();
                    (counting.owner, counting.comment) = (None, None);
                    let identity = Some(*always);
                    constraints.sequences.push(ColumnSequence { column: id, definition: counting, identity });
                }
            }
            _ => {}
        }
        definition.columns.push(own);
    }
    if parts.constraints {
        for check in &of.checks {
            let parsed =
                Parser::new(&Gingham).try_with_sql(&check.condition).and_then(|mut parser| parser.parse_expr());
            let condition = parsed
                .map_err(|error| Error::Internal(format!("CHECK ({}) is not readable: {error}", check.condition)))?;
            constraints.add_condition(Some(check.name.clone()), condition);
        }
    }
    if parts.indexes {
        for key in &of.keys {
            let names = key.columns.iter().filter_map(|id| of.column_by_id(*id));
            let names = names.map(|column| Ident::with_quote('"', &column.name)).collect();
            constraints.add_key(None, names, key.primary);
        }
    }
    let (comments, indexes) = (parts.comments, parts.indexes);
    constraints.taken_over.push(TakenOver { of, columns, comments, indexes });
    Ok(())
}

impl TakenOver {
    /// Adds them.
    pub(crate) fn add(&self, scope: &ConstraintScope<'_>, definition: &mut TableDefinition) {
        if self.indexes {
            for index in self.of.indexes.iter().filter(|index| !index.of_constraint) {
                let columns: Vec<ColumnId> =
                    index.columns.iter().filter_map(|column| self.columns.get(column).copied()).collect();
                let name = crate::statements::ddl::index::free_name(scope.snapshot, definition, &columns);
                let number = definition.indexes.iter().map(|index| index.number + 1).max().unwrap_or(0);
                let (unique, of_constraint) = (index.unique, false);
                definition.indexes.push(IndexDefinition { number, name, columns, unique, of_constraint });
            }
        }
        if !self.comments {
            return;
        }
        for comment in &self.of.comments {
            let on = match &comment.on {
                CommentSubject::Column(column) => self.columns.get(column).copied().map(CommentSubject::Column),
                CommentSubject::Constraint(name) if definition.checks.iter().any(|check| check.name == *name) => {
                    Some(comment.on.clone())
                }
                _ => None,
            };
            if let Some(on) = on {
                definition.set_comment(on, Some(comment.text.clone()));
            }
        }
    }
}
