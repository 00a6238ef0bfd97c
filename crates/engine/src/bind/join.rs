//! Joins: ON, and the columns that USING and NATURAL merge.
//!
//! A merged column stands once in `*`, before the others. It is the left table's column, for a RIGHT JOIN the right
//! table's, and for a FULL JOIN whichever of them is there.

use crate::Result;
use crate::bind::binder::{Binder, QueryContext};
use crate::bind::error;
use crate::bind::expression::NameContext;
use crate::bind::from::{From, FromContext, once};
use crate::bind::scope::{NameScope, Named};
use crate::sql::names::meant;
use crate::suggest::did_you_mean;
use datafusion::common::Column;
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::{Expr as Planned, JoinType, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Spanned, TableFactor,
};
use gingham_storage::SqlState;
use std::sync::Arc;

impl Binder<'_> {
    /// Binds what is joined to `left`.
    pub(super) fn join(&mut self, left: From, join: &Join, member: FromContext<'_>) -> Result<From> {
        let (kind, constraint) = kind(&join.join_operator)?;
        let lateral = is_lateral(&join.relation);
        let right = if lateral {
            let before = self.before(member, &left)?;
            let right = self.factor(&join.relation, FromContext { before: Some(&before), ..member })?;
            let depends = matches!(right.plan, LogicalPlan::Subquery(_));
            if depends && !matches!(kind, JoinType::Inner | JoinType::Left) {
                return Err(error::unsupported(format!("LATERAL on the right of {kind} JOIN")));
            }
            right
        } else {
            self.factor(&join.relation, member)?
        };
        once(&left.scope, &right.scope)?;
        let is_outer = |kinds: &[JoinType]| kinds.contains(&kind) || kind == JoinType::Full;
        let left = if is_outer(&[JoinType::Right]) { self.with_presence(left)? } else { left };
        let right = if is_outer(&[JoinType::Left]) { self.with_presence(right)? } else { right };
        match constraint {
            JoinConstraint::On(condition) => self.joined_on(left, right, kind, condition, member.place),
            JoinConstraint::None => joined(left, right, kind, Vec::new()),
            JoinConstraint::Using(names) => {
                let names = names.iter().map(plain).collect::<Result<Vec<Ident>>>()?;
                self.merged(left, right, kind, &names)
            }
            JoinConstraint::Natural => {
                let shared = |own: &&Named| right.scope.has(&own.name);
                let names = left.scope.shown.iter().filter(shared).map(|own| Ident::with_quote('"', &own.name));
                let names: Vec<Ident> = names.collect();
                if names.is_empty() {
                    joined(left, right, kind, Vec::new())
                } else {
                    self.merged(left, right, kind, &names)
                }
            }
        }
    }

    /// Two members of FROM whose rows a condition joins.
    pub(super) fn joined_on(
        &mut self,
        left: From,
        right: From,
        kind: JoinType,
        condition: &Expr,
        place: &QueryContext,
    ) -> Result<From> {
        let fields = Arc::new(left.scope.fields.join(&right.scope.fields)?);
        let both = left.scope.clone().beside(right.scope.clone(), fields);
        let planned = self.condition(condition, NameContext::of(&both, place), "ON")?;
        joined(left, right, kind, vec![planned])
    }

    /// What a LATERAL member that is joined to `left` sees: what stands before that in FROM, and `left`.
    fn before(&self, member: FromContext<'_>, left: &From) -> Result<From> {
        let plan = left.plan.clone();
        let scope = match member.before {
            None => left.scope.clone(),
            Some(before) => {
                let fields = Arc::new(before.scope.fields.join(&left.scope.fields)?);
                before.scope.clone().beside(left.scope.clone(), fields)
            }
        };
        Ok(From { plan, scope })
    }

    /// A join by equal columns of these names, each pair of which is one column from there on.
    fn merged(&mut self, left: From, right: From, kind: JoinType, names: &[Ident]) -> Result<From> {
        let mut pairs = Vec::with_capacity(names.len());
        for ident in names {
            pairs.push((one(&left.scope, ident, "left")?, one(&right.scope, ident, "right")?));
        }
        let equal = pairs
            .iter()
            .map(|(left, right)| Planned::Column(left.column.clone()).eq(Planned::Column(right.column.clone())));
        let is_merged =
            |own: &Named| pairs.iter().any(|(left, right)| [&left.column, &right.column].contains(&&own.column));
        let rest = |scope: &NameScope| scope.shown.iter().filter(|own| !is_merged(own)).cloned().collect::<Vec<_>>();
        let (rest_left, rest_right) = (rest(&left.scope), rest(&right.scope));
        let equal = equal.collect();
        let mut from = joined(left, right, kind, equal)?;
        if matches!(kind, JoinType::LeftSemi | JoinType::LeftAnti | JoinType::RightSemi | JoinType::RightAnti) {
            return Ok(from);
        }
        let merged: Vec<Named> = match kind {
            JoinType::Right => pairs.into_iter().map(|(_, right)| right).collect(),
            JoinType::Full => self.either(&mut from, pairs)?,
            _ => pairs.into_iter().map(|(left, _)| left).collect(),
        };
        from.scope.shown = [merged, rest_left, rest_right].concat();
        Ok(from)
    }

    /// Adds a column for each pair: the one of the two that is there.
    fn either(&mut self, from: &mut From, pairs: Vec<(Named, Named)>) -> Result<Vec<Named>> {
        let mut columns: Vec<Planned> = from.plan.schema().columns().into_iter().map(Planned::Column).collect();
        let mut merged = Vec::with_capacity(pairs.len());
        for (left, right) in pairs {
            let name = self.names.fresh(&left.name);
            columns.push(coalesce(vec![Planned::Column(left.column), Planned::Column(right.column)]).alias(&name));
            merged.push(Named { name: left.name, other: left.other, column: Column::new_unqualified(name) });
        }
        from.plan = self.project(from.plan.clone(), columns)?;
        from.scope.fields = Arc::clone(from.plan.schema());
        Ok(merged)
    }
}

