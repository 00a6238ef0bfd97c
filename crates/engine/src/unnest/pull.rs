//! Subqueries whose outer columns are in conditions alone, which are pulled out of them: what is left is computed once, and
//! joined by the conditions. An equality can leave an aggregation, a window or a LIMIT, whose keys take its own side in.

use crate::unnest::Unnesting;
use crate::unnest::aggregate::{empty_sets, once};
use crate::unnest::free::{
    has_outer, has_query, is_correlated, is_volatile, outer_columns, outer_columns_in, subquery_of,
};
use crate::unnest::join::{Condition, joined};
use crate::unnest::rows::{UnnestedRows, columns_of, named, project};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType};
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, ExprSchemable, Join, Limit, LogicalPlan, LogicalPlanBuilder, Operator, Projection,
    SubqueryAlias, Union, Window,
};
use std::sync::Arc;

/// A plan without outer columns, and the conditions about them.
#[derive(Debug)]
pub(super) struct Pulled {
    pub(super) plan: LogicalPlan,
    /// Over outer columns and those of `plan`.
    pub(super) conditions: Vec<Expr>,
    /// The columns of the plan that it was pulled out of, over `plan` and outer columns.
    pub(super) columns: Vec<(Column, Expr)>,
}

/// A plan whose rows belong to outer rows by equal keys.
#[derive(Debug)]
pub(super) struct Keyed {
    /// The columns of the plan that it was pulled out of, and the keys.
    pub(super) plan: LogicalPlan,
    /// What the keys must be equal to, over outer columns.
    pub(super) outer: Vec<Expr>,
    pub(super) keys: Vec<Expr>,
}

impl Pulled {
    fn of(plan: LogicalPlan, conditions: Vec<Expr>) -> Self {
        let columns =
            plan.schema().columns().into_iter().map(|column| (column.clone(), Expr::Column(column))).collect();
        Self { plan, conditions, columns }
    }

    /// Whether all columns are the plan's own.
    pub(super) fn is_plain(&self) -> bool {
        self.columns.iter().all(|(column, value)| matches!(value, Expr::Column(own) if own == column))
    }

    /// Whether rows belong to outer ones by keys: what is compared with outer columns is equal to them.
    pub(super) fn is_keyed(&self) -> bool {
        let keys = self.conditions.iter().map(|condition| equality(condition.clone()).map(|(_, own)| own));
        let Some(keys) = keys.collect::<Option<Vec<Expr>>>() else { return false };
        let may_group = |key: &Expr| {
            // Two floats may be equal and no group.
            let is_float = key.get_type(self.plan.schema().as_ref()).map_or(true, |own| own.is_floating());
            !is_float && !key.is_volatile()
        };
        // Where two outer values must equal one key, they are no key of it.
        !keys.is_empty() && self.is_plain() && keys.iter().all(may_group) && once(keys.clone()).len() == keys.len()
    }

    /// An expression over the columns as one over the plan and outer columns.
    pub(super) fn put(&self, expression: Expr) -> Result<Expr> {
        if self.is_plain() {
            return Ok(expression);
        }
        let put = expression.transform_up(|part| {
            let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
            let value = self.columns.iter().find(|(known, _)| known == column).map(|(_, value)| value.clone());
            Ok(value.map_or_else(|| Transformed::no(part), Transformed::yes))
        })?;
        Ok(put.data)
    }

    /// The first column.
    pub(super) fn first(&self) -> Option<Expr> {
        self.columns.first().map(|(_, value)| value.clone())
    }

    /// The columns of the input that conditions need, and values that are not computed yet.
    fn needed(&self) -> Vec<Expr> {
        let deferred = self.columns.iter().map(|(_, value)| value).filter(|value| has_outer(value));
        let all = self.conditions.iter().chain(deferred);
        once(all.flat_map(|expression| expression.column_refs()).cloned().map(Expr::Column).collect())
    }
}

