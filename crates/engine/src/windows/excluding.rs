//! Frames that leave rows out: `EXCLUDE CURRENT ROW`, `GROUP` and `TIES`, which DataFusion does not have. The functions of such a
//! window get the keys of its order as arguments, by which they know which rows are equal, and compute each row's frame anew.

use crate::error::invalid;
use crate::windows::states::BlockStates;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::{cast as cast_array, filter, partition};
use arrow::datatypes::{DataType, FieldRef, Int64Type, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue, internal_err, not_impl_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{NullTreatment, WindowFunction};
use datafusion::logical_expr::function::{AccumulatorArgs, ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, Expr, ExprSchemable, PartitionEvaluator, Signature, Volatility,
    WindowFunctionDefinition, WindowUDF, WindowUDFImpl, cast,
};
use datafusion::physical_expr::PhysicalExpr;
use std::ops::Range;
use std::sync::Arc;

/// What a frame leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Exclusion {
    CurrentRow,
    /// The row and those that are equal to it in the window's order.
    Group,
    /// Those that are equal to the row.
    Ties,
}

/// An expression whose window functions see frames that leave rows out.
pub(crate) fn excluding(planned: Expr, exclusion: Exclusion, schema: &DFSchema) -> Result<Expr> {
    let excluded = planned.transform_up(|part| {
        Ok(match part {
            Expr::WindowFunction(call) => {
                let mut part = Expr::WindowFunction(call);
                crate::temporal::of_intervals(&mut part, schema);
                match part {
                    Expr::WindowFunction(call) => {
                        Transformed::yes(Expr::WindowFunction(Box::new(of_call(*call, exclusion, schema)?)))
                    }
                    other => Transformed::yes(other),
                }
            }
            other => Transformed::no(other),
        })
    });
    Ok(excluded?.data)
}

fn of_call(mut call: WindowFunction, exclusion: Exclusion, schema: &DFSchema) -> Result<WindowFunction> {
    let function = match &call.fun {
        WindowFunctionDefinition::AggregateUDF(own) => Function::Aggregate(Arc::clone(own)),
        WindowFunctionDefinition::WindowUDF(own) => match own.name() {
            "first_value" => Function::First,
            "last_value" => Function::Last,
            "nth_value" => Function::Nth,
            // The others are about the partition, and not about the frame.
            _ => return Ok(call),
        },
    };
    let parameters = &mut call.params;
    if parameters.distinct {
        return not_impl_err!("DISTINCT in a window whose frame has EXCLUDE");
    }
    if let Function::Aggregate(own) = &function {
        let fields = parameters.args.iter().map(|own| Ok(own.to_field(schema)?.1)).collect::<Result<Vec<_>>>()?;
        for (argument, field) in parameters.args.iter_mut().zip(fields_with_udf(&fields, own.as_ref())?) {
            if argument.get_type(schema)? != *field.data_type() {
                *argument = cast(std::mem::take(argument), field.data_type().clone());
            }
        }
    }
    let (arguments, keys) = (parameters.args.len(), parameters.order_by.len());
    parameters.args.extend(parameters.order_by.iter().map(|key| key.expr.clone()));
    let has_filter = parameters.filter.is_some();
    parameters.args.extend(parameters.filter.take().map(|condition| *condition));
    let ignores_nulls = parameters.null_treatment.take() == Some(NullTreatment::IgnoreNulls);
    let signature = Signature::any(parameters.args.len(), Volatility::Immutable);
    let own = Excluding { function, exclusion, arguments, keys, has_filter, ignores_nulls, signature };
    call.fun = WindowFunctionDefinition::WindowUDF(Arc::new(WindowUDF::from(own)));
    Ok(call)
}

/// What is computed of a frame's rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Function {
    First,
    Last,
    Nth,
    Aggregate(Arc<AggregateUDF>),
}

/// A function over frames that leave rows out, for DataFusion.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Excluding {
    function: Function,
    exclusion: Exclusion,
    /// How many arguments the function has; behind them are the window's keys, and the condition of FILTER.
    arguments: usize,
    keys: usize,
    has_filter: bool,
    ignores_nulls: bool,
    signature: Signature,
}

