//! ORDER BY and DISTINCT ON: by items of the select list, by their numbers, or by other values.

use crate::Result;
use crate::bind::binder::Binder;
use crate::bind::error;
use crate::bind::expression::NameContext;
use crate::bind::items::OutputItem;
use crate::sql::names::fold;
use datafusion::logical_expr::Expr as Planned;
use datafusion::sql::planner::NullOrdering;
use datafusion::sql::sqlparser::ast::{
    Expr, OrderBy, OrderByKind, OrderByOptions, SelectItem, Spanned, Value, ValueWithSpan,
};
use gingham_storage::SqlState;

/// A value that rows are put in order by, or told apart by.
#[derive(Debug, Clone)]
pub(super) enum OrderValue {
    /// That item of the select list.
    Item(usize),
    Value(Planned),
}

/// A part of ORDER BY.
#[derive(Debug, Clone)]
pub(super) struct OrderKey {
    pub(super) by: OrderValue,
    pub(super) ascending: bool,
    pub(super) nulls_first: bool,
}

impl Binder<'_> {
    /// Plans ORDER BY. `list` is the text of `items`, where they have one each.
    pub(super) fn order(
        &mut self,
        order: &OrderBy,
        list: &[SelectItem],
        items: &[OutputItem],
        around: NameContext<'_>,
    ) -> Result<Vec<OrderKey>> {
        if order.interpolate.is_some() {
            return Err(error::unsupported("ORDER BY … INTERPOLATE"));
        }
        let key = |binder: &Self, by: OrderValue, options: &OrderByOptions| {
            let ascending = options.asc.unwrap_or(true);
            let config = binder.state.config_options().sql_parser.default_null_ordering.as_str();
            let nulls_first = options.nulls_first.unwrap_or_else(|| NullOrdering::from(config).nulls_first(ascending));
            OrderKey { by, ascending, nulls_first }
        };
        match &order.kind {
            OrderByKind::All(options) => {
                Ok((0..items.len()).map(|number| key(self, OrderValue::Item(number), options)).collect())
            }
            OrderByKind::Expressions(keys) => {
                let mut planned = Vec::with_capacity(keys.len());
                for own in keys {
                    if own.with_fill.is_some() {
                        return Err(error::unsupported("ORDER BY … WITH FILL"));
                    }
                    let by = self.by(&own.expr, list, items, around, "ORDER BY")?;
                    planned.push(key(self, by, &own.options));
                }
                Ok(planned)
            }
        }
    }

    /// What a value in ORDER BY or DISTINCT ON means: the number or the name of an item, or else a value of the rows that
    /// the list is made of.
    pub(super) fn by(
        &mut self,
        text: &Expr,
        list: &[SelectItem],
        items: &[OutputItem],
        around: NameContext<'_>,
        clause: &str,
    ) -> Result<OrderValue> {
        if let Some(number) = number(text, items.len(), clause)? {
            return Ok(OrderValue::Item(number));
        }
        if let Expr::Identifier(ident) = text {
            let name = fold(ident);
            let mut named = items.iter().enumerate().filter(|(_, item)| item.name == name);
            if let Some((at, item)) = named.next() {
                if named.any(|(_, other)| other.expression != item.expression) {
                    return Err(error::ambiguous(std::slice::from_ref(ident)));
                }
                return Ok(OrderValue::Item(at));
            }
            let mut others = items.iter().enumerate().filter(|(_, item)| item.other.as_ref() == Some(&name));
            if let (Some((at, _)), None, false) = (others.next(), others.next(), around.scope.has(&name)) {
                return Ok(OrderValue::Item(at));
            }
        }
        if let Some(at) = same_text(text, list).filter(|_| list.len() == items.len()) {
            return Ok(OrderValue::Item(at));
        }
        let value = self.expression(text, NameContext { aliases: items, ..around })?;
        let same = items.iter().position(|item| item.expression == value);
        Ok(same.map_or(OrderValue::Value(value), OrderValue::Item))
    }
}

/// The item that a whole number means, from zero on.
pub(super) fn number(text: &Expr, items: usize, clause: &str) -> Result<Option<usize>> {
    let Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) = text else { return Ok(None) };
    let Ok(number) = digits.parse::<usize>() else { return Ok(None) };
    if number == 0 || number > items {
        return Err(error::invalid(
            SqlState::InvalidColumnReference,
            format!("{clause} {number} is no position of the select list, which has {items} columns"),
            text.span(),
        ));
    }
    Ok(Some(number - 1))
}

/// The item of a list that is written in the same way: an expression with a query in it is the same only there.
pub(super) fn same_text(text: &Expr, list: &[SelectItem]) -> Option<usize> {
    list.iter().position(|item| match item {
        SelectItem::UnnamedExpr(own) | SelectItem::ExprWithAlias { expr: own, .. } => own == text,
        _ => false,
    })
}
