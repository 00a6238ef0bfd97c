//! What PostgreSQL's clients write about its catalog, as what the rest knows: names behind `pg_catalog.`, `OPERATOR(…)`,
//! collations, its types that are names of objects (`regclass` and its like), and functions without brackets.
//!
//! A value of such a type is an OID. It is shown by its object's name where a statement shows it or makes a text of it, and
//! is a number everywhere else, so that it compares with the OIDs that the catalog's tables have.

use crate::functions::{REGISTERED, REGISTERED_NAME, REGISTERED_OR_NULL};
use crate::sql::dialect::Gingham;
use crate::sql::names::fold;
use crate::sql::operators::{call, take};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, CastKind, CharacterLength, DataType, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, ObjectName, ObjectNamePart, SelectItem, SetExpr, Value,
};
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;
use gingham_storage::SqlState;

/// The schema of PostgreSQL's types, functions and operators.
const SCHEMA: &str = "pg_catalog";

/// Types whose values are OIDs of named objects.
const REGISTERED_TYPES: [&str; 6] = ["regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole"];

/// Collations by which texts compare as they do here: by code points.
const COLLATIONS: [&str; 7] = ["C", "POSIX", "default", "ucs_basic", "C.UTF-8", "C.utf8", "c.utf8"];

/// Words that are functions without brackets, which the parser reads as columns.
const WITHOUT_BRACKETS: [&str; 2] = ["current_schema", "current_role"];

/// Functions that make a text of each argument.
const OF_TEXTS: [&str; 12] = [
    "concat",
    "concat_ws",
    "format",
    "length",
    "lower",
    "quote_ident",
    "quote_literal",
    "quote_nullable",
    "replace",
    "split_part",
    "string_agg",
    "upper",
];

/// After the parts of an expression: what it means.
pub(crate) fn mend(expression: &mut Expr) -> Result<()> {
    match expression {
        Expr::Identifier(ident) if ident.quote_style.is_none() => {
            if WITHOUT_BRACKETS.iter().any(|word| ident.value.eq_ignore_ascii_case(word)) {
                let mut own = call(&ident.value.to_ascii_lowercase(), Vec::new());
                if let Expr::Function(function) = &mut own {
                    function.args = FunctionArguments::None;
                }
                *expression = own;
            }
            Ok(())
        }
        Expr::Function(function) => {
            without_schema(&mut function.name);
            match of_function(function) {
                Some(own) => *expression = own,
                None => show_arguments(function),
            }
            Ok(())
        }
        Expr::BinaryOp { left, op, right } => {
            plain_operator(op)?;
            if *op == BinaryOperator::StringConcat {
                [left, right].into_iter().for_each(|own| show(own));
            }
            Ok(())
        }
        Expr::AnyOp { compare_op, .. } | Expr::AllOp { compare_op, .. } => plain_operator(compare_op),
        Expr::Collate { expr, collation } => {
            check_collation(collation)?;
            *expression = take(expr);
            Ok(())
        }
        Expr::Cast { expr, data_type, array, kind, .. } => {
            if std::mem::take(array) {
                *data_type = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(data_type.clone()), None));
            }
            if let Some(registered) = registered(data_type) {
                let name = if *kind == CastKind::TryCast { REGISTERED_OR_NULL } else { REGISTERED };
                *expression = of_registered(name, registered, take(expr));
                return Ok(());
            }
            mend_type(data_type)?;
            if is_text(data_type) {
                show(expr);
            }
            Ok(())
        }
        Expr::TypedString(own) => {
            if let Some(registered) = registered(&own.data_type) {
                *expression = of_registered(REGISTERED, registered, Expr::Value(own.value.clone()));
                return Ok(());
            }
            mend_type(&mut own.data_type)
        }
        _ => Ok(()),
    }
}

/// Lets a statement's own list show names in the place of OIDs.
pub(crate) fn show_items(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            for item in &mut select.projection {
                if let SelectItem::UnnamedExpr(own) | SelectItem::ExprWithAlias { expr: own, .. } = item {
                    show(own);
                }
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            show_items(left);
            show_items(right);
        }
        SetExpr::Query(query) => show_items(&mut query.body),
        _ => {}
    }
}

/// Shows names in the place of OIDs.
fn show(expression: &mut Expr) {
    match expression {
        Expr::Nested(inner) => show(inner),
        Expr::Case { conditions, else_result, .. } => {
            conditions.iter_mut().for_each(|own| show(&mut own.result));
            else_result.iter_mut().for_each(|own| show(own));
        }
        Expr::Function(function) => {
            let name = function.name.to_string();
            if ["coalesce", "nullif"].contains(&name.to_ascii_lowercase().as_str()) {
                each_argument(function, show);
            } else if [REGISTERED, REGISTERED_OR_NULL].contains(&name.as_str())
                && let Some(kind) = first_text(function)
            {
                *expression = of_registered(REGISTERED_NAME, &kind, take(expression));
            }
        }
        _ => {}
    }
}

