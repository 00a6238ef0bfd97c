//! Aggregates over a frame that leaves rows behind (`ROWS 3 PRECEDING`), of those that can't take a value out again: the
//! frame's rows are kept, and aggregated anew for each result. Those of floats are in `floats`.

use crate::rewrite::{columns_around, each_part, has_expression};
use crate::windows::floats::{FloatFrame, is_of_floats};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, ExprSchemable, LogicalPlan, Signature, WindowFunctionDefinition,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use std::collections::VecDeque;
use std::sync::Arc;

/// Aggregates that take no value out again, or don't know that they have none left (`bit_xor`).
const ADD_ONLY: [&str; 12] = [
    "bit_xor",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "string_agg",
    "interval_min",
    "interval_max",
    "approx_distinct",
    "approx_median",
    "approx_percentile_cont",
    "approx_percentile_cont_with_weight",
];

/// The analyzer rule; it runs behind the coercion of types.
#[derive(Debug)]
pub(crate) struct SlidingAggregates;

impl AnalyzerRule for SlidingAggregates {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            if !matches!(plan, LogicalPlan::Window(_)) {
                return Ok(Transformed::no(plan));
            }
            let around = columns_around(&plan)?;
            if !has_expression(&plan, |part| slides(part, &around).is_some())? {
                return Ok(Transformed::no(plan));
            }
            each_part(plan, |mut part| {
                let Some(inner) = slides(&part, &around) else { return Ok(Transformed::no(part)) };
                if let Expr::WindowFunction(call) = &mut part {
                    let own = AggregateUDF::new_from_impl(Sliding { inner });
                    call.fun = WindowFunctionDefinition::AggregateUDF(Arc::new(own));
                }
                Ok(Transformed::yes(part))
            })
        });
        Ok(rewritten?.data)
    }

    fn name(&self) -> &str {
        "sliding_aggregates"
    }
}

/// The aggregate whose frame leaves rows behind, if an expression is such.
fn slides(expression: &Expr, around: &DFSchema) -> Option<Arc<AggregateUDF>> {
    let Expr::WindowFunction(call) = expression else { return None };
    let WindowFunctionDefinition::AggregateUDF(own) = &call.fun else { return None };
    let leaves = !call.params.window_frame.start_bound.is_unbounded();
    let of_floats = || {
        let first = call.params.args.first().and_then(|own| own.get_type(around).ok());
        is_of_floats(own.name()) && !call.params.distinct && first.is_some_and(|own| own.is_floating())
    };
    let is_new = own.inner().downcast_ref::<Sliding>().is_none();
    let is_add_only = is_new && (ADD_ONLY.contains(&own.name()) || of_floats());
    (leaves && is_add_only).then(|| Arc::clone(own))
}

/// An aggregate that is computed anew for each frame.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sliding {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Sliding {
    fn name(&self) -> &str {
        self.inner.name()
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

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if is_of_floats(self.name()) {
            return Ok(Box::new(FloatFrame::of(self.name(), arguments.return_field.data_type().clone())?));
        }
        Ok(Box::new(Frame {
            inner: Arc::clone(&self.inner),
            return_field: arguments.return_field,
            schema: arguments.schema.clone(),
            ignore_nulls: arguments.ignore_nulls,
            order_bys: arguments.order_bys.to_vec(),
            is_reversed: arguments.is_reversed,
            name: arguments.name.to_owned(),
            is_distinct: arguments.is_distinct,
            exprs: arguments.exprs.to_vec(),
            expr_fields: arguments.expr_fields.to_vec(),
            batches: VecDeque::new(),
        }))
    }
}

/// The rows of a frame, and what makes an accumulator for them.
#[derive(Debug)]
struct Frame {
    inner: Arc<AggregateUDF>,
    return_field: FieldRef,
    schema: Schema,
    ignore_nulls: bool,
    order_bys: Vec<PhysicalSortExpr>,
    is_reversed: bool,
    name: String,
    is_distinct: bool,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    expr_fields: Vec<FieldRef>,
    /// The arguments of the rows, oldest first.
    batches: VecDeque<Vec<ArrayRef>>,
}

impl Accumulator for Frame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.batches.push_back(values.to_vec());
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut left = rows(values);
        while left > 0 {
            let Some(oldest) = self.batches.front_mut() else {
                return internal_err!("a frame of {} lost rows that it did not have", self.name);
            };
            let own = rows(oldest);
            if own > left {
                oldest.iter_mut().for_each(|array| *array = array.slice(left, own - left));
                return Ok(());
            }
            left -= own;
            self.batches.pop_front();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut inner = self.inner.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order_bys,
            is_reversed: self.is_reversed,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        })?;
        for batch in &self.batches {
            inner.update_batch(batch)?;
        }
        inner.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.batches.iter().flatten().map(|array| array.get_array_memory_size()).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("{} over a frame has no partial state", self.name)
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("{} over a frame has no partial state", self.name)
    }
}

fn rows(arguments: &[ArrayRef]) -> usize {
    arguments.first().map_or(0, |array| array.len())
}