fn joined(left: From, right: From, kind: JoinType, on: Vec<Planned>) -> Result<From> {
    let builder = LogicalPlanBuilder::from(left.plan);
    let plan = match (kind, on.is_empty()) {
        (JoinType::Inner, true) => builder.cross_join(right.plan)?.build()?,
        // NATURAL, where no column has the same name.
        (_, true) => builder.join_on(right.plan, kind, [lit(true)])?.build()?,
        (_, false) => builder.join_on(right.plan, kind, on)?.build()?,
    };
    let fields = Arc::clone(plan.schema());
    let scope = match kind {
        JoinType::LeftSemi | JoinType::LeftAnti => left.scope.over(fields),
        JoinType::RightSemi | JoinType::RightAnti => right.scope.over(fields),
        _ => left.scope.beside(right.scope, fields),
    };
    Ok(From { plan, scope })
}

/// The column that USING means on one side.
fn one(scope: &NameScope, ident: &Ident, side: &str) -> Result<Named> {
    let names = || scope.shown.iter().map(|own| own.name.as_str());
    let name = meant(ident, names())?;
    let mut own = scope.shown.iter().filter(|own| own.name == name);
    match (own.next(), own.next()) {
        (Some(own), None) => Ok(own.clone()),
        (None, _) => Err(error::invalid(
            SqlState::UndefinedColumn,
            format!(
                "column '{name}' of USING does not exist on the {side} of the join{}",
                did_you_mean(&name, names())
            ),
            ident.span,
        )),
        _ => Err(error::invalid(
            SqlState::AmbiguousColumn,
            format!("column '{name}' of USING is in several tables on the {side} of the join"),
            ident.span,
        )),
    }
}

fn plain(name: &ObjectName) -> Result<Ident> {
    match name.0.as_slice() {
        [part] => part.as_ident().cloned(),
        _ => None,
    }
    .ok_or_else(|| {
        error::invalid(
            SqlState::UndefinedColumn,
            format!("USING ({name}) is no name of a column that two tables have"),
            name.span(),
        )
    })
}

fn kind(operator: &JoinOperator) -> Result<(JoinType, &JoinConstraint)> {
    Ok(match operator {
        JoinOperator::Join(by) | JoinOperator::Inner(by) | JoinOperator::CrossJoin(by) => (JoinType::Inner, by),
        JoinOperator::Left(by) | JoinOperator::LeftOuter(by) => (JoinType::Left, by),
        JoinOperator::Right(by) | JoinOperator::RightOuter(by) => (JoinType::Right, by),
        JoinOperator::FullOuter(by) => (JoinType::Full, by),
        JoinOperator::LeftSemi(by) => (JoinType::LeftSemi, by),
        JoinOperator::RightSemi(by) => (JoinType::RightSemi, by),
        JoinOperator::LeftAnti(by) => (JoinType::LeftAnti, by),
        JoinOperator::RightAnti(by) => (JoinType::RightAnti, by),
        other => return Err(error::unsupported(format!("the join {other:?}"))),
    })
}

fn is_lateral(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Derived { lateral, .. } | TableFactor::Function { lateral, .. } => *lateral,
        TableFactor::UNNEST { .. } | TableFactor::Table { args: Some(_), .. } => true,
        _ => false,
    }
}