fn of_registered(function: &str, kind: &str, value: Expr) -> Expr {
    call(function, vec![Expr::value(Value::SingleQuotedString(kind.to_owned())), value])
}

fn show_arguments(function: &mut Function) {
    let name = function.name.to_string().to_ascii_lowercase();
    if OF_TEXTS.contains(&name.as_str()) {
        each_argument(function, show);
    }
}

fn each_argument(function: &mut Function, change: fn(&mut Expr)) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    for argument in &mut list.args {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(own)) = argument {
            change(own);
        }
    }
}

fn first_text(function: &Function) -> Option<String> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))) = list.args.first() else { return None };
    match &value.value {
        Value::SingleQuotedString(text) => Some(text.clone()),
        _ => None,
    }
}

/// What a call of a function stands for: `to_regclass('t')`, `pg_typeof('x')`.
fn of_function(function: &mut Function) -> Option<Expr> {
    let [ObjectNamePart::Identifier(ident)] = function.name.0.as_slice() else { return None };
    let name = fold(ident);
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_mut_slice() else { return None };
    if let Some(kind) = name.strip_prefix("to_").filter(|kind| REGISTERED_TYPES.contains(kind)) {
        return Some(of_registered(REGISTERED_OR_NULL, kind, take(argument)));
    }
    // What stands in quotes has no type yet.
    let is_untyped = matches!(argument, Expr::Value(own) if matches!(own.value, Value::SingleQuotedString(_)));
    if name == "pg_typeof" && is_untyped {
        return Some(Expr::value(Value::SingleQuotedString("unknown".to_owned())));
    }
    if name == "pg_typeof"
        && let Expr::Function(inner) = argument
        && [REGISTERED, REGISTERED_OR_NULL].contains(&inner.name.to_string().as_str())
    {
        return first_text(inner).map(|kind| Expr::value(Value::SingleQuotedString(kind)));
    }
    None
}

/// Takes `pg_catalog.` away, and the schema of the one function of information_schema that clients call.
pub(crate) fn without_schema(name: &mut ObjectName) {
    if let [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(function)] = name.0.as_slice()
        && (fold(schema) == SCHEMA || fold(schema) == "information_schema" && fold(function) == "_pg_expandarray")
    {
        name.0.remove(0);
    }
}

/// The operator within `OPERATOR(pg_catalog.~)`.
fn plain_operator(operator: &mut BinaryOperator) -> Result<()> {
    let BinaryOperator::PGCustomBinaryOperator(parts) = operator else { return Ok(()) };
    let (schema, text) = match parts.as_slice() {
        [text] => (None, text.as_str()),
        [schema, text] => (Some(schema.as_str()), text.as_str()),
        _ => (Some(""), ""),
    };
    let known = match text {
        _ if schema.is_some_and(|schema| !schema.eq_ignore_ascii_case(SCHEMA)) => None,
        "=" => Some(BinaryOperator::Eq),
        "<>" | "!=" => Some(BinaryOperator::NotEq),
        "<" => Some(BinaryOperator::Lt),
        "<=" => Some(BinaryOperator::LtEq),
        ">" => Some(BinaryOperator::Gt),
        ">=" => Some(BinaryOperator::GtEq),
        "+" => Some(BinaryOperator::Plus),
        "-" => Some(BinaryOperator::Minus),
        "*" => Some(BinaryOperator::Multiply),
        "/" => Some(BinaryOperator::Divide),
        "%" => Some(BinaryOperator::Modulo),
        "^" => Some(BinaryOperator::BitwiseXor),
        "&" => Some(BinaryOperator::BitwiseAnd),
        "|" => Some(BinaryOperator::BitwiseOr),
        "#" => Some(BinaryOperator::PGBitwiseXor),
        "<<" => Some(BinaryOperator::PGBitwiseShiftLeft),
        ">>" => Some(BinaryOperator::PGBitwiseShiftRight),
        "||" => Some(BinaryOperator::StringConcat),
        "~" => Some(BinaryOperator::PGRegexMatch),
        "~*" => Some(BinaryOperator::PGRegexIMatch),
        "!~" => Some(BinaryOperator::PGRegexNotMatch),
        "!~*" => Some(BinaryOperator::PGRegexNotIMatch),
        "~~" => Some(BinaryOperator::PGLikeMatch),
        "~~*" => Some(BinaryOperator::PGILikeMatch),
        "!~~" => Some(BinaryOperator::PGNotLikeMatch),
        "!~~*" => Some(BinaryOperator::PGNotILikeMatch),
        "@>" => Some(BinaryOperator::AtArrow),
        "<@" => Some(BinaryOperator::ArrowAt),
        "&&" => Some(BinaryOperator::PGOverlap),
        _ => None,
    };
    match known {
        Some(known) => {
            *operator = known;
            Ok(())
        }
        None => Err(Error::invalid(
            SqlState::UndefinedFunction,
            format!("operator {} does not exist; write the operator itself", parts.join(".")),
        )),
    }
}

