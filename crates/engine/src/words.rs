//! Expressions as a person writes them: names without positions, strings and dates in quotes, no Rust types.

use crate::upstream_texts::sql_types;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column as NamedColumn, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_expr_common::physical_expr::fmt_sql;
use regex::{Captures, Regex};
use std::sync::{Arc, LazyLock};

/// An expression of a logical plan.
pub(crate) fn logical(expression: &Expr) -> String {
    // What a column is called is shown as it is: literals are columns of the names that SQL has for them.
    let named = expression.clone().transform(|part| {
        Ok(match &part {
            Expr::Literal(value, _) => Transformed::yes(Expr::Column(NamedColumn::new_unqualified(literal(value)))),
            Expr::Column(column) => Transformed::yes(Expr::Column(NamedColumn::new_unqualified(column.name.clone()))),
            _ => Transformed::no(part),
        })
    });
    named.map_or_else(|_| expression.to_string(), |named| named.data.human_display().to_string())
}

/// An expression of a physical plan.
pub(crate) fn physical(expression: &Arc<dyn PhysicalExpr>) -> String {
    let named = Arc::clone(expression).transform(|part| {
        Ok(match part.downcast_ref::<Literal>() {
            Some(value) => Transformed::yes(Arc::new(Column::new(&literal(value.value()), 0)) as Arc<dyn PhysicalExpr>),
            None => Transformed::no(part),
        })
    });
    fmt_sql(named.map_or_else(|_| Arc::clone(expression), |named| named.data).as_ref()).to_string()
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
    }
}
