//! Window functions whose arguments are another value in each row: `lag(v, 1, v)`, `lead(v, v)`, `nth_value(v, n)`, `ntile(n)`.
//! DataFusion's take constants alone.

use crate::error::invalid;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt64Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{DFSchema, ScalarValue, not_impl_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::{
    Expr, ExprSchemable, PartitionEvaluator, Signature, Volatility, WindowFunctionDefinition, WindowUDF, WindowUDFImpl,
    cast as cast_to, lit,
};
use std::ops::Range;
use std::sync::Arc;

/// The functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum CountingFunction {
    Lag,
    Lead,
    Nth,
    Ntile,
}

impl CountingFunction {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "lag" => Self::Lag,
            "lead" => Self::Lead,
            "nth_value" => Self::Nth,
            "ntile" => Self::Ntile,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Lag => "lag",
            Self::Lead => "lead",
            Self::Nth => "nth_value",
            Self::Ntile => "ntile",
        }
    }

    /// The argument that counts rows.
    fn count(self) -> usize {
        if self == Self::Ntile { 0 } else { 1 }
    }
}

/// A window function with one of ours in its place where DataFusion's can't have its arguments.
pub(crate) fn with_arguments(call: WindowFunction, schema: &DFSchema) -> Result<WindowFunction> {
    let WindowFunctionDefinition::WindowUDF(own) = &call.fun else { return Ok(call) };
    let Some(kind) = CountingFunction::of(own.name()) else { return Ok(call) };
    let arguments = &call.params.args;
    let differs = |at: usize| arguments.get(at).is_some_and(|own| !own.column_refs().is_empty() || own.is_volatile());
    let types = arguments.iter().map(|own| own.get_type(schema)).collect::<Result<Vec<_>>>()?;
    // DataFusion would make a value's type of the other one's.
    let widens = matches!(types.as_slice(), [value, _, other] if value.is_integer() && (other.is_decimal() || other.is_floating()));
    if !differs(kind.count()) && !differs(2) && !widens {
        return Ok(call);
    }
    let mut call = call;
    if call.params.null_treatment.is_some() {
        return not_impl_err!("{} with IGNORE NULLS or RESPECT NULLS and an argument that is no constant", kind.name());
    }
    let arguments = &mut call.params.args;
    if !matches!(types.get(kind.count()), None | Some(DataType::Null)) && !types[kind.count()].is_integer() {
        return invalid!(
            UndefinedFunction,
            "{} counts rows by an INTEGER, not by {}",
            kind.name(),
            crate::type_name::type_name(&types[kind.count()])
        );
    }
    if matches!(kind, CountingFunction::Lag | CountingFunction::Lead) {
        arguments.resize_with(2.max(arguments.len()), || lit(1_i64));
        if let [value, _, other] = types.as_slice() {
            let is_small = matches!(&arguments[2], Expr::Literal(..)) && value.is_integer() && other.is_integer();
            let common =
                if is_small { Some(value.clone()) } else { type_union_resolution(&[value.clone(), other.clone()]) };
            let Some(common) = common else {
                let [value, other] = [value, other].map(crate::type_name::type_name);
                return invalid!(
                    DatatypeMismatch,
                    "{} has a value of {value}, and {other} where there is no row",
                    kind.name()
                );
            };
            for at in [0, 2] {
                if types.get(at) != Some(&common) {
                    arguments[at] = cast_to(std::mem::take(&mut arguments[at]), common.clone());
                }
            }
        }
    }
    let count = kind.count();
    if types.get(count) != Some(&DataType::Int64) && count < arguments.len() {
        arguments[count] = cast_to(std::mem::take(&mut arguments[count]), DataType::Int64);
    }
    let signature = Signature::any(arguments.len(), Volatility::Immutable);
    call.fun = WindowFunctionDefinition::WindowUDF(Arc::new(WindowUDF::from(OfColumns { kind, signature })));
    Ok(call)
}

