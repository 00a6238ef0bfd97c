//! Frames of rows with equal keys. A window with ORDER BY has `RANGE … CURRENT ROW` where nothing else is said, which DataFusion has
//! for types alone that it can add a distance to. Without a distance RANGE is the same as GROUPS.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits};

/// A window function with a frame that rows can be put in order for by keys of any type.
pub(crate) fn with_frame_of_peers(mut call: WindowFunction, schema: &DFSchema) -> Result<WindowFunction> {
    let frame = &call.params.window_frame;
    if frame.units != WindowFrameUnits::Range || is_distance(&frame.start_bound) || is_distance(&frame.end_bound) {
        return Ok(call);
    }
    let Some(key) = call.params.order_by.first() else { return Ok(call) };
    if !has_distances(&key.expr.get_type(schema)?) {
        let (start, end) = (frame.start_bound.clone(), frame.end_bound.clone());
        call.params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, start, end);
    }
    Ok(call)
}

fn is_distance(bound: &WindowFrameBound) -> bool {
    !bound.is_unbounded() && *bound != WindowFrameBound::CurrentRow
}

/// The types that DataFusion has RANGE for, with a distance or without.
fn has_distances(key: &DataType) -> bool {
    let is_list = matches!(key, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..));
    let is_time = key.is_temporal() && !matches!(key, DataType::Interval(_) | DataType::Duration(_));
    key.is_numeric() || key.is_string() || key.is_null() || is_list || is_time || *key == DataType::Boolean
}
