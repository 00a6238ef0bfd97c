//! Expressions that pass a value on as it is, so that what is known of it besides its type holds of theirs: that it is a CHAR of so many
//! characters, or an OID.

use datafusion::logical_expr::Expr;

/// The expressions of which one gives the value of `expression`; `None` where that is another value.
pub(super) fn passed_on(expression: &Expr) -> Option<Vec<&Expr>> {
    match expression {
        Expr::Alias(alias) => Some(vec![&alias.expr]),
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
            Some(results.chain(case.else_expr.as_deref()).collect())
        }
        Expr::ScalarFunction(call) => match call.func.name() {
            "coalesce" => Some(call.args.iter().collect()),
            "nullif" => first_of(&call.args),
            _ => None,
        },
        Expr::AggregateFunction(call) => match call.func.name() {
            "min" | "max" | "first_value" | "last_value" | "nth_value" => first_of(&call.params.args),
            _ => None,
        },
        Expr::WindowFunction(call) => match call.fun.name() {
            "min" | "max" | "first_value" | "last_value" | "nth_value" | "lag" | "lead" => first_of(&call.params.args),
            _ => None,
        },
        _ => None,
    }
}

fn first_of(arguments: &[Expr]) -> Option<Vec<&Expr>> {
    arguments.first().map(|first| vec![first])
}
