//! What columns of a result are called that no AS names: as they were written, or as PostgreSQL calls them (its
//! `FigureColname`): by the function, the type of a cast, CASE, or `?column?` where nothing gives a name.

use crate::sql::clauses::as_written;
use crate::sql::names::{fold, last_part};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, DataType, ExactNumberInfo, Expr, Ident, ObjectName, SelectItem, SetExpr, TableFactor,
    TimezoneInfo, TrimWhereField,
};

/// What PostgreSQL calls a column that nothing names.
pub(crate) const NAMELESS: &str = "?column?";

/// The quote of an alias that is no user's: it holds what an item is called, in both ways. No dialect that is offered has it.
const WRITTEN: char = '[';
/// Stands between the two.
const BETWEEN: char = '\0';

/// What an item of a select list is called where no AS names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    /// Its column's name, or else its text.
    pub(crate) text: String,
    /// The name that PostgreSQL gives it.
    pub(crate) postgres: String,
}

impl Heading {
    /// What an expression is called.
    pub(crate) fn of(expression: &Expr) -> Self {
        let text = last_name(expression).map_or_else(|| as_written(expression.to_string()), fold);
        Self { text, postgres: postgres_name(expression) }
    }

    /// What an item is called; `None` where AS names it, and for `*`.
    pub(crate) fn of_item(item: &SelectItem) -> Option<Self> {
        match item {
            SelectItem::UnnamedExpr(expression) => Some(Self::of(expression)),
            SelectItem::ExprWithAlias { alias, .. } if alias.quote_style == Some(WRITTEN) => {
                let (text, postgres) = alias.value.rsplit_once(BETWEEN)?;
                Some(Self { text: text.to_owned(), postgres: postgres.to_owned() })
            }
            _ => None,
        }
    }

    /// An alias that keeps what an item is called while its expression is changed.
    pub(crate) fn kept(self) -> Ident {
        Ident::with_quote(WRITTEN, format!("{}{BETWEEN}{}", self.text, self.postgres))
    }
}

/// The column's name in `a` or `t.a`.
pub(crate) fn last_name(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(names) => names.last(),
        _ => None,
    }
}

/// The name that PostgreSQL gives the column of an expression.
pub(crate) fn postgres_name(expression: &Expr) -> String {
    name_of(expression).map_or_else(|| NAMELESS.to_owned(), |(name, _)| name)
}

/// How surely a name is one: a cast's and a CASE's give way to those within them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strength {
    Weak,
    Strong,
}

fn name_of(expression: &Expr) -> Option<(String, Strength)> {
    let strong = |name: &str| Some((name.to_owned(), Strength::Strong));
    match expression {
        Expr::Identifier(name) => Some((fold(name), Strength::Strong)),
        Expr::CompoundIdentifier(names) => names.last().map(|name| (fold(name), Strength::Strong)),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                AccessExpr::Dot(Expr::Identifier(name)) => Some(fold(name)),
                _ => None,
            });
            field.map(|name| (name, Strength::Strong)).or_else(|| name_of(root))
        }
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => name_of(inner),
        Expr::Function(call) => {
            let name = last_part(&call.name);
            name.map(|name| (fold(name), Strength::Strong))
        }
        Expr::Cast { expr, data_type, .. } => {
            name_of(expr).filter(|(_, strength)| *strength == Strength::Strong).or_else(|| weak(type_name(data_type)))
        }
        Expr::TypedString(own) => weak(type_name(&own.data_type)),
        Expr::Interval(_) => weak("interval".to_owned()),
        Expr::Case { else_result, .. } => else_result
            .as_deref()
            .and_then(name_of)
            .filter(|(_, strength)| *strength == Strength::Strong)
            .or_else(|| weak("case".to_owned())),
        Expr::Extract { .. } => strong("extract"),
        Expr::AtTimeZone { .. } => strong("timezone"),
        Expr::Ceil { .. } => strong("ceil"),
        Expr::Floor { .. } => strong("floor"),
        Expr::Position { .. } => strong("position"),
        Expr::Substring { shorthand, .. } => strong(if *shorthand { "substr" } else { "substring" }),
        Expr::Trim { trim_where, .. } => strong(match trim_where {
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
            Some(TrimWhereField::Both) | None => "btrim",
        }),
        Expr::Overlay { .. } => strong("overlay"),
        Expr::IsNormalized { .. } => strong("is_normalized"),
        Expr::Exists { negated: false, .. } => strong("exists"),
        Expr::Subquery(query) => Some((first_column(&query.body), Strength::Strong)),
        Expr::Array(_) => strong("array"),
        Expr::Tuple(_) | Expr::Struct { .. } | Expr::Dictionary(_) => strong("row"),
        _ => None,
    }
}

fn weak(name: String) -> Option<(String, Strength)> {
    Some((name, Strength::Weak))
}

