//! The clauses of a MERGE: what each asks of the joined rows, and what it makes of those that it takes.

use crate::bind::{MergeClauseShape, MergeSide};
use crate::session::StatementContext;
use crate::sql::names::{column_name, unsupported};
use crate::sql::writes::{Overriding, does_nothing, overriding_in_merge};
use crate::statements::dml::change;
use crate::statements::dml::columns::{check_columns, filled};
use crate::statements::dml::defaults::value_of;
use crate::statements::dml::generated;
use crate::statements::dml::ingest::Converter;
use crate::statements::dml::values::{check_width, is_default};
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Schema};
use datafusion::sql::sqlparser::ast::{
    Expr, MergeAction, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr,
};
use gingham_storage::{SqlState, TableDefinition};
use std::sync::Arc;

/// What a clause does with the rows that it takes.
pub(super) struct MergedClause {
    pub(super) side: MergeSide,
    pub(super) condition: Option<Expr>,
    /// What it gives of each row.
    pub(super) values: Vec<Expr>,
    pub(super) does: Doing,
}

/// Its action.
pub(super) enum Doing {
    /// Nothing: its rows are those of no clause behind it.
    Nothing,
    Delete,
    /// The new record has a value in the columns at these places, in the order of the values, and is as the old one else.
    Update {
        changed: Vec<usize>,
        converter: Converter,
    },
    /// A new record of the values.
    Insert(Converter),
}

impl Doing {
    /// What merge_action() calls it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Delete => "DELETE",
            Self::Update { .. } => "UPDATE",
            Self::Insert(_) => "INSERT",
        }
    }
}

/// Refuses clauses that no row can come to: they stand behind one about the same rows that takes all of them.
pub(super) fn reachable(clauses: &[MergeClause]) -> Result<()> {
    for (at, clause) in clauses.iter().enumerate() {
        let same = |other: &&MergeClause| side(other.clause_kind) == side(clause.clause_kind);
        if clauses[..at].iter().filter(same).any(|before| before.predicate.is_none()) {
            return Err(Error::invalid(
                SqlState::SyntaxError,
                format!("MERGE: WHEN {} stands behind one without AND, which takes all rows", clause.clause_kind),
            ));
        }
    }
    Ok(())
}

fn side(kind: MergeClauseKind) -> MergeSide {
    match kind {
        MergeClauseKind::Matched => MergeSide::Both,
        MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => MergeSide::Source,
        MergeClauseKind::NotMatchedBySource => MergeSide::Target,
    }
}

impl MergedClause {
    /// What a clause says, for a table.
    pub(super) fn of(
        context: &StatementContext,
        definition: &Arc<TableDefinition>,
        clause: &MergeClause,
    ) -> Result<Self> {
        let side = side(clause.clause_kind);
        let condition = clause.predicate.clone();
        let (values, does) = match &clause.action {
            action if does_nothing(action) => (Vec::new(), Doing::Nothing),
            MergeAction::Delete { .. } if side != MergeSide::Source => (Vec::new(), Doing::Delete),
            MergeAction::Update(update) if side != MergeSide::Source => updated(context, definition, update)?,
            MergeAction::Insert(insert) if side == MergeSide::Source => inserted(context, definition, insert)?,
            action => return Err(unsupported(format!("MERGE … WHEN {} THEN {action}", clause.clause_kind))),
        };
        Ok(Self { side, condition, values, does })
    }

    /// How its items stand in the query.
    pub(super) fn shape(&self) -> MergeClauseShape {
        let (has_condition, values) = (self.condition.is_some(), self.values.len());
        MergeClauseShape { side: self.side, has_condition, values }
    }

    /// Refuses values whose types don't convert.
    pub(super) fn accept(&self, values: &[FieldRef], definition: &TableDefinition) -> Result<()> {
        match &self.does {
            Doing::Nothing | Doing::Delete => Ok(()),
            Doing::Insert(converter) => converter.accept(&Schema::new(values.to_vec())),
            Doing::Update { changed, converter } => {
                let mut fields: Vec<FieldRef> = definition.arrow_schema().fields().to_vec();
                for (place, value) in changed.iter().zip(values) {
                    fields[*place] = Arc::clone(value);
                }
                converter.accept(&Schema::new(fields))
            }
        }
    }

