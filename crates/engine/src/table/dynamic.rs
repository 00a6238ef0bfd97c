//! Filters that come about while a query runs: the keys on the build side of a hash join, known before the probe side is
//! read. They only spare work, since the join looks at every record again, so that what can't be translated is left out.

use crate::table::filter::{all_of, any_of, plain_comparison};
use crate::table::join_keys::JoinKeys;
use crate::table::value::datum;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNullExpr, Literal,
};
use gingham_storage::{ColumnDefinition, ColumnId, Datum, IntegerSet, Predicate, ValueClass};
use std::sync::Arc;

/// A list of keys is worth a look at each code when the table has this many times as many records.
const RECORDS_PER_KEY: u64 = 4;

/// True for a filter that changes while the query runs.
pub(super) fn is_dynamic(filter: &Arc<dyn PhysicalExpr>) -> bool {
    filter.is::<DynamicFilterPhysicalExpr>() || filter.children().into_iter().any(is_dynamic)
}

/// The share of a column's values that so many keys of a join leave, 1 where they are not looked for.
pub(crate) fn share_left_by_keys(keys: f64, distinct: f64) -> f64 {
    let worth = keys <= IntegerSet::MOST_KEYS as f64 && IntegerSet::rules_out_enough(keys, distinct);
    if worth { keys / distinct } else { 1.0 }
}

/// The translation of filters over the columns that a scan gives.
pub(super) struct Implied<'a> {
    /// The scan's output columns.
    pub(super) columns: Vec<&'a ColumnDefinition>,
    /// Records of the table.
    pub(super) rows: u64,
    /// Distinct values of a column, about.
    pub(super) distinct: &'a dyn Fn(ColumnId) -> u64,
    /// Keys that joins have gathered, by the number of the joins' filters.
    pub(super) join_keys: &'a [(u64, Arc<JoinKeys>)],
}

