//! MERGE INTO t USING s ON c WHEN …: each clause is a query of its own over the statement's snapshot, for the rows that no
//! clause before it takes. What all of them find is written in one transaction, unless the table was changed since.

use crate::session::{Outcome, StatementContext, TargetTable, blocking};
use crate::sql::names::column_name;
use crate::sql::names::unsupported;
use crate::statements::dml::change::{FoundRecords, New, RecordChange, Work, find, select};
use crate::statements::dml::generated;
use crate::statements::dml::ingest::Ingest;
use crate::statements::dml::{change, insert, pipeline};
use crate::{Error, Result};
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr as SqlExpr, Ident, Join, JoinConstraint, JoinOperator, Merge, MergeAction, MergeClause,
    MergeClauseKind, MergeInsertExpr, MergeInsertKind, ObjectName, SelectItem, SetExpr, TableFactor, TableWithJoins,
    With,
};
use gingham_storage::SqlState;

/// MERGE.
pub(crate) struct Merging {
    statement: Merge,
    with: Option<With>,
    pub(crate) table: ObjectName,
}

/// Runs MERGE.
pub(crate) async fn run(
    context: &StatementContext,
    statement: Merge,
    with: Option<With>,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let table = named(&statement)?;
    change::run(context, Work::Merge(Box::new(Merging { statement, with, table })), parameters).await
}

impl Merging {
    /// What its clauses change.
    pub(crate) async fn find(
        &self,
        context: &StatementContext,
        target: &TargetTable,
        parameters: Option<ParamValues>,
    ) -> Result<FoundRecords> {
        let mut all = FoundRecords::insert(context, target, Vec::new(), false).await?;
        for number in 0..self.statement.clauses.len() {
            all.absorb(clause(context, target, self, number, parameters.clone()).await?);
        }
        all.require_once(target, "MERGE")?;
        Ok(all)
    }
}

/// The name of the table that is changed; other clauses are refused.
fn named(statement: &Merge) -> Result<ObjectName> {
    let Merge { merge_token: _, optimizer_hints, into: _, table, source: _, on: _, clauses: _, output } = statement;
    change::refuse(
        "MERGE",
        &[(!optimizer_hints.is_empty(), "optimizer hints"), (output.is_some(), "OUTPUT or RETURNING")],
    )?;
    change::plain_table("MERGE", &TableWithJoins { relation: table.clone(), joins: Vec::new() })
}

/// What clause `number` finds.
async fn clause(
    context: &StatementContext,
    target: &TargetTable,
    merging: &Merging,
    number: usize,
    parameters: Option<ParamValues>,
) -> Result<FoundRecords> {
    let Merging { statement, with, table } = merging;
    let own = &statement.clauses[number];
    let condition = condition(&statement.clauses[..number], own);
    let (first, second, inner) = match by(own.clause_kind) {
        MatchSide::Both => (&statement.table, &statement.source, true),
        MatchSide::Target => (&statement.source, &statement.table, false),
        MatchSide::Source => (&statement.table, &statement.source, false),
    };
    let from = joined(first, second, inner, &statement.on);
    let repeated = statement.clauses.len() > 1;
    match (&own.action, by(own.clause_kind)) {
        (MergeAction::Insert(insert), MatchSide::Target) => {
            let reading = ClauseSource { from, condition, repeated, with: with.clone() };
            inserted(context, target, insert, reading, parameters).await
        }
        (MergeAction::Update(update), MatchSide::Both | MatchSide::Source) => {
            let predicates =
                [(update.update_predicate.is_some(), "WHERE"), (update.delete_predicate.is_some(), "DELETE WHERE")];
            change::refuse("MERGE … UPDATE", &predicates)?;
            let assignments = change::assignments(update.assignments.clone())?;
            let change = RecordChange::of("MERGE", table.clone(), vec![from]);
            let change =
                RecordChange { assignments, condition, replaces: true, repeated, with: with.clone(), ..change };
            find(context, target, &change, parameters).await
        }
        (MergeAction::Delete { .. }, MatchSide::Both | MatchSide::Source) => {
            let change = RecordChange::of("MERGE", table.clone(), vec![from]);
            let change = RecordChange { condition, replaces: true, repeated, with: with.clone(), ..change };
            find(context, target, &change, parameters).await
        }
        (MergeAction::Insert(_), _) => Err(unsupported(format!("MERGE … WHEN {} THEN INSERT", own.clause_kind))),
        (action, _) => Err(unsupported(format!("MERGE … WHEN {} THEN {action}", own.clause_kind))),
    }
}