/// Errors on a collation by which texts would compare otherwise than they do.
pub(crate) fn check_collation(collation: &ObjectName) -> Result<()> {
    let mut name = collation.clone();
    without_schema(&mut name);
    let known = match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => COLLATIONS.contains(&fold(ident).as_str()),
        _ => false,
    };
    if known {
        return Ok(());
    }
    Err(Error::invalid(
        SqlState::UndefinedObject,
        format!("collation {collation} does not exist; texts compare by code points, which is COLLATE \"C\""),
    ))
}

/// The name of a type whose values are OIDs of named objects.
fn registered(data_type: &DataType) -> Option<&'static str> {
    let name = match data_type {
        DataType::Regclass => "regclass".to_owned(),
        DataType::Custom(name, modifiers) if modifiers.is_empty() => custom_name(name)?,
        _ => return None,
    };
    REGISTERED_TYPES.into_iter().find(|known| *known == name)
}

/// The name of a type that stands alone, or behind `pg_catalog.`.
fn custom_name(name: &ObjectName) -> Option<String> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(name)] => Some(fold(name)),
        [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(name)] if fold(schema) == SCHEMA => {
            Some(fold(name))
        }
        _ => None,
    }
}

fn is_text(data_type: &DataType) -> bool {
    use DataType as Sql;
    matches!(data_type, Sql::Text | Sql::Varchar(_) | Sql::CharVarying(_) | Sql::CharacterVarying(_) | Sql::String(_))
}

/// Puts a type of ours in the place of one of PostgreSQL's catalog.
///
/// # Errors
///
/// It is behind `pg_catalog.` and not there.
pub(crate) fn mend_type(data_type: &mut DataType) -> Result<()> {
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(inner, _)
            | ArrayElemTypeDef::AngleBracket(inner)
            | ArrayElemTypeDef::Parenthesis(inner),
        ) => {
            if registered(inner).is_some() {
                **inner = DataType::BigInt(None);
            }
            mend_type(inner)
        }
        DataType::Custom(name, modifiers) => {
            let Some(own) = custom_name(name) else { return Ok(()) };
            let is_quoted = matches!(name.0.last(), Some(ObjectNamePart::Identifier(own)) if own.quote_style.is_some());
            let characters = |length| Some(CharacterLength::IntegerLength { length, unit: None });
            let plain = match own.as_str() {
                "oid" | "xid" | "cid" | "xid8" => DataType::BigInt(None),
                "name" => DataType::Varchar(characters(63)),
                "char" if is_quoted || name.0.len() > 1 => DataType::Varchar(characters(1)),
                "bpchar" if modifiers.is_empty() => DataType::Varchar(None),
                "cstring" | "unknown" => DataType::Varchar(None),
                own if name.0.len() > 1 || is_quoted => of_text(own, modifiers)
                    .ok_or_else(|| Error::invalid(SqlState::UndefinedObject, format!("type {name} does not exist")))?,
                _ => return Ok(()),
            };
            *data_type = plain;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The type that a name without its schema means.
pub(crate) fn of_text(name: &str, modifiers: &[String]) -> Option<DataType> {
    let name = match name {
        "bpchar" => "char",
        own => own,
    };
    let text = if modifiers.is_empty() { name.to_owned() } else { format!("{name}({})", modifiers.join(",")) };
    let mut parser = Parser::new(&Gingham).try_with_sql(&text).ok()?;
    let data_type = parser.parse_data_type().ok()?;
    parser.expect_token(&Token::EOF).ok()?;
    (!matches!(data_type, DataType::Custom(..))).then_some(data_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_catalog_are_types_of_ours() {
        let cases = [
            ("pg_catalog.int4", "INT4"),
            ("pg_catalog.timestamptz", "TIMESTAMPTZ"),
            ("pg_catalog.varchar", "VARCHAR"),
            ("oid", "BIGINT"),
            ("name", "VARCHAR(63)"),
            ("\"char\"", "VARCHAR(1)"),
            ("oid[]", "BIGINT[]"),
            ("regclass[]", "BIGINT[]"),
            ("hstore", "hstore"),
        ];
        for (text, expected) in cases {
            let mut data_type = Parser::new(&Gingham).try_with_sql(text).unwrap().parse_data_type().unwrap();
            mend_type(&mut data_type).unwrap();
            assert_eq!(data_type.to_string(), expected, "{text}");
        }
        let mut unknown = Parser::new(&Gingham).try_with_sql("pg_catalog.nothing").unwrap().parse_data_type().unwrap();
        assert!(mend_type(&mut unknown).is_err());
    }
}