impl Unnesting<'_> {
    /// Pulls the conditions out of a plan; `None` where outer columns are in something else, or can't leave.
    pub(super) fn pull(&mut self, plan: &LogicalPlan) -> Result<Option<Pulled>> {
        if !is_correlated(plan)? {
            return Ok(Some(Pulled::of(self.whole(plan.clone())?, Vec::new())));
        }
        // Outer rows that ask by equal values would get the same random numbers.
        if is_volatile(plan)? {
            return Ok(None);
        }
        let schema = plan.schema();
        match plan {
            LogicalPlan::Subquery(query) => self.pull(&query.subquery),
            LogicalPlan::SubqueryAlias(alias) => self.pull(&renaming(alias)?),
            // Of an order only what a LIMIT makes of it is left.
            LogicalPlan::Sort(sort) => self.pull(&sort.input),
            LogicalPlan::Filter(filter) => self.pull_filter(filter),
            LogicalPlan::Projection(projection) => self.pull_projection(projection),
            LogicalPlan::Join(join) => self.pull_join(join),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let Some(keyed) = self.pull_keyed(input)? else { return Ok(None) };
                let plan = LogicalPlan::Distinct(Distinct::All(Arc::new(keyed.plan)));
                Ok(Some(rejoined(plan, schema, keyed.outer, keyed.keys)))
            }
            LogicalPlan::Aggregate(aggregate) if empty_sets(aggregate) == 0 => {
                let Some(keyed) = self.keyed_input(aggregate)? else { return Ok(None) };
                let plan = self.groups(UnnestedRows::of(keyed.plan), keyed.keys.clone(), aggregate, None)?;
                Ok(Some(rejoined(plan, schema, keyed.outer, keyed.keys)))
            }
            LogicalPlan::Window(window) => self.pull_window(window),
            LogicalPlan::Limit(limit) => self.pull_limit(limit),
            LogicalPlan::Union(union) => self.pull_union(union),
            _ => Ok(None),
        }
    }

    fn pull_keyed(&mut self, plan: &LogicalPlan) -> Result<Option<Keyed>> {
        match self.pull(plan)? {
            Some(pulled) => self.keyed(pulled),
            None => Ok(None),
        }
    }

    fn pull_filter(&mut self, filter: &datafusion::logical_expr::Filter) -> Result<Option<Pulled>> {
        let Some(mut pulled) = self.pull(&filter.input)? else { return Ok(None) };
        let mut own = Vec::new();
        for condition in split_conjunction_owned(filter.predicate.clone()) {
            let condition = pulled.put(condition)?;
            let is_out = has_outer(&condition);
            // What a query is compared with becomes a key of a join within.
            if !queries_know(&condition, &pulled.plan)? || is_out && has_query(&condition) {
                return Ok(None);
            }
            if is_out { pulled.conditions.push(condition) } else { own.push(condition) }
        }
        if let Some(predicate) = conjunction(own) {
            let columns = columns_of(&pulled.plan).collect();
            let mut rows = UnnestedRows::of(pulled.plan);
            self.filtered(&mut rows, vec![predicate])?;
            rows.show(columns)?;
            pulled.plan = rows.plan;
        }
        Ok(Some(pulled))
    }

    fn pull_projection(&mut self, projection: &Projection) -> Result<Option<Pulled>> {
        let Some(pulled) = self.pull(&projection.input)? else { return Ok(None) };
        let mut input = UnnestedRows::of(pulled.plan.clone());
        let (mut shown, mut columns) = (Vec::new(), Vec::new());
        for (expression, column) in projection.expr.iter().zip(projection.schema.columns()) {
            let expression = pulled.put(expression.clone())?;
            if !queries_know(&expression, &input.plan)? || has_outer(&expression) && has_query(&expression) {
                return Ok(None);
            }
            let value = self.value(&mut input, expression, &[])?;
            if has_outer(&value) {
                // It would be computed for rows that were not there.
                if value.is_volatile() {
                    return Ok(None);
                }
                columns.push((column, value.unalias()));
            } else {
                shown.push(named(value, &column));
                columns.push((column.clone(), Expr::Column(column)));
            }
        }
        let mut pulled = Pulled { plan: input.plan, conditions: pulled.conditions, columns };
        self.show_needed(&mut pulled, &mut shown)?;
        pulled.plan = project(pulled.plan, shown)?;
        Ok(Some(pulled))
    }

    /// Adds what conditions and values need to a projection's columns. A column of the input whose name the projection has for
    /// something else gets another: a cast goes by the name of the column that it is of, a union's column by that of its
    /// first input's without the table.
    fn show_needed(&mut self, pulled: &mut Pulled, shown: &mut Vec<Expr>) -> Result<()> {
        let given = input_columns(shown);
        let mut renamed = UnnestedRows::of(LogicalPlan::default());
        for column in pulled.needed() {
            let Expr::Column(needed) = &column else { continue };
            if shown.contains(&column) {
                continue;
            }
            let is_taken = given.iter().any(|other| matches!(other, Expr::Column(other) if other.name == needed.name));
            if is_taken {
                let own = Column::new_unqualified(self.fresh(&needed.name));
                shown.push(column.clone().alias(&own.name));
                renamed.bindings.insert(needed.clone(), Expr::Column(own));
            } else {
                shown.push(column);
            }
        }
        let deferred = pulled.columns.iter_mut().map(|(_, value)| value).filter(|value| has_outer(value));
        for expression in pulled.conditions.iter_mut().chain(deferred) {
            let own = std::mem::take(expression).transform_up(|part| {
                let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
                let other = renamed.bindings.get(column).cloned();
                Ok(other.map_or_else(|| Transformed::no(part), Transformed::yes))
            })?;
            *expression = own.data;
        }
        Ok(())
    }

    fn pull_join(&mut self, join: &Join) -> Result<Option<Pulled>> {
        let left_columns = join.left.schema();
        let outer_right = outer_columns(&join.right)?;
        let looks_left = outer_right.iter().any(|column| left_columns.has_column(column));
        let looks_out = outer_right.iter().any(|column| !left_columns.has_column(column));
        let own: Vec<Expr> = join.filter.iter().cloned().flat_map(split_conjunction_owned).collect();
        let mut holds_out = false;
        for condition in &own {
            holds_out |= outer_columns_in(condition)?.iter().any(|column| !join.schema.has_column(column));
        }
        let may = match join.join_type {
            JoinType::Inner => true,
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => !looks_out && !holds_out,
            _ => false,
        };
        if !may || looks_left && looks_out {
            return Ok(None);
        }
        let Some(left) = self.pull(&join.left)?.filter(Pulled::is_plain) else { return Ok(None) };
        if looks_left {
            if holds_out {
                return Ok(None);
            }
            let pulled = left;
            let columns: Vec<Expr> = columns_of(&pulled.plan).collect();
            let mut rows = self.lateral(UnnestedRows::of(pulled.plan), join)?;
            // Its result has the join's columns alone.
            if !columns.iter().all(|column| columns_of(&rows.plan).any(|own| own == *column)) {
                return Ok(None);
            }
            rows.bindings.clear();
            return Ok(Some(Pulled::of(rows.plan, pulled.conditions)));
        }
        let Some(right) = self.pull(&join.right)?.filter(Pulled::is_plain) else { return Ok(None) };
        let (mut left, mut right) = (left, right);
        let mut conditions = std::mem::take(&mut left.conditions);
        conditions.append(&mut right.conditions);
        let (mut out, mut inside) = (Vec::new(), Vec::new());
        for condition in own {
            let is_out = outer_columns_in(&condition)?.iter().any(|column| !join.schema.has_column(column));
            if is_out && has_query(&condition) {
                return Ok(None);
            }
            if is_out { out.push(condition) } else { inside.push(condition) }
        }
        conditions.extend(out);
        let (mut left, mut right) = (UnnestedRows::of(left.plan), UnnestedRows::of(right.plan));
        let held = self.conditions(&mut left, &mut right, inside, join.join_type)?;
        let mut condition = keys_of(join);
        condition.same.extend(held.same);
        condition.holds.extend(held.before);
        let mut rows = UnnestedRows::of(joined(left.plan, right.plan, join.join_type, condition)?);
        self.filtered(&mut rows, held.behind)?;
        let columns = join.schema.columns().into_iter().map(|column| (column.clone(), Expr::Column(column))).collect();
        Ok(Some(Pulled { plan: rows.plan, conditions, columns }))
    }

    fn pull_window(&mut self, window: &Window) -> Result<Option<Pulled>> {
        for call in &window.window_expr {
            if !outer_columns_in(call)?.iter().all(|column| window.input.schema().has_column(column)) {
                return Ok(None);
            }
        }
        let Some(keyed) = self.pull_keyed(&window.input)? else { return Ok(None) };
        let schema = &window.schema;
        let plan = self.windows(UnnestedRows::of(keyed.plan), &keyed.keys, window)?;
        Ok(Some(rejoined(plan, schema, keyed.outer, keyed.keys)))
    }

    fn pull_limit(&mut self, limit: &Limit) -> Result<Option<Pulled>> {
        let plain = |bound: &Option<Box<Expr>>| bound.iter().all(|bound| matches!(**bound, Expr::Literal(..)));
        if !plain(&limit.skip) || !plain(&limit.fetch) {
            return Ok(None);
        }
        let (input, sort) = in_order(&limit.input)?;
        let Some(keyed) = self.pull_keyed(&input)? else { return Ok(None) };
        let schema = limit.input.schema();
        let plan = self.limited(UnnestedRows::of(keyed.plan), &keyed.keys, sort, limit)?;
        Ok(Some(rejoined(plan, schema, keyed.outer, keyed.keys)))
    }

    /// Each input has the same keys.
    fn pull_union(&mut self, union: &Union) -> Result<Option<Pulled>> {
        let mut inputs: Vec<Arc<LogicalPlan>> = Vec::with_capacity(union.inputs.len());
        let mut outer: Vec<Expr> = Vec::new();
        let names: Vec<Column> = union.schema.columns();
        let mut keys: Vec<Expr> = Vec::new();
        for input in &union.inputs {
            let Some(keyed) = self.pull_keyed(input)? else { return Ok(None) };
            if inputs.is_empty() {
                outer.clone_from(&keyed.outer);
                keys = keyed.keys.iter().map(|_| Expr::Column(Column::new_unqualified(self.fresh("key")))).collect();
            }
            let same = outer.len() == keyed.outer.len() && outer.iter().all(|own| keyed.outer.contains(own));
            if !same {
                return Ok(None);
            }
            let own = columns_of(input).zip(&names).map(|(column, name)| named(column, name));
            let by = outer.iter().zip(&keys).filter_map(|(outer, name)| {
                let at = keyed.outer.iter().position(|own| own == outer)?;
                Some(keyed.keys[at].clone().alias(name.schema_name().to_string()))
            });
            let shown = own.chain(by).collect();
            inputs.push(Arc::new(project(keyed.plan, shown)?));
        }
        let plan = LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?);
        let columns = names.into_iter().map(|column| (column.clone(), Expr::Column(column))).collect();
        let conditions = outer.into_iter().zip(keys).map(|(outer, key)| outer.eq(key)).collect();
        Ok(Some(Pulled { plan, conditions, columns }))
    }

    /// Rows by equal keys, where all conditions are such equalities.
    pub(super) fn keyed(&mut self, pulled: Pulled) -> Result<Option<Keyed>> {
        if !pulled.is_keyed() {
            return Ok(None);
        }
        let mut shown: Vec<Expr> = pulled.columns.into_iter().map(|(_, value)| value).collect();
        let (mut outer, mut keys) = (Vec::new(), Vec::new());
        for (of_outer, own) in pulled.conditions.into_iter().filter_map(equality) {
            let key = match &own {
                Expr::Column(_) => own.clone(),
                _ => Expr::Column(Column::new_unqualified(self.fresh("key"))),
            };
            if !shown.contains(&own) {
                shown.push(if key == own { own } else { own.alias(key.schema_name().to_string()) });
            }
            outer.push(of_outer);
            keys.push(key);
        }
        let plan = self.asked_for(project(pulled.plan, shown)?, &outer, &keys)?;
        Ok(Some(Keyed { plan, outer, keys }))
    }
}