/// Which rows a clause is about: those of both tables, of the source alone (not matched by the target), of the target alone.
#[derive(Clone, Copy, PartialEq)]
enum MatchSide {
    Both,
    Target,
    Source,
}

fn by(kind: MergeClauseKind) -> MatchSide {
    match kind {
        MergeClauseKind::Matched => MatchSide::Both,
        MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => MatchSide::Target,
        MergeClauseKind::NotMatchedBySource => MatchSide::Source,
    }
}

/// The condition of a clause, and that of none of those before it about the same rows.
fn condition(before: &[MergeClause], own: &MergeClause) -> Option<SqlExpr> {
    let before = before.iter().filter(|other| by(other.clause_kind) == by(own.clause_kind)).map(|other| {
        let taken = other.predicate.clone().unwrap_or_else(yes);
        SqlExpr::IsNotTrue(Box::new(SqlExpr::Nested(Box::new(taken))))
    });
    let own = own.predicate.clone().map(|predicate| SqlExpr::Nested(Box::new(predicate)));
    let and = |left, right| SqlExpr::BinaryOp { left: Box::new(left), op: BinaryOperator::And, right: Box::new(right) };
    own.into_iter().chain(before).reduce(and)
}

fn yes() -> SqlExpr {
    SqlExpr::Value(datafusion::sql::sqlparser::ast::Value::Boolean(true).into())
}

/// `first JOIN second ON on`, or those of the first that match none.
fn joined(first: &TableFactor, second: &TableFactor, inner: bool, on: &SqlExpr) -> TableWithJoins {
    let on = JoinConstraint::On(on.clone());
    let join_operator = if inner { JoinOperator::Inner(on) } else { JoinOperator::LeftAnti(on) };
    let join = Join { relation: second.clone(), global: false, join_operator };
    TableWithJoins { relation: first.clone(), joins: vec![join] }
}

/// What a clause reads of the statement's two tables.
struct ClauseSource {
    from: TableWithJoins,
    condition: Option<SqlExpr>,
    /// Other clauses read it too.
    repeated: bool,
    with: Option<With>,
}

/// The rows that a clause inserts: `SELECT values FROM source LEFT ANTI JOIN table ON … WHERE …`, of which other clauses read all
/// but the values too if `repeated`.
async fn inserted(
    context: &StatementContext,
    target: &TargetTable,
    insert: &MergeInsertExpr,
    reading: ClauseSource,
    parameters: Option<ParamValues>,
) -> Result<FoundRecords> {
    let ClauseSource { from, condition, repeated, with } = reading;
    let definition = &target.table.definition;
    change::refuse("MERGE … INSERT", &[(insert.insert_predicate.is_some(), "WHERE")])?;
    let MergeInsertKind::Values(values) = &insert.kind else { return Err(unsupported("MERGE … INSERT ROW".into())) };
    let [row] = values.rows.as_slice() else {
        return Err(Error::invalid(SqlState::SyntaxError, "MERGE … INSERT has one row of VALUES"));
    };
    let idents = insert.columns.iter().map(|name| match name.0.as_slice() {
        [part] => part.as_ident(),
        _ => None,
    });
    let mut given = Vec::with_capacity(insert.columns.len());
    for ident in idents {
        let wrong = || Error::invalid(SqlState::SyntaxError, "MERGE … INSERT (…) names columns of the table");
        given.push(column_name(definition, ident.ok_or_else(wrong)?)?);
    }
    insert::check_columns(definition, &given)?;
    generated::refuse_assigned(definition, &given)?;
    let given = Some(given.as_slice()).filter(|given| !given.is_empty());
    let ingest = Ingest::new(context, &target.store, &target.table, given)?;
    let item = |(at, value): (usize, &SqlExpr)| {
        let alias = Ident::with_quote('"', format!("column{}", at + 1));
        SelectItem::ExprWithAlias { expr: value.clone(), alias }
    };
    let mut query = select(vec![from], row.iter().enumerate().map(item).collect())?;
    if let SetExpr::Select(select) = &mut *query.body {
        select.selection = condition;
    }
    query.with = with;
    crate::sql::ignored::refuse_ignored(&mut query)?;
    let plan = context.bind(*query, parameters).await?.plan;
    if repeated {
        change::refuse_volatile(&plan)?;
    }
    ingest.converter().accept(plan.schema().as_arrow())?;
    let ingest = pipeline::fill(context, context.physical_plan(plan).await?, ingest).await?;
    let written = blocking(move || ingest.written()).await?;
    let records = written.rows;
    FoundRecords::of_new(context, target, New::Rows(written), records, Vec::new())
}
