//! CHAR(n) in expressions. Its values are kept without the blanks at their end, which count nowhere but in patterns and in
//! lengths of bytes, as in PostgreSQL: a constant that a CHAR is compared with loses its own, LIKE sees n characters.
//! Beside a VARCHAR a CHAR is a text without blanks at its end.
//!
//! A column of the plan that is a CHAR is known by its name, which occurs once in a statement.

use crate::Result;
use crate::bind::passed_on::passed_on;
use crate::functions::regular::is_regular;
use crate::functions::{TO_CHAR, TO_VARCHAR, padded};
use crate::sql::lengths::characters;
use crate::sql::operators::call;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::{Like, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr as Planned, Operator, lit};
use datafusion::sql::sqlparser::ast::{CastKind, DataType, Expr, Value};
use std::collections::HashMap;

/// The CHARs among a statement's columns, and how many characters each has.
#[derive(Debug, Default)]
pub(super) struct FixedLengths(HashMap<String, u32>);

impl FixedLengths {
    /// Notes how many characters a column of the plan has; `None` for one that is no CHAR, or is none from here on.
    pub(super) fn note(&mut self, column: &Column, length: Option<u32>) {
        match length {
            Some(length) => self.0.insert(column.name.clone(), length),
            None => self.0.remove(&column.name),
        };
    }

    /// How many characters a column has that is a CHAR.
    pub(super) fn of_column(&self, column: &Column) -> Option<u32> {
        self.0.get(&column.name).copied()
    }

    /// How many characters an expression has that is a CHAR.
    pub(super) fn of(&self, expression: &Planned) -> Option<u32> {
        match expression {
            Planned::Column(column) | Planned::OuterReferenceColumn(_, column) => self.of_column(column),
            Planned::ScalarFunction(call) if call.func.name() == TO_CHAR => length_of(call),
            Planned::ScalarSubquery(query) => self.of_column(query.subquery.schema().columns().first()?),
            _ => self.of_all(passed_on(expression)?.into_iter()),
        }
    }

    /// How many characters a value has that is one of several, of which all are CHARs.
    fn of_all<'e>(&self, mut values: impl Iterator<Item = &'e Planned>) -> Option<u32> {
        let longest = values.try_fold(0, |longest, value| match value {
            Planned::Literal(value, _) if value.is_null() => Some(longest),
            value => self.of(value).map(|length| length.max(longest)),
        })?;
        (longest > 0).then_some(longest)
    }

    /// An expression in which blanks at the end of CHARs count where they should alone.
    pub(super) fn applied(&self, expression: Planned) -> Result<Planned> {
        Ok(expression.transform_up(|part| Ok(self.compares(part)))?.data)
    }

    fn compares(&self, part: Planned) -> Transformed<Planned> {
        match part {
            Planned::BinaryExpr(BinaryExpr { left, op, right }) if is_regular(op) && self.of(&left).is_some() => {
                let left = Box::new(self.with_blanks(*left));
                Transformed::yes(Planned::BinaryExpr(BinaryExpr { left, op, right }))
            }
            Planned::BinaryExpr(mut binary) if is_comparison(binary.op) => {
                let (left, right) = (self.of(&binary.left), self.of(&binary.right));
                let changed = left.is_some() && trim(&mut binary.right) || right.is_some() && trim(&mut binary.left);
                Transformed::new_transformed(Planned::BinaryExpr(binary), changed)
            }
            Planned::InList(mut list) if self.of(&list.expr).is_some() => {
                let changed = trim_all(list.list.iter_mut());
                Transformed::new_transformed(Planned::InList(list), changed)
            }
            Planned::Between(mut between) if self.of(&between.expr).is_some() => {
                let changed = trim_all([&mut *between.low, &mut *between.high].into_iter());
                Transformed::new_transformed(Planned::Between(between), changed)
            }
            Planned::Case(mut case) if case.expr.as_ref().is_some_and(|base| self.of(base).is_some()) => {
                let changed = trim_all(case.when_then_expr.iter_mut().map(|(when, _)| &mut **when));
                Transformed::new_transformed(Planned::Case(case), changed)
            }
            Planned::Like(like) if self.of(&like.expr).is_some() && !ignores_blanks(&like) => {
                let expr = Box::new(self.with_blanks(*like.expr));
                Transformed::yes(Planned::Like(Like { expr, ..like }))
            }
            Planned::SimilarTo(like) if self.of(&like.expr).is_some() => {
                let expr = Box::new(self.with_blanks(*like.expr));
                Transformed::yes(Planned::SimilarTo(Like { expr, ..like }))
            }
            Planned::ScalarFunction(mut call) => {
                let is_fixed = call.args.first().is_some_and(|first| self.of(first).is_some());
                let changed = match call.func.name() {
                    "octet_length" | "bit_length" if is_fixed => {
                        call.args = call.args.into_iter().map(|argument| self.with_blanks(argument)).collect();
                        true
                    }
                    "nullif" if is_fixed => trim_all(call.args.iter_mut().skip(1)),
                    _ => false,
                };
                Transformed::new_transformed(Planned::ScalarFunction(call), changed)
            }
            part => Transformed::no(part),
        }
    }

    /// A CHAR with its blanks.
    fn with_blanks(&self, value: Planned) -> Planned {
        match self.of(&value) {
            Some(length) => padded().call(vec![value, lit(i64::from(length))]),
            None => value,
        }
    }
}

