//! Results whose types have 128 bits, and whose values have not.

use crate::operators::aggregate::Plan;
use crate::tests::{ANY, Column, check, fields};
use crate::{Aggregate, Aggregation, Arithmetic, Error, Expression, Function, Limits};

/// [`check`] looks at the groups by a condition on the last column, too.
#[test]
fn conditions_on_wide_results() {
    let column =
        |base| Column { base, width: 4, codes: (0..40).map(|code| Some(code * code)).collect(), packed: false };
    // As far as the metadata says, the product may need more than 64 bits.
    let columns = [column(-1 << 40), column(0), column(-1 << 41), column(1 << 39)];
    let product = Expression::arithmetic(Arithmetic::Multiply, Expression::Column(0), Expression::Column(2), ANY);
    let small = Expression::arithmetic(Arithmetic::Subtract, product.clone(), product, ANY);
    for function in [Function::Min, Function::Max] {
        let aggregates = vec![Aggregate { function, argument: Some(small.clone()), filter: None }];
        let keys = vec![Expression::Column(1)];
        check(&columns, None, &Aggregation { keys, aggregates, ..Aggregation::default() }).unwrap();
    }
}

#[test]
fn keys_past_64_bits_are_refused_however_narrow_their_range() {
    let product =
        Expression::arithmetic(Arithmetic::Multiply, Expression::Column(0), Expression::Constant(Some(1 << 40)), ANY);
    let aggregation = Aggregation { keys: vec![product], ..Aggregation::default() };
    let plan = |from: i64| Plan::new(&aggregation, fields([(Limits::new(from, from + 3), false)]), 10);
    assert!(matches!(plan(1 << 40), Err(Error::Unsupported(_))));
    assert!(plan(1 << 20).is_ok());
}