impl WindowUDFImpl for Excluding {
    fn name(&self) -> &str {
        match &self.function {
            Function::First => "first_value",
            Function::Last => "last_value",
            Function::Nth => "nth_value",
            Function::Aggregate(own) => own.name(),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn expressions(&self, arguments: ExpressionArgs) -> Vec<Arc<dyn PhysicalExpr>> {
        arguments.input_exprs().to_vec()
    }

    fn partition_evaluator(&self, arguments: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        let (exprs, fields) = (arguments.input_exprs(), arguments.input_fields());
        if exprs.len() < self.arguments || fields.len() < self.arguments {
            return internal_err!("{} lost arguments", self.name());
        }
        let (exprs, fields) = (exprs[..self.arguments].to_vec(), fields[..self.arguments].to_vec());
        let compute = match &self.function {
            Function::Aggregate(own) => FrameValue::Aggregate(Box::new(Aggregated {
                return_field: own.return_field(&fields)?,
                schema: Schema::new(fields.clone()),
                function: Arc::clone(own),
                ignores_nulls: self.ignores_nulls,
                exprs,
                fields,
            })),
            other => FrameValue::Value(other.clone(), self.ignores_nulls),
        };
        let (exclusion, arguments, keys, has_filter) = (self.exclusion, self.arguments, self.keys, self.has_filter);
        Ok(Box::new(FramedRows {
            compute,
            exclusion,
            arguments,
            keys,
            has_filter,
            row: 0,
            peers: None,
            states: None,
            last: None,
        }))
    }

    fn field(&self, arguments: WindowUDFFieldArgs) -> Result<FieldRef> {
        let fields = arguments.input_fields();
        let field = match (&self.function, fields.first()) {
            (Function::Aggregate(own), _) => own.return_field(&fields[..self.arguments.min(fields.len())])?,
            (_, Some(first)) => Arc::clone(first),
            (_, None) => return internal_err!("{} has no argument", self.name()),
        };
        Ok(Arc::new(field.as_ref().clone().with_name(arguments.name()).with_nullable(true)))
    }
}

/// An aggregate, and what makes an accumulator for it.
#[derive(Debug)]
struct Aggregated {
    function: Arc<AggregateUDF>,
    return_field: FieldRef,
    schema: Schema,
    ignores_nulls: bool,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<FieldRef>,
}

impl Aggregated {
    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        self.function.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignores_nulls,
            order_bys: &[],
            is_reversed: false,
            name: self.function.name(),
            is_distinct: false,
            exprs: &self.exprs,
            expr_fields: &self.fields,
        })
    }
}

#[derive(Debug)]
enum FrameValue {
    Value(Function, bool),
    Aggregate(Box<Aggregated>),
}

/// The function over one partition.
#[derive(Debug)]
struct FramedRows {
    compute: FrameValue,
    exclusion: Exclusion,
    arguments: usize,
    keys: usize,
    has_filter: bool,
    /// The row that is asked for next: frames are asked for one after the other.
    row: usize,
    /// The rows that are equal in the window's order, group by group, and the group of the row.
    peers: Option<(Vec<Range<usize>>, usize)>,
    /// States of an aggregate over blocks of the partition, once a long range is asked for.
    states: Option<BlockStates>,
    /// The rows that the value before was computed of.
    last: Option<(Vec<Range<usize>>, ScalarValue)>,
}

impl PartitionEvaluator for FramedRows {
    fn evaluate(&mut self, values: &[ArrayRef], frame: &Range<usize>) -> Result<ScalarValue> {
        let row = self.row;
        self.row += 1;
        let Some(first) = values.first() else { return internal_err!("a window function without arguments") };
        let group = self.group(values, row, first.len())?;
        let kept = kept(frame, row, &group, self.exclusion);
        let is_row_own = matches!(&self.compute, FrameValue::Value(Function::Nth, _));
        if let Some((ranges, value)) = self.last.as_ref().filter(|_| !is_row_own)
            && *ranges == kept
        {
            return Ok(value.clone());
        }
        let value = self.value(values, &kept, row)?;
        self.last = Some((kept, value.clone()));
        Ok(value)
    }

    fn uses_window_frame(&self) -> bool {
        true
    }
}

impl FramedRows {
    /// The rows that are equal to one.
    fn group(&mut self, values: &[ArrayRef], row: usize, rows: usize) -> Result<Range<usize>> {
        if self.peers.is_none() {
            let keys = &values[self.arguments..self.arguments + self.keys];
            let all = || std::iter::once(0..rows).collect();
            let groups = if keys.is_empty() { all() } else { partition(keys)?.ranges() };
            self.peers = Some((groups, 0));
        }
        let Some((groups, at)) = &mut self.peers else { return Ok(0..rows) };
        while groups.get(*at).is_some_and(|group| group.end <= row) {
            *at += 1;
        }
        Ok(groups.get(*at).cloned().unwrap_or(row..row + 1))
    }

