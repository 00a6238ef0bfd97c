//! `IN`, `ANY` and `ALL` of subqueries as what EXISTS says of them, by SQL's three-valued logic: `x = ANY (q)` is true when it
//! holds for a row of `q`, else NULL when `x` is and `q` has rows, or when `q` has a NULL, else false; `x = ALL (q)` is not
//! `x <> ANY (q)`. Where NULL counts as false, less has to be asked for.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Case, Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Subquery, binary_expr, lit,
    not,
};
use std::sync::Arc;

/// Whether an expression is a subquery of which the number of rows does not matter.
pub(super) fn is_subquery(expression: &Expr) -> bool {
    subquery_of(expression).is_some()
}

pub(super) fn subquery_of(expression: &Expr) -> Option<&Subquery> {
    match expression {
        Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::Exists(Exists { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. }) => Some(subquery),
        _ => None,
    }
}

/// Whether there is such a subquery in an expression.
pub(super) fn has_subquery(expression: &Expr) -> bool {
    expression.exists(|part| Ok(is_subquery(part))).unwrap_or(true)
}

/// Whether a plan gives one row in any case.
pub(crate) fn has_a_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => has_a_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_a_row(&alias.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        _ => false,
    }
}

/// One of the conditions of a filter over rows of a schema: the same rows pass.
pub(super) fn conjunct(condition: Expr, schema: &DFSchema) -> Result<Expr> {
    let (inner, negated) = match condition {
        Expr::Not(inner) => (*inner, true),
        other => (other, false),
    };
    match Compared::of(&inner) {
        Some(compared) => compared.conjunct(negated, schema),
        None => truth(inner, negated, schema),
    }
}

/// What is true where `condition` is, or, if `negated`, where it is false; and false or NULL elsewhere.
fn truth(condition: Expr, negated: bool, schema: &DFSchema) -> Result<Expr> {
    if let Some(compared) = Compared::of(&condition) {
        return compared.truth(negated, schema);
    }
    match condition {
        Expr::Not(inner) => truth(*inner, !negated, schema),
        Expr::Exists(exists) => Ok(exists_as(exists, negated)),
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let op = if (op == Operator::And) == negated { Operator::Or } else { Operator::And };
            Ok(binary_expr(truth(*left, negated, schema)?, op, truth(*right, negated, schema)?))
        }
        other => {
            let own = value(other, schema)?;
            Ok(if negated { not(own) } else { own })
        }
    }
}

/// An expression over rows of a schema with nothing but EXISTS for subqueries.
pub(super) fn value(expression: Expr, schema: &DFSchema) -> Result<Expr> {
    let asked = expression.transform_up(|part| match (Compared::of(&part), part) {
        (Some(compared), _) => compared.value(schema).map(Transformed::yes),
        (None, Expr::Exists(exists)) => Ok(Transformed::yes(exists_as(exists, false))),
        (None, other) => Ok(Transformed::no(other)),
    })?;
    Ok(asked.data)
}

fn exists_as(exists: Exists, negated: bool) -> Expr {
    let negated = exists.negated != negated;
    if has_a_row(&exists.subquery.subquery) { lit(!negated) } else { Expr::Exists(Exists { negated, ..exists }) }
}

/// Whether a value compares as `operator` says with any row of a subquery, or, if `negated`, with none.
struct Compared {
    value: Expr,
    operator: Operator,
    subquery: Subquery,
    negated: bool,
}

impl Compared {
    /// `None` for what is no such comparison, and for one that can't be looked at row by row: of rows up to a LIMIT, of a
    /// subquery about outer columns.
    fn of(expression: &Expr) -> Option<Self> {
        let (value, operator, subquery, negated) = match expression {
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => (expr, Operator::Eq, subquery, *negated),
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => match quantifier {
                SetQuantifier::Any => (expr, *op, subquery, false),
                SetQuantifier::All => (expr, op.negate()?, subquery, true),
            },
            _ => return None,
        };
        let is_limit = |plan: &LogicalPlan| Ok(matches!(plan, LogicalPlan::Limit(_)));
        let is_comparison = operator.negate().is_some() && operator.returns_null_on_null();
        let limited = !subquery.outer_ref_columns.is_empty() && subquery.subquery.exists(is_limit).unwrap_or(true);
        let (value, subquery) = (value.as_ref().clone(), named(subquery));
        (is_comparison && !limited).then_some(Self { value, operator, subquery, negated })
    }

