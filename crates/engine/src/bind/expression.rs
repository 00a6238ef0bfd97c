//! Scalar expressions: names replaced by the plan's columns and subqueries taken out, the rest is DataFusion's to plan.
//!
//! An expression's syntax tree is copied. In the copy each name becomes the name of the plan's column, which occurs once in
//! the statement, so that DataFusion finds it whatever else there is; each subquery, and each alias of the select list that
//! is named, becomes a stand-in, in whose place its own expression is put afterwards.

use crate::arithmetic::with_sums_of_integers;
use crate::bind::binder::{Binder, QueryContext, schema_of};
use crate::bind::error;
use crate::bind::items::OutputItem;
use crate::bind::patterns::with_pattern;
use crate::bind::scope::{NameScope, ResolvedName, resolve, resolve_without_case};
use crate::bind::typed::with_types;
use crate::casts::{value_of_text, with_typed_texts};
use crate::functions::asks_catalog;
use crate::settings::Settings;
use crate::sql::names::{fold, meant};
use crate::sql::operators::take;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::windows::{with_arguments, with_frame_of_peers};
use crate::{Error, Result};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::{Expr as Planned, ExprSchemable, cast};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, ExprWithAlias, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    NamedWindowDefinition, SelectItemQualifiedWildcardKind, Spanned, Subscript, Value, WindowType,
};
use gingham_storage::SqlState;
use std::collections::HashMap;
use std::sync::Weak;

/// What names in an expression may mean.
#[derive(Clone, Copy)]
pub(super) struct NameContext<'a> {
    pub(super) scope: &'a NameScope,
    pub(super) place: &'a QueryContext,
    /// Items of the select list whose aliases count where no column has the name.
    pub(super) aliases: &'a [OutputItem],
    /// The query's WINDOW clause.
    pub(super) windows: &'a [NamedWindowDefinition],
}

impl<'a> NameContext<'a> {
    /// Columns alone.
    pub(super) fn of(scope: &'a NameScope, place: &'a QueryContext) -> Self {
        Self { scope, place, aliases: &[], windows: &[] }
    }
}

/// The quote of names that are replaced already: no dialect that is offered has it.
const REPLACED: char = '[';

/// Something that DataFusion plans as a column, and what comes in its place.
struct StandIn {
    name: String,
    field: FieldRef,
    expression: Planned,
}

pub(super) struct Replacing<'r, 'a> {
    pub(super) binder: &'r mut Binder<'a>,
    pub(super) around: NameContext<'r>,
    columns: Vec<(Column, FieldRef)>,
    /// Columns of queries around this one, by their names.
    outer: HashMap<String, FieldRef>,
    stand_ins: Vec<StandIn>,
    /// Parameters of the lambda functions around the expression, the innermost last.
    parameters: Vec<Vec<String>>,
}

impl Binder<'_> {
    /// Plans an expression.
    pub(super) fn expression(&mut self, expression: &Expr, around: NameContext<'_>) -> Result<Planned> {
        let mut tree = expression.clone();
        let mut replacing = Replacing {
            binder: self,
            around,
            columns: Vec::new(),
            outer: HashMap::new(),
            stand_ins: Vec::new(),
            parameters: Vec::new(),
        };
        tree.walk(&mut replacing)?;
        let Replacing { mut columns, outer, stand_ins, .. } = replacing;
        columns.extend(
            stand_ins.iter().map(|own| (Column::new_unqualified(own.name.clone()), FieldRef::clone(&own.field))),
        );
        let schema = schema_of(columns)?;
        let tree = ExprWithAlias { expr: tree, alias: None };
        let planned = self.state.create_logical_expr_from_sql_expr(tree, &schema)?;
        self.note_catalog(&planned)?;
        let planned = with_typed_texts(planned, &schema)?;
        let planned = with_types(planned, &schema, self.state)?;
        let planned = with_sums_of_integers(planned, &schema, &self.integers)?;
        let planned = windowed(planned, &schema)?;
        let planned = self.fixed.applied(put_in_place(planned, &outer, stand_ins)?)?;
        self.outer_calls(planned, around.place)
    }

    /// Lets the statement's catalog stay where a function asks it.
    fn note_catalog(&self, planned: &Planned) -> Result<()> {
        let asks = |part: &Planned| Ok(matches!(part, Planned::ScalarFunction(call) if asks_catalog(&call.func)));
        if planned.exists(asks)?
            && let Some(settings) = self.state.config_options().extensions.get::<Settings>()
            && let Some(names) = settings.catalog.as_ref().and_then(Weak::upgrade)
        {
            names.is_needed();
        }
        Ok(())
    }

    /// Plans a condition.
    pub(super) fn condition(&mut self, condition: &Expr, around: NameContext<'_>, clause: &str) -> Result<Planned> {
        let before = self.calls.len();
        let planned = self.expression(condition, around)?;
        refuse_calls(&planned, clause, condition)?;
        if let Some(own) = self.calls.get(before) {
            refuse_calls(&own.call, clause, condition)?;
        }
        Ok(planned)
    }
}