    /// The new records of rows that it takes: of their old ones and of its values.
    pub(super) fn new_records(&self, old: &[ArrayRef], values: &RecordBatch) -> Result<Option<RecordBatch>> {
        match &self.does {
            Doing::Nothing | Doing::Delete => Ok(None),
            Doing::Insert(converter) => Ok(Some(converter.convert(values)?)),
            Doing::Update { changed, converter } => {
                let mut columns = old.to_vec();
                for (place, value) in changed.iter().zip(values.columns()) {
                    columns[*place] = Arc::clone(value);
                }
                let fields = columns.iter().enumerate().map(|(place, column)| {
                    arrow::datatypes::Field::new(format!("column{place}"), column.data_type().clone(), true)
                });
                let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
                let options = RecordBatchOptions::new().with_row_count(Some(values.num_rows()));
                Ok(Some(converter.convert(&RecordBatch::try_new_with_options(schema, columns, &options)?)?))
            }
        }
    }
}

fn updated(
    context: &StatementContext,
    definition: &Arc<TableDefinition>,
    update: &MergeUpdateExpr,
) -> Result<(Vec<Expr>, Doing)> {
    let predicates =
        [(update.update_predicate.is_some(), "WHERE"), (update.delete_predicate.is_some(), "DELETE WHERE")];
    change::refuse("MERGE … UPDATE", &predicates)?;
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (ident, value) in change::assignments(update.assignments.clone())? {
        names.push(column_name(definition, &ident)?);
        values.push(value);
    }
    check_columns(definition, &names)?;
    generated::refuse_assigned(definition, names.iter().zip(&values), None)?;
    let place = |name: &String| definition.columns.iter().position(|column| column.name == *name);
    let changed: Vec<usize> = names.iter().filter_map(place).collect();
    let values = values.into_iter().zip(&changed).map(|(value, place)| value_of(value, &definition.columns[*place]));
    let converter = Converter::new(&context.state, definition, None)?;
    Ok((values.collect::<Result<_>>()?, Doing::Update { changed, converter }))
}

fn inserted(
    context: &StatementContext,
    definition: &Arc<TableDefinition>,
    insert: &MergeInsertExpr,
) -> Result<(Vec<Expr>, Doing)> {
    let overriding = overriding_in_merge(insert);
    change::refuse("MERGE … INSERT", &[(insert.insert_predicate.is_some() && overriding.is_none(), "WHERE")])?;
    let MergeInsertKind::Values(values) = &insert.kind else { return Err(unsupported("MERGE … INSERT ROW".into())) };
    let [row] = values.rows.as_slice() else {
        return Err(Error::invalid(SqlState::SyntaxError, "MERGE … INSERT has one row of VALUES"));
    };
    let wrong = || Error::invalid(SqlState::SyntaxError, "MERGE … INSERT (…) names columns of the table");
    let mut given = Vec::with_capacity(insert.columns.len());
    for name in &insert.columns {
        let ident = match name.0.as_slice() {
            [part] => part.as_ident(),
            _ => None,
        };
        given.push(column_name(definition, ident.ok_or_else(wrong)?)?);
    }
    check_columns(definition, &given)?;
    let given = filled(definition, Some(given).filter(|given| !given.is_empty()), row.content.len())?;
    let given = given.unwrap_or_else(|| definition.columns.iter().map(|column| column.name.clone()).collect());
    check_width(given.len(), row.content.len(), None)?;
    // A column whose value is DEFAULT is as one that is not named.
    let is_left = |name: &String| overriding == Some(Overriding::User) && generated::is_identity(definition, name);
    let own = given.into_iter().zip(&row.content).filter(|(name, value)| !is_default(value) && !is_left(name));
    let (given, values): (Vec<String>, Vec<Expr>) = own.map(|(name, value)| (name, value.clone())).unzip();
    generated::refuse_assigned(definition, given.iter().zip(&values), overriding)?;
    Ok((values, Doing::Insert(Converter::new(&context.state, definition, Some(&given))?)))
}
