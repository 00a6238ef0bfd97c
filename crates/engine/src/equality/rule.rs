//! Where keys are needed in a plan.

use crate::equality::form::has_one_form;
use crate::equality::key::{is_key, keyed};
use crate::rewrite::{each_part, has_expression};
use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, TableReference};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, ExprSchemable, GroupingSet, Join, LogicalPlan, Operator, Projection, Sort,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The analyzer rule; runs when subqueries are joins.
#[derive(Debug)]
pub(crate) struct OneForm;

impl AnalyzerRule for OneForm {
    fn name(&self) -> &str {
        "one_form"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(with_keys)?.data)
    }
}

/// Types whose equal values may have several forms.
fn has_several_forms(data_type: &DataType) -> bool {
    data_type.is_floating() || matches!(data_type, DataType::Interval(_))
}

/// Whether a part of an expression compares values of such a type, or orders or counts by them.
fn compares_forms(part: &Expr, schema: &DFSchema) -> bool {
    let is_such = |value: &Expr| value.get_type(schema).is_ok_and(|own| has_several_forms(&own));
    match part {
        Expr::BinaryExpr(binary) => compares(binary.op) && (is_such(&binary.left) || is_such(&binary.right)),
        Expr::Between(between) => is_such(&between.expr),
        Expr::InList(list) => is_such(&list.expr),
        Expr::Case(case) => case.expr.as_deref().is_some_and(is_such),
        Expr::ScalarFunction(call) => chooses(call.name()) && call.args.iter().any(is_such),
        Expr::AggregateFunction(call) => {
            call.params.args.iter().any(is_such) || call.params.order_by.iter().any(|term| is_such(&term.expr))
        }
        Expr::WindowFunction(call) => {
            let orders = call.params.order_by.iter().map(|term| &term.expr);
            orders.chain(&call.params.partition_by).any(is_such)
        }
        _ => false,
    }
}

/// Functions that compare their arguments.
fn chooses(name: &str) -> bool {
    matches!(name, "greatest" | "least" | "nullif")
}

/// The surroundings of a node's expressions: its inputs and their columns.
struct InputColumns<'p> {
    inputs: Vec<&'p LogicalPlan>,
    schema: DFSchema,
}

impl InputColumns<'_> {
    /// The key of a value where it needs one; `None` where the value is its own.
    fn key(&self, value: &Expr) -> Option<Expr> {
        let data_type = value.get_type(&self.schema).ok().filter(has_several_forms)?;
        let own = is_key(value) || (data_type.is_floating() && has_one_form(value, &self.inputs));
        (!own).then(|| keyed(value.clone(), &data_type))
    }

    /// Puts its key in the place of a value.
    fn put(&self, value: &mut Expr) -> bool {
        let Some(key) = self.key(value) else { return false };
        *value = key;
        true
    }

    /// A part of an expression whose comparison, order or aggregate is about keys.
    fn part(&self, mut part: Expr) -> Result<Transformed<Expr>> {
        let changed = match &mut part {
            Expr::BinaryExpr(binary) if compares(binary.op) => self.put(&mut binary.left) | self.put(&mut binary.right),
            Expr::Between(between) => {
                self.put(&mut between.expr) | self.put(&mut between.low) | self.put(&mut between.high)
            }
            Expr::InList(list) => {
                let changed = self.put(&mut list.expr);
                list.list.iter_mut().fold(changed, |changed, entry| self.put(entry) | changed)
            }
            Expr::Case(case) => match &mut case.expr {
                Some(base) => {
                    let changed = self.put(base);
                    case.when_then_expr.iter_mut().fold(changed, |changed, (when, _)| self.put(when) | changed)
                }
                None => false,
            },
            Expr::ScalarFunction(call) if chooses(call.name()) => {
                // Of intervals, the value that is shown is no key.
                let is_float = |value: &Expr| value.get_type(&self.schema).is_ok_and(|own| own.is_floating());
                call.args
                    .iter_mut()
                    .filter(|value| is_float(value))
                    .fold(false, |changed, value| self.put(value) | changed)
            }
            Expr::AggregateFunction(call) => self.aggregate(call.func.name(), &mut call.params),
            Expr::WindowFunction(call) => {
                let params = &mut call.params;
                let mut changed = false;
                for key in &mut params.partition_by {
                    changed |= self.put(key);
                }
                for sort in &mut params.order_by {
                    changed |= self.put(&mut sort.expr);
                }
                changed
            }
            _ => false,
        };
        Ok(if changed { Transformed::yes(part) } else { Transformed::no(part) })
    }

    /// Orders of aggregates, and what they count as different or as largest.
    fn aggregate(&self, name: &str, params: &mut AggregateFunctionParams) -> bool {
        let mut changed = false;
        for sort in &mut params.order_by {
            changed |= self.put(&mut sort.expr);
        }
        let by_value = matches!(name, "min" | "max") || (params.distinct && name == "count");
        let is_float = |value: &Expr| value.get_type(&self.schema).is_ok_and(|own| own.is_floating());
        for argument in &mut params.args {
            // The largest of intervals is shown as it is: it has an aggregate of its own.
            if by_value && (is_float(argument) || name == "count") {
                changed |= self.put(argument);
            }
        }
        changed
    }
}