/// Refuses aggregates and window functions where a clause can't have them.
pub(super) fn refuse_calls(planned: &Planned, clause: &str, text: &Expr) -> Result<()> {
    let mut found = None;
    planned.apply(|part| {
        found = match part {
            Planned::AggregateFunction(call) => {
                Some((SqlState::GroupingError, "an aggregate function", call.func.name().to_owned()))
            }
            Planned::WindowFunction(call) => {
                Some((SqlState::WindowingError, "a window function", call.fun.name().to_owned()))
            }
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        Ok(TreeNodeRecursion::Stop)
    })?;
    match found {
        None => Ok(()),
        Some((state, kind, name)) => {
            let hint = if clause == "WHERE" { "; HAVING and QUALIFY can" } else { "" };
            Err(error::invalid(state, format!("{clause} can't have {kind} ({name}){hint}"), text.span()))
        }
    }
}

/// An expression with window functions that can have its arguments.
fn windowed(planned: Planned, schema: &DFSchema) -> Result<Planned> {
    let windowed = planned.transform_up(|part| {
        Ok(match part {
            Planned::WindowFunction(call) => {
                let call = with_frame_of_peers(with_arguments(*call, schema)?, schema)?;
                Transformed::yes(Planned::WindowFunction(Box::new(call)))
            }
            other => Transformed::no(other),
        })
    })?;
    Ok(windowed.data)
}

/// Puts outer columns and stand-ins where DataFusion has planned plain columns, and drops the names that it gave.
fn put_in_place(planned: Planned, outer: &HashMap<String, FieldRef>, stand_ins: Vec<StandIn>) -> Result<Planned> {
    let unnamed = planned.transform_up(|part| {
        Ok(match part {
            Planned::Alias(alias) => Transformed::yes(*alias.expr),
            other => with_pattern(other)?.transform_data(|part| Ok(with_type_of_sql(part)))?,
        })
    })?;
    if outer.is_empty() && stand_ins.is_empty() {
        return Ok(unnamed.data);
    }
    let placed = unnamed.data.transform_down(|part| {
        let Planned::Column(column) = part else { return Ok(Transformed::no(part)) };
        let stand_in = stand_ins.iter().find(|own| column.relation.is_none() && own.name == column.name);
        let placed = match (stand_in, outer.get(&column.name)) {
            (Some(own), _) => own.expression.clone(),
            (None, Some(field)) => Planned::OuterReferenceColumn(FieldRef::clone(field), column),
            (None, None) => return Ok(Transformed::no(Planned::Column(column))),
        };
        Ok(Transformed::new(placed, true, TreeNodeRecursion::Jump))
    })?;
    Ok(placed.data)
}

/// Functions that DataFusion gives unsigned integers, which SQL does not have: what is computed of these would be a decimal, and a
/// quotient no integer.
const UNSIGNED: [(&str, DataType); 6] = [
    ("row_number", DataType::Int64),
    ("rank", DataType::Int64),
    ("dense_rank", DataType::Int64),
    ("ntile", DataType::Int32),
    ("approx_distinct", DataType::Int64),
    ("regr_count", DataType::Int64),
];

/// An expression with the type that it has in SQL: calls are signed, integers beyond BIGINT are decimals, bytes
/// have one of Arrow's types, that of columns.
fn with_type_of_sql(part: Planned) -> Transformed<Planned> {
    let name = match &part {
        Planned::Literal(ScalarValue::UInt64(Some(value)), _) if i64::try_from(*value).is_err() => {
            let digits = value.ilog10() as u8 + 1;
            let decimal = ScalarValue::Decimal128(Some(i128::from(*value)), digits, 0);
            return Transformed::yes(Planned::Literal(decimal, None));
        }
        Planned::Literal(ScalarValue::Binary(bytes), _) => {
            return Transformed::yes(Planned::Literal(ScalarValue::BinaryView(bytes.clone()), None));
        }
        Planned::Cast(own) if own.field.data_type().is_floating() => return as_float(part),
        Planned::WindowFunction(call) => call.fun.name(),
        Planned::AggregateFunction(call) => call.func.name(),
        _ => return Transformed::no(part),
    };
    match UNSIGNED.iter().find(|(known, _)| *known == name) {
        Some((_, data_type)) => Transformed::yes(cast(part, data_type.clone())),
        None => Transformed::no(part),
    }
}

/// A constant that is cast to a float, read from its digits: so it is rounded once, and rules see what is NaN.
fn as_float(part: Planned) -> Transformed<Planned> {
    let Planned::Cast(own) = &part else { return Transformed::no(part) };
    let Planned::Literal(value, _) = &*own.expr else { return Transformed::no(part) };
    let text = match value {
        ScalarValue::Decimal128(Some(_), ..) => Some(value.to_string()),
        value => value.try_as_str().flatten().map(str::to_owned),
    };
    let Some(text) = text else { return Transformed::no(part) };
    // What is no number is an error where it is computed.
    match value_of_text(&text, own.field.data_type()) {
        Ok(float) => Transformed::yes(Planned::Literal(float, None)),
        Err(_) => Transformed::no(part),
    }
}

/// `['name']`.
fn field_access(name: &Ident) -> AccessExpr {
    let index = Expr::value(Value::SingleQuotedString(fold(name)));
    AccessExpr::Subscript(Subscript::Index { index })
}

impl Replacing<'_, '_> {
    /// The column that DataFusion finds under a name of the plan.
    fn replaced(name: &str) -> Expr {
        Expr::Identifier(Ident::with_quote(REPLACED, name))
    }

    /// Whether a name is replaced already.
    pub(super) fn is_replaced(&self, ident: &Ident) -> bool {
        ident.quote_style == Some(REPLACED)
    }

    /// A column of the plan, under the name by which DataFusion finds it.
    pub(super) fn column(&mut self, column: Column, field: FieldRef, is_outer: bool) -> Expr {
        if is_outer {
            self.outer.insert(column.name.clone(), FieldRef::clone(&field));
        }
        let replaced = Self::replaced(&column.name);
        if !self.columns.iter().any(|(known, _)| *known == column) {
            self.columns.push((column, field));
        }
        replaced
    }

    fn is_parameter(&self, ident: &Ident) -> bool {
        let name = fold(ident);
        self.parameters.iter().flatten().any(|parameter| *parameter == name)
    }

    /// Puts `expression` in later, in the place of the column that is given.
    pub(super) fn stand_in(&mut self, what: &str, expression: Planned, field: FieldRef) -> Expr {
        let name = self.binder.names.fresh(what);
        let replaced = Self::replaced(&name);
        let column = Column::new_unqualified(name.clone());
        self.binder.integers.note(&column, self.binder.integers.are(&expression));
        self.binder.told.note(&column, self.binder.told.of(&expression));
        self.stand_ins.push(StandIn { name, field, expression });
        replaced
    }

    /// The column, or the field of a column, that a name means.
    fn name(&mut self, idents: &[Ident]) -> Result<Expr> {
        let found = match resolve(idents, self.around.scope, self.around.place.outer.as_ref()) {
            Ok(found) if found.is_outer => match self.alias(idents)? {
                Some(alias) => return Ok(alias),
                None => found,
            },
            Ok(found) => found,
            Err(error) => match self.alias(idents)? {
                Some(alias) => return Ok(alias),
                None => match self.resolve_without_case(idents)? {
                    Some(found) => found,
                    None => return self.whole_row(idents)?.ok_or(error),
                },
            },
        };
        let column = self.column(found.column, found.field, found.is_outer);
        Ok(match &idents[found.parts..] {
            [] => column,
            fields => Expr::CompoundFieldAccess {
                root: Box::new(column),
                access_chain: fields.iter().map(field_access).collect(),
            },
        })
    }

    fn resolve_without_case(&self, idents: &[Ident]) -> Result<Option<ResolvedName>> {
        resolve_without_case(idents, self.around.scope, self.around.place.outer.as_ref())
    }

    /// Replaces the name that a chain of accesses to fields begins with, as far as it is a column's.
    fn fields(&mut self, root: &mut Expr, chain: &mut Vec<AccessExpr>) -> Result<()> {
        let field_name = |access: &AccessExpr| match access {
            AccessExpr::Dot(Expr::Identifier(ident)) => Some(ident.clone()),
            _ => None,
        };
        while let Expr::Nested(inner) = root {
            *root = take(inner);
        }
        if let Expr::Identifier(first) = &*root
            && first.quote_style != Some(REPLACED)
            && !self.is_parameter(first)
        {
            let more: Vec<Ident> = chain.iter().map_while(field_name).collect();
            let rest = chain.split_off(more.len());
            chain.clear();
            match self.name(&[vec![first.clone()], more].concat())? {
                Expr::CompoundFieldAccess { root: column, access_chain } => {
                    (*root, *chain) = (*column, access_chain);
                }
                column => *root = column,
            }
            chain.extend(rest);
        }
        for access in chain {
            if let Some(ident) = field_name(access) {
                *access = field_access(&ident);
            }
        }
        Ok(())
    }

    /// The item of the select list that a name means.
    fn alias(&mut self, idents: &[Ident]) -> Result<Option<Expr>> {
        let [ident] = idents else { return Ok(None) };
        let name = meant(ident, self.around.aliases.iter().map(|item| item.name.as_str()))?;
        let mut named = self.around.aliases.iter().filter(|item| item.name == name);
        let Some(item) = named.next() else { return Ok(None) };
        if named.any(|other| other.expression != item.expression) {
            return Err(error::ambiguous(idents));
        }
        let field = item.expression.to_field(&self.around.scope.fields)?.1;
        Ok(Some(self.stand_in("item", item.expression.clone(), field)))
    }

    fn function(&mut self, function: &mut Function) -> Result<()> {
        if let Some(over) = &function.over {
            let mut spec = crate::bind::window::spec(over, self.around.windows)?;
            if let Some(frame) = &mut spec.window_frame {
                self.binder.offsets(frame, self.around)?;
            }
            function.over = Some(WindowType::WindowSpec(spec));
        }
        let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
        for argument in &mut list.args {
            if let FunctionArg::Unnamed(given @ FunctionArgExpr::QualifiedWildcard(_)) = argument {
                let FunctionArgExpr::QualifiedWildcard(name) = &*given else { continue };
                let kind = SelectItemQualifiedWildcardKind::ObjectName(name.clone());
                self.around.scope.relation(&kind)?;
                let idents: Vec<Ident> = name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
                // A record counts whatever is in it, and only where there is one.
                *given = match self.whole_row(&idents)? {
                    Some(row @ Expr::Case { .. }) => FunctionArgExpr::Expr(row),
                    _ => FunctionArgExpr::Wildcard,
                };
            }
        }
        Ok(())
    }
}

impl Visit for Replacing<'_, '_> {
    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        if let Some(written_out) = crate::bind::row::written_out(expression)? {
            *expression = written_out;
        } else if let Some(query) = crate::bind::row::of_query(expression)? {
            *expression = query;
        } else if let Some(cut) = crate::bind::fixed::cut(expression)? {
            *expression = cut;
        } else if let Some(tests) = self.nulls_of_row(expression)? {
            *expression = tests;
        }
        match expression {
            Expr::Identifier(ident) => {
                let is_variable = ident.value.starts_with('@') && ident.quote_style.is_none();
                if ident.quote_style != Some(REPLACED) && !is_variable && !self.is_parameter(ident) {
                    *expression = self.name(std::slice::from_ref(ident))?;
                }
            }
            Expr::CompoundIdentifier(idents) => {
                let is_variable = idents[0].value.starts_with('@') && idents[0].quote_style.is_none();
                if !is_variable && !self.is_parameter(&idents[0]) {
                    *expression = self.name(&idents.clone())?;
                }
            }
            Expr::CompoundFieldAccess { root, access_chain } => self.fields(root, access_chain)?,
            Expr::Function(function) => match self.excluding(function)? {
                Some((planned, field)) => *expression = self.stand_in("window", planned, field),
                None => self.function(function)?,
            },
            Expr::Lambda(lambda) => {
                self.parameters.push(lambda.params.iter().map(|parameter| fold(&parameter.name)).collect());
            }
            Expr::Subquery(_)
            | Expr::Exists { .. }
            | Expr::InSubquery { .. }
            | Expr::AnyOp { .. }
            | Expr::AllOp { .. } => {
                if let Some((planned, field)) = self.binder.subquery(expression, self.around)? {
                    *expression = self.stand_in("subquery", planned, field);
                }
            }
            Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => {
                return Err(Error::invalid(
                    SqlState::GroupingError,
                    format!("{expression} can only stand in GROUP BY"),
                ));
            }
            _ => {}
        }
        Ok(())
    }

    fn expression_end(&mut self, expression: &mut Expr) -> Result<()> {
        if matches!(expression, Expr::Lambda(_)) {
            self.parameters.pop();
        }
        Ok(())
    }
}
