//! Puts casts of ours in the place of DataFusion's, once the types are known and before a constant is folded.

use crate::casts::convert::{Failing, convert, is_own};
use crate::functions::over_arrays;
use crate::rewrite::{columns_around, each_part, has_expression};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{ExprSchema, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The analyzer rule.
#[derive(Debug)]
pub(crate) struct OwnCasts;

impl AnalyzerRule for OwnCasts {
    fn name(&self) -> &str {
        "own_casts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(in_plan)?.data)
    }
}

fn in_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !has_expression(&plan, |part| matches!(part, Expr::Cast(_) | Expr::TryCast(_)))? {
        return Ok(Transformed::no(plan));
    }
    let schema = columns_around(&plan)?;
    each_part(plan, |part| in_expression(part, &schema))
}

fn in_expression(expression: Expr, schema: &dyn ExprSchema) -> Result<Transformed<Expr>> {
    let (inner, to, failing) = match expression {
        Expr::Cast(cast) => (cast.expr, cast.field, Failing::Error),
        Expr::TryCast(cast) => (cast.expr, cast.field, Failing::Null),
        other => return Ok(Transformed::no(other)),
    };
    let is_own = inner.get_type(schema).is_ok_and(|from| is_own(&from, to.data_type()));
    if is_own {
        let cast = Cast { to: to.data_type().clone(), failing, signature: Signature::any(1, Volatility::Immutable) };
        return Ok(Transformed::yes(ScalarUDF::new_from_impl(cast).call(vec![*inner])));
    }
    Ok(Transformed::no(match failing {
        Failing::Error => Expr::Cast(datafusion::logical_expr::Cast::new_from_field(inner, to)),
        Failing::Null => Expr::TryCast(datafusion::logical_expr::TryCast::new_from_field(inner, to)),
    }))
}

/// The name of a cast that fails.
pub(crate) const CAST: &str = "cast_as";

/// A cast as a function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Cast {
    to: DataType,
    failing: Failing,
    signature: Signature,
}

impl ScalarUDFImpl for Cast {
    fn name(&self) -> &str {
        match self.failing {
            Failing::Error => CAST,
            Failing::Null => "try_cast_as",
        }
    }

    /// Not what it casts, as DataFusion's casts are called: joins have their keys as columns beside those of their inputs.
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        match arguments {
            [inner] => Ok(format!("{}({} AS {})", self.name(), inner.schema_name(), self.to)),
            _ => internal_err!("a cast of {} values", arguments.len()),
        }
    }

    fn display_name(&self, arguments: &[Expr]) -> Result<String> {
        match arguments {
            [inner] => Ok(format!("CAST({inner} AS {})", self.to)),
            _ => internal_err!("a cast of {} values", arguments.len()),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = self.failing == Failing::Null || arguments.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.to.clone(), nullable)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        over_arrays(&arguments, |arrays| convert(&arrays[0], &self.to, self.failing))
    }
}