    /// As a condition of a filter, of which DataFusion makes a semi join or an anti join for which NULLs count.
    fn conjunct(self, negated: bool, schema: &DFSchema) -> Result<Expr> {
        let negated = self.negated != negated;
        let is_one = has_a_row(&self.subquery.subquery);
        let is_key = !negated || self.subquery.outer_ref_columns.is_empty() && !self.value.column_refs().is_empty();
        if self.operator == Operator::Eq && is_key && !is_one {
            let (expr, subquery) = (Box::new(self.value), self.subquery);
            return Ok(Expr::InSubquery(InSubquery { expr, subquery, negated }));
        }
        Self { negated, ..self }.truth(false, schema)
    }

    fn truth(self, negated: bool, schema: &DFSchema) -> Result<Expr> {
        let negated = self.negated != negated;
        if has_a_row(&self.subquery.subquery) {
            return Ok(Self { negated, ..self }.with_the_row());
        }
        let holds = self.exists(Some(self.comparison(schema)?), negated)?;
        let nulls = if negated { self.nulls(schema)? } else { Vec::new() };
        let nulls = nulls.into_iter().map(|null| truth(null, true, schema));
        let all = std::iter::once(Ok(holds)).chain(nulls).collect::<Result<Vec<_>>>()?;
        Ok(conjunction(all).unwrap_or_else(|| lit(true)))
    }

    fn value(self, schema: &DFSchema) -> Result<Expr> {
        if has_a_row(&self.subquery.subquery) {
            return Ok(self.with_the_row());
        }
        let holds = self.exists(Some(self.comparison(schema)?), false)?;
        let nulls = self.nulls(schema)?.into_iter().reduce(Expr::or);
        let Some(nulls) = nulls else { return Ok(if self.negated { not(holds) } else { holds }) };
        let null = Expr::Literal(ScalarValue::Boolean(None), None);
        let results = [(holds, lit(!self.negated)), (nulls, null)];
        let when_then_expr = results.map(|(when, then)| (Box::new(when), Box::new(then))).into();
        Ok(Expr::Case(Case { expr: None, when_then_expr, else_expr: Some(Box::new(lit(self.negated))) }))
    }

    /// The comparison with the row of a subquery that has one.
    fn with_the_row(self) -> Expr {
        let own = binary_expr(self.value, self.operator, Expr::ScalarSubquery(self.subquery));
        if self.negated { not(own) } else { own }
    }

    /// The column of the subquery's rows.
    fn column(&self) -> Expr {
        Expr::Column(Column::from(self.subquery.subquery.schema().qualified_field(0)))
    }

    /// The comparison, as a condition of the subquery.
    fn comparison(&self, schema: &DFSchema) -> Result<Expr> {
        let outer = self.value.clone().transform_up(|part| match part {
            Expr::Column(column) => {
                let field = Arc::clone(schema.field_from_column(&column)?);
                Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(binary_expr(outer.data, self.operator, self.column()))
    }

    /// When it is NULL where it holds for no row: one of these is true.
    fn nulls(&self, schema: &DFSchema) -> Result<Vec<Expr>> {
        let mut nulls = Vec::new();
        if self.column().nullable(self.subquery.subquery.schema().as_ref())? {
            nulls.push(self.exists(Some(self.column().is_null()), false)?);
        }
        if self.value.nullable(schema)? {
            nulls.push(self.value.clone().is_null().and(self.exists(None, false)?));
        }
        Ok(nulls)
    }

    /// Whether there are rows, or some under a condition.
    fn exists(&self, condition: Option<Expr>, negated: bool) -> Result<Expr> {
        let mut plan = LogicalPlanBuilder::from(self.subquery.subquery.as_ref().clone());
        if let Some(condition) = condition {
            plan = plan.filter(condition)?;
        }
        let subquery = Arc::new(plan.build()?);
        let (outer_ref_columns, spans) = (subquery.all_out_ref_exprs(), self.subquery.spans.clone());
        Ok(Expr::Exists(Exists { subquery: Subquery { subquery, outer_ref_columns, spans }, negated }))
    }
}

/// A subquery of which the column has a name of its own where it is computed. A cast goes by its column's name, and DataFusion adds
/// that column for a condition on outer columns.
fn named(subquery: &Subquery) -> Subquery {
    let LogicalPlan::Projection(projection) = subquery.subquery.as_ref() else { return subquery.clone() };
    let own = |expression: &Expr| match expression {
        Expr::Column(_) | Expr::Alias(_) => expression.clone(),
        other => other.clone().alias("__compared"),
    };
    let expressions = projection.expr.iter().map(own).collect();
    match Projection::try_new(expressions, Arc::clone(&projection.input)) {
        Ok(named) => subquery.with_plan(Arc::new(LogicalPlan::Projection(named))),
        Err(_) => subquery.clone(),
    }
}
