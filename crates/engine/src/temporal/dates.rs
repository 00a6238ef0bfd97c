//! A DATE compared with a constant TIMESTAMP is compared with a constant DATE: `day < DATE '1994-01-01' + INTERVAL '1 year'`
//! stays a range of days, which scans and pipelines know, though its right side is a TIMESTAMP.

use crate::rewrite::{columns_around, each_part, has_expression};
use crate::temporal::moment::{is_infinite, units_of_day};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The optimizer rule; it runs when constants are folded and before conditions move.
#[derive(Debug)]
pub(crate) struct CompareDays;

impl OptimizerRule for CompareDays {
    fn name(&self) -> &str {
        "compare_days"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if matches!(plan, LogicalPlan::TableScan(_)) || !has_expression(&plan, has_timestamp)? {
            return Ok(Transformed::no(plan));
        }
        let schema = columns_around(&plan)?;
        let is_day = |value: &Expr| value.get_type(&schema).is_ok_and(|own| own == DataType::Date32);
        each_part(plan, |part| {
            let days = if let Expr::BinaryExpr(binary) = &part { by_days(binary, is_day) } else { None };
            Ok(days.map_or_else(|| Transformed::no(part), Transformed::yes))
        })
    }
}

/// A constant timestamp.
fn has_timestamp(part: &Expr) -> bool {
    matches!(part, Expr::Literal(value, _) if matches!(value.data_type(), DataType::Timestamp(_, None)))
}

/// The comparison of days that a comparison of a day's midnight with a constant is.
fn by_days(binary: &BinaryExpr, is_day: impl Fn(&Expr) -> bool) -> Option<Expr> {
    let (date, operator, timestamp) = match (binary.left.as_ref(), binary.right.as_ref()) {
        (value, Expr::Literal(timestamp, _)) => (midnight_of(value)?, binary.op, timestamp),
        (Expr::Literal(timestamp, _), value) => (midnight_of(value)?, binary.op.swap()?, timestamp),
        _ => return None,
    };
    if !is_day(date) {
        return None;
    }
    let (units, unit) = match timestamp {
        ScalarValue::TimestampMicrosecond(Some(units), None) => (*units, arrow::datatypes::TimeUnit::Microsecond),
        ScalarValue::TimestampNanosecond(Some(units), None) => (*units, arrow::datatypes::TimeUnit::Nanosecond),
        ScalarValue::TimestampMillisecond(Some(units), None) => (*units, arrow::datatypes::TimeUnit::Millisecond),
        ScalarValue::TimestampSecond(Some(units), None) => (*units, arrow::datatypes::TimeUnit::Second),
        _ => return None,
    };
    if is_infinite(units) {
        return None;
    }
    let size = units_of_day(unit);
    let (day, is_midnight) = (i32::try_from(units.div_euclid(size)).ok()?, units.rem_euclid(size) == 0);
    let operator = match operator {
        operator if is_midnight => operator,
        // Between two midnights no day is equal; those before it are all up to its own.
        Operator::Lt | Operator::LtEq => Operator::LtEq,
        Operator::Gt | Operator::GtEq => Operator::Gt,
        _ => return None,
    };
    let compares = matches!(
        operator,
        Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
    );
    compares.then(|| {
        let day = lit(ScalarValue::Date32(Some(day)));
        Expr::BinaryExpr(BinaryExpr::new(Box::new(date.clone()), operator, Box::new(day)))
    })
}

/// The day whose midnight an expression is.
fn midnight_of(expression: &Expr) -> Option<&Expr> {
    match expression {
        Expr::ScalarFunction(call) if call.name() == crate::casts::CAST => match call.args.as_slice() {
            [inner] => Some(inner),
            _ => None,
        },
        Expr::Cast(cast) => Some(&cast.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Database;

    #[test]
    fn days_compare_with_timestamps() {
        let connection = Database::in_memory().unwrap().connect();
        connection
            .execute("CREATE TABLE t (d DATE); INSERT INTO t VALUES ('2024-01-01'), ('2024-01-02'), (NULL)")
            .unwrap();
        for (condition, rows) in [
            ("d < TIMESTAMP '2024-01-02 00:00:00'", 1),
            ("d <= TIMESTAMP '2024-01-02 00:00:00'", 2),
            ("d < TIMESTAMP '2024-01-02 10:00:00'", 2),
            ("d > TIMESTAMP '2024-01-01 10:00:00'", 1),
            ("d >= TIMESTAMP '2024-01-01 10:00:00'", 1),
            ("d = TIMESTAMP '2024-01-01 00:00:00'", 1),
            ("d = TIMESTAMP '2024-01-01 10:00:00'", 0),
            ("d <> TIMESTAMP '2024-01-01 10:00:00'", 2),
            ("TIMESTAMP '2024-01-01 10:00:00' < d", 1),
            ("d < DATE '2023-01-02' + INTERVAL '1 year'", 1),
            ("d < TIMESTAMP 'infinity'", 2),
            ("d BETWEEN DATE '2023-12-31' AND DATE '2023-12-31' + INTERVAL '36 hours'", 1),
        ] {
            let sql = format!("SELECT d FROM t WHERE {condition}");
            let batches = connection.query(&sql).unwrap().collect_batches().unwrap();
            assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), rows, "{condition}");
        }
        let plan = "EXPLAIN FORMAT indent SELECT d FROM t WHERE d < DATE '2023-01-02' + INTERVAL '1 year'";
        let batch = connection.query(plan).unwrap().collect_batches().unwrap().remove(0);
        let plan = arrow::util::display::array_value_to_string(batch.column(1), 1).unwrap();
        assert!(plan.contains("d < Date32(\"2024-01-02\")"), "{plan}");
    }
}
