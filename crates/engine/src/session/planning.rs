//! From a statement's syntax tree to DataFusion's logical plan, past two of its limits: literals with an exponent
//! ([`super::literals`]), and expressions that differ in a cast alone.
//!
//! DataFusion names an expression without the casts in it, and a plan may not have a name twice: it refuses
//! `SELECT sum(a), sum(CAST(a AS INT))`, and no alias helps. When a plan is refused (or may be, later), it is tried with each cast in a
//! function of its own, which gives its first argument, is named by its second, and is gone once the plan is optimised.

use super::catalog::Catalogs;
use super::literals::make_plannable;
use super::named::Named;
use super::no_rows::or_null;
use crate::statements::make_names_unique;
use crate::statements::walk::{Tree, Visit};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr as PlanExpr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, GroupByExpr, Ident,
    ObjectName, Select, SelectItem, Value,
};
use std::sync::Arc;

/// The logical plan of a statement, not yet optimised. Tables are shown with the columns that it names.
pub(super) async fn logical_plan(state: &SessionState, mut statement: Statement) -> Result<LogicalPlan> {
    let Some(named) = Named::of(&mut statement)? else { return whole_plan(state, statement).await };
    let Some(catalogs) = state.catalog_list().downcast_ref::<Catalogs>() else {
        return whole_plan(state, statement).await;
    };
    let again = statement.clone();
    catalogs.show(Some(Arc::new(named)));
    let planned = whole_plan(state, statement).await;
    catalogs.show(None);
    match planned {
        // The error tells what columns there are.
        Err(_) => whole_plan(state, again).await,
        planned => planned,
    }
}

/// The same with all columns that are shown.
pub(super) async fn whole_plan(state: &SessionState, mut statement: Statement) -> Result<LogicalPlan> {
    make_plannable(&mut statement)?;
    make_names_unique(&mut statement)?;
    let mut parts = Parts::default();
    statement.walk(&mut parts)?;
    let plan = plan_with_casts(state, statement, &parts).await?;
    if parts.subqueries { or_null(plan) } else { Ok(plan) }
}

async fn plan_with_casts(state: &SessionState, mut statement: Statement, parts: &Parts) -> Result<LogicalPlan> {
    if parts.grouped_casts {
        statement.walk(&mut Marking)?;
    }
    if parts.grouped_casts || !parts.casts {
        return state.statement_to_plan(statement).await;
    }
    let mut marked = statement.clone();
    match state.statement_to_plan(statement).await {
        Err(refused) => {
            marked.walk(&mut Marking)?;
            state.statement_to_plan(marked).await.map_err(|_| refused)
        }
        planned => planned,
    }
}

/// What a statement has that its plan needs help with.
#[derive(Default)]
struct Parts {
    casts: bool,
    /// In a GROUP BY: such a plan is refused only when it is optimised.
    grouped_casts: bool,
    /// Scalar ones.
    subqueries: bool,
}

impl Visit for Parts {
    fn select(&mut self, select: &mut Select) -> crate::Result<()> {
        if let GroupByExpr::Expressions(expressions, _) = &mut select.group_by {
            let mut within = Self::default();
            expressions.iter_mut().try_for_each(|expression| expression.walk(&mut within))?;
            for (position, item) in select.projection.iter_mut().enumerate() {
                let is_key = expressions.iter().any(|key| names(key, position, item));
                if let (true, SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }) =
                    (is_key, item)
                {
                    value.walk(&mut within)?;
                }
            }
            self.grouped_casts |= within.casts;
        }
        Ok(())
    }

    fn expression(&mut self, expression: &mut Expr) -> crate::Result<()> {
        self.casts |= matches!(expression, Expr::Cast { .. });
        self.subqueries |= matches!(expression, Expr::Subquery(_));
        Ok(())
    }
}

/// Whether a key of a GROUP BY is an item of the list, by its position or its name.
fn names(key: &Expr, position: usize, item: &SelectItem) -> bool {
    match (key, item) {
        (Expr::Value(number), _) => number.to_string() == (position + 1).to_string(),
        (Expr::Identifier(name), SelectItem::ExprWithAlias { alias, .. }) => {
            name.value.eq_ignore_ascii_case(&alias.value)
        }
        _ => false,
    }
}

/// Puts each cast into a call of [`WrittenAs`].
struct Marking;

impl Visit for Marking {
    fn expression_end(&mut self, expression: &mut Expr) -> crate::Result<()> {
        if matches!(expression, Expr::Cast { .. }) {
            let text = Expr::value(Value::SingleQuotedString(expression.to_string()));
            let cast = std::mem::replace(expression, Expr::value(Value::Null));
            let args = [cast, text].map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)));
            *expression = Expr::Function(Function {
                name: ObjectName::from(vec![Ident::new(WRITTEN_AS)]),
                uses_odbc_syntax: false,
                parameters: FunctionArguments::None,
                args: FunctionArguments::List(FunctionArgumentList {
                    duplicate_treatment: None,
                    args: args.into(),
                    clauses: Vec::new(),
                }),
                filter: None,
                null_treatment: None,
                over: None,
                within_group: Vec::new(),
            });
        }
        Ok(())
    }
}

const WRITTEN_AS: &str = "gingham_written_as";

/// `gingham_written_as(value, text)`: the value.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct WrittenAs {
    signature: Signature,
}

impl WrittenAs {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }
}

fn misused() -> DataFusionError {
    DataFusionError::Plan(format!("{WRITTEN_AS}(value, text) takes two arguments"))
}

impl ScalarUDFImpl for WrittenAs {
    fn name(&self) -> &str {
        WRITTEN_AS
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        arguments.first().cloned().ok_or_else(misused)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        arguments.arg_fields.first().cloned().ok_or_else(misused)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        arguments.args.into_iter().next().ok_or_else(misused)
    }

    fn simplify(&self, arguments: Vec<PlanExpr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        arguments.into_iter().next().map(ExprSimplifyResult::Simplified).ok_or_else(misused)
    }
}
