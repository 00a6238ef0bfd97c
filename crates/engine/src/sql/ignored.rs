//! Clauses of queries that DataFusion's planner parses and ignores: refused by name instead.

use crate::sql::names::unsupported;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::{Error, Result};
use datafusion::execution::SessionStateDefaults;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArguments, GroupByExpr, JoinOperator, LimitClause, Query, Select, SelectFlavor, SelectItem,
    SetExpr, Statement as Sql, TableFactor, TableWithJoins, With,
};
use gingham_storage::SqlState;
use std::collections::HashSet;
use std::sync::OnceLock;

/// Refuses a query with a clause that would be ignored, anywhere in it.
pub(crate) fn refuse_ignored(query: &mut Query) -> Result<()> {
    query.walk(&mut Ignored)
}

/// Whether a query is one that the parser makes of WITH before a statement that changes records.
pub(crate) fn changes(query: &Query) -> bool {
    matches!(query.body.as_ref(), SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

/// Whether a query of a WITH changes records.
pub(crate) fn has_changes(with: Option<&With>) -> bool {
    with.is_some_and(|with| with.cte_tables.iter().any(|own| changes(&own.query)))
}

/// Whether a query changes records itself, or one of its WITH does.
pub(crate) fn writes(query: &Query) -> bool {
    changes(query) || has_changes(query.with.as_ref())
}

/// A statement that changes records without the WITH before it, which the parser takes for a query's; any other as it is.
pub(crate) fn apart(statement: Sql) -> (Sql, Option<With>) {
    match statement {
        Sql::Query(mut query) => {
            let plain = query.order_by.is_none() && query.limit_clause.is_none() && query.pipe_operators.is_empty();
            match *query.body {
                SetExpr::Insert(change)
                | SetExpr::Update(change)
                | SetExpr::Delete(change)
                | SetExpr::Merge(change)
                    if plain =>
                {
                    (change, query.with)
                }
                body => {
                    query.body = Box::new(body);
                    (Sql::Query(query), None)
                }
            }
        }
        other => (other, None),
    }
}

const STRANGE_JOIN: &str =
    "a join other than INNER, LEFT, RIGHT, FULL, CROSS and LEFT or RIGHT SEMI or ANTI (SEMI JOIN is LEFT SEMI JOIN)";

fn has_strange_join(tables: &TableWithJoins) -> bool {
    tables.joins.iter().any(|join| {
        matches!(
            join.join_operator,
            JoinOperator::Semi(_)
                | JoinOperator::Anti(_)
                | JoinOperator::AsOf { .. }
                | JoinOperator::StraightJoin(_)
                | JoinOperator::ArrayJoin
                | JoinOperator::LeftArrayJoin
                | JoinOperator::InnerArrayJoin
        )
    })
}

fn has_modifiers(group_by: &GroupByExpr) -> bool {
    match group_by {
        GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers) => !modifiers.is_empty(),
    }
}

fn limits_by(limit: Option<&LimitClause>) -> bool {
    matches!(limit, Some(LimitClause::LimitOffset { limit_by, .. }) if !limit_by.is_empty())
}

fn picks_by_pattern(item: &SelectItem) -> bool {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => options.opt_ilike.is_some(),
        _ => false,
    }
}

/// Clauses of aggregates and window functions with a function of single values, which would not heed them.
fn refuse_clauses(function: &Function) -> Result<()> {
    let name = fold_name(function);
    let what = |clause: &str| Err(unsupported(format!("{clause} with function '{name}'")));
    if function.parameters != FunctionArguments::None {
        return what("a second list of arguments");
    }
    if !is_scalar(&name) {
        return Ok(());
    }
    if function.over.is_some() {
        return what("OVER");
    }
    if function.filter.is_some() {
        return what("FILTER");
    }
    if function.null_treatment.is_some() {
        return what("IGNORE or RESPECT NULLS");
    }
    if !function.within_group.is_empty() {
        return what("WITHIN GROUP");
    }
    match &function.args {
        FunctionArguments::List(list) if list.duplicate_treatment.is_some() => what("DISTINCT or ALL"),
        FunctionArguments::List(list) if !list.clauses.is_empty() => what("ORDER BY or another clause"),
        _ => Ok(()),
    }
}

