//! Comparison of TIMEs of different units: DataFusion has none, and makes every TIME literal one of nanoseconds.

use crate::arithmetic::constant::{constant, exact};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Time32(_) | DataType::Time64(_))
}

/// Whether TIMEs of several units are among the types.
pub(super) fn differ(types: &[DataType]) -> bool {
    let mut times = types.iter().filter(|data_type| is_time(data_type));
    times.next().is_some_and(|first| times.any(|other| other != first))
}

/// Aligns the operands of a comparison while it is planned: DataFusion refuses it before any rule could.
#[derive(Debug)]
pub(crate) struct TimeComparison;

impl ExprPlanner for TimeComparison {
    fn plan_binary_op(&self, mut binary: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        if matches!(binary.op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
            && let (Ok(left), Ok(right)) = (binary.left.get_type(schema), binary.right.get_type(schema))
            && differ(&[left.clone(), right.clone()])
        {
            align(vec![&mut binary.left, &mut binary.right], &[left, right]);
        }
        Ok(PlannerResult::Original(binary))
    }
}

/// Gives all TIMEs among `operands` one unit: that of the columns for constants that lose nothing by it, so that the
/// column itself is compared, else nanoseconds.
pub(super) fn align(operands: Vec<&mut Expr>, types: &[DataType]) -> bool {
    let nanoseconds = DataType::Time64(TimeUnit::Nanosecond);
    let times = || operands.iter().zip(types).filter(|(_, data_type)| is_time(data_type));
    let mut columns = times().filter(|(operand, _)| constant(operand).is_none()).map(|(_, data_type)| data_type);
    let target = match columns.next() {
        Some(column) if columns.all(|other| other == column) => {
            let mut constants = times().filter_map(|(operand, _)| constant(operand));
            if constants.all(|value| exact(&value, column).is_some()) { column.clone() } else { nanoseconds }
        }
        _ => nanoseconds,
    };
    for (operand, data_type) in operands.into_iter().zip(types) {
        if !is_time(data_type) || *data_type == target {
            continue;
        }
        *operand = match constant(operand).and_then(|value| exact(&value, &target)) {
            Some(value) => Expr::Literal(value, None),
            None => cast(std::mem::take(operand), target.clone()),
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::Database;

    #[test]
    fn times_of_all_units_compare() {
        let connection = Database::in_memory().unwrap().connect();
        connection.execute("CREATE TABLE t (s TIME(0), ms TIME(3), us TIME, ns TIME(9))").unwrap();
        connection.execute("INSERT INTO t VALUES ('10:00:00', '10:00:00', '10:00:00', '10:00:00')").unwrap();
        let truths = [
            "s = ms AND ms = us AND us = ns AND s = ns",
            "us = TIME '10:00:00' AND s = TIME '10:00:00'",
            "s < TIME '10:00:00.5' AND NOT s = TIME '10:00:00.5'",
            "us BETWEEN TIME '09:59:59.999999999' AND TIME '10:00:00'",
            "s IN (TIME '09:00:00', TIME '10:00:00')",
        ];
        for condition in truths {
            let sql = format!("SELECT count(*) FROM t WHERE {condition}");
            let batch = connection.query(&sql).unwrap().collect_batches().unwrap().remove(0);
            let text = arrow::util::display::array_value_to_string(batch.column(0), 0).unwrap();
            assert_eq!(text, "1", "{condition}");
        }
    }
}
