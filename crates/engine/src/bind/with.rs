//! WITH: each query is bound anew wherever it is named, unless its rows are shared (`shared`) or it reads its own (`recursive`).

use crate::bind::binder::{Binder, Bound, QueryContext, With, WithSource};
use crate::bind::from::From;
use crate::bind::scope::FromRelation;
use crate::bind::scope::Named;
use crate::bind::with_order::in_order;
use crate::bind::{error, shared};
use crate::shared::SharedRows;
use crate::sql::names::fold;
use crate::{Error, Result};
use datafusion::common::TableReference;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use datafusion::sql::sqlparser::ast::{Cte, CteAsMaterialized, With as WithClause};
use gingham_storage::SqlState;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// How often a query whose rows are not shared may name others, and these yet others.
const MOST_NAMED: usize = 6;

/// The place of a query that stands behind a WITH.
pub(super) fn behind(with: &WithClause, place: &QueryContext) -> Result<QueryContext> {
    let mut inner = place.clone();
    let mut names: Vec<String> = Vec::new();
    for Cte { alias, query, from: _, materialized, closing_paren_token: _ } in in_order(with)? {
        let name = fold(&alias.name);
        if names.contains(&name) {
            return Err(error::invalid(
                SqlState::DuplicateAlias,
                format!("WITH has two queries of the name '{name}'"),
                alias.name.span,
            ));
        }
        let columns = alias.columns.iter().map(|column| fold(&column.name)).collect();
        let query = query.clone();
        let own = QueryContext { is_top: false, instead: Rc::from([]), verb: "", ..inner.clone() };
        let materialized = materialized.as_ref().map(|how| matches!(how, CteAsMaterialized::Materialized));
        let (is_recursive, shared) = (with.recursive, RefCell::default());
        let source = WithSource::Query { query, columns, place: own, is_recursive, materialized, shared };
        inner.with =
            Some(Rc::new(With { name: name.clone(), source, is_named: Cell::new(false), next: inner.with.take() }));
        names.push(name);
    }
    Ok(inner)
}

impl Binder<'_> {
    /// Binds the queries of a WITH that nothing named, for their errors.
    pub(super) fn unnamed(&mut self, queries: usize, place: &QueryContext) -> Result<()> {
        let mut with = place.with.clone();
        for _ in 0..queries {
            let Some(own) = with else { break };
            if !own.is_named.get() {
                self.with_query(&own)?;
            }
            with = own.next.clone();
        }
        Ok(())
    }

    /// Binds a query of WITH as a member of FROM.
    pub(super) fn with_query(&mut self, with: &Rc<With>) -> Result<From> {
        with.is_named.set(true);
        self.with_named += 1;
        let bound = match &with.source {
            WithSource::Itself => return Err(misplaced(&with.name)),
            WithSource::Rounds { table, columns, was_read } => {
                was_read.set(true);
                let source = provider_as_source(Arc::clone(table) as _);
                let scan = TableScanBuilder::new(TableReference::bare(table.name()), source).build()?;
                let plan = self.own_names(LogicalPlan::TableScan(scan))?;
                Bound::of(plan, columns.iter().cloned())
            }
            WithSource::Query { shared, .. } if shared.borrow().is_some() => {
                let known = shared.borrow().clone();
                let (rows, names) = known.ok_or_else(|| Error::Internal("shared rows are gone".into()))?;
                self.read(&rows, &names)?
            }
            WithSource::Query { query, columns, place, is_recursive, materialized, shared } => {
                let named_before = self.with_named;
                let mut bound = if *is_recursive {
                    self.recursive(&with.name, query, columns, place)?
                } else {
                    self.unordered(query, place)?
                };
                if columns.len() > bound.columns.len() {
                    return Err(Error::invalid(
                        SqlState::InvalidColumnReference,
                        format!(
                            "WITH query '{}' is given names for {} columns and has {}",
                            with.name,
                            columns.len(),
                            bound.columns.len()
                        ),
                    ));
                }
                bound.rename(columns);
                match self.shared(&bound, *materialized, self.with_named - named_before)? {
                    None => bound,
                    Some(rows) => {
                        *shared.borrow_mut() = Some((Arc::clone(&rows), bound.columns.clone()));
                        self.read(&rows, &bound.columns)?
                    }
                }
            }
        };
        let is_round = matches!(with.source, WithSource::Rounds { .. });
        let name = Some(with.name.clone());
        let relation = FromRelation { name, columns: bound.columns, is_round, ..FromRelation::default() };
        Ok(From { scope: crate::bind::scope::NameScope::of(relation, &bound.plan), plan: bound.plan })
    }

    /// The rows of a query of WITH that are computed once for all who name it: AS MATERIALIZED says so, or they may be others the
    /// next time, or it costs more than to keep them; or because so many others are `named` in it that a chain of those who each name
    /// the one before twice would have no end. Those of other queries are not kept: what is the same twice in
    /// pipelines is done once there, and conditions of those who name it go down into it.
    fn shared(&self, bound: &Bound, materialized: Option<bool>, named: usize) -> Result<Option<Arc<SharedRows>>> {
        let may_differ = shared::may_differ(&bound.plan)?;
        let is_kept = materialized == Some(true);
        let is_dear = materialized.is_none() && (named > MOST_NAMED || shared::is_dear(&bound.plan)?);
        if !(is_kept || may_differ || is_dear) || !shared::is_alone(&bound.plan)? {
            return Ok(None);
        }
        // Its types are those of the columns that others see.
        let plan = self.analyzed(bound.plan.clone())?;
        Ok(Some(SharedRows::new(plan, is_kept)))
    }

    /// A reader of shared rows.
    fn read(&mut self, rows: &Arc<SharedRows>, names: &[Named]) -> Result<Bound> {
        let plan = self.own_names(crate::shared::reader(rows)?)?;
        Ok(Bound::of(plan, names.iter().map(|own| own.name.clone())).also_called(names))
    }
}

fn misplaced(name: &str) -> Error {
    let form = "its first part does not name it, and UNION or UNION ALL joins the part that does";
    Error::invalid(
        SqlState::InvalidRecursion,
        format!("WITH RECURSIVE '{name}' names itself in the wrong place: {form}"),
    )
}
