//! Joins of FROM lists get their keys from the condition above them, and come in an order in which each has a key where one
//! can. DataFusion's `EliminateCrossJoin` does the same, but looks at each join that it has made as though it were new, and so
//! makes a list's joins again and again, which took up to a seventh of all planning. Here what was made stays, and only the
//! relations below are looked at (docs/decisions/0023-planning-time.md). The order of joins by costs comes later (`rule`).

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, NullEquality};
use datafusion::error::Result;
use datafusion::logical_expr::utils::{can_hash, conjunction};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Filter, Join, JoinConstraint, JoinType, LogicalPlan, Operator, Projection,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Two expressions that are equal in what a condition leaves.
type EqualPair = (Expr, Expr);

/// The rule.
#[derive(Debug)]
pub(crate) struct KeyedJoins;

impl OptimizerRule for KeyedJoins {
    fn name(&self) -> &str {
        "keyed_joins"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut found = false;
        plan.apply_with_subqueries(|node| {
            found |= is_list(node);
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if found { keyed(plan) } else { Ok(Transformed::no(plan)) }
    }
}

/// A plan with all of its lists joined by keys.
fn keyed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let plan = if has_subquery(&plan)? { plan.map_uncorrelated_subqueries(keyed)? } else { Transformed::no(plan) };
    plan.transform_data(|plan| match plan {
        LogicalPlan::Filter(Filter { input, predicate, .. }) if is_list(&input) => {
            joined(Arc::unwrap_or_clone(input), Some(predicate)).map(Transformed::yes)
        }
        plan if is_list(&plan) => joined(plan, None).map(Transformed::yes),
        plan => {
            let plan = plan.map_children(keyed)?;
            if plan.transformed { plan.map_data(LogicalPlan::recompute_schema) } else { Ok(plan) }
        }
    })
}

fn has_subquery(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    node.apply_subqueries(|_| {
        found = true;
        Ok(TreeNodeRecursion::Stop)
    })?;
    Ok(found)
}

/// True for a join whose sides may be joined with others first. One for which NULLs are equal is none: keys of a condition
/// above would be compared so, too.
fn is_listed(join: &Join) -> bool {
    join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNothing
}

fn is_list(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if is_listed(join))
}

/// A list's relations, from left to right, with what its joins say.
#[derive(Default)]
struct List {
    inputs: Vec<LogicalPlan>,
    keys: Vec<EqualPair>,
    filters: Vec<Expr>,
}

impl List {
    fn add(&mut self, plan: LogicalPlan) -> Result<()> {
        match plan {
            LogicalPlan::Join(join) if is_listed(&join) => {
                self.filters.extend(join.filter);
                join.on.into_iter().for_each(|key| insert(&mut self.keys, key));
                self.add(Arc::unwrap_or_clone(join.left))?;
                self.add(Arc::unwrap_or_clone(join.right))
            }
            input => {
                self.inputs.push(keyed(input)?.data);
                Ok(())
            }
        }
    }
}

/// A list as joins from left to right, each with all keys that it can have; of the relations that have one the first is next,
/// or the first of all where none has. What is left of the list's conditions and of `condition` is above.
fn joined(plan: LogicalPlan, condition: Option<Expr>) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let mut list = List::default();
    list.add(plan)?;
    if let Some(condition) = &condition {
        keys_of(condition).into_iter().for_each(|key| insert(&mut list.keys, key));
    }
    let List { inputs, keys, filters } = list;
    let ends: Vec<Ends> = keys.iter().map(|(a, b)| [a, b].map(|end| places(end, &inputs))).collect();
    let mut waiting: Vec<(usize, LogicalPlan)> = inputs.into_iter().enumerate().collect();
    let (first, mut left) = waiting.remove(0);
    let (mut there, mut used) = (vec![first], Vec::new());
    while !waiting.is_empty() {
        let mut next = (0, Vec::new());
        for (at, (place, _)) in waiting.iter().enumerate() {
            let on = keys_to(*place, &there, left.schema(), keys.iter().zip(&ends))?;
            if !on.is_empty() {
                next = (at, on);
                break;
            }
        }
        let (at, on) = next;
        let (place, right) = waiting.remove(at);
        there.push(place);
        used.extend(on.iter().cloned());
        left = join(left, right, on)?;
    }
    if schema != *left.schema() {
        left = LogicalPlan::Projection(Projection::new_from_schema(Arc::new(left), schema));
    }
    let rest = condition.and_then(|condition| without(condition, &used));
    let filtered = |plan, filter| Filter::try_new(filter, Arc::new(plan)).map(LogicalPlan::Filter);
    [conjunction(filters), rest].into_iter().flatten().try_fold(left, filtered)
}

