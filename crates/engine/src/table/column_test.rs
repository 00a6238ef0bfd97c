//! Conditions on one string or binary column that are no range: LIKE, regular expressions, functions. The storage asks
//! them once per dictionary entry, or on the decoded values.

use crate::table::like::LikeTest;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Operator};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use gingham_storage::{ColumnDefinition, ColumnId, ColumnTest, LogicalType, SqlState, TableDefinition, ValueClass};
use std::sync::Arc;

/// Functions that can be asked for any entry of a dictionary: they do not fail but for arguments that [`can_fail`] looks at, give
/// NULL for NULL only, and give the same for the same.
const FUNCTIONS: &[&str] = &[
    "ascii",
    "bit_length",
    "btrim",
    "character_length",
    "contains",
    "ends_with",
    "initcap",
    "left",
    "lower",
    "ltrim",
    "octet_length",
    "regexp_like",
    "replace",
    "reverse",
    "right",
    "rtrim",
    "split_part",
    "starts_with",
    "strpos",
    "substr",
    "substr_index",
    "translate",
    "upper",
];

/// A condition evaluated by DataFusion.
#[derive(Debug)]
struct ExpressionTest {
    expression: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
}

impl ColumnTest for ExpressionTest {
    fn test(&self, values: &ArrayRef) -> gingham_storage::Result<BooleanArray> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![Arc::clone(values)])?;
        let result = self.expression.evaluate(&batch).and_then(|result| result.into_array(values.len()));
        let result = result.map_err(|error| {
            gingham_storage::Error::invalid(SqlState::DatatypeMismatch, crate::Error::from(error).to_string())
        })?;
        result.as_boolean_opt().cloned().ok_or_else(|| {
            gingham_storage::Error::invalid(SqlState::DatatypeMismatch, format!("{} is no condition", self.expression))
        })
    }
}

/// The column and the test of a condition; `None` when it is not such a condition. `negated` asks for FALSE.
pub(super) fn column_test(
    condition: &Expr,
    table: &TableDefinition,
    negated: bool,
) -> Option<(ColumnId, Arc<dyn ColumnTest>)> {
    let references = condition.column_refs();
    let mut references = references.into_iter();
    let reference = references.next()?.clone();
    let column = table.column(&reference.name)?;
    if references.next().is_some() || column.logical_type.class() != ValueClass::Bytes || !is_safe(condition) {
        return None;
    }
    if let Expr::Like(like) = condition
        && column.logical_type != LogicalType::Binary
        && let Some(test) = LikeTest::new(like, negated)
    {
        return Some((column.id, Arc::new(test)));
    }
    let test = build(condition, column, reference.relation, negated)?;
    Some((column.id, Arc::new(test)))
}

fn build(
    condition: &Expr,
    column: &ColumnDefinition,
    relation: Option<datafusion::common::TableReference>,
    negated: bool,
) -> Option<ExpressionTest> {
    let field = Field::new(&column.name, column.logical_type.to_arrow(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let qualified = match relation {
        Some(relation) => DFSchema::try_from_qualified_schema(relation, &schema),
        None => DFSchema::try_from(Arc::clone(&schema)),
    };
    let condition = if negated { Expr::Not(Box::new(condition.clone())) } else { condition.clone() };
    let expression =
        create_physical_expr(&condition, &qualified.ok()?, &ExecutionProps::new(), &PhysicalPlanningContext::default());
    Some(ExpressionTest { expression: expression.ok()?, schema })
}

/// True when each part of the condition is deterministic, can't fail whatever the value, and gives NULL for NULL.
fn is_safe(condition: &Expr) -> bool {
    let mut safe = true;
    let visited = condition.apply(|part| {
        safe &= match part {
            Expr::Column(_) | Expr::Literal(..) | Expr::Like(_) | Expr::SimilarTo(_) | Expr::Not(_) => true,
            Expr::InList(list) => list.list.iter().all(|entry| matches!(entry, Expr::Literal(..))),
            Expr::BinaryExpr(binary) => match binary.op {
                Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => true,
                // An entry may be no regular expression, or a pattern with nothing behind its escape character.
                Operator::LikeMatch
                | Operator::ILikeMatch
                | Operator::NotLikeMatch
                | Operator::NotILikeMatch
                | Operator::RegexMatch
                | Operator::RegexIMatch
                | Operator::RegexNotMatch
                | Operator::RegexNotIMatch => is_literal(&binary.right),
                _ => false,
            },
            Expr::Cast(cast) => cast.field.data_type().is_string(),
            Expr::ScalarFunction(function) => FUNCTIONS.contains(&function.name()) && !can_fail(function),
            _ => false,
        };
        Ok(if safe { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    visited.is_ok() && safe
}

fn is_literal(expression: &Expr) -> bool {
    matches!(expression, Expr::Literal(..))
}

/// Whether one of [`FUNCTIONS`] may fail for some text. An entry that fails may be one that no record has any more, or
/// one of records that other conditions leave out.
fn can_fail(function: &ScalarFunction) -> bool {
    let arguments = &function.args;
    let number = |at: usize| match arguments.get(at) {
        Some(Expr::Literal(ScalarValue::Int64(Some(number)), _)) => Some(*number),
        _ => None,
    };
    match function.name() {
        // A length is none that is negative, a part none that is the zeroth.
        "substr" => arguments.len() > 2 && number(2).is_none_or(|length| length < 0),
        "split_part" => number(2).is_none_or(|part| part == 0),
        "substr_index" => number(2).is_none(),
        "regexp_like" => !arguments.iter().skip(1).all(is_literal),
        _ => false,
    }
}
