//! The functions that operators between dates, times, timestamps, intervals and numbers are, with PostgreSQL's types: a DATE
//! and an interval give a TIMESTAMP, two dates a number of days, two timestamps an interval.

use crate::functions::PureFunction;
use crate::temporal::functions as by;
use crate::temporal::interval::INTERVAL;
use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Plans operators while their statement is planned: DataFusion refuses some of them before any rule could see them.
#[derive(Debug)]
pub(crate) struct TemporalOperators;

impl ExprPlanner for TemporalOperators {
    fn plan_binary_op(&self, binary: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let (Ok(left), Ok(right)) = (binary.left.get_type(schema), binary.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(binary));
        };
        let types = [left, right];
        let (left, right) = (OperandKind::of(&types[0], &binary.left), OperandKind::of(&types[1], &binary.right));
        if let Some(read) = numbers_read(&binary, [left, right], &types) {
            return Ok(PlannerResult::Original(read));
        }
        let Some(call) = call_of(&binary.op, left, right) else { return Ok(PlannerResult::Original(binary)) };
        let (mut first, mut second) = (binary.left, binary.right);
        if call.is_swapped {
            std::mem::swap(&mut first, &mut second);
        }
        let read = |operand: Expr, as_type: Option<DataType>| match as_type {
            Some(data_type) => cast(operand, data_type),
            None => operand,
        };
        let arguments = vec![read(first, call.first), read(second, call.second)];
        Ok(PlannerResult::Planned((call.function)().build().call(arguments)))
    }
}

/// A literal text beside a number is read as one, `'5' + 3`, and beside a truth as such.
fn numbers_read(binary: &RawBinaryExpr, kinds: [OperandKind; 2], types: &[DataType; 2]) -> Option<RawBinaryExpr> {
    use BinaryOperator::{Divide, Eq, Gt, GtEq, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Plus};
    if matches!(binary.op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
        let mut read = binary.clone();
        match (kinds, types) {
            ([OperandKind::Text, _], [_, DataType::Decimal128(..)]) => {
                read.left = cast(read.left, decimal_of(&binary.left)?)
            }
            ([_, OperandKind::Text], [DataType::Decimal128(..), _]) => {
                read.right = cast(read.right, decimal_of(&binary.right)?)
            }
            ([OperandKind::Text, _], [_, DataType::Boolean]) => read.left = cast(read.left, DataType::Boolean),
            ([_, OperandKind::Text], [DataType::Boolean, _]) => read.right = cast(read.right, DataType::Boolean),
            _ => return None,
        }
        return Some(read);
    }
    if !matches!(binary.op, Plus | Minus | Multiply | Divide | Modulo) {
        return None;
    }
    let number = |data_type: &DataType, text: &Expr| match data_type {
        DataType::Decimal128(..) => decimal_of(text).unwrap_or_else(|| data_type.clone()),
        other => other.clone(),
    };
    let mut read = binary.clone();
    match kinds {
        [OperandKind::Text, OperandKind::Integer | OperandKind::Number] => {
            read.left = cast(read.left, number(&types[1], &binary.left))
        }
        [OperandKind::Integer | OperandKind::Number, OperandKind::Text] => {
            read.right = cast(read.right, number(&types[0], &binary.right))
        }
        _ => return None,
    }
    Some(read)
}

/// The type with the digits of a text that is a decimal.
fn decimal_of(text: &Expr) -> Option<DataType> {
    let Expr::Literal(text, _) = text else { return None };
    let text = text.try_as_str().flatten()?.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = [whole, fraction].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let (precision, scale) = ((whole.len() + fraction.len()).max(1), fraction.len());
    (plain && precision <= 38).then_some(DataType::Decimal128(precision as u8, scale as i8))
}

/// An operand's type, as far as it decides which function an operator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperandKind {
    Date,
    Time,
    Timestamp,
    Interval,
    Integer,
    Number,
    /// A literal text, which is read as what the other operand asks for.
    Text,
    Other,
}

impl OperandKind {
    fn of(data_type: &DataType, expression: &Expr) -> Self {
        match data_type {
            DataType::Date32 => Self::Date,
            DataType::Time32(_) | DataType::Time64(_) => Self::Time,
            DataType::Timestamp(..) => Self::Timestamp,
            DataType::Interval(_) => Self::Interval,
            data_type if data_type.is_integer() => Self::Integer,
            data_type if data_type.is_numeric() => Self::Number,
            DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 if matches!(expression, Expr::Literal(..)) => {
                Self::Text
            }
            _ => Self::Other,
        }
    }
}

