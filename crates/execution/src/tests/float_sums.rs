//! Sums of floats in words, interpreted and by generated code, against sums that lose nothing.

use crate::operators::aggregate::Plan;
use crate::program::float;
use crate::tests::run::{By, Place, run};
use crate::tests::{Column, cases, exact_sum, fields};
use crate::{Aggregate, Aggregation, Error, Expression, Finish, Function, Limits};
use gingham_storage::scan::OpenMorsel;
use proptest::prelude::*;
use std::sync::Arc;

fn sum(argument: Expression) -> Aggregation {
    let aggregate = Aggregate { function: Function::FloatSum, argument: Some(argument), filter: None };
    Aggregation { aggregates: vec![aggregate], ..Aggregation::default() }
}

#[test]
fn sums_of_floats_are_exact_in_any_order() {
    let hundredths = |record: u64| (record * 7919 % 20_001) as i64 - 10_000;
    let columns = |reversed: bool| {
        let records = (0..4000u64).map(|record| if reversed { 3999 - record } else { record });
        let codes = records.map(|record| Some((hundredths(record) + 10_000) as u64)).collect();
        [Column { base: -10_000, width: 2, codes, packed: false }]
    };
    let argument = Expression::ToFloat { argument: Box::new(Expression::Column(0)), digits: 2 };
    let aggregation = sum(argument);
    let values: Vec<i128> = (0..4000).map(|record| float::ordered(hundredths(record) as f64 / 100.0).into()).collect();
    for reversed in [false, true] {
        let columns = columns(reversed);
        let plan = Arc::new(Plan::new(&aggregation, fields(columns.iter().map(Column::facts)), 4000).unwrap());
        let morsel = OpenMorsel::new(4000, None, vec![columns[0].view()]);
        for by in [By::Interpreter, By::Generator] {
            let groups = run(&plan, &[Finish::Value(0)], None, &morsel, by, Place::Array).unwrap();
            assert_eq!(groups.columns[0].get(0), Some(exact_sum(&values)), "{by:?}, reversed {reversed}");
        }
    }
}

/// Floats of any exponents that lie so far apart, of few or many digits, at times the least and the largest.
fn hard() -> impl Strategy<Value = Vec<f64>> {
    let apart = prop_oneof![Just(0i32), Just(20), Just(60), Just(120), Just(2000)];
    (-1074..1000i32, apart).prop_flat_map(|(power, apart): (i32, i32)| {
        let value =
            (any::<i64>(), 0..63u32, -apart..=apart).prop_map(move |(digits, dropped, off): (i64, u32, i32)| {
                let exponent = (power + off).clamp(-1074, 900);
                (digits >> dropped) as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
            });
        let end = prop::sample::select(vec![0.0, -0.0, 5e-324, -f64::MIN_POSITIVE, f64::MAX, f64::MIN]);
        prop::collection::vec(prop_oneof![30 => value, 1 => end], 1..60)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn sums_of_hard_floats_are_exact_or_refused(values in hard(), rows in prop_oneof![Just(60u64), Just(1 << 24), Just(1 << 45)]) {
        let integers: Vec<i64> = values.iter().map(|value| float::ordered(*value)).collect();
        let base = integers.iter().copied().min().unwrap();
        let codes = integers.iter().map(|value| Some(value.wrapping_sub(base) as u64)).collect();
        let columns = [Column { base, width: 8, codes, packed: false }];
        let plan = Arc::new(Plan::new(&sum(Expression::Column(0)), fields(columns.iter().map(Column::facts)), rows).unwrap());
        let range = Limits::new(base, *integers.iter().max().unwrap());
        let unit = float::unit(range, rows).unwrap();
        let is_whole = integers.iter().all(|value| float::units(*value, unit).is_some());
        let all: Vec<i128> = integers.iter().map(|value| (*value).into()).collect();
        let morsel = OpenMorsel::new(values.len(), None, vec![columns[0].view()]);
        for by in [By::Interpreter, By::Generator] {
            match run(&plan, &[Finish::Value(0)], None, &morsel, by, Place::Array) {
                Ok(rows) => prop_assert_eq!((rows.columns[0].get(0), is_whole), (Some(exact_sum(&all)), true), "{:?}", by),
                Err(Error::Overflow) => prop_assert!(!is_whole, "{by:?}"),
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
        }
    }
}
