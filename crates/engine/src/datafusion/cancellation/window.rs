//! Aggregates over frames, which are computed for one row after the other of a whole partition, and ask between them whether to go on.

use crate::datafusion::cancellation::signal::ask;
use crate::rewrite::{each_part, has_expression};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr::{AggregateFunctionParams, WindowFunctionParams};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, LogicalPlan, ReversedUDAF, SetMonotonicity, Signature,
    WindowFunctionDefinition,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Results between two questions: asking costs less than these by far, and they are soon there.
const UNASKED: u32 = 16;

/// Lets the aggregates of windows ask; behind all rules that look at these.
#[derive(Debug)]
pub(crate) struct AskingWindows;

impl OptimizerRule for AskingWindows {
    fn name(&self) -> &str {
        "asking_windows"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !matches!(plan, LogicalPlan::Window(_)) || !has_expression(&plan, |part| unasked(part).is_some())? {
            return Ok(Transformed::no(plan));
        }
        each_part(plan, |mut part| {
            let Some(inner) = unasked(&part) else { return Ok(Transformed::no(part)) };
            if let Expr::WindowFunction(call) = &mut part {
                let own = AggregateUDF::new_from_impl(AskingAggregate { inner });
                call.fun = WindowFunctionDefinition::AggregateUDF(Arc::new(own));
            }
            Ok(Transformed::yes(part))
        })
    }
}

/// The aggregate of a window that does not ask yet, if an expression is such.
fn unasked(expression: &Expr) -> Option<Arc<AggregateUDF>> {
    let Expr::WindowFunction(call) = expression else { return None };
    let WindowFunctionDefinition::AggregateUDF(own) = &call.fun else { return None };
    own.inner().downcast_ref::<AskingAggregate>().is_none().then(|| Arc::clone(own))
}

/// An aggregate whose accumulators ask.
#[derive(Debug, PartialEq, Eq, Hash)]
struct AskingAggregate {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for AskingAggregate {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, call: &AggregateFunctionParams) -> Result<String> {
        self.inner.schema_name(call)
    }

    fn display_name(&self, call: &AggregateFunctionParams) -> Result<String> {
        self.inner.display_name(call)
    }

    fn human_display(&self, call: &AggregateFunctionParams) -> Result<String> {
        self.inner.human_display(call)
    }

    fn window_function_schema_name(&self, call: &WindowFunctionParams) -> Result<String> {
        self.inner.window_function_schema_name(call)
    }

    fn window_function_display_name(&self, call: &WindowFunctionParams) -> Result<String> {
        self.inner.window_function_display_name(call)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(fields)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(AskingAccumulator::over(self.inner.accumulator(arguments)?))
    }

    fn create_sliding_accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(AskingAccumulator::over(self.inner.create_sliding_accumulator(arguments)?))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(arguments)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            ReversedUDAF::Reversed(inner) => {
                ReversedUDAF::Reversed(Arc::new(AggregateUDF::new_from_impl(Self { inner })))
            }
            other => other,
        }
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.is_descending()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.inner.supports_within_group_clause()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(data_type)
    }
}

/// An accumulator of a frame, which asks as it gives results.
#[derive(Debug)]
struct AskingAccumulator {
    inner: Box<dyn Accumulator>,
    /// Results since it asked.
    unasked: u32,
}

impl AskingAccumulator {
    fn over(inner: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
        Box::new(Self { inner, unasked: 0 })
    }
}

impl Accumulator for AskingAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.unasked += 1;
        if self.unasked == UNASKED {
            self.unasked = 0;
            ask()?;
        }
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}
