//! What the columns of a result are called: `SELECT 1, sum(a)` has columns `1` and `sum(a)`, as they were written, where
//! DataFusion's plan has `Int64(1)` and `sum(t.a)`. And a list may have the same value twice, which a plan may not.

use super::fold;
use super::walk::{Tree, Visit};
use crate::Result;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, Statement as Sql, Value,
};
use futures::StreamExt;
use std::sync::Arc;

/// Names for the columns of a query.
#[derive(Debug, Clone, Default)]
pub(crate) struct Headings {
    /// Of the first columns.
    front: Vec<String>,
    /// Of the last columns, behind what a `*` stands for.
    back: Vec<String>,
    /// There is a `*`, or another item of which the text does not tell how many columns it gives.
    open: bool,
}

impl Headings {
    /// The names that a query's text gives.
    pub(crate) fn of(query: &Query) -> Self {
        let Some(select) = first_select(&query.body) else { return Self { open: true, ..Self::default() } };
        let named: Vec<Option<String>> = select.projection.iter().map(heading).collect();
        match named.iter().position(Option::is_none) {
            None => Self { front: named.into_iter().flatten().collect(), ..Self::default() },
            Some(first) => {
                let last = named.iter().rposition(Option::is_none).unwrap_or(first);
                let names = |items: &[Option<String>]| items.iter().flatten().cloned().collect();
                Self { front: names(&named[..first]), back: names(&named[last + 1..]), open: true }
            }
        }
    }

    /// The names of all columns, when the text gives them all.
    pub(crate) fn complete(&self) -> Option<&[String]> {
        (!self.open).then_some(self.front.as_slice())
    }

    /// A schema under these names.
    pub(crate) fn rename(&self, schema: &Schema) -> Schema {
        let columns = schema.fields().len();
        let named = self.front.len() + self.back.len();
        if named > columns || (!self.open && named != columns) {
            return schema.clone();
        }
        let name = |position: usize| match position.checked_sub(columns - self.back.len()) {
            Some(behind) => self.back.get(behind),
            None => self.front.get(position),
        };
        let field = |(position, field): (usize, &Arc<Field>)| match name(position) {
            Some(name) => Arc::new(field.as_ref().clone().with_name(name)),
            None => Arc::clone(field),
        };
        let fields: Vec<Arc<Field>> = schema.fields().iter().enumerate().map(field).collect();
        Schema::new_with_metadata(fields, schema.metadata().clone())
    }

    /// Rows under these names.
    pub(crate) fn give(&self, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
        give_as(&Arc::new(self.rename(&rows.schema())), rows)
    }
}

/// Rows with the names of `schema`.
pub(crate) fn give_as(schema: &SchemaRef, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
    if *schema == rows.schema() {
        return rows;
    }
    let renamed = Arc::clone(schema);
    let batches = rows.map(move |batch| {
        let batch = batch?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&renamed), batch.columns().to_vec(), &options)?)
    });
    Box::pin(RecordBatchStreamAdapter::new(Arc::clone(schema), batches))
}

/// The SELECT whose list names the columns: of a UNION, the first.
fn first_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

/// What one item is called; `None` for one that may be several columns.
fn heading(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        SelectItem::UnnamedExpr(expression) => {
            let text = match last_name(expression) {
                Some(name) => fold(name),
                None => expression.to_string(),
            };
            (!text.to_ascii_lowercase().contains("unnest(")).then_some(text)
        }
        _ => None,
    }
}

/// The column's name in `a` or `t.a`.
fn last_name(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(names) => names.last(),
        _ => None,
    }
}

/// Gives names of their own to values that a plan would call the same, as in `SELECT a, a`; [`Headings`] has the names
/// that their user sees.
pub(crate) fn make_unique(statement: &mut Statement) -> Result<()> {
    match statement {
        Statement::Statement(statement) => {
            if let Sql::Query(query) = &mut **statement {
                query.walk(&mut Inner { outermost: true })?;
                make_lists_unique(&mut query.body);
            }
            Ok(())
        }
        Statement::Explain(explain) => make_unique(&mut explain.statement),
        // A file has its names from the plan.
        Statement::CopyTo(_) | Statement::CreateExternalTable(_) | Statement::Reset(_) => Ok(()),
    }
}

/// Calls the values of queries within a query by their text, so that `SELECT * FROM (SELECT 1)` has a column `1` too, and
/// those that are there twice by names of their own.
struct Inner {
    outermost: bool,
}

impl Visit for Inner {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        if !std::mem::replace(&mut self.outermost, false) {
            if let SetExpr::Select(select) = &mut *query.body
                && select.distinct.is_none()
            {
                name_values(select);
            }
            tell_apart(&mut query.body);
        }
        number_order_of_distinct(query);
        Ok(())
    }
}

/// In `SELECT DISTINCT f(a) … ORDER BY f(a)` makes `ORDER BY 1` of what the list has: the planner would look for `a`.
fn number_order_of_distinct(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else { return };
    let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = &mut query.order_by else { return };
    if select.distinct != Some(Distinct::Distinct) || select.projection.iter().any(|item| heading(item).is_none()) {
        return;
    }
    for by in order.iter_mut().filter(|by| last_name(&by.expr).is_none()) {
        let same = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. } => {
                *expression == by.expr
            }
            _ => false,
        };
        if let Some(position) = select.projection.iter().position(same) {
            by.expr = Expr::value(Value::Number((position + 1).to_string(), false));
        }
    }
}

