//! Expressions as a person writes them: names without positions, strings and dates in quotes, no Rust types.

use crate::functions::names;
use crate::upstream_texts::sql_types;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column as NamedColumn, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::physical_expr::expressions::{BinaryExpr as PhysicalBinary, Column, Literal, NegativeExpr};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::fmt_sql;
use regex::{Captures, Regex};
use std::sync::{Arc, LazyLock};

/// An expression of a logical plan.
pub(crate) fn logical(expression: &Expr) -> String {
    WrittenExpression::of(expression).text
}

/// Several conditions that all hold.
pub(crate) fn all_hold(conditions: &[Expr]) -> String {
    let parts = conditions.iter().map(|condition| WrittenExpression::of(condition).within(Operator::And));
    parts.collect::<Vec<_>>().join(" AND ")
}

/// A text, and the operator that it is of: as a part of a tighter one it stands in brackets.
struct WrittenExpression {
    text: String,
    operator: Option<Operator>,
}

impl WrittenExpression {
    fn of(expression: &Expr) -> Self {
        let alone = |text| Self { text, operator: None };
        let operator = |left: &Expr, operator: Operator, right: &Expr| {
            // What is taken from, or divided by, something of the same operator is another thing.
            let loosest = Self::of(right);
            let is_same = loosest.operator.is_some_and(|own| own.precedence() == operator.precedence());
            let right = if is_same && !matches!(operator, Operator::And | Operator::Or) {
                format!("({})", loosest.text)
            } else {
                loosest.within(operator)
            };
            let text = format!("{} {operator} {right}", Self::of(left).within(operator));
            Self { text, operator: Some(operator) }
        };
        match expression {
            Expr::Literal(value, _) => alone(literal(value)),
            Expr::Column(column) => alone(column.name.clone()),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => operator(left, *op, right),
            Expr::ScalarFunction(call) => match (checked(call.name()), call.args.as_slice()) {
                (Some(own), [left, right]) => operator(left, own, right),
                (Some(_), [inner]) => alone(format!("-{}", Self::of(inner).in_brackets())),
                _ => alone(Self::of_parts(expression)),
            },
            Expr::InList(list) => {
                let values = list.list.iter().map(logical).collect::<Vec<_>>().join(", ");
                let not = if list.negated { "NOT " } else { "" };
                alone(format!("{} {not}IN ({values})", Self::of(&list.expr).in_brackets()))
            }
            _ => alone(Self::of_parts(expression)),
        }
    }

    /// Any other expression, as DataFusion writes it: with its parts as columns of their texts.
    fn of_parts(expression: &Expr) -> String {
        let named = expression.clone().map_children(|part| {
            let text = Self::of(&part).in_brackets();
            Ok(Transformed::yes(Expr::Column(NamedColumn::new_unqualified(text))))
        });
        named.map_or_else(|_| expression.to_string(), |named| named.data.human_display().to_string())
    }

    fn within(self, operator: Operator) -> String {
        let is_loose = self.operator.is_some_and(|own| own.precedence() < operator.precedence());
        if is_loose { format!("({})", self.text) } else { self.text }
    }

    fn in_brackets(self) -> String {
        if self.operator.is_some() { format!("({})", self.text) } else { self.text }
    }
}

/// An expression of a physical plan.
pub(crate) fn physical(expression: &Arc<dyn PhysicalExpr>) -> String {
    let named = Arc::clone(expression).transform(|part| {
        let in_words: Option<Arc<dyn PhysicalExpr>> = match part.downcast_ref::<Literal>() {
            Some(value) => Some(Arc::new(Column::new(&literal(value.value()), 0))),
            None => part.downcast_ref::<ScalarFunctionExpr>().and_then(as_operator),
        };
        Ok(in_words.map_or(Transformed::no(part), Transformed::yes))
    });
    fmt_sql(named.map_or_else(|_| Arc::clone(expression), |named| named.data).as_ref()).to_string()
}

/// A function that stands for an operator as that.
fn as_operator(call: &ScalarFunctionExpr) -> Option<Arc<dyn PhysicalExpr>> {
    // It makes equal what SQL takes for equal, and is nothing that a statement says.
    if let ("float_key", [value]) = (call.name(), call.args()) {
        return Some(Arc::clone(value));
    }
    match (checked(call.name())?, call.args()) {
        (operator, [left, right]) => Some(Arc::new(PhysicalBinary::new(Arc::clone(left), operator, Arc::clone(right)))),
        (Operator::Minus, [inner]) => Some(Arc::new(NegativeExpr::new(Arc::clone(inner)))),
        _ => None,
    }
}

/// The operator that a function of ours stands for.
fn checked(name: &str) -> Option<Operator> {
    match name {
        names::ADD => Some(Operator::Plus),
        names::SUBTRACT | names::NEGATE => Some(Operator::Minus),
        names::MULTIPLY => Some(Operator::Multiply),
        names::DIVIDE => Some(Operator::Divide),
        _ => None,
    }
}

/// Several, behind each other.
pub(crate) fn all<'e>(expressions: impl Iterator<Item = &'e Arc<dyn PhysicalExpr>>) -> String {
    expressions.map(physical).collect::<Vec<_>>().join(", ")
}

