//! Subqueries computed for a domain: the values of their outer columns go down into them as rows, to where nothing below
//! looks at them any more, and are keys of all operators above that.

use crate::unnest::Unnesting;
use crate::unnest::aggregate::{empty_sets, of_nothing, once};
use crate::unnest::domain::{Domain, pairs};
use crate::unnest::free::{is_correlated, outer_columns};
use crate::unnest::join::{Condition, joined};
use crate::unnest::pull::{in_order, keys_of, renaming};
use crate::unnest::rows::{UnnestedRows, columns_of, named, project, under_names};
use datafusion::common::{Column, ExprSchema, HashMap, JoinType};
use datafusion::error::{DataFusionError, Result};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Aggregate, Distinct, Expr, Join, LogicalPlan, LogicalPlanBuilder, Union, Unnest};
use std::sync::Arc;

impl Unnesting<'_> {
    /// The rows of `plan` for each row of a domain, whose columns they have.
    pub(super) fn push(&mut self, plan: &LogicalPlan, domain: &Domain) -> Result<UnnestedRows> {
        if !is_correlated(plan)? {
            let rows = self.rows_of(domain)?;
            if matches!(plan, LogicalPlan::EmptyRelation(empty) if empty.produce_one_row) {
                return Ok(rows);
            }
            let right = self.whole(plan.clone())?;
            return Ok(UnnestedRows { plan: joined(rows.plan, right, JoinType::Inner, Condition::default())?, ..rows });
        }
        if let Some(pulled) = self.pull(plan)? {
            let mut rows = self.rows_of(domain)?;
            let conditions = pulled.conditions.iter().map(|condition| rows.bind(condition.clone()));
            let conditions = Condition::holds(conditions.collect::<Result<_>>()?);
            rows.plan = joined(rows.plan, pulled.plan, JoinType::Inner, conditions)?;
            let values = pulled.columns.into_iter().map(|(column, value)| Ok(named(rows.bind(value)?, &column)));
            let values = values.collect::<Result<Vec<_>>>()?;
            rows.show(values)?;
            return Ok(rows);
        }
        match plan {
            LogicalPlan::Subquery(query) => self.push(&query.subquery, domain),
            LogicalPlan::SubqueryAlias(alias) => self.push(&renaming(alias)?, domain),
            LogicalPlan::Sort(sort) => self.push(&sort.input, domain),
            LogicalPlan::Projection(projection) => {
                let mut rows = self.push(&projection.input, domain)?;
                let values = self.values(&mut rows, projection.expr.clone(), &[])?;
                rows.show(under_names(values, &projection.schema))?;
                Ok(rows)
            }
            LogicalPlan::Filter(filter) => {
                let mut rows = self.push(&filter.input, domain)?;
                self.filtered(&mut rows, vec![filter.predicate.clone()])?;
                rows.show(columns_of(plan).collect())?;
                Ok(rows)
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let mut rows = self.push(input, domain)?;
                rows.show(columns_of(plan).collect())?;
                rows.plan = LogicalPlan::Distinct(Distinct::All(Arc::new(rows.plan)));
                Ok(rows)
            }
            LogicalPlan::Aggregate(aggregate) => self.push_aggregate(plan, aggregate, domain),
            LogicalPlan::Window(window) => {
                let rows = self.push(&window.input, domain)?;
                let (keys, bindings) = (rows.bound_columns(), rows.bindings.clone());
                let plan = self.windows(rows, &keys, window)?;
                Ok(UnnestedRows { plan, bindings })
            }
            LogicalPlan::Limit(limit) => {
                let (input, order) = in_order(&limit.input)?;
                let rows = self.push(&input, domain)?;
                let (keys, bindings) = (rows.bound_columns(), rows.bindings.clone());
                let mut rows = UnnestedRows { plan: self.limited(rows, &keys, order, limit)?, bindings };
                rows.show(columns_of(plan).collect())?;
                Ok(rows)
            }
            LogicalPlan::Join(join) => self.push_join(join, domain),
            LogicalPlan::Union(union) => self.push_union(union, domain),
            LogicalPlan::Unnest(unnest) => self.push_unnest(unnest, domain),
            LogicalPlan::RecursiveQuery(query) => self.push_recursive(query, domain),
            other => {
                Err(DataFusionError::NotImplemented(format!("columns of a query around it in {}", other.display())))
            }
        }
    }

    /// An aggregation that has a group where there are no rows has one for each row of the domain.
    fn push_aggregate(&mut self, plan: &LogicalPlan, aggregate: &Aggregate, domain: &Domain) -> Result<UnnestedRows> {
        let empty = empty_sets(aggregate);
        if empty == 0 {
            return self.groups_of(domain, aggregate, None);
        }
        let there = self.fresh("there");
        let groups = self.groups_of(domain, aggregate, Some(&there))?;
        let schema = Arc::clone(plan.schema());
        let (columns, calls) = (schema.columns(), &aggregate.aggr_expr);
        let first_call = columns.len() - calls.len();
        let mut rows = self.rows_of(domain)?;
        let same = pairs(domain.outer(), &rows, &groups)?;
        if aggregate.group_expr.is_empty() {
            rows.plan = joined(rows.plan, groups.plan, JoinType::Left, Condition::same(same))?;
            let there = Expr::Column(Column::new_unqualified(there));
            let mut shown = Vec::with_capacity(columns.len());
            for (call, column) in calls.iter().zip(&columns) {
                let value = crate::unnest::aggregate::or_default(call, column, &there, aggregate.input.schema())?;
                shown.push(named(value, column));
            }
            rows.show(shown)?;
            return Ok(rows);
        }
        // Those of no keys, for values of the domain that have no other row.
        let groups = UnnestedRows { plan: self.shared(groups.plan)?, ..groups };
        let mut union = vec![Arc::new(project(
            self.read_again(&groups.plan)?,
            outer_then(&groups, domain, &columns.iter().cloned().map(Expr::Column).collect::<Vec<_>>())?,
        )?)];
        rows.plan = joined(rows.plan, groups.plan, JoinType::LeftAnti, Condition::same(same))?;
        let mut nothing = Vec::with_capacity(columns.len());
        for (position, column) in columns.iter().enumerate() {
            let field = schema.field_from_column(column)?;
            let value = match position.checked_sub(first_call) {
                Some(call) => of_nothing(&calls[call], aggregate.input.schema())?,
                None if column.name == Aggregate::INTERNAL_GROUPING_ID => all_ones(field.data_type(), aggregate)?,
                None => datafusion::common::ScalarValue::try_from(field.data_type())?,
            };
            nothing.push(named(Expr::Literal(value, None), column));
        }
        rows.plan = self.shared(rows.plan)?;
        for _ in 0..empty {
            let shown = outer_then(&rows, domain, &nothing)?;
            union.push(Arc::new(project(self.read_again(&rows.plan)?, shown)?));
        }
        self.united(union, domain, &columns)
    }

    /// Inputs of a union that have the domain's columns, then `columns`.
    fn united(&mut self, inputs: Vec<Arc<LogicalPlan>>, domain: &Domain, columns: &[Column]) -> Result<UnnestedRows> {
        let names: Vec<Column> = domain.outer().map(|own| Column::new_unqualified(self.fresh(&own.name))).collect();
        let all: Vec<Column> = names.iter().chain(columns).cloned().collect();
        let called = inputs.into_iter().map(|input| {
            let shown = columns_of(&input).zip(&all).map(|(own, name)| named(own, name)).collect();
            project(Arc::unwrap_or_clone(input), shown).map(Arc::new)
        });
        let plan = LogicalPlan::Union(Union::try_new_with_loose_types(called.collect::<Result<_>>()?)?);
        // A union's columns have no table's name before theirs.
        let shown = columns_of(&plan).zip(&all).map(|(own, name)| named(own, name)).collect();
        let plan = project(plan, shown)?;
        let bindings: HashMap<Column, Expr> =
            domain.outer().cloned().zip(names.into_iter().map(Expr::Column)).collect();
        Ok(UnnestedRows { plan, bindings })
    }

    fn push_union(&mut self, union: &Union, domain: &Domain) -> Result<UnnestedRows> {
        let mut inputs = Vec::with_capacity(union.inputs.len());
        for input in &union.inputs {
            let rows = self.push(input, domain)?;
            let own: Vec<Expr> = columns_of(input).collect();
            let shown = outer_then(&rows, domain, &own)?;
            inputs.push(Arc::new(project(rows.plan, shown)?));
        }
        self.united(inputs, domain, &union.schema.columns())
    }

    fn push_unnest(&mut self, unnest: &Unnest, domain: &Domain) -> Result<UnnestedRows> {
        let mut rows = self.push(&unnest.input, domain)?;
        let (columns, options) = (unnest.exec_columns.clone(), unnest.options.clone());
        rows.plan = LogicalPlanBuilder::from(rows.plan).unnest_columns_with_options(columns, options)?.build()?;
        rows.show(unnest.schema.columns().into_iter().map(Expr::Column).collect())?;
        Ok(rows)
    }

    fn push_join(&mut self, join: &Join, domain: &Domain) -> Result<UnnestedRows> {
        let of_right = outer_columns(&join.right)?;
        if of_right.iter().any(|column| join.left.schema().has_column(column)) {
            let left = self.push(&join.left, domain)?;
            return self.lateral(left, join);
        }
        let (left_needs, right_needs) = (is_correlated(&join.left)?, !of_right.is_empty());
        let kind = join.join_type;
        // The side whose rows are kept has the domain in any case.
        let (on_left, on_right) = match kind {
            JoinType::Inner => (left_needs || !right_needs, right_needs),
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => (true, right_needs),
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => (left_needs, true),
            JoinType::Full => (true, true),
        };
        let mut left = self.side(&join.left, domain, on_left)?;
        let mut right = self.side(&join.right, domain, on_right)?;
        let holds = join.filter.iter().cloned().flat_map(split_conjunction_owned).collect();
        let held = self.conditions(&mut left, &mut right, holds, kind)?;
        let mut condition = keys_of(join);
        if on_left && on_right {
            condition.same.extend(pairs(domain.outer(), &left, &right)?);
        }
        condition.same.extend(held.same);
        condition.holds.extend(held.before);
        let plan = joined(left.plan, right.plan, kind, condition)?;
        let columns: Vec<Expr> = join.schema.columns().into_iter().map(Expr::Column).collect();
        if kind == JoinType::Full {
            return self.either(plan, domain, &left.bindings, &right.bindings, columns);
        }
        let keeps_right =
            matches!(kind, JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark);
        let bindings = if keeps_right || !on_left { right.bindings } else { left.bindings };
        let mut rows = UnnestedRows { plan, bindings };
        self.filtered(&mut rows, held.behind)?;
        rows.show(columns)?;
        Ok(rows)
    }

    /// One side of a join, for each row of a domain if it needs one.
    fn side(&mut self, plan: &LogicalPlan, domain: &Domain, needed: bool) -> Result<UnnestedRows> {
        if needed { self.push(plan, domain) } else { Ok(UnnestedRows::of(self.whole(plan.clone())?)) }
    }

    /// The rows of a full join, with the domain's columns of the side that is there.
    fn either(
        &mut self,
        plan: LogicalPlan,
        domain: &Domain,
        left: &HashMap<Column, Expr>,
        right: &HashMap<Column, Expr>,
        columns: Vec<Expr>,
    ) -> Result<UnnestedRows> {
        let mut bindings = HashMap::new();
        let mut shown = Vec::new();
        for outer in domain.outer() {
            let own = Column::new_unqualified(self.fresh(&outer.name));
            let sides = [left, right].into_iter().filter_map(|side| side.get(outer)).cloned().collect();
            shown.push(coalesce(sides).alias(&own.name));
            bindings.insert(outer.clone(), Expr::Column(own));
        }
        shown.extend(columns);
        Ok(UnnestedRows { plan: project(plan, shown)?, bindings })
    }
}

/// The columns that stand for the domain's outer ones, then others.
pub(super) fn outer_then(rows: &UnnestedRows, domain: &Domain, others: &[Expr]) -> Result<Vec<Expr>> {
    let missing = || DataFusionError::Internal("a value of a domain was lost".into());
    let own = domain.outer().map(|column| rows.binding(column).ok_or_else(missing));
    let own = own.collect::<Result<Vec<_>>>()?;
    Ok(once(own.into_iter().chain(others.iter().cloned()).collect()))
}

/// What tells the empty grouping set apart: a bit for each key that it is without.
fn all_ones(data_type: &arrow::datatypes::DataType, aggregate: &Aggregate) -> Result<datafusion::common::ScalarValue> {
    let keys = aggregate.group_expr_len()?;
    let ones = if keys >= 64 { u64::MAX } else { (1 << keys) - 1 };
    datafusion::common::ScalarValue::UInt64(Some(ones)).cast_to(data_type)
}
