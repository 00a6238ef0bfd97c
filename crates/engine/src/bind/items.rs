//! The items of a select list: what each is called, and the columns that a `*` stands for.

use crate::Result;
use crate::bind::binder::{Binder, TablesOf};
use crate::bind::error;
use crate::bind::expression::NameContext;
use crate::bind::scope::{FromRelation, NameScope, Named};
use crate::bind::tables::reference;
use crate::bind::unnest::in_rows;
use crate::settings::ColumnNames;
use crate::sql::headings::{Heading, NAMELESS, last_name};
use crate::sql::names::{fold, is_without_case, last_part, meant};
use crate::type_name::type_name;
use arrow::datatypes::{DataType, Field};
use datafusion::functions::core::expr_fn::get_field;
use datafusion::logical_expr::{Expr as Planned, ExprSchemable};
use datafusion::sql::sqlparser::ast::{
    ExceptSelectItem, ExcludeSelectItem, Expr, Ident, ObjectName, ReplaceSelectItem, SelectItem,
    SelectItemQualifiedWildcardKind, Spanned, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::tokenizer::Span;
use gingham_storage::SqlState;
use std::sync::Arc;

/// An item of a select list.
#[derive(Debug, Clone)]
pub(super) struct OutputItem {
    /// What its column is called: by its alias, its column, or as `gingham.column_names` has it.
    pub(super) name: String,
    /// What it would be called under the other value of that setting, by which queries around it may call it, too.
    pub(super) other: Option<String>,
    pub(super) expression: Planned,
    /// The column that it casts, by which queries around it may call it.
    pub(super) casts: Option<String>,
    /// Whether AS gives the name.
    pub(super) has_alias: bool,
}

impl OutputItem {
    /// A column of another query.
    pub(super) fn of(own: &Named) -> Self {
        let expression = Planned::Column(own.column.clone());
        Self { name: own.name.clone(), other: own.other.clone(), expression, casts: None, has_alias: false }
    }
}

/// What one item is called when its text tells: by its alias, its column's name, or as it was written.
pub(crate) fn heading(item: &SelectItem) -> Option<String> {
    match (Heading::of_item(item), item) {
        (Some(heading), _) => Some(heading.text),
        (None, SelectItem::ExprWithAlias { alias, .. }) => Some(fold(alias)),
        _ => None,
    }
}

/// Whether the list means columns without naming them.
pub(super) fn has_wildcard(items: &[SelectItem]) -> bool {
    items.iter().any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)))
}

