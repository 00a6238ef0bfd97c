//! Operators that DataFusion reads otherwise than PostgreSQL, as calls of functions: `^` is a power and no exclusive or,
//! and INTERVAL '…' has PostgreSQL's forms.

use crate::Result;
use crate::temporal::{AT_TIME_ZONE, TIME_OF, TO_INTERVAL};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, Interval, ObjectName, ObjectNamePart, TypedString, UnaryOperator,
    Value,
};

/// Before the parts of an expression: a sign binds tighter than `^`, whose first operand it belongs to.
pub(crate) fn give_signs(expression: &mut Expr) {
    if let Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } = expression
        && is_power(expr)
    {
        let mut power = take(expr);
        let first = first_operand(&mut power);
        **expr = take(first);
        *first = take(expression);
        *expression = power;
    }
}

fn is_power(expression: &Expr) -> bool {
    matches!(expression, Expr::BinaryOp { op: BinaryOperator::BitwiseXor, .. })
}

/// The first operand of a chain of powers.
fn first_operand(expression: &mut Expr) -> &mut Expr {
    let mut expression = expression;
    while is_power(expression) {
        let Expr::BinaryOp { left, .. } = expression else { break };
        expression = left;
    }
    expression
}

/// After the parts of an expression: the call that it stands for.
pub(crate) fn make_calls(expression: &mut Expr) -> Result<()> {
    match expression {
        Expr::BinaryOp { left, op: BinaryOperator::BitwiseXor, right } => {
            *expression = call("power", vec![take(left), take(right)]);
        }
        Expr::AtTimeZone { timestamp, time_zone } => {
            *expression = call(AT_TIME_ZONE, vec![take(timestamp), take(time_zone)]);
        }
        Expr::Extract { field, expr, .. } => {
            let field = match field {
                DateTimeField::Custom(name) => name.value.clone(),
                field => field.to_string(),
            };
            *expression = call("date_part", vec![Expr::value(Value::SingleQuotedString(field)), take(expr)]);
        }
        Expr::Function(function) => {
            if let Some(operator) = as_operator(function)? {
                *expression = operator;
            }
        }
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type: DataType::Time(None, _), ..
        } if !has_nanoseconds(expr) => {
            *expression = call(TIME_OF, vec![take(expr)]);
        }
        Expr::TypedString(TypedString { data_type: DataType::Time(None, _), value, .. })
            if !has_nanoseconds(&Expr::Value(value.clone())) =>
        {
            *expression = call(TIME_OF, vec![Expr::Value(value.clone())]);
        }
        Expr::Interval(interval) => *expression = interval_call(interval),
        _ => {}
    }
    Ok(())
}

/// Whether a text has digits behind the microseconds, which a TIME of nanoseconds keeps.
fn has_nanoseconds(text: &Expr) -> bool {
    let Expr::Value(value) = text else { return false };
    let Value::SingleQuotedString(text) = &value.value else { return false };
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    fraction.bytes().take_while(u8::is_ascii_digit).count() > 6
}

/// The operator that a call is: `mod(a, b)`. Functions that DataFusion has by another name get that.
fn as_operator(function: &mut Function) -> Result<Option<Expr>> {
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_mut_slice() else { return Ok(None) };
    match name.value.to_ascii_lowercase().as_str() {
        "mod" => {
            let FunctionArguments::List(list) = &mut function.args else { return Ok(None) };
            let [FunctionArg::Unnamed(FunctionArgExpr::Expr(left)), FunctionArg::Unnamed(FunctionArgExpr::Expr(right))] =
                list.args.as_mut_slice()
            else {
                return Ok(None);
            };
            let nested = |operand: &mut Expr| Box::new(Expr::Nested(Box::new(take(operand))));
            let (left, right) = (nested(left), nested(right));
            return Ok(Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op: BinaryOperator::Modulo, right }))));
        }
        "variance" => name.value = "var_samp".to_owned(),
        "every" => name.value = "bool_and".to_owned(),
        _ => {}
    }
    Ok(None)
}

/// `INTERVAL '1-2' YEAR TO MONTH`: its text and its fields.
fn interval_call(interval: &mut Interval) -> Expr {
    let mut fields = String::new();
    if let Some(field) = &interval.leading_field {
        fields = field.to_string();
    }
    if let Some(field) = &interval.last_field {
        fields = format!("{fields} TO {field}");
    }
    call(TO_INTERVAL, vec![take(&mut interval.value), Expr::value(Value::SingleQuotedString(fields))])
}

/// Takes an expression out of a tree.
pub(crate) fn take(expression: &mut Expr) -> Expr {
    std::mem::replace(expression, Expr::value(Value::Null))
}

/// A number as it is written.
pub(crate) fn number(digits: &str) -> Expr {
    Expr::value(Value::Number(digits.to_owned(), false))
}

/// A cast to a type.
pub(crate) fn cast(value: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(value), data_type, array: false, format: None }
}

/// A call of a function.
pub(crate) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let argument = |argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument));
    let args = arguments.into_iter().map(argument).collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