/// One of the functions, for DataFusion.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfColumns {
    kind: CountingFunction,
    signature: Signature,
}

impl WindowUDFImpl for OfColumns {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, _: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(PartitionRows { kind: self.kind, row: 0 }))
    }

    fn field(&self, arguments: WindowUDFFieldArgs) -> Result<FieldRef> {
        let data_type = match self.kind {
            CountingFunction::Ntile => DataType::UInt64,
            _ => arguments.input_fields().first().map_or(DataType::Null, |field| field.data_type().clone()),
        };
        Ok(Arc::new(Field::new(arguments.name(), data_type, true)))
    }
}

/// The function over one partition.
#[derive(Debug)]
struct PartitionRows {
    kind: CountingFunction,
    /// The row that is asked for next: frames are asked for one after the other.
    row: usize,
}

impl PartitionEvaluator for PartitionRows {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let counts = cast(&values[self.kind.count()], &DataType::Int64)?;
        let counts = counts.as_primitive::<Int64Type>();
        if self.kind == CountingFunction::Ntile {
            return tiles(counts, rows);
        }
        let sign = if self.kind == CountingFunction::Lag { -1 } else { 1 };
        // A row of the partition; a row behind it for the value of that row where there is none; or NULL.
        let place = |(row, count): (usize, Option<i64>)| {
            let there = i64::try_from(row).ok()?.checked_add(count?.saturating_mul(sign));
            let there = there.and_then(|place| usize::try_from(place).ok()).filter(|place| *place < rows);
            match (there, values.get(2)) {
                (Some(place), _) => Some(place as u64),
                (None, Some(_)) => Some((rows + row) as u64),
                (None, None) => None,
            }
        };
        let places: UInt64Array = counts.iter().enumerate().map(place).collect();
        let taken = match values.get(2) {
            Some(others) => take(&arrow::compute::concat(&[&values[0], others])?, &places, None)?,
            None => take(&values[0], &places, None)?,
        };
        Ok(taken)
    }

    /// `nth_value`: a value of the frame.
    fn evaluate(&mut self, values: &[ArrayRef], frame: &Range<usize>) -> Result<ScalarValue> {
        let count = ScalarValue::try_from_array(&values[1], self.row)?.cast_to(&DataType::Int64)?;
        self.row += 1;
        let nothing = ScalarValue::try_from(values[0].data_type())?;
        let ScalarValue::Int64(Some(count)) = count else { return Ok(nothing) };
        if count < 1 {
            return invalid!(InvalidArgumentForNthValue, "nth_value counts rows from 1; {count} is none");
        }
        let place = usize::try_from(count - 1).ok().and_then(|behind| frame.start.checked_add(behind));
        match place.filter(|place| *place < frame.end) {
            Some(place) => ScalarValue::try_from_array(&values[0], place),
            None => Ok(nothing),
        }
    }

    fn uses_window_frame(&self) -> bool {
        self.kind == CountingFunction::Nth
    }
}

/// So many tiles, of which the first ones have a row more. As in PostgreSQL their number is that of a partition's first row that has one;
/// the rows before that are in none.
fn tiles(counts: &Int64Array, rows: usize) -> Result<ArrayRef> {
    let Some((first, count)) = counts.iter().enumerate().find_map(|(row, count)| Some((row as u64, count?))) else {
        return Ok(Arc::new(UInt64Array::new_null(rows)));
    };
    let Some(tiles) = u64::try_from(count).ok().filter(|tiles| *tiles > 0) else {
        return invalid!(InvalidArgumentForNtile, "ntile needs a number of tiles above 0, not {count}");
    };
    let rows = rows as u64;
    let (least, longer) = (rows / tiles, rows % tiles);
    let tile = |row: u64| {
        let row = row.checked_sub(first)?;
        let of_longer = longer * (least + 1);
        Some(1 + if row < of_longer { row / (least + 1) } else { longer + (row - of_longer) / least.max(1) })
    };
    Ok(Arc::new((0..rows).map(tile).collect::<UInt64Array>()))
}