/// Sort keys. NULLs are told of where they lie elsewhere than SQL puts them by itself.
pub(crate) fn sort_keys(keys: &LexOrdering) -> String {
    let key = |key: &PhysicalSortExpr| {
        let options = key.options;
        let descending = if options.descending { " DESC" } else { "" };
        let nulls = match (options.descending, options.nulls_first) {
            (true, false) => " NULLS LAST",
            (false, true) => " NULLS FIRST",
            _ => "",
        };
        format!("{}{descending}{nulls}", physical(&key.expr))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

/// A text that has names of DataFusion's columns in it, as SQL writes what these are made of: `sum(t.a * Int64(2))` is `sum(a * 2)`.
pub(crate) fn plain(text: &str) -> String {
    static PARTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let parts = [
            // What stands in quotes stays as it is.
            r"(?<quoted>'[^']*')",
            r"\b(?:U?Int(?:8|16|32|64)|Float(?:32|64)|Boolean)\((?<value>[^()]*)\)",
            r#"\b(?:(?:Large)?Utf8(?:View)?|Date32)\("(?<string>[^"]*)"\)"#,
            r"\bDecimal128\(Some\((?<digits>-?\d+)\),\d+,(?<scale>\d+)\)",
            r"(?: PARTITION BY \[(?<partition>[^\]]*)\])?(?: ORDER BY \[(?<order>[^\]]*)\])? (?<frame>(?:RANGE|ROWS|GROUPS) BETWEEN (?:UNBOUNDED |\d+ |CURRENT )(?:PRECEDING|FOLLOWING|ROW) AND (?:UNBOUNDED |\d+ |CURRENT )(?:PRECEDING|FOLLOWING|ROW))",
            r"\b(?:[A-Za-z_]\w*\.)+(?<column>[A-Za-z_]\w*)",
        ];
        Regex::new(&parts.join("|")).ok()
    });
    let Some(parts) = &*PARTS else { return text.to_owned() };
    sql_types(&parts.replace_all(text, |part: &Captures<'_>| plain_part(part)))
}

/// A part of a text that was found.
fn plain_part(part: &Captures<'_>) -> String {
    let named = |name: &str| part.name(name).map(|found| found.as_str());
    if let Some(kept) = named("quoted").or(named("value")).or(named("column")) {
        return kept.to_owned();
    }
    if let Some(string) = named("string") {
        return format!("'{string}'");
    }
    if let (Some(digits), Some(scale)) = (named("digits"), named("scale").and_then(|scale| scale.parse::<usize>().ok()))
    {
        let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        return format!("{sign}{whole}{}{fraction}", if fraction.is_empty() { "" } else { "." });
    }
    let mut window = Vec::new();
    window.extend(named("partition").map(|keys| format!("PARTITION BY {}", plain(keys))));
    window.extend(named("order").map(|keys| {
        let keys = keys.replace(" DESC NULLS FIRST", " DESC").replace(" ASC NULLS LAST", "");
        format!("ORDER BY {}", plain(&keys))
    }));
    // The frames that SQL has without being told are not told.
    let usual = [
        "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    ];
    window.extend(named("frame").filter(|frame| !usual.contains(frame)).map(str::to_owned));
    format!(" OVER ({})", window.join(" "))
}

/// A value as SQL writes it.
fn literal(value: &ScalarValue) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    match value.data_type() {
        DataType::Boolean => value.to_string(),
        own if own.is_numeric() => value.to_string(),
        _ => format!("'{}'", value.to_string().replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{col, lit};

    #[test]
    fn names_of_columns_are_told_as_sql_has_them() {
        let texts = [
            ("sum(t.a * Int64(2) - s.t.b)", "sum(a * 2 - b)"),
            (
                r#"count(CASE WHEN x.kind = Utf8View("a.b") THEN Int64(1) END)"#,
                "count(CASE WHEN kind = 'a.b' THEN 1 END)",
            ),
            ("max(Decimal128(Some(-105),15,2)) + Decimal128(Some(7),1,0)", "max(-1.05) + 7"),
            ("CAST(t.a AS Float64) > 'Int64(3)'", "CAST(a AS DOUBLE) > 'Int64(3)'"),
            (
                "rank() PARTITION BY [t.a, b] ORDER BY [t.c DESC NULLS FIRST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                "rank() OVER (PARTITION BY a, b ORDER BY c DESC)",
            ),
            (
                "sum(a) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
                "sum(a) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
            ),
        ];
        for (text, expected) in texts {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn literals_stand_in_quotes_and_columns_without_tables() {
        let date = Expr::Literal(ScalarValue::Date32(Some(9131)), None);
        let condition = col("t.name").eq(lit("it's")).and(col("t.day").lt(date)).and(col("n").gt(lit(5i64)));
        assert_eq!(logical(&condition), "name = 'it''s' AND day < '1995-01-01' AND n > 5");
        let either = col("a").eq(lit(1i64)).or(col("b").in_list(vec![lit("x"), lit("y")], true));
        assert_eq!(all_hold(&[either, col("c").is_null()]), "(a = 1 OR b NOT IN ('x', 'y')) AND c IS NULL");
        let price = (col("p") - (col("q") - lit(1i64))) * (lit(1i64) + col("r")) * col("s");
        assert_eq!(logical(&price), "(p - (q - 1)) * (1 + r) * s");
        assert_eq!(logical(&(col("p") + col("q")).is_not_null()), "(p + q) IS NOT NULL");
    }
}