fn compares(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn with_keys(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let plan = expressions(plan)?;
    plan.transform_data(|plan| match plan {
        LogicalPlan::Sort(sort) => sorted(sort),
        LogicalPlan::Join(join) => joined(join),
        LogicalPlan::Aggregate(aggregate) => grouped(aggregate),
        LogicalPlan::Distinct(Distinct::All(input)) => distinct(input),
        other => Ok(Transformed::no(other)),
    })
}

/// The expressions of a node.
fn expressions(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if matches!(plan, LogicalPlan::TableScan(_) | LogicalPlan::Values(_)) {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&plan.inputs());
    if !has_expression(&plan, |part| compares_forms(part, &schema))? {
        return Ok(Transformed::no(plan));
    }
    let inputs: Vec<LogicalPlan> = plan.inputs().into_iter().cloned().collect();
    let around = InputColumns { inputs: inputs.iter().collect(), schema };
    each_part(plan, |part| around.part(part))
}

fn sorted(mut sort: Sort) -> Result<Transformed<LogicalPlan>> {
    let keys: Vec<Option<Expr>> = {
        let around = InputColumns { schema: DFSchema::clone(sort.input.schema()), inputs: vec![&sort.input] };
        sort.expr.iter().map(|term| around.key(&term.expr)).collect()
    };
    let changed = keys.iter().any(Option::is_some);
    for (term, key) in sort.expr.iter_mut().zip(keys) {
        if let Some(key) = key {
            term.expr = key;
        }
    }
    let plan = LogicalPlan::Sort(sort);
    Ok(if changed { Transformed::yes(plan) } else { Transformed::no(plan) })
}

fn joined(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    let (left, right) = (Arc::clone(&join.left), Arc::clone(&join.right));
    let side = |plan: &'_ Arc<LogicalPlan>, value: &mut Expr| {
        let around = InputColumns { schema: DFSchema::clone(plan.schema()), inputs: vec![plan] };
        around.put(value)
    };
    for (own, other) in &mut join.on {
        changed |= side(&left, own) | side(&right, other);
    }
    let plan = LogicalPlan::Join(join);
    Ok(if changed { Transformed::yes(plan) } else { Transformed::no(plan) })
}