/// For both sides of a key the relations that they have columns of.
type Ends = [Option<Vec<usize>>; 2];

/// The keys that a relation has with those that are there, whose schema is `schema`.
fn keys_to<'k>(
    place: usize,
    there: &[usize],
    schema: &DFSchema,
    keys: impl Iterator<Item = (&'k EqualPair, &'k Ends)>,
) -> Result<Vec<EqualPair>> {
    let mut on = Vec::new();
    for ((a, b), ends) in keys {
        let (from, to) = match ends {
            [Some(from), Some(to)] if is_within(from, there) && is_within(to, &[place]) => (a, b),
            [Some(to), Some(from)] if is_within(from, there) && is_within(to, &[place]) => (b, a),
            _ => continue,
        };
        if can_hash(&from.get_type(schema)?) {
            on.push((from.clone(), to.clone()));
        }
    }
    Ok(on)
}

fn join(left: LogicalPlan, right: LogicalPlan, on: Vec<EqualPair>) -> Result<LogicalPlan> {
    let (inner, on_keys) = (JoinType::Inner, JoinConstraint::On);
    let nothing = NullEquality::NullEqualsNothing;
    Join::try_new(Arc::new(left), Arc::new(right), on, None, inner, on_keys, nothing, false).map(LogicalPlan::Join)
}

/// The inputs whose columns an expression has; `None` when it has none, or others too.
fn places(expression: &Expr, inputs: &[LogicalPlan]) -> Option<Vec<usize>> {
    let columns = expression.column_refs();
    let place = |column| inputs.iter().position(|input| input.schema().is_column_from_schema(column));
    let places: Vec<usize> = columns.into_iter().map(place).collect::<Option<_>>()?;
    (!places.is_empty()).then_some(places)
}

fn is_within(places: &[usize], all: &[usize]) -> bool {
    places.iter().all(|place| all.contains(place))
}

fn is_same((a, b): &EqualPair, left: &Expr, right: &Expr) -> bool {
    (a == left && b == right) || (a == right && b == left)
}

fn insert(keys: &mut Vec<EqualPair>, (left, right): EqualPair) {
    if !keys.iter().any(|key| is_same(key, &left, &right)) {
        keys.push((left, right));
    }
}

/// What is equal wherever a condition is true.
fn keys_of(condition: &Expr) -> Vec<EqualPair> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else { return Vec::new() };
    match op {
        Operator::Eq => vec![((**left).clone(), (**right).clone())],
        Operator::And => {
            let mut keys = keys_of(left);
            keys_of(right).into_iter().for_each(|key| insert(&mut keys, key));
            keys
        }
        Operator::Or => {
            let others = keys_of(right);
            keys_of(left).into_iter().filter(|(a, b)| others.iter().any(|key| is_same(key, a, b))).collect()
        }
        _ => Vec::new(),
    }
}

/// What a condition says beside keys; `None` when that is nothing.
fn without(condition: Expr, keys: &[EqualPair]) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else { return Some(condition) };
    let both = |left, right| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
    match op {
        Operator::Eq if keys.iter().any(|key| is_same(key, &left, &right)) => None,
        Operator::And => match (without(*left, keys), without(*right, keys)) {
            (Some(left), Some(right)) => Some(both(left, right)),
            (left, right) => left.or(right),
        },
        // Where one side says nothing more, the whole does not.
        Operator::Or => Some(both(without(*left, keys)?, without(*right, keys)?)),
        _ => Some(both(*left, *right)),
    }
}
