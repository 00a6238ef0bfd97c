//! Expressions over one column as lookup tables: DataFusion evaluates them while the query is planned, once for each value that
//! the column can have and for NULL. So any function is one load per record, and means what it does in DataFusion.
//!
//! The values that a column can have are those between its smallest and its largest, or its dictionary's entries. Strings
//! that come out are codes again: positions among their own entries.

use crate::compile::entries::coded;
use crate::compile::translate::{ColumnScope, RecordColumn, Typed};
use arrow::array::{Array, ArrayRef, AsArray, NullArray, RecordBatch, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::Volatility;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NegativeExpr,
    NotExpr, TryCastExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use gingham_execution::{Expression, LookupTable};
use gingham_kernels::Isa;
use gingham_storage::decode::array_of_integers;
use gingham_storage::encoding::integers_of_array;
use gingham_storage::scan::fetch;
use gingham_storage::{LogicalType, ValueClass};
use std::iter::once;
use std::sync::Arc;

/// So many values are evaluated however few records there are: it takes some microseconds.
const FEW: u64 = 64;
/// And no more than so many, whose results are still read from caches.
const MANY: u64 = 1 << 16;
/// Strings that come out need an order, which is dearer than looking at a few: with more values they are made as they come.
const MANY_TEXTS: usize = 1 << 13;
/// As many at once as DataFusion's operators take.
const AT_ONCE: usize = 8192;
/// Bytes of strings that an expression may give: they are kept with the plan.
const BYTES: usize = 4 << 20;

impl ColumnScope {
    /// An expression as a lookup table over the only column that it refers to, or a string that is written out. `None` when it
    /// refers to more, when the column can have more values than there are records, or when the expression fails for one of
    /// them.
    pub(super) fn map(&self, expression: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Typed> {
        let mut column = None;
        if !only_column(expression, &mut column) {
            return None;
        }
        let data_type = expression.data_type(schema).ok()?;
        let Some(column) = column else { return text(expression, &data_type) };
        let class = LogicalType::from_arrow("", &data_type).ok()?.class();
        if class == ValueClass::Float {
            return None;
        }
        let argument = self.column(column)?;
        if argument.data_type != *schema.field(column).data_type() {
            return None;
        }
        let (low, values) = self.values(&argument)?;
        let (results, entries) = match class {
            ValueClass::Integer => (integers(expression, column, &values, &data_type)?, None),
            _ if values.len() > MANY_TEXTS => return None,
            _ => codes(expression, column, &values, &data_type).map(|(codes, entries)| (codes, Some(entries)))?,
        };
        let (null, results) = results.split_last()?;
        let map = LookupTable::new(low, results, *null);
        let expression = Expression::Map { map, argument: Box::new(argument.expression) };
        Some(Typed { entries, ..Typed::new(expression, data_type) })
    }

    /// The values that a column of the scope can have, in the order of their integers, and a NULL behind them; and the
    /// first one's integer.
    fn values(&self, column: &Typed) -> Option<(i64, ArrayRef)> {
        let most = self.rows().clamp(FEW, MANY);
        if let Some(entries) = &column.entries {
            let null = new_null_array(entries.data_type(), 1);
            let few = entries.len() as u64 <= most;
            return few.then(|| concat(&[entries, &null]).ok())?.map(|values| (0, values));
        }
        if let Some(RecordColumn { table, column: strings, .. }) = &column.trace.records {
            let numbers = (0..table.numbers()).map(Some).chain(once(None));
            let values = || fetch(table, *strings, &numbers.collect::<Vec<_>>(), Isa::best()).ok();
            return (table.numbers() <= most).then(values)?.map(|values| (0, values));
        }
        let (range, _) = column.expression.facts(self.facts()).ok()?;
        let low = i64::try_from(range.min).ok()?;
        let last = range.max.checked_sub(range.min)?;
        if last >= i128::from(most) {
            return None;
        }
        let values: Vec<i128> = (range.min..=range.max).chain(once(0)).collect();
        let nulls = (0..values.len()).map(|at| at as i128 <= last).collect::<NullBuffer>();
        let logical_type = LogicalType::from_arrow("", &column.data_type).ok()?;
        Some((low, array_of_integers(&logical_type, &values, Some(nulls)).ok()?))
    }
}

/// A string as the code of the only entry that there is.
fn text(expression: &Arc<dyn PhysicalExpr>, data_type: &DataType) -> Option<Typed> {
    let one: ArrayRef = Arc::new(NullArray::new(1));
    let (codes, entries) = expression.is::<Literal>().then(|| codes(expression, 0, &one, data_type))??;
    let code = codes.first().copied().flatten().map(i128::from);
    Some(Typed { entries: Some(entries), ..Typed::new(Expression::Constant(code), data_type.clone()) })
}

/// Whether an expression's result follows from one column, whose number becomes `found`.
fn only_column(expression: &Arc<dyn PhysicalExpr>, found: &mut Option<usize>) -> bool {
    if let Some(column) = expression.downcast_ref::<Column>() {
        return *found.get_or_insert(column.index()) == column.index();
    }
    needs_only_arguments(expression, &[Volatility::Immutable])
        && expression.children().into_iter().all(|child| only_column(child, found))
}

/// Whether an expression is of a kind that gives the same for the same arguments, a function of these volatilities among
/// them.
pub(super) fn needs_only_arguments(expression: &Arc<dyn PhysicalExpr>, functions: &[Volatility]) -> bool {
    match expression.downcast_ref::<ScalarFunctionExpr>() {
        Some(call) => functions.contains(&call.fun().signature().volatility),
        None => {
            expression.is::<Literal>()
                || expression.is::<BinaryExpr>()
                || expression.is::<CaseExpr>()
                || expression.is::<CastExpr>()
                || expression.is::<TryCastExpr>()
                || expression.is::<InListExpr>()
                || expression.is::<IsNullExpr>()
                || expression.is::<IsNotNullExpr>()
                || expression.is::<LikeExpr>()
                || expression.is::<NegativeExpr>()
                || expression.is::<NotExpr>()
        }
    }
}

/// The results of an expression over the column with this number, for some values after others.
fn evaluate(
    expression: &Arc<dyn PhysicalExpr>,
    column: usize,
    values: &ArrayRef,
    data_type: &DataType,
) -> impl Iterator<Item = Result<ArrayRef>> {
    (0..values.len()).step_by(AT_ONCE).map(move |start| {
        let rows = AT_ONCE.min(values.len() - start);
        // It does not look at the columns before.
        let unread: ArrayRef = Arc::new(NullArray::new(rows));
        let mut columns = vec![unread; column];
        columns.push(values.slice(start, rows));
        let fields: Fields = columns.iter().map(|column| Field::new("", column.data_type().clone(), true)).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        let results = expression.evaluate(&batch)?.into_array(rows)?;
        if results.data_type() == data_type { Ok(results) } else { internal_err!("{expression} gives no {data_type}") }
    })
}

/// The results as values of 64 bits.
fn integers(
    expression: &Arc<dyn PhysicalExpr>,
    column: usize,
    values: &ArrayRef,
    data_type: &DataType,
) -> Option<Vec<Option<i64>>> {
    let mut integers = Vec::with_capacity(values.len());
    for results in evaluate(expression, column, values, data_type) {
        for value in integers_of_array(&results.ok()?).ok()? {
            integers.push(value.map(i64::try_from).transpose().ok()?);
        }
    }
    Some(integers)
}

/// The results, which are strings, as positions among their entries. These ascend and are of the strings' type.
fn codes(
    expression: &Arc<dyn PhysicalExpr>,
    column: usize,
    values: &ArrayRef,
    data_type: &DataType,
) -> Option<(Vec<Option<i64>>, ArrayRef)> {
    let (mut parts, mut bytes) = (Vec::new(), 0);
    for results in evaluate(expression, column, values, data_type) {
        let part = cast(&results.ok()?, &DataType::Utf8View).ok()?;
        bytes += part.as_string_view().lengths().map(|length| length as usize).sum::<usize>();
        if bytes > BYTES {
            return None;
        }
        parts.push(part);
    }
    let (codes, entries) = coded(&parts, data_type)?;
    Some((codes.concat(), entries))
}