    fn value(&mut self, values: &[ArrayRef], kept: &[Range<usize>], row: usize) -> Result<ScalarValue> {
        match &self.compute {
            FrameValue::Value(function, ignores_nulls) => {
                let value = &values[0];
                let nothing = || ScalarValue::try_from(value.data_type());
                let rows = || kept.iter().cloned().flatten().filter(|row| !ignores_nulls || value.is_valid(*row));
                let found = match function {
                    Function::Last => kept
                        .iter()
                        .rev()
                        .cloned()
                        .flat_map(Iterator::rev)
                        .find(|row| !ignores_nulls || value.is_valid(*row)),
                    Function::Nth => match counted(&values[1], row)? {
                        None => None,
                        Some(count) => rows().nth(count - 1),
                    },
                    _ => rows().next(),
                };
                found.map_or_else(nothing, |row| ScalarValue::try_from_array(value, row))
            }
            FrameValue::Aggregate(aggregated) => {
                let condition = match values.get(self.arguments + self.keys) {
                    Some(condition) if self.has_filter => Some(cast_array(condition, &DataType::Boolean)?),
                    _ => None,
                };
                let add = |accumulator: &mut dyn Accumulator, rows: Range<usize>| {
                    let own = values[..self.arguments].iter().map(|own| own.slice(rows.start, rows.len()));
                    let own: Vec<ArrayRef> = match &condition {
                        None => own.collect(),
                        Some(condition) => {
                            let condition: BooleanArray = condition.slice(rows.start, rows.len()).as_boolean().clone();
                            own.map(|own| Ok(filter(&own, &condition)?)).collect::<Result<_>>()?
                        }
                    };
                    accumulator.update_batch(&own)
                };
                let mut accumulator = aggregated.accumulator()?;
                for rows in kept {
                    if !BlockStates::are_worth(rows) {
                        add(accumulator.as_mut(), rows.clone())?;
                        continue;
                    }
                    if self.states.is_none() {
                        let states = BlockStates::of(values[0].len(), &|| aggregated.accumulator(), &add)?;
                        self.states = Some(states);
                    }
                    if let Some(states) = &self.states {
                        states.add(rows.clone(), accumulator.as_mut(), &add)?;
                    }
                }
                accumulator.evaluate()
            }
        }
    }
}

/// The number of nth_value in a row.
fn counted(counts: &ArrayRef, row: usize) -> Result<Option<usize>> {
    let count = cast_array(&counts.slice(row, 1), &DataType::Int64)?;
    let count = count.as_primitive::<Int64Type>();
    if count.is_null(0) {
        return Ok(None);
    }
    match usize::try_from(count.value(0)) {
        Ok(count) if count > 0 => Ok(Some(count)),
        _ => invalid!(InvalidArgumentForNthValue, "nth_value counts rows from 1; {} is none", count.value(0)),
    }
}

/// The rows of a frame that are not left out, in their order.
fn kept(frame: &Range<usize>, row: usize, group: &Range<usize>, exclusion: Exclusion) -> Vec<Range<usize>> {
    let own = row..row + 1;
    let out = if exclusion == Exclusion::CurrentRow { &own } else { group };
    let before = frame.start..frame.end.min(out.start);
    let behind = frame.start.max(out.end)..frame.end;
    let within = (exclusion == Exclusion::Ties && frame.contains(&row)).then_some(own.clone());
    [Some(before), within, Some(behind)].into_iter().flatten().filter(|rows| rows.start < rows.end).collect()
}

#[cfg(test)]
mod tests {
    use super::{Exclusion, kept};

    #[test]
    fn rows_are_left_out() {
        for (frame, row, group, exclusion, expected) in [
            (0..5, 2, 1..4, Exclusion::CurrentRow, &[(0, 2), (3, 5)][..]),
            (0..5, 2, 1..4, Exclusion::Group, &[(0, 1), (4, 5)][..]),
            (0..5, 2, 1..4, Exclusion::Ties, &[(0, 1), (2, 3), (4, 5)][..]),
            (3..5, 2, 1..4, Exclusion::Ties, &[(4, 5)][..]),
            (3..5, 0, 0..1, Exclusion::CurrentRow, &[(3, 5)][..]),
            (0..1, 4, 3..5, Exclusion::Group, &[(0, 1)][..]),
            (1..4, 2, 1..4, Exclusion::Group, &[][..]),
            (2..2, 2, 1..4, Exclusion::Ties, &[][..]),
        ] {
            let kept: Vec<(usize, usize)> =
                kept(&frame, row, &group, exclusion).into_iter().map(|rows| (rows.start, rows.end)).collect();
            assert_eq!(kept, expected, "{frame:?} {row} {group:?} {exclusion:?}");
        }
    }
}