impl Binder<'_> {
    /// Plans a select list.
    pub(super) fn items(&mut self, list: &[SelectItem], around: NameContext<'_>) -> Result<Vec<OutputItem>> {
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            match item {
                SelectItem::UnnamedExpr(text) | SelectItem::ExprWithAlias { expr: text, .. } => {
                    let expression = self.expression(text, around)?;
                    // A statement that changes records does not make several of one.
                    let expression = if around.place.verb.is_empty() { in_rows(expression)? } else { expression };
                    let (mut name, other, has_alias) = self.called_item(item, around);
                    if let (false, Planned::Column(column)) = (has_alias, &expression)
                        && let Some(own) = around.scope.name_of(column)
                        && last_name(text).is_some_and(|ident| is_without_case(ident, own))
                    {
                        own.clone_into(&mut name);
                    }
                    let is_cast = !has_alias && last_name(text).is_none();
                    let casts = cast_column(text).filter(|_| is_cast).map(fold);
                    items.push(OutputItem { name, other, expression, casts, has_alias });
                }
                SelectItem::Wildcard(options) => {
                    if around.scope.relations.is_empty() {
                        let span = options.wildcard_token.0.span;
                        return Err(error::invalid(
                            SqlState::SyntaxError,
                            "SELECT * needs a FROM to say which columns",
                            span,
                        ));
                    }
                    items.extend(self.wildcard(around.scope.shown.clone(), options, around)?);
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(row), options) => {
                    items.extend(self.fields_of(row, options, around)?);
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    let columns = around.scope.relation(kind)?.columns.clone();
                    items.extend(self.wildcard(columns, options, around)?);
                }
                SelectItem::ExprWithAliases { .. } => {
                    return Err(error::unsupported(format!("an item with several aliases ({item})")));
                }
            }
        }
        Ok(items)
    }

    /// What an item is called, what it would be called under the other value of the setting, and whether AS says so.
    fn called_item(&self, item: &SelectItem, around: NameContext<'_>) -> (String, Option<String>, bool) {
        let Some(Heading { text, postgres }) = Heading::of_item(item) else {
            return (heading(item).unwrap_or_default(), None, true);
        };
        // A view's columns are called the same whoever reads it.
        let is_of_view = matches!(around.place.tables, TablesOf::View(_));
        let (name, other) = match self.column_names {
            ColumnNames::Postgres if !is_of_view => (postgres, text),
            _ => (text, postgres),
        };
        let other = Some(other).filter(|other| *other != name && other != NAMELESS);
        (name, other, false)
    }

    /// The columns that a `*` with its options stands for.
    fn wildcard(
        &mut self,
        columns: Vec<Named>,
        options: &WildcardAdditionalOptions,
        around: NameContext<'_>,
    ) -> Result<Vec<OutputItem>> {
        let WildcardAdditionalOptions {
            wildcard_token: _,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        if opt_ilike.is_some() || opt_rename.is_some() || opt_alias.is_some() {
            return Err(error::unsupported("* with ILIKE, RENAME or AS (name the columns)"));
        }
        let left_out = left_out(opt_exclude.as_ref(), opt_except.as_ref());
        let mut names = Vec::with_capacity(left_out.len());
        for ident in &left_out {
            names.push(name_among(ident, &columns)?);
        }
        let replaced = self.replaced(&columns, opt_replace.as_ref(), around)?;
        let kept = columns.into_iter().filter(|own| !names.contains(&own.name));
        let items: Vec<OutputItem> = kept
            .map(|own| {
                let with = replaced.iter().find(|(name, _)| *name == own.name);
                let expression = with.map_or_else(|| Planned::Column(own.column), |(_, with)| with.clone());
                OutputItem { name: own.name, other: own.other, expression, casts: None, has_alias: false }
            })
            .collect();
        if items.is_empty() && !left_out.is_empty() {
            return Err(error::invalid(SqlState::SyntaxError, "EXCLUDE leaves no column out of *", left_out[0].span));
        }
        Ok(items)
    }

    /// The fields of a struct: `(row).*`.
    fn fields_of(
        &mut self,
        row: &Expr,
        options: &WildcardAdditionalOptions,
        around: NameContext<'_>,
    ) -> Result<Vec<OutputItem>> {
        if *options != WildcardAdditionalOptions::default() {
            return Err(error::unsupported("* of an expression with options (name the fields)"));
        }
        let row_text = row.to_string();
        let row = in_rows(self.expression(row, around)?)?;
        // The type of what is unnested is that of the elements.
        let row_type = row.get_type(&around.scope.fields)?;
        let DataType::Struct(fields) = row_type else {
            let text = format!("{row_text}.* is of {}, which has no fields", type_name(&row_type));
            return Err(error::invalid(SqlState::WrongObjectType, text, Span::empty()));
        };
        let item = |field: &Arc<Field>| OutputItem {
            name: field.name().clone(),
            other: None,
            expression: get_field(row.clone(), field.name().as_str()),
            casts: None,
            has_alias: false,
        };
        Ok(fields.iter().map(item).collect())
    }

    /// What `REPLACE (expression AS column, …)` puts in the place of columns.
    fn replaced(
        &mut self,
        columns: &[Named],
        replace: Option<&ReplaceSelectItem>,
        around: NameContext<'_>,
    ) -> Result<Vec<(String, Planned)>> {
        let mut replaced = Vec::new();
        for element in replace.into_iter().flat_map(|replace| &replace.items) {
            replaced.push((name_among(&element.column_name, columns)?, self.expression(&element.expr, around)?));
        }
        Ok(replaced)
    }
}