impl Implied<'_> {
    /// A predicate that holds wherever the filter, as it stands now, does.
    pub(super) fn predicate(&self, filter: &Arc<dyn PhysicalExpr>) -> Predicate {
        self.translate(filter).unwrap_or(Predicate::Constant(true))
    }

    fn translate(&self, filter: &Arc<dyn PhysicalExpr>) -> Option<Predicate> {
        if let Some(dynamic) = filter.downcast_ref::<DynamicFilterPhysicalExpr>() {
            let (mut parts, all) = self.keys(dynamic);
            if !all {
                parts.push(self.predicate(&dynamic.current().ok()?));
            }
            return Some(all_of(parts));
        }
        if let Some(literal) = filter.downcast_ref::<Literal>() {
            let ScalarValue::Boolean(value) = literal.value() else { return None };
            return Some(Predicate::Constant(*value == Some(true)));
        }
        if let Some(test) = filter.downcast_ref::<IsNullExpr>() {
            return Some(Predicate::IsNull { column: self.column(test.arg())?.id, negated: false });
        }
        if let Some(list) = filter.downcast_ref::<InListExpr>() {
            return self.list(list);
        }
        if let Some(case) = filter.downcast_ref::<CaseExpr>() {
            // Which partition a record goes to is not looked at: it may satisfy the filter of any.
            let branches = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
            return Some(any_of(branches.map(|branch| self.predicate(branch))));
        }
        let binary = filter.downcast_ref::<BinaryExpr>()?;
        match binary.op() {
            Operator::And => Some(all_of([self.predicate(binary.left()), self.predicate(binary.right())])),
            Operator::Or => Some(any_of([self.predicate(binary.left()), self.predicate(binary.right())])),
            op => {
                let column = self.column(binary.left())?;
                let value = datum(binary.right().downcast_ref::<Literal>()?.value(), &column.logical_type)?;
                if value.is_null() {
                    return Some(Predicate::Constant(false));
                }
                plain_comparison(column.id, *op, value)
            }
        }
    }

    /// What the gathered keys of a join say, and whether that is all that its filter does.
    fn keys(&self, filter: &DynamicFilterPhysicalExpr) -> (Vec<Predicate>, bool) {
        let number = filter.expression_id();
        let gathered = self.join_keys.iter().find(|(known, _)| Some(*known) == number);
        let Some(sets) = gathered.and_then(|(_, keys)| keys.sets()) else { return (Vec::new(), false) };
        let mut parts = Vec::with_capacity(sets.len());
        for (key, set) in filter.children().into_iter().zip(sets.iter()) {
            if let (Some(column), Some(set)) = (self.column(key), set) {
                parts.push(self.among(column, set));
            }
        }
        let all = parts.len() == sets.len();
        (parts, all)
    }

    fn among(&self, column: &ColumnDefinition, set: &Arc<IntegerSet>) -> Predicate {
        if !IntegerSet::rules_out_enough(set.len() as f64, (self.distinct)(column.id) as f64) {
            return Predicate::Constant(true);
        }
        Predicate::Among { column: column.id, set: Arc::clone(set) }
    }

    /// The column of an expression that is one. Floats compare otherwise (-0.0), and are left out.
    fn column(&self, expression: &Arc<dyn PhysicalExpr>) -> Option<&ColumnDefinition> {
        let column = self.columns.get(expression.downcast_ref::<Column>()?.index())?;
        (column.logical_type.class() != ValueClass::Float).then_some(*column)
    }

    fn list(&self, list: &InListExpr) -> Option<Predicate> {
        let column = self.column(list.expr())?;
        if list.negated() || list.len() as u64 * RECORDS_PER_KEY > self.rows {
            return None;
        }
        let mut values = Vec::with_capacity(list.len());
        for entry in list.list() {
            match datum(entry.downcast_ref::<Literal>()?.value(), &column.logical_type)? {
                Datum::Null => {}
                value => values.push(value),
            }
        }
        Some(if values.is_empty() {
            Predicate::Constant(false)
        } else {
            Predicate::In { column: column.id, values, negated: false }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::physical_expr::expressions::{binary, col, in_list, lit};
    use gingham_storage::LogicalType;

    fn translated(filter: &Arc<dyn PhysicalExpr>) -> String {
        let column = ColumnDefinition::new(7, "a", LogicalType::Int(64));
        let implied = Implied { columns: vec![&column], rows: 100, distinct: &|_| 100, join_keys: &[] };
        format!("{:?}", implied.predicate(filter))
    }

    #[test]
    fn what_is_not_understood_lets_all_records_through() {
        let schema = arrow::datatypes::Schema::new(vec![arrow::datatypes::Field::new(
            "a",
            arrow::datatypes::DataType::Int64,
            true,
        )]);
        let a = col("a", &schema).unwrap();
        let at_least = |value: i64| binary(Arc::clone(&a), Operator::GtEq, lit(value), &schema).unwrap();
        let odd = binary(
            binary(Arc::clone(&a), Operator::Modulo, lit(2i64), &schema).unwrap(),
            Operator::Eq,
            lit(1i64),
            &schema,
        )
        .unwrap();
        assert_eq!(translated(&odd), "Constant(true)");
        let both = binary(Arc::clone(&odd), Operator::And, at_least(5), &schema).unwrap();
        assert_eq!(translated(&both), translated(&at_least(5)));
        let either = binary(odd, Operator::Or, at_least(5), &schema).unwrap();
        assert_eq!(translated(&either), "Constant(true)");

        let few = in_list(Arc::clone(&a), vec![lit(1i64), lit(2i64)], &false, &schema).unwrap();
        assert_eq!(translated(&few), "In { column: 7, values: [Integer(1), Integer(2)], negated: false }");
        let many = in_list(Arc::clone(&a), (0..26i64).map(lit).collect(), &false, &schema).unwrap();
        assert_eq!(translated(&many), "Constant(true)", "26 keys for 100 records");

        let dynamic = Arc::new(DynamicFilterPhysicalExpr::new(Vec::new(), lit(true)));
        let filter: Arc<dyn PhysicalExpr> = Arc::clone(&dynamic) as _;
        assert!(is_dynamic(&filter));
        assert_eq!(translated(&filter), "Constant(true)");
        dynamic.update(at_least(3)).unwrap();
        assert_eq!(translated(&filter), translated(&at_least(3)));
    }
}
