//! Conditions that records are wanted by. The columns that they look at are parsed first, and the others of the wanted records alone.

use crate::Result;
use crate::files::records::FileOutput;
use crate::words::physical;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::{and_kleene, prep_null_mask_filter};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use std::fmt;
use std::sync::Arc;

/// Conditions on columns that are parsed.
#[derive(Debug, Clone)]
pub(crate) struct RecordFilter {
    /// The conditions, over the columns `columns` in their order.
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    /// Numbers of the parsed columns that they look at.
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl RecordFilter {
    /// A filter of the `conditions` that can't fail and look at parsed columns alone; `None` where none does. They are conditions on rows of
    /// `schema`, whose columns `outputs` are.
    pub(super) fn of(
        conditions: impl IntoIterator<Item = Arc<dyn PhysicalExpr>>,
        outputs: &[FileOutput],
        schema: &Schema,
    ) -> DataFusionResult<Option<Self>> {
        let (mut own, mut columns, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        for condition in conditions {
            if condition.exists(|part| Ok(!is_safe(part, outputs)))? {
                continue;
            }
            let placed = condition.transform(|part| {
                let Some((column, number)) = parsed_column(&part, outputs) else { return Ok(Transformed::no(part)) };
                let place = columns.iter().position(|own| *own == number).unwrap_or_else(|| {
                    columns.push(number);
                    fields.push(schema.field(column.index()).clone());
                    fields.len() - 1
                });
                Ok(Transformed::yes(Arc::new(Column::new(column.name(), place)) as _))
            })?;
            own.push(placed.data);
        }
        let schema = Arc::new(Schema::new(fields));
        Ok((!columns.is_empty()).then_some(Self { conditions: own, columns, schema }))
    }

    /// The conditions, in words.
    pub(super) fn in_words(&self) -> String {
        self.conditions.iter().map(physical).collect::<Vec<_>>().join(" AND ")
    }

    /// Numbers of the parsed columns that the conditions look at.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// For each record whether it is wanted, by these columns.
    pub(super) fn wanted(&self, columns: Vec<ArrayRef>) -> Result<BooleanArray> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        let mut wanted = BooleanArray::from(vec![true; batch.num_rows()]);
        for condition in &self.conditions {
            let truths = condition.evaluate(&batch)?.into_array(batch.num_rows())?;
            wanted = and_kleene(&wanted, truths.as_boolean())?;
        }
        Ok(if wanted.null_count() > 0 { prep_null_mask_filter(&wanted) } else { wanted })
    }
}

impl fmt::Display for RecordFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, condition) in self.conditions.iter().enumerate() {
            write!(f, "{}{condition}", if number > 0 { " AND " } else { "" })?;
        }
        Ok(())
    }
}

/// A column that is parsed, and its number among those.
fn parsed_column<'a>(expression: &'a Arc<dyn PhysicalExpr>, outputs: &[FileOutput]) -> Option<(&'a Column, usize)> {
    let column = expression.downcast_ref::<Column>()?;
    match outputs.get(column.index()) {
        Some(FileOutput::Parsed(number)) => Some((column, *number)),
        _ => None,
    }
}

/// Whether an expression fails for no value and looks at no column but parsed ones, its parts aside.
fn is_safe(expression: &Arc<dyn PhysicalExpr>, outputs: &[FileOutput]) -> bool {
    if let Some(operation) = expression.downcast_ref::<BinaryExpr>() {
        use Operator::{And, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq, Or};
        return matches!(
            operation.op(),
            And | Or | Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom
        );
    }
    parsed_column(expression, outputs).is_some()
        || expression.is::<Literal>()
        || expression.is::<InListExpr>()
        || expression.is::<IsNullExpr>()
        || expression.is::<IsNotNullExpr>()
        || expression.is::<NotExpr>()
        || expression.is::<LikeExpr>()
}
