//! TIMESTAMPs beside texts, dates and TIMESTAMPs of other units. DataFusion compares them in nanoseconds, which end in the
//! year 2262, or in the coarser unit, which takes 10:00:00.5 for 10:00:00. Here a column's own unit counts where that loses
//! nothing, else the finer one, and a text is read as the type beside it has it.

use crate::arithmetic::constant::{constant, exact, read};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, cast};
use std::sync::Arc;

/// Gives the operands of a comparison the type of one of them; false when there is nothing to do.
pub(super) fn align(operands: Vec<&mut Expr>, types: &[DataType]) -> bool {
    let Some(target) = target(&operands, types) else { return false };
    let mut changed = false;
    for (operand, data_type) in operands.into_iter().zip(types) {
        let converted = match (constant(operand), data_type) {
            (_, own) if *own == target => None,
            (Some(value), DataType::Timestamp(..)) => read(&value, &target).map(literal),
            (Some(value), own) if own.is_string() => read(&value, &target).map(literal),
            (_, DataType::Timestamp(..) | DataType::Date32) => Some(cast(operand.clone(), target.clone())),
            _ => None,
        };
        if let Some(converted) = converted {
            *operand = converted;
            changed = true;
        }
    }
    changed
}

fn literal(value: ScalarValue) -> Expr {
    Expr::Literal(value, None)
}

/// The type in which the operands are compared: that of the columns where they have one and the constants lose nothing
/// by it, else that of the finest unit. `None` where zones differ.
fn target(operands: &[&mut Expr], types: &[DataType]) -> Option<DataType> {
    let stamps = || operands.iter().zip(types).filter(|(_, own)| matches!(own, DataType::Timestamp(..)));
    let zone: Option<Arc<str>> = stamps().find_map(|(_, own)| zone_of(own));
    if stamps().any(|(_, own)| zone_of(own).is_some() != zone.is_some()) {
        return None;
    }
    let finest = stamps().filter_map(|(_, own)| unit_of(own)).max_by_key(|unit| *unit as u8)?;
    let finest = DataType::Timestamp(finest, zone);
    let mut columns = stamps().filter(|(operand, _)| constant(operand).is_none()).map(|(_, own)| own);
    let Some(column) = columns.next().filter(|first| columns.all(|other| other == *first)) else {
        return Some(finest);
    };
    let mut constants = stamps().filter_map(|(operand, _)| constant(operand));
    Some(if constants.all(|value| exact(&value, column).is_some()) { column.clone() } else { finest })
}

fn unit_of(data_type: &DataType) -> Option<TimeUnit> {
    if let DataType::Timestamp(unit, _) = data_type { Some(*unit) } else { None }
}

fn zone_of(data_type: &DataType) -> Option<Arc<str>> {
    if let DataType::Timestamp(_, zone) = data_type { zone.clone() } else { None }
}