/// The name of the column that an identifier means.
fn name_among(ident: &Ident, columns: &[Named]) -> Result<String> {
    let name = meant(ident, columns.iter().map(|own| own.name.as_str()))?;
    if columns.iter().any(|own| own.name == name) {
        return Ok(name);
    }
    let names = columns.iter().map(|own| own.name.clone()).collect();
    Err(error::no_column(std::slice::from_ref(ident), names))
}

impl NameScope {
    /// The member of FROM that stands before `.*`.
    pub(super) fn relation(&self, kind: &SelectItemQualifiedWildcardKind) -> Result<&FromRelation> {
        let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
            return Err(error::unsupported(format!("* of an expression ({kind})")));
        };
        let table = reference(name)?;
        let parts = [table.catalog(), table.schema(), Some(table.table())];
        let parts: Vec<String> = parts.into_iter().flatten().map(str::to_owned).collect();
        match self.named(&parts).as_slice() {
            [one] => Ok(&self.relations[*one]),
            [] => Err(error::invalid(
                SqlState::UndefinedTable,
                format!("'{}' before .* is no table of this FROM{}", parts.join("."), self.near(&parts)),
                name.span(),
            )),
            _ => Err(error::invalid(
                SqlState::DuplicateAlias,
                format!("'{}' before .* is the name of two tables", parts.join(".")),
                name.span(),
            )),
        }
    }

    fn near(&self, parts: &[String]) -> String {
        let names: Vec<&str> = self.relations.iter().filter_map(|relation| relation.name.as_deref()).collect();
        parts.last().map_or_else(String::new, |name| crate::session::did_you_mean(name, names))
    }
}

/// The columns that `EXCLUDE (a, b)` or `EXCEPT (a, b)` names.
fn left_out(exclude: Option<&ExcludeSelectItem>, except: Option<&ExceptSelectItem>) -> Vec<Ident> {
    let last = |name: &ObjectName| last_part(name).cloned();
    let mut idents: Vec<Ident> = match exclude {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => last(name).into_iter().collect(),
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().filter_map(last).collect(),
    };
    if let Some(except) = except {
        idents.push(except.first_element.clone());
        idents.extend(except.additional_elements.iter().cloned());
    }
    idents
}

/// The name of the column in `CAST(t.a AS …)`.
fn cast_column(mut expression: &Expr) -> Option<&Ident> {
    while let Expr::Cast { expr, .. } | Expr::Nested(expr) = expression {
        expression = expr;
    }
    last_name(expression)
}

/// The names of a list whose query stands within another. A cast of a column goes by the column's name where no other does,
/// and what is there twice is numbered, so that queries around it can name each.
pub(super) fn inner_names(items: &[OutputItem], column_names: ColumnNames) -> Vec<String> {
    let taken: Vec<&String> = items.iter().map(|item| item.casts.as_ref().unwrap_or(&item.name)).collect();
    let mut seen: Vec<(&Planned, &String)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for item in items {
        if let Some(column) = &item.casts
            && taken.iter().filter(|other| **other == column).count() == 1
        {
            names.push(column.clone());
            continue;
        }
        let own = (&item.expression, &item.name);
        let again = seen.iter().filter(|known| **known == own).count();
        seen.push(own);
        let is_free = |name: &String| !taken.contains(&name);
        // In PostgreSQL a name that two columns have is none's.
        let again = if column_names == ColumnNames::Postgres { 0 } else { again };
        let numbered = (again..).map(|n| format!("{}_{n}", item.name)).find(is_free).filter(|_| again > 0);
        names.push(numbered.unwrap_or_else(|| item.name.clone()));
    }
    names
}