/// What the first column of a query is called.
fn first_column(body: &SetExpr) -> String {
    match body {
        SetExpr::Select(select) => match select.projection.first() {
            Some(SelectItem::ExprWithAlias { alias, .. }) if alias.quote_style != Some(WRITTEN) => fold(alias),
            // `(VALUES (1))` in an expression has become a query of its rows.
            Some(SelectItem::Wildcard(_)) => match select.from.as_slice() {
                [from] if let TableFactor::Derived { subquery, .. } = &from.relation => first_column(&subquery.body),
                _ => NAMELESS.to_owned(),
            },
            Some(item) => Heading::of_item(item).map_or_else(|| NAMELESS.to_owned(), |own| own.postgres),
            None => NAMELESS.to_owned(),
        },
        SetExpr::Query(query) => first_column(&query.body),
        SetExpr::SetOperation { left, .. } => first_column(left),
        SetExpr::Values(_) => "column1".to_owned(),
        _ => NAMELESS.to_owned(),
    }
}

/// The name that PostgreSQL knows a type by: an array goes by its elements'.
pub(crate) fn type_name(data_type: &DataType) -> String {
    use DataType as Sql;
    let name = match data_type {
        Sql::Bool | Sql::Boolean => "bool",
        Sql::SmallInt(_) | Sql::Int2(_) | Sql::Int16 => "int2",
        Sql::Int(_) | Sql::Integer(_) | Sql::Int4(_) | Sql::Int32 => "int4",
        Sql::BigInt(_) | Sql::Int8(_) | Sql::Int64 => "int8",
        Sql::Numeric(_) | Sql::Decimal(_) | Sql::Dec(_) => "numeric",
        Sql::Real | Sql::Float4 | Sql::Float32 => "float4",
        Sql::Float(ExactNumberInfo::Precision(bits)) if *bits <= 24 => "float4",
        Sql::Float(_) | Sql::Double(_) | Sql::DoublePrecision | Sql::Float8 | Sql::Float64 => "float8",
        Sql::Char(_) | Sql::Character(_) => "bpchar",
        Sql::Varchar(_) | Sql::CharVarying(_) | Sql::CharacterVarying(_) => "varchar",
        Sql::Bit(_) => "bit",
        Sql::BitVarying(_) | Sql::VarBit(_) => "varbit",
        Sql::Time(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => "timetz",
        Sql::Time(..) => "time",
        Sql::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => "timestamptz",
        Sql::Timestamp(..) => "timestamp",
        Sql::Interval { .. } => "interval",
        Sql::Regclass => "regclass",
        Sql::Custom(name, _) => return last_text(name),
        Sql::Array(
            ArrayElemTypeDef::AngleBracket(inner)
            | ArrayElemTypeDef::SquareBracket(inner, _)
            | ArrayElemTypeDef::Parenthesis(inner),
        ) => return type_name(inner),
        other => {
            let text = other.to_string().to_ascii_lowercase();
            return text.split(['(', '<', ' ']).next().unwrap_or_default().to_owned();
        }
    };
    name.to_owned()
}

fn last_text(name: &ObjectName) -> String {
    last_part(name).map_or_else(|| name.to_string(), fold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::Gingham;
    use datafusion::sql::sqlparser::parser::Parser;

    #[test]
    fn names_are_those_of_postgresql() {
        let cases = [
            ("a", "a"),
            ("t.a", "a"),
            ("\"A\"", "A"),
            ("1", "?column?"),
            ("a + 1", "?column?"),
            ("COUNT(*)", "count"),
            ("pg_catalog.lower(x)", "lower"),
            ("a::int", "a"),
            ("1::bigint", "int8"),
            ("'x'::text[]", "text"),
            ("lower(x)::text", "lower"),
            ("true", "?column?"),
            ("INTERVAL '1 day'", "interval"),
            ("CASE WHEN a THEN 1 END", "case"),
            ("CASE WHEN a THEN 1 ELSE b END", "b"),
            ("CASE WHEN a THEN 1 ELSE 2::int END", "case"),
            ("EXISTS (SELECT 1)", "exists"),
            ("NOT EXISTS (SELECT 1)", "?column?"),
            ("(SELECT max(x) FROM t)", "max"),
            ("(SELECT 1)::int", "?column?"),
            ("ARRAY[1, 2]", "array"),
            ("ROW(1, 2)", "row"),
            ("(1, 2)", "row"),
            ("EXTRACT(year FROM d)", "extract"),
            ("substring(a FROM 1 FOR 2)", "substring"),
            ("trim(a)", "btrim"),
            ("a COLLATE \"C\"", "a"),
            ("current_date", "current_date"),
            ("sum(a) OVER ()", "sum"),
            ("nullif(a, b)", "nullif"),
        ];
        for (text, expected) in cases {
            let mut parser = Parser::new(&Gingham).try_with_sql(text).unwrap();
            assert_eq!(postgres_name(&parser.parse_expr().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn both_names_are_kept_in_an_alias() {
        let own = Heading { text: "a ^ \0 2".into(), postgres: NAMELESS.into() };
        let item = SelectItem::ExprWithAlias { expr: Expr::Tuple(Vec::new()), alias: own.clone().kept() };
        assert_eq!(Heading::of_item(&item), Some(own));
    }
}
