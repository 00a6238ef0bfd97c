//! `nextval('s'::regclass)`: the name that a function of sequences takes, without the cast that PostgreSQL's own texts have.

use crate::sql::operators::take;
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart,
};

/// The functions whose first argument names a sequence.
const FUNCTIONS: [&str; 3] = ["nextval", "currval", "setval"];

/// Takes the cast to regclass from a call's first argument.
pub(crate) fn without_class(expression: &mut Expr) {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expression else { return };
    let Some(ObjectNamePart::Identifier(own)) = name.0.last() else { return };
    if !FUNCTIONS.iter().any(|function| own.value.eq_ignore_ascii_case(function)) {
        return;
    }
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = list.args.first_mut() else { return };
    if let Expr::Cast { expr, data_type, .. } = argument
        && is_class(data_type)
    {
        *argument = take(expr);
    }
}

fn is_class(data_type: &DataType) -> bool {
    let name = data_type.to_string().to_ascii_lowercase();
    name == "regclass" || name == "pg_catalog.regclass"
}
