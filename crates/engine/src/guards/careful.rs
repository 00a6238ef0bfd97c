//! Evaluation that computes what conditions guard only for the rows that they let through.

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::boolean::{and_kleene, or_kleene};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{and, filter_record_batch, not, take};
use arrow::datatypes::{Field, Schema};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, Column, InListExpr, Literal};
use std::sync::Arc;

/// Whether an expression has parts that are not asked of every row.
pub(super) fn has_conditions(expression: &Arc<dyn PhysicalExpr>) -> bool {
    junction(expression).is_some()
        || expression.is::<CaseExpr>()
        || computed_list(expression).is_some()
        || expression.children().into_iter().any(has_conditions)
}

/// An AND or OR.
fn junction(expression: &Arc<dyn PhysicalExpr>) -> Option<(&BinaryExpr, Operator)> {
    let binary = expression.downcast_ref::<BinaryExpr>()?;
    matches!(binary.op(), Operator::And | Operator::Or).then_some((binary, *binary.op()))
}

/// An IN whose list has values that are computed.
fn computed_list(expression: &Arc<dyn PhysicalExpr>) -> Option<&InListExpr> {
    let list = expression.downcast_ref::<InListExpr>()?;
    list.list().iter().any(|entry| !entry.is::<Literal>()).then_some(list)
}