fn fold_name(function: &Function) -> String {
    match function.name.0.as_slice() {
        [part] => part.as_ident().map_or_else(|| part.to_string(), crate::sql::names::fold),
        _ => function.name.to_string(),
    }
}

/// Whether a function of that name takes single values.
fn is_scalar(name: &str) -> bool {
    static NAMES: OnceLock<HashSet<String>> = OnceLock::new();
    let names = || {
        let functions = SessionStateDefaults::default_scalar_functions();
        let names = functions
            .iter()
            .flat_map(|function| std::iter::once(function.name().to_owned()).chain(function.aliases().iter().cloned()));
        names.collect()
    };
    NAMES.get_or_init(names).contains(name)
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
        Self::refuse_if(&[
            (!query.locks.is_empty(), "SELECT … FOR UPDATE or SHARE"),
            (query.for_clause.is_some(), "SELECT … FOR XML, JSON or BROWSE"),
            (query.settings.is_some(), "SELECT … SETTINGS"),
            (query.format_clause.is_some(), "SELECT … FORMAT"),
            (changes(query), "INSERT, UPDATE, DELETE or MERGE anywhere but in a WITH at the top of a statement"),
            (limits_by(query.limit_clause.as_ref()), "LIMIT … BY"),
        ])
    }

    fn select(&mut self, select: &mut Select) -> Result<()> {
        if select.into.is_some() {
            let text = "INTO is allowed in the first SELECT of a statement alone; CREATE TABLE … AS takes any query";
            return Err(Error::invalid(SqlState::SyntaxError, text));
        }
        Self::refuse_if(&[
            (select.prewhere.is_some(), "PREWHERE"),
            (!select.connect_by.is_empty(), "CONNECT BY"),
            (!select.optimizer_hints.is_empty(), "optimizer hints"),
            (select.select_modifiers.is_some(), "a modifier of SELECT"),
            (select.value_table_mode.is_some(), "SELECT AS VALUE or AS STRUCT"),
            (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
            (!select.cluster_by.is_empty(), "CLUSTER BY"),
            (select.from.iter().any(has_strange_join), STRANGE_JOIN),
            (has_modifiers(&select.group_by), "GROUP BY … WITH (use GROUP BY ROLLUP (…) or CUBE (…))"),
            (select.flavor == SelectFlavor::FromFirstNoSelect, "FROM without SELECT (use SELECT * FROM …)"),
            (select.projection.iter().any(picks_by_pattern), "* ILIKE (name the columns)"),
        ])
    }

    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        match expression {
            Expr::Function(function) => refuse_clauses(function),
            Expr::Collate { .. } => Err(unsupported("COLLATE (texts compare by their characters' code points)".into())),
            Expr::IsNormalized { .. } => Err(unsupported("IS NORMALIZED".into())),
            Expr::RLike { .. } => Err(unsupported("RLIKE and REGEXP (use ~)".into())),
            _ => Ok(()),
        }
    }

    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        match table {
            TableFactor::Table {
                name: _,
                alias: _,
                args: _,
                with_hints,
                version,
                with_ordinality: _,
                partitions,
                json_path,
                sample: _,
                index_hints,
            } => Self::refuse_if(&[
                (!with_hints.is_empty() || !index_hints.is_empty(), "a table with hints"),
                (version.is_some(), "a table AS OF another time"),
                (!partitions.is_empty(), "a table with PARTITION"),
                (json_path.is_some(), "a path into a table"),
            ]),
            TableFactor::NestedJoin { table_with_joins, .. } => {
                Self::refuse_if(&[(has_strange_join(table_with_joins), STRANGE_JOIN)])
            }
            _ => Ok(()),
        }
    }
}