/// Groups of keys. A float's key stands for it; of intervals, which equal ones may be told apart by what they do to a
/// date, a group shows the first.
fn grouped(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let input = Arc::clone(&aggregate.input);
    let around = InputColumns { schema: DFSchema::clone(input.schema()), inputs: vec![&input] };
    if let [Expr::GroupingSet(sets)] = aggregate.group_expr.as_slice() {
        return in_grouping_sets(&aggregate, sets, &around);
    }
    let keys: Vec<Option<Expr>> = aggregate.group_expr.iter().map(|group| around.key(group)).collect();
    if keys.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let Aggregate { group_expr, mut aggr_expr, schema, .. } = aggregate;
    let (mut groups, mut shown) = (Vec::new(), Vec::new());
    let outputs: Vec<Output> = schema.iter().map(|(qualifier, field)| Output::new(qualifier, field.name())).collect();
    for ((group, key), output) in group_expr.into_iter().zip(keys).zip(&outputs) {
        let is_interval = matches!(group.get_type(input.schema())?, DataType::Interval(_));
        match key {
            Some(key) if is_interval => {
                let name = format!("__first_of_{}", output.name);
                aggr_expr.push(first(group).alias(&name));
                groups.push(key);
                shown.push(Expr::from(datafusion::common::Column::from_name(name)));
            }
            Some(key) => {
                shown.push(column_of(&key));
                groups.push(key);
            }
            None => {
                shown.push(column_of(&group));
                groups.push(group);
            }
        }
    }
    let calculated = outputs.iter().skip(groups.len()).map(|output| output.column());
    shown.extend(calculated);
    let plan = LogicalPlan::Aggregate(Aggregate::try_new(input, groups, aggr_expr)?);
    let shown = shown.into_iter().zip(outputs).map(|(value, output)| output.of(value)).collect();
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(shown, Arc::new(plan))?)))
}

/// The column that a group is in the aggregation's output.
fn column_of(group: &Expr) -> Expr {
    let (qualifier, name) = group.qualified_name();
    Expr::Column(datafusion::common::Column::new(qualifier, name))
}

/// A column's name in the output of a node.
struct Output {
    qualifier: Option<TableReference>,
    name: String,
}

impl Output {
    fn new(qualifier: Option<&TableReference>, name: &str) -> Self {
        Self { qualifier: qualifier.cloned(), name: name.to_owned() }
    }

    fn column(&self) -> Expr {
        Expr::Column(datafusion::common::Column::new(self.qualifier.clone(), self.name.clone()))
    }

    /// A value under this name.
    fn of(self, value: Expr) -> Expr {
        if value == self.column() { value } else { value.alias_qualified(self.qualifier, self.name) }
    }
}

/// The value of the first row of a group.
fn first(value: Expr) -> Expr {
    let args = vec![value];
    Expr::AggregateFunction(AggregateFunction::new_udf(first_value_udaf(), args, false, None, Vec::new(), None))
}

/// Keys stand for values in grouping sets: a group of one set has no first row for another.
fn in_grouping_sets(
    aggregate: &Aggregate,
    sets: &GroupingSet,
    around: &InputColumns<'_>,
) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    let mut with_keys = |group: &Expr| {
        let key = around.key(group);
        changed |= key.is_some();
        key.unwrap_or_else(|| group.clone())
    };
    let sets = match sets {
        GroupingSet::Rollup(groups) => GroupingSet::Rollup(groups.iter().map(&mut with_keys).collect()),
        GroupingSet::Cube(groups) => GroupingSet::Cube(groups.iter().map(&mut with_keys).collect()),
        GroupingSet::GroupingSets(sets) => {
            let set = |set: &Vec<Expr>| set.iter().map(&mut with_keys).collect();
            GroupingSet::GroupingSets(sets.iter().map(set).collect())
        }
    };
    if !changed {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate.clone())));
    }
    let outputs = aggregate.schema.iter().map(|(qualifier, field)| Output::new(qualifier, field.name()));
    let groups = vec![Expr::GroupingSet(sets)];
    let plan =
        LogicalPlan::Aggregate(Aggregate::try_new(Arc::clone(&aggregate.input), groups, aggregate.aggr_expr.clone())?);
    let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let shown = columns.into_iter().zip(outputs).map(|(value, output)| output.of(value)).collect();
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(shown, Arc::new(plan))?)))
}

/// DISTINCT as groups of all columns, where one of them needs a key.
fn distinct(input: Arc<LogicalPlan>) -> Result<Transformed<LogicalPlan>> {
    let needs_keys = {
        let around = InputColumns { schema: DFSchema::clone(input.schema()), inputs: vec![&input] };
        input.schema().columns().into_iter().any(|column| around.key(&Expr::Column(column)).is_some())
    };
    if !needs_keys {
        return Ok(Transformed::no(LogicalPlan::Distinct(Distinct::All(input))));
    }
    let groups = input.schema().columns().into_iter().map(Expr::Column).collect();
    grouped(Aggregate::try_new(input, groups, Vec::new())?)
}