/// The values of an expression for the rows of a batch.
pub(super) fn careful(expression: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<ArrayRef> {
    if !has_conditions(expression) {
        return expression.evaluate(batch)?.into_array(batch.num_rows());
    }
    if let Some((binary, operator)) = junction(expression) {
        return joined(binary, operator, batch);
    }
    if let Some(case) = expression.downcast_ref::<CaseExpr>() {
        return chosen(case, expression, batch);
    }
    if let Some(list) = computed_list(expression) {
        return listed(list, batch);
    }
    by_parts(expression, batch)
}

/// An expression over parts that have conditions: these become columns beside those of the batch.
fn by_parts(expression: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<ArrayRef> {
    let mut columns = batch.columns().to_vec();
    let mut fields = batch.schema().fields().to_vec();
    let mut children = Vec::new();
    for child in expression.children() {
        if !has_conditions(child) {
            children.push(Arc::clone(child));
            continue;
        }
        let values = careful(child, batch)?;
        let name = format!("__{}", columns.len());
        children.push(Arc::new(Column::new(&name, columns.len())) as Arc<dyn PhysicalExpr>);
        fields.push(Arc::new(Field::new(name, values.data_type().clone(), true)));
        columns.push(values);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
    let own = Arc::clone(expression).with_new_children(children)?;
    own.evaluate(&batch)?.into_array(batch.num_rows())
}

/// A truth per row.
fn truths(values: &ArrayRef) -> Result<&BooleanArray> {
    match values.as_boolean_opt() {
        Some(truths) => Ok(truths),
        None => internal_err!("a condition of type {}", values.data_type()),
    }
}

/// Truths without NULLs, which are not true.
fn is_true(truths: &BooleanArray) -> BooleanArray {
    let values: BooleanBuffer = match truths.nulls() {
        Some(nulls) => truths.values() & nulls.inner(),
        None => truths.values().clone(),
    };
    BooleanArray::new(values, None)
}

/// AND and OR: the right side for rows that the left one does not decide. A NULL decides neither.
fn joined(binary: &BinaryExpr, operator: Operator, batch: &RecordBatch) -> Result<ArrayRef> {
    let left = careful(binary.left(), batch)?;
    let left = truths(&left)?;
    let decided = if operator == Operator::And { is_true(&not(left)?) } else { is_true(left) };
    let right = where_true(&not(&decided)?, batch, binary.right(), careful)?;
    let right = truths(&right)?;
    Ok(Arc::new(if operator == Operator::And { and_kleene(left, right)? } else { or_kleene(left, right)? }))
}

/// Where a condition holds, of WHERE and ON: a part behind AND is asked of those rows alone for which all parts before it are
/// true. For the others the whole is not true, whether they are false or NULL.
pub(super) fn held(condition: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<ArrayRef> {
    let Some((binary, Operator::And)) = junction(condition) else { return careful(condition, batch) };
    let left = held(binary.left(), batch)?;
    let left = truths(&left)?;
    let right = where_true(&is_true(left), batch, binary.right(), held)?;
    Ok(Arc::new(and_kleene(left, truths(&right)?)?))
}

/// CASE: each condition for the rows that none before it took, each result for the rows that its condition takes.
fn chosen(case: &CaseExpr, whole: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<ArrayRef> {
    let data_type = whole.data_type(&batch.schema())?;
    let mut left = BooleanArray::from(vec![true; batch.num_rows()]);
    let mut values = new_null_array(&data_type, batch.num_rows());
    for (when, then) in case.when_then_expr() {
        let condition: Arc<dyn PhysicalExpr> = match case.expr() {
            Some(base) => Arc::new(BinaryExpr::new(Arc::clone(base), Operator::Eq, Arc::clone(when))),
            None => Arc::clone(when),
        };
        let holds = where_true(&left, batch, &condition, careful)?;
        let holds = is_true(truths(&holds)?);
        let results = where_true(&holds, batch, then, careful)?;
        values = zip(&holds, &results, &values)?;
        left = and(&left, &not(&holds)?)?;
    }
    if let Some(otherwise) = case.else_expr() {
        let results = where_true(&left, batch, otherwise, careful)?;
        values = zip(&left, &results, &values)?;
    }
    Ok(values)
}

/// IN: the constants of the list first, then one computed value after the other, each for the rows that none before it is equal to.
fn listed(list: &InListExpr, batch: &RecordBatch) -> Result<ArrayRef> {
    let (constants, computed): (Vec<_>, Vec<_>) = list.list().iter().cloned().partition(|entry| entry.is::<Literal>());
    let all = (!constants.is_empty()).then_some(constants).into_iter().chain(computed.into_iter().map(|one| vec![one]));
    let mut found = BooleanArray::from(vec![false; batch.num_rows()]);
    for entries in all {
        let part = InListExpr::try_new(Arc::clone(list.expr()), entries, false, &batch.schema())?;
        let asked = not(&is_true(&found))?;
        let holds = where_true(&asked, batch, &(Arc::new(part) as Arc<dyn PhysicalExpr>), by_parts)?;
        found = or_kleene(&found, truths(&holds)?)?;
    }
    Ok(Arc::new(if list.negated() { not(&found)? } else { found }))
}

/// The values that `evaluate` gives of an expression for the rows that are `asked`; NULL for the others. Where nobody is asked
/// nothing is evaluated, since constants can fail without rows.
pub(super) fn where_true(
    asked: &BooleanArray,
    batch: &RecordBatch,
    expression: &Arc<dyn PhysicalExpr>,
    evaluate: fn(&Arc<dyn PhysicalExpr>, &RecordBatch) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    let asked = is_true(asked);
    if asked.true_count() == 0 {
        return Ok(new_null_array(&expression.data_type(&batch.schema())?, batch.num_rows()));
    }
    let values = evaluate(expression, &filter_record_batch(batch, &asked)?)?;
    let mut next = 0;
    let places: UInt32Array = asked
        .values()
        .iter()
        .map(|asked| {
            next += u32::from(asked);
            asked.then(|| next - 1)
        })
        .collect();
    Ok(take(&values, &places, None)?)
}

/// The values of an expression for the rows where a condition holds; NULL for the others.
pub(super) fn filtered(
    expression: &Arc<dyn PhysicalExpr>,
    filter: &Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
) -> Result<ArrayRef> {
    let holds = careful(filter, batch)?;
    where_true(truths(&holds)?, batch, expression, careful)
}

#[cfg(test)]
mod tests {
    use crate::Database;
    use arrow::array::ArrayRef;

    fn answer(sql: &str) -> String {
        let connection = Database::in_memory().unwrap().connect();
        let tables = "CREATE TABLE t (id INTEGER, x INTEGER, y INTEGER, s VARCHAR);
            INSERT INTO t VALUES (1, 10, 5, '7'), (2, 1, 0, 'x'), (3, NULL, NULL, NULL), (4, 0, 2, '1')";
        connection.execute(tables).unwrap();
        let batches = connection.query(sql).and_then(|rows| rows.collect_batches());
        let batches = batches.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let rows = batches.iter().flat_map(|batch| {
            (0..batch.num_rows()).map(|row| {
                let text = |column: &ArrayRef| arrow::util::display::array_value_to_string(column, row).unwrap();
                batch.columns().iter().map(text).collect::<Vec<_>>().join("|")
            })
        });
        rows.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_guarded_does_not_fail() {
        for (sql, expected) in [
            ("SELECT CASE WHEN y <> 0 THEN 10 / y > 4 ELSE false END FROM t ORDER BY id", "false false false true"),
            ("SELECT CASE WHEN y <> 0 THEN 10 / y ELSE -1 END FROM t ORDER BY id", "2 -1 -1 5"),
            ("SELECT id FROM t WHERE y = 0 OR 10 / y > 2 ORDER BY id", "2 4"),
            ("SELECT id FROM t WHERE y <> 0 AND 10 / y > 2 AND x % y = 0 ORDER BY id", "4"),
            ("SELECT sum(10 / y) FILTER (WHERE y <> 0) FROM t", "7"),
            ("SELECT id % 2, sum(10 / y) FILTER (WHERE y <> 0) FROM t GROUP BY id % 2 ORDER BY 1", "0|5 1|2"),
            ("SELECT coalesce(NULLIF(y, 0), x / (y + 1)) FROM t ORDER BY id", "5 1  2"),
            ("SELECT CASE WHEN s ~ '^[0-9]+$' THEN CAST(s AS INTEGER) ELSE 0 END FROM t ORDER BY id", "7 0 0 1"),
            ("SELECT id FROM t WHERE s ~ '^[0-9]+$' AND CAST(s AS INTEGER) > 5", "1"),
            ("SELECT a.id FROM t a LEFT JOIN t b ON a.id = b.id AND (b.y = 0 OR 10 / b.y > 2) ORDER BY 1", "1 2 3 4"),
            ("SELECT CASE y WHEN 0 THEN 0 ELSE 10 / y END + 1 FROM t ORDER BY id", "3 1  6"),
            ("SELECT count(*) FROM t GROUP BY CASE WHEN y <> 0 THEN 10 / y > 4 ELSE false END ORDER BY 1", "1 3"),
            ("SELECT id FROM t ORDER BY CASE WHEN y <> 0 THEN 10 / y > 4 ELSE false END DESC, id", "4 1 2 3"),
        ] {
            assert_eq!(answer(sql), expected, "{sql}");
        }
    }

    #[test]
    fn what_is_not_guarded_fails() {
        let connection = Database::in_memory().unwrap().connect();
        connection.execute("CREATE TABLE t (y INTEGER); INSERT INTO t VALUES (0), (1)").unwrap();
        for sql in [
            "SELECT CASE WHEN y <> 1 THEN 10 / y > 4 ELSE false END FROM t",
            "SELECT y FROM t WHERE y = 1 OR 10 / y > 2",
            "SELECT sum(10 / y) FILTER (WHERE y = 0) FROM t",
        ] {
            let error = connection.query(sql).and_then(|rows| rows.collect_batches()).unwrap_err();
            assert!(error.to_string().contains("division by zero"), "{sql}: {error}");
        }
    }
}