/// The function of an operator, and what its arguments are read as.
struct Call {
    function: fn() -> PureFunction,
    is_swapped: bool,
    first: Option<DataType>,
    second: Option<DataType>,
}

impl Call {
    fn new(function: fn() -> PureFunction) -> Self {
        Self { function, is_swapped: false, first: None, second: None }
    }

    fn swapped(function: fn() -> PureFunction) -> Self {
        Self { is_swapped: true, ..Self::new(function) }
    }

    fn reading_first(self, data_type: DataType) -> Self {
        Self { first: Some(data_type), ..self }
    }

    fn reading_second(self, data_type: DataType) -> Self {
        Self { second: Some(data_type), ..self }
    }
}

fn call_of(operator: &BinaryOperator, left: OperandKind, right: OperandKind) -> Option<Call> {
    use OperandKind::{Date, Integer, Interval, Number, Text, Time, Timestamp};
    let timestamp = || DataType::Timestamp(TimeUnit::Microsecond, None);
    Some(match (operator, left, right) {
        (BinaryOperator::Plus, Date, Integer) => Call::new(by::date_plus_days),
        (BinaryOperator::Plus, Integer, Date) => Call::swapped(by::date_plus_days),
        (BinaryOperator::Minus, Date, Integer) => Call::new(by::date_minus_days),
        (BinaryOperator::Minus, Date, Date) => Call::new(by::days_between),
        (BinaryOperator::Minus, Date, Text) => Call::new(by::days_between).reading_second(DataType::Date32),
        (BinaryOperator::Minus, Text, Date) => Call::new(by::days_between).reading_first(DataType::Date32),
        (BinaryOperator::Plus, Date, Time) => Call::new(by::date_plus_time),
        (BinaryOperator::Plus, Time, Date) => Call::swapped(by::date_plus_time),
        (BinaryOperator::Minus, Date | Timestamp, Time) => Call::new(by::earlier).reading_second(INTERVAL),
        (BinaryOperator::Plus, Timestamp, Time) => Call::new(by::later).reading_second(INTERVAL),
        (BinaryOperator::Plus, Time, Timestamp) => Call::swapped(by::later).reading_second(INTERVAL),
        (BinaryOperator::Plus, Date | Timestamp, Interval) => Call::new(by::later),
        (BinaryOperator::Plus, Interval, Date | Timestamp) => Call::swapped(by::later),
        (BinaryOperator::Plus, Timestamp, Text) => Call::new(by::later).reading_second(INTERVAL),
        (BinaryOperator::Plus, Text, Timestamp) => Call::swapped(by::later).reading_second(INTERVAL),
        (BinaryOperator::Minus, Date | Timestamp, Interval) => Call::new(by::earlier),
        (BinaryOperator::Minus, Date, Timestamp) | (BinaryOperator::Minus, Timestamp, Date | Timestamp) => {
            Call::new(by::between)
        }
        (BinaryOperator::Minus, Timestamp, Text) => Call::new(by::between).reading_second(timestamp()),
        (BinaryOperator::Minus, Text, Timestamp) => Call::new(by::between).reading_first(timestamp()),
        (BinaryOperator::Plus, Time, Interval) => Call::new(by::time_later),
        (BinaryOperator::Plus, Interval, Time) => Call::swapped(by::time_later),
        (BinaryOperator::Minus, Time, Interval) => Call::new(by::time_earlier),
        (BinaryOperator::Minus, Time, Time) => Call::new(by::time_between),
        (BinaryOperator::Plus, Interval, Interval) => Call::new(by::interval_plus),
        (BinaryOperator::Minus, Interval, Interval) => Call::new(by::interval_minus),
        (BinaryOperator::Plus, Interval, Text) => Call::new(by::interval_plus).reading_second(INTERVAL),
        (BinaryOperator::Plus, Text, Interval) => Call::new(by::interval_plus).reading_first(INTERVAL),
        (BinaryOperator::Minus, Interval, Text) => Call::new(by::interval_minus).reading_second(INTERVAL),
        (BinaryOperator::Multiply, Interval, Integer | Number | Text) => Call::new(by::interval_times),
        (BinaryOperator::Multiply, Integer | Number | Text, Interval) => Call::swapped(by::interval_times),
        (BinaryOperator::Divide, Interval, Integer | Number | Text) => Call::new(by::interval_by),
        _ => return None,
    })
}
