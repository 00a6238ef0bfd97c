//! Operators that SQL writes in a form of their own, where their operands are bytes: `||`, SUBSTRING, POSITION, OVERLAY, LIKE.
//! A text without a type beside bytes is read as bytes.

use crate::bytes::{like, parts};
use crate::error::invalid;
use crate::functions::regular::is_regular;
use crate::rewrite::{columns_around, each_part, has_expression};
use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ExprSchema};
use datafusion::error::Result;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, cast, lit};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Plans operators while their statement is planned, with functions that know bytes.
#[derive(Debug)]
pub(crate) struct BytesOperators;

impl ExprPlanner for BytesOperators {
    fn plan_binary_op(&self, binary: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if binary.op != BinaryOperator::StringConcat {
            return Ok(PlannerResult::Original(binary));
        }
        let (Ok(left), Ok(right)) = (binary.left.get_type(schema), binary.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(binary));
        };
        if left.is_null() && right.is_null() {
            let text = |operand: Expr| Box::new(cast(operand, DataType::Utf8));
            let joined = BinaryExpr::new(text(binary.left), Operator::StringConcat, text(binary.right));
            return Ok(PlannerResult::Planned(Expr::BinaryExpr(joined)));
        }
        let is_read = |data_type: &DataType, own: &Expr| {
            data_type.is_binary() || data_type.is_null() || data_type.is_string() && matches!(own, Expr::Literal(..))
        };
        let are_bytes = left.is_binary() || right.is_binary();
        if !are_bytes || !is_read(&left, &binary.left) || !is_read(&right, &binary.right) {
            return Ok(PlannerResult::Original(binary));
        }
        Ok(PlannerResult::Planned(parts::joined().call(vec![binary.left, binary.right])))
    }

    fn plan_position(&self, arguments: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(parts::position().call(arguments)))
    }

    fn plan_substring(&self, arguments: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(parts::substring().call(arguments)))
    }

    fn plan_overlay(&self, arguments: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(parts::overlay().call(arguments)))
    }
}

/// LIKE over bytes as a function, before type coercion would make texts of them; other patterns are refused, as PostgreSQL does.
#[derive(Debug)]
pub(crate) struct BytesLike;

impl AnalyzerRule for BytesLike {
    fn name(&self) -> &str {
        "bytes_like"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(in_plan)?.data)
    }
}

fn in_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !has_expression(&plan, has_pattern)? {
        return Ok(Transformed::no(plan));
    }
    let schema = columns_around(&plan)?;
    each_part(plan, |part| in_expression(part, &schema))
}

fn has_pattern(expression: &Expr) -> bool {
    match expression {
        Expr::Like(_) | Expr::SimilarTo(_) => true,
        Expr::BinaryExpr(binary) => is_regular(binary.op),
        _ => false,
    }
}

fn in_expression(expression: Expr, schema: &dyn ExprSchema) -> Result<Transformed<Expr>> {
    let is_bytes = |own: &Expr| own.get_type(schema).is_ok_and(|data_type| data_type.is_binary());
    let refused = |what: &str| invalid!(UndefinedFunction, "{what} is for texts, not for BINARY; cast it to VARCHAR");
    match expression {
        Expr::Like(like) if is_bytes(&like.expr) || is_bytes(&like.pattern) => {
            if like.case_insensitive {
                return refused("ILIKE");
            }
            let escape = lit(like.escape_char.unwrap_or('\\').to_string());
            let holds = like::like().call(vec![*like.expr, *like.pattern, escape]);
            Ok(Transformed::yes(if like.negated { Expr::Not(Box::new(holds)) } else { holds }))
        }
        Expr::SimilarTo(like) if is_bytes(&like.expr) => refused("SIMILAR TO"),
        Expr::BinaryExpr(binary) if is_regular(binary.op) && is_bytes(&binary.left) => refused("A regular expression"),
        other => Ok(Transformed::no(other)),
    }
}
