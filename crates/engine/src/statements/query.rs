//! Clauses of queries that DataFusion's planner parses and ignores: refused by name instead.

use super::unsupported;
use super::walk::{Tree, Visit};
use crate::Result;
use datafusion::sql::sqlparser::ast::{
    JoinConstraint, JoinOperator, Query, Select, SetExpr, Statement as Sql, TableFactor, TableWithJoins, Value,
    ValueWithSpan,
};
use std::collections::BTreeSet;

/// Refuses a query with a clause that would be ignored, anywhere in it.
pub(super) fn refuse_ignored(query: &mut Query) -> Result<()> {
    query.walk(&mut Ignored)
}

/// Parameters `$1`, `$2`, … of a statement, by name without the `$`.
pub(super) fn parameters(statement: &mut Sql) -> Result<BTreeSet<String>> {
    struct Found(BTreeSet<String>);
    impl Visit for Found {
        fn value(&mut self, value: &mut ValueWithSpan) -> Result<()> {
            if let Value::Placeholder(name) = &value.value {
                self.0.insert(name.trim_start_matches('$').to_owned());
            }
            Ok(())
        }
    }
    let mut found = Found(BTreeSet::new());
    statement.walk(&mut found)?;
    Ok(found.0)
}

const MERGED_COLUMN: &str =
    "RIGHT or FULL JOIN with USING or NATURAL (use ON, and coalesce(a.x, b.x) for the column that both have)";

/// Whether a join merges columns of which the left one may be missing: DataFusion gives the left one, which is then NULL.
fn merges_outer_columns(tables: &TableWithJoins) -> bool {
    tables.joins.iter().any(|join| match &join.join_operator {
        JoinOperator::Right(by) | JoinOperator::RightOuter(by) | JoinOperator::FullOuter(by) => {
            matches!(by, JoinConstraint::Using(_) | JoinConstraint::Natural)
        }
        _ => false,
    })
}

/// Stops at the first clause that nothing would heed.
struct Ignored;

impl Ignored {
    fn refuse_if(clauses: &[(bool, &str)]) -> Result<()> {
        match clauses.iter().find(|(given, _)| *given) {
            Some((_, clause)) => Err(unsupported((*clause).to_owned())),
            None => Ok(()),
        }
    }
}

impl Visit for Ignored {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        let changes = matches!(
            query.body.as_ref(),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_)
        );
        Self::refuse_if(&[
            (!query.locks.is_empty(), "SELECT … FOR UPDATE or SHARE"),
            (query.for_clause.is_some(), "SELECT … FOR XML, JSON or BROWSE"),
            (query.settings.is_some(), "SELECT … SETTINGS"),
            (query.format_clause.is_some(), "SELECT … FORMAT"),
            (query.fetch.is_some(), "SELECT … FETCH (use LIMIT)"),
            (changes, "INSERT, UPDATE, DELETE or MERGE within a query"),
        ])
    }

    fn select(&mut self, select: &mut Select) -> Result<()> {
        Self::refuse_if(&[
            (select.into.is_some(), "SELECT … INTO (use CREATE TABLE … AS)"),
            (select.prewhere.is_some(), "PREWHERE"),
            (!select.connect_by.is_empty(), "CONNECT BY"),
            (!select.optimizer_hints.is_empty(), "optimizer hints"),
            (select.select_modifiers.is_some(), "a modifier of SELECT"),
            (select.value_table_mode.is_some(), "SELECT AS VALUE or AS STRUCT"),
            (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
            (!select.cluster_by.is_empty(), "CLUSTER BY"),
            (select.from.iter().any(merges_outer_columns), MERGED_COLUMN),
        ])
    }

    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        match table {
            TableFactor::Table {
                name: _,
                alias: _,
                args: _,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => Self::refuse_if(&[
                (!with_hints.is_empty() || !index_hints.is_empty(), "a table with hints"),
                (version.is_some(), "a table AS OF another time"),
                (*with_ordinality, "WITH ORDINALITY"),
                (!partitions.is_empty(), "a table with PARTITION"),
                (json_path.is_some(), "a path into a table"),
                (sample.is_some(), "TABLESAMPLE"),
            ]),
            TableFactor::NestedJoin { table_with_joins, .. } => {
                Self::refuse_if(&[(merges_outer_columns(table_with_joins), MERGED_COLUMN)])
            }
            TableFactor::Derived { sample, .. } => Self::refuse_if(&[(sample.is_some(), "TABLESAMPLE")]),
            _ => Ok(()),
        }
    }
}