/// A plan whose columns are those of the operator and `keys`.
fn rejoined(plan: LogicalPlan, operator: &DFSchema, outer: Vec<Expr>, keys: Vec<Expr>) -> Pulled {
    let conditions = outer.into_iter().zip(keys).map(|(outer, key)| outer.eq(key)).collect();
    let columns = operator.columns().into_iter().map(|column| (column.clone(), Expr::Column(column))).collect();
    Pulled { plan, conditions, columns }
}

/// The keys of a join, as it compares them.
pub(super) fn keys_of(join: &Join) -> Condition {
    match join.null_equality {
        datafusion::common::NullEquality::NullEqualsNull => Condition::same(join.on.clone()),
        datafusion::common::NullEquality::NullEqualsNothing => Condition::equal(join.on.clone()),
    }
}

/// The sides of an equality between outer columns and a plan's own.
fn equality(condition: Expr) -> Option<(Expr, Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return None };
    let is_outer = |side: &Expr| side.column_refs().is_empty() && has_outer(side) && !has_query(side);
    let is_own = |side: &Expr| !has_outer(side) && !side.column_refs().is_empty() && !has_query(side);
    if is_outer(&left) && is_own(&right) {
        return Some((*left, *right));
    }
    (is_own(&left) && is_outer(&right)).then_some((*right, *left))
}