fn name_values(select: &mut Select) {
    let mut seen: Vec<String> = Vec::new();
    let names: Vec<Option<String>> = select.projection.iter().map(named_as).collect();
    for (position, item) in select.projection.iter_mut().enumerate() {
        let Some(mut name) = heading(item) else { continue };
        // A column's cast goes by the column's name where no other does: whoever asks for `a` of `SELECT a::INT` gets it.
        let is_alone = |own: &&String| names.iter().flatten().filter(|other| other == own).count() == 1;
        if let (Some(own), SelectItem::UnnamedExpr(Expr::Cast { .. })) =
            (names[position].as_ref().filter(is_alone), &*item)
        {
            name.clone_from(own);
        }
        if let SelectItem::UnnamedExpr(expression) = item
            && last_name(expression).is_none()
            && !seen.contains(&name)
        {
            *item = SelectItem::ExprWithAlias { expr: expression.clone(), alias: Ident::with_quote('"', &name) };
        }
        seen.push(name);
    }
}

/// The columns of an inner query are called as its first list has them: there `a, a` becomes `a, a_1`, while `t.a, u.a` stay
/// as they are, for whoever asks for `a` to be told that there are two. Nobody sees the names of the other lists.
fn tell_apart(body: &mut SetExpr) {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            tell_apart(left);
            name_by_position(right);
        }
        SetExpr::Select(select) if select.distinct.is_none() => {
            let taken: Vec<Option<String>> = select.projection.iter().map(heading).collect();
            let mut seen: Vec<(Expr, String)> = Vec::new();
            for (item, name) in select.projection.iter_mut().zip(&taken) {
                let (SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. }) = &*item
                else {
                    continue;
                };
                let Some(name) = name else { continue };
                let own = (expression.clone(), name.clone());
                let again = seen.iter().filter(|known| **known == own).count();
                seen.push(own);
                let is_free = |name: &String| !taken.contains(&Some(name.clone()));
                let free = (again..).map(|n| format!("{name}_{n}")).find(is_free).filter(|_| again > 0);
                if let (Some(free), SelectItem::UnnamedExpr(expression)) = (free, &*item) {
                    let alias = Ident::with_quote('"', free);
                    *item = SelectItem::ExprWithAlias { expr: expression.clone(), alias };
                }
            }
        }
        _ => {}
    }
}

/// The name of a column, of a cast of one, or that an item was given.
fn named_as(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        SelectItem::UnnamedExpr(expression) => last_name(without_casts(expression)).map(fold),
        _ => None,
    }
}

fn without_casts(mut expression: &Expr) -> &Expr {
    while let Expr::Cast { expr, .. } | Expr::Nested(expr) = expression {
        expression = expr;
    }
    expression
}

fn make_lists_unique(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => make_list_unique(select),
        SetExpr::Query(query) => make_lists_unique(&mut query.body),
        SetExpr::SetOperation { left, right, .. } => {
            make_lists_unique(left);
            name_by_position(right);
        }
        _ => {}
    }
}

/// Names for the values of a list behind UNION and the like, which nobody sees. The planner would call them as the first list's, and
/// then not tell a value from a column of that name beside it.
fn name_by_position(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            let is_value = |item: &SelectItem| match item {
                SelectItem::UnnamedExpr(expression) => last_name(expression).is_none() && heading(item).is_some(),
                _ => false,
            };
            if !select.projection.iter().any(is_value) {
                return make_list_unique(select);
            }
            for (position, item) in select.projection.iter_mut().enumerate() {
                if let (SelectItem::UnnamedExpr(expression), Some(_)) = (&*item, heading(item)) {
                    *item = SelectItem::ExprWithAlias { expr: expression.clone(), alias: of_position(position) };
                }
            }
        }
        SetExpr::Query(query) => make_lists_unique(&mut query.body),
        SetExpr::SetOperation { left, right, .. } => {
            name_by_position(left);
            name_by_position(right);
        }
        _ => {}
    }
}

fn of_position(position: usize) -> Ident {
    Ident::with_quote('"', format!("value {}", position + 1))
}

fn make_list_unique(select: &mut Select) {
    if select.distinct.is_some() {
        return; // ORDER BY must then find the list's own expressions
    }
    let has_wildcard = select
        .projection
        .iter()
        .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
    let mut seen: Vec<String> = Vec::new();
    for (position, item) in select.projection.iter_mut().enumerate() {
        let (expression, name, named) = match item {
            SelectItem::UnnamedExpr(expression) => (&*expression, named_by(expression), false),
            SelectItem::ExprWithAlias { expr, alias } => (&*expr, fold(alias), true),
            _ => continue,
        };
        // What a wildcard stands for is not known here; it may well be the column that is named beside it. What has a query in it is
        // called as that query's column.
        let is_unknown = last_name(expression).is_some() && has_wildcard || name == QUERY;
        let may_recur = !named && is_unknown;
        if may_recur || seen.contains(&name) {
            *item = SelectItem::ExprWithAlias { expr: expression.clone(), alias: of_position(position) };
        } else {
            seen.push(name);
        }
    }
}

/// Stands for all expressions with queries in them.
const QUERY: &str = "(SELECT …)";

/// What a plan calls an expression by: a cast as what it casts, a column whatever stands before its name.
fn named_by(expression: &Expr) -> String {
    let expression = without_casts(expression);
    last_name(expression).map(fold).unwrap_or_else(|| {
        let text = expression.to_string();
        if text.contains("(SELECT ") { QUERY.to_owned() } else { text }
    })
}
