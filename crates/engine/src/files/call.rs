//! `read_csv('sales.csv', delim = ';')` and its siblings: a function of FROM whose arguments say files and how they are read.

use crate::files::options::{FileFormat, OptionValue, ReadOptions};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Array, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, ObjectName, UnaryOperator, Value,
};
use gingham_storage::SqlState;

/// The functions, and what the files hold that they read.
const FUNCTIONS: &[(&str, FileFormat)] = &[
    ("read_csv", FileFormat::Csv),
    ("read_csv_auto", FileFormat::Csv),
    ("read_parquet", FileFormat::Parquet),
    ("parquet_scan", FileFormat::Parquet),
    ("read_json", FileFormat::Json),
    ("read_json_auto", FileFormat::Json),
    ("read_ndjson", FileFormat::Json),
    ("read_arrow", FileFormat::Arrow),
];

/// A call of such a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileCall {
    /// Paths and patterns of files.
    pub(crate) patterns: Vec<String>,
    /// How they are read.
    pub(crate) options: ReadOptions,
}

/// The call that a function's name and arguments are; `None` for another function.
///
/// # Errors
///
/// The arguments are not files and options.
pub(crate) fn file_call(name: &ObjectName, arguments: &[FunctionArg]) -> Option<Result<FileCall>> {
    let [part] = name.0.as_slice() else { return None };
    let written = &part.as_ident()?.value;
    let (function, format) = FUNCTIONS.iter().find(|(function, _)| function.eq_ignore_ascii_case(written))?;
    Some(parse(function, *format, arguments))
}

/// Names of the functions.
pub(crate) fn file_functions() -> Vec<&'static str> {
    FUNCTIONS.iter().map(|(function, _)| *function).collect()
}

fn parse(function: &str, format: FileFormat, arguments: &[FunctionArg]) -> Result<FileCall> {
    let wrong = |what: String| Error::invalid(SqlState::InvalidParameterValue, format!("{function}: {what}"));
    let mut patterns = Vec::new();
    let mut options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    for (number, argument) in arguments.iter().enumerate() {
        match option(argument) {
            Some((name, value)) => {
                let constant = constant(value).ok_or_else(|| {
                    wrong(format!(
                        "option '{name}' is {value}, which is no constant; it is known before the query is planned"
                    ))
                })?;
                options.set(&name, &constant).map_err(|error| error.about(function))?;
            }
            None if number == 0 => {
                let given = match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(files)) => constant(files),
                    _ => None,
                };
                patterns = match given {
                    Some(OptionValue::Text(path)) => vec![path],
                    Some(OptionValue::List(paths)) => {
                        let path = |path| if let OptionValue::Text(path) = path { Some(path) } else { None };
                        paths.into_iter().filter_map(path).collect()
                    }
                    _ => Vec::new(),
                };
            }
            None => return Err(wrong(format!("{argument} is no option; write name = value"))),
        }
    }
    match patterns.is_empty() {
        true => {
            Err(wrong("the first argument is a file, a pattern such as 'data/*.csv', or a list of such".to_owned()))
        }
        false => Ok(FileCall { patterns, options }),
    }
}

/// `name = value`, also with `:=` or `=>`.
fn option(argument: &FunctionArg) -> Option<(String, &Expr)> {
    match argument {
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => Some((name.value.clone(), value)),
        FunctionArg::ExprNamed { name: Expr::Identifier(name), arg: FunctionArgExpr::Expr(value), .. } => {
            Some((name.value.clone(), value))
        }
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op: BinaryOperator::Eq, right })) => {
            match &**left {
                Expr::Identifier(name) => Some((name.value.clone(), right)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The value of a literal, a list or `{'name': value}`.
fn constant(expression: &Expr) -> Option<OptionValue> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(OptionValue::Text(digits.clone())),
            Value::Boolean(truth) => Some(OptionValue::Text(truth.to_string())),
            value => value.clone().into_string().map(OptionValue::Text),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match constant(expr)? {
            OptionValue::Text(digits) => Some(OptionValue::Text(format!("-{digits}"))),
            _ => None,
        },
        Expr::Nested(inner) => constant(inner),
        Expr::Array(Array { elem, .. }) => elem.iter().map(constant).collect::<Option<_>>().map(OptionValue::List),
        Expr::Dictionary(fields) => {
            let field = |field: &datafusion::sql::sqlparser::ast::DictionaryField| {
                Some((field.key.value.clone(), constant(&field.value)?))
            };
            fields.iter().map(field).collect::<Option<_>>().map(OptionValue::Map)
        }
        _ => None,
    }
}