/// Whether the queries in an expression look at columns of `plan` alone.
fn queries_know(expression: &Expr, plan: &LogicalPlan) -> Result<bool> {
    let mut known = true;
    expression.apply(|part| {
        if let Some(query) = subquery_of(part) {
            known &= outer_columns(&query.subquery)?.iter().all(|column| plan.schema().has_column(column));
        }
        Ok(if known { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(known)
}

fn input_columns(expressions: &[Expr]) -> Vec<Expr> {
    expressions
        .iter()
        .map(|expression| {
            let (relation, name) = expression.qualified_name();
            Expr::Column(Column::new(relation, name))
        })
        .collect()
}

/// An alias as the projection that it is.
pub(super) fn renaming(alias: &SubqueryAlias) -> Result<LogicalPlan> {
    let columns = columns_of(&alias.input).zip(alias.schema.columns());
    let columns = columns.map(|(column, name)| named(column, &name)).collect::<Vec<_>>();
    LogicalPlanBuilder::from(alias.input.as_ref().clone()).project(columns)?.build()
}

/// What a LIMIT takes rows of, without the order that they come in; and this order, over columns of what is left.
pub(super) fn in_order(input: &LogicalPlan) -> Result<(LogicalPlan, Vec<datafusion::logical_expr::SortExpr>)> {
    match input {
        LogicalPlan::Sort(sort) => Ok((sort.input.as_ref().clone(), sort.expr.clone())),
        // Without the columns that it was sorted by.
        LogicalPlan::Projection(projection) if matches!(projection.input.as_ref(), LogicalPlan::Sort(_)) => {
            let (below, order) = in_order(&projection.input)?;
            let given = input_columns(&projection.expr);
            let needed = order.iter().flat_map(|key| key.expr.column_refs()).cloned().map(Expr::Column);
            let hidden: Vec<Expr> = once(needed.collect()).into_iter().filter(|own| !given.contains(own)).collect();
            let all = projection.expr.iter().cloned().chain(hidden).collect();
            Ok((LogicalPlan::Projection(Projection::try_new(all, Arc::new(below))?), order))
        }
        other => Ok((other.clone(), Vec::new())),
    }
}
