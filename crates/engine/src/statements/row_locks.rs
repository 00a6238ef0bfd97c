//! `SELECT … FOR UPDATE | SHARE`: there is one lock, the turn to write. Who has it keeps all records as they are.

use crate::sql::names::{fold, last_part, unsupported};
use crate::sql::parse::Statement;
use crate::sql::session::SessionStatement;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::{Error, Result};
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, LockClause, NonBlock, Query, Select, SetExpr, Statement as Sql, TableFactor, TableWithJoins,
    Value,
};
use gingham_storage::SqlState;

/// How the clauses of a statement lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RowLocks {
    /// One of them fails rather than wait.
    pub(crate) nowait: bool,
    /// One of them gives no rows rather than wait.
    pub(crate) skips: bool,
}

/// The clauses of a statement that lock; `None` when there are none, or it is only explained.
pub(crate) fn find(statement: &mut Statement) -> Result<Option<RowLocks>> {
    let mut found = FoundLocks(None);
    let is_view = matches!(statement.tree(), Some(Sql::CreateView(_)));
    match statement {
        Statement::Explain(explain) if !explain.options.analyze => {}
        Statement::Session(own) => {
            if let SessionStatement::Declare(declare) = own.as_mut() {
                declare.query.walk(&mut found)?;
            }
        }
        other => other.walk(&mut found)?,
    }
    if is_view && found.0.is_some() {
        return Err(unsupported("SELECT … FOR UPDATE or SHARE within a view".into()));
    }
    Ok(found.0)
}

/// Whether a statement may have such clauses: those without queries are not searched.
pub(crate) fn may_lock(statement: &Statement) -> bool {
    match statement {
        Statement::Sql(own) => !matches!(
            &**own,
            DataFusionStatement::Statement(tree) if matches!(**tree, Sql::Execute { .. } | Sql::Prepare { .. })
        ),
        Statement::Explain(_) => true,
        Statement::Session(own) => matches!(**own, SessionStatement::Declare(_)),
        _ => false,
    }
}

/// Takes the clauses out of a statement that has the lock, or `skips` the records of those that do not wait for it.
pub(crate) fn strip(statement: &mut Statement, skips: bool) -> Result<()> {
    match statement {
        Statement::Session(own) => match own.as_mut() {
            SessionStatement::Declare(declare) => declare.query.walk(&mut Stripped { skips }),
            _ => Ok(()),
        },
        other => other.walk(&mut Stripped { skips }),
    }
}

/// Takes the clauses out of a query that is only planned.
pub(crate) fn strip_query(query: &mut Query) -> Result<()> {
    query.walk(&mut Stripped { skips: false })
}

struct FoundLocks(Option<RowLocks>);

impl Visit for FoundLocks {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        if query.locks.is_empty() {
            return Ok(());
        }
        let select = lockable(query)?;
        query.locks.iter().try_for_each(|lock| names_table(lock, select))?;
        let found = self.0.get_or_insert_default();
        for lock in &query.locks {
            match lock.nonblock {
                Some(NonBlock::Nowait) => found.nowait = true,
                Some(NonBlock::SkipLocked) => found.skips = true,
                None => {}
            }
        }
        Ok(())
    }
}

/// The SELECT whose rows are records that can be locked.
fn lockable(query: &Query) -> Result<&Select> {
    let refused = |what: &str| Err(unsupported(format!("SELECT … FOR UPDATE or SHARE with {what}")));
    let select = match &*query.body {
        SetExpr::Select(select) => select,
        SetExpr::Values(_) => return refused("VALUES"),
        _ => return refused("UNION, INTERSECT or EXCEPT"),
    };
    match () {
        () if select.distinct.is_some() => refused("DISTINCT"),
        () if select.having.is_some() => refused("HAVING"),
        () if !matches!(&select.group_by, GroupByExpr::Expressions(groups, _) if groups.is_empty()) => {
            refused("GROUP BY")
        }
        () => Ok(select),
    }
}

/// Fails where `OF t` names no member of FROM.
fn names_table(lock: &LockClause, select: &Select) -> Result<()> {
    let Some(wanted) = lock.of.as_ref().and_then(|name| name.0.last()?.as_ident()) else { return Ok(()) };
    let wanted = fold(wanted);
    if select.from.iter().any(|from| has(from, &wanted)) {
        return Ok(());
    }
    let text = format!("FOR UPDATE OF {wanted}: there is no '{wanted}' in FROM");
    Err(Error::invalid(SqlState::UndefinedTable, text))
}

fn has(from: &TableWithJoins, wanted: &str) -> bool {
    let members = std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation));
    members.into_iter().any(|member| match member {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            fold(&alias.name) == wanted
        }
        TableFactor::Table { name, alias: None, .. } => last_part(name).is_some_and(|own| fold(own) == wanted),
        TableFactor::NestedJoin { table_with_joins, alias: None } => has(table_with_joins, wanted),
        _ => false,
    })
}

struct Stripped {
    skips: bool,
}

impl Visit for Stripped {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        let locks = std::mem::take(&mut query.locks);
        let skipped = self.skips && locks.iter().any(|lock| lock.nonblock == Some(NonBlock::SkipLocked));
        if skipped && let SetExpr::Select(select) = query.body.as_mut() {
            select.selection = Some(Expr::Value(Value::Boolean(false).with_empty_span()));
        }
        Ok(())
    }
}