fn length_of(call: &ScalarFunction) -> Option<u32> {
    match call.args.as_slice() {
        [_, Planned::Literal(ScalarValue::Int64(Some(length)), _)] => u32::try_from(*length).ok(),
        _ => None,
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Takes the blanks from the end of a constant or of a parameter. False where there is nothing to take.
fn trim(value: &mut Planned) -> bool {
    match value {
        Planned::Literal(literal, _) => {
            let Some(Some(text)) = literal.try_as_str() else { return false };
            if !text.ends_with(' ') {
                return false;
            }
            *literal = ScalarValue::Utf8(Some(text.trim_end_matches(' ').to_owned()));
            true
        }
        Planned::Placeholder(_) => {
            let own = std::mem::take(value);
            *value = datafusion::functions::string::expr_fn::rtrim(vec![own, lit(" ")]);
            true
        }
        _ => false,
    }
}

/// Takes the blanks from the ends of all values. False where there is nothing to take.
fn trim_all<'e>(values: impl Iterator<Item = &'e mut Planned>) -> bool {
    values.map(trim).collect::<Vec<_>>().contains(&true)
}

/// Whether a pattern says the same of a text with blanks behind it and of one without: it ends in `%`, and asks for no blank and for
/// no character of any kind.
fn ignores_blanks(like: &Like) -> bool {
    let Planned::Literal(pattern, _) = &*like.pattern else { return false };
    let Some(Some(pattern)) = pattern.try_as_str() else { return false };
    pattern.ends_with('%') && !pattern.contains([' ', '_', '\\']) && like.escape_char.is_none()
}

/// A cast to CHAR(n) or VARCHAR(n) as a function of the text that it cuts; `None` for what is no such cast.
///
/// # Errors
///
/// The length is none.
pub(super) fn cut(expression: &Expr) -> Result<Option<Expr>> {
    let Expr::Cast { kind, expr, data_type, array, format: None } = expression else { return Ok(None) };
    let (function, length) = match data_type {
        DataType::Char(None) | DataType::Character(None) => (TO_CHAR, 1),
        DataType::Char(Some(length)) | DataType::Character(Some(length)) => {
            match characters("a cast", data_type, length)? {
                Some(length) => (TO_CHAR, length),
                None => return Ok(None),
            }
        }
        DataType::Varchar(Some(length))
        | DataType::CharVarying(Some(length))
        | DataType::CharacterVarying(Some(length))
        | DataType::Nvarchar(Some(length)) => match characters("a cast", data_type, length)? {
            Some(length) => (TO_VARCHAR, length),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let kind = if *kind == CastKind::DoubleColon { CastKind::Cast } else { kind.clone() };
    let text = DataType::Varchar(None);
    let text = Expr::Cast { kind, expr: expr.clone(), data_type: text, array: *array, format: None };
    Ok(Some(call(function, vec![text, Expr::value(Value::Number(length.to_string(), false))])))
}
